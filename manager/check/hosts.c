#include "manager/check/check.private.h"
#include "model/host_rename.h"

/* The configured backends count as served: their manager may just not run. */
static const char *const *configured_hosts(const struct check *check, struct arena *arena) {
    const char **hosts;
    size_t count = 0;

    while (check->backends && check->backends[count].name)
        count++;
    hosts = arena_alloc(arena, (count + 1) * sizeof *hosts);
    for (size_t i = 0; i < count; i++)
        hosts[i] = manager_backend_host(arena, &check->backends[i], check->node);
    return hosts;
}

int round_check_hosts(struct round *round, struct work *work, struct error *err) {
    struct unserved_host *hosts;
    int count = host_unserved(work, configured_hosts(round->check, round->arena), &hosts, err);

    for (int i = 0; i < count; i++) {
        char since[CLOCK_TEXT_SIZE];

        round_found(round, "P5",
                    "host %s has %jd volumes, %jd groups and %jd operations, and no manager since "
                    "%s: start it, or use scoria manage host rename",
                    hosts[i].host, (intmax_t)hosts[i].volumes, (intmax_t)hosts[i].groups,
                    (intmax_t)hosts[i].operations, clock_text(hosts[i].reported_at, since));
    }
    return count < 0 ? -1 : 0;
}
