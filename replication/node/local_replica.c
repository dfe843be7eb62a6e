#include "replication/node/local_replica.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/heap.h"
#include "replication/node/unresponsive.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAME_SIZE 1024 /* no pool has a longer one (pool_status.c) */
#define PIECE     (INT64_C(256) << 20)
#define WRITTEN   (SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER)

struct path {
    char text[PATH_MAX + 1]; /* a longer one stays too long for a path */
};

static struct path copy_path(const char *path) {
    struct path copy;

    snprintf(copy.text, sizeof(copy.text), "%s", path);
    return copy;
}

/* ---- a replica ---- */

enum kind {
    OPEN,
    LOOK,
    WRITE_STATE,
    RESET,
    FLUSH,
    SUMS,
    LOCK,
    CREATE,
    ADOPT,
    READ,
    SNAPSHOT,
    SNAPSHOT_SIZE,
    WRITE_OUT, /* before a FLUSH or the end of a SNAPSHOT */
};

/* Arguments and results of a call. */
struct work {
    enum kind kind;
    struct path pool;
    char uid[UUID_SIZE + 1], volume[UUID_SIZE], name[UUID_SIZE + 1];
    int64_t epoch, bytes, at, end;
    unsigned count;
    enum replica_snapshot_step step;
    struct replica_state state;
    struct replica_data data;
    struct replica_probe probe;
    unsigned char sums[REPLICA_SUMS_MOST][REPLICA_SUM_SIZE];
    int lock;
    int result;
    struct error err;
    size_t size; /* of `read` */
    unsigned char read[];
};

static struct work work_on(enum kind kind, const struct replica *replica, const char *volume,
                           int64_t epoch) {
    struct work work = { .kind = kind, .pool = copy_path(replica->pool), .epoch = epoch };

    snprintf(work.uid, sizeof(work.uid), "%s", replica->uid);
    snprintf(work.volume, sizeof(work.volume), "%s", volume);
    return work;
}

static struct replica replica_of(const struct work *work) {
    return (struct replica){ .pool = work->pool.text, .uid = work->uid };
}

/* 1: more pieces follow.  The kernel reports a write error once, that is, here. */
static int write_piece(struct work *work, int fd) {
    off_t from = lseek(fd, work->at, SEEK_DATA);

    assert(work->at >= 0);
    if (from < 0)
        return 0;
    if (sync_file_range(fd, from, PIECE, WRITTEN) < 0)
        return errno == ENOSYS || errno == EINVAL
                   ? 0
                   : error_errno(&work->err, ERROR_UNAVAILABLE,
                                 "writing dirty data of the replica %s in %s", work->uid,
                                 work->pool.text);
    work->at = from + PIECE;
    return 1;
}

static int write_out_piece(struct work *work, const struct replica *replica) {
    autoarena struct arena *arena = arena_new();
    const char *path = work->name[0] ? replica_snapshot_path(arena, replica, work->name)
                                     : replica_data_path(arena, replica);
    autoclose int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    return fd < 0 ? 0 : write_piece(work, fd);
}

static int run_kind(struct work *work, const struct replica *replica,
                    const atomic_bool *abandoned) {
    const struct replica_access *here = &replica_local;
    struct error *err = &work->err;

    switch (work->kind) {
    case OPEN:
        return here->open(here->arg, replica, work->volume, work->epoch, &work->data, err);
    case LOOK:
        here->probe(here->arg, replica, work->volume, work->epoch, &work->probe);
        return 0;
    case WRITE_STATE:
        return here->write_state(here->arg, replica, work->epoch, &work->state, err);
    case RESET:
        return here->reset(here->arg, replica, work->volume, work->bytes, work->epoch, err);
    case FLUSH:
        return here->flush(here->arg, replica, work->epoch, err);
    case SUMS:
        return here->sums(here->arg, replica, work->epoch, &work->at, work->end, work->count,
                          work->sums, err);
    case LOCK:
        return here->lock(here->arg, replica, &work->lock, err);
    case CREATE:
        return replica_create_unless(abandoned, replica, work->volume, work->bytes, err);
    case ADOPT:
        return here->adopt(here->arg, replica, work->epoch, err);
    case READ:
        return here->read(here->arg, replica, work->at, work->size, work->read, err);
    case SNAPSHOT:
        return replica_snapshot_step(replica, work->step, work->name, work->bytes, abandoned, err);
    case SNAPSHOT_SIZE:
        work->bytes = here->snapshot_size(here->arg, replica, work->name);
        return 0;
    case WRITE_OUT:
        return write_out_piece(work, replica);
    }
    return 0;
}

static void run(void *arg, const atomic_bool *abandoned) {
    struct work *work = arg;
    const struct replica replica = replica_of(work);

    work->result = run_kind(work, &replica, abandoned);
}

/* Of an abandoned call.  The file of its snapshot, possibly as large as the volume, would remain
 * until the next snapshot is taken. */
static void drop(void *arg) {
    const struct work *work = arg;
    const struct replica replica = replica_of(work);
    struct error ignored;

    if (work->kind == LOCK && work->result == 0)
        close(work->lock);
    if ((work->kind == SNAPSHOT || work->kind == WRITE_OUT) && work->name[0] &&
        (work->step == REPLICA_SNAPSHOT_BEGIN || work->step == REPLICA_SNAPSHOT_END))
        (void)replica_snapshot_step(&replica, REPLICA_SNAPSHOT_TIDY, work->name, 0, NULL, &ignored);
}

/* false: the pool is unresponsive. */
static bool call_pool(struct pool_calls *calls, struct work *work) {
    const struct pool_call call = { .run = run,
                                    .drop = drop,
                                    .reads = work->kind == LOOK || work->kind == SNAPSHOT_SIZE };

    return pool_calls_do(calls, work->pool.text, &call, work, sizeof(*work) + work->size);
}

static int call_or_refuse(struct pool_calls *calls, struct work *work, struct error *err) {
    if (!call_pool(calls, work))
        return unresponsive_refuse(work->pool.text, err);
    return work->result < 0 ? error_pass(err, &work->err) : work->result;
}

/* Precedes a flush, which would take as long as the kernel needs to write all dirty pages; these
 * may fill a good part of the memory.  Each piece has a timeout of its own. */
static int write_out(struct pool_calls *calls, const struct work *of, struct error *err) {
    struct work work = *of;
    int more;

    assert(of->kind == FLUSH || of->kind == SNAPSHOT);
    work.kind = WRITE_OUT;
    do {
        more = call_or_refuse(calls, &work, err);
    } while (more > 0);
    return more;
}

/* ---- the calls ---- */

static int open_local(void *arg, const struct replica *replica, const char *volume, int64_t epoch,
                      struct replica_data *ret, struct error *err) {
    struct work work = work_on(OPEN, replica, volume, epoch);

    if (call_or_refuse(arg, &work, err) < 0)
        return -1;
    *ret = work.data;
    return 0;
}

static void probe_local(void *arg, const struct replica *replica, const char *volume, int64_t epoch,
                        struct replica_probe *ret) {
    struct work work = work_on(LOOK, replica, volume, epoch);

    if (call_pool(arg, &work))
        *ret = work.probe;
    else
        replica_unresponsive.probe(replica_unresponsive.arg, replica, volume, epoch, ret);
}

static int write_state_local(void *arg, const struct replica *replica, int64_t epoch,
                             const struct replica_state *state, struct error *err) {
    struct work work = work_on(WRITE_STATE, replica, "", epoch);

    assert(strcmp(state->replica, replica->uid) == 0);
    work.state = *state;
    return call_or_refuse(arg, &work, err);
}

static int reset_local(void *arg, const struct replica *replica, const char *volume,
                       int64_t maximum_bytes, int64_t epoch, struct error *err) {
    struct work work = work_on(RESET, replica, volume, epoch);

    assert(*volume && maximum_bytes > 0);
    work.bytes = maximum_bytes;
    return call_or_refuse(arg, &work, err);
}

static int flush_local(void *arg, const struct replica *replica, int64_t epoch, struct error *err) {
    struct work work = work_on(FLUSH, replica, "", epoch);

    return write_out(arg, &work, err) < 0 ? -1 : call_or_refuse(arg, &work, err);
}

static int sums_local(void *arg, const struct replica *replica, int64_t epoch, int64_t *at,
                      int64_t end, unsigned count, unsigned char (*ret)[REPLICA_SUM_SIZE],
                      struct error *err) {
    struct work work = work_on(SUMS, replica, "", epoch);
    int result;

    assert(count <= REPLICA_SUMS_MOST && *at >= 0 && *at <= end);
    work.at = *at;
    work.end = end;
    work.count = count;
    result = call_or_refuse(arg, &work, err);
    if (result < 0)
        return -1;
    assert((unsigned)result <= count);
    *at = work.at;
    memcpy(ret, work.sums, (size_t)result * sizeof(*ret));
    return result;
}

static int lock_local(void *arg, const struct replica *replica, int *ret, struct error *err) {
    struct work work = work_on(LOCK, replica, "", 0);

    if (call_or_refuse(arg, &work, err) < 0)
        return -1;
    *ret = work.lock;
    return 0;
}

static int create_local(void *arg, const struct replica *replica, const char *volume,
                        int64_t maximum_bytes, struct error *err) {
    struct work work = work_on(CREATE, replica, volume, 0);

    work.bytes = maximum_bytes;
    return call_or_refuse(arg, &work, err);
}

static int adopt_local(void *arg, const struct replica *replica, int64_t epoch, struct error *err) {
    struct work work = work_on(ADOPT, replica, "", epoch);

    return call_or_refuse(arg, &work, err);
}

static int snapshot_local(void *arg, const struct replica *replica, enum replica_snapshot_step step,
                          const char *name, int64_t size_bytes, struct error *err) {
    struct work work = work_on(SNAPSHOT, replica, "", 0);

    snprintf(work.name, sizeof(work.name), "%s", name);
    work.step = step;
    work.bytes = size_bytes;
    if (step == REPLICA_SNAPSHOT_END && write_out(arg, &work, err) < 0)
        return -1;
    return call_or_refuse(arg, &work, err);
}

static int64_t snapshot_size_local(void *arg, const struct replica *replica, const char *name) {
    struct work work = work_on(SNAPSHOT_SIZE, replica, "", 0);

    snprintf(work.name, sizeof(work.name), "%s", name);
    return call_pool(arg, &work) ? work.bytes : -1;
}

static int read_local(void *arg, const struct replica *replica, int64_t at, size_t size, void *ret,
                      struct error *err) {
    autofree struct work *work = heap_new(sizeof(*work) + size);

    assert(at >= 0 && size > 0);
    *work = work_on(READ, replica, "", 0);
    work->at = at;
    work->size = size;
    if (call_or_refuse(arg, work, err) < 0)
        return -1;
    memcpy(ret, work->read, size);
    return 0;
}

struct replica_access local_replica_access(struct pool_calls *calls) {
    return (struct replica_access){
        .open = open_local,
        .close = replica_local.close, /* accesses no pool */
        .probe = probe_local,
        .write_state = write_state_local,
        .reset = reset_local,
        .flush = flush_local,
        .sums = sums_local,
        .lock = lock_local,
        .create = create_local,
        .adopt = adopt_local,
        .read = read_local,
        .snapshot = snapshot_local,
        .snapshot_size = snapshot_size_local,
        .arg = calls,
    };
}

/* ---- a pool ---- */

struct pool_work {
    struct path path;
    char name[NAME_SIZE];
    struct pool_status probe;
};

static void read_pool(void *arg, const atomic_bool *abandoned) {
    struct pool_work *work = arg;

    (void)abandoned;
    pool_status_read(work->path.text, work->name, &work->probe);
}

bool local_pool_status(struct pool_calls *calls, const char *path, const char *name,
                       struct pool_status *ret) {
    static const struct pool_call call = { .run = read_pool, .reads = true };
    struct pool_work work = { .path = copy_path(path) };

    snprintf(work.name, sizeof(work.name), "%s", name);
    if (!pool_calls_do(calls, path, &call, &work, sizeof(work)))
        return false;
    *ret = work.probe;
    return true;
}
