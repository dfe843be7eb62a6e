/*
 * Connections given out by os-initialize_connection: nothing removes or replaces a file that was
 * given to a host, which may open it at any moment.
 */
#include "model/attachment/connection.h"

#include "common/cleanup.h"
#include "drivers/memory.h"
#include "tests/lib/exchange.h"
#include "tests/lib/extend.h"
#include "tests/lib/snapshots.h"

#define INITIALIZE(host) "{\"os-initialize_connection\": {\"connector\": {\"host\": \"" host "\"}}}"
#define TERMINATE(host)  "{\"os-terminate_connection\": {\"connector\": {\"host\": \"" host "\"}}}"
#define RESERVE          "{\"os-reserve\": null}"
#define ATTACH \
    "{\"os-attach\": {\"mountpoint\": \"/dev/vdb\", \"instance_uuid\": \"" WORLD_INSTANCE2 "\"}}"

static const char *volume_with_snapshot(struct world *world, const char **ret_snapshot) {
    const char *id = world_volume(world, 2);

    *ret_snapshot = snapshot_of_volume(world, id);
    return id;
}

static int64_t given(struct world *world) {
    return world_count(world, "SELECT COUNT(*) FROM connections");
}

static int drop(struct world *world, const char *snapshot) {
    return world_call(world, "DELETE", PATH("/snapshots/%s", snapshot), NULL);
}

/* Every change of the images below a volume is refused, and changes nothing. */
static void assert_kept(struct world *world, const char *id, const char *snapshot) {
    const char *status = PATH("%s", world_status(world, id));

    ck_assert_int_eq(drop(world, snapshot), 400);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "os-terminate_connection"));
    ck_assert_int_eq(request_snapshot(world, id, ", \"force\": true"), 400);
    ck_assert_int_ge(world_action(world, id, "{\"revert\": {\"snapshot_id\": \"%s\"}}", snapshot),
                     400);
    ck_assert_int_ge(world_action(world, id, "{\"os-reclaim_space\": {}}"), 400);
    ck_assert_int_eq(world_action(world, id, EXTEND(9)), 400);
    ck_assert_int_eq(world_action(world, id, "{\"os-unmanage\": {}}"), 400);
    assert_snapshot(world, snapshot, "available");
    ck_assert_str_eq(world_status(world, id), status);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations WHERE phase <> "
                                        "'answered'"),
                     0);
}

static void assert_free(struct world *world, const char *id, const char *snapshot) {
    ck_assert_int_eq(given(world), 0);
    ck_assert_str_eq(world_status(world, id), "available");
    ck_assert_int_eq(drop(world, snapshot), 202);
    world_settle(world);
    assert_snapshot(world, snapshot, "gone");
    ck_assert_int_eq(world_check(world), 0);
}

START_TEST(a_connection_without_attachment_keeps_every_image) {
    static const char *const begins[] = { NULL, RESERVE };

    for (unsigned i = 0; i < LENGTH(begins); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *snapshot, *id = volume_with_snapshot(world, &snapshot);

        if (begins[i])
            ck_assert_int_eq(world_action(world, id, "%s", begins[i]), 202);
        ck_assert_int_eq(world_action(world, id, INITIALIZE("h1")), 200);
        world_advance(world, 86400);
        assert_kept(world, id, snapshot);
    }
}
END_TEST

/* Where the backend has not answered yet the host may get it at any moment. */
START_TEST(a_connection_counts_from_its_request_on) {
    autoworld struct world *world = world_new(NULL);
    const char *snapshot, *id = volume_with_snapshot(world, &snapshot);

    world->may_wait = true;
    world->decide = NULL;
    world_action(world, id, INITIALIZE("h1"));
    ck_assert_int_eq(given(world), 1);
    ck_assert_int_eq(drop(world, snapshot), 400);
    ck_assert_int_eq(request_snapshot(world, id, ""), 400);
    assert_snapshot(world, snapshot, "available");
}
END_TEST

START_TEST(an_open_change_of_the_images_gives_no_connection) {
    autoworld struct world *world = world_new(NULL);
    const char *snapshot, *id = volume_with_snapshot(world, &snapshot);

    ck_assert_int_eq(request_snapshot(world, id, ""), 202);
    ck_assert_int_eq(world_action(world, id, INITIALIZE("h1")), 400);
    world_settle(world);
    ck_assert_int_eq(drop(world, snapshot), 202);
    ck_assert_int_eq(world_action(world, id, INITIALIZE("h1")), 400);
    world_settle(world);
    ck_assert_int_eq(given(world), 0);
    ck_assert_int_eq(world_action(world, id, INITIALIZE("h1")), 200);
}
END_TEST

START_TEST(the_end_of_a_connection_frees_the_volume) {
    static const struct {
        const char *first, *end;
    } ways[] = {
        { NULL, TERMINATE("h1") },
        { NULL, "{\"os-terminate_connection\": {\"connector\": null}}" },
        { RESERVE, TERMINATE("h1") },
        { RESERVE, "{\"os-unreserve\": null}" },
        { RESERVE, "{\"os-detach\": {}}" },
        { NULL, "{\"os-force_detach\": {\"connector\": null}}" },
        { NULL, "{\"os-reset_status\": {\"status\": \"available\", \"attach_status\": "
                "\"detached\"}}" },
    };

    for (unsigned i = 0; i < LENGTH(ways); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *snapshot, *id = volume_with_snapshot(world, &snapshot);

        if (ways[i].first)
            ck_assert_int_eq(world_action(world, id, "%s", ways[i].first), 202);
        ck_assert_int_eq(world_action(world, id, INITIALIZE("h1")), 200);
        ck_assert_int_eq(world_action(world, id, "%s", ways[i].end), 202);
        assert_free(world, id, snapshot);
    }
}
END_TEST

/* Its host's attachment stands for it then. */
START_TEST(an_attachment_replaces_its_connection) {
    autoworld struct world *world = world_new(NULL);
    const char *snapshot, *id = volume_with_snapshot(world, &snapshot);

    ck_assert_int_eq(world_action(world, id, RESERVE), 202);
    ck_assert_int_eq(world_action(world, id, INITIALIZE("h1")), 200);
    ck_assert_int_eq(world_action(world, id, ATTACH), 202);
    ck_assert_int_eq(given(world), 0);
    ck_assert_str_eq(world_status(world, id), "in-use");
    ck_assert_int_eq(world_action(world, id, "{\"os-detach\": {}}"), 202);
    assert_free(world, id, snapshot);
}
END_TEST

START_TEST(each_host_ends_its_own_connection) {
    autoworld struct world *world = world_new(NULL);
    const char *snapshot, *id = volume_with_snapshot(world, &snapshot);

    ck_assert_int_eq(world_action(world, id, INITIALIZE("h1")), 200);
    ck_assert_int_eq(world_action(world, id, INITIALIZE("h1")), 200); /* requested again: still
                                                                       * one */
    ck_assert_int_eq(world_action(world, id, INITIALIZE("h2")), 200);
    ck_assert_int_eq(given(world), 2);
    ck_assert_int_eq(world_action(world, id, TERMINATE("h1")), 202);
    ck_assert_int_eq(given(world), 1);
    assert_kept(world, id, snapshot);
    ck_assert_int_eq(world_action(world, id, TERMINATE("h2")), 202);
    assert_free(world, id, snapshot);
}
END_TEST

static struct fault_decision no_connect(void *arg, const char *call, const char *volume_id) {
    (void)arg, (void)volume_id;
    return (struct fault_decision){ .action =
                                        strcmp(call, "connect") == 0 ? FAULT_BEFORE : FAULT_PASS };
}

START_TEST(a_refused_connection_counts_for_nothing) {
    autoworld struct world *world = world_new(NULL);
    const char *snapshot, *id = volume_with_snapshot(world, &snapshot);

    world->decide = no_connect;
    ck_assert_int_ge(world_action(world, id, INITIALIZE("h1")), 400);
    world->decide = NULL;
    assert_free(world, id, snapshot);
}
END_TEST

static struct fault_decision ended_meanwhile(void *arg, const char *call, const char *volume_id) {
    struct world *world = arg;

    (void)volume_id;
    if (strcmp(call, "connect") == 0)
        world_sql(world, "DELETE FROM connections");
    return (struct fault_decision){ .action = FAULT_PASS };
}

/* The request still waits, but its connection was ended: it must not get the image. */
START_TEST(a_response_after_the_end_gives_no_connection) {
    autoworld struct world *world = world_new(NULL);
    const char *snapshot, *id = volume_with_snapshot(world, &snapshot);

    world->decide = ended_meanwhile;
    ck_assert_int_eq(world_action(world, id, INITIALIZE("h1")), 409);
    ck_assert_ptr_null(strstr(world->answer_text, "driver_volume_type"));
    world->decide = NULL;
    assert_free(world, id, snapshot);
}
END_TEST

/* Connected before, and not again: the files given out then may still be opened. */
START_TEST(an_attachment_in_error_keeps_its_connection_info) {
    autoworld struct world *world = world_new(NULL);
    const char *snapshot, *id = volume_with_snapshot(world, &snapshot), *attachment;
    const char *connect = "{\"attachment\": {\"connector\": {\"host\": \"h1\"}}}";

    ck_assert_int_eq(world_call(world, "POST", "/attachments",
                                PATH("{\"attachment\": {\"volume_uuid\": \"%s\"}}", id)),
                     200);
    attachment = world_answer_id(world, "attachment");
    ck_assert_int_eq(world_call(world, "PUT", PATH("/attachments/%s", attachment), connect), 200);
    world->decide = no_connect;
    ck_assert_int_ge(world_call(world, "PUT", PATH("/attachments/%s", attachment), connect), 400);
    world->decide = NULL;
    ck_assert_str_eq(world_status(world, id), "available");
    assert_kept(world, id, snapshot);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/attachments/%s", attachment), NULL), 200);
    assert_free(world, id, snapshot);
}
END_TEST

START_TEST(the_connections_of_a_volume_are_bounded) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    world->settings.per_volume_attachments = 3;
    for (unsigned i = 0; i < 3; i++)
        ck_assert_int_eq(world_action(world, id,
                                      "{\"os-initialize_connection\": {\"connector\": {\"host\": "
                                      "\"h%u\"}}}",
                                      i),
                         200);
    ck_assert_int_ge(world_action(world, id, INITIALIZE("more")), 400);
    ck_assert_int_eq(given(world), 3);
}
END_TEST

/* As upstream: its connection ends with it. */
START_TEST(a_connected_volume_may_be_deleted) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    ck_assert_int_eq(world_action(world, id, INITIALIZE("h1")), 200);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s", id), NULL), 202);
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "gone");
    ck_assert_int_eq(given(world), 0);
}
END_TEST

/* The question as an API of before the table of connections puts it. */
static struct fault_decision requested_by_older(void *arg, const char *call,
                                                const char *volume_id) {
    struct world *world = arg;

    if (strcmp(call, "connect") == 0) {
        world_sql(world, "DELETE FROM connections");
        world_sql(world, "UPDATE operations SET arguments = "
                         "REPLACE(arguments, ', \"given\": true', '') WHERE kind = 'connect'");
        world_sql(world, PATH("UPDATE operations SET volume_id = '%s'", volume_id));
    }
    return (struct fault_decision){ .action = FAULT_PASS };
}

START_TEST(a_connection_requested_by_an_older_api_keeps_every_image) {
    autoworld struct world *world = world_new(NULL);
    const char *snapshot, *id = volume_with_snapshot(world, &snapshot);

    world->decide = requested_by_older;
    ck_assert_int_eq(world_action(world, id, INITIALIZE("h1")), 200);
    world->decide = NULL;
    ck_assert_int_eq(given(world), 1);
    assert_kept(world, id, snapshot);
    ck_assert_int_eq(world_action(world, id, TERMINATE("h1")), 202);
    assert_free(world, id, snapshot);
}
END_TEST

/* A manager works on the delete, which the older one does not see. */
START_TEST(an_older_api_gets_no_connection_while_images_change) {
    autoworld struct world *world = world_new(NULL);
    const char *snapshot, *id = volume_with_snapshot(world, &snapshot);

    ck_assert_int_eq(drop(world, snapshot), 202);
    world_sql(world, "UPDATE operations SET volume_id = 'hidden', owner = 'other:1:1', "
                     "lease_until = 9000000000000000000");
    world->decide = requested_by_older;
    ck_assert_int_eq(world_action(world, id, INITIALIZE("h1")), 409);
    world->decide = NULL;
    ck_assert_int_eq(given(world), 0);
}
END_TEST

CHECK_MAIN("connection", a_connection_requested_by_an_older_api_keeps_every_image,
           an_older_api_gets_no_connection_while_images_change,
           a_connection_without_attachment_keeps_every_image,
           a_connection_counts_from_its_request_on,
           an_open_change_of_the_images_gives_no_connection,
           the_end_of_a_connection_frees_the_volume, an_attachment_replaces_its_connection,
           each_host_ends_its_own_connection, a_refused_connection_counts_for_nothing,
           a_response_after_the_end_gives_no_connection,
           an_attachment_in_error_keeps_its_connection_info,
           the_connections_of_a_volume_are_bounded, a_connected_volume_may_be_deleted)
