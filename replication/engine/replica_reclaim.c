#include "replication/engine/replica_reclaim.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/image_holes.h"
#include "common/image_lock.h"
#include "replication/engine/replica.private.h"
#include "replication/engine/replica_epoch.h"

#include <poll.h>

/* A part takes less time than an opening replica waits for it, and its pauses are longer than the
 * interval of those attempts. After a quick part the next is larger; on a disk that has become slow
 * it ends early. */
#define PART_LEAST ((off_t)1 << 20)
#define PART_FIRST ((off_t)4 << 20)
#define PART_MOST  ((off_t)64 << 20)
#define QUICK_US   ((int64_t)50000)
#define SLOW_US    ((int64_t)200000)
#define PAUSE_MS   10

struct reclaim {
    struct image_puncher puncher;
    const struct replica *replica;
    const struct replica_reclaim *how;
    int64_t epoch;
    off_t at, end, part;
};

static int may_punch(void *arg, off_t at, struct error *err) {
    const struct reclaim *reclaim = arg;

    (void)at;
    if (reclaim->how->ends && atomic_load(reclaim->how->ends))
        return error_set(err, ERROR_CONFLICT, "The reclaim of the replica %s was cancelled.",
                         reclaim->replica->uid);
    return 0;
}

/* ---- one part ---- */

/* The next data are searched first: the hole in front of them needs no part of its own. */
static int punch_part(struct reclaim *reclaim, struct error *err) {
    struct image_puncher *puncher = &reclaim->puncher;
    struct image_extent data = { .begin = reclaim->at };
    int64_t begun_us = clock_monotonic_us();
    off_t stop;

    if (puncher->holes_known &&
        image_find_data(puncher->fd, puncher->length, reclaim->at, &data, err) < 0)
        return -1;
    if (data.begin > reclaim->at)
        puncher->hole_end = data.begin;
    reclaim->at = data.begin < reclaim->end ? data.begin : reclaim->end;
    stop = reclaim->end - reclaim->at < reclaim->part ? reclaim->end : reclaim->at + reclaim->part;
    do {
        off_t end = (reclaim->at / PART_LEAST + 1) * PART_LEAST;

        assert(reclaim->at <= stop && stop <= reclaim->end);
        if (end > stop)
            end = stop;
        if (image_puncher_punch(puncher, reclaim->at, end, err) < 0)
            return -1;
        reclaim->at = end;
        if (reclaim->how->at_byte)
            atomic_store(reclaim->how->at_byte, end);
    } while (reclaim->at < stop && clock_monotonic_us() - begun_us <= SLOW_US);
    return 0;
}

/* With the replica's lock, and its data open: as long as these are, writers are excluded. Closed in
 * this order: the replica's own lock goes last. */
static int do_locked(struct reclaim *reclaim,
                     int (*step)(struct reclaim *reclaim, struct error *err), struct error *err) {
    autoclose int lock = -1, data = -1;
    enum image_hold hold;
    int64_t epoch;

    if (replica_lock(reclaim->replica, &lock, err) < 0)
        return -1;
    epoch = replica_epoch(reclaim->replica, err);
    assert(reclaim->epoch >= 0);
    if (epoch < 0)
        return -1;
    if (epoch != reclaim->epoch)
        return error_set(err, ERROR_CONFLICT, "The replica %s was opened meanwhile.",
                         reclaim->replica->uid);
    data = replica_open_data(reclaim->replica, err);
    hold = data < 0 ? IMAGE_LOCK_FAILED : image_lock_still(data, err);
    if (hold == IMAGE_HELD)
        return error_set(err, ERROR_CONFLICT, "The replica %s is in use.", reclaim->replica->uid);
    if (hold != IMAGE_LOCKED)
        return -1;
    reclaim->puncher.fd = data;
    return step(reclaim, err);
}

/* ---- the whole ---- */

static int punch_all(struct reclaim *reclaim, struct error *err) {
    while (reclaim->at < reclaim->end) {
        int64_t begun_us = clock_monotonic_us(), spent_us;

        if (do_locked(reclaim, punch_part, err) < 0)
            return -1;
        spent_us = clock_monotonic_us() - begun_us;
        assert(reclaim->part >= PART_LEAST && reclaim->part <= PART_MOST);
        if (spent_us < QUICK_US && reclaim->part < PART_MOST)
            reclaim->part *= 2;
        else if (spent_us > SLOW_US && reclaim->part > PART_LEAST)
            reclaim->part /= 2;
        poll(NULL, 0, PAUSE_MS);
    }
    return 0;
}

static int reclaim_begin(struct reclaim *reclaim, struct error *err) {
    return image_puncher_begin(&reclaim->puncher, err);
}

/* Without the lock: flushing and the search for holes take long, and change nothing. */
static int scan(struct reclaim *reclaim, struct replica_reclaimed *reclaimed, struct error *err) {
    autoclose int data = replica_open_data(reclaim->replica, err), directory = -1;
    struct replica_state state;
    int found;

    reclaim->puncher.fd = data;
    if (data < 0 ||
        (reclaimed->before_bytes == 0 &&
         image_get_usage(data, &reclaimed->before_bytes, err) < 0) ||
        image_puncher_scan(&reclaim->puncher, err) < 0)
        return -1;
    directory = replica_open(reclaim->replica, err);
    found = directory < 0 ? -1 : replica_read_state(directory, reclaim->replica, &state, err);
    if (found < 0)
        return -1;
    /* No write was ever beyond the volume's end. */
    reclaim->end = reclaim->puncher.length;
    if (found > 0 && state.generation.size_bytes > 0 && state.generation.size_bytes < reclaim->end)
        reclaim->end = state.generation.size_bytes;
    return 0;
}

int replica_reclaim(const struct replica *replica, const struct replica_reclaim *how,
                    struct replica_reclaimed *reclaimed, struct error *err) {
    struct reclaim reclaim = {
        .puncher = { .worth = IMAGE_PUNCH_WORTH, .may = may_punch },
        .replica = replica,
        .how = how,
        .at = reclaimed->at_byte,
        .part = PART_FIRST,
    };
    autoclose int data = -1;
    int result;

    reclaim.puncher.arg = &reclaim;
    reclaim.epoch = replica_epoch(replica, err);
    if (reclaim.epoch < 0 || do_locked(&reclaim, reclaim_begin, err) < 0)
        return -1;
    result = scan(&reclaim, reclaimed, err) < 0 ? -1 : punch_all(&reclaim, err);
    image_puncher_end(&reclaim.puncher);
    reclaimed->at_byte = reclaim.at;
    if (result < 0)
        return -1;
    data = replica_open_data(replica, err);
    return data < 0 ? -1 : image_get_usage(data, &reclaimed->after_bytes, err);
}
