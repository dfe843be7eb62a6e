/*
 * Every system call fails in turn while snapshots are made and taken away as overlays.  After each
 * failure every reader gets the data that was written, and the same call, repeated in a world that
 * works, ends as if nothing had happened.
 */
#include "drivers/file/chain_assist.h"
#include "drivers/file/snapshot_file.h"
#include "drivers/file/volume_name.h"

#include "tests/fault/place.h"

#include <sched.h>
#include <sys/mount.h>

/* Of the volume and its snapshots "1" and "2": the letter written before each, and last. */
#define FIRST  "1"
#define SECOND "2"
#define THIRD  "3"

static bool does_io(struct place *place, const char *name, const char *format,
                    const char *command) {
    return BENCH_RUN("qemu-io", "-f", format, "-c", command,
                     directory_path(&place->directory, place->bench.arena, name)) == 0;
}

static struct volume_image image_of(struct place *place) {
    struct volume_image image;

    ck_assert_msg(volume_file_connect(&place->directory, place->bench.arena, &place->volume, &image,
                                      &place->bench.err) == 0,
                  "%s", place->bench.err.message);
    return image;
}

static bool try_write(struct place *place, int content) {
    struct volume_image image = image_of(place);

    return does_io(place, image.name, image.format,
                   arena_format(place->bench.arena, "write -P %d 40M 64k", content));
}

static void write_volume(struct place *place, int content) {
    ck_assert(try_write(place, content));
}

static bool reads(struct place *place, const char *name, const char *format, int content) {
    return does_io(place, name, format,
                   arena_format(place->bench.arena, "read -P %d 40M 64k", content));
}

static bool volume_reads(struct place *place, int content) {
    struct volume_image image = image_of(place);

    return reads(place, image.name, image.format, content);
}

static struct driver_snapshot snapshot_of(const struct place *place, const char *id) {
    return (struct driver_snapshot){
        .id = id, .name_id = id, .size_gb = 1, .format = place->volume.format
    };
}

static bool snapshot_reads(struct place *place, const char *id, int content) {
    struct driver_snapshot snapshot = snapshot_of(place, id);
    autosource struct image_source source = NO_SOURCE;

    ck_assert_msg(image_source_open_snapshot(&place->directory, place->bench.arena, &snapshot, NULL,
                                             &source, &place->bench.err) == 0,
                  "%s", place->bench.err.message);
    return reads(place, source.name, source.layered ? "qcow2" : source.format, content);
}

static bool is_listed(struct place *place, const char *id) {
    struct chain chain;

    ck_assert_int_eq(chain_read(&place->directory, place->bench.arena,
                                volume_name(place->bench.arena, place->volume.name_id, NULL),
                                &chain, &place->bench.err),
                     0);
    return chain_has(&chain, id);
}

/* ---- calls ---- */

static int make_snapshot(struct place *place, const char *id) {
    struct driver_snapshot snapshot = snapshot_of(place, id);

    return (int)snapshot_file_create(&place->directory, place->bench.arena, &place->volume,
                                     &snapshot, NULL, &place->bench.err);
}

static int drop_snapshot(struct place *place, const char *id) {
    struct driver_snapshot snapshot = snapshot_of(place, id);

    return (int)snapshot_file_delete(&place->directory, place->bench.arena, &place->volume,
                                     &snapshot, NULL, &place->bench.err);
}

static int take_second(struct place *place) {
    return make_snapshot(place, SECOND);
}

static int prepare_second(struct place *place) {
    struct driver_snapshot snapshot = snapshot_of(place, SECOND);
    struct driver_assist assist;

    return chain_assist_prepare(&place->directory, place->bench.arena, &place->volume, &snapshot,
                                false, &assist, &place->bench.err);
}

static int settle_second(struct place *place, enum driver_reported reported) {
    struct driver_snapshot snapshot = snapshot_of(place, SECOND);

    return chain_assist_complete(&place->directory, place->bench.arena, &place->volume, &snapshot,
                                 false, reported, &place->bench.err);
}

static int undo_second(struct place *place) {
    return settle_second(place, DRIVER_REPORTED_FAILED);
}

static int keep_second(struct place *place) {
    return settle_second(place, DRIVER_REPORTED_DONE) == 1 ? 0 : -1;
}

static int merge_call(struct place *place, const char *id, bool settles) {
    struct driver_snapshot snapshot = snapshot_of(place, id);
    struct driver_assist assist;

    return settles ? chain_assist_complete(&place->directory, place->bench.arena, &place->volume,
                                           &snapshot, true, DRIVER_REPORTED_DONE, &place->bench.err)
                   : chain_assist_prepare(&place->directory, place->bench.arena, &place->volume,
                                          &snapshot, true, &assist, &place->bench.err);
}

/* The work of a guest's host on the newest, and on the oldest. */
static int pull_second(struct place *place) {
    return merge_call(place, SECOND, false) < 0
               ? -1
               : BENCH_RUN(
                     "qemu-img", "rebase", "-f", "qcow2", "-b", FILE_NAME, "-F", "raw",
                     directory_path(&place->directory, place->bench.arena, FILE_NAME "." SECOND));
}

static int commit_first(struct place *place) {
    const char *overlay =
        directory_path(&place->directory, place->bench.arena, FILE_NAME "." FIRST);

    if (merge_call(place, FIRST, false) < 0 ||
        BENCH_RUN("qemu-img", "commit", "-d", "-f", "qcow2", overlay) != 0)
        return -1;
    return BENCH_RUN("qemu-img", "rebase", "-u", "-f", "qcow2", "-b", FILE_NAME, "-F", "raw",
                     directory_path(&place->directory, place->bench.arena, FILE_NAME "." SECOND));
}

static int end_pull(struct place *place) {
    return merge_call(place, SECOND, true) == 1 ? 0 : -1;
}

static int end_commit(struct place *place) {
    return merge_call(place, FIRST, true) == 1 ? 0 : -1;
}

static int request_for_second(struct place *place) {
    return merge_call(place, SECOND, false);
}

static int drop_first(struct place *place) {
    return drop_snapshot(place, FIRST);
}

static int drop_second(struct place *place) {
    return drop_snapshot(place, SECOND);
}

static int revert(struct place *place) {
    struct driver_snapshot snapshot = snapshot_of(place, SECOND);
    autosource struct image_source source = NO_SOURCE;

    if (image_source_open_snapshot(&place->directory, place->bench.arena, &snapshot, NULL, &source,
                                   &place->bench.err) < 0)
        return -1;
    return volume_file_revert(&place->directory, place->bench.arena, &place->volume, &source, NULL,
                              &place->bench.err);
}

static int rename_volume(struct place *place) {
    struct driver_volume volume = A_VOLUME;

    return volume_file_rename(&place->directory, place->bench.arena, &volume, "other",
                              &place->bench.err);
}

static int delete_volume(struct place *place) {
    return volume_file_delete(&place->directory, place->bench.arena, &place->volume,
                              &place->bench.err);
}

/* ---- invariants after each call, however it ended ---- */

static void check_taken(struct place *place, bool done) {
    ck_assert(volume_reads(place, 2) && snapshot_reads(place, FIRST, 1));
    ck_assert(is_listed(place, SECOND) || !done);
    ck_assert(!is_listed(place, SECOND) || snapshot_reads(place, SECOND, 2));
}

/* Only while its overlay has no name can the volume not be read. */
static void check_undone(struct place *place, bool done) {
    struct volume_image image;

    if (!done && volume_file_connect(&place->directory, place->bench.arena, &place->volume, &image,
                                     &place->bench.err) < 0)
        return;
    ck_assert(volume_reads(place, 2) && snapshot_reads(place, FIRST, 1));
    ck_assert(!done || (!is_listed(place, SECOND) && !has(place, FILE_NAME "." SECOND)));
}

static void check_first_dropped(struct place *place, bool done) {
    ck_assert(volume_reads(place, 3) && snapshot_reads(place, SECOND, 2));
    ck_assert(!done || (!is_listed(place, FIRST) && !has(place, FILE_NAME "." FIRST)));
}

static void check_second_dropped(struct place *place, bool done) {
    ck_assert(volume_reads(place, 3) && snapshot_reads(place, FIRST, 1));
    ck_assert(!done || (!is_listed(place, SECOND) && !has(place, FILE_NAME "." SECOND)));
}

/* The file of the second one is the guest's, and now the first one's. */
static void check_pulled(struct place *place, bool done) {
    ck_assert(volume_reads(place, 3) && snapshot_reads(place, FIRST, 1));
    ck_assert(!done || (!is_listed(place, SECOND) && !has(place, FILE_NAME "." FIRST)));
}

static void check_requested(struct place *place, bool done) {
    (void)done;
    ck_assert(volume_reads(place, 3) && snapshot_reads(place, FIRST, 1));
    ck_assert(snapshot_reads(place, SECOND, 2));
}

static void check_reverted(struct place *place, bool done) {
    ck_assert(volume_reads(place, 2) || (!done && volume_reads(place, 3)));
    ck_assert(snapshot_reads(place, SECOND, 2) && snapshot_reads(place, FIRST, 1));
}

static void check_renamed(struct place *place, bool done) {
    ck_assert(has(place, "volume-other.info") || !done);
    place->volume.name_id = has(place, "volume-other.info") ? "other" : place->volume.id;
    ck_assert(volume_reads(place, 3) && snapshot_reads(place, FIRST, 1));
    place->volume.name_id = place->volume.id;
}

static void count_files(void *arg, const char *rest) {
    (void)rest;
    ++*(int *)arg;
}

/* All of it is there, or it cannot be used at all. */
static void check_deleted(struct place *place, bool done) {
    int64_t bytes;
    int files = 0, got;

    ck_assert_int_eq(
        volume_name_each(&place->directory, "volume-", count_files, &files, &place->bench.err), 0);
    ck_assert(files == 0 || !done);
    got = volume_file_get_size(&place->directory, place->bench.arena, &place->volume, &bytes,
                               &place->bench.err);
    ck_assert(got == 0 ? volume_reads(place, 3) : place->bench.err.kind == ERROR_NOT_FOUND);
}

/* ---- every one in turn ---- */

/* Flushes there take no time. */
static bool enter_tmpfs(const char *options) {
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", "/tmp", "tmpfs", 0, options) == 0;
}

static void make_chain(struct place *place, int snapshots) {
    const char *format;

    open_place(place, 0);
    place->settings.overlays = true;
    place->settings.over_subscription = 1000;
    ck_assert_int_eq(volume_file_create(&place->directory, place->bench.arena, &place->volume,
                                        &format, &place->bench.err),
                     0);
    write_volume(place, 1);
    fail_all("ioctl", EOPNOTSUPP); /* whatever /tmp can */
    ck_assert_msg(make_snapshot(place, FIRST) == 0, "%s", place->bench.err.message);
    fail_none();
    write_volume(place, 2);
    if (snapshots < 2)
        return;
    ck_assert_msg(make_snapshot(place, SECOND) == 0, "%s", place->bench.err.message);
    write_volume(place, 3);
}

static struct place made[3]; /* by the number of snapshots */

static void forget_chains(void) {
    for (size_t i = 0; i < LENGTH(made); i++)
        if (made[i].bench.arena)
            close_place(&made[i]);
}

/* Made once, and copied from then on. */
static void open_chain(struct place *place, int snapshots) {
    struct place *from = &made[snapshots];
    const char *script;

    if (!from->bench.arena)
        make_chain(from, snapshots);
    open_place(place, 0);
    place->settings.overlays = true;
    place->settings.over_subscription = 1000;
    script = arena_format(place->bench.arena, "cp --sparse=always %s/volume-* %s/",
                          from->directory.path, place->directory.path);
    ck_assert_int_eq(BENCH_RUN("sh", "-c", script), 0);
}

static const struct {
    const char *name;
    int snapshots;
    int (*before)(struct place *place); /* NULL: nothing */
    int (*call)(struct place *place);
    void (*check)(struct place *place, bool done);
} calls[] = {
    { "snapshot", 1, NULL, take_second, check_taken },
    { "delete of the oldest", 2, NULL, drop_first, check_first_dropped },
    { "delete of the newest", 2, NULL, drop_second, check_second_dropped },
    { "revert", 2, NULL, revert, check_reverted },
    { "rename", 2, NULL, rename_volume, check_renamed },
    { "delete", 2, NULL, delete_volume, check_deleted },
    { "preparation", 1, NULL, prepare_second, check_taken },
    { "success of a host", 1, prepare_second, keep_second, check_taken },
    { "question about the newest", 2, NULL, request_for_second, check_requested },
    { "pull of the newest", 2, pull_second, end_pull, check_pulled },
    { "commit of the oldest", 2, commit_first, end_commit, check_first_dropped },
    { "failure of a host", 1, prepare_second, undo_second, check_undone },
};

enum { MOST_CALLS = 250 };

static bool survive(size_t i, int n) {
    autoplace struct place place;
    bool reached;
    int result;

    open_chain(&place, calls[i].snapshots);
    ck_assert(!calls[i].before || calls[i].before(&place) == 0);
    fail_nth(n, EIO);
    result = calls[i].call(&place);
    reached = fault.countdown == 0;
    fail_none();
    ck_assert_msg(reached || result == 0, "%s %d: %s", calls[i].name, n, place.bench.err.message);
    calls[i].check(&place, result == 0);
    ck_assert_msg(calls[i].call(&place) == 0, "%s %d: %s", calls[i].name, n,
                  place.bench.err.message);
    calls[i].check(&place, true);
    return reached;
}

START_TEST(chains_survive_every_failure) {
    int n = 1 + (int)WALK_FIRST;

    enter_tmpfs(NULL);
    for (; survive((size_t)_i, n); n += (int)WALK_STEP)
        ck_assert_int_lt(n, MOST_CALLS);
    ck_assert_int_gt(n, 4);
    forget_chains();
}
END_TEST

/* ---- a disk that does not take a flush ---- */

/* The worker of before may have been killed in front of its flush. */
START_TEST(a_repeated_preparation_is_flushed) {
    autoplace struct place place;

    enter_tmpfs(NULL);
    open_chain(&place, 1);
    ck_assert_int_eq(prepare_second(&place), 0);
    fail_all("fsync", EIO);
    ck_assert_int_eq(prepare_second(&place), -1);
    fail_none();
    ck_assert_int_eq(prepare_second(&place), 0);
    check_taken(&place, true);
    forget_chains();
}
END_TEST

/* Of the overlay above a snapshot that is deleted: 1 the n-th flush of it was reached. */
static bool survive_lost_flush(unsigned n) {
    autoplace struct place place;
    bool reached;
    int result;

    open_chain(&place, 2);
    lossy_watch(place.directory.fd, FILE_NAME "." SECOND);
    lossy.fail_at = n;
    result = drop_first(&place);
    reached = lossy.fail_at == 0;
    lossy.fail_at = 0;
    ck_assert_int_eq(result, reached ? -1 : 0);
    ck_assert_msg(drop_first(&place) == 0, "flush %u: %s", n, place.bench.err.message);
    if (lossy.lost) { /* the power is cut */
        autoclose int fd = openat(place.directory.fd, FILE_NAME "." SECOND, O_RDONLY | O_CLOEXEC);

        lossy_read_disk(fd);
    }
    lossy.file = 0;
    check_first_dropped(&place, true);
    return reached;
}

START_TEST(a_header_that_the_disk_has_lost_is_written_again) {
    unsigned n = 1;

    enter_tmpfs(NULL);
    while (survive_lost_flush(n))
        n++;
    ck_assert_uint_gt(n, 1);
    forget_chains();
}
END_TEST

/* ---- the same, where a pull is undone ---- */

static int connect_volume(struct place *place) {
    struct volume_image image;

    return volume_file_connect(&place->directory, place->bench.arena, &place->volume, &image,
                               &place->bench.err);
}

static int read_volume(struct place *place) {
    const struct driver_volume copy = { .id = "c", .name_id = "c", .size_gb = 1 };
    autosource struct image_source source = NO_SOURCE;

    return image_source_open_volume(&place->directory, place->bench.arena, &place->volume, &copy,
                                    &source, &place->bench.err);
}

static int take_third(struct place *place) {
    return make_snapshot(place, THIRD);
}

static int (*const uses[])(struct place *place) = { connect_volume, read_volume, take_third };

/* A guest's host has pulled a file into the active one, and QEMU was killed in front of its flush.
 * The header that leads to the file again is lost by the n-th flush: 1 that was reached. */
static bool survive_lost_undoing(size_t use, unsigned n) {
    const char *const name = FILE_NAME "." SECOND;
    autoplace struct place place;
    bool reached;
    int result;

    open_chain(&place, 2);
    ck_assert(does_io(&place, FILE_NAME "." FIRST, "qcow2", "write -P 2 50M 64k"));
    ck_assert_int_eq(request_for_second(&place), 0);
    ck_assert_int_eq(BENCH_RUN("qemu-img", "rebase", "-u", "-f", "qcow2", "-b", FILE_NAME, "-F",
                               "raw", directory_path(&place.directory, place.bench.arena, name)),
                     0);
    lossy_watch(place.directory.fd, name);
    lossy.fail_at = n;
    result = uses[use](&place);
    reached = lossy.fail_at == 0;
    lossy.fail_at = 0;
    ck_assert_int_eq(result, reached ? -1 : 0);
    ck_assert_msg(uses[use](&place) == 0, "flush %u: %s", n, place.bench.err.message);
    if (lossy.lost) { /* a guest reads the disk itself */
        autoclose int fd = openat(place.directory.fd, name, O_RDONLY | O_CLOEXEC);

        lossy_read_disk(fd);
    }
    lossy.file = 0;
    ck_assert_msg(does_io(&place, name, "qcow2", "read -P 2 50M 64k"), "%zu, flush %u", use, n);
    return reached;
}

START_TEST(a_lost_header_that_undoes_a_pull_is_written_again) {
    enter_tmpfs(NULL);
    for (size_t use = 0; use < LENGTH(uses); use++) {
        unsigned n = 1;

        while (survive_lost_undoing(use, n))
            n++;
        ck_assert_uint_gt(n, 2);
    }
    forget_chains();
}
END_TEST

/* ---- late workers ---- */

struct lease {
    struct driver_fence fence;
    struct place *place;
    int left; /* the worker is paused behind this look */
    void (*meanwhile)(struct place *place, bool *ret_wrote);
    bool wrote;
};

static bool pauses(const struct driver_fence *fence) {
    struct lease *lease = (struct lease *)(uintptr_t)fence;

    if (--lease->left == 0) {
        fault.locks_lost = true;
        lease->meanwhile(lease->place, &lease->wrote);
        fault.locks_lost = false;
    }
    return lease->left >= 0; /* the pause came after the check; the next one detects it */
}

/* The delete was given up meanwhile, and a guest has begun to write; it finds a lock where a
 * program is at work. */
static void guest_writes(struct place *place, bool *ret_wrote) {
    *ret_wrote = try_write(place, 4);
}

static bool late_drop(const char *id, int n, int *wrote) {
    bool oldest = strcmp(id, FIRST) == 0;
    autoplace struct place place;
    struct lease lease = { { .holds = pauses }, &place, n, guest_writes, false };
    struct driver_snapshot snapshot;
    struct error err = { .kind = ERROR_NONE };

    open_chain(&place, 2);
    snapshot = snapshot_of(&place, id);
    snapshot.fence = &lease.fence;
    snapshot_file_delete(&place.directory, place.bench.arena, &place.volume, &snapshot, NULL, &err);
    if (lease.left > 0)
        return false;
    *wrote += lease.wrote;
    ck_assert_msg(volume_reads(&place, lease.wrote ? 4 : 3), "%s, look %d", id, n);
    ck_assert(snapshot_reads(&place, oldest ? SECOND : FIRST, oldest ? 2 : 1));
    return true;
}

START_TEST(a_late_delete_takes_nothing_from_the_volume) {
    static const char *const ids[] = { FIRST, SECOND };

    enter_tmpfs(NULL);
    for (size_t i = 0; i < LENGTH(ids); i++) {
        int n = 1 + (int)WALK_FIRST, wrote = 0;

        while (late_drop(ids[i], n, &wrote))
            n += (int)WALK_STEP;
        ck_assert(wrote > 3 || !WALK_IS_WHOLE);
    }
    forget_chains();
}
END_TEST

/* Another worker has ended the same work, and the volume went on. */
static void others_go_on(struct place *place, bool *ret_wrote) {
    ck_assert_int_eq(make_snapshot(place, SECOND), 0);
    write_volume(place, 3);
    ck_assert_int_eq(make_snapshot(place, "3"), 0);
    write_volume(place, 4);
    *ret_wrote = true;
}

/* It was given up, and taken away. */
static void others_drop(struct place *place, bool *ret_wrote) {
    /* Once the info names it, the late worker's own lock on the file below keeps it. */
    ck_assert_int_eq(drop_snapshot(place, SECOND),
                     is_listed(place, SECOND) ? DRIVER_DEFERRED : DRIVER_DONE);
    *ret_wrote = try_write(place, 4);
}

static bool late_take(int n, bool dropped) {
    autoplace struct place place;
    struct lease lease = {
        { .holds = pauses }, &place, n, dropped ? others_drop : others_go_on, false
    };
    struct driver_snapshot snapshot;
    struct error err = { .kind = ERROR_NONE };

    open_chain(&place, 1);
    snapshot = snapshot_of(&place, SECOND);
    snapshot.fence = &lease.fence;
    snapshot.attempt = 1;
    snapshot_file_create(&place.directory, place.bench.arena, &place.volume, &snapshot, NULL, &err);
    if (lease.left > 0)
        return false;
    ck_assert(volume_reads(&place, lease.wrote ? 4 : 2) && snapshot_reads(&place, FIRST, 1));
    ck_assert(dropped ? !is_listed(&place, SECOND) || snapshot_reads(&place, SECOND, 2)
                      : snapshot_reads(&place, SECOND, 2) && snapshot_reads(&place, "3", 3));
    return true;
}

START_TEST(a_late_create_changes_no_chain) {
    enter_tmpfs(NULL);
    for (int dropped = 0; dropped <= 1; dropped++) {
        int n = 1 + (int)WALK_FIRST;

        while (late_take(n, dropped))
            n += (int)WALK_STEP;
        ck_assert_int_gt(n, 3);
    }
    forget_chains();
}
END_TEST

/* Two other workers give the volume two more names, of which the late one knows the first. */
static struct place *other_place;

static void others_rename(void) {
    struct driver_volume volume = A_VOLUME;

    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(volume_file_rename(&other_place->directory, other_place->bench.arena,
                                            &volume, i ? "third" : "other",
                                            &other_place->bench.err),
                         0);
        volume.name_id = "other";
    }
}

static bool late_rename(int snapshots, int n) {
    autoplace struct place place;
    bool reached;

    open_chain(&place, snapshots);
    other_place = &place;
    fault.meanwhile = others_rename;
    fail_nth(n, 0);
    rename_volume(&place);
    reached = fault.countdown == 0;
    fault.meanwhile = NULL;
    fail_none();
    if (!reached)
        return false;
    place.volume.name_id = "third";
    ck_assert(volume_reads(&place, snapshots + 1) && snapshot_reads(&place, FIRST, 1));
    return true;
}

START_TEST(a_late_rename_moves_no_file_of_a_chain) {
    enter_tmpfs(NULL);
    for (int snapshots = 1; snapshots <= 2; snapshots++) {
        int n = 1;

        while (late_rename(snapshots, n))
            n++;
        ck_assert_int_gt(n, 4);
    }
    forget_chains();
}
END_TEST

/* A killed worker's last call may end only when the next one has begun. */
static void remove_base(void) {
    (void)syscall(SYS_unlinkat, other_place->directory.fd, FILE_NAME,
                  0); /* this one may have done it */
}

static int drop_with_volume(struct place *place) {
    struct driver_snapshot snapshot = snapshot_of(place, FIRST);
    enum driver_outcome outcome;

    snapshot.with_volume = true;
    outcome = snapshot_file_delete(&place->directory, place->bench.arena, &place->volume, &snapshot,
                                   NULL, &place->bench.err);
    return outcome == DRIVER_DONE || outcome == DRIVER_WITH_VOLUME ? 0 : -1;
}

static bool lose_base(int (*call)(struct place *place), int n) {
    autoplace struct place place;
    int result;

    open_chain(&place, 1);
    other_place = &place;
    fault.meanwhile = remove_base;
    fail_nth(n, 0);
    result = call(&place);
    fault.meanwhile = NULL;
    if (fault.countdown > 0)
        return false;
    fail_none();
    ck_assert_msg(result == 0, "call %d: %s", n, place.bench.err.message);
    ck_assert_msg(delete_volume(&place) == 0, "call %d: %s", n, place.bench.err.message);
    check_deleted(&place, true);
    return true;
}

START_TEST(a_delete_goes_on_though_a_killed_worker_removes_a_file) {
    static int (*const deletes[])(struct place * place) = { drop_with_volume, delete_volume };

    enter_tmpfs(NULL);
    for (size_t i = 0; i < LENGTH(deletes); i++) {
        int n = 1;

        while (lose_base(deletes[i], n))
            n++;
        ck_assert_int_gt(n, 4);
    }
    forget_chains();
}
END_TEST

/* ---- a disk that is full ---- */

START_TEST(a_full_disk_leaves_the_chain_whole) {
    struct place place;

    if (!enter_tmpfs("size=16m")) {
        fputs("not tested: tmpfs needs root\n", stderr);
        return;
    }
    make_chain(&place, 2);
    {
        struct volume_image image = image_of(&place);
        autoclose int filler =
            openat(place.directory.fd, "filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

        ck_assert(does_io(&place, image.name, image.format, "write -P 5 100M 6M"));
        ck_assert_int_eq(fallocate(filler, 0, 0, 7 << 20), 0);
        ck_assert_int_eq(drop_snapshot(&place, SECOND), DRIVER_FAILED);
        ck_assert_ptr_nonnull(strstr(place.bench.err.message, "No space left"));
        ck_assert(volume_reads(&place, 3) && snapshot_reads(&place, FIRST, 1));
        ck_assert(is_listed(&place, SECOND));
        ck_assert_int_eq(unlinkat(place.directory.fd, "filler", 0), 0);
    }
    ck_assert_msg(drop_snapshot(&place, SECOND) == DRIVER_DONE, "%s", place.bench.err.message);
    ck_assert(volume_reads(&place, 3) && snapshot_reads(&place, FIRST, 1));
    close_place(&place);
}
END_TEST

static void fill_disk(const struct place *place) {
    static const char block[4096] = "filler";
    autoclose int filler =
        openat(place->directory.fd, "filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    while (write(filler, block, sizeof(block)) > 0)
        ;
    ck_assert_int_eq(errno, ENOSPC);
}

/* A guest's host has failed to merge, and filled the disk. */
START_TEST(a_failed_merge_ends_on_a_full_disk_and_is_repeated) {
    struct driver_snapshot snapshot;
    struct place place;

    if (!enter_tmpfs("size=16m")) {
        fputs("not tested: tmpfs needs root\n", stderr);
        return;
    }
    make_chain(&place, 2);
    snapshot = snapshot_of(&place, FIRST);
    ck_assert_msg(merge_call(&place, FIRST, false) == 0, "%s", place.bench.err.message);
    fill_disk(&place);
    ck_assert_msg(chain_assist_complete(&place.directory, place.bench.arena, &place.volume,
                                        &snapshot, true, DRIVER_REPORTED_FAILED,
                                        &place.bench.err) == 0,
                  "%s", place.bench.err.message);
    ck_assert(is_listed(&place, FIRST));
    ck_assert_int_eq(unlinkat(place.directory.fd, "filler", 0), 0);
    ck_assert_msg(merge_call(&place, FIRST, false) == 0, "%s", place.bench.err.message);
    ck_assert_msg(drop_snapshot(&place, FIRST) == DRIVER_DONE, "%s", place.bench.err.message);
    ck_assert(volume_reads(&place, 3) && snapshot_reads(&place, SECOND, 2));
    close_place(&place);
}
END_TEST

/* Not even a block is free: the volume's own files make the space that its delete needs. */
START_TEST(a_volume_is_deleted_on_a_full_disk) {
    if (!enter_tmpfs("size=16m")) {
        fputs("not tested: tmpfs needs root\n", stderr);
        return;
    }
    for (int snapshots = 1; snapshots <= 2; snapshots++) {
        struct place place;

        make_chain(&place, snapshots);
        fill_disk(&place);
        ck_assert_msg(delete_volume(&place) == 0, "%s", place.bench.err.message);
        check_deleted(&place, true);
        close_place(&place);
    }
}
END_TEST

CHECK_MAIN_LOOP("chain calls", true, NULL, NULL, 1, LENGTH(calls), chains_survive_every_failure,
                a_repeated_preparation_is_flushed, a_header_that_the_disk_has_lost_is_written_again,
                a_lost_header_that_undoes_a_pull_is_written_again,
                a_late_delete_takes_nothing_from_the_volume, a_late_create_changes_no_chain,
                a_late_rename_moves_no_file_of_a_chain,
                a_delete_goes_on_though_a_killed_worker_removes_a_file,
                a_full_disk_leaves_the_chain_whole,
                a_failed_merge_ends_on_a_full_disk_and_is_repeated,
                a_volume_is_deleted_on_a_full_disk)
