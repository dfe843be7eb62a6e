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
    for (unsigned i = 0; i < count; i++)
        settings.replicas[i] = all[i];
    open_target();
    create_replicas();
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
    char other[1024];

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

/* A new one that misses a write while it joins can be left out then. */
START_TEST(a_replica_of_two_is_replaced_beside_both) {
    const struct replica kept[] = { all[0], all[2] };

    end();
    begin_with(2);
    serve();
    write_some(50);
    ck_assert_int_eq(target_scale(target, kept, 2, 0, &err), 1);
    await_job();
    ck_assert_msg(status.job == TARGET_REBUILT, "%s", status.job_error.message);
    assert_voters(3);
    ck_assert_uint_eq(scale_to("ac"), 0);
    ck_assert_uint_eq(status.count, 2);
    stop();
    assert_equal(0, 2);
}
END_TEST

/* It stays, and the new one joins beside it in the place of the evicted one. */
START_TEST(a_replica_that_became_needed_is_not_replaced_in_one_step) {
    serve();
    write_some(50);
    assert_done(target_rebuild(target, &all[3], uids[0], 0, &err));
    assert_done(target_evict(target, uids[2], &err));
    await_job();
    ck_assert_msg(status.job == TARGET_REBUILT, "%s", status.job_error.message);
    assert_voters(3);
    ck_assert(status.replicas[0].votes && status.replicas[1].votes && status.replicas[3].votes);
    write_some(50);
    ck_assert_uint_eq(scale_to("abd"), 0);
    stop();
    assert_equal(0, 3);
}
END_TEST

/* ---- seven replicas, and one more while one of them is replaced ---- */

#define WITHOUT_G "abcdef"

static unsigned assign(const char *letters, struct replica *ret) {
    unsigned count = 0;

    for (; letters[count]; count++)
        ret[count] = all[letters[count] - 'a'];
    return count;
}

static void serve_seven(void) {
    end();
    begin_with(REPLICAS_MOST);
    serve();
    write_some(50);
}

/* The eighth is being rebuilt, and no call advances that. */
static void begin_eighth(void) {
    struct replica assigned[REPLICAS_MOST];

    ck_assert_int_eq(target_scale(target, assigned, assign(WITHOUT_G "h", assigned), 1, &err), 1);
    watch();
    ck_assert_int_eq(status.job, TARGET_REBUILD);
}

static void assert_eight(void) {
    ck_assert_uint_eq(status.count, MEMBERS_MOST);
    for (unsigned i = 0; i < MEMBERS_MOST; i++) {
        ck_assert_str_eq(status.replicas[i].replica.uid, uids[i]);
        ck_assert_int_eq(status.replicas[i].votes, i < REPLICAS_MOST);
    }
}

START_TEST(the_status_has_the_eighth_replica_while_one_of_seven_is_replaced) {
    serve_seven();
    begin_eighth();
    assert_eight();
    ck_assert_str_eq(status.job_replica, uids[7]);
    ck_assert_uint_eq(status.voters, REPLICAS_MOST);
    ck_assert_uint_eq(status.wanted, REPLICAS_MOST);
    ck_assert_int_eq(target_rebuild_stop(target, &err), 0);
    await_job();
    assert_eight();
    ck_assert_uint_eq(scale_to(WITHOUT_G "h"), 0);
    ck_assert_uint_eq(status.count, REPLICAS_MOST);
    stop();
    assert_equal(0, 7);
}
END_TEST

/* Their votes, their logs and their differences are those of seven. */
START_TEST(eight_replicas_are_started_and_resynchronized_after_a_kill) {
    struct target_scrub scrub = { 0 };

    serve_seven();
    begin_eighth();
    ck_assert_int_ge(target_scrub(target, &scrub, SIZE, &err), 0);
    checker_send(&checker, 10);
    kill_daemon();
    checker_wait(&checker);
    watch();
    ck_assert_int_eq(start(), 1);
    assert_eight();
    ck_assert(connect_checker());
    read_all();
    ck_assert(resynchronize());
    ck_assert_uint_eq(scale_to(WITHOUT_G "h"), 0);
}
END_TEST

/* The volume's owner restarts while it lists all of them. */
START_TEST(a_target_is_opened_with_the_replaced_replica_and_the_new_one) {
    serve_seven();
    begin_eighth();
    target_close(target);
    settings.count = assign("abcdefgh", settings.replicas);
    open_target();
    watch();
    assert_eight();
    ck_assert_uint_eq(scale_to(WITHOUT_G "h"), 0);
    settings.count = MEMBERS_MOST + 1;
    ck_assert_int_eq(target_open(&settings, &(struct target *){ NULL }, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    settings.count = REPLICAS_MOST;
}
END_TEST

/* The one that cannot be rebuilt makes way for it. */
START_TEST(another_replica_joins_after_one_that_failed_to_join) {
    struct replica assigned[REPLICAS_MOST];

    serve_seven();
    ck_assert_int_eq(rmdir(pools[7]), 0);
    ck_assert_int_eq(target_scale(target, assigned, assign(WITHOUT_G "h", assigned), 0, &err), -1);
    target_status(target, &status);
    ck_assert_int_eq(status.job, TARGET_REBUILD_FAILED);
    assert_eight();
    ck_assert_uint_eq(scale_to(WITHOUT_G "i"), 0);
    ck_assert_uint_eq(status.count, REPLICAS_MOST);
    ck_assert_int_eq(mkdir(pools[7], 0700), 0);
    ck_assert_uint_eq(scale_to(WITHOUT_G "h"), 0); /* and it may join later */
    stop();
    assert_equal(0, 7);
}
END_TEST

/* The generation has a place for it, and the target has none. */
START_TEST(another_replica_joins_beside_one_that_failed_to_join) {
    serve_seven();
    assert_done(target_evict(target, uids[6], &err));
    ck_assert_int_eq(rmdir(pools[7]), 0);
    ck_assert_int_eq(target_rebuild(target, &all[7], NULL, 0, &err), -1);
    target_status(target, &status);
    ck_assert_uint_eq(status.count, MEMBERS_MOST);
    assert_done(target_rebuild(target, &all[8], NULL, 0, &err));
    await_job();
    ck_assert_msg(status.job == TARGET_REBUILT, "%s", status.job_error.message);
    assert_voters(REPLICAS_MOST);
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

/* The pool of one that stays takes no state meanwhile. */
START_TEST(an_interrupted_removal_of_two_leaves_a_quorum) {
    end();
    begin_with(4);
    serve();
    assert_done(target_evict(target, uids[3], &err));
    write_some(20);
    ck_assert_int_eq(unlink(file_of(2, "state.new")), 0);
    ck_assert_int_eq(mkdir(file_of(2, "state.new"), 0700), 0);
    (void)target_scale(target, (struct replica[]){ all[1], all[2] }, 2, 0, &err);
    kill_daemon();
    checker_disconnect(&checker);
    watch();
    ck_assert_int_eq(rmdir(file_of(2, "state.new")), 0);
    serve();
    read_all();
    while (!resynchronize())
        ;
    (void)scale_to("bc");
}
END_TEST

/* Two pools take no state meanwhile, so that the removed one stays in the quorum. */
START_TEST(a_stop_for_too_few_replicas_has_a_reason) {
    end();
    begin_with(4);
    serve();
    for (unsigned i = 1; i <= 2; i++) {
        ck_assert_int_eq(unlink(file_of(i, "state.new")), 0);
        ck_assert_int_eq(mkdir(file_of(i, "state.new"), 0700), 0);
    }
    ck_assert_int_eq(target_scale(target, &all[1], 3, 0, &err), -1);
    ck_assert_int_eq(unlink(file_of(3, "data")), 0);
    ck_assert_int_eq(unlink(file_of(2, "data")), 0);
    watch();
    ck_assert_int_eq(status.state, TARGET_DOWN);
    ck_assert_msg(strstr(err.message, "the generation does not name it"), "%s", err.message);
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

START_TEST(a_newer_generation_of_another_owner_is_not_overwritten) {
    serve();
    watch();
    for (unsigned i = 0; i < 2; i++) {
        struct replica_state state = status.replicas[i].probe.state;

        state.generation.id.number += 7;
        assert_done(replica_write_state(&all[i], &state, &err));
    }
    ck_assert_int_eq(target_scale(target, all, 2, 0, &err), -1);
    ck_assert_msg(strstr(err.message, "taken over") != NULL, "%s", err.message);
    watch();
    ck_assert_int_eq(status.state, TARGET_DOWN);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    for (unsigned i = 0; i < 2; i++)
        ck_assert_int_eq(status.replicas[i].probe.state.generation.id.number,
                         status.replicas[2].probe.state.generation.id.number + 7);
}
END_TEST

/* Another one is missing, so the number of replicas cannot be changed. */
START_TEST(a_replica_without_a_vote_is_released_while_another_is_missing) {
    serve();
    write_some(20);
    ck_assert_int_eq(target_release(target, uids[1], &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    assert_voters(3);
    assert_done(target_evict(target, uids[1], &err));
    ck_assert_int_eq(target_release(target, uids[0], &err), -1);
    watch();
    ck_assert_uint_eq(status.count, 3);
    assert_done(target_release(target, uids[1], &err));
    assert_done(target_release(target, uids[1], &err));
    watch();
    ck_assert_uint_eq(status.count, 2);
    ck_assert_uint_eq(status.voters, 2);
    ck_assert_uint_eq(status.wanted, 3);
    write_some(20);
    read_all();
    rebuild(1);
    assert_voters(3);
}
END_TEST

CHECK_MAIN_WITH("target scale", adopt_daemons(), begin_three, end, one_becomes_three_and_one_again,
                a_single_replica_is_replaced, three_become_five_and_two,
                one_joins_while_the_others_are_resynchronized,
                a_replica_with_a_replaced_file_does_not_join, one_leaves_as_another_joins,
                a_replica_of_two_is_replaced_beside_both,
                a_replica_that_became_needed_is_not_replaced_in_one_step,
                the_status_has_the_eighth_replica_while_one_of_seven_is_replaced,
                eight_replicas_are_started_and_resynchronized_after_a_kill,
                a_target_is_opened_with_the_replaced_replica_and_the_new_one,
                another_replica_joins_after_one_that_failed_to_join,
                another_replica_joins_beside_one_that_failed_to_join,
                a_lost_replica_is_removed_from_the_number,
                an_interrupted_change_is_continued_by_the_next_owner,
                an_interrupted_removal_of_two_leaves_a_quorum,
                a_stop_for_too_few_replicas_has_a_reason, none_and_too_many_replicas_are_refused,
                a_former_owner_changes_no_replica,
                a_newer_generation_of_another_owner_is_not_overwritten,
                a_replica_without_a_vote_is_released_while_another_is_missing)
