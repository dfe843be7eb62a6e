/*
 * Volumes of signed images: the certificate comes with the request, and the bytes are verified
 * when they arrive.  The image service is a script, the storage the memory driver.
 */
#include "client/images.h"
#include "common/cleanup.h"
#include "identity/own_user.h"
#include "tests/lib/check_main.h"
#include "tests/lib/images.h"
#include "tests/lib/memory_guests.h"
#include "tests/lib/script_server.h"
#include "tests/lib/signing.h"

#include <string.h>

#define PATH(...)    arena_format(world->arena, __VA_ARGS__)
#define FILE_PATH    "/v2/images/" IMAGES_ID "/file"
#define CERTIFICATE  "88888888-8888-4888-8888-888888888888"
#define INTERNAL     "00000000000000000000000000000001"
#define CONTENT      7
#define CONTENT_SIZE 512
#define ENTRIES      "SELECT COUNT(*) FROM volumes WHERE project_id = '" INTERNAL "'"
#define ROWS         "SELECT COUNT(*) FROM volume_glance_metadata WHERE key = 'signature_verified'"

/* The image as the API finds it, and the key manager. */
struct stated {
    const char *text, *hash, *type; /* NULL: without that property */
    const char *certificate;        /* in base64; NULL: there is none */
    const char *members;            /* more of them */
};

struct fixture {
    struct script_server *server;
    struct config *config;
    struct world *world;
    struct signer signer;
    struct stated stated;
    struct confirm confirm;
    unsigned certificates; /* requested */
};

static const char *member(struct arena *arena, const char *key, const char *value) {
    return value ? arena_format(arena, ", \"%s\": \"%s\"", key, value) : "";
}

static const json_t *find(void *arg, const struct request *request, const char *reference,
                          struct error *err) {
    const struct fixture *fixture = arg;
    const struct stated *stated = &fixture->stated;
    struct arena *arena = request->http->arena;
    const char *image = arena_join(
        arena,
        "{\"id\": \"" IMAGES_ID "\", \"status\": \"active\", \"size\": 512, \"disk_format\": "
        "\"raw\", \"container_format\": \"bare\", \"updated_at\": \"2026-01-01T00:00:00Z\"",
        member(arena, "img_signature", stated->text),
        member(arena, "img_signature_hash_method", stated->hash),
        member(arena, "img_signature_key_type", stated->type),
        stated->text ? ", \"img_signature_certificate_uuid\": \"" CERTIFICATE "\"" : "",
        stated->members ? stated->members : "", "}", NULL);

    (void)reference;
    return json_parse(arena, image, strlen(image), err);
}

static const char *find_certificate(void *arg, const struct request *request, const char *id,
                                    struct error *err) {
    struct fixture *fixture = arg;

    (void)request;
    fixture->certificates++;
    ck_assert_str_eq(id, CERTIFICATE);
    if (!fixture->stated.certificate)
        error_set(err, ERROR_FORBIDDEN, "the key manager answered 403 \xc3");
    return fixture->stated.certificate;
}

/* `members`: more of them in the description that the manager reads. */
static void serve(struct fixture *fixture, const char *members) {
    struct world *world = fixture->world;
    static char bytes[CONTENT_SIZE + 1];

    memset(bytes, CONTENT, CONTENT_SIZE);
    script_server_clear(fixture->server);
    script_server_add(fixture->server,
                      &(struct script_rule){ .path = FILE_PATH, .status = 200, .body = bytes });
    script_server_add(
        fixture->server,
        &(struct script_rule){
            .path = "/v2/images/" IMAGES_ID,
            .status = 200,
            .body = PATH("{\"id\": \"" IMAGES_ID "\", \"status\": \"active\"%s}", members) });
}

static void sign(struct fixture *fixture) {
    struct arena *arena = fixture->world->arena;
    unsigned char bytes[CONTENT_SIZE];

    memset(bytes, CONTENT, sizeof(bytes));
    fixture->signer = signing_begin(arena, "secp384r1", 0);
    fixture->stated = (struct stated){
        .text = signing_sign(arena, &fixture->signer, "SHA-256", bytes, sizeof(bytes)),
        .hash = "SHA-256",
        .type = "ECC_SECP384R1",
        .certificate = base64_text(arena, fixture->signer.pem, strlen(fixture->signer.pem)),
    };
}

static void begin(struct fixture *fixture) {
    static const struct option *const tables[] = { images_options, own_user_options, NULL };
    struct world *world;
    struct error err;

    *fixture = (struct fixture){ .server = script_server_new() };
    world = fixture->world = world_new(NULL);
    ck_assert_int_eq(config_load(tables, NULL,
                                 (const char *const[]){ PATH("--glance_api_servers=%s",
                                                             script_server_url(fixture->server)),
                                                        "--glance_num_retries=0", NULL },
                                 &fixture->config, &err),
                     0);
    ck_assert_int_eq(images_new(fixture->config, &world->images, &err), 0);
    world->settings.verify_image_signatures = true;
    world_restart(world);
    fixture->confirm.images =
        (struct image_query){ .find = find, .find_certificate = find_certificate, .arg = fixture };
    images_confirm_by(world, &fixture->confirm);
    serve(fixture, "");
    sign(fixture);
}

static void end(struct fixture *fixture) {
    struct images *images = fixture->world->images;

    ck_assert_int_eq(world_check(fixture->world), 0);
    signing_end(&fixture->signer);
    world_free(fixture->world);
    images_free(images);
    config_free(fixture->config);
    script_server_free(fixture->server);
}

static int request_volume(struct world *world) {
    return world_call(world, "POST", "/volumes",
                      "{\"volume\": {\"imageRef\": \"x\", \"size\": 1}}");
}

static const char *ended(struct world *world) {
    const char *id;

    ck_assert_int_eq(request_volume(world), 202);
    id = world_answer_id(world, "volume");
    world_settle(world);
    return id;
}

/* The row; NULL: there is none. */
static const char *verified_of(struct world *world, const char *id) {
    const json_t *metadata = json_object_get(world_show(world, id), "volume_image_metadata");

    return arena_text(world->arena, json_text_of(metadata, "signature_verified"));
}

static void assert_made(struct world *world, const char *id, const char *verified) {
    const char *row = verified_of(world, id);

    ck_assert_str_eq(world_status(world, id), "available");
    ck_assert_int_eq(memory_read(world->memory, id), CONTENT);
    if (verified)
        ck_assert_str_eq(row, verified);
    else
        ck_assert_ptr_null(row);
}

static void assert_failed(struct world *world, const char *id, const char *message) {
    const json_t *volume = world_show(world, id);

    ck_assert_str_eq(json_text_of(volume, "status"), "error");
    ck_assert_ptr_null(json_object_get(volume, "volume_image_metadata"));
    ck_assert(world_has_message(world, id, message));
    ck_assert(!memory_has(world->memory, PATH("volume-%s", id)));
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
}

START_TEST(a_signed_image_is_verified) {
    struct fixture fixture;

    begin(&fixture);
    assert_made(fixture.world, ended(fixture.world), "True");
    ck_assert_uint_eq(fixture.certificates, 1);
    end(&fixture);
}
END_TEST

START_TEST(an_unsigned_image_is_not) {
    struct fixture fixture;

    begin(&fixture);
    fixture.stated = (struct stated){ .members = ", \"signature_verified\": \"True\"" };
    assert_made(fixture.world, ended(fixture.world), "False");
    ck_assert_uint_eq(fixture.certificates, 0);
    end(&fixture);
}
END_TEST

START_TEST(nothing_is_verified_where_that_is_disabled) {
    struct fixture fixture;

    begin(&fixture);
    fixture.world->settings.verify_image_signatures = false;
    fixture.stated.text = "bm8gc2lnbmF0dXJl";
    fixture.stated.members = ", \"signature_verified\": \"True\"";
    assert_made(fixture.world, ended(fixture.world), NULL);
    fixture.stated.hash = NULL;
    assert_made(fixture.world, ended(fixture.world), NULL);
    ck_assert_uint_eq(fixture.certificates, 0);
    end(&fixture);
}
END_TEST

/* The bytes are requested twice, their head and all of them, or not at all. */
START_TEST(an_image_without_a_valid_signature_leaves_an_error_and_nothing_else) {
    const struct {
        struct stated stated; /* NULL: as it is right */
        bool has_no_certificate;
        unsigned downloads;
    } rows[] = {
        { { .text = "bm8gc2lnbmF0dXJl" }, false, 2 },
        { { .hash = "SHA-384" }, false, 2 },
        { { .hash = "MD5" }, false, 0 },
        { { .type = "RSA-PSS" }, false, 0 },
        { { .type = "unknown \xc3\xa9" }, false, 0 },
        { { .text = "not base64" }, false, 0 },
        { { .certificate = "bm8gY2VydGlmaWNhdGU=" }, false, 0 },
        { { .certificate = "not base64!" }, false, 0 },
        { { .text = NULL }, true, 0 },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct fixture fixture;
        const struct stated *wrong = &rows[i].stated;
        struct stated *stated = &fixture.stated;

        begin(&fixture);
        stated->text = wrong->text ? wrong->text : stated->text;
        stated->hash = wrong->hash ? wrong->hash : stated->hash;
        stated->type = wrong->type ? wrong->type : stated->type;
        stated->certificate = wrong->certificate ? wrong->certificate : stated->certificate;
        if (rows[i].has_no_certificate)
            stated->certificate = NULL;
        assert_failed(fixture.world, ended(fixture.world), "VOLUME_VOLUME_005_011");
        ck_assert_uint_eq(script_server_count(fixture.server, "GET", FILE_PATH), rows[i].downloads);
        ck_assert_int_eq(world_count(fixture.world, ROWS), 0);
        end(&fixture);
    }
}
END_TEST

START_TEST(a_part_of_a_signature_is_refused) {
    struct fixture fixture;

    for (int i = 0; i < 3; i++) {
        begin(&fixture);
        *(i == 0   ? &fixture.stated.text
          : i == 1 ? &fixture.stated.hash
                   : &fixture.stated.type) = NULL;
        ck_assert_int_eq(request_volume(fixture.world), 400);
        ck_assert_ptr_nonnull(strstr(fixture.world->answer_text, "not all of the properties"));
        ck_assert_uint_eq(fixture.certificates, 0);
        ck_assert_int_eq(world_count(fixture.world, "SELECT COUNT(*) FROM volumes"), 0);
        end(&fixture);
    }
}
END_TEST

START_TEST(an_image_that_stands_for_a_snapshot_needs_no_certificate) {
    struct fixture fixture;

    begin(&fixture);
    fixture.stated.members =
        ", \"block_device_mapping\": \"[{\\\"boot_index\\\": 0, \\\"source_type\\\": "
        "\\\"snapshot\\\", \\\"snapshot_id\\\": \\\"" IMAGES_ID "\\\"}]\"";
    ck_assert_int_eq(request_volume(fixture.world), 404); /* the snapshot */
    ck_assert_uint_eq(fixture.certificates, 0);
    end(&fixture);
}
END_TEST

START_TEST(without_a_key_manager_a_signed_image_is_refused) {
    struct fixture fixture;

    begin(&fixture);
    fixture.confirm.images.find_certificate = NULL;
    ck_assert_int_eq(request_volume(fixture.world), 400);
    ck_assert_ptr_nonnull(strstr(fixture.world->answer_text, "no key manager"));
    ck_assert_int_eq(world_count(fixture.world, "SELECT COUNT(*) FROM volumes"), 0);
    end(&fixture);
}
END_TEST

/* An API may be configured otherwise than the manager, which decides. */
START_TEST(a_manager_that_verifies_needs_the_certificate) {
    struct fixture fixture;
    struct world *world;
    const char *id;

    begin(&fixture);
    world = fixture.world;
    for (int i = 0; i < 2; i++) {
        world->settings.verify_image_signatures = false;
        ck_assert_int_eq(request_volume(world), 202);
        id = world_answer_id(world, "volume");
        world->settings.verify_image_signatures = true;
        world_settle(world);
        assert_failed(world, id, "VOLUME_VOLUME_005_011");
        fixture.stated.type = NULL;
    }
    end(&fixture);
}
END_TEST

/* The arguments of an operation that an earlier release has queued: it knew no signatures. */
START_TEST(an_image_of_an_earlier_release_needs_the_certificate) {
    struct fixture fixture;
    struct world *world;
    const char *id;

    begin(&fixture);
    world = fixture.world;
    fixture.stated.members = PATH(", \"certificate\": \"%s\"", fixture.stated.certificate);
    ck_assert_int_eq(request_volume(world), 202);
    id = world_answer_id(world, "volume");
    world_sql(world, "UPDATE operations SET arguments = "
                     "REPLACE(arguments, '\"signature\":{', '\"later\":{')");
    ck_assert_int_eq(
        world_count(world, "SELECT COUNT(*) FROM operations WHERE arguments LIKE '%\"later\"%'"),
        1);
    world_settle(world);
    assert_failed(world, id, "VOLUME_VOLUME_005_011");
    end(&fixture);
}
END_TEST

/* By a manager that verifies; 0: the former one had ended before. */
static int continued(struct fixture *fixture, int effects, bool verified_before) {
    struct world *world = fixture->world;
    bool died;

    world->settings.verify_image_signatures = verified_before;
    world_die_after(world, effects);
    world_settle(world);
    died = world->dead;
    world->settings.verify_image_signatures = true;
    world_restart(world);
    images_confirm_by(world, &fixture->confirm);
    for (int i = 0; i < 6; i++) {
        world_advance(world, 60);
        world_settle(world);
    }
    return died;
}

START_TEST(a_volume_that_a_former_worker_has_made_is_not_called_verified) {
    bool died = true;

    for (int effects = 1; died; effects++) {
        struct fixture fixture;
        const char *id;

        begin(&fixture);
        fixture.stated.text = "bm8gc2lnbmF0dXJl";
        ck_assert_int_eq(request_volume(fixture.world), 202);
        id = world_answer_id(fixture.world, "volume");
        died = continued(&fixture, effects, false);
        ck_assert_ptr_null(verified_of(fixture.world, id));
        end(&fixture);
    }
}
END_TEST

START_TEST(a_stop_between_any_two_steps_leaves_a_volume_that_is_no_unsigned_one) {
    bool died = true;

    for (int effects = 1; died; effects++) {
        struct fixture fixture;
        const char *id, *row;

        begin(&fixture);
        ck_assert_int_eq(request_volume(fixture.world), 202);
        id = world_answer_id(fixture.world, "volume");
        died = continued(&fixture, effects, true);
        row = verified_of(fixture.world, id);
        assert_made(fixture.world, id, row ? "True" : NULL);
        end(&fixture);
    }
}
END_TEST

/* ---- a volume that the image service names ---- */

START_TEST(a_signed_image_is_no_clone_of_a_volume) {
    struct fixture fixture;
    struct world *world;
    const char *named;

    begin(&fixture);
    world = fixture.world;
    world->settings.clones_image_volumes = true;
    named = world_volume(world, 1);
    ck_assert(memory_write(world->memory, named, CONTENT + 1));
    serve(&fixture,
          PATH(", \"owner\": \"" WORLD_PROJECT "\", \"direct_url\": \"cinder://%s\"", named));
    assert_made(world, ended(world), "True");
    fixture.stated.text = "bm8gc2lnbmF0dXJl";
    assert_failed(world, ended(world), "VOLUME_VOLUME_005_011");
    fixture.stated = (struct stated){ .text = NULL };
    ck_assert_int_eq(memory_read(world->memory, ended(world)), CONTENT + 1);
    end(&fixture);
}
END_TEST

/* ---- the cache ---- */

static void begin_cached(struct fixture *fixture) {
    struct world *world;

    begin(fixture);
    world = fixture->world;
    world->settings.internal_project_id = INTERNAL;
    world->settings.internal_user_id = "internal";
    world->backends[0].image_cache.is_enabled = true;
    world_restart(world);
    images_confirm_by(world, &fixture->confirm);
}

/* The entry alone was downloaded. */
START_TEST(an_entry_of_the_cache_is_verified_once) {
    struct fixture fixture;
    struct world *world;

    begin_cached(&fixture);
    world = fixture.world;
    assert_made(world, ended(world), NULL);
    ck_assert_int_eq(world_count(world, ENTRIES " AND status = 'maintenance'"), 1);
    ck_assert_int_eq(world_count(world, ROWS " AND value = 'True'"), 1);
    fixture.stated.certificate = NULL; /* the key manager is away */
    assert_made(world, ended(world), NULL);
    ck_assert_int_eq(world_count(world, ROWS), 1);
    end(&fixture);
}
END_TEST

/* Whatever its rows claim: an earlier release has copied properties of the image. */
START_TEST(an_entry_that_was_not_verified_is_replaced_for_a_signed_image) {
    struct fixture fixture;
    struct world *world;
    const char *right;

    begin_cached(&fixture);
    world = fixture.world;
    right = fixture.stated.text;
    fixture.stated.text = "bm8gc2lnbmF0dXJl";
    world->settings.verify_image_signatures = false;
    assert_made(world, ended(world), NULL);
    world_sql(world, "INSERT INTO volume_glance_metadata (volume_id, key, value) SELECT id, "
                     "'signature_verified', 'True' FROM volumes WHERE project_id = '" INTERNAL "'");
    world->settings.verify_image_signatures = true;
    assert_failed(world, ended(world), "VOLUME_VOLUME_005_011");
    ck_assert_int_eq(world_count(world, ENTRIES), 0);
    world->settings.verify_image_signatures = false;
    assert_made(world, ended(world), NULL);
    world->settings.verify_image_signatures = true;
    fixture.stated.text = right;
    assert_made(world, ended(world), NULL);
    ck_assert_int_eq(world_count(world, ENTRIES), 1);
    ck_assert_int_eq(world_count(world, ROWS " AND value = 'True'"), 1);
    end(&fixture);
}
END_TEST

static const char *entry_of(struct world *world) {
    const json_t *rows;

    ck_assert_int_eq(world_call(world, "GET", "/volumes?all_tenants=1&project_id=" INTERNAL, NULL),
                     200);
    rows = json_object_get(world->answer, "volumes");
    ck_assert_uint_eq(json_array_size(rows), 1);
    return PATH("%s", json_text_of(json_array_get(rows, 0), "id"));
}

/* Those of unsigned images after verification was enabled, and verified ones after it was
 * disabled. */
START_TEST(other_entries_stay) {
    for (int is_signed = 0; is_signed <= 1; is_signed++) {
        struct fixture fixture;
        struct world *world;
        const char *entry;

        begin_cached(&fixture);
        world = fixture.world;
        if (!is_signed)
            fixture.stated = (struct stated){ .text = NULL };
        world->settings.verify_image_signatures = is_signed;
        assert_made(world, ended(world), NULL);
        entry = entry_of(world);
        world->settings.verify_image_signatures = !is_signed;
        assert_made(world, ended(world), NULL);
        ck_assert_str_eq(entry_of(world), entry);
        ck_assert_uint_eq(script_server_count(fixture.server, "GET", FILE_PATH), 2);
        end(&fixture);
    }
}
END_TEST

/* A worker that verifies continues the create of an entry. */
START_TEST(an_entry_that_a_former_worker_has_made_is_not_called_verified) {
    bool died = true;

    for (int effects = 1; died; effects++) {
        struct fixture fixture;
        struct world *world;

        begin_cached(&fixture);
        world = fixture.world;
        fixture.stated.text = "bm8gc2lnbmF0dXJl";
        ck_assert_int_eq(request_volume(world), 202);
        died = continued(&fixture, effects, false);
        assert_failed(world, ended(world), "VOLUME_VOLUME_005_011");
        end(&fixture);
    }
}
END_TEST

START_TEST(an_image_without_a_valid_signature_is_no_entry_of_the_cache) {
    struct fixture fixture;
    struct world *world;

    begin_cached(&fixture);
    world = fixture.world;
    fixture.stated.text = "bm8gc2lnbmF0dXJl";
    assert_failed(world, ended(world), "VOLUME_VOLUME_005_011");
    ck_assert_int_eq(world_count(world, ENTRIES), 0);
    end(&fixture);
}
END_TEST

/* ---- reimage ---- */

START_TEST(a_volume_is_written_anew_from_a_verified_image) {
    struct fixture fixture;
    struct world *world;
    const char *id;

    begin(&fixture);
    world = fixture.world;
    id = world_volume(world, 1);
    ck_assert_int_eq(world_action(world, id, "%s", IMAGES_REIMAGE), 202);
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "available");
    ck_assert_str_eq(verified_of(world, id), "True");
    fixture.stated.text = "bm8gc2lnbmF0dXJl";
    ck_assert_int_eq(world_action(world, id, "%s", IMAGES_REIMAGE), 202);
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "error");
    ck_assert(world_has_message(world, id, "VOLUME_VOLUME_016_011"));
    ck_assert_ptr_null(verified_of(world, id)); /* its bytes are none of the former image's */
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    fixture.stated = (struct stated){ .text = NULL };
    ck_assert_int_eq(world_action(world, id, "%s", IMAGES_REIMAGE), 202);
    world_settle(world);
    ck_assert_str_eq(verified_of(world, id), "False");
    end(&fixture);
}
END_TEST

CHECK_MAIN("image_signature", a_signed_image_is_verified, an_unsigned_image_is_not,
           nothing_is_verified_where_that_is_disabled,
           an_image_without_a_valid_signature_leaves_an_error_and_nothing_else,
           a_part_of_a_signature_is_refused,
           an_image_that_stands_for_a_snapshot_needs_no_certificate,
           without_a_key_manager_a_signed_image_is_refused,
           a_manager_that_verifies_needs_the_certificate,
           an_image_of_an_earlier_release_needs_the_certificate,
           a_volume_that_a_former_worker_has_made_is_not_called_verified,
           a_stop_between_any_two_steps_leaves_a_volume_that_is_no_unsigned_one,
           a_signed_image_is_no_clone_of_a_volume, an_entry_of_the_cache_is_verified_once,
           an_entry_that_was_not_verified_is_replaced_for_a_signed_image, other_entries_stay,
           an_entry_that_a_former_worker_has_made_is_not_called_verified,
           an_image_without_a_valid_signature_is_no_entry_of_the_cache,
           a_volume_is_written_anew_from_a_verified_image)
