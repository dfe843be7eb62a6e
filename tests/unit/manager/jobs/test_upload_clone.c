/*
 * Raw images whose content is a clone of the volume: the requests to the image service, the owner
 * of the clone, and that the clone exists exactly as long as the image service may name it.  The
 * image service is a script, and the storage the memory driver.
 */
#include "client/images.h"
#include "common/cleanup.h"
#include "identity/own_user.h"
#include "tests/lib/check_main.h"
#include "tests/lib/images.h"
#include "tests/lib/memory_guests.h"
#include "tests/lib/script_server.h"

#include <stdio.h>

#define UPLOAD                                                               \
    "{\"os-volume_upload_image\": {\"image_name\": \"i\", \"force\": true, " \
    "\"disk_format\": \"%s\"}}"
#define RESET              "{\"os-reset_status\": {\"status\": \"error\"}}"
#define BY_ID              "/v2/images/" IMAGES_ID
#define LOCATIONS          BY_ID "/locations"
#define DATA               BY_ID "/file"
#define DESCRIBED(members) "{\"id\": \"" IMAGES_ID "\", " members "}"
#define QUEUED             DESCRIBED("\"status\": \"queued\"")
#define INTERNAL           "00000000000000000000000000000001"
#define IS_CLONE           "display_name = 'image-" IMAGES_ID "'"

struct fixture {
    struct world *world;
    struct script_server *server;
    struct config *config;
    struct images *images;
    const char *id;    /* of the volume */
    char active[1024]; /* the image, once it has a place */
};

static void add(struct fixture *fixture, const char *method, const char *path, int status,
                const char *body) {
    script_server_add(fixture->server, &(struct script_rule){ method, path, status, .body = body });
}

/* Without an image, and deletes succeed. */
static void answer_none(struct fixture *fixture) {
    script_server_clear(fixture->server);
    add(fixture, "GET", BY_ID, 404, "");
    add(fixture, "DELETE", BY_ID, 204, "");
}

static void forget_image(void *fixture) {
    answer_none(fixture);
}

/* The image from now on, until it is deleted. */
static void answer_image(struct fixture *fixture, const char *image) {
    script_server_clear(fixture->server);
    add(fixture, "GET", BY_ID, 200, image);
    script_server_add(fixture->server,
                      &(struct script_rule){ "DELETE", BY_ID, 204, .body = "",
                                             .before = forget_image, .arg = fixture });
}

static void begin(struct fixture *fixture, const struct world_settings *settings) {
    static const struct option *const tables[] = { images_options, own_user_options, NULL };
    struct world *world = fixture->world = world_new(settings);
    char servers[128];
    struct error err;

    fixture->server = script_server_new();
    snprintf(servers, sizeof(servers), "--glance_api_servers=%s",
             script_server_url(fixture->server));
    ck_assert_int_eq(config_load(tables, NULL,
                                 (const char *const[]){ servers, "--glance_num_retries=0", NULL },
                                 &fixture->config, &err),
                     0);
    ck_assert_int_eq(images_new(fixture->config, &fixture->images, &err), 0);
    world->images = fixture->images;
    world->backends[0].clones_uploads = true;
    world->settings.enable_force_upload = true;
    world_restart(world);
    fixture->id = world_volume(world, 2);
    ck_assert(memory_write(world->memory, fixture->id, 7));
    images_begin(world);
    answer_image(fixture, QUEUED);
}

static void end(struct fixture *fixture) {
    ck_assert_int_eq(world_count(fixture->world, "SELECT COUNT(*) FROM operations"), 0);
    ck_assert_int_eq(world_reserved(fixture->world, "gigabytes"), 0);
    ck_assert_int_eq(world_check(fixture->world), 0);
    world_free(fixture->world);
    images_free(fixture->images);
    config_free(fixture->config);
    script_server_free(fixture->server);
}

static void settle_for_minutes(struct world *world) {
    for (int i = 0; i < 6; i++) {
        world_settle(world);
        world_advance(world, 31);
    }
}

static void upload(struct fixture *fixture) {
    ck_assert_int_eq(world_action(fixture->world, fixture->id, UPLOAD, "raw"), 202);
    settle_for_minutes(fixture->world);
}

/* Bytes were sent, in vain: the script keeps none. */
static void serve_data(struct fixture *fixture) {
    script_server_add(fixture->server,
                      &(struct script_rule){ "PUT", DATA, .manner = SCRIPT_CLOSE });
}

/* Of a project; NULL: there is none. */
static const char *clone_of(struct world *world, const char *project) {
    const json_t *rows;

    ck_assert_int_eq(
        world_call(world, "GET",
                   arena_format(world->arena,
                                "/volumes?all_tenants=1&name=image-" IMAGES_ID "&project_id=%s",
                                project),
                   NULL),
        200);
    rows = json_object_get(world->answer, "volumes");
    ck_assert_uint_le(json_array_size(rows), 1);
    return json_array_size(rows) == 0
               ? NULL
               : arena_text(world->arena, json_text_of(json_array_get(rows, 0), "id"));
}

static int64_t clones(struct world *world) {
    return world_count(world, "SELECT COUNT(*) FROM volumes WHERE " IS_CLONE);
}

static unsigned sent(const struct fixture *fixture, const char *method, const char *path) {
    return script_server_count(fixture->server, method, path);
}

static void assert_former(struct fixture *fixture, const char *status) {
    ck_assert_str_eq(world_status(fixture->world, fixture->id), status);
    ck_assert_int_eq(memory_read(fixture->world->memory, fixture->id), 7);
}

static bool has_failed(struct fixture *fixture) {
    return world_has_message(fixture->world, fixture->id, "VOLUME_VOLUME_003_004");
}

/* The place of the content, as the request names it. */
static const char *place_of(struct world *world, const char *clone) {
    return arena_join(world->arena, "\"cinder://", clone, "\"", NULL);
}

static void assert_clone(struct world *world, const char *clone) {
    const json_t *volume = world_show(world, clone), *metadata;

    metadata = json_object_get(volume, "metadata");
    ck_assert_str_eq(json_text_of(volume, "status"), "available");
    ck_assert(json_text_is(metadata, "image_owner", WORLD_PROJECT));
    ck_assert(json_text_is(metadata, "glance_image_id", IMAGES_ID));
    ck_assert_int_eq(memory_read(world->memory, clone), 7);
    ck_assert_int_eq(world_size(world, clone), 2);
    /* it can be read by a guest, and not changed */
    ck_assert_int_eq(world_action(world, clone,
                                  "{\"os-attach\": {\"instance_uuid\": \"" WORLD_INSTANCE
                                  "\", \"mountpoint\": \"/dev/vdb\", \"mode\": \"rw\"}}"),
                     400);
}

START_TEST(a_clone_is_the_place_of_the_content) {
    for (int attached = 0; attached <= 1; attached++) {
        struct fixture fixture;
        struct world *world;
        const char *clone;

        begin(&fixture, NULL);
        world = fixture.world;
        if (attached)
            world_attach(world, fixture.id, WORLD_INSTANCE);
        add(&fixture, "POST", LOCATIONS, 202, "");
        upload(&fixture);
        assert_former(&fixture, attached ? "in-use" : "available");
        ck_assert(!has_failed(&fixture));
        clone = clone_of(world, WORLD_PROJECT);
        ck_assert_ptr_nonnull(clone);
        assert_clone(world, clone);
        ck_assert_uint_eq(sent(&fixture, "POST", LOCATIONS), 1);
        ck_assert_ptr_nonnull(
            strstr(script_server_request(fixture.server, "POST", LOCATIONS, 0)->body,
                   place_of(world, clone)));
        ck_assert_uint_eq(sent(&fixture, "PUT", NULL), 0);
        ck_assert_int_eq(world_in_use(world, "volumes"), 2);
        ck_assert_int_eq(world_in_use(world, "gigabytes"), 4);
        end(&fixture);
    }
}
END_TEST

/* Also for an administrator, and without the metadata that its project may delete. */
START_TEST(a_clone_keeps_its_content_and_its_project) {
    struct fixture fixture;
    struct world *world;
    const char *clone, *snapshot, *actions[3];

    begin(&fixture, NULL);
    world = fixture.world;
    add(&fixture, "POST", LOCATIONS, 202, "");
    upload(&fixture);
    clone = clone_of(world, WORLD_PROJECT);
    ck_assert_int_eq(world_call(world, "PUT",
                                arena_format(world->arena, "/volumes/%s/metadata", clone),
                                "{\"metadata\": {}}"),
                     200);
    ck_assert_int_eq(
        world_call(world, "POST", "/snapshots",
                   arena_format(world->arena, "{\"snapshot\": {\"volume_id\": \"%s\"}}", clone)),
        202);
    snapshot = world_answer_id(world, "snapshot");
    world_settle(world);
    actions[0] = "{\"os-update_readonly_flag\": {\"readonly\": false}}";
    actions[1] = "{\"os-reimage\": {\"image_id\": \"" IMAGES_ID "\"}}";
    actions[2] = arena_format(world->arena, "{\"revert\": {\"snapshot_id\": \"%s\"}}", snapshot);
    for (size_t i = 0; i < LENGTH(actions); i++) {
        ck_assert_int_eq(world_action(world, clone, "%s", actions[i]), 400);
        ck_assert_ptr_nonnull(strstr(world->answer_text, "is the content of image " IMAGES_ID));
    }
    ck_assert_int_eq(
        world_call(world, "POST", "/volume-transfers",
                   arena_format(world->arena, "{\"transfer\": {\"volume_id\": \"%s\"}}", clone)),
        400);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "is the content of image " IMAGES_ID));
    ck_assert_int_eq(
        world_action(world, clone, "{\"os-update_readonly_flag\": {\"readonly\": true}}"), 202);
    ck_assert_str_eq(world_status(world, clone), "available");
    ck_assert_int_eq(memory_read(world->memory, clone), 7);
    end(&fixture);
}
END_TEST

START_TEST(an_image_service_without_locations_gets_a_member) {
    static const int without[] = { 404, 405, 501 };

    for (size_t i = 0; i < LENGTH(without); i++) {
        const struct script_request *request;
        struct fixture fixture;
        const char *clone;

        begin(&fixture, NULL);
        add(&fixture, "POST", LOCATIONS, without[i], "");
        add(&fixture, "PATCH", BY_ID, 200, DESCRIBED("\"status\": \"active\""));
        upload(&fixture);
        assert_former(&fixture, "available");
        ck_assert(!has_failed(&fixture));
        clone = clone_of(fixture.world, WORLD_PROJECT);
        ck_assert_ptr_nonnull(clone);
        request = script_server_request(fixture.server, "PATCH", BY_ID, 0);
        ck_assert(script_request_has(request, "Content-Type",
                                     "application/openstack-images-v2.1-json-patch"));
        ck_assert(!script_request_has(request, "Content-Type", "application/json"));
        ck_assert_ptr_nonnull(strstr(request->body, place_of(fixture.world, clone)));
        ck_assert_uint_eq(sent(&fixture, "PUT", NULL), 0);
        end(&fixture);
    }
}
END_TEST

START_TEST(a_clone_of_the_internal_project_counts_there) {
    for (int is_configured = 0; is_configured <= 1; is_configured++) {
        struct fixture fixture;
        struct world *world;
        const char *clone;

        begin(&fixture, NULL);
        world = fixture.world;
        world->backends[0].uploads_internal = true;
        world->settings.internal_project_id = is_configured ? INTERNAL : NULL;
        world->settings.internal_user_id = is_configured ? "internal" : NULL;
        world_restart(world);
        images_begin(world);
        add(&fixture, "POST", LOCATIONS, 202, "");
        upload(&fixture);
        clone = clone_of(world, is_configured ? INTERNAL : WORLD_PROJECT);
        ck_assert_ptr_nonnull(clone);
        assert_clone(world, clone);
        ck_assert_int_eq(world_in_use(world, "volumes"), is_configured ? 1 : 2);
        ck_assert_int_eq(world_count(world,
                                     "SELECT COALESCE(SUM(used), 0) FROM quota_usages WHERE "
                                     "project_id = '" INTERNAL "' AND resource = 'gigabytes'"),
                         is_configured ? 2 : 0);
        end(&fixture);
    }
}
END_TEST

START_TEST(the_bytes_are_sent_where_the_place_is_refused) {
    static const int refusals[] = { 400, 401, 403, 409 };

    for (size_t i = 0; i < LENGTH(refusals); i++) {
        struct fixture fixture;

        begin(&fixture, NULL);
        add(&fixture, "POST", LOCATIONS, refusals[i], "");
        serve_data(&fixture);
        upload(&fixture);
        assert_former(&fixture, "available");
        ck_assert(has_failed(&fixture));
        ck_assert_uint_eq(sent(&fixture, "PUT", DATA), 3);
        ck_assert_uint_eq(sent(&fixture, "POST", LOCATIONS), 1);
        ck_assert_int_eq(clones(fixture.world), 0);
        ck_assert_uint_eq(memory_count(fixture.world->memory), 1);
        ck_assert_int_eq(world_in_use(fixture.world, "volumes"), 1);
        end(&fixture);
    }
}
END_TEST

static void offer_clone(void *arg) {
    struct world *world = arg;
    const char *clone = clone_of(world, WORLD_PROJECT);

    ck_assert_int_eq(
        world_call(world, "POST", "/volume-transfers",
                   arena_format(world->arena, "{\"transfer\": {\"volume_id\": \"%s\"}}", clone)),
        400);
}

/* The clone of an upload that fails is deleted, and never another project's volume. */
START_TEST(a_clone_is_not_transferred_during_its_upload) {
    struct fixture fixture;

    begin(&fixture, NULL);
    script_server_add(fixture.server,
                      &(struct script_rule){ "POST", LOCATIONS, 403, .body = "",
                                             .before = offer_clone, .arg = fixture.world });
    serve_data(&fixture);
    upload(&fixture);
    assert_former(&fixture, "available");
    ck_assert(has_failed(&fixture));
    ck_assert_uint_eq(sent(&fixture, "POST", LOCATIONS), 1);
    ck_assert_int_eq(clones(fixture.world), 0);
    end(&fixture);
}
END_TEST

static void snapshot_clone(void *arg) {
    struct world *world = arg;
    const char *clone = clone_of(world, WORLD_PROJECT);

    ck_assert_int_eq(
        world_call(world, "POST", "/snapshots",
                   arena_format(world->arena, "{\"snapshot\": {\"volume_id\": \"%s\"}}", clone)),
        202);
}

START_TEST(a_clone_with_a_snapshot_is_the_content_of_no_failed_image) {
    struct fixture fixture;
    const char *clone;

    begin(&fixture, NULL);
    script_server_add(fixture.server,
                      &(struct script_rule){ "POST", LOCATIONS, 403, .body = "",
                                             .before = snapshot_clone, .arg = fixture.world });
    serve_data(&fixture);
    upload(&fixture);
    ck_assert(has_failed(&fixture));
    clone = clone_of(fixture.world, WORLD_PROJECT);
    ck_assert_ptr_nonnull(clone);
    ck_assert_str_eq(world_status(fixture.world, clone), "available");
    ck_assert_int_eq(
        world_action(fixture.world, clone, "{\"os-update_readonly_flag\": {\"readonly\": false}}"),
        202);
    end(&fixture);
}
END_TEST

START_TEST(the_bytes_are_sent_where_no_clone_can_be_made) {
    for (int i = 0; i < 3; i++) {
        const struct world_settings small = { .capacity_gb = 3 };
        struct fixture fixture;

        begin(&fixture, i == 0 ? &small : NULL);
        if (i == 0)
            world_sql(fixture.world, "UPDATE pools SET allocated_gb = 60");
        if (i == 1)
            memory_fail_next(fixture.world->memory, "clone_volume", ERROR_BACKEND);
        if (i == 2) {
            fixture.world->filter.clone_volume = NULL;
            world_restart(fixture.world);
            images_begin(fixture.world);
        }
        serve_data(&fixture);
        upload(&fixture);
        assert_former(&fixture, "available");
        ck_assert(has_failed(&fixture));
        ck_assert_uint_eq(sent(&fixture, "PUT", DATA), 3);
        ck_assert_uint_eq(sent(&fixture, "POST", NULL), 0);
        ck_assert_int_eq(clones(fixture.world), 0);
        ck_assert_int_eq(world_in_use(fixture.world, "volumes"), 1);
        if (i == 0)
            world_sql(fixture.world, "UPDATE pools SET allocated_gb = 2");
        end(&fixture);
    }
}
END_TEST

START_TEST(another_format_or_backend_sends_the_bytes) {
    static const char *const formats[] = { "raw", "qcow2" };

    for (size_t i = 0; i < LENGTH(formats); i++) {
        struct fixture fixture;

        begin(&fixture, NULL);
        fixture.world->backends[0].clones_uploads = i == 1;
        world_restart(fixture.world);
        images_begin(fixture.world);
        serve_data(&fixture);
        ck_assert_int_eq(world_action(fixture.world, fixture.id, UPLOAD, formats[i]), 202);
        settle_for_minutes(fixture.world);
        assert_former(&fixture, "available");
        ck_assert_uint_eq(sent(&fixture, "PUT", DATA), 3);
        ck_assert_uint_eq(sent(&fixture, "POST", NULL), 0);
        end(&fixture);
    }
}
END_TEST

START_TEST(an_upload_above_the_quota_fails_without_an_image) {
    const struct world_settings full = { .quota_gigabytes = 3 };
    struct fixture fixture;

    begin(&fixture, &full);
    upload(&fixture);
    assert_former(&fixture, "available");
    ck_assert(has_failed(&fixture));
    ck_assert_uint_eq(sent(&fixture, "DELETE", BY_ID), 1);
    ck_assert_uint_eq(sent(&fixture, "PUT", NULL), 0);
    ck_assert_int_eq(clones(fixture.world), 0);
    ck_assert_int_eq(world_in_use(fixture.world, "gigabytes"), 2);
    end(&fixture);
}
END_TEST

static void take_place(void *arg) {
    struct fixture *fixture = arg;

    answer_image(fixture, DESCRIBED("\"status\": \"active\", \"size\": 2147483648"));
}

static void begin_import(void *fixture) {
    answer_image(fixture, DESCRIBED("\"status\": \"importing\""));
}

static void withdraw(void *fixture) {
    answer_image(fixture, DESCRIBED("\"status\": \"deactivated\""));
}

static void serve_locations(struct fixture *fixture, enum script_manner manner,
                            void (*arrival)(void *)) {
    script_server_add(fixture->server,
                      &(struct script_rule){ "POST", LOCATIONS, 202, .body = "", .manner = manner,
                                             .before = arrival, .arg = fixture });
}

/* A lost response: the image itself decides. */
START_TEST(a_clone_remains_exactly_where_the_image_service_knows_it) {
    static const struct {
        void (*arrival)(void *);
        bool is_done, has_clone;
    } rows[] = {
        { NULL, false, false },
        { take_place, true, true },
        { begin_import, true, true },
        { withdraw, false, true },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct fixture fixture;

        begin(&fixture, NULL);
        serve_locations(&fixture, SCRIPT_CLOSE, rows[i].arrival);
        upload(&fixture);
        assert_former(&fixture, "available");
        ck_assert(has_failed(&fixture) == !rows[i].is_done);
        ck_assert_int_eq(clones(fixture.world), rows[i].has_clone);
        ck_assert_uint_eq(memory_count(fixture.world->memory), rows[i].has_clone ? 2 : 1);
        ck_assert_uint_eq(sent(&fixture, "DELETE", BY_ID), rows[i].has_clone ? 0 : 1);
        ck_assert_uint_eq(sent(&fixture, "PUT", NULL), 0);
        end(&fixture);
    }
}
END_TEST

static struct fault_decision find_files_in_use(void *arg, const char *call, const char *volume_id) {
    struct world *world = arg;

    (void)volume_id;
    if (strcmp(call, "open_volume_data") != 0)
        return (struct fault_decision){ .action = FAULT_PASS };
    world->decide = NULL;
    world_sql(world, "UPDATE pools SET allocated_gb = 2");
    return (struct fault_decision){ .action = FAULT_BUSY };
}

/* There is space for the clone since then. */
START_TEST(an_upload_that_has_waited_for_files_in_use_lets_its_clone_pass) {
    const struct world_settings small = { .capacity_gb = 3 };
    struct fixture fixture;
    struct world *world;

    begin(&fixture, &small);
    world = fixture.world;
    world_sql(world, "UPDATE pools SET allocated_gb = 60");
    world->decide = find_files_in_use;
    serve_locations(&fixture, SCRIPT_WHOLE, take_place);
    upload(&fixture);
    ck_assert(!world->decide);
    assert_former(&fixture, "available");
    ck_assert(!has_failed(&fixture));
    ck_assert_int_eq(clones(world), 1);
    ck_assert_uint_eq(sent(&fixture, "POST", LOCATIONS), 1);
    end(&fixture);
}
END_TEST

/* The response to an earlier request is missing, or an intermediary has repeated the only one. */
START_TEST(a_refused_place_that_an_earlier_request_registered_keeps_the_clone) {
    static const struct {
        void (*arrival)(void *);
        bool has_earlier, is_done, has_clone;
    } rows[] = {
        { take_place, true, true, true },  { begin_import, true, true, true },
        { take_place, false, true, true }, { withdraw, true, false, true },
        { withdraw, false, false, true },  { NULL, true, false, false },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct fixture fixture;

        begin(&fixture, NULL);
        if (rows[i].has_earlier)
            script_server_add(fixture.server, &(struct script_rule){ "POST", LOCATIONS, 504,
                                                                     .body = "", .times = 1 });
        script_server_add(fixture.server,
                          &(struct script_rule){ "POST", LOCATIONS, 409, .body = "",
                                                 .before = rows[i].arrival, .arg = &fixture });
        upload(&fixture);
        assert_former(&fixture, "available");
        ck_assert(has_failed(&fixture) == !rows[i].is_done);
        ck_assert_int_eq(clones(fixture.world), rows[i].has_clone);
        ck_assert_uint_eq(memory_count(fixture.world->memory), rows[i].has_clone ? 2 : 1);
        ck_assert_uint_eq(sent(&fixture, "DELETE", BY_ID), rows[i].has_clone ? 0 : 1);
        ck_assert_uint_eq(sent(&fixture, "PUT", NULL), 0);
        end(&fixture);
    }
}
END_TEST

/* Its project deletes it. */
START_TEST(no_bytes_are_sent_while_an_earlier_request_may_register_a_deleted_clone) {
    struct fixture fixture;
    const char *clone;

    begin(&fixture, NULL);
    add(&fixture, "POST", LOCATIONS, 504, "");
    ck_assert_int_eq(world_action(fixture.world, fixture.id, UPLOAD, "raw"), 202);
    world_settle(fixture.world);
    clone = clone_of(fixture.world, WORLD_PROJECT);
    ck_assert_ptr_nonnull(clone);
    ck_assert_int_eq(world_call(fixture.world, "DELETE",
                                arena_join(fixture.world->arena, "/volumes/", clone, NULL), NULL),
                     202);
    settle_for_minutes(fixture.world);
    assert_former(&fixture, "available");
    ck_assert(has_failed(&fixture));
    ck_assert_uint_eq(sent(&fixture, "PUT", NULL), 0);
    ck_assert_uint_eq(sent(&fixture, "DELETE", BY_ID), 1);
    ck_assert_int_eq(clones(fixture.world), 0);
    end(&fixture);
}
END_TEST

START_TEST(a_stop_between_any_two_steps_leaves_an_image_with_its_clone) {
    bool died = true;

    for (int effects = 1; died; effects++) {
        struct fixture fixture;
        struct world *world;

        begin(&fixture, NULL);
        world = fixture.world;
        serve_locations(&fixture, SCRIPT_WHOLE, take_place);
        ck_assert_int_eq(world_action(world, fixture.id, UPLOAD, "raw"), 202);
        world_die_after(world, effects);
        world_settle(world);
        died = world->dead;
        world_restart(world);
        images_begin(world);
        settle_for_minutes(world);
        assert_former(&fixture, "available");
        ck_assert(!has_failed(&fixture));
        ck_assert_int_eq(clones(world), 1);
        ck_assert_uint_eq(memory_count(world->memory), 2);
        ck_assert_uint_ge(sent(&fixture, "POST", LOCATIONS), 1);
        ck_assert_uint_eq(sent(&fixture, "PUT", NULL), 0);
        end(&fixture);
    }
    /* the same where the image service refuses */
    died = true;
    for (int effects = 1; died; effects++) {
        struct fixture fixture;
        struct world *world;

        begin(&fixture, NULL);
        world = fixture.world;
        add(&fixture, "POST", LOCATIONS, 403, "");
        serve_data(&fixture);
        ck_assert_int_eq(world_action(world, fixture.id, UPLOAD, "raw"), 202);
        world_die_after(world, effects);
        world_settle(world);
        died = world->dead;
        world_restart(world);
        images_begin(world);
        settle_for_minutes(world);
        assert_former(&fixture, "available");
        ck_assert(has_failed(&fixture));
        ck_assert_int_eq(clones(world), 0);
        ck_assert_uint_eq(memory_count(world->memory), 1);
        end(&fixture);
    }
}
END_TEST

static struct {
    struct world *world;
    const char *id;
} resetting;

static void reset_now(void *arg) {
    (void)arg;
    ck_assert_int_eq(world_action(resetting.world, resetting.id, RESET), 202);
}

static struct fault_decision reset_at_clone(void *arg, const char *call, const char *volume_id) {
    struct world *world = arg;

    (void)volume_id;
    if (strcmp(call, "clone_volume") == 0) {
        world->decide = NULL;
        reset_now(NULL);
    }
    return (struct fault_decision){ .action = FAULT_PASS };
}

START_TEST(an_upload_that_is_reset_leaves_no_clone) {
    for (int registered = 0; registered <= 1; registered++) {
        struct fixture fixture;

        begin(&fixture, NULL);
        resetting.world = fixture.world;
        resetting.id = fixture.id;
        if (registered)
            script_server_add(
                fixture.server,
                &(struct script_rule){ "POST", LOCATIONS, 503, .body = "", .before = reset_now });
        else
            fixture.world->decide = reset_at_clone;
        upload(&fixture);
        assert_former(&fixture, "error");
        ck_assert_int_eq(clones(fixture.world), 0);
        ck_assert_uint_eq(memory_count(fixture.world->memory), 1);
        ck_assert_uint_eq(sent(&fixture, "DELETE", BY_ID), 1);
        end(&fixture);
    }
}
END_TEST

static void suspend_worker(void *arg) {
    struct fixture *fixture = arg;

    take_place(fixture);
    fixture->world->now_us += 300 * INT64_C(1000000);
}

/* Its lease has expired when the response arrives. */
START_TEST(a_worker_suspended_during_the_registration_leaves_the_clone) {
    static const int responses[] = { 202, 503 };

    for (size_t i = 0; i < LENGTH(responses); i++) {
        struct fixture fixture;

        begin(&fixture, NULL);
        script_server_add(fixture.server,
                          &(struct script_rule){ "POST", LOCATIONS, responses[i], .body = "",
                                                 .before = suspend_worker, .arg = &fixture });
        upload(&fixture);
        assert_former(&fixture, "available");
        ck_assert(!has_failed(&fixture));
        ck_assert_int_eq(clones(fixture.world), 1);
        ck_assert_uint_eq(memory_count(fixture.world->memory), 2);
        ck_assert_uint_eq(sent(&fixture, "POST", LOCATIONS), 1);
        ck_assert_uint_eq(sent(&fixture, "PUT", NULL), 0);
        ck_assert_uint_eq(sent(&fixture, "DELETE", NULL), 0);
        end(&fixture);
    }
}
END_TEST

static void reset_and_take_place(void *fixture) {
    reset_now(NULL);
    take_place(fixture);
}

START_TEST(a_reset_during_the_registration_leaves_the_clone_of_an_active_image) {
    struct fixture fixture;

    begin(&fixture, NULL);
    resetting.world = fixture.world;
    resetting.id = fixture.id;
    serve_locations(&fixture, SCRIPT_WHOLE, reset_and_take_place);
    upload(&fixture);
    assert_former(&fixture, "error");
    ck_assert_int_eq(clones(fixture.world), 1);
    ck_assert_uint_eq(memory_count(fixture.world->memory), 2);
    ck_assert_uint_eq(sent(&fixture, "DELETE", NULL), 0);
    end(&fixture);
}
END_TEST

START_TEST(a_registered_clone_remains_without_a_configured_image_service) {
    for (int reset = 0; reset <= 1; reset++) {
        struct fixture fixture;
        struct world *world;

        begin(&fixture, NULL);
        world = fixture.world;
        serve_locations(&fixture, SCRIPT_CLOSE, take_place);
        ck_assert_int_eq(world_action(world, fixture.id, UPLOAD, "raw"), 202);
        world_settle(world);
        ck_assert_str_eq(world_status(world, fixture.id), "uploading");
        world->images = NULL;
        world_restart(world);
        if (reset)
            ck_assert_int_eq(world_action(world, fixture.id, RESET), 202);
        settle_for_minutes(world);
        assert_former(&fixture, reset ? "error" : "available");
        ck_assert(has_failed(&fixture) == !reset);
        ck_assert_int_eq(clones(world), 1);
        ck_assert_uint_eq(memory_count(world->memory), 2);
        end(&fixture);
    }
}
END_TEST

/* ---- the volume of such an image ---- */

static const json_t *find(void *arg, const struct request *request, const char *reference,
                          struct error *err) {
    static const char image[] = DESCRIBED("\"status\": \"active\", \"size\": 2147483648, "
                                          "\"disk_format\": \"raw\", \"container_format\": "
                                          "\"bare\"");

    (void)arg, (void)reference;
    return json_parse(request->http->arena, image, strlen(image), err);
}

START_TEST(a_volume_of_the_image_is_a_clone_without_a_download) {
    for (int internal = 0; internal <= 1; internal++) {
        static struct confirm confirm = { .images = { .find = find } };
        struct fixture fixture;
        struct world *world;
        const char *clone;

        begin(&fixture, NULL);
        world = fixture.world;
        world->settings.clones_image_volumes = true;
        world->settings.internal_project_id = INTERNAL;
        world->settings.internal_user_id = "internal";
        world->backends[0].uploads_internal = internal;
        world_restart(world);
        images_begin(world);
        add(&fixture, "POST", LOCATIONS, 202, "");
        upload(&fixture);
        clone = clone_of(world, internal ? INTERNAL : WORLD_PROJECT);
        ck_assert_ptr_nonnull(clone);
        snprintf(fixture.active, sizeof(fixture.active),
                 DESCRIBED("\"status\": \"active\", \"owner\": \"" WORLD_PROJECT
                           "\", \"locations\": [{\"url\": \"cinder://%s\", \"metadata\": {}}]"),
                 clone);
        answer_image(&fixture, fixture.active);
        ck_assert(memory_write(world->memory, fixture.id, 8)); /* later than the image */
        images_confirm_by(world, &confirm);
        ck_assert_int_eq(world_call(world, "POST", "/volumes",
                                    "{\"volume\": {\"imageRef\": \"x\", \"size\": 2}}"),
                         202);
        fixture.id = world_answer_id(world, "volume");
        world_settle(world);
        assert_former(&fixture, "available");
        ck_assert_uint_eq(sent(&fixture, "GET", DATA), 0);
        end(&fixture);
    }
}
END_TEST

CHECK_MAIN("upload_clone", a_clone_is_the_place_of_the_content,
           an_image_service_without_locations_gets_a_member,
           a_clone_of_the_internal_project_counts_there,
           the_bytes_are_sent_where_the_place_is_refused,
           the_bytes_are_sent_where_no_clone_can_be_made,
           an_upload_that_has_waited_for_files_in_use_lets_its_clone_pass,
           another_format_or_backend_sends_the_bytes,
           an_upload_above_the_quota_fails_without_an_image,
           a_clone_remains_exactly_where_the_image_service_knows_it,
           a_refused_place_that_an_earlier_request_registered_keeps_the_clone,
           no_bytes_are_sent_while_an_earlier_request_may_register_a_deleted_clone,
           a_clone_keeps_its_content_and_its_project, a_clone_is_not_transferred_during_its_upload,
           a_clone_with_a_snapshot_is_the_content_of_no_failed_image,
           a_stop_between_any_two_steps_leaves_an_image_with_its_clone,
           an_upload_that_is_reset_leaves_no_clone,
           a_worker_suspended_during_the_registration_leaves_the_clone,
           a_reset_during_the_registration_leaves_the_clone_of_an_active_image,
           a_registered_clone_remains_without_a_configured_image_service,
           a_volume_of_the_image_is_a_clone_without_a_download)
