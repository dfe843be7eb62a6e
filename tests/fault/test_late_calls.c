/*
 * A worker is suspended before each of its system calls in turn, with or without the loss of its
 * locks.  Meanwhile another worker ends the same operation and the volume changes further, as drawn
 * from a seed; then the first one continues.  The volume and its snapshots keep size and content,
 * no operation is stuck, and no file is left after all of them are deleted.
 */
#include "tests/fault/calls.h"
#include "json/json.h"

#include <linux/magic.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statfs.h>

enum { SNAPSHOTS_MOST = 12 };

enum operation {
    CREATE,
    CLONE,
    CLONE_SNAPSHOT,
    SNAPSHOT,
    DROP_NEWEST,
    DROP_OLDEST,
    REVERT,
    EXTEND,
    DELETE,
    RENAME,
    RECLAIM,
    OPERATIONS
};

static const char *const names[] = { "create",
                                     "clone",
                                     "clone of a snapshot",
                                     "snapshot",
                                     "drop of the newest",
                                     "drop of the oldest",
                                     "revert",
                                     "extend",
                                     "delete",
                                     "rename",
                                     "reclaim" };

struct object {
    char id[16];
    int content;
    bool exists;
    bool broken; /* its delete has begun and failed: it can only be deleted again */
};

static struct {
    struct bench bench;
    void *handle, *handles[2]; /* of the call; of each worker */
    struct driver_volume volume;
    char name[16];
    int content, size_gb, next;
    bool exists;
    struct object snapshots[SNAPSHOTS_MOST], copy;
    int count;

    unsigned seed;
    char events[4000]; /* for the message of a failure */
    enum operation operation;
    struct object target;
    bool reached, taken, finished; /* the call; by the other worker, which has ended it */
} now;

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *format, ...) {
    size_t length = strlen(now.events);
    va_list values;

    va_start(values, format);
    vsnprintf(now.events + length, sizeof(now.events) - length, format, values);
    va_end(values);
}

#define check(condition, ...) \
    ck_assert_msg(condition, "%s\n%s", arena_format(now.bench.arena, __VA_ARGS__), now.events)

static unsigned draw(unsigned most) {
    return (unsigned)rand_r(&now.seed) / 7 % most;
}

/* Where a file may be made without a name. */
static bool claims_xfs;

int fstatfs(int fd, struct statfs *ret) {
    int result = (int)syscall(SYS_fstatfs, fd, ret);

    if (result == 0 && claims_xfs)
        ret->f_type = XFS_SUPER_MAGIC;
    return result;
}

/* ---- calls ---- */

static bool holds(const struct driver_fence *fence) {
    (void)fence;
    return true;
}

static bool holds_until_taken(const struct driver_fence *fence) {
    (void)fence;
    return !now.taken;
}

static void busy(const struct driver_fence *fence, const char *what) {
    (void)fence, (void)what;
}

static const struct driver_fence valid = { .holds = holds, .busy = busy };
static const struct driver_fence of_late_worker = { .holds = holds_until_taken, .busy = busy };

static struct driver_volume volume_of(unsigned attempt, const struct driver_fence *fence) {
    struct driver_volume volume = now.volume;

    volume.name_id = now.name;
    volume.size_gb = now.size_gb;
    volume.attempt = attempt;
    volume.fence = fence;
    return volume;
}

static struct driver_snapshot snapshot_of(const struct object *object, unsigned attempt,
                                          const struct driver_fence *fence) {
    return (struct driver_snapshot){ .id = object->id,
                                     .name_id = object->id,
                                     .provider_location =
                                         object->exists ? now.volume.provider_location : NULL,
                                     .format = now.volume.format,
                                     .size_gb = now.size_gb,
                                     .fence = fence,
                                     .attempt = attempt };
}

static int call(enum operation operation, const struct object *target, unsigned attempt,
                const struct driver_fence *fence, struct error *err) {
    const struct driver *driver = now.bench.driver;
    struct arena *arena = now.bench.arena;
    struct driver_volume volume = volume_of(attempt, fence), copy = volume;
    struct driver_snapshot snapshot = snapshot_of(target, attempt, fence), first;
    struct driver_created created;
    int64_t before;

    copy.name_id = target->id;
    copy.provider_location = NULL;
    switch (operation) {
    case CREATE:
        return driver->create_volume(now.handle, arena, &volume, &created, err);
    case CLONE:
        return driver->clone_volume(now.handle, arena, &copy, &volume, NULL, &created, err);
    case CLONE_SNAPSHOT:
        first = snapshot_of(&now.snapshots[0], attempt, fence);
        return driver->clone_snapshot(now.handle, arena, &copy, &first, NULL, &created, err);
    case SNAPSHOT:
        return (int)driver->create_snapshot(now.handle, arena, &volume, &snapshot, NULL, &created,
                                            err);
    case DROP_NEWEST:
    case DROP_OLDEST:
        return (int)driver->delete_snapshot(now.handle, arena, &volume, &snapshot, NULL, err);
    case REVERT:
        return driver->revert_volume(now.handle, arena, &volume, &snapshot, NULL, err);
    case EXTEND:
        return (int)driver->extend_volume(now.handle, arena, &volume, now.size_gb + 1, err);
    case DELETE:
        return driver->delete_volume(now.handle, arena, &volume, err);
    case RENAME:
        return driver->rename_volume(now.handle, arena, &volume, target->id, err);
    case RECLAIM:
        return driver->reclaim_volume(now.handle, arena, &volume, NULL, &before, err);
    case OPERATIONS:
        break;
    }
    ck_abort();
}

/* The model after a success. */
static void succeed(enum operation operation, const struct object *target) {
    struct object object = *target;

    switch (operation) {
    case CREATE:
        now.exists = true;
        break;
    case CLONE:
    case CLONE_SNAPSHOT:
        now.copy = object;
        break;
    case SNAPSHOT:
        object.exists = true;
        object.content = now.content;
        now.snapshots[now.count++] = object;
        break;
    case DROP_NEWEST:
    case DROP_OLDEST:
        for (int i = 0, left = 0; i < now.count; i++)
            if (strcmp(now.snapshots[i].id, target->id) != 0)
                now.snapshots[left++] = now.snapshots[i];
        now.count--;
        break;
    case REVERT:
        now.content = target->content;
        break;
    case EXTEND:
        now.size_gb++;
        break;
    case DELETE:
        now.exists = false;
        break;
    case RENAME:
        memcpy(now.name, target->id, sizeof(now.name));
        break;
    case RECLAIM:
    case OPERATIONS:
        break;
    }
}

static struct object target_of(enum operation operation) {
    struct object object = { .exists = false };

    if (operation == DROP_NEWEST || operation == REVERT)
        return now.snapshots[now.count - 1];
    if (operation == DROP_OLDEST)
        return now.snapshots[0];
    snprintf(object.id, sizeof(object.id), "%c%d", operation == RENAME ? 'r' : 's',
             ++now.next % 10000);
    return object;
}

/* A taken over delete or revert gives the volume another name first, as a manager does. */
static void rename_first(enum operation operation) {
    struct driver_volume volume = volume_of(2, &valid);
    struct object name = target_of(RENAME);
    struct error err = { .kind = ERROR_NONE };
    int64_t bytes;

    if ((operation != DELETE && operation != REVERT) ||
        now.bench.driver->get_size(now.handle, now.bench.arena, &volume, &bytes, &err) < 0)
        return;
    check(call(RENAME, &name, 1, &valid, &err) == 0, "rename: %s", err.message);
    succeed(RENAME, &name);
}

/* ---- content ---- */

static const char *image_of(const char **ret_format) {
    struct driver_volume volume = volume_of(1, &valid);
    struct error err = { .kind = ERROR_NONE };
    json_t *info = NULL;
    const json_t *data;

    check(now.bench.driver->connect(now.handle, now.bench.arena, &volume, NULL, &info, &err) == 0,
          "connect: %s", err.message);
    data = json_object_get(json_keep(now.bench.arena, info), "data");
    *ret_format = json_string_value(json_object_get(data, "format"));
    return json_string_value(json_object_get(data, "device_path"));
}

/* `command`: read or write. */
static bool runs(const char *command, int content) {
    const char *format, *path = image_of(&format);

    return BENCH_RUN("qemu-io", "-f", format, "-c",
                     arena_format(now.bench.arena, "%s -P %d 1M 64k", command, content), path) == 0;
}

static void write_content(void) {
    int content = ++now.next % 250 + 1;

    if (!runs("write", content))
        return; /* the late worker still has locks */
    now.content = content;
    note(" write %d;", content);
}

static void check_snapshot(const struct object *object) {
    struct driver_snapshot snapshot = snapshot_of(object, 1, &valid);
    struct object copy = target_of(CLONE_SNAPSHOT);
    struct driver_volume volume = volume_of(1, &valid);
    struct driver_created created;
    struct error err = { .kind = ERROR_NONE };
    char name[sizeof(now.name)];

    volume.name_id = copy.id;
    volume.provider_location = NULL;
    check(now.bench.driver->clone_snapshot(now.handle, now.bench.arena, &volume, &snapshot, NULL,
                                           &created, &err) == 0,
          "clone of snapshot %s: %s", object->id, err.message);
    memcpy(name, now.name, sizeof(name));
    memcpy(now.name, copy.id, sizeof(now.name));
    check(runs("read", object->content), "content of snapshot %s", object->id);
    check(call(DELETE, &copy, 1, &valid, &err) == 0, "%s", err.message);
    memcpy(now.name, name, sizeof(name));
}

static void check_content(void) {
    struct driver_volume volume = volume_of(1, &valid);
    struct error err = { .kind = ERROR_NONE };
    int64_t bytes = 0;

    if (!now.exists)
        return;
    check(now.bench.driver->get_size(now.handle, now.bench.arena, &volume, &bytes, &err) == 0, "%s",
          err.message);
    check(bytes == now.size_gb * GIB, "size: %jd", (intmax_t)bytes);
    check(runs("read", now.content), "content of the volume: not %d", now.content);
    for (int i = 0; i < now.count; i++)
        if (!now.snapshots[i].broken)
            check_snapshot(&now.snapshots[i]);
}

/* ---- the other worker ---- */

static bool is_possible(enum operation operation) {
    if (!now.exists || operation == CREATE || operation == CLONE || operation == CLONE_SNAPSHOT)
        return false;
    if (operation == REVERT &&
        (now.size_gb > 1 || now.count == 0 || now.snapshots[now.count - 1].broken))
        return false;
    if (operation == DROP_NEWEST || operation == DROP_OLDEST)
        return now.count > 0;
    return operation == SNAPSHOT ? now.count + 1 < SNAPSHOTS_MOST
                                 : operation != DELETE || now.count == 0;
}

static void change_further(enum operation operation) {
    struct object target = target_of(operation);
    struct error err = { .kind = ERROR_NONE };
    int result = call(operation, &target, 1, &valid, &err);
    bool drops = operation == DROP_NEWEST || operation == DROP_OLDEST;

    note(" %s %s: %d %s;", names[operation], target.id, result, err.message);
    check(result >= 0 || err.kind == ERROR_BUSY || drops, "refused");
    if (result == 0)
        succeed(operation, &target);
    for (int i = 0; i < now.count && result < 0 && err.kind != ERROR_BUSY; i++)
        if (strcmp(now.snapshots[i].id, target.id) == 0)
            now.snapshots[i].broken = true;
}

static bool loses_locks;

static void other_worker(void) {
    struct error err = { .kind = ERROR_NONE };
    int result;

    now.reached = now.taken = true;
    now.handle = now.handles[1];
    fault.process = 0;
    fault.locks_lost = loses_locks;
    rename_first(now.operation);
    result = call(now.operation, &now.target, 2, &valid, &err);
    note(" other worker: %d %s;", result, err.message);
    if (result == 0) {
        succeed(now.operation, &now.target);
        now.finished = true;
        for (unsigned left = draw(4); left > 0; left--) {
            enum operation next = (enum operation)draw(OPERATIONS + 4);

            if (next >= OPERATIONS && now.exists)
                write_content();
            else if (next < OPERATIONS && is_possible(next))
                change_further(next);
        }
    }
    fault.locks_lost = false;
    fault.process = getpid();
    now.handle = now.handles[0];
}

/* ---- one suspension ---- */

static const char *const *options;

static void begin(enum operation operation, unsigned seed) {
    int snapshots = operation == DROP_NEWEST || operation == DROP_OLDEST ? 2 : operation != CREATE;
    struct error err = { .kind = ERROR_NONE };

    memset(&now, 0, sizeof(now));
    now.operation = operation;
    now.seed = seed;
    now.size_gb = 1;
    bench_new(&now.bench);
    bench_configure(&now.bench, &file_driver, options);
    for (unsigned i = 0; i < LENGTH(now.handles); i++) {
        ck_assert_msg(bench_try_open(&now.bench) == 0, "%s", now.bench.err.message);
        now.handles[i] = now.bench.handle;
    }
    now.handle = now.handles[0];
    now.volume = A_VOLUME;
    now.volume.format = options[0] && strstr(options[0], "qcow2") ? "qcow2" : "raw";
    memcpy(now.name, "v", 2);
    if (operation == CREATE)
        return;
    now.volume.name_id = now.name;
    ck_assert_int_eq(bench_create(&now.bench, &now.volume), 0);
    now.exists = true;
    write_content();
    for (int i = 0; i < snapshots && operation != DELETE; i++) {
        now.target = target_of(SNAPSHOT);
        ck_assert_int_eq(call(SNAPSHOT, &now.target, 1, &valid, &err), 0);
        succeed(SNAPSHOT, &now.target);
        write_content();
    }
}

/* A late worker removes an object that the rows do not have. */
static void clean_up_late(const struct object *target) {
    struct driver_volume volume = volume_of(1, &valid);
    struct driver_snapshot snapshot = snapshot_of(target, 1, &valid);

    if (now.operation == CREATE && (!now.exists || strcmp(now.name, "v") != 0)) {
        volume.name_id = "v";
        volume.late = true;
        now.bench.driver->delete_volume(now.handle, now.bench.arena, &volume, NULL);
    }
    for (int i = 0; i < now.count; i++)
        if (strcmp(now.snapshots[i].id, target->id) == 0)
            return;
    if (now.operation != SNAPSHOT)
        return;
    snapshot.provider_location = NULL;
    snapshot.late = true;
    now.bench.driver->delete_snapshot(now.handle, now.bench.arena, &volume, &snapshot, NULL, NULL);
}

static void repeat(int result) {
    struct error err = { .kind = ERROR_NONE };

    if (now.finished)
        return;
    if (now.taken || result != 0) {
        rename_first(now.operation);
        result = call(now.operation, &now.target, 3, &valid, &err);
        note(" again: %d %s;", result, err.message);
    }
    check(result == 0, "%s fails", names[now.operation]);
    succeed(now.operation, &now.target);
}

static void check_file(const char *name) {
    check(strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strncmp(name, ".scoria", 7) == 0,
          "left: %s", name);
}

static void delete_all(void) {
    DIR *stream;
    const struct dirent *entry;
    struct error err = { .kind = ERROR_NONE };

    while (now.count > 0) {
        const struct object newest = now.snapshots[now.count - 1];

        check(call(DROP_NEWEST, &newest, 1, &valid, &err) == 0, "drop of %s: %s", newest.id,
              err.message);
        succeed(DROP_NEWEST, &newest);
    }
    if (now.exists)
        check(call(DELETE, &now.target, 1, &valid, &err) == 0, "delete: %s", err.message);
    if (now.copy.id[0]) {
        memcpy(now.name, now.copy.id, sizeof(now.name));
        check(call(DELETE, &now.copy, 1, &valid, &err) == 0, "delete of a clone: %s", err.message);
    }
    stream = opendir(bench_path(&now.bench, "volumes"));
    ck_assert_ptr_nonnull(stream);
    while ((entry = readdir(stream)))
        check_file(entry->d_name);
    closedir(stream);
}

static bool suspend(enum operation operation, unsigned n, unsigned seed) {
    struct error err = { .kind = ERROR_NONE };
    struct object target;
    bool reached;
    int result;

    begin(operation, seed);
    note("%s, call %u, seed %u, locks lost: %d:", names[operation], n, seed, loses_locks);
    target = now.target = target_of(operation);
    fault.meanwhile = other_worker;
    fail_nth((int)n, EIO);
    result = call(operation, &target, 1, &of_late_worker, &err);
    fault.meanwhile = NULL;
    fail_none();
    reached = now.reached;
    note(" late worker: %d %s;", result, err.message);
    if (now.finished)
        clean_up_late(&target);
    repeat(result);
    check_content();
    delete_all();
    now.bench.driver->close(now.handles[0]);
    bench_close(&now.bench);
    return reached;
}

/* Another seed for each commit, and the same one for `tests/fault/test_late_calls` alone. */
static void walk(enum operation operation, const char *const *given) {
    unsigned seed = walk_number("LATE_SEED", WALK_FIRST + 1), n = 1 + WALK_FIRST;

    options = given;
    ck_assert(unshare(CLONE_NEWNS) == 0 &&
              mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
              mount("tmpfs", "/tmp", "tmpfs", 0, NULL) == 0);
    for (loses_locks = operation % 2; suspend(operation, n, seed * 1000003 + n); n += WALK_STEP)
        loses_locks = !loses_locks;
    ck_assert_uint_gt(n, 5);
}

START_TEST(late_calls_on_files_change_nothing) {
    walk((enum operation)_i, (const char *const[]){ NULL });
}
END_TEST

START_TEST(late_creates_of_files_without_names_change_nothing) {
    claims_xfs = true;
    walk(CREATE, (const char *const[]){ NULL });
}
END_TEST

START_TEST(late_calls_on_qcow2_images_change_nothing) {
    walk((enum operation)_i, (const char *const[]){ "file_qcow2_volumes=true", NULL });
}
END_TEST

START_TEST(late_calls_on_chains_change_nothing) {
    walk((enum operation)_i, (const char *const[]){ "file_snapshot_overlays=true",
                                                    "max_over_subscription_ratio=1000", NULL });
}
END_TEST

/* tmpfs needs root */
CHECK_MAIN_LOOP("late calls", geteuid() == 0, NULL, NULL, 3, OPERATIONS,
                late_calls_on_files_change_nothing, late_calls_on_qcow2_images_change_nothing,
                late_calls_on_chains_change_nothing,
                late_creates_of_files_without_names_change_nothing)
