/*
 * Snapshots and clones of files below real QEMU processes, and their result with files that change.
 */
#include "tests/contract/driver_guest.h"
#include "tests/unit/drivers/xfs.h"

#include <pthread.h>
#include <stdatomic.h>

static const struct driver_snapshot first = { .id = "1", .name_id = "1", .size_gb = 1 };

static const char *const options[] = { "file_qcow2_volumes=false", "file_qcow2_volumes=true" };

static const char *volume_path(const struct bench *bench) {
    return bench_path(bench, "volumes/" FILE_NAME);
}

static void open_with_volume(struct bench *bench, const char *option,
                             struct driver_volume *volume) {
    BENCH_OPEN(bench, &file_driver, option);
    *volume = A_VOLUME;
    ck_assert_msg(bench_create(bench, volume) == 0, "%s", bench->err.message);
}

static enum driver_outcome take_snapshot(struct bench *bench, const struct driver_volume *volume,
                                         const struct driver_snapshot *snapshot) {
    struct driver_created created;

    return file_driver.create_snapshot(bench->handle, bench->arena, volume, snapshot, NULL,
                                       &created, &bench->err);
}

static int clone_volume(struct bench *bench, const struct driver_volume *source) {
    struct driver_volume copy = A_VOLUME;
    struct driver_created created;

    copy.id = copy.name_id = "copy";
    return file_driver.clone_volume(bench->handle, bench->arena, &copy, source, NULL, &created,
                                    &bench->err);
}

static bool has(const struct bench *bench, const char *name) {
    return bench_has(bench, arena_format(bench->arena, "volumes/%s", name));
}

/* Whatever the rows have: attached or not, the guest is there. */
static void expect_below_guest(const char *option, bool attached, bool shareable, bool shared) {
    autobench struct bench bench;
    autoguest struct guest guest = { 0 };
    struct driver_volume volume;
    struct driver_snapshot snapshot = first;
    struct stat before, after;

    open_with_volume(&bench, option, &volume);
    volume.attached = attached;
    ck_assert(start_guest(&bench, volume_path(&bench), volume.format, shareable, &guest));
    ck_assert_int_eq(stat(volume_path(&bench), &before), 0);
    ck_assert_msg(take_snapshot(&bench, &volume, &first) ==
                      (shared ? DRIVER_DONE : DRIVER_DEFERRED),
                  "%s", bench.err.message);
    ck_assert_int_eq(clone_volume(&bench, &volume), shared ? 0 : -1);
    if (!shared)
        ck_assert_int_eq(bench.err.kind, ERROR_CONFLICT);
    ck_assert_int_eq(has(&bench, "snapshot-1"), shared);
    ck_assert_int_eq(has(&bench, "volume-copy"), shared);
    ck_assert(!has(&bench, ".snapshot-1.new") && !has(&bench, ".volume-copy.new"));
    ck_assert_int_eq(stat(volume_path(&bench), &after), 0);
    ck_assert_int_eq(after.st_size, before.st_size);
    ck_assert_int_eq(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);

    snapshot.format = volume.format;
    snapshot.provider_location = volume.provider_location;
    ck_assert_int_eq(
        file_driver.revert_volume(bench.handle, bench.arena, &volume, &snapshot, NULL, &bench.err),
        -1);
    if (shared)
        ck_assert_int_eq(bench.err.kind, ERROR_BACKEND);
    stop_guest(&guest);
    volume.attached = false;
    ck_assert_msg(take_snapshot(&bench, &volume, &first) == DRIVER_DONE, "%s", bench.err.message);
    ck_assert_msg(file_driver.revert_volume(bench.handle, bench.arena, &volume, &snapshot, NULL,
                                            &bench.err) == 0,
                  "%s", bench.err.message);
}

static void expect_below_guests(bool shared) {
    for (int attached = 0; attached <= 1; attached++) {
        for (size_t i = 0; i < LENGTH(options); i++)
            expect_below_guest(options[i], attached, false, shared);
        expect_below_guest(options[0], attached, true, shared);
    }
}

START_TEST(below_a_guest_blocks_are_shared) {
    if (have_qemu() && xfs_enter())
        expect_below_guests(true);
}
END_TEST

/* This is so of tmpfs, of all that is not XFS, btrfs or NFS of these. */
static bool enter_tmpfs(void) {
    if (unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
        mount("tmpfs", "/tmp", "tmpfs", 0, NULL) == 0)
        return true;
    fputs("not tested: tmpfs needs root\n", stderr);
    return false;
}

START_TEST(below_a_guest_nothing_is_copied) {
    if (have_qemu() && enter_tmpfs())
        expect_below_guests(false);
}
END_TEST

/* The guest has an overlay open: the images below it stay, whatever the rows have. */
static void expect_chain_stays(bool attached) {
    autobench struct bench bench;
    autoguest struct guest guest = { 0 };
    struct driver_volume volume;
    struct driver_snapshot older = first, newer = first;
    const char *active;

    open_with_volume(&bench, "file_snapshot_overlays=true", &volume);
    newer.id = newer.name_id = "2";
    ck_assert_msg(take_snapshot(&bench, &volume, &older) == DRIVER_DONE, "%s", bench.err.message);
    ck_assert_msg(take_snapshot(&bench, &volume, &newer) == DRIVER_DONE, "%s", bench.err.message);
    older.format = newer.format = volume.format;
    older.provider_location = newer.provider_location = volume.provider_location;
    active = bench_path(&bench, "volumes/" FILE_NAME ".2");
    ck_assert(start_guest(&bench, active, "qcow2", false, &guest));
    for (int running = 1; running >= 0; running--) {
        enum driver_outcome expected = running ? DRIVER_DEFERRED : DRIVER_DONE;
        struct driver_snapshot third = first;

        third.id = third.name_id = "3";
        volume.attached = running && attached;
        ck_assert_int_eq(bench_extend(&bench, &volume, 2), expected);
        ck_assert_int_eq(clone_volume(&bench, &volume), running ? -1 : 0);
        ck_assert_int_eq(
            file_driver.revert_volume(bench.handle, bench.arena, &volume, &newer, NULL, &bench.err),
            running ? -1 : 0);
        ck_assert_int_eq(take_snapshot(&bench, &volume, &third), expected);
        ck_assert_int_eq(file_driver.delete_snapshot(bench.handle, bench.arena, &volume, &older,
                                                     NULL, &bench.err),
                         expected);
        ck_assert_int_eq(file_driver.delete_snapshot(bench.handle, bench.arena, &volume, &newer,
                                                     NULL, &bench.err),
                         expected);
        if (running) {
            ck_assert_int_eq(bench_delete(&bench, &volume), -1);
            ck_assert(!has(&bench, FILE_NAME ".3"));
            stop_guest(&guest);
        }
    }
    ck_assert(has(&bench, FILE_NAME ".3") && !has(&bench, FILE_NAME ".2"));
    ck_assert_int_eq(bench_delete(&bench, &volume), 0);
}

START_TEST(below_a_guest_a_chain_stays) {
    if (!have_qemu() || !enter_tmpfs())
        return;
    for (int attached = 0; attached <= 1; attached++)
        expect_chain_stays(attached);
}
END_TEST

START_TEST(a_guest_cannot_start_while_its_image_is_copied) {
    static const int bytes[] = { 100, 201, 203 }; /* as the copy takes them */
    autobench struct bench bench;
    autoguest struct guest guest = { 0 };
    struct driver_volume volume;
    autoclose int fd = -1;

    if (!have_qemu())
        return;
    open_with_volume(&bench, options[0], &volume);
    fd = open(volume_path(&bench), O_RDONLY | O_CLOEXEC);
    for (size_t i = 0; i < LENGTH(bytes); i++) {
        struct flock lock = {
            .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = bytes[i], .l_len = 1
        };

        ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &lock), 0);
    }
    ck_assert(!start_guest(&bench, volume_path(&bench), "raw", false, &guest));
    ck_assert(!start_guest(&bench, volume_path(&bench), "raw", true, &guest));
    ck_assert_int_eq(clone_volume(&bench, &volume), 0); /* others may copy, too */
}
END_TEST

/* ---- one moment ---- */

enum { PLACES = 64, ROUNDS = 20 };

/* Writes n to the first place, then to the second, and so on; then n + 1. */
struct writer {
    pthread_t thread;
    int fd;
    atomic_bool ends;
    atomic_uint rounds;
};

static void *write_rounds(void *arg) {
    struct writer *writer = arg;

    for (unsigned n = 1; !atomic_load(&writer->ends); n++) {
        for (off_t i = 0; i < PLACES; i++)
            ck_assert_int_eq(pwrite(writer->fd, &n, sizeof(n), i * (GIB / PLACES)),
                             (ssize_t)sizeof(n));
        atomic_store(&writer->rounds, n);
    }
    return NULL;
}

/* Of one moment: a prefix has the newer number, and all that is behind it the one before. */
static void assert_one_moment(const char *path, unsigned at_least) {
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    unsigned newest = 0;
    bool older = false;

    for (off_t i = 0; i < PLACES; i++) {
        unsigned n = 0;

        ck_assert_int_eq(pread(fd, &n, sizeof(n), i * (GIB / PLACES)), (ssize_t)sizeof(n));
        newest = i == 0 ? n : newest;
        ck_assert(n == newest || n + 1 == newest);
        ck_assert(!older || n + 1 == newest);
        older = n != newest;
    }
    ck_assert_uint_ge(newest, at_least);
}

static void snapshot_between_writes(void) {
    autobench struct bench bench;
    struct writer writer = { .fd = -1 };
    struct driver_volume volume;

    open_with_volume(&bench, options[0], &volume);
    volume.attached = true;
    writer.fd = open(volume_path(&bench), O_WRONLY | O_CLOEXEC);
    ck_assert_int_eq(pthread_create(&writer.thread, NULL, write_rounds, &writer), 0);
    for (int i = 0; i < ROUNDS; i++) {
        unsigned before = atomic_load(&writer.rounds);
        struct driver_snapshot snapshot = first;

        snapshot.id = snapshot.name_id = arena_format(bench.arena, "%d", i);
        ck_assert_int_eq(take_snapshot(&bench, &volume, &snapshot), DRIVER_DONE);
        assert_one_moment(bench_path(&bench, arena_format(bench.arena, "volumes/snapshot-%d", i)),
                          before);
    }
    atomic_store(&writer.ends, true);
    pthread_join(writer.thread, NULL);
    close(writer.fd);
}

START_TEST(a_shared_snapshot_is_of_one_moment) {
    if (xfs_enter())
        snapshot_between_writes();
}
END_TEST

/* A guest's writes, by QEMU's own code, at places that are not allocated yet. */
static pid_t start_writes(const struct bench *bench) {
    const char *script = arena_format(
        bench->arena,
        "exec 3>&1; i=0; while :; do i=$((i + 1)); echo \"write -P $((i %% 200 + 1)) "
        "$(( (i * 7919 %% 16384) * 65536 )) 64k\"; [ $((i %% 16)) = 0 ] && echo flush; "
        "[ $i = 32 ] && echo > %s/running; done 2>/dev/null | "
        "exec qemu-io -t none -f qcow2 %s >/dev/null 2>&1",
        bench->path, volume_path(bench));
    pid_t child = fork();

    ck_assert_int_ge(child, 0);
    if (child == 0) {
        setpgid(0, 0);
        execl("/bin/sh", "sh", "-c", script, (char *)NULL);
        _exit(127);
    }
    setpgid(child, child);
    return child;
}

/* As after a loss of power: clusters may be lost (3), but the others are right (0). */
static void snapshot_below_qemu(void) {
    autobench struct bench bench;
    struct driver_volume volume;
    pid_t writes;

    BENCH_OPEN(&bench, &file_driver, options[1]);
    volume = A_VOLUME;
    volume.format = "qcow2";
    volume.provider_location = bench_path(&bench, "volumes");
    volume.attached = true;
    /* Without tables made beforehand there is most to get wrong. */
    ck_assert_int_eq(
        BENCH_RUN("qemu-img", "create", "-q", "-f", "qcow2", volume_path(&bench), "1G"), 0);
    writes = start_writes(&bench);
    while (!bench_has(&bench, "running"))
        usleep(1000);
    for (int i = 0; i < ROUNDS; i++) {
        struct driver_snapshot snapshot = first;
        int status;

        snapshot.id = snapshot.name_id = arena_format(bench.arena, "%d", i);
        ck_assert_msg(take_snapshot(&bench, &volume, &snapshot) == DRIVER_DONE, "%s",
                      bench.err.message);
        status = BENCH_RUN("qemu-img", "check", "-q", "-f", "qcow2",
                           bench_path(&bench, arena_format(bench.arena, "volumes/snapshot-%d", i)));
        ck_assert_msg(status == 0 || status == 3, "qemu-img check ended with %d", status);
    }
    ck_assert_int_eq(waitpid(writes, NULL, WNOHANG), 0); /* it wrote all the time */
    kill(-writes, SIGKILL);
    ck_assert_int_eq(waitpid(writes, NULL, 0), writes);
}

START_TEST(a_shared_snapshot_of_qcow2_is_whole) {
    if (xfs_enter())
        snapshot_below_qemu();
}
END_TEST

CHECK_MAIN("driver snapshots", below_a_guest_blocks_are_shared, below_a_guest_nothing_is_copied,
           below_a_guest_a_chain_stays, a_guest_cannot_start_while_its_image_is_copied,
           a_shared_snapshot_is_of_one_moment, a_shared_snapshot_of_qcow2_is_whole)
