#include "manager/import/import_backend.h"

#include "manager/runtime/job.h"
#include "operation/host.h"
#include "json/json.h"

#include <string.h>

static bool is_prefix(const char *text, size_t length, const char *whole) {
    return strlen(whole) == length && strncmp(text, whole, length) == 0;
}

struct import_backend *import_backend_find(const struct import_backends *backends,
                                           const char *their_host) {
    const char *host = host_backend(backends->arena, their_host), *at = strrchr(host, '@');
    const char *theirs = at ? at + 1 : host, *name = theirs;

    for (const char *const *renamed = backends->renamed; renamed && *renamed; renamed++) {
        size_t length = strcspn(*renamed, "=");

        if (is_prefix(*renamed, length, host) || is_prefix(*renamed, length, theirs)) {
            name = *renamed + length + ((*renamed)[length] == '=');
            break;
        }
    }
    for (size_t i = 0; i < backends->count; i++)
        if (strcmp(backends->all[i].backend->name, name) == 0)
            return &backends->all[i];
    return NULL;
}

bool import_backend_open(const struct import_backends *backends, struct import_backend *of) {
    const struct driver *driver = of->backend->driver;

    if (of->tried)
        return of->handle != NULL;
    of->tried = true;
    of->settings = of->backend->settings;
    of->settings.probe_only = true;
    of->known = (struct known){ backends->db, backends->settings, of->host };
    known_set(&of->settings, &of->known);
    if (driver->open(&of->settings, &of->handle, &of->why) < 0) {
        of->handle = NULL;
        return false;
    }
    of->pool_count = driver->get_pools(of->handle, backends->arena, &of->pools, &of->why);
    for (int i = 0; i < of->pool_count; i++)
        json_keep(backends->arena, of->pools[i].capabilities);
    if (of->pool_count > 0)
        return true;
    driver->close(of->handle);
    of->handle = NULL;
    return false;
}

const char *import_backend_pool(const struct import_backend *of, const char *location) {
    for (int i = 0; of->pool_count > 1 && i < of->pool_count; i++)
        if (strcmp(of->pools[i].name, location) == 0)
            return of->pools[i].name;
    return of->pool_count == 1 ? of->pools[0].name : NULL;
}

void import_backends_list(struct import_backends *backends, const struct manager_backend *enabled) {
    size_t count = 0;

    while (enabled[count].name)
        count++;
    backends->all = arena_alloc(backends->arena, (count + 1) * sizeof *backends->all);
    for (; backends->count < count; backends->count++)
        backends->all[backends->count] = (struct import_backend){
            .backend = &enabled[backends->count],
            .host =
                manager_backend_host(backends->arena, &enabled[backends->count], backends->node),
        };
}

void import_backends_close(const struct import_backends *backends) {
    for (size_t i = 0; i < backends->count; i++)
        if (backends->all[i].handle)
            backends->all[i].backend->driver->close(backends->all[i].handle);
}
