#include "replication/engine/replica_epoch.h"

#include "common/cleanup.h"
#include "replication/engine/epoch.h"
#include "replication/engine/replica.private.h"
#include "replication/engine/replica_access.h"
#include "tests/lib/check_main.h"
#include "tests/lib/replica_requests.h"
#include "tests/lib/small_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#define VOLUME  "00000000-0000-4000-8000-00000000f000"
#define UID     "00000000-0000-4000-8000-00000000000a"
#define MAXIMUM (INT64_C(64) << 20)

static char pool[] = "/tmp/test-epoch-XXXXXX";
static const struct replica replica = { .pool = pool, .uid = UID };
static const char *const uids[] = { UID };
static struct replica_probe seen;
static struct error err;

static const char *file(const char *name) {
    static char text[256];

    snprintf(text, sizeof(text), "%s/%s/%s", pool, UID, name);
    return text;
}

static void create(void) {
    struct generation first;

    generation_first(VOLUME, MAXIMUM, uids, 1, &first);
    ck_assert_int_eq(replica_create(&replica, VOLUME, MAXIMUM, &first, &err), 0);
    replica_probe(&replica, VOLUME, &seen);
    ck_assert_int_eq(seen.health, REPLICA_GOOD);
}

static void begin(void) {
    strcpy(pool, "/tmp/test-epoch-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(pool));
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *place) {
    (void)facts, (void)kind, (void)place;
    return remove(path);
}

static void end(void) {
    umount2(pool, MNT_DETACH);
    nftw(pool, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void assert_epoch(int64_t epoch) {
    ck_assert_int_eq(replica_epoch(&replica, &err), epoch);
    replica_probe(&replica, VOLUME, &seen);
    ck_assert_int_eq(seen.epoch, epoch);
}

static void assert_refused(int outcome, enum error_kind kind) {
    ck_assert_int_eq(outcome, -1);
    ck_assert_int_eq(err.kind, kind);
}

static struct replica_state state_of(int64_t number) {
    struct replica_state state = seen.state;

    state.generation.id.number = number;
    return state;
}

START_TEST(the_highest_epoch_is_kept) {
    create();
    assert_epoch(0);
    ck_assert_int_eq(replica_epoch_take(&replica, 0, &err), 0);
    ck_assert_int_eq(replica_epoch_take(&replica, 7, &err), 0);
    ck_assert_int_eq(replica_epoch_take(&replica, 7, &err), 0);
    assert_epoch(7);
    assert_refused(replica_epoch_take(&replica, 6, &err), ERROR_CONFLICT);
    assert_refused(replica_epoch_take(&replica, 0, &err), ERROR_CONFLICT);
    assert_epoch(7);
    create();
    assert_epoch(7);
    ck_assert_int_eq(replica_epoch_take(&replica, INT64_MAX, &err), 0);
    assert_epoch(INT64_MAX);
}
END_TEST

START_TEST(a_lower_epoch_changes_neither_state_nor_data) {
    struct replica_data data;
    struct replica_state next;

    create();
    ck_assert_int_eq(replica_epoch_take(&replica, 2, &err), 0);
    next = state_of(5);
    assert_refused(replica_write_state_in(&replica, 1, &next, &err), ERROR_CONFLICT);
    assert_refused(replica_reset_in(&replica, VOLUME, MAXIMUM, 1, &err), ERROR_CONFLICT);
    assert_refused(request_open(&replica_local, &replica, VOLUME, 1, &data, &err), ERROR_CONFLICT);
    assert_epoch(2);
    ck_assert_int_eq(seen.state.generation.id.number, 1);
    ck_assert_int_eq(seen.state.mark, REPLICA_CLEAN);
    ck_assert_int_eq(replica_write_state_in(&replica, 2, &next, &err), 0);
    ck_assert_int_eq(request_open(&replica_local, &replica, VOLUME, 2, &data, &err), 0);
    ck_assert_str_eq(data.host, "");
    ck_assert_str_eq(data.export, file("data"));
    assert_epoch(2);
    ck_assert_int_eq(seen.state.generation.id.number, 5);
}
END_TEST

START_TEST(an_epoch_outlives_the_state_and_the_data) {
    create();
    ck_assert_int_eq(replica_reset_in(&replica, VOLUME, MAXIMUM, 3, &err), 0);
    assert_epoch(3);
    ck_assert_int_eq(seen.state.mark, REPLICA_EMPTY);
    ck_assert(unlink(file("state")) == 0 && unlink(file("data")) == 0);
    ck_assert_int_eq(replica_create(&replica, VOLUME, MAXIMUM, NULL, &err), 0);
    assert_epoch(3);
    ck_assert_int_eq(replica_delete(&replica, &err), 0);
    assert_refused((int)replica_epoch(&replica, &err), ERROR_NOT_FOUND);
    assert_refused(replica_epoch_take(&replica, 4, &err), ERROR_NOT_FOUND);
    ck_assert_int_eq(access(file(""), F_OK), -1);
}
END_TEST

/* A replica of an earlier version has none. */
START_TEST(an_epoch_without_a_file_is_zero) {
    create();
    ck_assert_int_eq(unlink(file("epoch")), 0);
    assert_epoch(0);
    ck_assert_int_eq(seen.health, REPLICA_GOOD);
    ck_assert_int_eq(replica_epoch_take(&replica, 1, &err), 0);
    assert_epoch(1);
}
END_TEST

START_TEST(an_unreadable_epoch_refuses_each_opening) {
    static const char *const texts[] = { "x", "0000000000000000000", "00000000000000000001",
                                         "-0000000000000000001\n" };

    create();
    for (size_t i = 0; i < LENGTH(texts); i++) {
        autoclose int fd = open(file("epoch"), O_WRONLY | O_TRUNC);

        ck_assert_int_eq(pwrite(fd, texts[i], strlen(texts[i]), 0), (ssize_t)strlen(texts[i]));
        assert_refused((int)replica_epoch(&replica, &err), ERROR_BACKEND);
        assert_refused(replica_epoch_take(&replica, 9, &err), ERROR_BACKEND);
        replica_probe(&replica, VOLUME, &seen);
        ck_assert_int_eq(seen.health, REPLICA_DAMAGED);
    }
}
END_TEST

START_TEST(a_full_pool_accepts_the_next_epoch) {
    char bytes[4096] = "";
    int fd;

    if (!small_disk(pool, "size=200k"))
        return;
    create();
    fd = open(file("filler"), O_WRONLY | O_CREAT, 0600);
    while (write(fd, bytes, sizeof(bytes)) > 0)
        ;
    close(fd);
    ck_assert_int_eq(replica_epoch_take(&replica, 12, &err), 0);
    assert_epoch(12);
}
END_TEST

static int hold_epoch(int64_t epoch) {
    autoclose int directory = replica_open(&replica, &err);

    return epoch_hold(directory, epoch, &err);
}

/* Between the check and the write of a suspended process no higher epoch is taken: the call waits
 * for a moment, and fails. */
START_TEST(a_held_epoch_excludes_a_higher_one) {
    autoclose int held = -1;
    pid_t child;
    int status;

    create();
    held = hold_epoch(1);
    ck_assert_int_ge(held, 0);
    child = fork();
    if (child == 0) {
        close(held);
        _exit(replica_epoch_take(&replica, 2, &err) == -1 && err.kind == ERROR_UNAVAILABLE ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    assert_epoch(0);
    close(take_fd(held));
    ck_assert_int_eq(replica_epoch_take(&replica, 2, &err), 0);
    assert_refused(hold_epoch(1), ERROR_CONFLICT);
}
END_TEST

/* Many take many, and one after the other is killed: an epoch reported as taken is stored, and it
 * never falls. */
START_TEST(an_epoch_never_falls_after_any_death) {
    int64_t before = 0;
    unsigned seed = 1;

    create();
    for (int round = 0; round < 40; round++) {
        pid_t children[2];

        for (int i = 0; i < 2; i++) {
            children[i] = fork();
            for (int64_t epoch = before + 1 + i; children[i] == 0; epoch += 2)
                (void)replica_epoch_take(&replica, epoch, &err);
        }
        usleep((useconds_t)rand_r(&seed) % 3000);
        for (int i = 0; i < 2; i++) {
            kill(children[i], SIGKILL);
            waitpid(children[i], NULL, 0);
        }
        ck_assert_int_ge(replica_epoch(&replica, &err), before);
        before = replica_epoch(&replica, &err);
    }
    ck_assert_int_gt(before, 0);
}
END_TEST

CHECK_MAIN_WITH("replica epoch", true, begin, end, the_highest_epoch_is_kept,
                a_lower_epoch_changes_neither_state_nor_data,
                an_epoch_outlives_the_state_and_the_data, an_epoch_without_a_file_is_zero,
                an_unreadable_epoch_refuses_each_opening, a_full_pool_accepts_the_next_epoch,
                a_held_epoch_excludes_a_higher_one, an_epoch_never_falls_after_any_death)
