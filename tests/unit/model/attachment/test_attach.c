/*
 * Attaching and detaching in both forms of the API, and the status that follows from the rows.
 */
#include "common/scoria_headers.h"
#include "drivers/fault.h"
#include "tests/lib/exchange.h"
#include "tests/lib/extend.h"

#define ATTACH(instance, mode)                                                      \
    "{\"os-attach\": {\"mountpoint\": \"/dev/vdb\", \"instance_uuid\": \"" instance \
    "\", \"mode\": \"" mode "\"}}"

static int attach(struct world *world, const char *id, const char *instance,
                  const char *connector) {
    autoarena struct arena *arena = arena_new();

    return world_call(world, "POST", "/attachments",
                      arena_format(arena,
                                   "{\"attachment\": {\"volume_uuid\": \"%s\", \"instance_uuid\": "
                                   "\"%s\"%s%s}}",
                                   id, instance, connector ? ", \"connector\": " : "",
                                   connector ? connector : ""));
}

static int detach(struct world *world, const char *attachment) {
    autoarena struct arena *arena = arena_new();

    return world_call(world, "DELETE", arena_format(arena, "/attachments/%s", attachment), NULL);
}

START_TEST(status_follows_the_attachment) {
    autoworld struct world *world = world_new(NULL);
    autoarena struct arena *arena = arena_new();
    const char *id = world_volume(world, 1), *attachment;

    ck_assert_int_eq(attach(world, id, WORLD_INSTANCE, NULL), 200);
    attachment = world_answer_id(world, "attachment");
    ck_assert_str_eq(world_status(world, id), "reserved");

    ck_assert_int_eq(world_call(world, "PUT", arena_format(arena, "/attachments/%s", attachment),
                                "{\"attachment\": {\"connector\": {\"host\": \"h\"}}}"),
                     200);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "\"driver_volume_type\""));
    ck_assert_ptr_nonnull(strstr(world->answer_text, "\"access_mode\":\"rw\""));
    ck_assert_str_eq(world_status(world, id), "attaching");

    ck_assert_int_eq(world_call(world, "POST",
                                arena_format(arena, "/attachments/%s/action", attachment),
                                "{\"os-complete\": null}"),
                     204);
    ck_assert_str_eq(world_status(world, id), "in-use");
    ck_assert_int_eq(detach(world, attachment), 200);
    ck_assert_str_eq(world_status(world, id), "available");
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

/* As cinder does with the same option: it is present where it is true, and nowhere else. */
START_TEST(support_for_discard_is_reported) {
    autoworld struct world *world = world_new(NULL);
    const char *connector = "{\"os-initialize_connection\": {\"connector\": {\"host\": \"h\"}}}";
    const char *id = world_volume(world, 1);

    ck_assert_int_eq(world_action(world, id, "%s", connector), 200);
    ck_assert_ptr_null(strstr(world->answer_text, "\"discard\""));
    world->backends[0].reports_discard = true;
    world_restart(world);
    ck_assert_int_eq(world_action(world, id, "%s", connector), 200);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "\"discard\":true"));
    world_attach(world, id, WORLD_INSTANCE);
    ck_assert_int_eq(world_call(world, "GET", "/attachments/detail", NULL), 200);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM attachments WHERE connection_info "
                                        "LIKE '%\"discard\":true%' OR connection_info LIKE "
                                        "'%\"discard\": true%'"),
                     1);
}
END_TEST

/* Connected to host h, without an instance, and not complete. */
static const char *begun(struct world *world) {
    const char *id = world_volume(world, 1);

    ck_assert_int_eq(world_call(world, "POST", "/attachments",
                                arena_format(world->arena,
                                             "{\"attachment\": {\"volume_uuid\": \"%s\", "
                                             "\"connector\": {\"host\": \"h\"}}}",
                                             id)),
                     200);
    return world_answer_id(world, "attachment");
}

static int complete_by_names(struct world *world, const char *attachment, const char *former,
                             const char *limit) {
    const struct http_header headers[] = {
        { "Content-Type", "application/json" },
        { "X-Auth-Token", world->token },
        { "OpenStack-API-Version", "volume 3.71" },
        { former ? VOLUME_LIMIT_HEADER_FORMER : VOLUME_LIMIT_HEADER, former ? former : limit },
        { former && limit ? VOLUME_LIMIT_HEADER : NULL, limit },
        { NULL, NULL },
    };
    struct test_exchange *exchange =
        test_exchange_new("POST",
                          arena_format(world->arena, "/v3/%s/attachments/%s/action",
                                       strchr(world->token, ':') + 1, attachment),
                          headers, "{\"os-complete\": null}");
    int status;

    api_handle(world->api, test_exchange_of(exchange));
    status = test_exchange_await(exchange);
    test_exchange_free(exchange);
    return status;
}

/* Another call has completed it since it was listed. */
START_TEST(a_complete_attachment_is_not_deleted_as_incomplete) {
    autoworld struct world *world = world_new(NULL);
    const char *id = begun(world), *path = arena_format(world->arena, "/attachments/%s", id);

    ck_assert_int_eq(complete_by_names(world, id, NULL, "1"), 204);
    world->header = INCOMPLETE_HEADER;
    world->header_value = "true";
    ck_assert_int_eq(world_call(world, "DELETE", path, NULL), 409);
    world->header_value = "false";
    ck_assert_int_eq(world_call(world, "DELETE", path, NULL), 400);
    ck_assert_int_eq(
        world_count(world, "SELECT COUNT(*) FROM attachments WHERE attach_status = 'attached'"), 1);
    world->header = NULL;
    ck_assert_int_eq(world_call(world, "DELETE", path, NULL), 200);

    id = begun(world);
    world->header = INCOMPLETE_HEADER;
    world->header_value = "true";
    ck_assert_int_eq(
        world_call(world, "DELETE", arena_format(world->arena, "/attachments/%s", id), NULL), 200);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM attachments"), 0);
}
END_TEST

/* ---- repeated requests of a host ---- */

static int post_again(struct world *world, const char *volume, const char *host, const char *mode) {
    int status;

    world->retry = "true";
    status = world_call(world, "POST", "/attachments",
                        arena_format(world->arena,
                                     "{\"attachment\": {\"volume_uuid\": \"%s\", \"connector\": "
                                     "{\"host\": \"%s\", \"mode\": \"%s\"}}}",
                                     volume, host, mode));
    world->retry = NULL;
    return status;
}

/* Of the attachment in the last answer. */
static const char *volume_of(struct world *world) {
    const json_t *attachment = json_object_get(world->answer, "attachment");

    return arena_text(world->arena, json_string_value(json_object_get(attachment, "volume_id")));
}

static void expect_connections(struct world *world, const char *id, int64_t others) {
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM attachments"), 1 + others);
    ck_assert_int_eq(
        world_count(world, arena_format(world->arena,
                                        "SELECT COUNT(*) FROM attachments WHERE id = '%s' AND "
                                        "attach_status = 'attaching' AND "
                                        "connection_info IS NOT NULL",
                                        id)),
        1);
    ck_assert_int_eq(world_check(world), 0);
}

START_TEST(a_repeated_request_continues_the_attachment_of_its_host) {
    static const char *const before[] = {
        "UPDATE attachments SET updated_at = updated_at",
        "UPDATE attachments SET attach_status = 'error_attaching', connection_info = NULL",
        "UPDATE attachments SET attach_status = 'error_attaching'",
        "UPDATE attachments SET connection_info = NULL",
        "UPDATE attachments SET attach_mode = NULL", /* of an import */
        "UPDATE attachments SET attach_mode = 'null'",
    };

    for (size_t i = 0; i < LENGTH(before); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = begun(world), *volume = volume_of(world);

        ck_assert_int_eq(post_again(world, volume, "h", "ro"), 409);
        ck_assert_int_eq(post_again(world, volume, "other", "rw"), 400);
        world_sql(world, before[i]);
        for (int times = 0; times < 2; times++) {
            ck_assert_int_eq(post_again(world, volume, "h", "rw"), 200);
            ck_assert_str_eq(world_answer_id(world, "attachment"), id);
            ck_assert_ptr_nonnull(strstr(world->answer_text, "\"driver_volume_type\""));
            expect_connections(world, id, 0);
        }
    }
}
END_TEST

static const char *connecting; /* the volume, until its request is repeated */

static struct fault_decision repeat_meanwhile(void *arg, const char *call, const char *volume_id) {
    struct world *world = arg;

    if (strcmp(call, "connect") == 0 && connecting) {
        connecting = NULL;
        world->may_wait = true;
        ck_assert_int_eq(post_again(world, arena_text(world->arena, volume_id), "h", "rw"), 0);
        world->may_wait = false;
    }
    return (struct fault_decision){ .action = FAULT_PASS };
}

/* However long the backend takes: nothing begins anew. */
START_TEST(a_repeated_request_waits_for_a_connection_in_progress) {
    autoworld struct world *world = world_new(NULL);
    const char *id;

    connecting = "any";
    world->decide = repeat_meanwhile;
    id = begun(world);
    ck_assert_ptr_null(connecting);
    api_operations_ended(world->api);
    ck_assert_int_eq(test_exchange_await(world->abandoned), 200);
    ck_assert_ptr_nonnull(strstr(test_exchange_of(world->abandoned)->reply_body, id));
    expect_connections(world, id, 0);
}
END_TEST

START_TEST(a_shared_volume_is_attached_to_several_hosts_at_once) {
    autoworld struct world *world = world_new(NULL);
    const char *id = begun(world), *volume = volume_of(world);

    world_sql(world, "UPDATE volumes SET multiattach = 1");
    ck_assert_int_eq(world_call(world, "POST", "/attachments",
                                arena_format(world->arena,
                                             "{\"attachment\": {\"volume_uuid\": \"%s\", "
                                             "\"connector\": {\"host\": \"i\"}}}",
                                             volume)),
                     400);
    ck_assert_int_eq(post_again(world, volume, "i", "rw"), 200);
    expect_connections(world, id, 1);
    expect_connections(world, world_answer_id(world, "attachment"), 1);
    ck_assert_str_eq(world_status(world, volume), "attaching");
}
END_TEST

static int complete(struct world *world, const char *attachment, const char *limit) {
    return complete_by_names(world, attachment, NULL, limit);
}

/* A client of the release before sends only the former one, a newer client both. */
START_TEST(both_names_of_the_volume_limit_header_count) {
    autoworld struct world *world = world_new(NULL);
    const char *first = begun(world);

    ck_assert_int_eq(complete_by_names(world, first, "0", NULL), 413);
    ck_assert_int_eq(complete_by_names(world, first, "0", "0"), 413);
    ck_assert_int_eq(complete_by_names(world, first, "0", "1"), 400);
    ck_assert_int_eq(
        world_count(world, "SELECT COUNT(*) FROM attachments WHERE attach_status = 'attached'"), 0);
    ck_assert_int_eq(complete_by_names(world, first, "1", "1"), 204);
}
END_TEST

static void put_config(struct world *world, const char *id, const char *node, int gigabytes) {
    world_sql(world, arena_format(
                         world->arena,
                         "INSERT INTO documents (id, kind, project_id, name, version, "
                         "first_version, generation, metadata, body, status, created_at, size_gb) "
                         "SELECT '%s', 'CStorVolumeConfig', project_id, '%s', 1, 1, 1, '{}', "
                         "'{\"publish\": {\"nodeId\": \"%s\"}}', '{}', 1, %d FROM volumes LIMIT 1",
                         id, id, node, gigabytes));
}

/* A config that was published behind the client's own check; that of a replicated volume counts
 * with this one. */
START_TEST(published_configs_count_for_the_limit_of_a_host) {
    autoworld struct world *world = world_new(NULL);
    const char *first = begun(world);

    put_config(world, "elsewhere", "h2", 1);
    put_config(world, "counted-with-its-volume", "h", 0);
    put_config(world, "here", "h", 1);
    ck_assert_int_eq(complete(world, first, "1"), 413);
    ck_assert_int_eq(complete(world, first, "2"), 204);
}
END_TEST

START_TEST(a_volume_limit_is_a_number) {
    static const char *const limits[] = { "-1",  "",
                                          "x",   "1.5",
                                          "+1",  "0x10",
                                          "1 ",  "9223372036854775808",
                                          "1,2", "-9223372036854775809" };
    autoworld struct world *world = world_new(NULL);
    const char *first = begun(world);

    for (unsigned i = 0; i < LENGTH(limits); i++) {
        ck_assert_int_eq(complete(world, first, limits[i]), 400);
        ck_assert_int_eq(complete_by_names(world, first, limits[i], NULL), 400);
        ck_assert_int_eq(complete_by_names(world, first, limits[i], limits[i]), 400);
    }
    ck_assert_int_eq(complete(world, first, "9223372036854775807"), 204);
    ck_assert_int_eq(complete(world, first, "-1"), 400); /* although it is attached */
    ck_assert_int_eq(
        world_count(world, "SELECT COUNT(*) FROM attachments WHERE attach_status = 'attached'"), 1);
}
END_TEST

START_TEST(a_host_takes_no_more_volumes_than_its_limit) {
    autoworld struct world *world = world_new(NULL);
    const char *first = begun(world), *second = begun(world), *third = begun(world);

    ck_assert_int_eq(complete(world, first, "0"), 413);
    ck_assert_int_eq(complete(world, first, "2"), 204);
    ck_assert_int_eq(complete(world, second, "2"), 204);
    ck_assert_int_eq(complete(world, third, "2"), 413);
    ck_assert_int_eq(
        world_count(world, "SELECT COUNT(*) FROM attachments WHERE attach_status = 'attached'"), 2);
    ck_assert_int_eq(complete(world, first, "1"), 204); /* was so */
    ck_assert_int_eq(detach(world, second), 200);
    ck_assert_int_eq(complete(world, third, "2"), 204);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

START_TEST(an_attached_volume_cannot_be_taken_again) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    world_attach(world, id, WORLD_INSTANCE);
    ck_assert_int_eq(attach(world, id, WORLD_INSTANCE2, NULL), 400);
    ck_assert_int_eq(world_action(world, id, "{\"os-reserve\": null}"), 400);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM attachments"), 1);
}
END_TEST

/* A server that moves to another host has two attachments for a while. */
START_TEST(the_same_instance_may_attach_twice) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1), *first, *second;

    first = world_attach(world, id, WORLD_INSTANCE);
    ck_assert_int_eq(attach(world, id, WORLD_INSTANCE, "{\"host\": \"other\"}"), 200);
    second = world_answer_id(world, "attachment");
    ck_assert_str_eq(world_status(world, id), "in-use");
    ck_assert_int_eq(detach(world, first), 200);
    ck_assert_str_eq(world_status(world, id), "attaching");
    ck_assert_int_eq(detach(world, second), 200);
    ck_assert_str_eq(world_status(world, id), "available");
}
END_TEST

START_TEST(a_connector_without_a_host_is_refused) {
    static const char *const connectors[] = { "{\"host\": 5}", "{\"host\": \"\"}",
                                              "{\"ip\": \"x\"}" };
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    for (unsigned i = 0; i < LENGTH(connectors); i++) {
        ck_assert_int_eq(attach(world, id, WORLD_INSTANCE, connectors[i]), 400);
        ck_assert_str_eq(world_status(world, id), "available");
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM attachments"), 0);
    }
}
END_TEST

START_TEST(a_failed_connect_of_the_backend_is_reported) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    memory_fail_next(world->memory, "connect", ERROR_BACKEND);
    ck_assert_int_eq(attach(world, id, WORLD_INSTANCE, "{\"host\": \"h\"}"), 500);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM attachments WHERE "
                                        "attach_status = 'error_attaching'"),
                     1);
    ck_assert(world_has_message(world, id, "VOLUME_VOLUME_004_021"));
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

/* ---- a backend that holds connections ---- */

#define HOST(name) "{\"host\": \"" name "\"}"

static struct world *world_holding(void) {
    struct world *world = world_new(NULL);

    memory_hold_connections(world->memory);
    world_advance(world, 60); /* as the pool reports */
    return world;
}

static int connect_to(struct world *world, const char *attachment, const char *connector) {
    return world_call(
        world, "PUT", arena_format(world->arena, "/attachments/%s", attachment),
        arena_format(world->arena, "{\"attachment\": {\"connector\": %s}}", connector));
}

static void assert_connected(struct world *world, const char *id, const char *host) {
    const char *connected = memory_connected(world->memory, id);

    ck_assert_str_eq(connected ? connected : "nowhere", host ? host : "nowhere");
}

START_TEST(the_backend_is_notified_of_the_end_of_a_connection) {
    autoworld struct world *world = world_holding();
    const char *id = world_volume(world, 1), *attachment;

    ck_assert_int_eq(attach(world, id, WORLD_INSTANCE, HOST("one")), 200);
    attachment = world_answer_id(world, "attachment");
    assert_connected(world, id, "one");
    ck_assert_int_eq(detach(world, attachment), 200);
    /* The next request waits for that, as nothing has run meanwhile. */
    assert_connected(world, id, "one");
    world->now_us++;
    ck_assert_int_eq(attach(world, id, WORLD_INSTANCE2, HOST("two")), 200);
    attachment = world_answer_id(world, "attachment");
    assert_connected(world, id, "two");
    ck_assert_int_eq(detach(world, attachment), 200);
    world_settle(world);
    assert_connected(world, id, NULL);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

START_TEST(a_connection_of_which_one_attachment_is_left_stays) {
    autoworld struct world *world = world_holding();
    const char *id = world_volume(world, 1), *first, *second;

    ck_assert_int_eq(attach(world, id, WORLD_INSTANCE, HOST("one")), 200);
    first = world_answer_id(world, "attachment");
    world_sql(world, "UPDATE attachments SET attach_status = 'attached'");
    world_sql(world, "UPDATE volumes SET status = 'in-use'");
    ck_assert_int_eq(attach(world, id, WORLD_INSTANCE, HOST("one")), 200);
    second = world_answer_id(world, "attachment");
    ck_assert_int_eq(detach(world, second), 200);
    world_settle(world);
    assert_connected(world, id, "one");
    ck_assert_int_eq(detach(world, first), 200);
    world_settle(world);
    assert_connected(world, id, NULL);
}
END_TEST

/* One instance, too, that moves while it runs. */
START_TEST(a_second_host_is_refused_and_nothing_changes) {
    autoworld struct world *world = world_holding();
    const char *id = world_volume(world, 1), *first, *second;

    ck_assert_int_eq(attach(world, id, WORLD_INSTANCE, HOST("one")), 200);
    first = world_answer_id(world, "attachment");
    world_sql(world, "UPDATE attachments SET attach_status = 'attached'");
    world_sql(world, "UPDATE volumes SET status = 'in-use'");
    ck_assert_int_eq(attach(world, id, WORLD_INSTANCE, HOST("two")), 409);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "connected to another host"));
    ck_assert_ptr_null(strstr(world->answer_text, "one,"));
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM attachments"), 1);
    ck_assert_int_eq(
        world_action(world, id, "{\"os-initialize_connection\": {\"connector\": %s}}", HOST("two")),
        409);
    ck_assert_int_eq(connect_to(world, first, HOST("two")), 409);
    ck_assert_int_eq(attach(world, id, WORLD_INSTANCE, NULL), 200);
    second = world_answer_id(world, "attachment");
    ck_assert_int_eq(connect_to(world, second, HOST("two")), 409);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM attachments WHERE "
                                        "attach_status = 'reserved' AND connector IS NULL"),
                     1);
    world_settle(world);
    assert_connected(world, id, "one");
    ck_assert_str_eq(world_status(world, id), "in-use");
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM messages"), 0);

    /* Once the first has gone the other host has it. */
    ck_assert_int_eq(detach(world, first), 200);
    world->now_us++;
    ck_assert_int_eq(connect_to(world, second, HOST("two")), 200);
    assert_connected(world, id, "two");
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

static void assert_connected_too(struct world *world, const char *id, const char *host) {
    const char *connected = memory_connected_too(world->memory, id);

    ck_assert_str_eq(connected ? connected : "nowhere", host ? host : "nowhere");
}

/* Its volume stays where it is, and goes with the last of its hosts. */
START_TEST(an_instance_moves_where_the_backend_lets_it) {
    autoworld struct world *world = world_holding();
    const char *id = world_volume(world, 1), *first, *second;

    memory_share_connections(world->memory);
    world_advance(world, 60);
    ck_assert_int_eq(attach(world, id, WORLD_INSTANCE, HOST("one")), 200);
    first = world_answer_id(world, "attachment");
    world_sql(world, "UPDATE attachments SET attach_status = 'attached'");
    world_sql(world, "UPDATE volumes SET status = 'in-use'");

    /* Another instance does not, nor a request without its instance, nor the connection itself. */
    ck_assert_int_eq(attach(world, id, WORLD_INSTANCE2, HOST("two")), 400);
    ck_assert_int_eq(
        world_action(world, id, "{\"os-initialize_connection\": {\"connector\": %s}}", HOST("two")),
        409);
    ck_assert_int_eq(connect_to(world, first, HOST("two")), 409);
    assert_connected_too(world, id, NULL);

    /* There, and back again before it has moved. */
    ck_assert_int_eq(attach(world, id, WORLD_INSTANCE, HOST("two")), 200);
    second = world_answer_id(world, "attachment");
    assert_connected(world, id, "one");
    assert_connected_too(world, id, "two");
    ck_assert_str_eq(world_status(world, id), "in-use");
    ck_assert_int_eq(detach(world, second), 200);
    world_settle(world);
    assert_connected(world, id, "one");
    assert_connected_too(world, id, NULL);

    ck_assert_int_eq(attach(world, id, WORLD_INSTANCE, HOST("two")), 200);
    second = world_answer_id(world, "attachment");
    world_sql(world, "UPDATE attachments SET attach_status = 'attached'");
    ck_assert_int_eq(detach(world, first), 200);
    world_settle(world);
    assert_connected(world, id, "one");
    assert_connected_too(world, id, "two");
    ck_assert_int_eq(detach(world, second), 200);
    world_settle(world);
    assert_connected(world, id, NULL);
    assert_connected_too(world, id, NULL);
    ck_assert_str_eq(world_status(world, id), "available");
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

/* Without an attachment that names the connected host. */
START_TEST(a_refusal_of_the_backend_has_a_reason) {
    static const char connect[] = "{\"os-initialize_connection\": {\"connector\": %s}}";
    autoworld struct world *world = world_holding();
    const char *id = world_volume(world, 1);

    ck_assert_int_eq(world_action(world, id, connect, HOST("one")), 200);
    ck_assert_int_eq(world_action(world, id, connect, HOST("two")), 409);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "The volume is connected to another host."));
    world_settle(world);
    assert_connected(world, id, "one");
    memory_fail_next(world->memory, "connect", ERROR_BAD_REQUEST);
    ck_assert_int_eq(world_action(world, id, connect, HOST("one")), 400);
    world_settle(world);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operation_turns"), 0);
    assert_connected(world, id, "one");
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

START_TEST(an_unavailable_backend_is_notified_later) {
    autoworld struct world *world = world_holding();
    const char *id = world_volume(world, 1), *attachment;

    ck_assert_int_eq(attach(world, id, WORLD_INSTANCE, HOST("one")), 200);
    attachment = world_answer_id(world, "attachment");
    memory_fail_next(world->memory, "disconnect", ERROR_UNAVAILABLE);
    ck_assert_int_eq(detach(world, attachment), 200);
    world_settle(world);
    assert_connected(world, id, "one");
    ck_assert_str_eq(world_status(world, id), "available");
    world_advance(world, 60);
    world_settle(world);
    assert_connected(world, id, NULL);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
}
END_TEST

START_TEST(a_waiting_disconnect_serves_later_ends_of_connections) {
    static const char terminate[] = "{\"os-terminate_connection\": {\"connector\": %s}}";
    autoworld struct world *world = world_holding();
    const char *id = world_volume(world, 1), *attachment;

    ck_assert_int_eq(attach(world, id, WORLD_INSTANCE, HOST("one")), 200);
    attachment = world_answer_id(world, "attachment");
    memory_fail_next(world->memory, "disconnect", ERROR_UNAVAILABLE);
    ck_assert_int_eq(detach(world, attachment), 200);
    world_settle(world);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(world_action(world, id, terminate, HOST("one")), 202);
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 1);
    }
    world_advance(world, 60);
    world_settle(world);
    assert_connected(world, id, NULL);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

START_TEST(a_failed_connect_leaves_nothing_connected) {
    autoworld struct world *world = world_holding();
    const char *id = world_volume(world, 1);

    memory_fail_next(world->memory, "connect", ERROR_BACKEND);
    ck_assert_int_eq(
        world_action(world, id, "{\"os-initialize_connection\": {\"connector\": %s}}", HOST("one")),
        500);
    world_settle(world);
    assert_connected(world, id, NULL);
    ck_assert_int_eq(
        world_action(world, id, "{\"os-initialize_connection\": {\"connector\": %s}}", HOST("one")),
        200);
    assert_connected(world, id, "one");
    ck_assert_int_eq(
        world_action(world, id, "{\"os-terminate_connection\": {\"connector\": %s}}", HOST("one")),
        202);
    world_settle(world);
    assert_connected(world, id, NULL);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations WHERE "
                                        "phase <> 'answered'"),
                     0);
}
END_TEST

START_TEST(other_backends_are_not_notified) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    ck_assert_int_eq(attach(world, id, WORLD_INSTANCE, HOST("one")), 200);
    ck_assert_int_eq(detach(world, world_answer_id(world, "attachment")), 200);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
}
END_TEST

START_TEST(volume_actions_attach_and_detach) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    ck_assert_int_eq(world_action(world, id, "{\"os-reserve\": {}}"), 202);
    ck_assert_str_eq(world_status(world, id), "attaching");
    ck_assert_int_eq(world_action(world, id, "{\"os-unreserve\": {}}"), 202);
    ck_assert_str_eq(world_status(world, id), "available");

    ck_assert_int_eq(world_action(world, id, ATTACH(WORLD_INSTANCE, "rw")), 202);
    ck_assert_str_eq(world_status(world, id), "in-use");
    ck_assert_str_eq(metadata_of(world, id, "attached_mode"), "rw");
    ck_assert_str_eq(metadata_of(world, id, "readonly"), "False");
    /* again: the same */
    ck_assert_int_eq(world_action(world, id, ATTACH(WORLD_INSTANCE, "rw")), 202);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM attachments"), 1);
    ck_assert_int_eq(world_action(world, id, ATTACH(WORLD_INSTANCE2, "rw")), 400);

    ck_assert_int_eq(world_action(world, id, "{\"os-begin_detaching\": {}}"), 202);
    ck_assert_str_eq(world_status(world, id), "detaching");
    ck_assert_int_eq(world_action(world, id, "{\"os-roll_detaching\": {}}"), 202);
    ck_assert_str_eq(world_status(world, id), "in-use");
    ck_assert_int_eq(world_action(world, id, "{\"os-detach\": {}}"), 202);
    ck_assert_str_eq(world_status(world, id), "available");
    ck_assert_ptr_null(metadata_of(world, id, "attached_mode"));
}
END_TEST

START_TEST(a_read_only_volume_attaches_read_only) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    ck_assert_int_eq(world_action(world, id, "{\"os-update_readonly_flag\": {\"readonly\": true}}"),
                     202);
    ck_assert_int_eq(world_action(world, id, ATTACH(WORLD_INSTANCE, "rw")), 400);
    ck_assert_str_eq(world_status(world, id), "available");
    ck_assert_int_eq(world_action(world, id, ATTACH(WORLD_INSTANCE, "ro")), 202);
    ck_assert_int_eq(
        world_action(world, id, "{\"os-update_readonly_flag\": {\"readonly\": false}}"), 400);
}
END_TEST

START_TEST(a_detach_names_its_attachment) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1), *other = world_volume(world, 1), *foreign;

    world_sql(world, "UPDATE volumes SET multiattach = 1");
    world_attach(world, id, WORLD_INSTANCE);
    world_attach(world, id, WORLD_INSTANCE2);
    foreign = world_attach(world, other, WORLD_INSTANCE);

    ck_assert_int_eq(world_action(world, id, "{\"os-detach\": {}}"), 409);
    ck_assert_int_eq(
        world_action(world, id, "{\"os-detach\": {\"attachment_id\": \"%s\"}}", foreign), 400);
    ck_assert_int_eq(world_action(world, id,
                                  "{\"os-detach\": {\"attachment_id\": "
                                  "\"00000000-0000-4000-8000-000000000000\"}}"),
                     409);
    ck_assert_str_eq(world_status(world, id), "in-use");
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM attachments"), 3);
}
END_TEST

START_TEST(an_attached_volume_is_not_deleted) {
    autoworld struct world *world = world_new(NULL);
    autoarena struct arena *arena = arena_new();
    const char *id = world_volume(world, 1);

    world_attach(world, id, WORLD_INSTANCE);
    ck_assert_int_eq(world_call(world, "DELETE", arena_format(arena, "/volumes/%s", id), NULL),
                     400);
    ck_assert_int_eq(
        world_call(world, "DELETE", arena_format(arena, "/volumes/%s?force=true", id), NULL), 400);
    ck_assert_str_eq(world_status(world, id), "in-use");
    ck_assert_int_ge(world_real_gb(world, id), 1);
}
END_TEST

START_TEST(a_forced_delete_replaces_a_create) {
    autoworld struct world *world = world_new(NULL);
    autoarena struct arena *arena = arena_new();
    const char *id;

    ck_assert_int_eq(world_call(world, "POST", "/volumes", "{\"volume\": {\"size\": 1}}"), 202);
    id = world_answer_id(world, "volume");
    ck_assert_int_eq(world_call(world, "DELETE", arena_format(arena, "/volumes/%s", id), NULL),
                     400);
    ck_assert_int_eq(
        world_call(world, "DELETE", arena_format(arena, "/volumes/%s?force=true", id), NULL), 202);
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "gone");
    ck_assert_int_eq(world_in_use(world, "volumes"), 0);
    assert_settled(world);
}
END_TEST

/* The delete waits for the worker that is in the middle of the create, and not a moment longer. */
static const char *interrupted;

static struct fault_decision delete_in_the_middle(void *arg, const char *call,
                                                  const char *volume_id) {
    struct world *world = arg;
    autoarena struct arena *arena = arena_new();

    if (strcmp(call, "create_volume") == 0 && !interrupted) {
        interrupted = arena_text(world->arena, volume_id);
        ck_assert_int_eq(world_call(world, "DELETE",
                                    arena_format(arena, "/volumes/%s?force=true", volume_id), NULL),
                         202);
    }
    return (struct fault_decision){ .action = FAULT_PASS };
}

START_TEST(a_forced_delete_begins_when_the_create_has_ended) {
    autoworld struct world *world = world_new(NULL);

    interrupted = NULL;
    world->decide = delete_in_the_middle;
    ck_assert_int_eq(world_call(world, "POST", "/volumes", "{\"volume\": {\"size\": 1}}"), 202);
    world_settle(world);

    ck_assert_ptr_nonnull(interrupted);
    ck_assert_str_eq(world_status(world, interrupted), "gone");
    ck_assert_int_eq(world_real_gb(world, interrupted), -1);
    assert_settled(world);
}
END_TEST

START_TEST(a_failed_create_and_delete_are_reported) {
    autoworld struct world *world = world_new(NULL);
    autoarena struct arena *arena = arena_new();
    const char *id, *other;

    memory_fail_next(world->memory, "create_volume", ERROR_BACKEND);
    id = world_volume(world, 1);
    ck_assert_str_eq(world_status(world, id), "error");
    ck_assert(world_has_message(world, id, "VOLUME_VOLUME_008_012"));
    memory_fail_next(world->memory, "create_volume", ERROR_BAD_REQUEST);
    other = world_volume(world, 1);
    ck_assert(world_has_message(world, other, "VOLUME_VOLUME_008_913"));

    memory_fail_next(world->memory, "delete_volume", ERROR_BACKEND);
    ck_assert_int_eq(world_call(world, "DELETE", arena_format(arena, "/volumes/%s", id), NULL),
                     202);
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "error_deleting");
    ck_assert(world_has_message(world, id, "VOLUME_VOLUME_901_901"));
    ck_assert_int_eq(world_in_use(world, "volumes"), 2);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

/* ---- deletes that fail ---- */

static enum fault_action of_delete;
static unsigned deletes_left; /* so many are bad */
static bool unreadable;

static struct fault_decision bad_deletes(void *arg, const char *call, const char *volume_id) {
    struct fault_decision decision = { .action = FAULT_PASS };

    (void)arg, (void)volume_id;
    if (strcmp(call, "get_size") == 0 && unreadable)
        decision.action = FAULT_BEFORE;
    if (strcmp(call, "delete_volume") == 0 && deletes_left > 0) {
        deletes_left--;
        decision.action = of_delete;
    }
    return decision;
}

static const char *delete_badly(struct world *world, enum fault_action action, unsigned times) {
    autoarena struct arena *arena = arena_new();
    const char *id = world_volume(world, 1);

    of_delete = action;
    deletes_left = times;
    unreadable = false;
    world->decide = bad_deletes;
    ck_assert_int_eq(world_call(world, "DELETE", arena_format(arena, "/volumes/%s", id), NULL),
                     202);
    return id;
}

START_TEST(a_finished_delete_reported_as_failed_is_done) {
    static const unsigned times[] = { 1, 2, 1000 };

    for (unsigned i = 0; i < LENGTH(times); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = delete_badly(world, FAULT_AFTER, times[i]);

        world_settle(world);
        ck_assert_str_eq(world_status(world, id), "deleting"); /* until the driver is sure, too */
        for (int looks = 0; looks < 30; looks++) {
            world_advance(world, 61);
            world_settle(world);
        }
        ck_assert_str_eq(world_status(world, id), "gone");
        ck_assert_int_eq(world_in_use(world, "volumes"), 0);
        assert_settled(world);
    }
}
END_TEST

/* As of files whose volume has none that is found any more. */
START_TEST(a_delete_that_leaves_a_file_is_not_done) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    ck_assert(memory_remove(world->memory, id));
    for (int forced = 0; forced <= 1; forced++) {
        const char *path =
            arena_format(world->arena, "/volumes/%s%s", id, forced ? "?force=true" : "");

        ck_assert_int_eq(world_call(world, "DELETE", path, NULL), 202);
        for (int looks = 0; looks <= 30; looks++) {
            if (!forced)
                memory_fail_next(world->memory, "delete_volume", ERROR_CONFLICT);
            world_settle(world);
            world_advance(world, 61);
        }
        ck_assert_str_eq(world_status(world, id), forced ? "gone" : "error_deleting");
        ck_assert_int_eq(world_in_use(world, "volumes"), !forced);
    }
    assert_settled(world);
}
END_TEST

START_TEST(a_failed_delete_leaves_the_object_or_an_unknown_state) {
    autoworld struct world *world = world_new(NULL);
    const char *id = delete_badly(world, FAULT_BEFORE, 1);

    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "error_deleting");
    ck_assert_int_eq(world_real_gb(world, id), 1);
    assert_settled(world);

    id = delete_badly(world, FAULT_AFTER, 1);
    unreadable = true;
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "error_deleting");
    ck_assert(world_has_message(world, id, "VOLUME_VOLUME_901_901"));
    ck_assert_int_eq(world_in_use(world, "volumes"), 2);
}
END_TEST

START_TEST(death_at_any_effect_of_create_and_delete_loses_nothing) {
    for (int64_t effects = 0; effects < 24; effects++) {
        autoworld struct world *world = world_new(NULL);
        autoarena struct arena *arena = arena_new();
        const char *id;
        int created, deleted = 0;

        world_die_after(world, effects);
        created = world_call(world, "POST", "/volumes", "{\"volume\": {\"size\": 1}}");
        id = created == 202 ? world_answer_id(world, "volume") : NULL;
        world_settle(world);
        if (id && !world->dead)
            deleted = world_call(world, "DELETE", arena_format(arena, "/volumes/%s", id), NULL);
        world_settle(world);
        world_restart(world);
        world_settle(world);
        if (deleted == 202)
            ck_assert_str_eq(world_status(world, id), "gone");
        else if (created == 202 && strcmp(world_status(world, id), "gone") != 0)
            ck_assert_str_eq(world_status(world, id), "available");
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
        ck_assert_int_eq(world_check(world), 0);
    }
}
END_TEST

/* ---- volumes without storage ---- */

static const char *failing_call;

static struct fault_decision fails(void *arg, const char *call, const char *volume_id) {
    (void)arg, (void)volume_id;
    return (struct fault_decision){ .action = strcmp(call, failing_call) == 0 ? FAULT_BEFORE
                                                                              : FAULT_PASS };
}

/* Its create has failed. */
static const char *without_storage(struct world *world) {
    const char *id;

    failing_call = "create_volume";
    world->decide = fails;
    ck_assert_int_eq(world_call(world, "POST", "/volumes", "{\"volume\": {\"size\": 1}}"), 202);
    id = world_answer_id(world, "volume");
    world_settle(world);
    world->decide = NULL;
    ck_assert_str_eq(world_status(world, id), "error");
    return id;
}

#define RESET(status) "{\"os-reset_status\": {\"status\": \"" status "\"}}"

/* Operations that end one write the status that follows from the attachments. */
static const char *const endings[] = {
    "{\"os-detach\": {}}",
    "{\"os-force_detach\": {\"connector\": null}}",
    "{\"os-unreserve\": null}",
    "{\"os-roll_detaching\": null}",
    "{\"os-terminate_connection\": {\"connector\": null}}",
};

START_TEST(a_volume_without_storage_becomes_neither_available_nor_in_use) {
    static const char *const before[] = { "error", "attaching", "detaching", "error_extending" };

    for (unsigned i = 0; i < LENGTH(before); i++)
        for (unsigned j = 0; j < LENGTH(endings); j++) {
            autoworld struct world *world = world_new(NULL);
            const char *id = without_storage(world), *status;

            world_sql(world,
                      arena_format(world->arena, "UPDATE volumes SET status = '%s'", before[i]));
            ck_assert_int_eq(world_action(world, id, "%s", endings[j]), 202);
            status = world_status(world, id);
            ck_assert_msg(strcmp(status, "available") != 0 && strcmp(status, "in-use") != 0,
                          "%s behind %s: %s", endings[j], before[i], status);
        }
}
END_TEST

/* Also where an older API has reset it to available. */
START_TEST(a_volume_without_storage_is_attached_nowhere) {
    static const char *const actions[] = {
        "{\"os-reserve\": null}",
        ATTACH(WORLD_INSTANCE, "rw"),
        "{\"os-initialize_connection\": {\"connector\": {\"host\": \"h\"}}}",
    };
    autoworld struct world *world = world_new(NULL);
    const char *id = without_storage(world);

    world_sql(world, "UPDATE volumes SET status = 'available'");
    for (unsigned i = 0; i < LENGTH(actions); i++) {
        ck_assert_int_eq(world_action(world, id, "%s", actions[i]), 400);
        ck_assert_ptr_nonnull(strstr(world->answer_text, "has no storage"));
    }
    ck_assert_int_eq(attach(world, id, WORLD_INSTANCE, NULL), 400);
    ck_assert_int_eq(attach(world, id, WORLD_INSTANCE, "{\"host\": \"h\"}"), 400);
    ck_assert_str_eq(world_status(world, id), "available");
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM attachments"), 0);
    ck_assert_int_gt(world_check(world), 0);
    ck_assert_int_eq(world_action(world, id, RESET("error")), 202);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

/* Its storage may be gone, wholly or in part. */
START_TEST(a_volume_whose_delete_failed_stays_so) {
    for (unsigned i = 0; i < LENGTH(endings); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = world_volume(world, 1);
        autoarena struct arena *arena = arena_new();

        failing_call = "delete_volume";
        world->decide = fails;
        ck_assert_int_eq(world_call(world, "DELETE", arena_format(arena, "/volumes/%s", id), NULL),
                         202);
        world_settle(world);
        ck_assert_str_eq(world_status(world, id), "error_deleting");
        world->decide = NULL;
        ck_assert_int_eq(world_action(world, id, "%s", endings[i]), 202);
        ck_assert_str_eq(world_status(world, id), "error_deleting");
    }
}
END_TEST

CHECK_MAIN("attach", an_instance_moves_where_the_backend_lets_it, status_follows_the_attachment,
           support_for_discard_is_reported, a_host_takes_no_more_volumes_than_its_limit,
           both_names_of_the_volume_limit_header_count, a_volume_limit_is_a_number,
           published_configs_count_for_the_limit_of_a_host,
           a_complete_attachment_is_not_deleted_as_incomplete,
           a_repeated_request_continues_the_attachment_of_its_host,
           a_repeated_request_waits_for_a_connection_in_progress,
           a_shared_volume_is_attached_to_several_hosts_at_once,

           an_attached_volume_cannot_be_taken_again, the_same_instance_may_attach_twice,
           a_connector_without_a_host_is_refused, a_failed_connect_of_the_backend_is_reported,
           the_backend_is_notified_of_the_end_of_a_connection,
           a_connection_of_which_one_attachment_is_left_stays,
           a_second_host_is_refused_and_nothing_changes, a_refusal_of_the_backend_has_a_reason,
           an_unavailable_backend_is_notified_later,
           a_waiting_disconnect_serves_later_ends_of_connections,
           a_failed_connect_leaves_nothing_connected, other_backends_are_not_notified,
           volume_actions_attach_and_detach, a_read_only_volume_attaches_read_only,
           a_detach_names_its_attachment, an_attached_volume_is_not_deleted,
           a_forced_delete_replaces_a_create, a_forced_delete_begins_when_the_create_has_ended,
           a_failed_create_and_delete_are_reported, a_finished_delete_reported_as_failed_is_done,
           a_delete_that_leaves_a_file_is_not_done,
           a_failed_delete_leaves_the_object_or_an_unknown_state,
           death_at_any_effect_of_create_and_delete_loses_nothing,
           a_volume_without_storage_becomes_neither_available_nor_in_use,
           a_volume_without_storage_is_attached_nowhere, a_volume_whose_delete_failed_stays_so)
