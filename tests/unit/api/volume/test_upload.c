/*
 * Images that are made of volumes, at the API: the checks, the description for the image service,
 * the response, and the image of a request that fails.  The bytes are the manager's.
 */
#include "tests/lib/check_main.h"
#include "tests/lib/images.h"
#include "tests/lib/roles.h"
#include "tests/lib/world.h"
#include "json/json.h"

#include <string.h>

#define PATH(...)       arena_format(world->arena, __VA_ARGS__)
#define ID              IMAGES_ID
#define UPLOAD(members) "{\"os-volume_upload_image\": {\"image_name\": \"the image\"" members "}}"

/* The image service: the description that it received, and its response. */
static struct service {
    struct world *world;
    const char *image; /* NULL: refused */
    char *sent;
    unsigned made, discarded;
    const char *meanwhile; /* SQL; NULL: none */
} service;

static const json_t *make(void *arg, const struct request *request, const char *description,
                          struct error *err) {
    (void)arg;
    service.made++;
    service.sent = arena_text(service.world->arena, description);
    if (service.meanwhile)
        world_sql(service.world, service.meanwhile);
    if (service.image)
        return json_parse(request->http->arena, service.image, strlen(service.image), err);
    error_set(err, ERROR_BAD_REQUEST, "The image service has refused the image (403).");
    return NULL;
}

static void discard(void *arg, const struct request *request, const json_t *image) {
    (void)arg, (void)request;
    ck_assert(json_text_is(image, "id", ID));
    service.discarded++;
}

static void begin(struct world *world) {
    static struct confirm confirm = { .images = { .make = make, .discard = discard } };

    confirm.images.find = make;
    service = (struct service){
        .world = world,
        .image = "{\"id\": \"" ID "\", \"status\": \"queued\", \"visibility\": \"private\", "
                 "\"protected\": false}",
    };
    images_confirm_by(world, &confirm);
}

static const json_t *answer(struct world *world) {
    return json_object_get(world->answer, "os-volume_upload_image");
}

static const json_t *sent(struct world *world) {
    struct error err = { 0 };
    const json_t *tree = json_parse(world->arena, service.sent, strlen(service.sent), &err);

    ck_assert_msg(tree != NULL, "%s", err.message);
    return tree;
}

START_TEST(an_image_is_created_and_the_volume_is_uploading) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    begin(world);
    ck_assert_int_eq(world_action(world, id, "%s", UPLOAD("")), 202);
    ck_assert_str_eq(json_text_of(answer(world), "id"), id);
    ck_assert_str_eq(json_text_of(answer(world), "status"), "uploading");
    ck_assert_str_eq(json_text_of(answer(world), "image_id"), ID);
    ck_assert_str_eq(json_text_of(answer(world), "image_name"), "the image");
    ck_assert_str_eq(json_text_of(answer(world), "disk_format"), "raw");
    ck_assert_str_eq(json_text_of(answer(world), "container_format"), "bare");
    ck_assert_str_eq(json_text_of(answer(world), "visibility"), "private");
    ck_assert(json_is_false(json_object_get(answer(world), "protected")));
    ck_assert_int_eq(json_integer_value(json_object_get(answer(world), "size")), 2);
    ck_assert(json_is_object(json_object_get(answer(world), "volume_type")));
    ck_assert_str_eq(world_status(world, id), "uploading");
    ck_assert_uint_eq(service.made, 1);
    ck_assert_uint_eq(service.discarded, 0);
    ck_assert_int_eq(world_in_use(world, "volumes"), 1);
    ck_assert_int_eq(world_in_use(world, "gigabytes"), 2);
    ck_assert_int_eq(world_reserved(world, "gigabytes"), 0);
}
END_TEST

START_TEST(visibility_and_protection_are_sent_from_3_1_on) {
    autoworld struct world *world = world_new(NULL);
    const char *one = world_volume(world, 1), *other = world_volume(world, 1);

    begin(world);
    ck_assert_int_eq(world_action(world, one, "%s",
                                  UPLOAD(", \"visibility\": \"shared\", \"protected\": true, "
                                         "\"disk_format\": \"qcow2\"")),
                     202);
    ck_assert_str_eq(json_text_of(sent(world), "visibility"), "shared");
    ck_assert(json_is_true(json_object_get(sent(world), "protected")));
    ck_assert_str_eq(json_text_of(sent(world), "disk_format"), "qcow2");
    world->minor = 0;
    ck_assert_int_eq(world_action(world, other, "%s", UPLOAD("")), 202);
    ck_assert_ptr_null(json_object_get(sent(world), "visibility"));
    ck_assert_ptr_null(json_object_get(sent(world), "protected"));
}
END_TEST

START_TEST(properties_of_the_volumes_image_are_the_images) {
    static const char *const kept[] = { "os_distro", "hw_disk_bus", "kernel_id" };
    static const char *const left[] = {
        "checksum",
        "size",
        "min_disk",
        "image_id",
        "image_name",
        "owner",
        "locations",
        "os_glance_x",
        "img_signature_hash",
        "min_ram",
        "signature_verified",
        "container_format",
        "cinder_encryption_key_id",
        "cinder_encryption_key_deletion_policy",
    };
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    for (size_t i = 0; i < LENGTH(kept) + LENGTH(left); i++)
        world_sql(world, PATH("INSERT INTO volume_glance_metadata (volume_id, key, value) "
                              "VALUES ('%s', '%s', 'other')",
                              id, i < LENGTH(kept) ? kept[i] : left[i - LENGTH(kept)]));
    begin(world);
    ck_assert_int_eq(world_action(world, id, "%s", UPLOAD("")), 202);
    for (size_t i = 0; i < LENGTH(kept); i++)
        ck_assert_msg(json_text_is(sent(world), kept[i], "other"), "%s", kept[i]);
    for (size_t i = 0; i < LENGTH(left); i++)
        ck_assert_msg(!json_text_is(sent(world), left[i], "other"), "%s", left[i]);
}
END_TEST

START_TEST(a_volume_that_cannot_become_the_image_is_refused_before_it_exists) {
    static const struct {
        const char *body, *before, *why;
    } rows[] = {
        { UPLOAD(", \"disk_format\": \"iso\""), NULL, "disk_format" },
        { UPLOAD(", \"container_format\": \"compressed\""), NULL, "compressed" },
        { UPLOAD(", \"visibility\": \"anywhere\""), NULL, "visibility" },
        { "{\"os-volume_upload_image\": {}}", NULL, "image_name" },
        { "{\"os-volume_upload_image\": {\"image_name\": \"\"}}", NULL, "image_name" },
        { UPLOAD(""), "UPDATE volumes SET status = 'error'", "error" },
        { UPLOAD(", \"force\": true"), "UPDATE volumes SET status = 'in-use'", "in-use" },
        { UPLOAD(""), "UPDATE volumes SET migration_status = 'migrating'", "migrating" },
        { UPLOAD(""), "UPDATE volumes SET encryption_key_id = '" ID "'", "encrypted" },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = world_volume(world, 1);

        begin(world);
        if (rows[i].before)
            world_sql(world, rows[i].before);
        ck_assert_msg(world_action(world, id, "%s", rows[i].body) == 400, "row %zu: %d", i,
                      world->status);
        ck_assert_msg(strstr(world->answer_text, rows[i].why), "row %zu: %s", i,
                      world->answer_text);
        ck_assert_uint_eq(service.made, 0);
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    }
}
END_TEST

/* Before its content is copied. */
START_TEST(a_volume_that_the_format_cannot_hold_is_refused) {
    static const struct {
        const char *format;
        int64_t size_gb;
        const char *limit; /* NULL: accepted */
    } rows[] = {
        { "vhd", 2040, NULL },     { "vhd", 2041, "format vhd 2040 at most" },
        { "vhdx", 65536, NULL },   { "vhdx", 65537, "format vhdx 65536 at most" },
        { "vmdk", 262143, NULL },  { "vmdk", 262144, "format vmdk 262143 at most" },
        { "vdi", 524287, NULL },   { "vdi", 524288, "format vdi 524287 at most" },
        { "ploop", 524287, NULL }, { "ploop", 524288, "format ploop 524287 at most" },
        { "qcow2", 524288, NULL }, { "raw", 524288, NULL },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = world_volume(world, 1);

        begin(world);
        world_sql(world, PATH("UPDATE volumes SET size_gb = %jd, largest_gb = %jd",
                              (intmax_t)rows[i].size_gb, (intmax_t)rows[i].size_gb));
        ck_assert_msg(world_action(world, id, UPLOAD(", \"disk_format\": \"%s\""),
                                   rows[i].format) == (rows[i].limit ? 400 : 202),
                      "row %zu: %d %s", i, world->status, world->answer_text);
        ck_assert_uint_eq(service.made, rows[i].limit ? 0 : 1);
        if (rows[i].limit) {
            ck_assert_msg(
                strstr(world->answer_text, rows[i].limit) &&
                    strstr(world->answer_text, PATH("has %jd GiB", (intmax_t)rows[i].size_gb)),
                "row %zu: %s", i, world->answer_text);
            ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
        }
    }
}
END_TEST

START_TEST(an_attached_volume_needs_force_and_the_option) {
    for (int i = 0; i < 4; i++) {
        bool force = i & 1, option = i & 2;
        autoworld struct world *world = world_new(NULL);
        const char *id = world_volume(world, 1);

        world->settings.enable_force_upload = option;
        world_attach(world, id, WORLD_INSTANCE);
        begin(world);
        ck_assert_int_eq(
            world_action(world, id, "%s", force ? UPLOAD(", \"force\": true") : UPLOAD("")),
            force && option ? 202 : 400);
        ck_assert_str_eq(world_status(world, id), force && option ? "uploading" : "in-use");
    }
}
END_TEST

START_TEST(a_refused_image_changes_nothing) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    begin(world);
    service.image = NULL;
    ck_assert_int_eq(world_action(world, id, "%s", UPLOAD("")), 400);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "403"));
    ck_assert_str_eq(world_status(world, id), "available");
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    ck_assert_uint_eq(service.discarded, 0);
}
END_TEST

START_TEST(the_image_of_a_request_that_fails_is_deleted) {
    static const char *const meanwhile[] = {
        "UPDATE volumes SET status = 'maintenance'",
        "INSERT INTO volume_glance_metadata (volume_id, key, value) "
        "SELECT id, 'os_distro', 'x' FROM volumes",
    };

    for (size_t i = 0; i < LENGTH(meanwhile); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = world_volume(world, 1);

        begin(world);
        service.meanwhile = meanwhile[i];
        ck_assert_int_eq(world_action(world, id, "%s", UPLOAD("")), 400);
        ck_assert_uint_eq(service.made, 1);
        ck_assert_uint_eq(service.discarded, 1);
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    }
}
END_TEST

START_TEST(without_an_image_service_no_image_is_made) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    ck_assert_int_eq(world_action(world, id, "%s", UPLOAD("")), 400);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "no image service"));
    ck_assert_str_eq(world_status(world, id), "available");
}
END_TEST

CHECK_MAIN("api_upload", an_image_is_created_and_the_volume_is_uploading,
           visibility_and_protection_are_sent_from_3_1_on,
           properties_of_the_volumes_image_are_the_images,
           a_volume_that_cannot_become_the_image_is_refused_before_it_exists,
           a_volume_that_the_format_cannot_hold_is_refused,
           an_attached_volume_needs_force_and_the_option, a_refused_image_changes_nothing,
           the_image_of_a_request_that_fails_is_deleted, without_an_image_service_no_image_is_made)
