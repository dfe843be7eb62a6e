#include "manager/check/check.private.h"
#include "model/host_rename.h"

int round_check_hosts(struct round *round, struct work *work, struct error *err) {
    const struct check *check = round->check;
    struct unserved_host *hosts;
    const char **configured;
    size_t backends = 0;
    int count;

    while (check->backends && check->backends[backends].name)
        backends++;
    configured = arena_alloc(round->arena, (backends + 1) * sizeof *configured);
    /* They count as served: their manager may just not run. */
    for (size_t i = 0; i < backends; i++)
        configured[i] = manager_backend_host(round->arena, &check->backends[i], check->node);
    count = host_unserved(work, configured, &hosts, err);
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
