/*
 * An image that grows after its extend was given up (X24): a suspended guest executes an old
 * request after the verdict.  The volume stays as useful as any other.
 */
#include "tests/lib/extend.h"

static const char *attachment;

static const char *ready(struct world *world) {
    const char *id = world_volume(world, 2);

    attachment = world_attach(world, id, WORLD_INSTANCE);
    return id;
}

static void extend_to_5(struct world *world, const char *id) {
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);
}

/* ---- the verdicts ---- */

static void reported_as_error(struct world *world, const char *id) {
    extend_to_5(world, id);
    ck_assert_int_eq(world_action(world, id, COMPLETE_ERROR), 202);
    world_settle(world);
}

static void not_reported_in_time(struct world *world, const char *id) {
    extend_to_5(world, id);
    world_advance(world, 601);
    world_settle(world);
}

static void refused(struct world *world, const char *id) {
    world->verdict = EVENT_REFUSED;
    extend_to_5(world, id);
}

static void reset(struct world *world, const char *id) {
    extend_to_5(world, id);
    ck_assert_int_eq(
        world_action(world, id, "{\"os-reset_status\": {\"status\": \"error_extending\"}}"), 202);
}

/* A program that another manager's paused one has started ends its work when that one is long
 * dead. */
static void failed_in_the_driver(struct world *world, const char *id) {
    memory_fail_next(world->memory, "extend_volume", ERROR_BACKEND);
    extend_to_5(world, id);
}

static void detached_while_locked(struct world *world, const char *id) {
    autoarena struct arena *arena = arena_new();

    extend_to_5(world, id);
    world_call(world, "DELETE", arena_format(arena, "/attachments/%s", attachment), NULL);
    world_settle(world);
    attachment = NULL;
}

static void (*const verdicts[])(struct world *world, const char *id) = {
    reported_as_error,    not_reported_in_time,  refused, reset,
    failed_in_the_driver, detached_while_locked,
};

static void back_to_use(struct world *world, const char *id) {
    ck_assert_int_eq(world_action(world, id, "{\"os-reset_status\": {\"status\": \"%s\"}}",
                                  attachment ? "in-use" : "available"),
                     202);
    memory_lock(world->memory, id, false);
}

static void connects(struct world *world, const char *id) {
    ck_assert_int_eq(
        world_action(world, id,
                     "{\"os-initialize_connection\": {\"connector\": {\"host\": \"h\"}}}"),
        200);
}

/* Known and reported, and no reason to refuse anything. */
START_TEST(growth_after_the_verdict_leaves_a_useful_volume) {
    for (unsigned i = 0; i < LENGTH(verdicts); i++) {
        autoworld struct world *world = world_new(NULL);
        autoarena struct arena *arena = arena_new();
        const char *id = ready(world);

        verdicts[i](world, id);
        assert_volume(world, id, "error_extending", 2);
        assert_settled(world);
        guest_grows(world, id, 5);
        ck_assert_int_eq(world_check(world), 0);
        ck_assert_uint_eq(world->notes, 1);

        back_to_use(world, id);
        connects(world, id);
        if (attachment)
            ck_assert_int_eq(world_call(world, "DELETE",
                                        arena_format(arena, "/attachments/%s", attachment), NULL),
                             200);
        assert_volume(world, id, "available", 2);
        world_attach(world, id, WORLD_INSTANCE2);
        assert_volume(world, id, "in-use", 2);
        assert_quota(world, 2, 0);
        ck_assert_int_eq(world_check(world), 0);
    }
}
END_TEST

/* Extending to less, to the same and to more than it has: nothing shrinks, the note ends. */
START_TEST(growth_after_the_verdict_is_adopted_by_the_next_extend) {
    for (unsigned i = 0; i < LENGTH(verdicts); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = ready(world);

        verdicts[i](world, id);
        guest_grows(world, id, 5);
        world->verdict = EVENT_ACCEPTED;
        for (int size = 4; size <= 6; size++) {
            back_to_use(world, id);
            ck_assert_int_eq(world_action(world, id, "{\"os-extend\": {\"new_size\": %d}}", size),
                             202);
            world_settle(world);
            assert_volume(world, id, attachment ? "in-use" : "available", size);
            ck_assert_int_eq(world_real_gb(world, id), size < 5 ? 5 : size);
            assert_settled(world);
            ck_assert_uint_eq(world->notes, size < 5);
        }
        assert_quota(world, 6, 0);
    }
}
END_TEST

START_TEST(growth_after_the_verdict_does_not_keep_a_volume_from_being_deleted) {
    for (unsigned i = 0; i < LENGTH(verdicts); i++) {
        autoworld struct world *world = world_new(NULL);
        autoarena struct arena *arena = arena_new();
        const char *id = ready(world);

        verdicts[i](world, id);
        guest_grows(world, id, 5);
        back_to_use(world, id);
        if (attachment)
            world_call(world, "DELETE", arena_format(arena, "/attachments/%s", attachment), NULL);
        ck_assert_int_eq(world_call(world, "DELETE", arena_format(arena, "/volumes/%s", id), NULL),
                         202);
        world_settle(world);
        ck_assert_str_eq(world_status(world, id), "gone");
        assert_quota(world, 0, 0);
        assert_settled(world);
    }
}
END_TEST

/* Growth without an extend is that of another program: reported as an error, and still
 * attachable. */
START_TEST(unrequested_growth_is_a_finding) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    guest_grows(world, id, 5);
    ck_assert_int_eq(world_check(world), 1);
    connects(world, id);
    world_attach(world, id, WORLD_INSTANCE);
}
END_TEST

/* An image below its size has lost data. */
START_TEST(an_image_that_is_too_small_is_a_finding) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    guest_grows(world, id, 1);
    ck_assert_int_eq(world_check(world), 1);
    ck_assert_uint_eq(world->notes, 0);
}
END_TEST

CHECK_MAIN("larger image", growth_after_the_verdict_leaves_a_useful_volume,
           growth_after_the_verdict_is_adopted_by_the_next_extend,
           growth_after_the_verdict_does_not_keep_a_volume_from_being_deleted,
           unrequested_growth_is_a_finding, an_image_that_is_too_small_is_a_finding)
