#include "replication/engine/replica.h"

#include "common/image_lock.h"
#include "tests/lib/check_main.h"
#include "tests/lib/small_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define VOLUME  "00000000-0000-4000-8000-00000000f000"
#define OTHER   "00000000-0000-4000-8000-00000000f001"
#define UID     "00000000-0000-4000-8000-00000000000a"
#define MAXIMUM (INT64_C(1) << 40)
#define SIZE    (INT64_C(64) << 20)

static char pool[] = "/tmp/test-replica-XXXXXX";
static const struct replica replica = { .pool = pool, .uid = UID };
static const char *const uids[] = { UID };
static struct generation first;
static struct error err;

/* In place of the C library's. */
static int room_errno;

int fstatvfs(int fd, struct statvfs *ret) {
    (void)fd;
    *ret = (struct statvfs){ .f_bavail = 1, .f_frsize = 4096 };
    errno = room_errno;
    return room_errno ? -1 : 0;
}

static const char *file(const char *name) {
    static char text[256];

    snprintf(text, sizeof(text), "%s/%s/%s", pool, UID, name);
    return text;
}

static void begin(void) {
    strcpy(pool, "/tmp/test-replica-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(pool));
    generation_first(VOLUME, SIZE, uids, 1, &first);
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *place) {
    (void)facts, (void)kind, (void)place;
    return remove(path);
}

static void end(void) {
    umount2(pool, MNT_DETACH); /* if a test has one there */
    nftw(pool, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void create(void) {
    ck_assert_int_eq(replica_create(&replica, VOLUME, MAXIMUM, &first, &err), 0);
}

static enum replica_health probe(struct replica_probe *ret) {
    replica_probe(&replica, VOLUME, ret);
    return ret->health;
}

static void write_data(void) {
    autoclose int fd = open(file("data"), O_WRONLY);

    ck_assert_int_eq(pwrite(fd, "data", 4, 4096), 4);
}

static void write_much(void) {
    autoclose int fd = open(file("data"), O_WRONLY);
    char block[4096] = "data";

    for (off_t at = 0; at < 16; at++)
        ck_assert_int_eq(pwrite(fd, block, sizeof(block), at << 20), sizeof(block));
    fsync(fd);
}

/* As a daemon with the file open. */
static int hold(void) {
    int fd = open(file("data"), O_RDWR);

    ck_assert_int_eq(image_lock_writer(fd, false, &err), IMAGE_LOCKED);
    return fd;
}

START_TEST(a_new_replica_is_sparse_private_and_clean) {
    struct replica_probe seen;
    struct stat facts;

    create();
    ck_assert_int_eq(probe(&seen), REPLICA_GOOD);
    ck_assert_int_eq(seen.bytes, MAXIMUM);
    ck_assert_int_eq(seen.used_bytes, 0);
    ck_assert_int_gt(seen.free_bytes, 0);
    ck_assert(!seen.held);
    ck_assert_int_eq(seen.state.mark, REPLICA_CLEAN);
    ck_assert(generation_same(&seen.state.generation.id, &first.id));
    stat(file("data"), &facts);
    ck_assert_uint_eq(facts.st_mode & 0777, 0600);
    stat(file(""), &facts);
    ck_assert_uint_eq(facts.st_mode & 0777, 0700);
}
END_TEST

START_TEST(a_repeated_creation_has_no_effect) {
    struct replica_probe seen;

    create();
    write_data();
    create();
    ck_assert_int_eq(probe(&seen), REPLICA_GOOD);
    ck_assert_int_gt(seen.used_bytes, 0);
    ck_assert_int_eq(replica_create(&replica, OTHER, MAXIMUM, &first, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert_int_eq(probe(&seen), REPLICA_GOOD);
    ck_assert_int_gt(seen.used_bytes, 0);
}
END_TEST

/* The files that a crash leaves after each of its steps. */
START_TEST(an_interrupted_creation_is_repeated) {
    struct replica_probe seen;

    for (int step = 0; step < 4; step++) {
        create();
        unlink(file("state"));
        if (step == 1)
            ck_assert_int_eq(truncate(file("data"), 5), 0);
        if (step > 1)
            unlink(file("data"));
        if (step > 2)
            ck_assert(unlink(file("state.new")) == 0 && unlink(file("lock")) == 0 &&
                      unlink(file("epoch")) == 0);
        if (step > 2)
            ck_assert_int_eq(rmdir(file("")), 0);
        ck_assert_int_eq(probe(&seen), REPLICA_GONE);
        create();
        ck_assert_int_eq(probe(&seen), REPLICA_GOOD);
        ck_assert_int_eq(seen.bytes, MAXIMUM);
        ck_assert_int_eq(seen.used_bytes, 0);
        ck_assert_int_eq(replica_delete(&replica, &err), 0);
    }
}
END_TEST

START_TEST(data_without_a_state_are_discarded_only_for_a_rebuild) {
    struct replica_probe seen;

    create();
    write_much();
    unlink(file("state"));
    ck_assert_int_eq(replica_create(&replica, VOLUME, MAXIMUM, &first, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert_int_eq(probe(&seen), REPLICA_GONE);
    ck_assert_int_gt(seen.used_bytes, 4096);
    ck_assert_int_eq(replica_create(&replica, VOLUME, MAXIMUM, NULL, &err), 0);
    ck_assert_int_eq(probe(&seen), REPLICA_GOOD);
    ck_assert_int_eq(seen.state.mark, REPLICA_EMPTY);
    ck_assert_int_eq(seen.used_bytes, 0);
}
END_TEST

START_TEST(a_replica_with_a_damaged_state_is_rebuilt) {
    struct replica_probe seen;

    create();
    write_much();
    ck_assert_int_eq(truncate(file("state"), 100), 0);
    ck_assert_int_eq(replica_create(&replica, VOLUME, MAXIMUM, &first, &err), -1);
    ck_assert_int_eq(probe(&seen), REPLICA_DAMAGED);
    ck_assert_int_eq(replica_create(&replica, VOLUME, MAXIMUM, NULL, &err), 0);
    ck_assert_int_eq(probe(&seen), REPLICA_GOOD);
    ck_assert_int_eq(seen.state.mark, REPLICA_EMPTY);
}
END_TEST

/* On a share, machines see each other's locks of files that are open for writing, and no others. */
START_TEST(the_lock_is_visible_to_other_machines) {
    autoclose int held = -1;
    struct stat facts;

    create();
    ck_assert_int_eq(replica_lock(&replica, &held, &err), 0);
    ck_assert_int_eq(fstat(held, &facts), 0);
    ck_assert(S_ISREG(facts.st_mode));
    ck_assert_int_eq(fcntl(held, F_GETFL) & O_ACCMODE, O_RDWR);
}
END_TEST

START_TEST(a_failed_probe_does_not_mean_damage) {
    static const int codes[] = { EIO, ENOMEM, ESTALE, ENOLCK, EMFILE };
    struct replica_probe seen;

    create();
    for (size_t i = 0; i < LENGTH(codes); i++) {
        room_errno = codes[i];
        ck_assert_int_eq(probe(&seen), REPLICA_FAILING);
    }
    room_errno = 0;
    ck_assert_int_eq(probe(&seen), REPLICA_GOOD);
}
END_TEST

START_TEST(a_full_pool_accepts_states) {
    autoclose int junk = -1;
    struct replica_probe seen;
    char block[4096] = "junk";
    struct replica_state state;

    if (!small_disk(pool, "size=64k"))
        return; /* not possible here */
    create();
    probe(&seen);
    state = seen.state;
    snprintf(block, sizeof(block), "%s/junk", pool);
    junk = open(block, O_WRONLY | O_CREAT, 0600);
    while (write(junk, block, sizeof(block)) > 0)
        ;
    for (int i = 0; i < 3; i++) {
        state.generation.id.number++;
        ck_assert_int_eq(replica_write_state(&replica, &state, &err), 0);
        ck_assert_int_eq(probe(&seen), REPLICA_GOOD);
        ck_assert_int_eq(seen.state.generation.id.number, state.generation.id.number);
    }
}
END_TEST

START_TEST(an_empty_replica_is_reported_as_such) {
    struct replica_probe seen;

    ck_assert_int_eq(replica_create(&replica, VOLUME, MAXIMUM, NULL, &err), 0);
    ck_assert_int_eq(probe(&seen), REPLICA_GOOD);
    ck_assert_int_eq(seen.state.mark, REPLICA_EMPTY);
}
END_TEST

START_TEST(a_probe_detects_each_kind_of_damage) {
    struct replica_probe seen;

    ck_assert_int_eq(probe(&seen), REPLICA_GONE);
    create();
    ck_assert_int_eq(truncate(file("data"), SIZE - 1), 0);
    ck_assert_int_eq(probe(&seen), REPLICA_DAMAGED);
    ck_assert_int_eq(truncate(file("data"), SIZE), 0);
    ck_assert_int_eq(probe(&seen), REPLICA_GOOD);
    ck_assert_int_eq(truncate(file("state"), 100), 0);
    ck_assert_int_eq(probe(&seen), REPLICA_DAMAGED);
    ck_assert_int_eq(unlink(file("state")), 0);
    ck_assert_int_eq(symlink("/etc/passwd", file("state")), 0);
    ck_assert_int_eq(probe(&seen), REPLICA_DAMAGED);
    ck_assert_int_eq(replica_delete(&replica, &err), 0);

    create();
    replica_probe(&replica, OTHER, &seen);
    ck_assert_int_eq(seen.health, REPLICA_DAMAGED);
    ck_assert_int_eq(unlink(file("data")), 0);
    ck_assert_int_eq(probe(&seen), REPLICA_GONE);
    ck_assert_int_eq(mkfifo(file("data"), 0600), 0);
    ck_assert_int_eq(probe(&seen), REPLICA_DAMAGED);
    ck_assert_int_eq(unlink(file("data")), 0);
    ck_assert_int_eq(symlink("/dev/zero", file("data")), 0);
    ck_assert_int_eq(probe(&seen), REPLICA_DAMAGED);
}
END_TEST

START_TEST(a_state_of_another_replica_does_not_count) {
    const struct replica other = { .pool = pool, .uid = "00000000-0000-4000-8000-00000000000b" };
    struct replica_probe seen;
    char from[256];

    create();
    ck_assert_int_eq(replica_create(&other, VOLUME, MAXIMUM, &first, &err), 0);
    snprintf(from, sizeof(from), "%s/%s/state", pool, other.uid);
    ck_assert_int_eq(rename(from, file("state")), 0);
    ck_assert_int_eq(probe(&seen), REPLICA_DAMAGED);
}
END_TEST

START_TEST(a_file_in_use_is_neither_emptied_nor_removed) {
    struct replica_probe seen;
    autoclose int held = -1;

    create();
    write_data();
    held = hold();
    ck_assert_int_eq(probe(&seen), REPLICA_GOOD);
    ck_assert(seen.held);
    ck_assert_int_eq(replica_reset(&replica, VOLUME, MAXIMUM, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert_int_eq(replica_delete(&replica, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert_int_eq(probe(&seen), REPLICA_GOOD);
    ck_assert_int_eq(seen.state.mark, REPLICA_CLEAN);
    ck_assert_int_gt(seen.used_bytes, 0);

    ck_assert_int_eq(unlink(file("data")), 0); /* another file of that name is not the one in use */
    close(open(file("data"), O_WRONLY | O_CREAT | O_EXCL, 0600));
    probe(&seen);
    ck_assert(!seen.held);
}
END_TEST

START_TEST(a_reset_replica_has_no_former_data) {
    struct replica_probe seen;

    create();
    write_data();
    ck_assert_int_eq(replica_reset(&replica, VOLUME, MAXIMUM, &err), 0);
    ck_assert_int_eq(probe(&seen), REPLICA_GOOD);
    ck_assert_int_eq(seen.state.mark, REPLICA_EMPTY);
    ck_assert_int_eq(seen.used_bytes, 0);
    ck_assert_int_eq(seen.bytes, MAXIMUM);
}
END_TEST

START_TEST(a_locked_replica_cannot_be_changed) {
    autoclose int held = -1;
    int second = -1;

    create();
    ck_assert_int_eq(replica_lock(&replica, &held, &err), 0);
    ck_assert_int_eq(replica_lock(&replica, &second, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert_int_eq(second, -1);
    ck_assert_int_eq(replica_delete(&replica, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
}
END_TEST

static void *let_go(void *held) {
    poll(NULL, 0, 20);
    close(*(int *)held);
    return NULL;
}

/* Two concurrent creations of the same replica both succeed. */
START_TEST(a_briefly_held_lock_is_awaited) {
    pthread_t other;
    int held = -1;

    create();
    ck_assert_int_eq(replica_lock(&replica, &held, &err), 0);
    ck_assert_int_eq(pthread_create(&other, NULL, let_go, &held), 0);
    ck_assert_msg(replica_create(&replica, VOLUME, MAXIMUM, NULL, &err) == 0, "%s", err.message);
    ck_assert_int_eq(pthread_join(other, NULL), 0);
}
END_TEST

struct ended {
    int held, looks; /* its file, and the pipe that reports when one that probes it has closed it */
};

static void *end_after_a_look(void *arg) {
    struct ended *daemon = arg;
    char event[sizeof(struct inotify_event) + NAME_MAX + 1];

    ck_assert_int_gt(read(daemon->looks, event, sizeof(event)), 0);
    close(daemon->held);
    return NULL;
}

/* As the kernel does with requests of io_uring of a killed daemon. */
START_TEST(an_ended_process_releases_its_locks_late) {
    struct ended daemon;
    struct replica_probe seen;
    pthread_t other;

    create();
    daemon.held = hold();
    daemon.looks = inotify_init1(IN_CLOEXEC);
    ck_assert_int_ge(inotify_add_watch(daemon.looks, file("data"), IN_CLOSE), 0);
    ck_assert_int_eq(pthread_create(&other, NULL, end_after_a_look, &daemon), 0);
    replica_probe_settled(&replica, VOLUME, &seen);
    ck_assert(!seen.held);
    ck_assert_int_eq(seen.health, REPLICA_GOOD);
    ck_assert_int_eq(pthread_join(other, NULL), 0);
    close(daemon.looks);

    daemon.held = hold();
    replica_probe_settled(&replica, VOLUME, &seen);
    ck_assert(seen.held); /* but a remaining holder is reported */
    close(daemon.held);
}
END_TEST

START_TEST(a_deletion_keeps_unknown_files) {
    struct stat facts;

    ck_assert_int_eq(replica_delete(&replica, &err), 0);
    create();
    ck_assert_int_eq(replica_delete(&replica, &err), 0);
    ck_assert_int_eq(stat(file(""), &facts), -1);
    ck_assert_int_eq(replica_delete(&replica, &err), 0);

    create();
    close(open(file("notes"), O_WRONLY | O_CREAT, 0600));
    ck_assert_int_eq(replica_delete(&replica, &err), -1);
    ck_assert_int_eq(stat(file("notes"), &facts), 0);
    ck_assert_int_eq(stat(file("data"), &facts), -1);
}
END_TEST

START_TEST(a_missing_pool_is_no_deleted_replica) {
    const struct replica away = { .pool = "/no/such/pool", .uid = UID };
    const struct replica strange = { .pool = pool, .uid = "../../etc" };
    struct replica_probe seen;

    ck_assert_int_eq(replica_delete(&away, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_NOT_FOUND);
    ck_assert_int_eq(replica_create(&away, VOLUME, MAXIMUM, &first, &err), -1);
    replica_probe(&away, VOLUME, &seen);
    ck_assert_int_eq(seen.health, REPLICA_GONE);
    ck_assert_int_eq(replica_create(&strange, VOLUME, MAXIMUM, &first, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    ck_assert_int_eq(replica_delete(&strange, &err), -1);
}
END_TEST

/* A state is the old one or the new one, whenever its writer dies. */
START_TEST(a_state_is_replaced_as_a_whole) {
    struct replica_state state = { 0 };
    struct replica_probe seen;
    int64_t before = 1;

    create();
    probe(&seen);
    state = seen.state;
    for (unsigned us = 0; us < 2000; us += 100) {
        pid_t writer = fork();

        if (writer == 0) {
            for (;;) {
                state.generation.id.number++;
                if (replica_write_state(&replica, &state, &err) < 0)
                    _exit(1);
            }
        }
        usleep(us);
        kill(writer, SIGKILL);
        waitpid(writer, NULL, 0);
        ck_assert_int_eq(probe(&seen), REPLICA_GOOD);
        ck_assert_int_ge(seen.state.generation.id.number, before);
        before = seen.state.generation.id.number;
        state = seen.state;
    }
}
END_TEST

CHECK_MAIN_WITH("replica", true, begin, end, a_new_replica_is_sparse_private_and_clean,
                a_repeated_creation_has_no_effect, an_interrupted_creation_is_repeated,
                data_without_a_state_are_discarded_only_for_a_rebuild,
                a_replica_with_a_damaged_state_is_rebuilt, the_lock_is_visible_to_other_machines,
                a_failed_probe_does_not_mean_damage, a_full_pool_accepts_states,
                an_empty_replica_is_reported_as_such, a_probe_detects_each_kind_of_damage,
                a_state_of_another_replica_does_not_count,
                a_file_in_use_is_neither_emptied_nor_removed, a_reset_replica_has_no_former_data,
                a_locked_replica_cannot_be_changed, a_briefly_held_lock_is_awaited,
                an_ended_process_releases_its_locks_late, a_deletion_keeps_unknown_files,
                a_missing_pool_is_no_deleted_replica, a_state_is_replaced_as_a_whole)
