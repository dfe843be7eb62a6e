#include "manager/runtime/unserved.h"

#include "common/cleanup.h"
#include "common/heap.h"
#include "model/host_rename.h"

#include <string.h>

struct unserved {
    const char *const *served;
    struct unserved_host *hosts;
    int count;
};

static int read_body(struct work *work, void *arg, struct error *err) {
    struct unserved *unserved = arg;

    unserved->count = host_unserved(work, unserved->served, &unserved->hosts, err);
    return unserved->count < 0 ? -1 : 0;
}

int unserved_report(struct manager *manager, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const struct work base = work_own(manager->settings.settings, arena);
    const char **served = arena_alloc(arena, (manager->host_count + 1) * sizeof *served);
    struct unserved unserved = { .served = served };
    const char *text = "\n";

    /* The own backends are served, or the log has the reason. */
    for (unsigned i = 0; i < manager->host_count; i++)
        served[i] = manager->hosts[i].host;
    if (work_read(manager->settings.db, &base, read_body, &unserved, err) < 0)
        return -1;
    for (int i = 0; i < unserved.count; i++) {
        const struct unserved_host *host = &unserved.hosts[i];
        const char *line = arena_join(arena, "\n", host->host, "\n", NULL);
        char since[CLOCK_TEXT_SIZE];

        if (!manager->unserved || !strstr(manager->unserved, line))
            log_warning(NULL, "host has no manager", "host", host->host, "last_report",
                        clock_text(host->reported_at, since), "volumes", LOG_INT(host->volumes),
                        "groups", LOG_INT(host->groups), "operations", LOG_INT(host->operations),
                        "remedy", "start its manager, or scoria manage host rename", NULL);
        text = arena_join(arena, text, line + 1, NULL);
    }
    if (manager->unserved && manager->unserved[1] && !text[1])
        log_info(NULL, "every host has a manager", NULL);
    free(manager->unserved);
    manager->unserved = heap_text(text);
    return 0;
}
