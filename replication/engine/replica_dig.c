#include "replication/engine/replica_dig.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/image_holes.h"
#include "common/image_lock.h"
#include "replication/engine/replica.private.h"
#include "replication/engine/replica_epoch.h"

#include <poll.h>

/* A part takes less than who opens a replica waits for it, and behind it there is time for more
 * than one of his looks.  After one that was quick the next is larger; on a disk that has become
 * slow, or that others have to themselves, it ends early. */
#define PART_LEAST ((off_t)1 << 20)
#define PART_FIRST ((off_t)4 << 20)
#define PART_MOST  ((off_t)64 << 20)
#define QUICK_US   ((int64_t)50000)
#define SLOW_US    ((int64_t)200000)
#define PAUSE_MS   10

struct dig {
    struct image_puncher puncher;
    const struct replica *replica;
    const struct replica_dig *how;
    int64_t epoch;
    off_t at, end, part;
};

static int may(void *arg, off_t at, struct error *err) {
    const struct dig *dig = arg;

    (void)at;
    if (dig->how->ends && atomic_load(dig->how->ends))
        return error_set(err, ERROR_CONFLICT, "The replica %s is wanted otherwise.",
                         dig->replica->uid);
    return 0;
}

/* ---- one part ---- */

static int check_epoch(const struct dig *dig, struct error *err) {
    int64_t epoch = replica_epoch(dig->replica, err);

    if (epoch < 0)
        return -1;
    return epoch == dig->epoch
               ? 0
               : error_set(err, ERROR_CONFLICT, "The replica %s was opened meanwhile.",
                           dig->replica->uid);
}

/* Its data, with writers kept away as long as that is open; the caller has the replica's lock. */
static int open_still(const struct dig *dig, struct error *err) {
    autoclose int data = check_epoch(dig, err) < 0 ? -1 : replica_open_data(dig->replica, err);
    enum image_hold hold = data < 0 ? IMAGE_LOCK_FAILED : image_lock_still(data, err);

    if (hold == IMAGE_HELD)
        return error_set(err, ERROR_CONFLICT, "The replica %s is in use.", dig->replica->uid);
    return hold == IMAGE_LOCKED ? take_fd(data) : -1;
}

static int dig_step(struct dig *dig, off_t stop, struct error *err) {
    off_t end = (dig->at / PART_LEAST + 1) * PART_LEAST;

    if (end > stop)
        end = stop;
    if (image_puncher_punch(&dig->puncher, dig->at, end, err) < 0)
        return -1;
    dig->at = end;
    if (dig->how->at_byte)
        atomic_store(dig->how->at_byte, end);
    return 0;
}

/* The next data are looked for first: what is in front of them needs no part of its own. */
static int dig_part(struct dig *dig, struct error *err) {
    struct image_puncher *puncher = &dig->puncher;
    struct image_extent data = { .begin = dig->at };
    int64_t begun_us = clock_monotonic_us();
    off_t stop;

    if (puncher->holes_known &&
        image_find_data(puncher->fd, puncher->length, dig->at, &data, err) < 0)
        return -1;
    if (data.begin > dig->at)
        puncher->hole_end = data.begin;
    dig->at = data.begin < dig->end ? data.begin : dig->end;
    stop = dig->end - dig->at < dig->part ? dig->end : dig->at + dig->part;
    do {
        if (dig_step(dig, stop, err) < 0)
            return -1;
    } while (dig->at < stop && clock_monotonic_us() - begun_us <= SLOW_US);
    return 0;
}

/* In the order in which they are closed, the replica's own lock goes last. */
static int do_locked(struct dig *dig, int (*step)(struct dig *dig, struct error *err),
                     struct error *err) {
    autoclose int lock = -1, data = -1;

    if (replica_lock(dig->replica, &lock, err) < 0)
        return -1;
    data = open_still(dig, err);
    if (data < 0)
        return -1;
    dig->puncher.fd = data;
    return step(dig, err);
}

/* ---- the whole ---- */

static void learn_speed(struct dig *dig, int64_t spent_us) {
    if (spent_us < QUICK_US && dig->part < PART_MOST)
        dig->part *= 2;
    else if (spent_us > SLOW_US && dig->part > PART_LEAST)
        dig->part /= 2;
}

static int dig_all(struct dig *dig, struct error *err) {
    while (dig->at < dig->end) {
        int64_t begun_us = clock_monotonic_us();

        if (do_locked(dig, dig_part, err) < 0)
            return -1;
        learn_speed(dig, clock_monotonic_us() - begun_us);
        poll(NULL, 0, PAUSE_MS);
    }
    return 0;
}

/* Behind the volume's end nothing was ever written. */
static int find_end(struct dig *dig, struct error *err) {
    autoclose int directory = replica_open(dig->replica, err);
    struct replica_state state;
    int found = directory < 0 ? -1 : replica_read_state(directory, dig->replica, &state, err);
    int64_t size = found > 0 ? state.generation.size_bytes : 0;

    dig->end = size > 0 && size < dig->puncher.length ? size : dig->puncher.length;
    return found < 0 ? -1 : 0;
}

static int begin(struct dig *dig, struct error *err) {
    return image_puncher_begin(&dig->puncher, err);
}

/* To flush and to look for holes takes its time, and changes nothing: nobody waits for that. */
static int scan(struct dig *dig, struct replica_dug *dug, struct error *err) {
    autoclose int data = replica_open_data(dig->replica, err);

    dig->puncher.fd = data;
    if (data < 0 || (dug->before_bytes == 0 && image_get_usage(data, &dug->before_bytes, err) < 0))
        return -1;
    return image_puncher_scan(&dig->puncher, err);
}

static int measure(const struct replica *replica, int64_t *ret_bytes, struct error *err) {
    autoclose int data = replica_open_data(replica, err);

    return data < 0 ? -1 : image_get_usage(data, ret_bytes, err);
}

int replica_dig(const struct replica *replica, const struct replica_dig *how,
                struct replica_dug *dug, struct error *err) {
    struct dig dig = {
        .puncher = { .worth = IMAGE_PUNCH_WORTH, .may = may },
        .replica = replica,
        .how = how,
        .at = dug->at_byte,
        .part = PART_FIRST,
    };
    int result;

    dig.puncher.arg = &dig;
    dig.epoch = replica_epoch(replica, err);
    if (dig.epoch < 0 || do_locked(&dig, begin, err) < 0)
        return -1;
    result = scan(&dig, dug, err) < 0 || find_end(&dig, err) < 0 ? -1 : dig_all(&dig, err);
    image_puncher_end(&dig.puncher);
    dug->at_byte = dig.at;
    return result < 0 ? -1 : measure(replica, &dug->after_bytes, err);
}
