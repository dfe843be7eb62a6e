/*
 * A volume with one local replica and two remote ones, and another host that takes it over.
 */
#include "tests/unit/replication/engine/target_test.h"

#include "replication/engine/replica_epoch.h"
#include "tests/lib/nbd.h"
#include "tests/lib/remote_certificates.h"
#include "tests/lib/remote_host.h"
#include "tests/lib/replica_requests.h"

#define SILENCE_MS 5000
/* For a host that is busy with other tests: a disconnected replica has missed writes. */
#define PATIENCE_MS 60000

static struct remote_host remote, dead;
static struct target *other;
static struct target_settings its;
static char first_run[64], other_run[64];
static struct error why;

static void make_remote(unsigned i) {
    settings.replicas[i].access = &remote.access;
    settings.replicas[i].address = "remote";
}

static void begin_remote(void) {
    begin();
    remote_host_begin(&remote, top, NULL);
    remote_host_begin(&dead, top, NULL);
    dead.away = true;
    strcpy(first_run, run);
    snprintf(other_run, sizeof(other_run), "%s/other", top);
    target_close(target);
    make_remote(1);
    make_remote(2);
    settings.epoch = 1;
    settings.silence_ms = PATIENCE_MS;
    open_target();
    other = NULL;
}

static void end_remote(void) {
    target_close(other);
    daemon_kill(other_run, 10000, &why);
    remote_host_end(&remote);
    end();
}

static void reopen(void) {
    target_close(target);
    open_target();
}

/* With such a short time a busy machine may be found silent: only for tests of silence. */
static void bear_silence(int64_t ms) {
    settings.silence_ms = ms;
    reopen();
}

static void watch_until(unsigned voters) {
    do {
        poll(NULL, 0, 20);
        watch();
    } while (status.state == TARGET_SERVING && status.voters != voters);
    assert_voters(voters);
}

static void fill_again(unsigned i) {
    assert_done(target_rebuild(target, &settings.replicas[i], NULL, 0, &err));
    await_job();
    ck_assert_msg(status.job == TARGET_REBUILT, "%s", status.job_error.message);
}

/* Between two blocks of the checker. */
static void damage_hole(unsigned i, unsigned block) {
    autoclose int fd = open(file_of(i, "data"), O_WRONLY);

    ck_assert_int_eq(pwrite(fd, "junk", 4, block * STRIDE + 9000), 4);
}

/* The same volume, at a host without access to the local replica. */
static void open_other(int64_t epoch) {
    its = settings;
    its.run = other_run;
    its.epoch = epoch;
    its.replicas[0].access = &dead.access;
    its.replicas[0].address = "dead";
    ck_assert_int_eq(target_open(&its, &other, &why), 0);
}

static int start_other(void) {
    int outcome = target_start(other, &why);

    while (outcome > 0) {
        poll(NULL, 0, 2);
        outcome = target_start(other, &why);
    }
    return outcome;
}

/* From here on the tests' functions are about the other one. */
static void become_other(void) {
    struct target *before = target;

    target = other;
    other = before;
    strcpy(run, other_run);
    checker_disconnect(&checker);
    ck_assert(connect_checker());
}

/* ---- write logs ---- */

static int (*call_remote)(void *arg, struct replica_request *request, struct error *err);

static void write_value(unsigned block, int value) {
    static char bytes[CHECKER_BLOCK];

    memset(bytes, value, sizeof(bytes));
    ck_assert_int_eq(nbd_do(checker.fd, NBD_WRITE, block * STRIDE, bytes, sizeof(bytes)), 0);
}

static int read_value(unsigned block) {
    static char bytes[CHECKER_BLOCK];
    int outcome = nbd_do(checker.fd, NBD_READ, block * STRIDE, bytes, sizeof(bytes));

    return outcome == 0 ? bytes[0] : -outcome;
}

/* Without that one the other two are needed. */
static void serve_without(unsigned i) {
    serve();
    assert_done(target_evict(target, uids[i], &err));
    watch();
    assert_voters(2);
    write_value(3, 7);
    write_value(4, 8);
}

START_TEST(a_local_log_decides_about_a_remote_replica) {
    serve_without(2);
    for (unsigned i = 0; i < 2; i++) {
        kill_daemon();
        remote_host_kill(&remote, uids[1]);
        damage(i, 3);
        reopen();
        serve();
        target_status(target, &status);
        ck_assert_int_eq(status.decided_blocks, 1);
        ck_assert_int_eq(read_value(3), 7);
        ck_assert_int_eq(read_value(4), 8);
    }
}
END_TEST

/* A host with false entries must not decide about another one's replica. */
START_TEST(a_remote_log_does_not_decide_beside_a_local_replica) {
    char path[128];

    serve_without(2);
    kill_daemon();
    damage(0, 3);
    snprintf(path, sizeof(path), "%s/write-logs/%s", top, uids[0]);
    ck_assert_int_eq(unlink(path), 0);
    reopen();
    serve();
    target_status(target, &status);
    ck_assert_int_eq(status.decided_blocks, 0);
    ck_assert_int_lt(read_value(3), 0);
    ck_assert_int_eq(read_value(4), 8);
}
END_TEST

START_TEST(remote_logs_decide_without_a_local_replica) {
    serve_without(0);
    kill_daemon();
    damage(2, 3);
    open_other(2);
    ck_assert_int_eq(start_other(), 0);
    become_other();
    target_status(target, &status);
    ck_assert_uint_eq(status.voters, 2);
    ck_assert_int_eq(status.decided_blocks, 1);
    ck_assert_int_eq(read_value(3), 7);
    ck_assert_int_eq(read_value(4), 8);
}
END_TEST

/* The daemon that serves it does not respond from then on. */
static int stop_and_read(void *arg, struct replica_request *request, struct error *error) {
    if (request->kind == ACCESS_READ_LOG && strcmp(request->replica->uid, uids[2]) == 0)
        kill(remote_host_server(&remote, uids[2]), SIGSTOP);
    return call_remote(arg, request, error);
}

START_TEST(a_host_that_hangs_during_decisions_prevents_no_start) {
    serve_without(0);
    call_remote = remote.access.call;
    remote.access.call = stop_and_read;
    kill_daemon();
    damage(2, 3);
    settings.silence_ms = SILENCE_MS;
    open_other(2);
    ck_assert_int_eq(start_other(), 0);
    target_status(other, &status);
    ck_assert_int_eq(status.state, TARGET_SERVING);
    ck_assert_int_eq(status.decided_blocks, 0);
}
END_TEST

static int call_without_logs(void *arg, struct replica_request *request, struct error *error) {
    if (request->kind == ACCESS_BEGIN_LOG || request->kind == ACCESS_READ_LOG)
        return replica_request_refuse(request, error);
    return call_remote(arg, request, error);
}

/* As those of an earlier version do. */
START_TEST(hosts_without_logs_decide_no_block) {
    call_remote = remote.access.call;
    remote.access.call = call_without_logs;
    serve_without(0);
    kill_daemon();
    damage(2, 3);
    open_other(2);
    ck_assert_int_eq(start_other(), 0);
    become_other();
    target_status(target, &status);
    ck_assert_int_eq(status.decided_blocks, 0);
    ck_assert_int_lt(read_value(3), 0);
    ck_assert_int_eq(read_value(4), 8);
}
END_TEST

START_TEST(a_clean_stop_ends_remote_logs) {
    serve_without(0);
    stop();
    ck_assert_int_eq(start(), 0);
    ck_assert(connect_checker());
    write_value(4, 9);
    kill_daemon();
    damage(2, 3);
    reopen();
    serve();
    target_status(target, &status);
    ck_assert_int_eq(status.decided_blocks, 0);
    ck_assert_int_lt(read_value(3), 0);
    ck_assert_int_eq(read_value(4), 9);
}
END_TEST

/* ---- write logs with a replica to spare ---- */

static void serve_all(void) {
    serve();
    assert_voters(3);
    write_value(3, 7);
    write_value(4, 8);
}

/* The other host may not know of a failed write on its replica that was answered. */
START_TEST(with_a_spare_replica_only_local_ones_have_logs) {
    autoarena struct arena *arena = arena_new();
    struct write_log log;

    serve_all();
    for (unsigned i = 1; i < REPLICAS; i++) {
        assert_done(request_read_log(&remote.access, &settings.replicas[i], 1, arena, &log, &why));
        ck_assert_int_eq(log.generation.number, 0);
    }
    write_log_read(arena, write_log_directory(arena, run), uids[0], &log);
    ck_assert_int_gt(log.generation.number, 0);
    ck_assert_uint_eq(log.count, 2 * CHECKER_BLOCK / 4096);
}
END_TEST

START_TEST(a_local_log_decides_when_a_spare_host_is_lost) {
    for (unsigned i = 0; i < 2; i++) {
        serve_all();
        kill_daemon();
        remote_host_kill(&remote, uids[1]);
        remote_host_kill(&remote, uids[2]);
        damage(i, 3);
        ck_assert_int_eq(unlink(file_of(2, "data")), 0);
        reopen();
        serve();
        assert_voters(2);
        ck_assert_int_eq(status.decided_blocks, 1);
        ck_assert_int_eq(read_value(3), 7);
        ck_assert_int_eq(read_value(4), 8);
        fill_again(2);
        assert_voters(3);
    }
}
END_TEST

START_TEST(no_remote_log_decides_with_a_spare_replica) {
    serve_all();
    kill_daemon();
    damage(2, 3);
    open_other(2);
    ck_assert_int_eq(start_other(), 0);
    become_other();
    target_status(target, &status);
    ck_assert_uint_eq(status.voters, 2);
    ck_assert_int_eq(status.decided_blocks, 0);
    ck_assert_int_lt(read_value(3), 0);
    ck_assert_int_eq(read_value(4), 8);
}
END_TEST

START_TEST(remote_replicas_have_each_write_of_a_local_one) {
    serve();
    assert_voters(3);
    write_some(100);
    read_all();
    stop();
    ck_assert_int_eq(remote_host_server(&remote, uids[1]), 0);
    for (unsigned i = 1; i < REPLICAS; i++)
        assert_equal(0, i);
    watch();
    ck_assert_int_eq(start(), 0);
    ck_assert(connect_checker());
    read_all();
    assert_voters(3);
}
END_TEST

START_TEST(a_replica_of_a_dead_host_is_evicted_and_rebuilt) {
    serve();
    write_some(50);
    checker_send(&checker, CHECKER_DEPTH);
    remote_host_kill(&remote, uids[1]);
    ck_assert(checker_wait(&checker));
    write_some(50);
    watch_until(2);
    write_some(50);
    fill_again(1);
    assert_voters(3);
    write_some(50);
    read_all();
    stop();
    assert_equal(0, 1);
}
END_TEST

/* It is silent and its connection stays: each request of the volume would wait for ever. */
START_TEST(an_unresponsive_host_is_disconnected) {
    pid_t server;

    bear_silence(SILENCE_MS);
    serve();
    write_some(50);
    server = remote_host_server(&remote, uids[1]);
    checker_send(&checker, CHECKER_DEPTH);
    kill(server, SIGSTOP);
    write_some(20);
    watch_until(2);
    write_some(50);
    kill(server, SIGCONT);
    write_some(50);
    fill_again(1);
    assert_voters(3);
    read_all();
    stop();
    assert_equal(0, 1);
}
END_TEST

/* Its clients may send no request but those that they wait for. */
START_TEST(an_unresponsive_host_is_detected_without_requests) {
    bear_silence(SILENCE_MS);
    serve();
    write_some(50);
    kill(remote_host_server(&remote, uids[1]), SIGSTOP);
    watch_until(2);
    write_some(20);
    read_all();
}
END_TEST

/* No agent watches: it has ended, or is stopped. */
START_TEST(an_unresponsive_host_is_disconnected_without_a_watch) {
    pid_t server;

    bear_silence(SILENCE_MS);
    serve();
    write_some(20);
    target_close(target);
    target = NULL;
    server = remote_host_server(&remote, uids[2]);
    kill(server, SIGSTOP);
    write_some(50);
    read_all();
    kill(server, SIGCONT);
    open_target();
    write_some(20);
    watch_until(2);
}
END_TEST

/* A host that is silent during the opening prevents no start. */
START_TEST(an_initially_unresponsive_host_is_excluded) {
    remote.mute = uids[2];
    bear_silence(SILENCE_MS);
    serve();
    assert_voters(2);
    write_some(50);
    remote.mute = NULL;
    fill_again(2);
    assert_voters(3);
}
END_TEST

START_TEST(an_unreachable_host_is_excluded) {
    settings.replicas[2].access = &dead.access;
    reopen();
    serve();
    assert_voters(2);
    write_some(50);
    remote.away = true;
    watch();
    watch();
    assert_voters(2); /* its data are still served */
    write_some(50);
    remote.away = false;
    stop();
    settings.replicas[2].access = &remote.access;
    reopen();
    serve();
    assert_voters(2);
    read_all();
    fill_again(2);
    read_all();
}
END_TEST

START_TEST(a_running_daemon_is_adopted_with_its_sessions) {
    serve();
    write_some(50);
    reopen();
    assert_voters(3);
    ck_assert_uint_eq(remote.opened, 2);
    write_some(50);
    settings.epoch = 2;
    reopen();
    target_status(target, &status);
    ck_assert_int_eq(status.state, TARGET_DOWN);
    checker_disconnect(&checker);
    serve();
    assert_voters(3);
    read_all();
}
END_TEST

/* The former owner is not notified, nor probed: its clients get no response for a write that the
 * next one does not have. */
START_TEST(the_next_target_fences_the_former_one) {
    uint64_t answered;

    serve();
    write_some(50);
    open_other(2);
    ck_assert_msg(start_other() == 0, "%s", why.message);
    answered = checker.answered;
    if (checker.fd >= 0)
        ck_assert(!checker_write(&checker, 20));
    ck_assert_uint_eq(checker.answered, answered);
    become_other();
    assert_voters(2);
    read_all();
    write_some(50);
    (void)target_watch(other, &why);
    ck_assert(!daemon_runs(first_run));
}
END_TEST

/* It returns with its own writes: those are discarded. */
START_TEST(writes_of_the_former_target_alone_are_discarded) {
    serve();
    write_some(50);
    open_other(2);
    ck_assert_int_eq(start_other(), 0);
    checker_write(&checker, 20);
    become_other();
    read_all();
    write_some(30);
    ck_assert_int_eq(target_watch(other, &why), -1);
    ck_assert_int_eq(target_start(other, &why), -1);
    ck_assert_int_eq(why.kind, ERROR_CONFLICT);
    dead.away = false;
    settings.replicas[0].access = &dead.access;
    fill_again(0);
    assert_voters(3);
    read_all();
    stop();
    assert_equal(0, 1);
}
END_TEST

/* The remaining two differ, and each may be the one that lacks an answered write. */
START_TEST(a_write_in_flight_at_a_hosts_death_is_not_guessed) {
    struct target_scrub scrub = { 0 };
    int outcome;

    serve();
    write_some(50);
    kill_daemon();
    damage_hole(1, 5);
    settings.silence_ms = 5 * SILENCE_MS; /* the dead one is awaited so long */
    open_other(2);
    ck_assert_msg(start_other() == 0, "%s", why.message);
    become_other();
    assert_voters(2);
    ck_assert(status.resynchronizing);
    do {
        outcome = target_scrub(target, &scrub, SIZE, &err);
        assert_done(outcome);
    } while (outcome > 0);
    ck_assert_int_eq(scrub.undecided, 1);
    ck_assert_int_eq(scrub.damaged, 0);
    target_status(target, &status);
    ck_assert(status.resynchronizing); /* no stop is clean as long as one is refused */
    read_all();
    stop();
}
END_TEST

START_TEST(one_session_of_two_is_not_enough_to_take_over) {
    serve();
    write_some(50);
    its = settings;
    open_other(2);
    target_close(other);
    its.replicas[2].access = &dead.access;
    ck_assert_int_eq(target_open(&its, &other, &why), 0);
    ck_assert_int_eq(start_other(), -1);
    ck_assert_int_eq(why.kind, ERROR_UNAVAILABLE);
    write_some(20);
    ck_assert_int_eq(replica_epoch(&settings.replicas[1], &err), 2);
    ck_assert_int_eq(replica_epoch(&settings.replicas[2], &err), 1);
}
END_TEST

static const char *certificates(const char *name) {
    static char paths[2][80];
    char *path = paths[strcmp(name, "ours") == 0];

    snprintf(path, sizeof(paths[0]), "%s/%s", top, name);
    ck_assert(mkdir(path, 0700) == 0 && make_certificates(path));
    return path;
}

START_TEST(both_sides_verify_their_certificates) {
    const char *ours = certificates("ours"), *theirs = certificates("theirs");

    remote.tls_directory = settings.tls_directory = ours;
    reopen();
    serve();
    assert_voters(3);
    write_some(50);
    stop();
    settings.tls_directory = theirs; /* one of them has a false name */
    reopen();
    ck_assert_int_eq(start(), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    settings.tls_directory = NULL;
    reopen();
    ck_assert_int_eq(start(), -1);
    settings.tls_directory = ours;
    reopen();
    serve();
    assert_voters(3);
    read_all();
    remote.tls_directory = NULL; /* nor is a peer without TLS served */
    remote_host_kill(&remote, uids[1]);
    write_some(20);
    watch_until(2);
    ck_assert_int_eq(target_rebuild(target, &settings.replicas[1], NULL, 0, &err), -1);
    assert_voters(2);
    write_some(20);
}
END_TEST

static struct target_scrub scrub_all(void) {
    struct target_scrub scrub = { 0 };
    int outcome;

    do {
        outcome = target_scrub(target, &scrub, SIZE / 7, &err);
        ck_assert_msg(outcome >= 0, "%s", err.message);
        checker_send(&checker, 4);
        watch();
        ck_assert(checker_wait(&checker));
    } while (outcome > 0);
    return scrub;
}

/* By sums of each host's disk: the bytes stay there. */
START_TEST(remote_replicas_are_compared_and_repaired) {
    struct target_scrub scrub;

    bear_silence(SILENCE_MS);
    serve();
    write_some(100);
    scrub = scrub_all();
    ck_assert_int_eq(scrub.at_bytes, SIZE);
    ck_assert_int_eq(scrub.damaged + scrub.undecided, 0);
    damage_hole(2, 5);
    damage_hole(0, 9);
    scrub = scrub_all();
    ck_assert_int_eq(scrub.damaged, 2);
    ck_assert_int_eq(scrub.undecided, 0);
    watch();
    ck_assert_int_eq(status.replicas[0].mismatches, 1);
    ck_assert_int_eq(status.replicas[1].mismatches, 0);
    ck_assert_int_eq(status.replicas[2].mismatches, 1);
    assert_done(target_repair(target, uids[2], 0, &err));
    do {
        checker_send(&checker, 8);
        watch();
        ck_assert(checker_wait(&checker));
    } while (status.job == TARGET_REPAIR);
    ck_assert_msg(status.job == TARGET_REPAIRED, "%s", status.job_error.message);
    scrub = scrub_all();
    ck_assert_int_eq(scrub.damaged, 1);
    reopen(); /* the next owner does not know the session's name */
    ck_assert_int_eq(target_repair(target, uids[2], 0, &err), -1);
    target_status(target, &status);
    ck_assert_int_eq(status.job, TARGET_REPAIR_FAILED);
    assert_voters(3);
    remote.away = true;
    scrub = (struct target_scrub){ 0 };
    ck_assert_int_eq(target_scrub(target, &scrub, SIZE, &err), -1);
    ck_assert_int_eq(scrub.at_bytes, 0);
}
END_TEST

/* As long as a relay waits for it, and where that is too long it is stale. */
START_TEST(a_delayed_replica_is_not_damaged) {
    struct target_scrub scrub = { 0 };
    pid_t lagging, waker;

    bear_silence(10 * SILENCE_MS);
    serve();
    write_some(100);
    lagging = remote_host_server(&remote, uids[2]);
    ck_assert_int_eq(kill(lagging, SIGSTOP), 0);
    checker_send(&checker, 4);
    waker = fork();
    if (waker == 0) {
        poll(NULL, 0, SILENCE_MS / 2);
        kill(lagging, SIGCONT);
        _exit(0);
    }
    while (target_scrub(target, &scrub, SIZE, &err) > 0)
        ;
    ck_assert_int_eq(scrub.at_bytes, SIZE);
    ck_assert_int_eq(scrub.damaged + scrub.undecided, 0);
    ck_assert_int_eq(waitpid(waker, NULL, 0), waker);
    ck_assert(checker_wait(&checker));
    watch();
    ck_assert_int_eq(status.replicas[2].mismatches, 0);
}
END_TEST

/* The two others are lost: a local owner in an earlier epoch has no part in it. */
START_TEST(a_remote_replica_is_recovered_from_in_its_epoch) {
    char lost[2][80];

    serve();
    write_some(100);
    stop();
    for (unsigned i = 0; i < 2; i++) {
        snprintf(lost[i], sizeof(lost[i]), "%.64s.lost", pools[2 * i]);
        ck_assert_int_eq(rename(pools[2 * i], lost[i]), 0);
    }
    ck_assert_int_eq(start(), -1);
    target_status(target, &status);
    ck_assert_int_eq(status.finding, TARGET_LACKS_QUORUM);

    settings.recovery = 1;
    settings.recover_from = uids[1];
    settings.epoch = 3;
    reopen();
    serve();
    assert_voters(1);
    read_all();
    write_some(20);
    stop();
    settings.epoch = 2;
    reopen();
    ck_assert_int_eq(start(), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);

    ck_assert_int_eq(rename(lost[0], pools[0]), 0);
    settings.epoch = 4;
    reopen();
    serve();
    assert_voters(1);
    read_all();
    stop();
}
END_TEST

START_TEST(a_snapshot_needs_local_replicas) {
    serve();
    write_some(20);
    ck_assert_int_eq(target_snapshot(target, VOLUME, 0, &err), -1);
    watch();
    assert_voters(3);
    write_some(20);
    read_all();
}
END_TEST

START_TEST(a_volume_with_remote_replicas_grows_and_replaces_them) {
    struct replica all[2] = { settings.replicas[0], settings.replicas[1] };

    serve();
    write_some(20);
    checker_disconnect(&checker);
    assert_done(target_resize(target, SIZE * 2, &err));
    ck_assert(connect_checker());
    read_all();
    while (target_scale(target, all, 2, 0, &err) > 0)
        watch();
    assert_voters(2);
    ck_assert_int_eq(remote_host_server(&remote, uids[2]), 0);
}
END_TEST

CHECK_MAIN_WITH(
    "target remote", adopt_daemons(), begin_remote, end_remote,
    a_local_log_decides_about_a_remote_replica, a_remote_log_does_not_decide_beside_a_local_replica,
    remote_logs_decide_without_a_local_replica,
    a_host_that_hangs_during_decisions_prevents_no_start, hosts_without_logs_decide_no_block,
    a_clean_stop_ends_remote_logs, with_a_spare_replica_only_local_ones_have_logs,
    a_local_log_decides_when_a_spare_host_is_lost, no_remote_log_decides_with_a_spare_replica,
    remote_replicas_have_each_write_of_a_local_one, a_replica_of_a_dead_host_is_evicted_and_rebuilt,
    an_unresponsive_host_is_disconnected, an_unresponsive_host_is_detected_without_requests,
    an_unresponsive_host_is_disconnected_without_a_watch,
    an_initially_unresponsive_host_is_excluded, an_unreachable_host_is_excluded,
    a_running_daemon_is_adopted_with_its_sessions, the_next_target_fences_the_former_one,
    writes_of_the_former_target_alone_are_discarded,
    a_write_in_flight_at_a_hosts_death_is_not_guessed,
    one_session_of_two_is_not_enough_to_take_over, both_sides_verify_their_certificates,
    remote_replicas_are_compared_and_repaired, a_delayed_replica_is_not_damaged,
    a_remote_replica_is_recovered_from_in_its_epoch, a_snapshot_needs_local_replicas,
    a_volume_with_remote_replicas_grows_and_replaces_them)
