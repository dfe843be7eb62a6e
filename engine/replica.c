#include "engine/replica.h"

#include "common/cleanup.h"
#include "common/image_lock.h"
#include "engine/replica.private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define DATA       "data"
#define STATE      "state"
#define STATE_NEW  "state.new"
#define STATE_MOST 8192
#define BLOCK      512

const char *replica_data_path(struct arena *arena, const struct replica *replica) {
    return arena_join(arena, replica->pool, "/", replica->uid, "/" DATA, NULL);
}

/* ---- directories and files ---- */

static int say(struct error *err, const struct replica *replica, const char *what) {
    enum error_kind kind = errno == ENOENT ? ERROR_NOT_FOUND : ERROR_BACKEND;

    return error_errno(err, kind, "%s of the replica %s in %s", what, replica->uid, replica->pool);
}

static int open_pool(const struct replica *replica, struct error *err) {
    char uid[UUID_SIZE];
    int fd;

    if (!uuid_parse(replica->uid, uid) || strcmp(uid, replica->uid) != 0)
        return error_set(err, ERROR_BAD_REQUEST, "%.64s is no name of a replica.", replica->uid);
    fd = open(replica->pool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? say(err, replica, "opening the pool") : fd;
}

int replica_open(const struct replica *replica, struct error *err) {
    autoclose int pool = open_pool(replica, err);
    int fd;

    if (pool < 0)
        return -1;
    fd = openat(pool, replica->uid, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? say(err, replica, "opening the directory") : fd;
}

static int lock_directory(int fd, const struct replica *replica, struct error *err) {
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno == EWOULDBLOCK)
            return error_set(err, ERROR_CONFLICT, "Somebody else works on the replica %s in %s.",
                             replica->uid, replica->pool);
        if (errno != EINTR)
            return say(err, replica, "locking the directory");
    }
    return 0;
}

int replica_lock(const struct replica *replica, int *ret, struct error *err) {
    autoclose int fd = replica_open(replica, err);

    if (fd < 0 || lock_directory(fd, replica, err) < 0)
        return -1;
    *ret = take_fd(fd);
    return 0;
}

static int open_data(int directory, int flags) {
    return openat(directory, DATA, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
}

/* ERROR_CONFLICT: QEMU has it open. */
static int refuse_held(int data, const struct replica *replica, struct error *err) {
    enum image_hold hold = image_lock_look(data, err);

    if (hold == IMAGE_HELD)
        return error_set(err, ERROR_CONFLICT, "The replica %s in %s is in use.", replica->uid,
                         replica->pool);
    return hold == IMAGE_LOCKED ? 0 : -1;
}

/* ---- the state ---- */

static int write_all(int fd, const char *text, size_t size) {
    while (size > 0) {
        ssize_t written = write(fd, text, size);

        if (written < 0 && errno != EINTR)
            return -1;
        if (written > 0) {
            text += written;
            size -= (size_t)written;
        }
    }
    return fsync(fd);
}

static int write_state(int directory, const struct replica *replica,
                       const struct replica_state *state, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *text = replica_state_text(arena, state);
    autoclose int fd =
        openat(directory, STATE_NEW, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0 || write_all(fd, text, strlen(text)) < 0 ||
        renameat(directory, STATE_NEW, directory, STATE) < 0 || fsync(directory) < 0)
        return say(err, replica, "writing the state");
    return 0;
}

int replica_write_state(const struct replica *replica, const struct replica_state *state,
                        struct error *err) {
    autoclose int directory = replica_open(replica, err);

    return directory < 0 ? -1 : write_state(directory, replica, state, err);
}

/* 1 read, 0 there is none, -1 it cannot be read or is not this replica's. */
static int read_state(int directory, const struct replica *replica, struct replica_state *ret,
                      struct error *err) {
    autoclose int fd = openat(directory, STATE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    autoarena struct arena *arena = arena_new();
    char text[STATE_MOST];
    struct replica_state state;
    ssize_t got;

    if (fd < 0 && errno == ENOENT)
        return 0;
    got = fd < 0 ? -1 : read(fd, text, sizeof(text));
    if (got < 0)
        return say(err, replica, "reading the state");
    if (replica_state_parse(arena, text, (size_t)got, &state, err) < 0)
        return error_context(err, "%s in %s", replica->uid, replica->pool);
    if (strcmp(state.replica, replica->uid) != 0)
        return error_set(err, ERROR_CONFLICT, "The state in %s/%s is that of the replica %s.",
                         replica->pool, replica->uid, state.replica);
    *ret = state;
    return 1;
}

/* ---- creation ---- */

static int make_directory(const struct replica *replica, struct error *err) {
    autoclose int pool = open_pool(replica, err);

    if (pool < 0)
        return -1;
    if (mkdirat(pool, replica->uid, 0700) < 0 && errno != EEXIST)
        return say(err, replica, "making the directory");
    return fsync(pool) < 0 ? say(err, replica, "making the directory") : 0;
}

/* Without a state, whatever is there is what a crash has left of an earlier try. */
static int make_data(int directory, const struct replica *replica,
                     const struct replica_content *content, struct error *err) {
    autoclose int fd = open_data(directory, O_RDWR | O_CREAT);

    if (fd < 0)
        return say(err, replica, "making the file");
    if (refuse_held(fd, replica, err) < 0)
        return -1;
    if (ftruncate(fd, 0) < 0)
        return say(err, replica, "making the file");
    if (content->fill && content->fill(content->arg, fd, err) < 0)
        return -1;
    if (ftruncate(fd, content->bytes) < 0 || fsync(fd) < 0)
        return say(err, replica, "making the file");
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
    autoclose int directory = -1;
    struct replica_state state;
    int found;

    if (make_directory(replica, err) < 0)
        return -1;
    directory = replica_open(replica, err);
    if (directory < 0 || lock_directory(directory, replica, err) < 0)
        return -1;
    found = read_state(directory, replica, &state, err);
    if (found < 0)
        return -1;
    if (found > 0 && strcmp(state.volume, volume) != 0)
        return error_set(err, ERROR_CONFLICT, "%s/%s is a replica of the volume %s.", replica->pool,
                         replica->uid, state.volume);
    if (found > 0)
        return 0;
    begin_state(replica, volume, first, &state);
    if (make_data(directory, replica, content, err) < 0)
        return -1;
    return write_state(directory, replica, &state, err);
}

int replica_create(const struct replica *replica, const char *volume, int64_t maximum_bytes,
                   const struct generation *first, struct error *err) {
    return replica_create_with(replica, volume, &(struct replica_content){ .bytes = maximum_bytes },
                               first, err);
}

int replica_reset(const struct replica *replica, const char *volume, int64_t maximum_bytes,
                  struct error *err) {
    autoclose int directory = replica_open(replica, err);
    autoclose int data = directory < 0 ? -1 : open_data(directory, O_RDONLY);
    struct replica_state state;

    begin_state(replica, volume, NULL, &state);
    if (directory < 0 || lock_directory(directory, replica, err) < 0 ||
        (data >= 0 && refuse_held(data, replica, err) < 0) ||
        write_state(directory, replica, &state, err) < 0)
        return -1;
    return make_data(directory, replica, &(struct replica_content){ .bytes = maximum_bytes }, err);
}

int replica_flush(const struct replica *replica, struct error *err) {
    autoclose int directory = replica_open(replica, err);
    autoclose int data = directory < 0 ? -1 : open_data(directory, O_RDWR);

    if (directory < 0)
        return -1;
    return data < 0 || fsync(data) < 0 ? say(err, replica, "flushing the data") : 0;
}

/* ---- a look ---- */

static int look_at_data(int directory, const struct replica *replica, struct replica_look *look) {
    autoclose int data = open_data(directory, O_RDONLY);
    struct stat facts;
    struct statvfs room;

    if (data < 0 || fstat(data, &facts) < 0 || fstatvfs(data, &room) < 0)
        return say(&look->why, replica, "looking at the data");
    if (!S_ISREG(facts.st_mode))
        return error_set(&look->why, ERROR_BACKEND, "The data of %s are no plain file.",
                         replica->uid);
    look->bytes = facts.st_size;
    look->used_bytes = (int64_t)facts.st_blocks * BLOCK;
    look->free_bytes = (int64_t)(room.f_bavail * room.f_frsize);
    if (room.f_flag & ST_RDONLY)
        look->health = REPLICA_READ_ONLY;
    look->held = image_lock_look(data, NULL) == IMAGE_HELD;
    return 0;
}

static int look_at_state(int directory, const struct replica *replica, const char *volume,
                         struct replica_look *look) {
    int found = read_state(directory, replica, &look->state, &look->why);

    look->has_state = found > 0;
    if (found < 0)
        return -1;
    if (found == 0)
        return error_set(&look->why, ERROR_NOT_FOUND, "The replica %s has no state.", replica->uid);
    if (strcmp(look->state.volume, volume) != 0)
        return error_set(&look->why, ERROR_BACKEND, "%s is a replica of the volume %s.",
                         replica->uid, look->state.volume);
    if (look->bytes < look->state.generation.size_bytes)
        return error_set(&look->why, ERROR_BACKEND, "The data of %s are cut off at %jd bytes.",
                         replica->uid, (intmax_t)look->bytes);
    return 0;
}

void replica_look(const struct replica *replica, const char *volume, struct replica_look *ret) {
    autoclose int directory = -1;

    *ret = (struct replica_look){ .health = REPLICA_GOOD };
    directory = replica_open(replica, &ret->why);
    if (directory < 0) {
        ret->health = ret->why.kind == ERROR_NOT_FOUND ? REPLICA_GONE : REPLICA_FAILING;
        return;
    }
    if (look_at_data(directory, replica, ret) < 0 ||
        look_at_state(directory, replica, volume, ret) < 0)
        ret->health = ret->why.kind == ERROR_NOT_FOUND ? REPLICA_GONE : REPLICA_DAMAGED;
    else if (ret->health == REPLICA_READ_ONLY)
        error_set(&ret->why, ERROR_BACKEND, "The file system of %s is read only.", replica->pool);
}

/* ---- deletion ---- */

int replica_remove_snapshots(const struct replica *replica, bool all, struct error *err) {
    autoclose int directory = replica_open(replica, err);
    DIR *list = directory < 0 ? NULL : fdopendir(directory);
    const size_t prefix = strlen(REPLICA_SNAPSHOT);
    const struct dirent *entry;
    char name[UUID_SIZE];
    int result = 0;

    if (directory >= 0 && !list)
        say(err, replica, "looking for snapshots");
    if (!list)
        return -1;
    (void)take_fd(directory);
    while (result == 0 && (entry = readdir(list))) {
        if (strncmp(entry->d_name, REPLICA_SNAPSHOT, prefix) == 0 &&
            (all || !uuid_parse(entry->d_name + prefix, name)) &&
            unlinkat(dirfd(list), entry->d_name, 0) < 0)
            result = say(err, replica, "removing a snapshot");
    }
    closedir(list);
    return result;
}

/* The data first: as long as a state is there, somebody asks for the rest. */
static int remove_files(int directory, const struct replica *replica, struct error *err) {
    static const char *const names[] = { DATA, STATE, STATE_NEW };

    for (size_t i = 0; i < LENGTH(names); i++) {
        if (unlinkat(directory, names[i], 0) < 0 && errno != ENOENT)
            return say(err, replica, "removing a file");
        if (fsync(directory) < 0)
            return say(err, replica, "removing a file");
    }
    return 0;
}

static int remove_directory(const struct replica *replica, struct error *err) {
    autoclose int pool = open_pool(replica, err);

    if (pool < 0)
        return -1;
    if ((unlinkat(pool, replica->uid, AT_REMOVEDIR) < 0 && errno != ENOENT) || fsync(pool) < 0)
        return say(err, replica, "removing the directory");
    return 0;
}

int replica_delete(const struct replica *replica, struct error *err) {
    autoclose int pool = open_pool(replica, err);
    autoclose int directory = -1, data = -1;
    struct error reason;

    if (pool < 0)
        return -1;
    directory = replica_open(replica, &reason);
    if (directory < 0)
        return reason.kind == ERROR_NOT_FOUND ? 0 : error_pass(err, &reason);
    if (lock_directory(directory, replica, err) < 0)
        return -1;
    data = open_data(directory, O_RDONLY);
    if (data >= 0 && refuse_held(data, replica, err) < 0)
        return -1;
    if (replica_remove_snapshots(replica, true, err) < 0 ||
        remove_files(directory, replica, err) < 0)
        return -1;
    return remove_directory(replica, err);
}
