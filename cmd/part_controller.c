#include "cmd/part.h"
#include "db/db.h"
#include "declared/controller.h"
#include "rest/router.h"

/* Of this process, and on PostgreSQL of any other process. */
static void documents_changed(void *arg) {
    const struct parts *parts = arg;

    controller_wake(parts->controller);
    api_documents_changed(parts->api);
}

int part_controller_start(struct parts *parts, struct error *err) {
    const struct controller_settings settings = {
        .db = parts->db,
        .settings = &parts->settings,
        .resync_s = controller_resync_s(parts->config),
    };

    (void)err;
    parts->controller = controller_new(&settings);
    controller_start(parts->controller);
    db_on_event(parts->db, DB_DOCUMENTS, documents_changed, parts);
    return 0;
}

void part_controller_stop(struct parts *parts) {
    if (parts->controller)
        db_on_event(parts->db, DB_DOCUMENTS, NULL, NULL);
    controller_free(parts->controller);
}
