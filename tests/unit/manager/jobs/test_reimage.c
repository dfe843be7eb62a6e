/*
 * Volumes that are written anew from an image: the request, and the end of one whose image service
 * is away.  Those that arrive are in tests/e2e/test_images.py.
 */
#include "common/cleanup.h"
#include "tests/lib/check_main.h"
#include "tests/lib/images.h"
#include "tests/lib/memory_guests.h"

#define PATH(...) arena_format(world->arena, __VA_ARGS__)
#define REIMAGE   "{\"os-reimage\": {\"image_id\": \"" IMAGES_ID "\"}}"

static const char *volume_of(struct world *world) {
    const char *id = world_volume(world, 2);

    ck_assert(memory_write(world->memory, id, 7));
    world_sql(world, "INSERT INTO volume_glance_metadata (volume_id, key, value) "
                     "SELECT id, 'os_distro', 'former' FROM volumes");
    images_begin(world);
    return id;
}

static void reserve(struct world *world, const char *id) {
    ck_assert_int_eq(world_call(world, "POST", "/attachments",
                                PATH("{\"attachment\": {\"volume_uuid\": \"%s\", "
                                     "\"instance_uuid\": \"" WORLD_INSTANCE "\"}}",
                                     id)),
                     200);
}

static void assert_failed(struct world *world, const char *id) {
    const json_t *metadata = json_object_get(world_show(world, id), "volume_image_metadata");

    ck_assert(json_text_is(metadata, "os_distro", "former"));
    ck_assert_str_eq(world_status(world, id), "error");
    ck_assert(world_has_message(world, id, "VOLUME_VOLUME_016_028"));
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    ck_assert_int_eq(world_in_use(world, "gigabytes"), 2);
    ck_assert_int_eq(world_check(world), 0);
}

START_TEST(a_failure_is_an_error_with_a_message) {
    autoworld struct world *world = world_new(NULL);
    const char *id = volume_of(world);

    ck_assert_int_eq(world_action(world, id, "%s", REIMAGE), 202);
    ck_assert_str_eq(world_status(world, id), "downloading");
    world_settle(world);
    assert_failed(world, id);
    ck_assert_uint_eq(world->event_count, 0);
}
END_TEST

START_TEST(the_server_of_a_reserved_volume_gets_an_event) {
    autoworld struct world *world = world_new(NULL);
    const char *id = volume_of(world);

    reserve(world, id);
    ck_assert_int_eq(world_action(world, id, "%s", REIMAGE), 400);
    ck_assert_int_eq(world_action(world, id, "%s", IMAGES_REIMAGE), 202);
    world_settle(world);
    assert_failed(world, id);
    ck_assert_uint_eq(world->event_count, 1);
    ck_assert_str_eq(world->events[0].name, "volume-reimaged");
    ck_assert(world->events[0].failed);
    ck_assert_str_eq(world->events[0].volume_id, id);
    ck_assert_str_eq(world->events[0].instance_uuid, WORLD_INSTANCE);
}
END_TEST

/* A worker may have written a part. */
START_TEST(after_a_reset_the_former_content_is_no_longer_verified) {
    for (int attempts = 0; attempts <= 1; attempts++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = volume_of(world);

        world_sql(world, "INSERT INTO volume_glance_metadata (volume_id, key, value) "
                         "SELECT id, 'signature_verified', 'True' FROM volumes");
        reserve(world, id);
        ck_assert_int_eq(world_action(world, id, "%s", IMAGES_REIMAGE), 202);
        world_sql(world, PATH("UPDATE operations SET attempts = %d", attempts));
        ck_assert_int_eq(
            world_action(world, id, "{\"os-reset_status\": {\"status\": \"available\"}}"), 202);
        world_settle(world);
        ck_assert_str_eq(world_status(world, id), "available");
        ck_assert_ptr_null(strstr(world->answer_text, "signature_verified"));
        ck_assert_ptr_nonnull(strstr(world->answer_text, "os_distro"));
        ck_assert_int_eq(world_has_message(world, id, "VOLUME_VOLUME_016_028"), attempts > 0);
        ck_assert_uint_eq(world->event_count, 1);
        ck_assert(world->events[0].failed);
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
        ck_assert_int_eq(world_check(world), 0);
    }
}
END_TEST

/* It sends the event of a growth for every operation of the kind notify. */
START_TEST(an_older_manager_does_not_take_the_event) {
    autoworld struct world *world = world_new(NULL);
    const char *id = volume_of(world);

    reserve(world, id);
    world->verdict = EVENT_UNKNOWN;
    ck_assert_int_eq(world_action(world, id, "%s", IMAGES_REIMAGE), 202);
    world_settle(world);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations WHERE kind = "
                                        "'notify_reimaged'"),
                     1);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 1);
}
END_TEST

START_TEST(an_event_that_is_refused_is_repeated_a_few_times) {
    autoworld struct world *world = world_new(NULL);
    const char *id = volume_of(world);

    reserve(world, id);
    world->verdict = EVENT_UNKNOWN;
    ck_assert_int_eq(world_action(world, id, "%s", IMAGES_REIMAGE), 202);
    for (int i = 0; i < 8; i++) {
        world_settle(world);
        world_advance(world, 31);
    }
    assert_failed(world, id);
    ck_assert_uint_eq(world->event_count, 5);
}
END_TEST

/* They do not know the operation. */
START_TEST(attempts_of_older_managers_end_no_event) {
    autoworld struct world *world = world_new(NULL);
    const char *id = volume_of(world);

    reserve(world, id);
    world->verdict = EVENT_UNKNOWN;
    ck_assert_int_eq(world_action(world, id, "%s", IMAGES_REIMAGE), 202);
    world_settle(world);
    world_sql(world, "UPDATE operations SET attempts = 50");
    world_advance(world, 6);
    world_settle(world);
    ck_assert_uint_eq(world->event_count, 2);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 1);
}
END_TEST

START_TEST(a_volume_in_another_state_is_refused) {
    static const struct {
        const char *before;
        int status;
    } rows[] = {
        { "UPDATE volumes SET status = 'in-use'", 400 },
        { "UPDATE volumes SET status = 'maintenance'", 400 },
        { "UPDATE volumes SET status = 'error_deleting'", 400 },
        { "UPDATE volumes SET migration_status = 'migrating'", 400 },
        { "UPDATE volumes SET encryption_key_id = '" IMAGES_ID "'", 400 },
        { "UPDATE volumes SET provider_location = NULL, status = 'error'", 400 },
        { "INSERT INTO attachments (id, volume_id, project_id, attach_status, created_at) "
          "SELECT 'a', id, project_id, 'reserved', 1 FROM volumes UNION "
          "SELECT 'b', id, project_id, 'reserved', 1 FROM volumes",
          409 },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = volume_of(world);

        world_sql(world, rows[i].before);
        ck_assert_msg(world_action(world, id, "%s", IMAGES_REIMAGE) == rows[i].status,
                      "row %zu: %d %s", i, world->status, world->answer_text);
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    }
}
END_TEST

/* Whatever its status was reset to. */
START_TEST(an_attached_volume_is_refused) {
    static const char *const statuses[] = { "error", "available", "reserved" };

    for (size_t i = 0; i < LENGTH(statuses); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = volume_of(world);

        world_attach(world, id, WORLD_INSTANCE);
        world_sql(world, PATH("UPDATE volumes SET status = '%s'", statuses[i]));
        ck_assert_int_eq(world_action(world, id, "%s", IMAGES_REIMAGE), 400);
        ck_assert_ptr_nonnull(strstr(world->answer_text, "attached"));
        ck_assert_str_eq(world_status(world, id), statuses[i]);
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    }
}
END_TEST

START_TEST(the_action_exists_from_3_68_on) {
    autoworld struct world *world = world_new(NULL);
    const char *id = volume_of(world);

    world->minor = 67;
    ck_assert_int_ge(world_action(world, id, "%s", REIMAGE), 400);
    world->minor = 68;
    ck_assert_int_eq(world_action(world, id, "%s", REIMAGE), 202);
}
END_TEST

START_TEST(without_an_image_service_nothing_is_written) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    ck_assert_int_eq(world_action(world, id, "%s", REIMAGE), 400);
    ck_assert_str_eq(world_status(world, id), "available");
}
END_TEST

START_TEST(a_stop_between_any_two_steps_ends_the_same) {
    bool died = true;

    for (int effects = 1; died; effects++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = volume_of(world);

        ck_assert_int_eq(world_action(world, id, "%s", REIMAGE), 202);
        world_die_after(world, effects);
        world_settle(world);
        died = world->dead;
        world_restart(world);
        for (int i = 0; i < 6; i++) {
            world_advance(world, 31);
            world_settle(world);
        }
        assert_failed(world, id);
    }
}
END_TEST

CHECK_MAIN("reimage", a_failure_is_an_error_with_a_message,
           the_server_of_a_reserved_volume_gets_an_event,
           after_a_reset_the_former_content_is_no_longer_verified,
           an_older_manager_does_not_take_the_event,
           an_event_that_is_refused_is_repeated_a_few_times,
           attempts_of_older_managers_end_no_event, a_volume_in_another_state_is_refused,
           an_attached_volume_is_refused, the_action_exists_from_3_68_on,
           without_an_image_service_nothing_is_written, a_stop_between_any_two_steps_ends_the_same)
