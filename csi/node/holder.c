#include "csi/node/holder.h"

#include "client/limits.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/ticker.h"
#include "csi/node/label.h"
#include "csi/node/loop.h"
#include "csi/node/throttle.h"

#include <linux/major.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#define NUMBERS_MOST 65536

/* Touched only by its ticker's thread. */
struct holder {
    struct holder_settings settings;
    struct ticker *ticker;
    bool failed; /* and the log has said so */
    bool held
        [NUMBERS_MOST]; /* devices that were given limits: once they are another's he has none */
};

/* The devices of ours that there are. */
struct staged {
    struct loop_name *loops;
    unsigned count;
};

static bool is_staged(const struct staged *staged, unsigned number) {
    for (unsigned i = 0; i < staged->count; i++)
        if (staged->loops[i].number == number)
            return true;
    return false;
}

static int set(struct holder *holder, unsigned number, const struct io_limits *said,
               struct error *err) {
    static const struct throttle none;
    const struct throttle wanted = said ? throttle_of(said) : none;

    if (number < NUMBERS_MOST && said)
        holder->held[number] = true;
    if (throttle_set(holder->settings.group, makedev(LOOP_MAJOR, number), &wanted, err) < 0)
        return -1;
    if (number < NUMBERS_MOST && !said)
        holder->held[number] = false;
    return 0;
}

/* What a device of ours was given goes with it; what the holder before this one gave, if the device
 * is nobody's: somebody else's may be his own. */
static int clear_one(struct holder *holder, unsigned number, struct error *err) {
    autoloop struct loop loop = LOOP_NONE;
    int found = number < NUMBERS_MOST && holder->held[number] ? 0 : loop_open(number, &loop, err);

    if (found != 0)
        return found < 0 ? -1 : 0;
    return set(holder, number, NULL, err);
}

static int clear(struct holder *holder, const struct staged *staged, const unsigned *limited,
                 int count, struct error *err) {
    int result = 0;

    for (int i = 0; i < count; i++)
        if (!is_staged(staged, limited[i]) && clear_one(holder, limited[i], err) < 0)
            result = -1; /* the others all the same */
    return result;
}

/* What it is held to; its number may be another's by now, who is held to nothing then. */
static int hold_one(struct holder *holder, const struct loop_name *name,
                    const struct io_limits *said, struct error *err) {
    autoloop struct loop loop = LOOP_NONE;
    int found;

    if (set(holder, name->number, said, err) < 0)
        return -1;
    found = loop_open(name->number, &loop, err);
    if (found < 0 || (found > 0 && strcmp(loop.label, name->label) == 0))
        return found < 0 ? -1 : 0;
    return set(holder, name->number, NULL, err);
}

static int hold(struct holder *holder, struct arena *arena, const struct staged *staged,
                struct error *err) {
    const struct holder_settings *settings = &holder->settings;
    struct remote_limits *said = NULL;
    int count = limits_list(&settings->api, arena, settings->host, &said, err), result = 0;

    if (count < 0)
        return -1;
    for (unsigned i = 0; i < staged->count; i++) {
        const struct loop_name *name = &staged->loops[i];

        if (hold_one(holder, name, limits_find(said, (unsigned)count, label_volume(name->label)),
                     err) < 0)
            result = -1; /* the others all the same */
    }
    return result;
}

static int run_round(struct holder *holder, struct error *err) {
    autoarena struct arena *arena = arena_new();
    struct staged staged = { 0 };
    unsigned *limited = NULL;
    int count = loop_list(arena, NODE_LABEL, &staged.loops, err), there, result;

    if (count < 0)
        return -1;
    staged.count = (unsigned)count;
    there = throttle_list(holder->settings.group, arena, &limited, err);
    if (there < 0)
        return -1;
    result = clear(holder, &staged, limited, there, err);
    return count > 0 && hold(holder, arena, &staged, err) < 0 ? -1 : result;
}

static int64_t look(void *arg) {
    struct holder *holder = arg;
    struct error err = { 0 };
    int result = run_round(holder, &err);

    if (result < 0 && !holder->failed)
        log_warning(NULL, "pods are not held to limits of volumes", "reason", err.message, NULL);
    if (result == 0 && holder->failed)
        log_info(NULL, "pods are held to limits of volumes again", NULL);
    holder->failed = result < 0;
    return holder->settings.pause_ms;
}

void holder_wake(struct holder *holder) {
    if (holder)
        ticker_wake(holder->ticker);
}

struct holder *holder_new(const struct holder_settings *settings) {
    struct holder *holder = heap_new(sizeof *holder);

    holder->settings = *settings;
    holder->settings.api.repeats = 0; /* the next look is the repetition */
    holder->ticker = ticker_start("holder", look, holder);
    return holder;
}

void holder_free(struct holder *holder) {
    if (!holder)
        return;
    ticker_stop(holder->ticker);
    free(holder);
}
