#include "tests/unit/replication/engine/target_test.h"

static struct replica all[LENGTH(uids)];

/* Scales to these replicas and no others, while the checker writes; how often it had to reconnect.
 */
static unsigned scale_to(const char *assignment) {
    struct replica assigned[LENGTH(uids)];
    unsigned count = 0, gone = 0;
    int outcome = 1;

    for (; assignment[count]; count++)
        assigned[count] = all[assignment[count] - 'a'];
    while (outcome > 0) {
        watch();
        if (status.state == TARGET_SERVING && checker.fd < 0) {
            ck_assert(connect_checker());
            gone++;
        }
        if (status.state == TARGET_SERVING)
            outcome = target_scale(target, assigned, count, 0, &err);
        checker_send(&checker, 4);
        checker_wait(&checker);
    }
    ck_assert_msg(outcome == 0, "%s", err.message);
    watch();
    ck_assert_uint_eq(status.voters, count);
    ck_assert_uint_eq(status.wanted, count);
    if (checker.fd < 0) {
        ck_assert(connect_checker());
        gone++;
    }
    write_some(10);
    read_all();
    return gone;
}

static void begin_with(unsigned count) {
    begin();
    for (unsigned i = 0; i < LENGTH(uids); i++)
        all[i] = (struct replica){ .pool = pools[i], .uid = uids[i] };
    if (count == REPLICAS)
        return;
    target_close(target);
    settings.count = count;
    settings.volume = "00000000-0000-4000-8000-00000000f001";
    for (unsigned i = 0; i < REPLICAS; i++)
        nftw(file_of(i, ""), remove_one, 8, FTW_DEPTH | FTW_PHYS);
    open_target();
    assert_done(target_create(target, &err));
}

static void begin_three(void) {
    begin_with(REPLICAS);
}

START_TEST(one_becomes_three_and_one_again) {
    end();
    begin_with(1);
    serve();
    write_some(100);
    ck_assert_uint_eq(scale_to("abc"), 1); /* between one and two, and no more */
    stop();
    assert_equal(0, 1);
    assert_equal(0, 2);
    serve();
    ck_assert_uint_eq(scale_to("c"), 1);
    stop();
    settings.replicas[0] = all[2];
    target_close(target);
    open_target();
    serve();
    read_all();
    assert_voters(1);
}
END_TEST

START_TEST(a_single_replica_is_replaced) {
    end();
    begin_with(1);
    serve();
    write_some(100);
    ck_assert_uint_ge(scale_to("b"), 1); /* there are two meanwhile */
}
END_TEST

START_TEST(three_become_five_and_two) {
    serve();
    write_some(100);
    ck_assert_uint_eq(scale_to("abcde"), 1);
    stop();
    for (unsigned i = 1; i < 5; i++)
        assert_equal(0, i);
    serve();
    ck_assert_uint_eq(scale_to("be"), 1);
    stop();
    assert_equal(1, 4);
}
END_TEST

/* The path of the data leads to another file, as after a restore. */
static void exchange_file(unsigned i) {
    char other[512];

    snprintf(other, sizeof(other), "%s", file_of(i, "other"));
    ck_assert_int_eq(close(open(other, O_WRONLY | O_CREAT, 0600)), 0);
    ck_assert_int_eq(truncate(other, MAXIMUM), 0);
    ck_assert_int_eq(rename(other, file_of(i, "data")), 0);
}

START_TEST(a_replica_with_a_replaced_file_does_not_join) {
    serve();
    write_some(100);
    ck_assert_int_eq(target_scale(target, all, 4, 32 << 20, &err), 1);
    watch();
    ck_assert_int_eq(status.job, TARGET_REBUILD);
    exchange_file(3);
    await_job();
    ck_assert_int_eq(status.job, TARGET_REBUILD_FAILED);
    assert_voters(REPLICAS);
    read_all(); /* and no client had to reconnect */
    ck_assert_uint_eq(scale_to("abcd"), 1);
    stop();
    assert_equal(0, 3);
}
END_TEST

/* The daemon restarts for it, with another threshold. */
START_TEST(one_joins_while_the_others_are_resynchronized) {
    serve();
    write_some(100);
    checker_send(&checker, 10);
    kill_daemon();
    checker_wait(&checker);
    watch();
    ck_assert_int_eq(start(), 1);
    damage(1, 5);
    ck_assert_int_eq(target_scale(target, all, 4, 0, &err), 1);
    do {
        watch();
    } while (status.job == TARGET_REBUILD && status.state != TARGET_DOWN);
    ck_assert_msg(status.job == TARGET_REBUILT, "%s; %s", status.job_error.message, err.message);
    assert_voters(4);
    ck_assert(status.resynchronizing);
    ck_assert(connect_checker());
    read_all();
    ck_assert_int_eq(target_scale(target, all, 3, 0, &err), -1); /* each vote may be needed */
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert(resynchronize());
    stop();
    assert_equal(0, 1);
    assert_equal(0, 3);
}
END_TEST

START_TEST(one_leaves_as_another_joins) {
    serve();
    write_some(100);
    ck_assert_uint_eq(scale_to("abd"), 0);
    ck_assert_uint_eq(status.count, 3);
    stop();
    assert_equal(0, 3);
}
END_TEST

START_TEST(a_lost_replica_is_removed_from_the_number) {
    serve();
    write_some(50);
    ck_assert_int_eq(unlink(file_of(2, "data")), 0);
    watch();
    assert_voters(2);
    ck_assert_uint_eq(scale_to("ab"), 0);
    ck_assert_int_eq(unlink(file_of(1, "data")), 0);
    watch(); /* the other one is needed: fewer than the quorum take no writes */
    ck_assert_int_eq(status.state, TARGET_DOWN);
    ck_assert_int_eq(start(), -1);
}
END_TEST

START_TEST(an_interrupted_change_is_continued_by_the_next_owner) {
    serve();
    write_some(96);
    ck_assert_int_eq(target_scale(target, all, 4, 1, &err), 1);
    watch();
    ck_assert_int_eq(status.job, TARGET_REBUILD);
    target_close(target);
    settings.count = 4;
    settings.replicas[3] = all[3];
    open_target();
    assert_voters(3);
    ck_assert_uint_eq(status.wanted, 3);
    ck_assert_uint_eq(scale_to("abcd"), 1);
    kill_daemon();
    checker_disconnect(&checker);
    watch();
    ck_assert_int_eq(start(), 1);
    assert_voters(4);
    ck_assert(connect_checker());
    read_all();
}
END_TEST

START_TEST(none_and_too_many_replicas_are_refused) {
    struct replica many[REPLICAS_MOST + 1] = { all[0] };

    ck_assert_int_eq(target_scale(target, all, 3, 0, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT); /* it is not served */
    serve();
    ck_assert_int_eq(target_scale(target, all, 0, 0, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    ck_assert_int_eq(target_scale(target, many, LENGTH(many), 0, &err), -1);
    ck_assert_int_eq(target_scale(target, all, 3, 0, &err), 0);
}
END_TEST

/* As when its host was taken for dead: its states are old, and it writes none of them. */
START_TEST(a_former_owner_changes_no_replica) {
    struct target_settings elsewhere = settings;
    struct target *first;
    char place[64];

    serve();
    write_some(20);
    kill_daemon();
    checker_disconnect(&checker);
    first = target;
    snprintf(place, sizeof(place), "%s/other", top);
    elsewhere.run = place;
    assert_done(target_open(&elsewhere, &target, &err));
    strcpy(run, place);
    serve();
    write_some(20);
    ck_assert_int_eq(target_evict(first, uids[0], &err), -1);
    ck_assert_int_eq(target_scale(first, all, 2, 0, &err), -1);
    ck_assert_msg(strstr(err.message, "taken over") != NULL, "%s", err.message);
    assert_done(target_stop(first, &err));
    ck_assert_int_eq(target_start(first, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    target_close(first);

    write_some(20);
    read_all();
    ck_assert(resynchronize());
    stop();
    start_clean();
    assert_voters(3);
}
END_TEST

CHECK_MAIN_WITH("target scale", adopt_daemons(), begin_three, end, one_becomes_three_and_one_again,
                a_single_replica_is_replaced, three_become_five_and_two,
                one_joins_while_the_others_are_resynchronized,
                a_replica_with_a_replaced_file_does_not_join, one_leaves_as_another_joins,
                a_lost_replica_is_removed_from_the_number,
                an_interrupted_change_is_continued_by_the_next_owner,
                none_and_too_many_replicas_are_refused, a_former_owner_changes_no_replica)
