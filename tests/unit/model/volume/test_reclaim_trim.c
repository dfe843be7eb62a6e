#include "model/volume/reclaim_trim.h"

#include "common/cleanup.h"
#include "tests/lib/memory_guests.h"
#include "tests/lib/snapshots.h"
#include "tests/lib/work_test.h"

#include <string.h>

#define RECLAIM "{\"os-reclaim_space\": {}}"
#define MIB     (INT64_C(1) << 20)

static const json_t *last(struct world *world, const char *id) {
    ck_assert_int_eq(world_call(world, "GET", PATH("/volumes/%s/reclaim_space", id), NULL), 200);
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

static void agent_reports(struct world *world) {
    ck_assert_int_eq(world_call(world, "PUT", "/os-services/report",
                                "{\"binary\": \"scoria-compute\", \"host\": \"" WORLD_NODE
                                "\", \"endpoint\": \"http://agent/v2.1\"}"),
                     200);
}

/* In a guest whose host has an agent, with unused space. */
static const char *wasteful(struct world *world) {
    const char *id = world_volume(world, 2);

    agent_reports(world);
    ck_assert(memory_write(world->memory, id, 7));
    ck_assert(memory_waste(world->memory, id, 8 * MIB));
    world_attach(world, id, WORLD_INSTANCE);
    return id;
}

static void guest_trims(struct world *world, const struct world_trim *trim) {
    ck_assert(memory_trim(world->memory, trim->volume_id));
}

/* The agent's report of the last request. */
static int report(struct world *world, const char *id, const char *report_text) {
    return world_action(world, id, "{\"os-update_reclaim_space\": {\"id\": \"%s\", %s}}",
                        world->trims[(world->trim_count - 1) % WORLD_EVENTS].id, report_text);
}

#define RUNNING "\"status\": \"running\", \"progress\": 50"
#define DONE    "\"status\": \"done\""
#define FAILED(reason) \
    "\"status\": \"error\", \"reason\": \"" reason "\", \"message\": \"the guest says so\""

static const char *pending(struct world *world) {
    const char *id = wasteful(world);

    ck_assert_int_eq(world_action(world, id, RECLAIM), 202);
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "reclaiming");
    ck_assert_uint_eq(world->trim_count, 1);
    ck_assert_int_eq(world_check(world), 0);
    return id;
}

static void assert_over(struct world *world, const char *id, const char *status) {
    ck_assert_str_eq(world_status(world, id), status);
    ck_assert_int_eq(memory_read(world->memory, id), 7);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    ck_assert_int_eq(world_check(world), 0);
}

START_TEST(a_guest_reclaims_space_and_that_is_reported) {
    autoworld struct world *world = world_new(NULL);
    const char *id;

    world->on_trim = guest_trims;
    id = pending(world);
    ck_assert_str_eq(world->trims[0].volume_id, id);
    ck_assert_str_eq(world->trims[0].instance_uuid, WORLD_INSTANCE);
    ck_assert_str_eq(world->trims[0].endpoint, "http://agent/v2.1");
    ck_assert_str_eq(text(world, id, "status"), "running");
    ck_assert_int_eq(number(world, id, "pre_usage"), 7 + 8 * MIB);
    ck_assert_int_eq(report(world, id, RUNNING), 202);
    ck_assert_int_eq(number(world, id, "progress"), 50);
    ck_assert_int_eq(report(world, id, DONE), 202);
    world_settle(world);
    ck_assert_str_eq(text(world, id, "status"), "done");
    ck_assert_int_eq(number(world, id, "post_usage"), 7);
    ck_assert_int_eq(number(world, id, "progress"), 100);
    assert_over(world, id, "in-use");
}
END_TEST

/* Without an agent the request is refused, and nothing begins. */
START_TEST(a_missing_agent_is_reported) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2), *other = world_volume(world, 2);

    world_attach(world, id, WORLD_INSTANCE);
    ck_assert_int_eq(world_action(world, id, RECLAIM), 400);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "no agent of this service"));
    agent_reports(world);
    world_advance(world, 61);
    ck_assert_int_eq(world_action(world, id, RECLAIM), 409);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "is down"));
    agent_reports(world);
    ck_assert_int_eq(
        world_call(world, "POST", "/attachments",
                   PATH("{\"attachment\": {\"volume_uuid\": \"%s\", \"instance_uuid\": \"%s\"}}",
                        id, WORLD_INSTANCE)),
        200);
    ck_assert_int_eq(world_action(world, id, RECLAIM), 400);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "one instance alone"));
    ck_assert_str_eq(text(world, id, "status"), "none");
    ck_assert_int_eq(world_action(world, other, RECLAIM), 202);
    world_settle(world);
    ck_assert_uint_eq(world->trim_count, 0);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

START_TEST(the_failure_of_a_guest_has_a_reason) {
    static const struct {
        const char *report_text, *reason, *event;
    } rows[] = { { FAILED("unsupported"), "unsupported", "VOLUME_VOLUME_906_909" },
                 { FAILED("busy"), "busy", "VOLUME_VOLUME_906_027" },
                 { FAILED("failed"), "failed", "VOLUME_VOLUME_906_908" },
                 { "\"status\": \"error\"", "failed", "VOLUME_VOLUME_906_908" } };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = pending(world);

        ck_assert_int_eq(report(world, id, rows[i].report_text), 202);
        ck_assert_str_eq(text(world, id, "status"), "error");
        ck_assert_str_eq(text(world, id, "reason"), rows[i].reason);
        if (i < 3)
            ck_assert_str_eq(text(world, id, "message"), "the guest says so");
        ck_assert(world_has_message(world, id, rows[i].event));
        ck_assert_int_eq(report(world, id, DONE), 400);
        world_settle(world);
        assert_over(world, id, "in-use");
    }
}
END_TEST

START_TEST(a_refusal_of_the_agent_ends_a_trim) {
    static const struct {
        enum error_kind kind;
        const char *reason;
    } rows[] = { { ERROR_BAD_REQUEST, "unsupported" },
                 { ERROR_CONFLICT, "busy" },
                 { ERROR_BACKEND, "failed" } };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = wasteful(world);

        world->verdict = EVENT_REFUSED;
        world->refusal = rows[i].kind;
        ck_assert_int_eq(world_action(world, id, RECLAIM), 202);
        world_settle(world);
        ck_assert_str_eq(text(world, id, "reason"), rows[i].reason);
        ck_assert_str_eq(text(world, id, "message"), "the compute side answers so");
        assert_over(world, id, "in-use");
    }
}
END_TEST

/* Not of this time, of another volume, or when none is awaited. */
START_TEST(only_the_report_that_is_awaited_counts) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending(world), *other = world_volume(world, 1);

    ck_assert_int_eq(
        world_action(world, id, "{\"os-update_reclaim_space\": {\"id\": \"%s\", " DONE "}}", other),
        400);
    ck_assert_int_eq(report(world, other, DONE), 400);
    ck_assert_int_eq(report(world, id, "\"status\": \"trimmed\""), 400);
    ck_assert_int_eq(report(world, id, "\"status\": \"running\", \"progress\": 100"), 400);
    ck_assert_str_eq(text(world, id, "status"), "running");
    ck_assert_int_eq(report(world, id, DONE), 202);
    ck_assert_int_eq(report(world, id, DONE), 400);
    world_settle(world);
    assert_over(world, id, "in-use");
}
END_TEST

/* One of our own may have lost it with its life. */
START_TEST(an_unresponsive_agent_is_requested_again) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending(world);

    world_advance(world, 15);
    ck_assert_int_eq(report(world, id, RUNNING), 202);
    world_advance(world, 15);
    world_settle(world);
    ck_assert_uint_eq(world->trim_count, 1);
    world_advance(world, 10);
    world_settle(world);
    ck_assert_uint_eq(world->trim_count, 2);
    ck_assert(world->trims[1].again);
    ck_assert_str_eq(world->trims[1].id, world->trims[0].id);
    agent_reports(world);
    ck_assert_int_eq(report(world, id, DONE), 202);
    world_settle(world);
    ck_assert_str_eq(text(world, id, "status"), "done");
    assert_over(world, id, "in-use");
}
END_TEST

START_TEST(the_deadline_ends_a_trim) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending(world);

    for (int i = 0; i < 60; i++) {
        world_advance(world, 61);
        world_settle(world);
    }
    ck_assert_str_eq(text(world, id, "status"), "error");
    ck_assert_str_eq(text(world, id, "reason"), "failed");
    ck_assert_uint_gt(world->trim_count, 3);
    ck_assert_uint_lt(world->trim_count, 30);
    ck_assert_int_eq(report(world, id, DONE), 400);
    assert_over(world, id, "in-use");
}
END_TEST

START_TEST(a_guest_that_leaves_ends_a_trim) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2), *attachment;

    agent_reports(world);
    memory_write(world->memory, id, 7);
    attachment = world_attach(world, id, WORLD_INSTANCE);
    ck_assert_int_eq(world_action(world, id, RECLAIM), 202);
    world_settle(world);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/attachments/%s", attachment), NULL), 200);
    memory_lock(world->memory, id, false);
    world_settle(world);
    ck_assert_str_eq(text(world, id, "reason"), "busy");
    assert_over(world, id, "available");
}
END_TEST

/* Before any request to the host: the storage does it. */
START_TEST(a_guest_that_has_left_gets_no_request) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2), *attachment;

    agent_reports(world);
    memory_write(world->memory, id, 7);
    memory_waste(world->memory, id, MIB);
    attachment = world_attach(world, id, WORLD_INSTANCE);
    ck_assert_int_eq(world_action(world, id, RECLAIM), 202);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/attachments/%s", attachment), NULL), 200);
    memory_lock(world->memory, id, false);
    world_settle(world);
    ck_assert_uint_eq(world->trim_count, 0);
    ck_assert_str_eq(text(world, id, "status"), "done");
    ck_assert_int_eq(number(world, id, "post_usage"), 7);
    assert_over(world, id, "available");
}
END_TEST

START_TEST(a_reset_ends_a_trim) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending(world);

    ck_assert_int_eq(world_action(world, id, RECLAIM), 409);
    ck_assert_int_eq(world_action(world, id, "{\"os-begin_detaching\": null}"), 400);
    ck_assert_int_eq(world_action(world, id, "{\"os-reset_status\": {\"status\": \"in-use\"}}"),
                     202);
    ck_assert_str_eq(text(world, id, "reason"), "cancelled");
    ck_assert_int_eq(report(world, id, RUNNING), 400);
    ck_assert_int_eq(report(world, id, DONE), 400);
    world_settle(world);
    assert_over(world, id, "in-use");
}
END_TEST

/* Wherever the process dies, it is done in the end, and the first usage that was counted stays. */
START_TEST(a_trim_is_resumed_after_a_death) {
    bool died = true;

    for (int64_t n = 1; died; n++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = wasteful(world);

        world->on_trim = guest_trims;
        ck_assert_int_eq(world_action(world, id, RECLAIM), 202);
        world_die_after(world, n);
        world_settle(world);
        if (world->trim_count > 0)
            report(world, id, DONE);
        world_settle(world);
        died = world->dead;
        world_restart(world);
        for (int i = 0; i < 8; i++) {
            world_advance(world, 31);
            agent_reports(world);
            world_settle(world);
            if (world->trim_count > 0)
                report(world, id, DONE);
            world_settle(world);
        }
        ck_assert_str_eq(text(world, id, "status"), "done");
        ck_assert_int_eq(number(world, id, "pre_usage"), 7 + 8 * MIB);
        ck_assert_int_eq(number(world, id, "post_usage"), 7);
        assert_over(world, id, "in-use");
        ck_assert_int_lt(n, 60);
    }
}
END_TEST

CHECK_MAIN("reclaim_trim", a_guest_reclaims_space_and_that_is_reported, a_missing_agent_is_reported,
           the_failure_of_a_guest_has_a_reason, a_refusal_of_the_agent_ends_a_trim,
           only_the_report_that_is_awaited_counts, an_unresponsive_agent_is_requested_again,
           the_deadline_ends_a_trim, a_guest_that_leaves_ends_a_trim,
           a_guest_that_has_left_gets_no_request, a_reset_ends_a_trim,
           a_trim_is_resumed_after_a_death)
