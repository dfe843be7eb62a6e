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

/* A copy of a request, with its results. */
struct work {
    struct replica_request request; /* its pointers are the copy's only in run() */
    bool writes_out;                /* before a FLUSH or a complete SNAPSHOT, a piece */
    struct path pool;
    char uid[UUID_SIZE + 1], volume[UUID_SIZE], name[UUID_SIZE + 1];
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

static const char *text_of(const char *text) {
    return text ? text : "";
}

static void copy_request(const struct replica_request *request, struct work *ret) {
    *ret = (struct work){ .request = *request,
                          .pool = copy_path(request->replica->pool),
                          .size = request->size };
    snprintf(ret->uid, sizeof(ret->uid), "%s", request->replica->uid);
    snprintf(ret->volume, sizeof(ret->volume), "%s", text_of(request->volume));
    snprintf(ret->name, sizeof(ret->name), "%s", text_of(request->name));
    if (request->state)
        ret->state = *request->state;
}

/* Those of its kind: the pointers of the others are NULL. */
static void copy_results(const struct work *work, struct replica_request *ret) {
    ret->at = work->request.at;
    ret->bytes = work->request.bytes;
    if (ret->data)
        *ret->data = work->data;
    if (ret->probe)
        *ret->probe = work->probe;
    if (ret->sums)
        memcpy(ret->sums, work->sums, (size_t)work->result * sizeof(*ret->sums));
    if (ret->lock)
        *ret->lock = work->lock;
    if (ret->read)
        memcpy(ret->read, work->read, work->size);
}

static struct replica replica_of(const struct work *work) {
    return (struct replica){ .pool = work->pool.text, .uid = work->uid };
}

/* 1: more pieces follow.  The kernel reports a write error once, that is, here. */
static int write_out_piece(struct work *work, const struct replica *replica) {
    autoarena struct arena *arena = arena_new();
    const char *path = work->name[0] ? replica_snapshot_path(arena, replica, work->name)
                                     : replica_data_path(arena, replica);
    autoclose int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    off_t from = fd < 0 ? -1 : lseek(fd, work->request.at, SEEK_DATA);

    assert(work->request.at >= 0);
    if (from < 0)
        return 0;
    if (sync_file_range(fd, from, PIECE, WRITTEN) < 0)
        return errno == ENOSYS || errno == EINVAL
                   ? 0
                   : error_errno(&work->err, ERROR_UNAVAILABLE,
                                 "writing dirty data of the replica %s in %s", work->uid,
                                 work->pool.text);
    work->request.at = from + PIECE;
    return 1;
}

static void run(void *arg, const atomic_bool *abandoned) {
    struct work *work = arg;
    struct replica_request *request = &work->request;
    const struct replica replica = replica_of(work);

    if (work->writes_out) {
        work->result = write_out_piece(work, &replica);
        return;
    }
    *request = (struct replica_request){ .kind = request->kind,
                                         .replica = &replica,
                                         .epoch = request->epoch,
                                         .volume = work->volume,
                                         .bytes = request->bytes,
                                         .at = request->at,
                                         .end = request->end,
                                         .count = request->count,
                                         .size = work->size,
                                         .step = request->step,
                                         .name = work->name,
                                         .state = &work->state,
                                         .abandoned = abandoned,
                                         .data = &work->data,
                                         .probe = &work->probe,
                                         .sums = work->sums,
                                         .lock = &work->lock,
                                         .read = work->read };
    work->result = replica_request(&replica_local, request, &work->err);
}

/* Of an abandoned call.  The file of its snapshot, possibly as large as the volume, would remain
 * until the next snapshot is taken. */
static void drop(void *arg) {
    const struct work *work = arg;
    const struct replica replica = replica_of(work);
    struct error ignored;

    if (work->request.kind == ACCESS_LOCK && work->result == 0)
        close(work->lock);
    if (work->request.kind == ACCESS_SNAPSHOT && (work->request.step == REPLICA_SNAPSHOT_BEGIN ||
                                                  work->request.step == REPLICA_SNAPSHOT_COMPLETE))
        (void)replica_snapshot_step(&replica, REPLICA_SNAPSHOT_TIDY, work->name, 0, NULL, &ignored);
}

static int call_or_refuse(struct pool_calls *calls, struct work *work, struct error *err) {
    enum access_kind kind = work->request.kind;
    const struct pool_call call = { .run = run,
                                    .drop = drop,
                                    .reads = kind == ACCESS_PROBE || kind == ACCESS_SNAPSHOT_SIZE };

    if (!pool_calls_do(calls, work->pool.text, &call, work, sizeof(*work) + work->size))
        return unresponsive_refuse(work->pool.text, err);
    return work->result < 0 ? error_pass(err, &work->err) : work->result;
}

/* Precedes a flush, which would take as long as the kernel needs to write all dirty pages; these
 * may fill a good part of the memory.  Each piece has a timeout of its own. */
static int write_out(struct pool_calls *calls, const struct replica_request *request,
                     struct error *err) {
    struct work work;
    int more;

    copy_request(request, &work);
    work.writes_out = true;
    work.request.at = 0;
    do {
        more = call_or_refuse(calls, &work, err);
    } while (more > 0);
    return more;
}

static int call_local(void *arg, struct replica_request *request, struct error *err) {
    bool flushes = request->kind == ACCESS_FLUSH ||
                   (request->kind == ACCESS_SNAPSHOT && request->step == REPLICA_SNAPSHOT_COMPLETE);
    autofree struct work *work = NULL;
    int result;

    if (request->kind == ACCESS_CLOSE)
        return replica_request(&replica_local, request, err); /* accesses no pool */
    if (flushes && write_out(arg, request, err) < 0)
        return -1;
    work = heap_new(sizeof(*work) + request->size);
    copy_request(request, work);
    result = call_or_refuse(arg, work, err);
    if (result >= 0)
        copy_results(work, request);
    else if (request->kind == ACCESS_PROBE) /* it never fails of itself */
        return replica_request(&replica_unresponsive, request, err);
    return result;
}

struct replica_access local_replica_access(struct pool_calls *calls) {
    return (struct replica_access){ .call = call_local, .arg = calls };
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
