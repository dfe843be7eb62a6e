#include "storage/near.h"

#include "common/cleanup.h"
#include "common/heap.h"
#include "storage/hanging.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAME_SIZE 1024 /* one that is longer is that of no pool (pool_look.c) */
#define PIECE     (INT64_C(256) << 20)
#define WRITTEN   (SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER)

struct path {
    char text[PATH_MAX + 1]; /* what is too long for it stays too long for a path */
};

static struct path copy_path(const char *path) {
    struct path copy;

    snprintf(copy.text, sizeof(copy.text), "%s", path);
    return copy;
}

/* ---- a replica ---- */

/* What a call is given, and what it answers. */
struct work {
    struct path pool;
    char uid[UUID_SIZE + 1], volume[UUID_SIZE], name[UUID_SIZE + 1];
    int64_t epoch, bytes, at, end;
    unsigned count;
    enum replica_snapshot_step step;
    struct replica_state state;
    struct replica_data data;
    struct replica_look look;
    unsigned char sums[REPLICA_SUMS_MOST][REPLICA_SUM_SIZE];
    int lock;
    int result;
    struct error err;
};

static struct work work_on(const struct replica *replica, int64_t epoch) {
    struct work work = { .pool = copy_path(replica->pool), .epoch = epoch };

    snprintf(work.uid, sizeof(work.uid), "%s", replica->uid);
    return work;
}

static struct replica replica_of(const struct work *work) {
    return (struct replica){ .pool = work->pool.text, .uid = work->uid };
}

static int make(struct pool_calls *calls, const struct pool_call *call, struct work *work,
                struct error *err) {
    if (!pool_calls_do(calls, work->pool.text, call, work, sizeof(*work)))
        return hanging_refuse(work->pool.text, err);
    return work->result < 0 ? error_pass(err, &work->err) : work->result;
}

static void run_open(void *arg, const atomic_bool *left) {
    struct work *work = arg;
    const struct replica replica = replica_of(work);

    (void)left;
    work->result = replica_here.open(replica_here.arg, &replica, work->volume, work->epoch,
                                     &work->data, &work->err);
}

static int open_near(void *arg, const struct replica *replica, const char *volume, int64_t epoch,
                     struct replica_data *ret, struct error *err) {
    static const struct pool_call call = { .run = run_open };
    struct work work = work_on(replica, epoch);

    snprintf(work.volume, sizeof(work.volume), "%s", volume);
    if (make(arg, &call, &work, err) < 0)
        return -1;
    *ret = work.data;
    return 0;
}

static void run_look(void *arg, const atomic_bool *left) {
    struct work *work = arg;
    const struct replica replica = replica_of(work);

    (void)left;
    replica_here.look(replica_here.arg, &replica, work->volume, work->epoch, &work->look);
}

static void look_near(void *arg, const struct replica *replica, const char *volume, int64_t epoch,
                      struct replica_look *ret) {
    static const struct pool_call call = { .run = run_look, .looks = true };
    struct work work = work_on(replica, epoch);

    snprintf(work.volume, sizeof(work.volume), "%s", volume);
    if (pool_calls_do(arg, replica->pool, &call, &work, sizeof(work)))
        *ret = work.look;
    else
        replica_hanging.look(replica_hanging.arg, replica, volume, epoch, ret);
}

static void run_write_state(void *arg, const atomic_bool *left) {
    struct work *work = arg;
    const struct replica replica = replica_of(work);

    (void)left;
    work->result =
        replica_here.write_state(replica_here.arg, &replica, work->epoch, &work->state, &work->err);
}

static int write_state_near(void *arg, const struct replica *replica, int64_t epoch,
                            const struct replica_state *state, struct error *err) {
    static const struct pool_call call = { .run = run_write_state };
    struct work work = work_on(replica, epoch);

    work.state = *state;
    return make(arg, &call, &work, err);
}

static void run_reset(void *arg, const atomic_bool *left) {
    struct work *work = arg;
    const struct replica replica = replica_of(work);

    (void)left;
    work->result = replica_here.reset(replica_here.arg, &replica, work->volume, work->bytes,
                                      work->epoch, &work->err);
}

static int reset_near(void *arg, const struct replica *replica, const char *volume,
                      int64_t maximum_bytes, int64_t epoch, struct error *err) {
    static const struct pool_call call = { .run = run_reset };
    struct work work = work_on(replica, epoch);

    snprintf(work.volume, sizeof(work.volume), "%s", volume);
    work.bytes = maximum_bytes;
    return make(arg, &call, &work, err);
}

/* 1: there is more behind it.  Nobody else hears of an error that is told here. */
static int write_piece(struct work *work, int fd) {
    off_t from = lseek(fd, work->at, SEEK_DATA);

    if (from < 0)
        return 0;
    if (sync_file_range(fd, from, PIECE, WRITTEN) < 0)
        return errno == ENOSYS || errno == EINVAL ? 0
                                                  : error_errno(&work->err, ERROR_UNAVAILABLE,
                                                                "writing what the replica %s in %s "
                                                                "has in memory",
                                                                work->uid, work->pool.text);
    work->at = from + PIECE;
    return 1;
}

static void run_write_out(void *arg, const atomic_bool *left) {
    autoarena struct arena *arena = arena_new();
    struct work *work = arg;
    const struct replica replica = replica_of(work);
    const char *path = work->name[0] ? replica_snapshot_path(arena, &replica, work->name)
                                     : replica_data_path(arena, &replica);
    autoclose int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    (void)left;
    work->result = fd < 0 ? 0 : write_piece(work, fd);
}

/* Before all of it is to be on the disk: how long that takes is up to how much of it the kernel has
 * in its memory, which may be a good part of that.  Each piece has its own time. */
static int write_out(struct pool_calls *calls, const struct pool_call *call, const struct work *of,
                     struct error *err) {
    struct work work = *of;
    int more;

    do {
        more = make(calls, call, &work, err);
    } while (more > 0);
    return more;
}

static void run_flush(void *arg, const atomic_bool *left) {
    struct work *work = arg;
    const struct replica replica = replica_of(work);

    (void)left;
    work->result = replica_here.flush(replica_here.arg, &replica, work->epoch, &work->err);
}

static int flush_near(void *arg, const struct replica *replica, int64_t epoch, struct error *err) {
    static const struct pool_call call = { .run = run_flush }, piece = { .run = run_write_out };
    struct work work = work_on(replica, epoch);

    return write_out(arg, &piece, &work, err) < 0 ? -1 : make(arg, &call, &work, err);
}

static void run_sums(void *arg, const atomic_bool *left) {
    struct work *work = arg;
    const struct replica replica = replica_of(work);

    (void)left;
    work->result = replica_here.sums(replica_here.arg, &replica, work->epoch, &work->at, work->end,
                                     work->count, work->sums, &work->err);
}

static int sums_near(void *arg, const struct replica *replica, int64_t epoch, int64_t *at,
                     int64_t end, unsigned count, unsigned char (*ret)[REPLICA_SUM_SIZE],
                     struct error *err) {
    static const struct pool_call call = { .run = run_sums };
    struct work work = work_on(replica, epoch);
    int result;

    assert(count <= REPLICA_SUMS_MOST);
    work.at = *at;
    work.end = end;
    work.count = count;
    result = make(arg, &call, &work, err);
    if (result < 0)
        return -1;
    *at = work.at;
    memcpy(ret, work.sums, (size_t)result * sizeof(*ret));
    return result;
}

static void run_lock(void *arg, const atomic_bool *left) {
    struct work *work = arg;
    const struct replica replica = replica_of(work);

    (void)left;
    work->result = replica_here.lock(replica_here.arg, &replica, &work->lock, &work->err);
}

static void unlock(void *arg) {
    const struct work *work = arg;

    if (work->result == 0)
        close(work->lock);
}

static int lock_near(void *arg, const struct replica *replica, int *ret, struct error *err) {
    static const struct pool_call call = { .run = run_lock, .drop = unlock };
    struct work work = work_on(replica, 0);

    if (make(arg, &call, &work, err) < 0)
        return -1;
    *ret = work.lock;
    return 0;
}

static void run_create(void *arg, const atomic_bool *left) {
    struct work *work = arg;
    const struct replica replica = replica_of(work);

    work->result = replica_create_unless(left, &replica, work->volume, work->bytes, &work->err);
}

static int create_near(void *arg, const struct replica *replica, const char *volume,
                       int64_t maximum_bytes, struct error *err) {
    static const struct pool_call call = { .run = run_create };
    struct work work = work_on(replica, 0);

    snprintf(work.volume, sizeof(work.volume), "%s", volume);
    work.bytes = maximum_bytes;
    return make(arg, &call, &work, err);
}

static void run_adopt(void *arg, const atomic_bool *left) {
    struct work *work = arg;
    const struct replica replica = replica_of(work);

    (void)left;
    work->result = replica_here.adopt(replica_here.arg, &replica, work->epoch, &work->err);
}

static int adopt_near(void *arg, const struct replica *replica, int64_t epoch, struct error *err) {
    static const struct pool_call call = { .run = run_adopt };
    struct work work = work_on(replica, epoch);

    return make(arg, &call, &work, err);
}

static void run_snapshot(void *arg, const atomic_bool *left) {
    struct work *work = arg;
    const struct replica replica = replica_of(work);

    work->result =
        replica_snapshot_step(&replica, work->step, work->name, work->bytes, left, &work->err);
}

/* Its file would be found by the next snapshot alone, whenever that is, and may be as large as the
 * volume. */
static void remove_begun(void *arg) {
    const struct work *work = arg;
    const struct replica replica = replica_of(work);
    struct error ignored;

    if (work->step == REPLICA_SNAPSHOT_BEGIN || work->step == REPLICA_SNAPSHOT_END)
        (void)replica_snapshot_step(&replica, REPLICA_SNAPSHOT_TIDY, work->name, 0, NULL, &ignored);
}

static int snapshot_near(void *arg, const struct replica *replica, enum replica_snapshot_step step,
                         const char *name, int64_t size_bytes, struct error *err) {
    static const struct pool_call call = { .run = run_snapshot, .drop = remove_begun };
    static const struct pool_call piece = { .run = run_write_out, .drop = remove_begun };
    struct work work = work_on(replica, 0);

    snprintf(work.name, sizeof(work.name), "%s", name);
    work.step = step;
    work.bytes = size_bytes;
    if (step == REPLICA_SNAPSHOT_END && write_out(arg, &piece, &work, err) < 0)
        return -1;
    return make(arg, &call, &work, err);
}

static void run_snapshot_size(void *arg, const atomic_bool *left) {
    struct work *work = arg;
    const struct replica replica = replica_of(work);

    (void)left;
    work->bytes = replica_here.snapshot_size(replica_here.arg, &replica, work->name);
}

static int64_t snapshot_size_near(void *arg, const struct replica *replica, const char *name) {
    static const struct pool_call call = { .run = run_snapshot_size, .looks = true };
    struct work work = work_on(replica, 0);

    snprintf(work.name, sizeof(work.name), "%s", name);
    return pool_calls_do(arg, replica->pool, &call, &work, sizeof(work)) ? work.bytes : -1;
}

struct read_work {
    struct path pool;
    char uid[UUID_SIZE + 1];
    int64_t at;
    size_t size;
    int result;
    struct error err;
    unsigned char bytes[];
};

static void run_read(void *arg, const atomic_bool *left) {
    struct read_work *work = arg;
    const struct replica replica = { .pool = work->pool.text, .uid = work->uid };

    (void)left;
    work->result = replica_here.read(replica_here.arg, &replica, work->at, work->size, work->bytes,
                                     &work->err);
}

static int read_near(void *arg, const struct replica *replica, int64_t at, size_t size, void *ret,
                     struct error *err) {
    static const struct pool_call call = { .run = run_read };
    autofree struct read_work *work = heap_new(sizeof(*work) + size);

    work->pool = copy_path(replica->pool);
    snprintf(work->uid, sizeof(work->uid), "%s", replica->uid);
    work->at = at;
    work->size = size;
    if (!pool_calls_do(arg, replica->pool, &call, work, sizeof(*work) + size))
        return hanging_refuse(replica->pool, err);
    if (work->result < 0)
        return error_pass(err, &work->err);
    memcpy(ret, work->bytes, size);
    return 0;
}

struct replica_access near_access(struct pool_calls *calls) {
    return (struct replica_access){
        .open = open_near,
        .close = replica_here.close, /* which touches nothing */
        .look = look_near,
        .write_state = write_state_near,
        .reset = reset_near,
        .flush = flush_near,
        .sums = sums_near,
        .lock = lock_near,
        .create = create_near,
        .adopt = adopt_near,
        .read = read_near,
        .snapshot = snapshot_near,
        .snapshot_size = snapshot_size_near,
        .arg = calls,
    };
}

/* ---- a pool ---- */

struct pool_work {
    struct path path;
    char name[NAME_SIZE];
    struct pool_look look;
};

static void look_at_pool(void *arg, const atomic_bool *left) {
    struct pool_work *work = arg;

    (void)left;
    pool_look(work->path.text, work->name, &work->look);
}

bool near_pool_look(struct pool_calls *calls, const char *path, const char *name,
                    struct pool_look *ret) {
    static const struct pool_call call = { .run = look_at_pool, .looks = true };
    struct pool_work work = { .path = copy_path(path) };

    snprintf(work.name, sizeof(work.name), "%s", name);
    if (!pool_calls_do(calls, path, &call, &work, sizeof(work)))
        return false;
    *ret = work.look;
    return true;
}
