/*
 * An unused replica reclaims its zeros, with other users in the middle: each of them at the very
 * moment in which it would matter.
 */
#include "replication/engine/replica_reclaim.h"

#include "common/image_lock.h"
#include "replication/engine/replica_epoch.h"
#include "tests/lib/check_main.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define VOLUME  "00000000-0000-4000-8000-00000000f000"
#define UID     "00000000-0000-4000-8000-00000000000a"
#define MIB     (INT64_C(1) << 20)
#define MAXIMUM (INT64_C(1) << 40)
#define SIZE    (32 * MIB)
#define PAUSE   10 /* between two parts */

static char pool[] = "/tmp/test-reclaim-XXXXXX";
static const struct replica replica = { .pool = pool, .uid = UID };
static const char *const uids[] = { UID };
static struct generation first;
static struct error err;
static char content[SIZE];

/* ---- interruptions ---- */

static unsigned punches, kill_at, pauses;
static void (*at_probe)(void), (*at_seek)(void), (*at_punch)(void), (*at_pause)(void);
static unsigned seeks;
static bool cannot;
static bool is_slow;     /* a second goes by with each hole that is made */
static int64_t slept_s;  /* so many, */
static off_t part_begin; /* in a part that began there; -1: none */
static off_t largest;    /* part until now */

static void happen(void (**what)(void)) {
    void (*now)(void) = *what;

    *what = NULL;
    if (now)
        now();
}

static void note_slow(off_t from, off_t size) {
    slept_s += is_slow;
    if (part_begin < 0)
        part_begin = from;
    if (from + size - part_begin > largest)
        largest = from + size - part_begin;
}

/* In place of the C library's. */
int clock_gettime(clockid_t clock, struct timespec *ret) {
    int result = (int)syscall(SYS_clock_gettime, clock, ret);

    ret->tv_sec += slept_s;
    return result;
}

int fallocate(int fd, int mode, off_t from, off_t size) {
    if (cannot) {
        errno = EOPNOTSUPP;
        return -1;
    }
    if (from >= SIZE)
        happen(&at_probe);
    if (from < SIZE) {
        if (++punches == kill_at)
            raise(SIGKILL);
        note_slow(from, size);
        happen(&at_punch);
    }
    return (int)syscall(SYS_fallocate, fd, mode, from, size);
}

off_t lseek(int fd, off_t at, int whence) {
    seeks++;
    happen(&at_seek);
    return (off_t)syscall(SYS_lseek, fd, at, whence);
}

int poll(struct pollfd *polled, nfds_t count, int ms) {
    const struct timespec time = { .tv_nsec = ms * 1000000L };

    if (count == 0 && ms == PAUSE) {
        pauses++;
        part_begin = -1;
        happen(&at_pause);
    }
    return (int)syscall(SYS_ppoll, polled, count, &time, NULL, 0);
}

/* ---- the replica ---- */

static const char *file(const char *name) {
    static char text[256];

    snprintf(text, sizeof(text), "%s/%s/%s", pool, UID, name);
    return text;
}

static int64_t used(void) {
    struct stat facts;

    ck_assert_int_eq(stat(file("data"), &facts), 0);
    return (int64_t)facts.st_blocks * 512;
}

static void write_bytes(int64_t at, int byte, int64_t size) {
    autoclose int fd = open(file("data"), O_WRONLY);

    memset(content + at, byte, (size_t)size);
    ck_assert_int_eq(pwrite(fd, content + at, (size_t)size, at), size);
    ck_assert_int_eq(fsync(fd), 0);
}

/* Zeros with a page of data in each MiB, but for some that are all data. */
static void fill(void) {
    write_bytes(0, 0, SIZE);
    for (int64_t at = 0; at < SIZE; at += MIB)
        write_bytes(at, 1 + (int)(at / MIB), at % (5 * MIB) == 0 ? MIB : 4096);
}

static void assert_content(void) {
    static char found[SIZE];
    autoclose int fd = open(file("data"), O_RDONLY);
    struct stat facts;

    ck_assert_int_eq(pread(fd, found, SIZE, 0), SIZE);
    ck_assert(memcmp(found, content, SIZE) == 0);
    ck_assert_int_eq(fstat(fd, &facts), 0);
    ck_assert_int_eq(facts.st_size, MAXIMUM);
}

static void begin(void) {
    strcpy(pool, "/tmp/test-reclaim-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(pool));
    generation_first(VOLUME, SIZE, uids, 1, &first);
    ck_assert_int_eq(replica_create(&replica, VOLUME, MAXIMUM, &first, &err), 0);
    ck_assert_int_eq(replica_epoch_take(&replica, 3, &err), 0);
    fill();
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *place) {
    (void)facts, (void)kind, (void)place;
    return remove(path);
}

static void end(void) {
    nftw(pool, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static int reclaim(struct replica_reclaimed *ret) {
    const struct replica_reclaim how = { .ends = NULL };

    err = (struct error){ .kind = ERROR_NONE };
    *ret = (struct replica_reclaimed){ 0 };
    return replica_reclaim(&replica, &how, ret, &err);
}

static void assert_reclaimed(void) {
    struct replica_reclaimed reclaimed;

    ck_assert_msg(reclaim(&reclaimed) == 0, "%s", err.message);
    ck_assert_int_eq(reclaimed.after_bytes, used());
    ck_assert_int_lt(reclaimed.after_bytes, SIZE / 2);
    assert_content();
}

static void assert_conflict(const char *why) {
    struct replica_reclaimed reclaimed;

    ck_assert_int_eq(reclaim(&reclaimed), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert_msg(strstr(err.message, why) != NULL, "%s", err.message);
    assert_content();
}

/* ---- alone ---- */

START_TEST(zeros_become_holes_and_the_content_stays) {
    struct replica_probe before, after;
    struct replica_reclaimed reclaimed;

    replica_probe(&replica, VOLUME, &before);
    ck_assert_int_eq(reclaim(&reclaimed), 0);
    replica_probe(&replica, VOLUME, &after);
    ck_assert_int_eq(reclaimed.before_bytes, before.used_bytes);
    ck_assert_int_eq(reclaimed.after_bytes, after.used_bytes);
    ck_assert_int_le(reclaimed.after_bytes, 7 * MIB + 32 * 4096 + 65536);
    ck_assert_int_ge(reclaimed.after_bytes, 7 * MIB + 25 * 4096);
    ck_assert(memcmp(&before.state, &after.state, sizeof(after.state)) == 0);
    ck_assert_int_eq(after.epoch, 3);
    ck_assert(!after.held);
    assert_content();

    punches = 0;
    ck_assert_int_eq(reclaim(&reclaimed), 0); /* once more: no zeros remain */
    ck_assert_uint_eq(punches, 0);
    ck_assert_int_eq(reclaimed.before_bytes, reclaimed.after_bytes);
    assert_content();
}
END_TEST

START_TEST(only_the_volumes_size_is_processed) {
    static const char zeros[8 * MIB];
    autoclose int fd = open(file("data"), O_WRONLY);
    atomic_int_least64_t at = 0;
    const struct replica_reclaim how = { .at_byte = &at };
    struct replica_reclaimed reclaimed = { 0 };

    ck_assert_int_eq(pwrite(fd, zeros, sizeof(zeros), SIZE), sizeof(zeros));
    ck_assert_int_eq(replica_reclaim(&replica, &how, &reclaimed, &err), 0);
    ck_assert_int_eq(atomic_load(&at), SIZE);
    ck_assert_int_ge(reclaimed.after_bytes, 15 * MIB);
    assert_content();

    ck_assert_int_eq(unlink(file("state")), 0); /* its size is unknown then */
    ck_assert_int_eq(reclaim(&reclaimed), 0);
    ck_assert_int_lt(reclaimed.after_bytes, 8 * MIB);
    assert_content();
}
END_TEST

START_TEST(a_file_system_without_holes_is_reported) {
    struct replica_reclaimed reclaimed;

    cannot = true;
    ck_assert_int_eq(reclaim(&reclaimed), -1);
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    assert_content();
}
END_TEST

START_TEST(only_the_replicas_own_plain_file_is_changed) {
    struct replica_reclaimed reclaimed;
    char elsewhere[300];
    autoclose int fd = -1;
    struct stat facts;

    snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", pool);
    fd = open(elsewhere, O_RDWR | O_CREAT, 0600);
    ck_assert_int_eq(pwrite(fd, content, SIZE, 0), SIZE);
    ck_assert_int_eq(unlink(file("data")), 0);
    ck_assert_int_eq(reclaim(&reclaimed), -1);
    ck_assert_int_eq(err.kind, ERROR_NOT_FOUND);
    ck_assert_int_eq(symlink(elsewhere, file("data")), 0);
    ck_assert_int_eq(reclaim(&reclaimed), -1);
    ck_assert_int_eq(fstat(fd, &facts), 0);
    ck_assert_int_ge((int64_t)facts.st_blocks * 512, SIZE);
    ck_assert_uint_eq(punches, 0);
}
END_TEST

/* ---- killed ---- */

START_TEST(a_kill_during_a_reclaim_needs_no_repair) {
    int status = 0;
    unsigned at = 1;

    for (; !WIFEXITED(status) || at == 1; at++) {
        pid_t child = fork();

        if (child == 0) {
            struct replica_reclaimed reclaimed;

            kill_at = at;
            _exit(reclaim(&reclaimed) == 0 ? 0 : 1);
        }
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        assert_content();
    }
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    ck_assert_uint_gt(at, 4);
    assert_reclaimed();
}
END_TEST

/* ---- others ---- */

static void no_opening_succeeds(void) {
    autoclose int fd = open(file("data"), O_RDWR), lock = -1;

    ck_assert_int_eq(image_lock_writer(fd, false, &err), IMAGE_HELD);
    ck_assert_int_eq(replica_lock(&replica, &lock, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert_int_eq(replica_reset(&replica, VOLUME, MAXIMUM, &err), -1);
    ck_assert_int_eq(replica_delete(&replica, &err), -1);
}

START_TEST(no_opening_succeeds_during_a_part) {
    at_punch = no_opening_succeeds;
    assert_reclaimed();
    ck_assert_ptr_null(at_punch);
}
END_TEST

/* An opening waits no longer than on a quick disk. */
START_TEST(a_part_is_small_where_the_disk_is_slow) {
    is_slow = true;
    part_begin = -1;
    assert_reclaimed();
    ck_assert_int_ge(slept_s, 25);
    ck_assert_int_le(largest, MIB);
}
END_TEST

/* The file is shorter for a moment, when it is created again. */
START_TEST(no_opening_succeeds_during_the_first_check) {
    at_probe = no_opening_succeeds;
    assert_reclaimed();
    ck_assert_ptr_null(at_probe);
}
END_TEST

static int held = -1;

/* As a daemon with the file open. */
static void open_and_write(void) {
    held = open(file("data"), O_RDWR);
    ck_assert_int_eq(image_lock_writer(held, false, &err), IMAGE_LOCKED);
    write_bytes(SIZE - 2 * MIB + 65536, 'w', 262144);
    write_bytes(65536 + 2 * MIB, 'v', 262144);
}

/* The target of a new node: an epoch, the lock, the file. */
static void take_over(void) {
    autoclose int lock = -1;

    ck_assert_int_eq(replica_lock(&replica, &lock, &err), 0);
    ck_assert_int_eq(replica_epoch_take(&replica, 4, &err), 0);
    open_and_write();
}

static void take_over_and_go(void) {
    take_over();
    close(held);
}

/* A daemon that was restarted in the same epoch, and has ended since. */
static void come_and_go(void) {
    open_and_write();
    close(held);
}

static void come_and_take_epoch(void) {
    static int64_t epoch = 10;

    ck_assert_int_eq(replica_epoch_take(&replica, epoch++, &err), 0);
}

START_TEST(an_opening_between_two_parts_ends_the_reclaim) {
    at_pause = take_over;
    assert_conflict("was opened meanwhile");
    ck_assert_uint_eq(pauses, 1);
    assert_conflict("is in use");
    close(held);
    assert_reclaimed();
}
END_TEST

START_TEST(writes_of_a_meanwhile_owner_are_kept) {
    at_pause = take_over_and_go;
    assert_conflict("was opened meanwhile");
    fill();
    at_pause = come_and_go;
    assert_reclaimed();
    ck_assert_uint_gt(pauses, 2);
}
END_TEST

/* It ends, after any number of interruptions. */
START_TEST(the_next_attempt_continues_at_the_last_position) {
    const struct replica_reclaim how = { .ends = NULL };
    struct replica_reclaimed reclaimed = { 0 };
    int64_t before = used(), at = 0;
    int tries = 0;

    do {
        at_pause = come_and_take_epoch;
        ck_assert(reclaimed.at_byte >= at && tries++ < SIZE / MIB);
        at = reclaimed.at_byte;
    } while (replica_reclaim(&replica, &how, &reclaimed, &err) < 0);
    ck_assert_int_gt(tries, 1);
    ck_assert_int_eq(reclaimed.before_bytes, before);
    ck_assert_int_eq(reclaimed.after_bytes, used());
    ck_assert_int_lt(reclaimed.after_bytes, SIZE / 2);
    assert_content();
}
END_TEST

START_TEST(a_replica_in_use_is_not_changed) {
    autoclose int lock = -1;

    open_and_write();
    assert_conflict("is in use");
    ck_assert_uint_eq(punches, 0);
    close(held);
    ck_assert_int_eq(replica_lock(&replica, &lock, &err), 0);
    assert_conflict("works on the replica");
    ck_assert_uint_eq(punches, 0);
}
END_TEST

static atomic_bool ends;

static void request_end(void) {
    atomic_store(&ends, true);
}

START_TEST(a_reclaim_ends_on_request) {
    const struct replica_reclaim how = { .ends = &ends };
    struct replica_reclaimed reclaimed = { 0 };

    at_pause = request_end;
    ck_assert_int_eq(replica_reclaim(&replica, &how, &reclaimed, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert_uint_eq(pauses, 1);
    ck_assert_int_gt(used(), SIZE / 2);
    assert_content();
}
END_TEST

/* With any number of holes: a deletion waits for the end. */
START_TEST(a_reclaim_ends_on_request_during_the_search_for_holes) {
    const struct replica_reclaim how = { .ends = &ends };
    struct replica_reclaimed reclaimed = { 0 };

    assert_reclaimed();
    seeks = 0;
    at_seek = request_end;
    ck_assert_int_eq(replica_reclaim(&replica, &how, &reclaimed, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert_uint_le(seeks, 2);
    assert_content();
}
END_TEST

CHECK_MAIN_WITH("replica reclaim", true, begin, end, zeros_become_holes_and_the_content_stays,
                only_the_volumes_size_is_processed, a_file_system_without_holes_is_reported,
                only_the_replicas_own_plain_file_is_changed,
                a_kill_during_a_reclaim_needs_no_repair, no_opening_succeeds_during_a_part,
                a_part_is_small_where_the_disk_is_slow, no_opening_succeeds_during_the_first_check,
                an_opening_between_two_parts_ends_the_reclaim, writes_of_a_meanwhile_owner_are_kept,
                the_next_attempt_continues_at_the_last_position, a_replica_in_use_is_not_changed,
                a_reclaim_ends_on_request, a_reclaim_ends_on_request_during_the_search_for_holes)
