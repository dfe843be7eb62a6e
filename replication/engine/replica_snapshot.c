#include "replication/engine/replica_snapshot.h"

#include "common/cleanup.h"
#include "common/heap.h"
#include "replication/engine/replica.private.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX    REPLICA_SNAPSHOT
#define BEGUN     ".new"
#define COMPLETE  REPLICA_COMPLETE_SNAPSHOT
#define NAME_MOST (sizeof(PREFIX) + UUID_SIZE + sizeof(COMPLETE))
#define BLOCK     512 /* of st_blocks */
#define PIECE     ((size_t)1 << 20)

static int fail(struct error *err, const struct replica *replica, const char *what) {
    enum error_kind kind = errno == ENOENT ? ERROR_NOT_FOUND : ERROR_BACKEND;

    return error_errno(err, kind, "%s of the replica %s in %s", what, replica->uid, replica->pool);
}

struct names {
    char whole[NAME_MOST], begun[NAME_MOST], complete[NAME_MOST];
};

/* The directory of the replica, and the names of the snapshot's files there. */
static int open_named(const struct replica *replica, const char *name, struct names *ret,
                      struct error *err) {
    if (!uuid_is_canonical(name))
        return error_set(err, ERROR_BAD_REQUEST, "Invalid snapshot name %.64s.", name);
    snprintf(ret->whole, NAME_MOST, PREFIX "%s", name);
    snprintf(ret->begun, NAME_MOST, PREFIX "%s" BEGUN, name);
    snprintf(ret->complete, NAME_MOST, PREFIX "%s" COMPLETE, name);
    return replica_open(replica, err);
}

static int remove_file(int directory, const char *name, const struct replica *replica,
                       struct error *err) {
    return unlinkat(directory, name, 0) < 0 && errno != ENOENT
               ? fail(err, replica, "removing a snapshot")
               : 0;
}

/* ---- making ---- */

const char *replica_snapshot_path(struct arena *arena, const struct replica *replica,
                                  const char *name) {
    return arena_join(arena, replica->pool, "/", replica->uid, "/" PREFIX, name, BEGUN, NULL);
}

int replica_snapshot_begin(const struct replica *replica, const char *name, int64_t size_bytes,
                           struct arena *arena, const char **ret, struct error *err) {
    struct names names;
    autoclose int directory = open_named(replica, name, &names, err), fd = -1;

    if (directory < 0 || remove_file(directory, names.begun, replica, err) < 0 ||
        remove_file(directory, names.complete, replica, err) < 0)
        return -1;
    fd = openat(directory, names.begun, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, size_bytes) < 0)
        return fail(err, replica, "making a snapshot");
    *ret = replica_snapshot_path(arena, replica, name);
    return 0;
}

/* The incomplete one is on the disk, and complete then, or a snapshot. */
static int keep(const struct replica *replica, const char *name, bool is_snapshot,
                const atomic_bool *abandoned, struct error *err) {
    struct names names;
    autoclose int directory = open_named(replica, name, &names, err), fd = -1;

    if (directory < 0)
        return -1;
    fd = openat(directory, names.begun, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fsync(fd) < 0)
        return fail(err, replica, "keeping a snapshot");
    if (abandoned && atomic_load(abandoned))
        return error_set(err, ERROR_UNAVAILABLE, "The snapshot %s was abandoned.", name);
    if (renameat(directory, names.begun, directory, is_snapshot ? names.whole : names.complete) <
            0 ||
        fsync(directory) < 0)
        return fail(err, replica, "keeping a snapshot");
    return 0;
}

int replica_snapshot_end(const struct replica *replica, const char *name, struct error *err) {
    return keep(replica, name, true, NULL, err);
}

static int end_complete(const struct replica *replica, const char *name, struct error *err) {
    struct names names;
    autoclose int directory = open_named(replica, name, &names, err);

    if (directory < 0)
        return -1;
    if (faccessat(directory, names.complete, F_OK, AT_SYMLINK_NOFOLLOW) < 0 ||
        renameat(directory, names.complete, directory, names.whole) < 0 || fsync(directory) < 0)
        return fail(err, replica, "keeping a snapshot");
    return 0;
}

/* ---- reading ---- */

int replica_snapshot_list(const struct replica *replica, struct replica_snapshot *ret,
                          unsigned most, struct error *err) {
    autoclose int directory = replica_open(replica, err);
    autodirectory DIR *list = directory < 0 ? NULL : fdopendir(directory);
    unsigned count = 0;
    struct dirent *entry;
    struct replica_snapshot one;
    struct stat facts;

    if (directory >= 0 && !list)
        fail(err, replica, "listing the snapshots");
    if (!list)
        return -1;
    (void)take_fd(directory);
    while ((entry = readdir(list))) {
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0 ||
            !uuid_parse(entry->d_name + strlen(PREFIX), one.name) || /* an incomplete one */
            fstatat(dirfd(list), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        one.size_bytes = facts.st_size;
        one.used_bytes = (int64_t)facts.st_blocks * BLOCK;
        if (count < most)
            ret[count] = one;
        count++;
    }
    return (int)count;
}

static int open_whole(const struct replica *replica, const char *name, struct error *err) {
    struct names names;
    autoclose int directory = open_named(replica, name, &names, err);
    int fd;

    if (directory < 0)
        return -1;
    fd = openat(directory, names.whole, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return fd < 0 ? fail(err, replica, "opening a snapshot") : fd;
}

bool replica_snapshot_is_there(const struct replica *replica, const char *name) {
    struct error ignored;
    autoclose int fd = open_whole(replica, name, &ignored);

    return fd >= 0;
}

int64_t replica_snapshot_size(const struct replica *replica, const char *name) {
    struct error ignored;
    autoclose int fd = open_whole(replica, name, &ignored);
    struct stat facts;

    return fd >= 0 && fstat(fd, &facts) == 0 ? facts.st_size : 0;
}

/* ---- deletion ---- */

int replica_snapshot_delete(const struct replica *replica, const char *name, struct error *err) {
    struct names names;
    autoclose int directory = open_named(replica, name, &names, err);

    if (directory < 0)
        return err->kind == ERROR_NOT_FOUND ? 0 : -1;
    if (remove_file(directory, names.whole, replica, err) < 0 ||
        remove_file(directory, names.complete, replica, err) < 0 ||
        remove_file(directory, names.begun, replica, err) < 0)
        return -1;
    return fsync(directory) < 0 ? fail(err, replica, "removing a snapshot") : 0;
}

/* ---- a step of one ---- */

int replica_snapshot_step(const struct replica *replica, enum replica_snapshot_step step,
                          const char *name, int64_t size_bytes, const atomic_bool *abandoned,
                          struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *ignored;

    switch (step) {
    case REPLICA_SNAPSHOT_BEGIN:
        return replica_snapshot_begin(replica, name, size_bytes, arena, &ignored, err);
    case REPLICA_SNAPSHOT_COMPLETE:
        return keep(replica, name, false, abandoned, err);
    case REPLICA_SNAPSHOT_END:
        return end_complete(replica, name, err);
    case REPLICA_SNAPSHOT_DELETE:
        return replica_snapshot_delete(replica, name, err);
    default:
        return replica_remove_snapshots(replica, BEGUN, err);
    }
}

/* ---- cloning ---- */

struct source {
    int fd;
    struct replica_copy *copy; /* NULL: no other thread reads it */
};

static int copy_extent(const struct source *source, int to, off_t at, off_t end, char *buffer) {
    while (at < end) {
        size_t size = end - at < (off_t)PIECE ? (size_t)(end - at) : PIECE;
        ssize_t got = pread(source->fd, buffer, size, at);

        if (source->copy && atomic_load(&source->copy->ends)) {
            errno = ECANCELED;
            return -1;
        }
        if (got == 0)
            errno = EIO; /* it was longer a moment ago */
        if (got == 0 || (got < 0 && errno != EINTR) ||
            (got > 0 && replica_write_bytes(to, buffer, (size_t)got, at) < 0))
            return -1;
        at += got > 0 ? got : 0;
        if (source->copy && got > 0)
            atomic_fetch_add(&source->copy->done_bytes, got);
    }
    return 0;
}

/* Holes stay holes. */
static int copy_data(const struct source *source, int to) {
    autofree char *buffer = heap_new(PIECE);
    off_t at = 0, end;
    struct stat facts;

    if (source->copy && fstat(source->fd, &facts) == 0)
        atomic_store(&source->copy->total_bytes, (int64_t)facts.st_blocks * BLOCK);
    while ((at = lseek(source->fd, at, SEEK_DATA)) >= 0) {
        end = lseek(source->fd, at, SEEK_HOLE);
        if (end < 0 || copy_extent(source, to, at, end, buffer) < 0)
            return -1;
        at = end;
    }
    return errno == ENXIO ? 0 : -1;
}

static int write_content(void *arg, int fd, struct error *err) {
    const struct source *source = arg;

    if (ioctl(fd, FICLONE, source->fd) == 0 || copy_data(source, fd) == 0)
        return 0;
    return error_errno(err, ERROR_BACKEND, "copying a snapshot");
}

int replica_snapshot_clone(const struct replica *source, const char *name,
                           const struct replica *replica, const char *volume, int64_t maximum_bytes,
                           const struct generation *first, struct replica_copy *copy,
                           struct error *err) {
    autoclose int from = open_whole(source, name, err);
    struct source content_source = { from, copy };
    const struct replica_content content = { .bytes = maximum_bytes,
                                             .write_content = write_content,
                                             .arg = &content_source };
    struct stat facts;

    if (from < 0)
        return -1;
    if (fstat(from, &facts) < 0)
        return fail(err, source, "reading the attributes of a snapshot");
    if (facts.st_size > first->size_bytes)
        return error_set(err, ERROR_BAD_REQUEST,
                         "A volume of the snapshot %s has at least %jd bytes.", name,
                         (intmax_t)facts.st_size);
    return replica_create_with(replica, volume, &content, first, err);
}

int replica_snapshot_copy(const struct replica *source, const char *name,
                          const struct replica *replica, struct replica_copy *copy,
                          struct error *err) {
    autoarena struct arena *arena = arena_new();
    autoclose int from = open_whole(source, name, err), to = -1;
    struct source content_source = { from, copy };
    const char *path;
    struct stat facts;

    if (from < 0)
        return -1;
    if (replica_snapshot_is_there(replica, name))
        return 0;
    if (fstat(from, &facts) < 0)
        return fail(err, source, "reading the attributes of a snapshot");
    if (replica_snapshot_begin(replica, name, facts.st_size, arena, &path, err) < 0)
        return -1;
    to = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (to < 0)
        return fail(err, replica, "opening a snapshot");
    return write_content(&content_source, to, err) < 0 ? -1
                                                       : replica_snapshot_end(replica, name, err);
}
