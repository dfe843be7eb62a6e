#include "declared/progress.h"

#include "common/clock.h"
#include "tests/lib/declared.h"

#define NOW   (INT64_C(1767225600) * SECOND_US) /* 2026-01-01T00:00:00Z */
#define MIB   ((int64_t)1 << 20)
#define TOTAL (1000 * MIB)

static const json_t *rebuilt(struct arena *arena, const json_t *before, int64_t done_mib,
                             int64_t at_s) {
    json_t *status =
        json_keep(arena, json_pack("{s:[{s:s, s:s, s:I, s:I}]}", "replicaStatuses", "replicaId",
                                   "r", "mode", "Rebuilding", "doneBytes",
                                   (json_int_t)(done_mib * MIB), "totalBytes", (json_int_t)TOTAL));

    return progress_of(arena, before, status, NOW + at_s * SECOND_US);
}

static int64_t number_at(const json_t *list, const char *key) {
    const json_t *number = json_object_get(json_array_get(list, 0), key);

    return number ? json_integer_value(number) : -1;
}

START_TEST(percent_rate_and_remaining_time_follow_from_reports) {
    autoarena struct arena *arena = arena_new();
    const json_t *now = rebuilt(arena, NULL, 100, 0);

    ck_assert_str_eq(json_text_of(json_array_get(now, 0), "operation"), "Rebuild");
    ck_assert_int_eq(number_at(now, "percent"), 10);
    ck_assert_int_eq(number_at(now, "bytesPerSecond"), -1); /* not known yet */
    now = rebuilt(arena, now, 300, 4);
    ck_assert_int_eq(number_at(now, "percent"), 30);
    ck_assert_int_eq(number_at(now, "bytesPerSecond"), 50 * MIB);
    ck_assert_int_eq(number_at(now, "remainingSeconds"), 14);
    now = rebuilt(arena, now, 600, 10);
    ck_assert_int_eq(number_at(now, "bytesPerSecond"), 50 * MIB);
    ck_assert_int_eq(number_at(now, "remainingSeconds"), 8);
    now = rebuilt(arena, now, 1000, 18);
    ck_assert_int_eq(number_at(now, "percent"), 100);
    ck_assert_int_eq(number_at(now, "remainingSeconds"), 0);
}
END_TEST

START_TEST(an_operation_that_begins_anew_is_measured_anew) {
    autoarena struct arena *arena = arena_new();
    const json_t *now = rebuilt(arena, rebuilt(arena, NULL, 500, 0), 20, 10);

    ck_assert_int_eq(number_at(now, "percent"), 2);
    ck_assert_int_eq(number_at(now, "bytesPerSecond"), -1);
    ck_assert_int_eq(number_at(now, "startedBytes"), 20 * MIB);
}
END_TEST

START_TEST(a_clock_that_steps_makes_no_rate) {
    autoarena struct arena *arena = arena_new();
    const json_t *now = rebuilt(arena, rebuilt(arena, NULL, 100, 0), 200, -3600);

    ck_assert_int_eq(number_at(now, "percent"), 20);
    ck_assert_int_eq(number_at(now, "bytesPerSecond"), -1);
}
END_TEST

START_TEST(idle_or_invalid_operations_have_no_progress) {
    autoarena struct arena *arena = arena_new();
    struct error err = { 0 };
    const char *const none[] = {
        "{}",
        "{\"scrub\":{\"undecidedBlocks\":0,\"finishedAt\":\"2026-01-01T00:00:00Z\"}}",
        "{\"scrub\":{\"doneBytes\":9,\"totalBytes\":8}}",
        "{\"scrub\":{\"doneBytes\":-1,\"totalBytes\":8}}",
        "{\"revert\":{\"doneBytes\":1,\"totalBytes\":9223372036854775807}}",
    };

    for (size_t i = 0; i < LENGTH(none); i++)
        ck_assert_ptr_null(
            progress_of(arena, NULL, json_parse(arena, none[i], strlen(none[i]), &err), NOW));
}
END_TEST

/* As its node reports it, and gone with it: at the volume and at its config. */
WORK_TEST(the_progress_of_a_rebuild_is_shown_while_it_runs) {
    struct document *replicas = NULL, volume;
    const char *id;

    (void)err;
    put_pools(work, 3);
    id = declare(work, &kind_volume_config, DECLARED("db", "1Gi", 2, ""));
    settle(work, id);
    report_made(work, id);
    settle(work, id);
    ck_assert_int_eq(edit(work, id, "{\"publish\":{\"nodeId\":\"host-a\"}}", err), 0);
    settle(work, id);
    volume = volume_of(work, id);
    replicas_of(work, id, &replicas);
    report(
        work, &volume,
        arena_format(work->arena,
                     "{\"phase\":\"Degraded\",\"capacity\":\"1Gi\",\"target\":{\"nodeId\":"
                     "\"host-a\",\"state\":\"Serving\"},\"replicaStatuses\":[{\"replicaId\":\"%s\","
                     "\"mode\":\"Healthy\"},{\"replicaId\":\"%s\",\"mode\":\"Rebuilding\","
                     "\"doneBytes\":256,\"totalBytes\":1024}]}",
                     replicas[0].id, replicas[1].id));
    settle(work, id);
    ck_assert_ptr_nonnull(strstr(volume_at(work, id, "status.progress"), "\"percent\":25"));
    ck_assert_str_eq(config_at(work, id, "status.progress"),
                     volume_at(work, id, "status.progress"));
    report_served(work, id, -1, NULL);
    settle(work, id);
    ck_assert_str_eq(volume_at(work, id, "status.progress"), "null");
    ck_assert_str_eq(config_at(work, id, "status.progress"), "null");
}

static const json_t *copied(struct arena *arena, const json_t *before, bool clone, int64_t done_mib,
                            int64_t at_s) {
    json_t *status =
        json_keep(arena, json_pack("{s:{s:s, s:b, s:I, s:I}}", "copying", "snapshotId", "s",
                                   "clone", clone, "doneBytes", (json_int_t)(done_mib * MIB),
                                   "totalBytes", (json_int_t)TOTAL));

    return progress_of_replica(arena, before, "r", status, NOW + at_s * SECOND_US);
}

START_TEST(a_copy_to_a_replica_has_percent_rate_and_remaining_time) {
    autoarena struct arena *arena = arena_new();
    const json_t *now = copied(arena, copied(arena, NULL, false, 100, 0), false, 300, 4);

    ck_assert_str_eq(json_text_of(json_array_get(now, 0), "operation"), "SnapshotCopy");
    ck_assert_str_eq(json_text_of(json_array_get(now, 0), "replicaId"), "r");
    ck_assert_int_eq(number_at(now, "percent"), 30);
    ck_assert_int_eq(number_at(now, "bytesPerSecond"), 50 * MIB);
    ck_assert_int_eq(number_at(now, "remainingSeconds"), 14);
    now = copied(arena, now, true, 400, 5);
    ck_assert_str_eq(json_text_of(json_array_get(now, 0), "operation"), "Clone");
    ck_assert_int_eq(number_at(now, "bytesPerSecond"), -1); /* another operation */
    ck_assert_ptr_null(progress_of_replica(arena, now, "r", json_keep(arena, json_object()), NOW));
}
END_TEST

/* As the agents of both replicas report, of which one is not published anywhere. */
WORK_TEST(the_progress_of_copies_to_replicas_is_shown_by_replica_and_config_while_they_run) {
    struct document *replicas = NULL;
    const char *id;

    (void)err;
    put_pools(work, 2);
    id = declare(work, &kind_volume_config, DECLARED("copied", "1Gi", 2, ""));
    settle(work, id);
    report_made(work, id);
    settle(work, id);
    ck_assert_uint_eq(replicas_of(work, id, &replicas), 2);
    for (unsigned i = 0; i < 2; i++)
        report(work, &replicas[i],
               "{\"phase\":\"Healthy\",\"copying\":{\"snapshotId\":\"s\",\"clone\":false,"
               "\"doneBytes\":25,\"totalBytes\":100}}");
    settle(work, id);
    replicas_of(work, id, &replicas);
    ck_assert_int_eq(number_at(json_object_get(replicas[0].status, "progress"), "percent"), 25);
    ck_assert_uint_eq(json_array_size(json_object_get(config_of(work, id).status, "progress")), 2);
    sql(work, "UPDATE replica_pools SET seen_at = 1 WHERE name = 'pool-b'");
    settle(work, id);
    ck_assert_uint_eq(json_array_size(json_object_get(config_of(work, id).status, "progress")), 1);
    report(work, &replicas[0], "{\"phase\":\"Healthy\"}");
    settle(work, id);
    ck_assert_str_eq(config_at(work, id, "status.progress"), "null");
    replicas_of(work, id, &replicas);
    ck_assert_ptr_null(json_object_get(replicas[0].status, "progress"));
}

CHECK_MAIN("progress", percent_rate_and_remaining_time_follow_from_reports,
           an_operation_that_begins_anew_is_measured_anew, a_clock_that_steps_makes_no_rate,
           idle_or_invalid_operations_have_no_progress,
           the_progress_of_a_rebuild_is_shown_while_it_runs,
           a_copy_to_a_replica_has_percent_rate_and_remaining_time,
           the_progress_of_copies_to_replicas_is_shown_by_replica_and_config_while_they_run)
