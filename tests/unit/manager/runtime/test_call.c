/*
 * Calls of other programs through the broker, as the manager takes them.
 */
#include "manager/runtime/call.h"
#include "model/volume/volume.h"

#include "common/log.h"
#include "tests/lib/extend.h"

static struct rpc_answer answer;
static struct error failure;

static int call(struct world *world, const char *method, const char *version,
                const char *arguments) {
    const struct rpc_message message = {
        .topic = "cinder-volume",
        .method = method,
        .key = "",
        .payload = arguments,
        .version = version,
        .answer = &answer,
    };

    log_open(-1, LOG_ERROR, LOG_TEXT);
    answer = (struct rpc_answer){ .arena = world->arena };
    failure = (struct error){ .kind = ERROR_NONE };
    return call_handle(world->manager, &message, &failure);
}

static int complete(struct world *world, const char *id, int size, const char *reservations,
                    const char *failed) {
    return call(world, "extend_volume_completion", "3.19",
                arena_format(world->arena,
                             "{\"volume\": {\"versioned_object.name\": \"Volume\", "
                             "\"versioned_object.data\": {\"id\": \"%s\"}}, \"new_size\": %d, "
                             "\"reservations\": %s, \"error\": %s}",
                             id, size, reservations, failed));
}

struct lookup {
    const char *volume_id, *reservations;
};

static int lookup_body(struct work *work, void *arg, struct error *err) {
    struct lookup *lookup = arg;
    struct volume volume;

    if (volume_details(work, lookup->volume_id, &volume, err) < 0)
        return -1;
    lookup->reservations = pairs_get(&volume.admin_metadata, "extend_reservations");
    return 0;
}

/* The list that the pending extend holds. */
static const char *pending_reservations(struct world *world, const char *id) {
    const struct work base = work_own(&world->settings, world->arena);
    struct lookup lookup = { .volume_id = id };
    struct error err;

    ck_assert_int_eq(work_read(world->db, &base, lookup_body, &lookup, &err), 0);
    ck_assert_ptr_nonnull(lookup.reservations);
    return lookup.reservations;
}

START_TEST(unknown_methods_and_versions_are_refused) {
    autoworld struct world *world = world_new(NULL);

    ck_assert_int_eq(call(world, "nothing", "3.0", "{}"), RPC_NO_METHOD);
    ck_assert_int_eq(call(world, "", "3.0", "{}"), RPC_NO_METHOD);
    ck_assert_int_eq(call(world, "__init__", "3.0", "{}"), RPC_NO_METHOD);
    ck_assert_int_eq(call(world, "publish_service_capabilities", "3.21", "{}"), RPC_NO_VERSION);
    ck_assert_int_eq(call(world, "publish_service_capabilities", "4.0", "{}"), RPC_NO_VERSION);
    ck_assert_int_eq(call(world, "publish_service_capabilities", "2.0", "{}"), RPC_NO_VERSION);
    ck_assert_int_eq(call(world, "publish_service_capabilities", "3.0", "[]"), RPC_BAD_ARGUMENTS);
    ck_assert_int_eq(call(world, "publish_service_capabilities", "3.20", "{}"), 0);
    ck_assert_ptr_null(answer.result);
    ck_assert_int_eq(call(world, "oslo_rpc_server_ping", "3.0", "{}"), 0);
    ck_assert_str_eq(answer.result, "\"pong\"");
}
END_TEST

START_TEST(a_completion_ends_the_extend_as_the_action_does) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);
    const char *reservations = pending_reservations(world, id);

    guest_grows(world, id, 5);
    ck_assert_int_eq(complete(world, id, 5, reservations, "false"), 0);
    ck_assert_int_eq(answer.failure.kind, ERROR_NONE);
    world_settle(world);
    assert_volume(world, id, "in-use", 5);
    assert_quota(world, 5, 0);
    assert_settled(world);
    ck_assert_int_eq(complete(world, id, 5, reservations, "true"), 0);
    ck_assert_int_eq(answer.failure.kind, ERROR_BAD_REQUEST);
    world_settle(world);
    assert_volume(world, id, "in-use", 5);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

START_TEST(a_failed_completion_rolls_back) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);

    ck_assert_int_eq(complete(world, id, 5, pending_reservations(world, id), "true"), 0);
    world_settle(world);
    assert_volume(world, id, "error_extending", 2);
    assert_quota(world, 2, 0);
    assert_settled(world);
}
END_TEST

START_TEST(a_completion_of_another_extend_changes_nothing) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);
    const char *reservations = pending_reservations(world, id);

    ck_assert_int_eq(complete(world, id, 6, reservations, "false"), 0);
    ck_assert_int_eq(answer.failure.kind, ERROR_BAD_REQUEST);
    ck_assert_int_eq(complete(world, id, 5, "[\"other\"]", "false"), 0);
    ck_assert_int_eq(answer.failure.kind, ERROR_BAD_REQUEST);
    ck_assert_int_eq(complete(world, WORLD_INSTANCE, 5, reservations, "false"), 0);
    ck_assert_int_eq(answer.failure.kind, ERROR_NOT_FOUND);
    world_settle(world);
    assert_volume(world, id, "extending", 2);
    ck_assert_str_eq(metadata_of(world, id, "extend_new_size"), "5");
}
END_TEST

START_TEST(arguments_of_other_types_are_refused_with_the_name) {
    static const struct {
        const char *arguments, *why;
    } wrong[] = {
        { "{}", "volume is no volume object with an id" },
        { "{\"volume\": 5}", "volume is no volume object with an id" },
        { "{\"volume\": {\"versioned_object.name\": \"Snapshot\", \"versioned_object.data\": "
          "{\"id\": \"" WORLD_INSTANCE "\"}}}",
          "volume is no volume object with an id" },
        { "{\"volume\": {\"versioned_object.name\": \"Volume\", \"versioned_object.data\": "
          "{\"id\": \"x\"}}}",
          "volume is no volume object with an id" },
    };
    static const struct {
        const char *size, *reservations, *failed, *why;
    } types[] = {
        { "\"5\"", "[]", "false", "new_size is no size in GiB" },
        { "5.5", "[]", "false", "new_size is no size in GiB" },
        { "0", "[]", "false", "new_size is no size in GiB" },
        { "5", "\"a\"", "false", "reservations is no list" },
        { "5", "[]", "0", "error is neither true nor false" },
        { "5", "[]", "null", "error is neither true nor false" },
    };
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);

    for (unsigned i = 0; i < LENGTH(wrong); i++) {
        ck_assert_int_eq(call(world, "extend_volume_completion", "3.19", wrong[i].arguments),
                         RPC_BAD_ARGUMENTS);
        ck_assert_str_eq(failure.message, wrong[i].why);
    }
    for (unsigned i = 0; i < LENGTH(types); i++) {
        ck_assert_int_eq(
            call(world, "extend_volume_completion", "3.19",
                 arena_format(world->arena,
                              "{\"volume\": {\"versioned_object.name\": \"Volume\", "
                              "\"versioned_object.data\": {\"id\": \"%s\"}}, \"new_size\": %s, "
                              "\"reservations\": %s, \"error\": %s}",
                              id, types[i].size, types[i].reservations, types[i].failed)),
            RPC_BAD_ARGUMENTS);
        ck_assert_str_eq(failure.message, types[i].why);
    }
    world_settle(world);
    assert_volume(world, id, "extending", 2);
}
END_TEST

CHECK_MAIN("call", unknown_methods_and_versions_are_refused,
           a_completion_ends_the_extend_as_the_action_does, a_failed_completion_rolls_back,
           a_completion_of_another_extend_changes_nothing,
           arguments_of_other_types_are_refused_with_the_name)
