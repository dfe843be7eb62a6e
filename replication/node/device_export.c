#include "replication/node/device_export.h"

#include "common/async_call.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/loop.h"
#include "replication/engine/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define DIRECTORY "/dev/scoria"
#define LABEL     "scoria-target:"
#define NO_DEVICE "detached" /* in the place of a device: none is served, and there may be one */

const char *device_export_path(struct arena *arena, const char *volume) {
    return arena_join(arena, DIRECTORY "/", volume, NULL);
}

bool device_export_exists(const char *volume) {
    autoarena struct arena *arena = arena_new();
    struct stat found;

    return lstat(device_export_path(arena, volume), &found) == 0;
}

/* ---- the link ---- */

/* 1: it has led elsewhere, or there was none. */
static int put_link(struct arena *arena, const char *volume, const char *device,
                    struct error *err) {
    const char *path = device_export_path(arena, volume);
    const char *draft = arena_join(arena, path, ".new", NULL);
    char found[LOOP_PATH_SIZE + 1] = "";

    if (readlink(path, found, sizeof(found) - 1) > 0 && strcmp(found, device) == 0)
        return 0;
    if (mkdir(DIRECTORY, 0755) < 0 && errno != EEXIST)
        return error_errno(err, ERROR_BACKEND, "making " DIRECTORY);
    unlink(draft);
    if (symlink(device, draft) < 0 || rename(draft, path) < 0)
        return error_errno(err, ERROR_BACKEND, "making %s", path);
    return 1;
}

/* Another program may detach the device, and its number become that of another file. */
static bool leads_to(struct arena *arena, const char *volume, const char *run) {
    char device[LOOP_PATH_SIZE + 1] = "", backing[PATH_MAX], real[PATH_MAX];
    struct error ignored;
    unsigned number;

    return readlink(device_export_path(arena, volume), device, sizeof(device) - 1) > 0 &&
           sscanf(device, "/dev/loop%u", &number) == 1 &&
           loop_file_path(number, backing, sizeof(backing), &ignored) == 0 && realpath(run, real) &&
           strcmp(backing, arena_join(arena, real, "/" TARGET_FILE, NULL)) == 0;
}

/* ---- the device ---- */

static bool is_labelled(const char *label, const char *volume) {
    return strncmp(label, LABEL, strlen(LABEL)) == 0 && strcmp(label + strlen(LABEL), volume) == 0;
}

/* Each device of the volume, also one of a file that is gone. */
static int end_devices(const char *volume, struct error *err) {
    struct loop_name *names;
    autoarena struct arena *arena = arena_new();
    int count = loop_list(arena, LABEL, &names, err);

    for (int i = 0; i < count; i++) {
        if (!is_labelled(names[i].label, volume))
            continue;
        if (loop_is_stale(names[i].number))
            loop_detach_stale(names[i].number);
        else if (loop_release(names[i].number, names[i].label, err) < 0)
            return -1;
        loop_reset_discard(names[i].number);
    }
    return count < 0 ? -1 : 0;
}

/* The link is the last to go: while there is one this is repeated. */
int device_export_end(const char *volume, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *path = device_export_path(arena, volume);

    if (put_link(arena, volume, NO_DEVICE, err) < 0 || end_devices(volume, err) < 0)
        return -1;
    return unlink(path) < 0 && errno != ENOENT
               ? error_errno(err, ERROR_BACKEND, "removing %s", path)
               : 0;
}

/* The loop device of the file, in the place of one of an earlier file.  There is a link before
 * there is a device. */
static int find_or_attach(struct arena *arena, int file, const char *volume, struct loop *ret,
                          struct error *err) {
    static const struct loop_how how = { .serialized = true, .no_discard = true };
    autoloop struct loop loop = LOOP_NONE;
    int found = loop_find(file, LABEL, &loop, err);

    if (found < 0)
        return -1;
    if (found == 0 &&
        (put_link(arena, volume, NO_DEVICE, err) < 0 || end_devices(volume, err) < 0 ||
         loop_attach(file, arena_join(arena, LABEL, volume, NULL), &how, &loop, err) < 0))
        return -1;
    *ret = loop;
    loop.fd = -1;
    return 0;
}

/* ---- the whole ---- */

struct making {
    char path[PATH_MAX]; /* of the file */
    char volume[UUID_SIZE];
    int64_t bytes;
    int result;
    struct error err;
};

static int make(const struct making *making, const atomic_bool *abandoned, struct error *err) {
    autoarena struct arena *arena = arena_new();
    autoloop struct loop loop = LOOP_NONE;
    autoclose int file = open(making->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    char device[LOOP_PATH_SIZE];
    int64_t size;
    int changed;

    if (file < 0)
        return error_errno(err, ERROR_UNAVAILABLE, "opening %s", making->path);
    if (atomic_load(abandoned))
        return error_set(err, ERROR_UNAVAILABLE, "too late");
    if (find_or_attach(arena, file, making->volume, &loop, err) < 0)
        return -1;
    if (atomic_load(abandoned)) /* a new device ends with its descriptor */
        return error_set(err, ERROR_UNAVAILABLE, "too late");
    if ((!loop.persistent && loop_set_persistent(&loop, true, err) < 0) ||
        loop_size(&loop, &size, err) < 0 ||
        (size < making->bytes && (loop_grow(&loop, err) < 0 || loop_size(&loop, &size, err) < 0)))
        return -1;
    if (size < making->bytes)
        return error_set(err, ERROR_UNAVAILABLE, "The device of the volume %s has not grown yet.",
                         making->volume);
    loop_path(loop.number, device);
    changed = put_link(arena, making->volume, device, err);
    if (changed > 0)
        log_info(NULL, "device of the volume served", "volume_id", making->volume, "device", device,
                 NULL);
    return changed < 0 ? -1 : 0;
}

static void run_making(void *work, const atomic_bool *abandoned) {
    struct making *making = work;

    making->result = make(making, abandoned, &making->err);
}

/* A close of the file flushes the volume.  While its daemon is gone that waits for the caller,
 * which is to start another one: the call is abandoned. */
int device_export_reconcile(struct device_export *present, const char *run, const char *volume,
                            int64_t bytes, struct error *err) {
    static const struct detached_function function = { .run = run_making };
    autoarena struct arena *arena = arena_new();
    struct making making = { .bytes = bytes };
    struct statx found;
    dev_t file;
    int reason;

    snprintf(making.path, sizeof(making.path), "%s/" TARGET_FILE, run);
    snprintf(making.volume, sizeof(making.volume), "%s", volume);
    if (statx(AT_FDCWD, making.path, AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC, 0, &found) < 0)
        return error_errno(err, ERROR_UNAVAILABLE, "the file %s", making.path);
    file = makedev(found.stx_dev_major, found.stx_dev_minor);
    if (present->file == file && present->bytes == bytes && leads_to(arena, volume, run))
        return 0;
    if (async_probe(making.path, err) < 0) /* its present size becomes known */
        return -1;
    reason = async_call(making.path, &function, &making, sizeof(making));
    if (reason != 0) {
        errno = reason == EAGAIN ? EAGAIN : ETIMEDOUT;
        return error_errno(err, ERROR_UNAVAILABLE, "making a device of %s", making.path);
    }
    if (making.result < 0)
        return error_pass(err, &making.err);
    *present = (struct device_export){ file, bytes };
    return 0;
}
