/*
 * The volume as a regular file of this host: RUN/volume, which a second storage daemon, that of
 * RUN/file, serves over FUSE, and which is a client of RUN/nbd itself.
 *
 * Two daemons, because QEMU lets no job copy a node with a writable FUSE export: neither rebuild
 * nor snapshot nor repair would be possible. And so the file, and a loop device over it, outlive
 * the daemon with the replicas: whenever that one restarts, requests wait for it, up to PATIENCE_S,
 * and are sent again. They do not wait for another owner of the replicas: its writes would be
 * overwritten.
 *
 * QEMU takes the next request while it waits for the one before, into the same buffer: of two
 * concurrent writes one may get the other's data. The kernel sends one at a time as long as no
 * process opens the file with O_DIRECT.
 *
 * A quorum drops discards, and reports success. The kernel takes a hole that it has punched in a
 * file for zeros, and so do file systems on a loop device over it: here discards are refused as
 * unsupported, so that the kernel writes zeros instead, which become holes in all replicas.
 *
 * While no export is mounted on the file's path it must not take writes: a client that opens it
 * between two daemons would write into an empty file. So the path is a socket, which cannot be
 * opened, and below the export lies an empty file that is mounted read-only, because QEMU needs a
 * regular file to mount on.
 *
 * From the bottom: the client, a filter that refuses discards, a raw node of the visible size, the
 * export. A client keeps the size that it found: the volume grows by another one below the same raw
 * node.
 */
#include "replication/engine/target.private.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "replication/engine/daemon.h"
#include "json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/un.h>

#define ID          "file"
#define SOURCE      "below-"  /* and the size that the client found */
#define OLD_SOURCE  "source-" /* one that drops discards, of an earlier version */
#define PATIENCE_S  120
#define RUN_MOST    (sizeof(((struct sockaddr_un *)NULL)->sun_path) - sizeof("/qmp"))
#define SWEEP_MS    10000
#define EMPTY       "empty" /* in RUN/file: the file that is mounted below the export */
#define MOUNTS_MOST 8       /* of dead daemons, one over the other */

static const char *file_run(struct arena *arena, const struct target *target) {
    return daemon_path(arena, target->run, ID);
}

static const char *file_path(struct arena *arena, const char *run) {
    return daemon_path(arena, run, TARGET_FILE);
}

static int file_do(struct target *target, struct arena *arena, const char *command,
                   json_t *arguments, json_t **ret, struct error *err) {
    if (!target->file) {
        json_decref(arguments);
        return error_set(err, ERROR_UNAVAILABLE, "there is no storage daemon for the file");
    }
    return qmp_execute(target->file, arena, command, arguments, target->timeout_ms, ret, err);
}

#define FILE_DO(target, err, command, ...)                                   \
    __extension__({                                                          \
        autoarena struct arena *arena_ = arena_new();                        \
        file_do(target, arena_, command, json_pack(__VA_ARGS__), NULL, err); \
    })

/* ---- its mount point ---- */

/* No file system is mounted there. */
static int make_mount_point(const struct target *target, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *path = file_path(arena, target->run), *draft = arena_format(arena, "%s.new", path);
    const char *run = file_run(arena, target), *empty = arena_format(arena, "%s/" EMPTY, run);
    struct mount_attr read_only = { .attr_set = MOUNT_ATTR_RDONLY };
    autoclose int file = -1, tree = -1;
    struct stat found;

    if (strlen(run) > RUN_MOST)
        return error_set(err, ERROR_BAD_REQUEST, "The path of a socket would be too long: %s.",
                         run);
    if (mkdir(run, 0700) < 0 && errno != EEXIST)
        return error_errno(err, ERROR_BACKEND, "making %s", run);
    if (lstat(path, &found) < 0 || !S_ISSOCK(found.st_mode)) {
        unlink(draft);
        /* Replaces any other file atomically. */
        if (mknod(draft, S_IFSOCK, 0) < 0 || rename(draft, path) < 0)
            return error_errno(err, ERROR_BACKEND, "making %s", path);
    }
    file = open(empty, O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0400);
    if (file < 0)
        return error_errno(err, ERROR_BACKEND, "making %s", empty);
    tree = open_tree(file, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &read_only, sizeof(read_only)) < 0 ||
        move_mount(tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return error_errno(err, ERROR_BACKEND, "mounting a read-only file at %s", path);
    return 0;
}

/* ---- its daemon ---- */

static bool has_file(const struct target *target) {
    return target->export == TARGET_EXPORT_FILE && !target->sealed;
}

static void close_monitor(struct target *target) {
    qmp_close(target->file);
    target->file = NULL;
    target->file_bytes = 0;
    target->file_begun = false;
}

static int end(const char *run, int64_t timeout_ms, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *path = file_path(arena, run);
    int left = MOUNTS_MOST;

    if (daemon_kill(daemon_path(arena, run, ID), timeout_ms, err) < 0)
        return -1;
    /* A mount receives no request when its daemon has ended or hangs. */
    while (left-- > 0 && umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
        ;
    return 0;
}

static int clear(const char *run, int64_t timeout_ms, struct error *err) {
    autoarena struct arena *arena = arena_new();

    if (end(run, timeout_ms, err) < 0)
        return -1;
    unlink(arena_format(arena, "%s/" EMPTY, daemon_path(arena, run, ID)));
    daemon_clear(daemon_path(arena, run, ID));
    unlink(file_path(arena, run));
    return 0;
}

void target_sweep(const char *run) {
    struct error ignored;

    if (!daemon_runs(run) && clear(run, SWEEP_MS, &ignored) == 0)
        daemon_clear(run);
}

int file_stop(struct target *target, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *run = file_run(arena, target);
    struct error ignored;

    /* A daemon that waits for the replicas would not end before they are served. */
    if (target_serves(target) && target->file && FILE_DO(target, &ignored, "quit", "{}") == 0)
        daemon_await_end(run, target->timeout_ms, &ignored);
    close_monitor(target);
    return clear(target->run, target->timeout_ms, err);
}

/* ---- its nodes ---- */

static const char *name_source(struct arena *arena, int64_t bytes) {
    return arena_format(arena, SOURCE "%jd", (intmax_t)bytes);
}

/* The client, and above it the filter that refuses discards: after ENOSYS the kernel sends no more.
 */
static int add_source(struct target *target, const char *node, struct error *err) {
    autoarena struct arena *arena = arena_new();
    json_t *client =
        json_pack("{s:s, s:s, s:i, s:s, s:{s:s, s:s}}", "driver", "nbd", "export", TARGET_EXPORT,
                  "reconnect-delay", PATIENCE_S, "discard", "unmap", "server", "type", "unix",
                  "path", daemon_path(arena, target->run, "nbd"));
    json_t *rules =
        json_pack("[{s:s, s:s, s:i}]", "event", "none", "iotype", "discard", "errno", ENOSYS);

    assert(target->size_bytes > 0);
    return FILE_DO(target, err, "blockdev-add", "{s:s, s:s, s:s, s:o, s:o}", "driver", "blkdebug",
                   "node-name", node, "discard", "unmap", "image", client, "inject-error", rules);
}

static json_t *top_json(int64_t bytes, const char *source) {
    return json_pack("{s:s, s:s, s:I, s:s, s:s, s:s}", "driver", "raw", "node-name", TOP, "size",
                     (json_int_t)bytes, "file", source, "discard", "unmap", "detect-zeroes",
                     "unmap");
}

static int reopen(struct target *target, int64_t bytes, const char *source, struct error *err) {
    assert(target->file);
    return FILE_DO(target, err, "blockdev-reopen", "{s:[o]}", "options", top_json(bytes, source));
}

struct nodes {
    int64_t bytes; /* of the raw node; 0: there is none */
    unsigned count;
    const char *sources[8];
};

static int read_nodes(struct target *target, struct arena *arena, struct nodes *ret,
                      struct error *err) {
    json_t *list = NULL;
    const json_t *node;
    size_t i;

    if (file_do(target, arena, "query-named-block-nodes", json_pack("{s:b}", "flat", true), &list,
                err) < 0)
        return -1;
    *ret = (struct nodes){ 0 };
    json_array_foreach(list, i, node) {
        const char *name = json_text_of(node, "node-name");

        if (name && strcmp(name, TOP) == 0)
            ret->bytes =
                json_integer_value(json_object_get(json_object_get(node, "image"), "virtual-size"));
        else if (name && ret->count < LENGTH(ret->sources) &&
                 (strncmp(name, SOURCE, strlen(SOURCE)) == 0 ||
                  strncmp(name, OLD_SOURCE, strlen(OLD_SOURCE)) == 0))
            ret->sources[ret->count++] = name;
    }
    return 0;
}

static bool has_source(const struct nodes *nodes, const char *source) {
    for (unsigned i = 0; i < nodes->count; i++) {
        if (strcmp(nodes->sources[i], source) == 0)
            return true;
    }
    return false;
}

/* A raw node checks the size of its child: it is reopened on the new one first, and then with the
 * new size. */
static int grow(struct target *target, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *source = name_source(arena, target->size_bytes);
    struct nodes nodes;

    assert(target->size_bytes > 0);
    if (read_nodes(target, arena, &nodes, err) < 0 ||
        (!has_source(&nodes, source) && add_source(target, source, err) < 0) ||
        reopen(target, nodes.bytes, source, err) < 0 ||
        reopen(target, target->size_bytes, source, err) < 0)
        return -1;
    target->file_bytes = target->size_bytes;
    for (unsigned i = 0; i < nodes.count; i++) {
        if (strcmp(nodes.sources[i], source) != 0 &&
            FILE_DO(target, err, "blockdev-del", "{s:s}", "node-name", nodes.sources[i]) < 0)
            return -1;
    }
    return 0;
}

/* ---- together ---- */

static int begin_daemon(struct target *target, struct error *err) {
    autoarena struct arena *arena = arena_new();

    close_monitor(target);
    if (end(target->run, target->timeout_ms, err) < 0 || make_mount_point(target, err) < 0 ||
        daemon_begin(file_run(arena, target), target->program, err) < 0)
        return -1;
    target->file_begun = true;
    return 0;
}

/* One that cannot begin is reported by the next file_reconcile(). */
void file_begin(struct target *target) {
    autoarena struct arena *arena = arena_new();
    struct error ignored;

    if (has_file(target) && !daemon_runs(file_run(arena, target)))
        (void)begin_daemon(target, &ignored);
}

static int launch(struct target *target, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *run = file_run(arena, target), *source = name_source(arena, target->size_bytes);

    assert(has_file(target));
    if (!target->file_begun && begin_daemon(target, err) < 0)
        return -1;
    target->file_begun = false;
    if (daemon_await_ready(run, target->timeout_ms, &target->file, err) < 0)
        return -1;
    assert(target->file && target->size_bytes > 0);
    if (add_source(target, source, err) < 0 ||
        file_do(target, arena, "blockdev-add", top_json(target->size_bytes, source), NULL, err) <
            0 ||
        FILE_DO(target, err, "block-export-add", "{s:s, s:s, s:s, s:s, s:b, s:b}", "type", "fuse",
                "id", ID, "node-name", TOP, "mountpoint", file_path(arena, target->run), "writable",
                true, "growable", false) < 0) {
        close_monitor(target);
        return -1;
    }
    target->file_bytes = target->size_bytes;
    log_info(NULL, "file of the volume served", "volume_id", target->volume, NULL);
    return 0;
}

/* 2 it has its export, which is right, 1 which is not, 0 it has none. */
static int inspect(struct target *target, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *path = daemon_path(arena, file_run(arena, target), "qmp");
    json_t *event, *exports = NULL;
    struct nodes nodes;
    int received;

    if (!target->file && qmp_connect(path, target->timeout_ms, &target->file, err) < 0)
        return -1;
    do { /* its events are not used, and received so that they do not pile up */
        received = qmp_event(target->file, arena, &event, err);
    } while (received > 0);
    if (received < 0 || read_nodes(target, arena, &nodes, err) < 0 ||
        file_do(target, arena, "query-block-exports", NULL, &exports, err) < 0) {
        close_monitor(target); /* it runs, and so does the file: it is queried again */
        return -1;
    }
    target->file_bytes = nodes.bytes;
    if (nodes.bytes == 0 || json_array_size(exports) == 0)
        return 0;
    /* While there is another source it may still be on that: an owner has added the right one, and
     * died. */
    return nodes.bytes > target->size_bytes ||
                   (nodes.bytes == target->size_bytes && nodes.count == 1 &&
                    has_source(&nodes, name_source(arena, nodes.bytes)))
               ? 2
               : 1;
}

int file_reconcile(struct target *target, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *run = file_run(arena, target);
    int found;

    if (!has_file(target))
        return daemon_runs(run) ? file_stop(target, err) : 0;
    found = daemon_runs(run) && !target->file_begun ? inspect(target, err) : 0;
    if (found == 0)
        found = launch(target, err);
    else if (found == 1)
        found = grow(target, err);
    return found < 0 ? error_context(err, "the file of the volume %s", target->volume) : 0;
}

void file_forget(struct target *target) {
    close_monitor(target);
}

int file_discard_stale(struct target *target, const struct generation *found, struct error *err) {
    assert(!target_serves(target));
    if (generation_same(&target->current.id, &found->id))
        return 0;
    return file_stop(target, err);
}
