/*
 * Volumes of images at the API: the order of the checks, the metadata, and images that stand for
 * snapshots.  The bytes are the manager's.
 */
#include "api/confirm.h"
#include "client/images.h"
#include "identity/own_user.h"
#include "rest/router.h"
#include "tests/lib/check_main.h"
#include "tests/lib/images.h"
#include "tests/lib/memory_guests.h"
#include "tests/lib/roles.h"
#include "tests/lib/script_server.h"
#include "tests/lib/world.h"
#include "json/json.h"

#include <string.h>

#define PATH(...) arena_format(world->arena, __VA_ARGS__)
#define ID        "99999999-9999-4999-8999-999999999999"
#define OTHER     "88888888-8888-4888-8888-888888888888"
#define BASE      "\"id\": \"" ID "\", \"status\": \"active\", \"size\": 512"

#define SIGNATURE(value)                                                    \
    ", \"img_signature\": " value ", \"img_signature_hash_method\": " value \
    ", \"img_signature_key_type\": " value ", \"img_signature_certificate_uuid\": " value

/* The image service: the only image that it has, whatever the reference; NULL: none. */
static const char *the_image;
static enum error_kind no_image; /* the error without one */
static unsigned queried;

static const json_t *find(void *arg, const struct request *request, const char *reference,
                          struct error *err) {
    (void)arg, (void)reference;
    queried++;
    if (the_image)
        return json_parse(request->http->arena, the_image, strlen(the_image), err);
    error_set(err, no_image, "Multiple images named 'x' found.");
    return NULL;
}

static void begin(struct world *world, const char *image) {
    static struct confirm confirm = { .images = { .find = find } };

    the_image = image;
    no_image = ERROR_CONFLICT;
    queried = 0;
    images_confirm_by(world, &confirm);
}

static int create(struct world *world, const char *members) {
    return world_call(world, "POST", "/volumes",
                      PATH("{\"volume\": {\"imageRef\": \"x\"%s}}", members));
}

START_TEST(images_that_do_not_fit_are_refused_with_a_reason) {
    static const struct {
        const char *image, *members;
        int status;
        const char *why;
    } rows[] = {
        { "{" BASE "}", ", \"size\": 1", 202, "" },
        { NULL, ", \"size\": 1", 409, "Multiple images" },
        { "{" BASE "}", "", 400, "size" },
        { "{\"id\": \"x\"}", ", \"size\": 1", 400, "without id" },
        { "{\"id\": \"" ID "\", \"status\": \"queued\"}", ", \"size\": 1", 400, "not active" },
        { "{\"id\": \"" ID "\"}", ", \"size\": 1", 400, "not active" },
        { "{" BASE ", \"min_disk\": 2}", ", \"size\": 1", 400, "minDisk size 2GB" },
        { "{" BASE ", \"min_disk\": 2}", ", \"size\": 2", 202, "" },
        { "{" BASE ", \"virtual_size\": 1073741825}", ", \"size\": 1", 400, "virtual size is 2GB" },
        { "{" BASE ", \"virtual_size\": 1073741824}", ", \"size\": 1", 202, "" },
        { "{" BASE ", \"virtual_size\": null}", ", \"size\": 1", 202, "" },
        { "{\"id\": \"" ID "\", \"status\": \"active\", \"size\": 1073741825}", ", \"size\": 1",
          400, "image 2GB" },
        { "{" BASE ", \"cinder_img_volume_type\": \"none\"}", ", \"size\": 1", 404, "none" },
        { "{" BASE ", \"cinder_img_volume_type\": \"none\"}",
          ", \"size\": 1, \"volume_type\": \"__DEFAULT__\"", 202, "" },
        { "{" BASE ", \"os_hash_algo\": \"blake2b\", \"os_hash_value\": \"ab\"}", ", \"size\": 1",
          400, "blake2b" },
        { "{" BASE ", \"cinder_encryption_key_id\": \"k\"}", ", \"size\": 1", 400,
          "encrypted volumes are not supported" },
        { "{" BASE ", \"img_signature\": \"x\"}", ", \"size\": 1", 400, "not all of" },
        { "{" BASE ", \"img_signature\": 1}", ", \"size\": 1", 400, "not all of" },
        { "{" BASE SIGNATURE("\"\"") "}", ", \"size\": 1", 400, "not all of" },
        { "{" BASE SIGNATURE("null") "}", ", \"size\": 1", 202, "" },
    };
    autoworld struct world *world = world_new(NULL);

    world->settings.verify_image_signatures = true;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        begin(world, rows[i].image);
        ck_assert_msg(create(world, rows[i].members) == rows[i].status, "row %zu: %d %s", i,
                      world->status, world->answer_text);
        ck_assert_msg(strstr(world->answer_text, rows[i].why), "row %zu: %s", i,
                      world->answer_text);
        ck_assert_uint_eq(queried, 1);
    }
}
END_TEST

/* The old checksum stands for one that only the image service can compute. */
START_TEST(the_checksum_of_a_known_algorithm_is_compared) {
    static const struct {
        const char *sums, *algorithm, *hash;
    } rows[] = {
        { "\"os_hash_algo\": \"sha512\", \"os_hash_value\": \"ab\"", "sha512", "ab" },
        { "\"os_hash_algo\": \"blake2b\", \"os_hash_value\": \"ab\"", "md5", "cd" },
        { "\"os_hash_algo\": \"sha512\", \"os_hash_value\": null", "md5", "cd" },
    };
    autoworld struct world *world = world_new(NULL);

    for (size_t i = 0; i < LENGTH(rows); i++) {
        begin(world, PATH("{" BASE ", \"checksum\": \"cd\", %s}", rows[i].sums));
        ck_assert_int_eq(create(world, ", \"size\": 1"), 202);
        ck_assert_int_eq(world_count(world, PATH("SELECT COUNT(*) FROM operations WHERE arguments "
                                                 "LIKE '%%\"hash_algorithm\":\"%s\"%%' AND "
                                                 "arguments LIKE '%%\"hash\":\"%s\"%%'",
                                                 rows[i].algorithm, rows[i].hash)),
                         1);
        world_settle(world);
    }
}
END_TEST

START_TEST(a_backend_without_volumes_of_images_gets_none) {
    autoworld struct world *world = world_new(NULL);
    const char *id;

    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM pools WHERE capabilities LIKE "
                                        "'%\"image_support\":true%'"),
                     world_count(world, "SELECT COUNT(*) FROM pools"));
    world_sql(world, "UPDATE pools SET capabilities = '{\"image_support\": false}'");
    begin(world, "{" BASE ", \"disk_format\": \"raw\", \"container_format\": \"bare\"}");
    ck_assert_int_eq(create(world, ", \"size\": 1"), 202);
    id = world_answer_id(world, "volume");
    ck_assert_str_eq(json_text_of(world_show(world, id), "status"), "error");
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volumes WHERE host IS NOT NULL"), 0);
    ck_assert_str_eq(json_text_of(world_show(world, world_volume(world, 1)), "status"),
                     "available");
    world_sql(world, "UPDATE pools SET capabilities = '{}'"); /* of an earlier release */
    world->filter.properties &= ~(unsigned)DRIVER_CONTENT;
    ck_assert_int_eq(create(world, ", \"size\": 1"), 202);
    id = world_answer_id(world, "volume");
    world_settle(world);
    ck_assert(world_has_message(world, id, "VOLUME_VOLUME_005_913"));
}
END_TEST

/* Before anything is downloaded. */
START_TEST(an_image_with_too_long_properties_is_refused) {
    enum { LONG = 200000 };
    autoworld struct world *world = world_new(NULL);
    char *text = arena_alloc(world->arena, LONG + 1);

    memset(text, 'a', LONG);
    text[LONG] = '\0';
    begin(world, PATH("{" BASE ", \"words\": \"%s\"}", text));
    ck_assert_int_eq(create(world, ", \"size\": 1"), 413);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volumes"), 0);
}
END_TEST

START_TEST(without_an_image_service_every_image_is_refused) {
    autoworld struct world *world = world_new(NULL);

    ck_assert_int_eq(create(world, ", \"size\": 1"), 400);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "no image service"));
}
END_TEST

START_TEST(of_several_sources_none_is_taken) {
    autoworld struct world *world = world_new(NULL);
    const char *source;

    begin(world, "{" BASE "}");
    source = world_volume(world, 1);
    ck_assert_int_eq(create(world, PATH(", \"size\": 1, \"source_volid\": \"%s\"", source)), 400);
}
END_TEST

START_TEST(an_image_of_a_snapshot_stands_for_it) {
    static const char format[] =
        "{" BASE ", \"block_device_mapping\": \"[{\\\"boot_index\\\": 0, \\\"source_type\\\": "
        "\\\"snapshot\\\", \\\"snapshot_id\\\": \\\"%s\\\"}]\"}";
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1), *snapshot, *id;

    ck_assert_int_eq(world_call(world, "POST", "/snapshots",
                                PATH("{\"snapshot\": {\"volume_id\": \"%s\"}}", volume)),
                     202);
    snapshot = world_answer_id(world, "snapshot");
    world_settle(world);
    begin(world, arena_format(world->arena, format, snapshot));
    ck_assert_int_eq(create(world, ", \"size\": 1"), 202);
    id = world_answer_id(world, "volume");
    ck_assert_str_eq(json_text_of(world_show(world, id), "snapshot_id"), snapshot);
    begin(world, arena_format(world->arena, format, ID));
    ck_assert_int_eq(create(world, ", \"size\": 1"), 404);
}
END_TEST

START_TEST(a_volume_whose_image_is_gone_is_in_error_with_a_message) {
    autoworld struct world *world = world_new(NULL);
    const char *id;

    begin(world, "{" BASE ", \"disk_format\": \"raw\", \"container_format\": \"bare\"}");
    ck_assert_int_eq(create(world, ", \"size\": 1"), 202);
    id = world_answer_id(world, "volume");
    ck_assert_str_eq(json_text_of(world_show(world, id), "status"), "downloading");
    world_settle(world);
    ck_assert_str_eq(json_text_of(world_show(world, id), "status"), "error");
    ck_assert_ptr_null(json_object_get(world_show(world, id), "volume_image_metadata"));
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM messages WHERE action_id = '005'"),
                     1);
}
END_TEST

static const char *status_of(struct world *world, const char *id) {
    return json_text_of(world_show(world, id), "status");
}

#define RAW "{" BASE ", \"disk_format\": \"raw\", \"container_format\": \"bare\"}"

/* A volume of the image of the service at that URL, before its manager gets to it. */
static const char *volume_of_image(struct world *world, const char *url, struct config **ret) {
    static const struct option *const tables[] = { images_options, own_user_options, NULL };
    const char *const arguments[] = { PATH("--glance_api_servers=%s", url),
                                      "--glance_num_retries=0", NULL };
    struct error err;

    ck_assert_int_eq(config_load(tables, NULL, arguments, ret, &err), 0);
    ck_assert_int_eq(images_new(*ret, &world->images, &err), 0);
    world_restart(world);
    begin(world, RAW);
    ck_assert_int_eq(create(world, ", \"size\": 1"), 202);
    return world_answer_id(world, "volume");
}

static void end(struct world *world, struct config *config) {
    struct images *images = world->images;

    world_free(world);
    images_free(images);
    config_free(config);
}

/* A backend is waited for without end, an image is not: also after a takeover, where the first
 * failure is not the last one.  A small image is received by a worker for much data, too. */
START_TEST(an_image_that_stays_unavailable_is_given_up) {
    struct world *world = world_new(NULL);
    struct config *config;
    const char *id = volume_of_image(world, "http://127.0.0.1:1", &config);

    world_sql(world, "UPDATE operations SET attempts = 5");
    world_settle(world);
    ck_assert_str_eq(status_of(world, id), "downloading");
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations WHERE is_long = 1"), 1);
    world_sql(world, "UPDATE operations SET attempts = 30");
    world_advance(world, 600);
    world_settle(world);
    ck_assert_str_eq(status_of(world, id), "error");
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM messages WHERE action_id = '005'"),
                     1);
    end(world, config);
}
END_TEST

/* Its failure after the image was opened is none of the image. */
START_TEST(a_backend_that_stays_unavailable_is_waited_for) {
    struct script_server *server = script_server_new();
    struct world *world = world_new(NULL);
    struct config *config;
    char bytes[513] = "";
    const char *id;

    memset(bytes, 7, sizeof(bytes) - 1);
    script_server_add(server, &(struct script_rule){
                                  .path = "/v2/images/" ID "/file", .status = 200, .body = bytes });
    script_server_add(server, &(struct script_rule){ .status = 200, .body = RAW });
    id = volume_of_image(world, script_server_url(server), &config);
    world_sql(world, "UPDATE operations SET attempts = 30");
    memory_fail_next(world->memory, "create_volume", ERROR_UNAVAILABLE);
    world_settle(world);
    ck_assert_uint_gt(script_server_count(server, "GET", "/v2/images/" ID "/file"), 0);
    ck_assert_str_eq(status_of(world, id), "downloading");
    world_advance(world, 60);
    world_settle(world);
    ck_assert_str_eq(status_of(world, id), "available");
    ck_assert_int_eq(memory_read(world->memory, id), 7);
    end(world, config);
    script_server_free(server);
}
END_TEST

static int reimage(struct world *world, const char *volume_id, const char *image_id) {
    return world_action(world, volume_id, "{\"os-reimage\": {\"image_id\": \"%s\"}}", image_id);
}

/* Whatever else has that id as its name. */
START_TEST(a_volume_is_written_anew_from_the_image_of_that_id_alone) {
    static const struct {
        const char *image, *id;
        int status;
    } rows[] = {
        { "{" BASE "}", OTHER, 404 },
        { "{\"status\": \"active\", \"size\": 512}", ID, 404 },
        { "{" BASE "}", ID, 202 },
    };
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    for (size_t i = 0; i < LENGTH(rows); i++) {
        begin(world, rows[i].image);
        ck_assert_msg(reimage(world, id, rows[i].id) == rows[i].status, "row %zu: %d %s", i,
                      world->status, world->answer_text);
        ck_assert_uint_eq(queried, 1);
    }
}
END_TEST

START_TEST(an_unavailable_image_service_has_no_missing_images) {
    static const struct {
        enum error_kind kind;
        int created, written;
    } rows[] = { { ERROR_BAD_REQUEST, 400, 404 }, { ERROR_UNAVAILABLE, 400, 503 } };
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    for (size_t i = 0; i < LENGTH(rows); i++) {
        begin(world, NULL);
        no_image = rows[i].kind;
        ck_assert_int_eq(create(world, ", \"size\": 1"), rows[i].created);
        ck_assert_int_eq(reimage(world, id, ID), rows[i].written);
    }
}
END_TEST

CHECK_MAIN("api_images", images_that_do_not_fit_are_refused_with_a_reason,
           the_checksum_of_a_known_algorithm_is_compared,
           a_backend_without_volumes_of_images_gets_none,
           an_image_with_too_long_properties_is_refused,
           without_an_image_service_every_image_is_refused, of_several_sources_none_is_taken,
           an_image_of_a_snapshot_stands_for_it,
           a_volume_whose_image_is_gone_is_in_error_with_a_message,
           an_image_that_stays_unavailable_is_given_up,
           a_backend_that_stays_unavailable_is_waited_for,
           a_volume_is_written_anew_from_the_image_of_that_id_alone,
           an_unavailable_image_service_has_no_missing_images)
