#include "client/compute_events.h"
#include "cmd/part.h"
#include "cmd/parts.h"
#include "common/arena.h"
#include "db/db.h"
#include "manager/runtime/manager.h"
#include "rest/router.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

/* How long the start waits for backends. */
#define PATIENCE_MS 10000

static void operation_ended(void *arg) {
    const struct parts *parts = arg;

    if (parts->api)
        api_operations_ended(parts->api);
    else
        db_notify(parts->db, DB_ENDED);
}

static const char *volume_url(const struct driver_backend *backend) {
    const struct parts *parts = backend->volume_url_arg;

    return __atomic_load_n(&parts->volume_url, __ATOMIC_ACQUIRE);
}

/* Backends that use the API of this process can report from now on. */
int part_manager_look(struct parts *parts, struct error *err) {
    return manager_report(parts->manager, err);
}

int part_manager_start(struct parts *parts, struct error *err) {
    struct manager_settings settings = {
        .db = parts->db,
        .rpc = parts->messaging.rpc,
        .settings = &parts->settings,
        .node = parts_node(parts->config),
        .zone = parts->settings.storage_availability_zone,
        .threaded = true,
        .workers = (unsigned)config_int(parts->config, "DEFAULT", "manager_workers"),
        .patience_ms = PATIENCE_MS,
        .operation_ended = operation_ended,
        .operation_ended_arg = parts,
        .conversion_dir = part_text(parts, "image_conversion_dir"),
    };

    if (parts_find_backends(parts->config, &parts->backends, err) < 0 ||
        compute_sender_new(parts->config, &parts->compute, err) < 0 ||
        images_new(parts->config, &parts->manager_images, err) < 0)
        return -1;
    for (struct manager_backend *backend = parts->backends; backend->name; backend++) {
        backend->settings.volume_url = parts->there & PART_API ? volume_url : NULL;
        backend->settings.volume_url_arg = parts;
    }
    settings.backends = parts->backends;
    settings.compute = parts->compute;
    settings.images = parts->manager_images;
    if (!settings.conversion_dir)
        settings.conversion_dir =
            arena_format(parts->arena, "%s/conversion", part_text(parts, "state_path"));
    settings.owner_prefix = arena_format(parts->arena, "%s:%s:", settings.node, parts->place);
    settings.owner = arena_format(parts->arena, "%s%jd:%jd", settings.owner_prefix,
                                  (intmax_t)getpid(), (intmax_t)clock_now_us(&clock_system));
    return manager_start(&settings, &parts->manager, err);
}

void part_manager_drain(struct parts *parts) {
    if (parts->manager)
        manager_drain(parts->manager);
    /* failures do not count any more: waits for the API end */
    __atomic_store_n(&parts->volume_url, NULL, __ATOMIC_RELEASE);
}

void part_manager_stop(struct parts *parts) {
    if (parts->manager)
        manager_stop(parts->manager);
    compute_sender_free(parts->compute);
    images_free(parts->manager_images);
    free(parts->backends);
}
