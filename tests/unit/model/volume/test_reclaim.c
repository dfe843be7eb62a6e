#include "model/volume/reclaim.h"

#include "common/cleanup.h"
#include "tests/lib/memory_guests.h"
#include "tests/lib/snapshots.h"
#include "tests/lib/work_test.h"

#include <string.h>

#define RECLAIM "{\"os-reclaim_space\": {}}"
#define MIB     (INT64_C(1) << 20)

static const json_t *last(struct world *world, const char *id) {
    ck_assert_int_eq(
        world_call(world, "GET", arena_format(world->arena, "/volumes/%s/reclaim_space", id), NULL),
        200);
    return json_object_get(world->answer, "reclaim_space");
}

static const char *text(struct world *world, const char *id, const char *key) {
    const char *value = json_string_value(json_object_get(last(world, id), key));

    return value ? arena_text(world->arena, value) : "null";
}

static int64_t number(struct world *world, const char *id, const char *key) {
    const json_t *value = json_object_get(last(world, id), key);

    return json_is_integer(value) ? json_integer_value(value) : -1;
}

/* A volume with unused space. */
static const char *wasteful(struct world *world) {
    const char *id = world_volume(world, 2);

    ck_assert(memory_write(world->memory, id, 7));
    ck_assert(memory_waste(world->memory, id, 8 * MIB));
    return id;
}

static void assert_whole(struct world *world, const char *id) {
    ck_assert_str_eq(world_status(world, id), "available");
    ck_assert_int_eq(memory_read(world->memory, id), 7);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    ck_assert_int_eq(world_check(world), 0);
}

START_TEST(space_is_reclaimed_and_reported) {
    autoworld struct world *world = world_new(NULL);
    const char *id = wasteful(world);

    ck_assert_str_eq(text(world, id, "status"), "none");
    ck_assert_int_eq(world_action(world, id, RECLAIM), 202);
    ck_assert_str_eq(world_status(world, id), "reclaiming");
    ck_assert_str_eq(text(world, id, "status"), "running");
    ck_assert_str_eq(text(world, id, "finished_at"), "null");
    world_settle(world);
    ck_assert_str_eq(text(world, id, "status"), "done");
    ck_assert_int_eq(number(world, id, "pre_usage"), 7 + 8 * MIB);
    ck_assert_int_eq(number(world, id, "post_usage"), 7);
    ck_assert_int_eq(number(world, id, "progress"), 100);
    ck_assert_str_ne(text(world, id, "finished_at"), "null");
    assert_whole(world, id);
    ck_assert_int_eq(world_action(world, id, "{\"os-reclaim_space\": null}"), 202);
    world_settle(world);
    ck_assert_int_eq(number(world, id, "pre_usage"), 7);
    assert_whole(world, id);
}
END_TEST

START_TEST(only_an_empty_body_is_taken) {
    autoworld struct world *world = world_new(NULL);
    static const char *const bodies[] = { "{\"os-reclaim_space\": {\"force\": true}}",
                                          "{\"os-reclaim_space\": []}",
                                          "{\"os-reclaim_space\": \"\"}",
                                          "{\"os-reclaim_space\": {}, \"more\": {}}" };
    const char *id = wasteful(world);

    for (size_t i = 0; i < LENGTH(bodies); i++)
        ck_assert_int_eq(world_action(world, id, "%s", bodies[i]), 400);
    ck_assert_str_eq(text(world, id, "status"), "none");
    assert_whole(world, id);
}
END_TEST

START_TEST(the_second_of_two_reclaims_is_refused_for_now) {
    autoworld struct world *world = world_new(NULL);
    const char *id = wasteful(world);

    ck_assert_int_eq(world_action(world, id, RECLAIM), 202);
    ck_assert_int_eq(world_action(world, id, RECLAIM), 409);
    world_settle(world);
    ck_assert_str_eq(text(world, id, "status"), "done");
    assert_whole(world, id);
}
END_TEST

START_TEST(temporary_and_permanent_refusals_differ) {
    autoworld struct world *world = world_new(NULL);
    const char *id = wasteful(world);

    world_sql(world, "UPDATE volumes SET status = 'error'");
    ck_assert_int_eq(world_action(world, id, RECLAIM), 409);
    world_sql(world, "UPDATE volumes SET status = 'available'");
    ck_assert_int_eq(world_action(world, id, "{\"os-extend\": {\"new_size\": 3}}"), 202);
    ck_assert_int_eq(world_action(world, id, RECLAIM), 409);
    world_settle(world);
    world_sql(world, "UPDATE pools SET capabilities = '{\"reclaim_support\": false}'");
    ck_assert_int_eq(world_action(world, id, RECLAIM), 400);
    world_attach(world, id, WORLD_INSTANCE);
    world_sql(world, "UPDATE pools SET capabilities = '{\"keeps_discards\": true}'");
    ck_assert_int_eq(world_action(world, id, RECLAIM), 400);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "reclaims space of detached volumes"));
    world_sql(world, "UPDATE pools SET capabilities = '{}'");
    ck_assert_int_eq(world_action(world, id, RECLAIM), 400);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "no agent of this service"));
    ck_assert_int_eq(
        world_call(world, "POST", "/volumes/11111111-1111-4111-8111-111111111111/action", RECLAIM),
        404);
    ck_assert_str_eq(text(world, id, "status"), "none");
}
END_TEST

static int status_in_the_middle;

static struct fault_decision reclaim_in_the_middle(void *arg, const char *call,
                                                   const char *volume_id) {
    struct world *world = arg;

    if (strcmp(call, "connect") == 0 && status_in_the_middle == 0)
        status_in_the_middle = world_action(world, volume_id, RECLAIM);
    return (struct fault_decision){ .action = FAULT_PASS };
}

/* A host that is connected without an attachment shows in no status. */
START_TEST(a_reclaim_waits_for_a_pending_connection) {
    autoworld struct world *world = world_new(NULL);
    const char *id = wasteful(world);

    status_in_the_middle = 0;
    world->decide = reclaim_in_the_middle;
    ck_assert_int_eq(world_action(world, id,
                                  "{\"os-initialize_connection\": {\"connector\": {\"host\": "
                                  "\"" WORLD_NODE "\"}}}"),
                     200);
    ck_assert_int_eq(status_in_the_middle, 409);
    ck_assert_str_eq(text(world, id, "status"), "none");
    ck_assert_int_eq(world_action(world, id, RECLAIM), 409); /* the host may open it now */
    ck_assert_int_eq(
        world_action(world, id, "{\"os-terminate_connection\": {\"connector\": null}}"), 202);
    ck_assert_int_eq(world_action(world, id, RECLAIM), 202);
    world_settle(world);
    ck_assert_str_eq(text(world, id, "status"), "done");
    ck_assert_str_eq(world_status(world, id), "available");
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

START_TEST(a_failed_reclaim_has_a_reason_and_a_message) {
    static const struct {
        enum error_kind kind;
        const char *reason, *event;
    } rows[] = { { ERROR_BAD_REQUEST, "unsupported", "VOLUME_VOLUME_906_909" },
                 { ERROR_CONFLICT, "busy", "VOLUME_VOLUME_906_027" },
                 { ERROR_BACKEND, "failed", "VOLUME_VOLUME_906_908" } };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = wasteful(world);

        memory_fail_next(world->memory, "reclaim_volume", rows[i].kind);
        ck_assert_int_eq(world_action(world, id, RECLAIM), 202);
        world_settle(world);
        ck_assert_str_eq(text(world, id, "status"), "error");
        ck_assert_str_eq(text(world, id, "reason"), rows[i].reason);
        ck_assert_str_eq(text(world, id, "message"), "Injected failure of reclaim_volume.");
        ck_assert_int_eq(number(world, id, "post_usage"), -1);
        ck_assert(world_has_message(world, id, rows[i].event));
        assert_whole(world, id);
        ck_assert_int_eq(world_action(world, id, RECLAIM), 202);
        world_settle(world);
        ck_assert_str_eq(text(world, id, "reason"), "null");
        ck_assert_int_eq(number(world, id, "post_usage"), 7);
    }
}
END_TEST

static bool happened;

static struct fault_decision in_the_middle(void *arg, const char *call, const char *volume_id) {
    struct world *world = arg;

    if (strcmp(call, "reclaim_volume") == 0 && !happened) {
        happened = true;
        world_action(world, volume_id, "{\"os-reset_status\": {\"status\": \"available\"}}");
        ck_assert_int_eq(world->status, 202);
        /* Its worker may still be at it. */
        ck_assert_int_eq(world_action(world, volume_id, RECLAIM), 409);
    }
    return (struct fault_decision){ .action = FAULT_PASS };
}

START_TEST(a_reset_ends_a_reclaim) {
    autoworld struct world *world = world_new(NULL);
    const char *id = wasteful(world);

    happened = false;
    world->decide = in_the_middle;
    ck_assert_int_eq(world_action(world, id, RECLAIM), 202);
    world_settle(world);
    ck_assert(happened);
    ck_assert_str_eq(text(world, id, "reason"), "cancelled");
    assert_whole(world, id);
    ck_assert_int_eq(world_action(world, id, RECLAIM), 202);
    world_settle(world);
    ck_assert_str_eq(text(world, id, "status"), "done");
    assert_whole(world, id);
}
END_TEST

START_TEST(a_delete_removes_the_reclaim_status) {
    autoworld struct world *world = world_new(NULL);
    const char *id = wasteful(world);

    ck_assert_int_eq(world_action(world, id, RECLAIM), 202);
    ck_assert_int_eq(
        world_call(world, "DELETE", arena_format(world->arena, "/volumes/%s", id), NULL), 400);
    ck_assert_int_eq(world_action(world, id, "{\"os-force_delete\": null}"), 202);
    world_settle(world);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM reclaims"), 0);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volumes"), 0);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

/* Wherever the process dies, it is done in the end, and the first usage that was counted stays. */
START_TEST(a_reclaim_is_resumed_after_a_death) {
    bool died = true;

    for (int64_t n = 1; died; n++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = wasteful(world);

        ck_assert_int_eq(world_action(world, id, RECLAIM), 202);
        world_die_after(world, n);
        world_settle(world);
        died = world->dead;
        world_restart(world);
        for (int i = 0; i < 4; i++) {
            world_advance(world, 61);
            world_settle(world);
        }
        ck_assert_str_eq(text(world, id, "status"), "done");
        ck_assert_int_eq(number(world, id, "pre_usage"), 7 + 8 * MIB);
        ck_assert_int_eq(number(world, id, "post_usage"), 7);
        assert_whole(world, id);
        ck_assert_int_lt(n, 60);
    }
}
END_TEST

/* One of the backend's is at it while another one comes, and again when that has waited long. */
static struct fault_decision one_is_at_it(void *arg, const char *call, const char *volume_id) {
    static const char pause[] = "SELECT MAX(lease_until - updated_at) FROM operations "
                                "WHERE owner = ''";
    struct world *world = arg;
    const char *other;

    (void)volume_id;
    if (strcmp(call, "reclaim_volume") != 0 || happened)
        return (struct fault_decision){ .action = FAULT_PASS };
    happened = true;
    other = world_volume(world, 1);
    ck_assert_int_eq(world_action(world, other, RECLAIM), 202);
    world_settle(world);
    ck_assert_int_eq(world_count(world, pause), 2 * SECOND_US);
    world_sql(world, "UPDATE operations SET created_at = created_at - 3600000000 WHERE owner = ''");
    world_advance(world, 3);
    world_settle(world);
    ck_assert_int_eq(world_count(world, pause), 60 * SECOND_US);
    return (struct fault_decision){ .action = FAULT_PASS };
}

START_TEST(waiting_reclaims_count_as_little_work) {
    autoworld struct world *world = world_new(NULL);
    const char *id = wasteful(world);

    happened = false;
    world->decide = one_is_at_it;
    ck_assert_int_eq(world_action(world, id, RECLAIM), 202);
    world_settle(world);
    ck_assert(happened);
    ck_assert_str_eq(text(world, id, "status"), "done");
    world_advance(world, 61);
    world_settle(world);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

/* The manager that ends releases it, and the next one goes on. */
static struct fault_decision drain(void *arg, const char *call, const char *volume_id) {
    struct world *world = arg;

    (void)volume_id;
    if (strcmp(call, "reclaim_volume") == 0 && !happened) {
        happened = true;
        manager_drain(world->manager);
    }
    return (struct fault_decision){ .action = FAULT_PASS };
}

START_TEST(a_stopping_manager_does_not_wait_for_a_reclaim) {
    autoworld struct world *world = world_new(NULL);
    const char *id = wasteful(world);

    happened = false;
    world->decide = drain;
    ck_assert_int_eq(world_action(world, id, RECLAIM), 202);
    world_settle(world);
    ck_assert(happened);
    ck_assert_str_eq(text(world, id, "status"), "running");
    world->decide = NULL;
    world_restart(world);
    world_advance(world, 61);
    world_settle(world);
    ck_assert_str_eq(text(world, id, "status"), "done");
    assert_whole(world, id);
}
END_TEST

START_TEST(repeated_stops_use_up_no_attempt_of_a_reclaim) {
    autoworld struct world *world = world_new(NULL);
    const char *id = wasteful(world);

    ck_assert_int_eq(world_action(world, id, RECLAIM), 202);
    for (int i = 0; i < 40; i++) {
        happened = false;
        world->decide = drain;
        world_settle(world);
        ck_assert(happened);
        ck_assert_str_eq(text(world, id, "status"), "running");
        ck_assert_int_eq(world_count(world, "SELECT attempts FROM operations"), 1);
        world_restart(world);
        world_advance(world, 61);
    }
    /* its first refusal is no last one */
    world->decide = NULL;
    memory_fail_next(world->memory, "reclaim_volume", ERROR_UNAVAILABLE);
    world_settle(world);
    ck_assert_str_eq(text(world, id, "status"), "running");
    world_advance(world, 61);
    world_settle(world);
    ck_assert_str_eq(text(world, id, "status"), "done");
    assert_whole(world, id);
}
END_TEST

CHECK_MAIN("reclaim", space_is_reclaimed_and_reported, only_an_empty_body_is_taken,
           the_second_of_two_reclaims_is_refused_for_now, temporary_and_permanent_refusals_differ,
           a_reclaim_waits_for_a_pending_connection, a_failed_reclaim_has_a_reason_and_a_message,
           a_reset_ends_a_reclaim, a_delete_removes_the_reclaim_status,
           waiting_reclaims_count_as_little_work, a_reclaim_is_resumed_after_a_death,
           a_stopping_manager_does_not_wait_for_a_reclaim,
           repeated_stops_use_up_no_attempt_of_a_reclaim)
