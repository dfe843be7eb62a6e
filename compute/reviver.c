#include "compute/reviver.h"

#include "common/heap.h"
#include "common/log.h"
#include "common/ticker.h"

#include <stdlib.h>

struct reviver {
    struct hypervisor *hypervisor;
    int64_t pause_ms;
    struct ticker *ticker;
};

static void revive_guest(struct hypervisor *hypervisor, const char *instance_uuid) {
    autoarena struct arena *arena = arena_new();
    struct error err = { 0 };
    int gone_on = hypervisor->go_on(hypervisor, arena, instance_uuid, &err);

    if (gone_on > 0)
        log_warning(NULL, "an instance that an I/O error had stopped goes on", "instance_uuid",
                    instance_uuid, NULL);
    if (gone_on < 0 && err.kind != ERROR_CONFLICT)
        log_warning(NULL, "an instance that an I/O error has stopped does not go on",
                    "instance_uuid", instance_uuid, "reason", err.message, NULL);
}

/* A hypervisor that does not answer others tell of. */
static int64_t revive(void *arg) {
    struct reviver *reviver = arg;
    struct hypervisor *hypervisor = reviver->hypervisor;
    autoarena struct arena *arena = arena_new();
    const char *const *uuids;
    struct error err = { 0 };

    if (hypervisor->list_stopped(hypervisor, arena, &uuids, &err) == 0)
        for (; *uuids; uuids++)
            revive_guest(hypervisor, *uuids);
    return reviver->pause_ms;
}

struct reviver *reviver_new(struct hypervisor *hypervisor, int64_t pause_ms) {
    struct reviver *reviver = heap_new(sizeof(*reviver));

    reviver->hypervisor = hypervisor;
    reviver->pause_ms = pause_ms;
    reviver->ticker = ticker_start("revive", revive, reviver);
    return reviver;
}

void reviver_free(struct reviver *reviver) {
    ticker_stop(reviver->ticker);
    free(reviver);
}
