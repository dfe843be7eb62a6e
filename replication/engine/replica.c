#include "replication/engine/replica.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/image_lock.h"
#include "replication/engine/epoch.h"
#include "replication/engine/replica.private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define LOCK        "lock"
#define BLOCK       512
#define PAUSE_MS    5
#define MOMENT_US   SECOND_US
#define UNUSED_MOST 4096 /* allocation of a file that was never written to, at most */

const char *replica_data_path(struct arena *arena, const struct replica *replica) {
    return arena_join(arena, replica->pool, "/", replica->uid, "/" DATA, NULL);
}

struct replica replica_keep(struct arena *arena, const struct replica *replica) {
    return (struct replica){ .pool = arena_text(arena, replica->pool),
                             .uid = arena_text(arena, replica->uid) };
}

/* ---- directories and files ---- */

/* A file of its own that is open for writing: a lock of a directory, or of a file that is open for
 * reading, is invisible to other machines. Creating and emptying a replica hold it for a moment,
 * which is awaited. */
static int lock_directory(int directory, const struct replica *replica, struct error *err) {
    autoclose int fd =
        openat(directory, LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    int64_t until_us = clock_monotonic_us() + MOMENT_US;
    struct stat facts = { 0 };
    bool held;

    if (fd < 0)
        return replica_errno(err, replica, "opening the lock");
    while ((held = flock(fd, LOCK_EX | LOCK_NB) < 0) && clock_monotonic_us() < until_us) {
        if (errno != EINTR && errno != EWOULDBLOCK)
            return replica_errno(err, replica, "locking the directory");
        poll(NULL, 0, PAUSE_MS);
    }
    if (held || (fstat(fd, &facts) == 0 && facts.st_nlink == 0)) /* or its former holder has removed
                                                                  * it */
        return error_set(err, ERROR_CONFLICT, "Another process works on the replica %s in %s.",
                         replica->uid, replica->pool);
    return take_fd(fd);
}

int replica_lock(const struct replica *replica, int *ret, struct error *err) {
    autoclose int directory = replica_open(replica, err);
    int fd = directory < 0 ? -1 : lock_directory(directory, replica, err);

    if (fd < 0)
        return -1;
    *ret = fd;
    return 0;
}

static int open_data(int directory, int flags) {
    return openat(directory, DATA, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
}

int replica_open_data(const struct replica *replica, struct error *err) {
    autoclose int directory = replica_open(replica, err);
    autoclose int data = directory < 0 ? -1 : open_data(directory, O_RDWR);
    struct stat facts;

    if (directory < 0)
        return -1;
    if (data < 0 || fstat(data, &facts) < 0)
        return replica_errno(err, replica, "opening the data");
    if (!S_ISREG(facts.st_mode))
        return error_set(err, ERROR_BACKEND, "The data of %s are no plain file.", replica->uid);
    return take_fd(data);
}

/* ERROR_CONFLICT: QEMU has it open. */
static int refuse_held(int data, const struct replica *replica, struct error *err) {
    enum image_hold hold = image_lock_look(data, err);

    if (hold == IMAGE_HELD)
        return error_set(err, ERROR_CONFLICT, "The replica %s in %s is in use.", replica->uid,
                         replica->pool);
    return hold == IMAGE_LOCKED ? 0 : -1;
}

/* ---- creation ---- */

/* A directory of a late call might never be removed. */
static int make_directory(const struct replica *replica, const atomic_bool *abandoned,
                          struct error *err) {
    autoclose int pool = replica_open_pool(replica, err);
    bool made;

    if (pool < 0)
        return -1;
    made = mkdirat(pool, replica->uid, 0700) == 0;
    if (!made && errno != EEXIST)
        return replica_errno(err, replica, "making the directory");
    if (made && abandoned && atomic_load(abandoned)) {
        unlinkat(pool, replica->uid, AT_REMOVEDIR);
        return error_set(err, ERROR_UNAVAILABLE, "The creation of the replica %s was abandoned.",
                         replica->uid);
    }
    return fsync(pool) < 0 ? replica_errno(err, replica, "making the directory") : 0;
}

/* The file of an attempt that crashed is discarded; data that cannot be restored are not. */
static int make_data(int directory, const struct replica *replica,
                     const struct replica_content *content, bool afresh, struct error *err) {
    autoclose int fd = open_data(directory, O_RDWR | O_CREAT);
    struct stat facts;

    if (fd < 0 || fstat(fd, &facts) < 0)
        return replica_errno(err, replica, "making the file");
    if (refuse_held(fd, replica, err) < 0)
        return -1;
    if (afresh && !content->write_content && (int64_t)facts.st_blocks * BLOCK > UNUSED_MOST)
        return error_set(err, ERROR_CONFLICT,
                         "The replica %s in %s has data and no state: it is not created again.",
                         replica->uid, replica->pool);
    if (ftruncate(fd, 0) < 0)
        return replica_errno(err, replica, "making the file");
    if (content->write_content && content->write_content(content->arg, fd, err) < 0)
        return -1;
    if (ftruncate(fd, content->bytes) < 0 || fsync(fd) < 0)
        return replica_errno(err, replica, "making the file");
    return 0;
}

static void begin_state(const struct replica *replica, const char *volume,
                        const struct generation *first, struct replica_state *ret) {
    *ret = (struct replica_state){ .mark = first ? REPLICA_CLEAN : REPLICA_EMPTY };
    snprintf(ret->volume, UUID_SIZE, "%s", volume);
    snprintf(ret->replica, UUID_SIZE, "%s", replica->uid);
    if (first)
        ret->generation = *first;
}

int replica_create_with(const struct replica *replica, const char *volume,
                        const struct replica_content *content, const struct generation *first,
                        struct error *err) {
    autoclose int directory = -1, lock = -1;
    struct replica_state state;
    int found;

    if (make_directory(replica, content->abandoned, err) < 0)
        return -1;
    directory = replica_open(replica, err);
    lock = directory < 0 ? -1 : lock_directory(directory, replica, err);
    if (lock < 0)
        return -1;
    found = replica_read_state(directory, replica, &state, err);
    if (found < 0 && (first || err->kind != ERROR_BACKEND))
        return -1;
    if (found > 0 && strcmp(state.volume, volume) != 0)
        return error_set(err, ERROR_CONFLICT, "%s/%s is a replica of the volume %s.", replica->pool,
                         replica->uid, state.volume);
    if (found > 0)
        return 0;
    begin_state(replica, volume, first, &state);
    if (make_data(directory, replica, content, first != NULL, err) < 0 ||
        epoch_make(directory, err) < 0 || replica_put_state(directory, replica, &state, err) < 0)
        return -1;
    return replica_put_state(directory, replica, &state, err); /* and reserves space for the next */
}

int replica_create(const struct replica *replica, const char *volume, int64_t maximum_bytes,
                   const struct generation *first, struct error *err) {
    return replica_create_with(replica, volume, &(struct replica_content){ .bytes = maximum_bytes },
                               first, err);
}

int replica_create_unless(const atomic_bool *abandoned, const struct replica *replica,
                          const char *volume, int64_t maximum_bytes, struct error *err) {
    const struct replica_content content = { .bytes = maximum_bytes, .abandoned = abandoned };

    return replica_create_with(replica, volume, &content, NULL, err);
}

int replica_remove_snapshots(const struct replica *replica, const char *ending, struct error *err) {
    autoclose int directory = replica_open(replica, err);
    autodirectory DIR *list = directory < 0 ? NULL : fdopendir(directory);
    const size_t prefix = strlen(REPLICA_SNAPSHOT), least = prefix + strlen(ending);
    const struct dirent *entry;
    int result = 0;

    if (directory >= 0 && !list)
        replica_errno(err, replica, "listing the snapshots");
    if (!list)
        return -1;
    (void)take_fd(directory);
    while (result == 0 && (entry = readdir(list))) {
        size_t length = strlen(entry->d_name);

        if (length >= least && strncmp(entry->d_name, REPLICA_SNAPSHOT, prefix) == 0 &&
            strcmp(entry->d_name + length - strlen(ending), ending) == 0 &&
            unlinkat(dirfd(list), entry->d_name, 0) < 0)
            result = replica_errno(err, replica, "removing a snapshot");
    }
    return result;
}

/* A complete file that is no snapshot yet would be taken for one of the next attempt. */
int replica_reset(const struct replica *replica, const char *volume, int64_t maximum_bytes,
                  struct error *err) {
    autoclose int directory = replica_open(replica, err);
    autoclose int lock = directory < 0 ? -1 : lock_directory(directory, replica, err);
    autoclose int data = lock < 0 ? -1 : open_data(directory, O_RDONLY);
    struct replica_state state;

    begin_state(replica, volume, NULL, &state);
    if (lock < 0 || (data >= 0 && refuse_held(data, replica, err) < 0) ||
        replica_put_state(directory, replica, &state, err) < 0 ||
        replica_remove_snapshots(replica, REPLICA_COMPLETE_SNAPSHOT, err) < 0)
        return -1;
    return make_data(directory, replica, &(struct replica_content){ .bytes = maximum_bytes }, false,
                     err);
}

int replica_flush(const struct replica *replica, struct error *err) {
    autoclose int directory = replica_open(replica, err);
    autoclose int data = directory < 0 ? -1 : open_data(directory, O_RDWR);

    if (directory < 0)
        return -1;
    return data < 0 || fsync(data) < 0 ? replica_errno(err, replica, "flushing the data") : 0;
}

/* ---- probes ---- */

static int probe_data(int directory, const struct replica *replica, struct replica_probe *probe) {
    autoclose int data = open_data(directory, O_RDONLY);
    struct stat facts;
    struct statvfs space;
    enum image_hold hold;

    if (data < 0 || fstat(data, &facts) < 0 || fstatvfs(data, &space) < 0)
        return replica_errno(&probe->why, replica, "reading the attributes of the data");
    if (!S_ISREG(facts.st_mode))
        return error_set(&probe->why, ERROR_BACKEND, "The data of %s are no plain file.",
                         replica->uid);
    probe->device = facts.st_dev;
    probe->inode = facts.st_ino;
    probe->bytes = facts.st_size;
    probe->used_bytes = (int64_t)facts.st_blocks * BLOCK;
    probe->free_bytes = (int64_t)(space.f_bavail * space.f_frsize);
    if (space.f_flag & ST_RDONLY)
        probe->health = REPLICA_READ_ONLY;
    hold = image_lock_look(data, &probe->why);
    probe->held = hold == IMAGE_HELD;
    if (hold == IMAGE_LOCK_FAILED)
        probe->why.kind = ERROR_UNAVAILABLE;
    return hold == IMAGE_LOCK_FAILED ? -1 : 0;
}

static int probe_state(int directory, const struct replica *replica, const char *volume,
                       struct replica_probe *probe) {
    int found = replica_read_state(directory, replica, &probe->state, &probe->why);

    probe->has_state = found > 0;
    if (found < 0)
        return -1;
    if (found == 0)
        return error_set(&probe->why, ERROR_NOT_FOUND, "The replica %s has no state.",
                         replica->uid);
    if (strcmp(probe->state.volume, volume) != 0)
        return error_set(&probe->why, ERROR_BACKEND, "%s is a replica of the volume %s.",
                         replica->uid, probe->state.volume);
    if (probe->bytes < probe->state.generation.size_bytes)
        return error_set(&probe->why, ERROR_BACKEND, "The data of %s are truncated at %jd bytes.",
                         replica->uid, (intmax_t)probe->bytes);
    return 0;
}

void replica_probe(const struct replica *replica, const char *volume, struct replica_probe *ret) {
    autoclose int directory = -1;

    *ret = (struct replica_probe){ .health = REPLICA_GOOD };
    directory = replica_open(replica, &ret->why);
    if (directory < 0) {
        ret->health = ret->why.kind == ERROR_NOT_FOUND ? REPLICA_GONE : REPLICA_FAILING;
        return;
    }
    ret->epoch = epoch_read(directory, &ret->why);
    if (ret->epoch < 0 || probe_data(directory, replica, ret) < 0 ||
        probe_state(directory, replica, volume, ret) < 0)
        ret->health = ret->why.kind == ERROR_NOT_FOUND     ? REPLICA_GONE
                      : ret->why.kind == ERROR_UNAVAILABLE ? REPLICA_FAILING
                                                           : REPLICA_DAMAGED;
    else if (ret->health == REPLICA_READ_ONLY)
        error_set(&ret->why, ERROR_BACKEND, "The file system of %s is read only.", replica->pool);
}

void replica_probe_settled(const struct replica *replica, const char *volume,
                           struct replica_probe *ret) {
    int64_t until_us = clock_monotonic_us() + MOMENT_US;

    replica_probe(replica, volume, ret);
    while (ret->held && clock_monotonic_us() < until_us) {
        poll(NULL, 0, PAUSE_MS);
        replica_probe(replica, volume, ret);
    }
}

/* ---- deletion ---- */

int replica_delete(const struct replica *replica, struct error *err) {
    static const char *const names[] = { DATA, STATE, STATE_NEW, LOCK, EPOCH_FILE };
    autoclose int pool = replica_open_pool(replica, err);
    autoclose int directory = -1, lock = -1, data = -1;
    struct error reason;

    if (pool < 0)
        return -1;
    directory = replica_open(replica, &reason);
    if (directory < 0)
        return reason.kind == ERROR_NOT_FOUND ? 0 : error_pass(err, &reason);
    lock = lock_directory(directory, replica, err);
    if (lock < 0)
        return -1;
    data = open_data(directory, O_RDONLY);
    if (data >= 0 && refuse_held(data, replica, err) < 0)
        return -1;
    if (replica_remove_snapshots(replica, "", err) < 0)
        return -1;
    /* The data first: as long as a state is there, the deletion is repeated. */
    for (size_t i = 0; i < LENGTH(names); i++) {
        if ((unlinkat(directory, names[i], 0) < 0 && errno != ENOENT) || fsync(directory) < 0)
            return replica_errno(err, replica, "removing a file");
    }
    if ((unlinkat(pool, replica->uid, AT_REMOVEDIR) < 0 && errno != ENOENT) || fsync(pool) < 0)
        return replica_errno(err, replica, "removing the directory");
    return 0;
}
