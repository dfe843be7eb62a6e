#include "storage/near.h"

#include "engine/replica_snapshot.h"
#include "storage/hanging.h"

#include <limits.h>
#include <stdio.h>

#define NAME_SIZE 1024 /* one that is longer is that of no pool (pool_look.c) */

struct path {
    char text[PATH_MAX + 1]; /* what is too long for it stays too long for a path */
};

static struct path copy_path(const char *path) {
    struct path copy;

    snprintf(copy.text, sizeof(copy.text), "%s", path);
    return copy;
}

/* ---- a replica ---- */

struct replica_work {
    struct path pool;
    char uid[UUID_SIZE + 1], volume[UUID_SIZE];
    struct replica_look look;
};

static void look_at_replica(void *arg) {
    struct replica_work *work = arg;
    const struct replica replica = { .pool = work->pool.text, .uid = work->uid };

    replica_look(&replica, work->volume, &work->look);
}

static void look_near(void *arg, const struct replica *replica, const char *volume, int64_t epoch,
                      struct replica_look *ret) {
    struct replica_work work = { .pool = copy_path(replica->pool) };

    snprintf(work.uid, sizeof(work.uid), "%s", replica->uid);
    snprintf(work.volume, sizeof(work.volume), "%s", volume);
    if (looks_do(arg, replica->pool, look_at_replica, &work, sizeof(work)))
        *ret = work.look;
    else
        replica_hanging.look(replica_hanging.arg, replica, volume, epoch, ret);
}

static const struct replica_access *reach(struct looks *looks, const struct replica *replica) {
    return looks_silence_ms(looks, replica->pool) > 0 ? &replica_hanging : &replica_here;
}

static int open_near(void *arg, const struct replica *replica, const char *volume, int64_t epoch,
                     struct replica_data *ret, struct error *err) {
    const struct replica_access *access = reach(arg, replica);

    return access->open(access->arg, replica, volume, epoch, ret, err);
}

static int close_near(void *arg, const struct replica *replica, int64_t epoch, struct error *err) {
    const struct replica_access *access = reach(arg, replica);

    return access->close(access->arg, replica, epoch, err);
}

static int write_state_near(void *arg, const struct replica *replica, int64_t epoch,
                            const struct replica_state *state, struct error *err) {
    const struct replica_access *access = reach(arg, replica);

    return access->write_state(access->arg, replica, epoch, state, err);
}

static int reset_near(void *arg, const struct replica *replica, const char *volume,
                      int64_t maximum_bytes, int64_t epoch, struct error *err) {
    const struct replica_access *access = reach(arg, replica);

    return access->reset(access->arg, replica, volume, maximum_bytes, epoch, err);
}

static int flush_near(void *arg, const struct replica *replica, int64_t epoch, struct error *err) {
    const struct replica_access *access = reach(arg, replica);

    return access->flush(access->arg, replica, epoch, err);
}

static int sums_near(void *arg, const struct replica *replica, int64_t epoch, int64_t *at,
                     int64_t end, unsigned count, unsigned char (*ret)[REPLICA_SUM_SIZE],
                     struct error *err) {
    if (looks_silence_ms(arg, replica->pool) > 0)
        return error_set(err, ERROR_UNAVAILABLE, "The pool in %s does not answer.", replica->pool);
    return replica_here.sums(replica_here.arg, replica, epoch, at, end, count, ret, err);
}

struct replica_access near_access(struct looks *looks) {
    return (struct replica_access){
        .open = open_near,
        .close = close_near,
        .look = look_near,
        .write_state = write_state_near,
        .reset = reset_near,
        .flush = flush_near,
        .sums = sums_near,
        .arg = looks,
    };
}

/* ---- a snapshot ---- */

struct snapshot_work {
    struct path pool;
    char uid[UUID_SIZE + 1], name[UUID_SIZE + 1];
    int64_t bytes;
};

static void look_at_snapshot(void *arg) {
    struct snapshot_work *work = arg;
    const struct replica replica = { .pool = work->pool.text, .uid = work->uid };

    work->bytes = replica_snapshot_size(&replica, work->name);
}

int64_t near_snapshot_size(struct looks *looks, const struct replica *replica, const char *name) {
    struct snapshot_work work = { .pool = copy_path(replica->pool) };

    snprintf(work.uid, sizeof(work.uid), "%s", replica->uid);
    snprintf(work.name, sizeof(work.name), "%s", name);
    return looks_do(looks, replica->pool, look_at_snapshot, &work, sizeof(work)) ? work.bytes : -1;
}

/* ---- a pool ---- */

struct pool_work {
    struct path path;
    char name[NAME_SIZE];
    struct pool_look look;
};

static void look_at_pool(void *arg) {
    struct pool_work *work = arg;

    pool_look(work->path.text, work->name, &work->look);
}

bool near_pool_look(struct looks *looks, const char *path, const char *name,
                    struct pool_look *ret) {
    struct pool_work work = { .path = copy_path(path) };

    snprintf(work.name, sizeof(work.name), "%s", name);
    if (!looks_do(looks, path, look_at_pool, &work, sizeof(work)))
        return false;
    *ret = work.look;
    return true;
}
