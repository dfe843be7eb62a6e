/*
 * Settings of a manager: backends, engines, identity among the managers.
 */
#pragma once

#include "client/compute_events.h"
#include "client/images.h"
#include "common/arena.h"
#include "config/option.h"
#include "db/db.h"
#include "drivers/driver.h"
#include "model/volume/image_cache.h"
#include "operation/settings.h"
#include "rpc/rpc.h"

struct manager_backend {
    const char *name;         /* section; the host is <host_name>@<name> */
    const char *host_name;    /* backend_host; NULL: the node */
    const char *backend_name; /* volume_backend_name, for extra specs of types */
    bool reports_discard;     /* connections report that the disk may be trimmed */
    struct image_cache_limits image_cache;
    bool clones_uploads;   /* an image's content is a clone of the volume, if its service permits */
    bool uploads_internal; /* such a clone is the internal project's, if that is configured */
    const struct driver *driver;
    void *handle; /* NULL: a manager with threads opens it by `settings`, and closes it */
    struct driver_backend settings;
};

/* node@backend, as in the host of its volumes before '#'. */
static inline char *manager_backend_host(struct arena *arena, const struct manager_backend *backend,
                                         const char *node) {
    return arena_format(arena, "%s@%s", backend->host_name ? backend->host_name : node,
                        backend->name);
}

struct manager_settings {
    struct db *db;
    struct rpc *rpc;
    const struct settings *settings;
    struct compute_sender *compute;
    struct images *images;      /* NULL: there is no image service */
    const char *conversion_dir; /* for images that are no raw disks; made when it is needed */
    const char *node;           /* option host, or the machine's name */
    /* Of this incarnation; other owners with the prefix are former incarnations of this manager,
     * certainly dead.  Other managers of the backend have other prefixes. */
    const char *owner, *owner_prefix;
    const char *zone;
    const struct manager_backend *backends; /* ended with a NULL name */
    bool threaded;       /* false: no thread of its own; manager_tick() does the work (tests) */
    unsigned workers;    /* for the messages of one backend; 0: unknown */
    int64_t patience_ms; /* how long the start waits for unresponsive backends */
    void (*operation_ended)(void *arg); /* one that is awaited; may be NULL; any thread */
    void *operation_ended_arg;
};
