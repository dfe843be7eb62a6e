/*
 * The backends of an import: each is opened when its first volume comes, and like a check it makes
 * no marker.
 */
#pragma once

#include "manager/runtime/known.h"
#include "manager/runtime/settings.h"

struct import_backend {
    const struct manager_backend *backend;
    const char *host; /* node@backend */
    struct driver_backend settings;
    struct known known;
    bool tried;
    void *handle; /* NULL: not open, for this reason */
    struct error why;
    struct driver_pool *pools;
    int pool_count;
};

struct import_backends {
    struct arena *arena;
    struct db *db;
    const struct settings *settings;
    const char *node;
    const char *const *renamed; /* as in struct import */
    struct import_backend *all;
    size_t count;
};

/* `enabled` is ended with a NULL name. */
void import_backends_list(struct import_backends *backends, const struct manager_backend *enabled);
void import_backends_close(const struct import_backends *backends);
/* Of "host@backend" of Cinder; NULL: none is enabled here. */
struct import_backend *import_backend_find(const struct import_backends *backends,
                                           const char *their_host);
/* false: it cannot be used, for the reason `why`. */
bool import_backend_open(const struct import_backends *backends, struct import_backend *of);
/* The only pool, or that of the volume's share; NULL: none. */
const char *import_backend_pool(const struct import_backend *of, const char *location);
