#include "model/manage_reference.h"

#include "common/clock.h"
#include "drivers/driver.h"

#include <string.h>

int manage_reference(struct work *work, enum manage_object object, const char **reference,
                     struct error *err) {
    static const struct {
        const char *prefix, *sql, *label;
    } objects[] = {
        [MANAGE_VOLUME] = { "volume-", "SELECT 1 FROM volumes WHERE id = $1", "Volume" },
        [MANAGE_SNAPSHOT] = { "snapshot-", "SELECT 1 FROM snapshots WHERE id = $1", "Snapshot" },
    };
    const char *prefix = objects[object].prefix, *slash = strrchr(*reference, '/');
    const char *name = slash ? slash + 1 : *reference, *id;
    int known;

    if (strncmp(name, prefix, strlen(prefix)) != 0)
        return 0;
    id = name + strlen(prefix);
    if (strlen(id) != UUID_SIZE - 1 || !uuid_parse(id, NULL))
        return 0;
    known = db_query_any(work->tx, err, objects[object].sql, DB_TEXT(id));
    if (known > 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input for field/attribute ref: %s %s is managed already.",
                         objects[object].label, id);
    *reference = arena_join(
        work->arena,
        arena_text_n(work->arena, *reference, (size_t)(id - *reference) - strlen(prefix)),
        DRIVER_UNMANAGED_PREFIX, id, NULL);
    return known;
}
