/*
 * Volumes that are clones of others with the content of an image: of entries of the image cache,
 * which are created, used and evicted, and of volumes that the image service names.  That is a
 * script, and the storage the memory driver.
 */
#include "client/images.h"
#include "common/cleanup.h"
#include "identity/own_user.h"
#include "tests/lib/check_main.h"
#include "tests/lib/images.h"
#include "tests/lib/memory_guests.h"
#include "tests/lib/other_manager.h"
#include "tests/lib/script_server.h"

#include <string.h>

#define PATH(...)   arena_format(world->arena, __VA_ARGS__)
#define ID(n)       "9999999" n "-9999-4999-8999-999999999999"
#define INTERNAL    "00000000000000000000000000000001"
#define IS_ENTRY    "project_id = '" INTERNAL "'"
#define RESET(text) "{\"os-reset_status\": {\"status\": \"" text "\"}}"

/* The image that the API finds. */
struct shown {
    const char *id, *updated_at;
};
static struct shown shown;
static const char *shown_container = "bare";

static const json_t *find(void *arg, const struct request *request, const char *reference,
                          struct error *err) {
    const char *text =
        arena_format(request->http->arena,
                     "{\"id\": \"%s\", \"status\": \"active\", \"size\": 512, \"disk_format\": "
                     "\"%s\", \"container_format\": \"%s\", \"os_distro\": \"x\", "
                     "\"updated_at\": \"%s\"}",
                     shown.id, strcmp(shown_container, "bare") == 0 ? "raw" : shown_container,
                     shown_container, shown.updated_at);

    (void)arg, (void)reference;
    return json_parse(request->http->arena, text, strlen(text), err);
}

struct fixture {
    struct script_server *server;
    struct world *world;
    struct config *config;
    const char *members; /* of the descriptions by the image service */
};

static const char *const ids[] = { ID("1"), ID("2"), ID("3") };

static const char *file_of(struct world *world, size_t image) {
    return PATH("/v2/images/%s/file", ids[image]);
}

/* The image service from now on: the byte of all images, and their status. */
static void serve(struct fixture *fixture, int byte, const char *status) {
    struct world *world = fixture->world;
    static char bytes[513];

    memset(bytes, byte, sizeof(bytes) - 1);
    script_server_clear(fixture->server);
    for (size_t i = 0; i < LENGTH(ids); i++) {
        script_server_add(
            fixture->server,
            &(struct script_rule){ .path = file_of(world, i), .status = 200, .body = bytes });
        script_server_add(
            fixture->server,
            &(struct script_rule){ .path = PATH("/v2/images/%s", ids[i]),
                                   .status = 200,
                                   .body = PATH("{\"id\": \"%s\", \"status\": \"%s\"%s}", ids[i],
                                                status, fixture->members) });
    }
}

static void begin_with(struct fixture *fixture, const struct world_settings *settings) {
    static const struct option *const tables[] = { images_options, own_user_options, NULL };
    struct world *world = fixture->world = world_new(settings);
    struct error err;

    fixture->members = "";
    fixture->server = script_server_new();
    ck_assert_int_eq(config_load(tables, NULL,
                                 (const char *const[]){ PATH("--glance_api_servers=%s",
                                                             script_server_url(fixture->server)),
                                                        "--glance_num_retries=0", NULL },
                                 &fixture->config, &err),
                     0);
    ck_assert_int_eq(images_new(fixture->config, &world->images, &err), 0);
    world->settings.internal_project_id = INTERNAL;
    world->settings.internal_user_id = "internal";
    world->backends[0].image_cache.is_enabled = true;
    world_restart(world);
    shown = (struct shown){ ID("1"), "2026-01-01T00:00:00Z" };
    serve(fixture, 7, "active");
}

static void begin(struct fixture *fixture) {
    begin_with(fixture, NULL);
}

static void end_without_check(struct fixture *fixture) {
    struct images *images = fixture->world->images;

    world_free(fixture->world);
    images_free(images);
    config_free(fixture->config);
    script_server_free(fixture->server);
}

static void end(struct fixture *fixture) {
    ck_assert_int_eq(world_check(fixture->world), 0);
    end_without_check(fixture);
}

/* A request for a volume of the image; it has not begun. */
static const char *request_one(struct world *world, int size_gb) {
    static struct confirm confirm = { .images = { .find = find } };

    images_confirm_by(world, &confirm);
    ck_assert_int_eq(world_call(world, "POST", "/volumes",
                                PATH("{\"volume\": {\"imageRef\": \"x\", \"size\": %d}}", size_gb)),
                     202);
    return world_answer_id(world, "volume");
}

static void assert_made(struct world *world, const char *id, int content) {
    const json_t *volume = world_show(world, id);
    const json_t *metadata = json_object_get(volume, "volume_image_metadata");

    ck_assert_str_eq(json_text_of(volume, "status"), "available");
    ck_assert_str_eq(json_text_of(volume, "bootable"), "true");
    ck_assert(json_text_is(metadata, "image_id", shown.id));
    ck_assert_int_eq(memory_read(world->memory, id), content);
}

static const char *make_one(struct world *world, int size_gb, int content) {
    const char *id = request_one(world, size_gb);

    world_settle(world);
    assert_made(world, id, content);
    return id;
}

static unsigned downloads(const struct fixture *fixture) {
    unsigned count = 0;

    for (size_t i = 0; i < LENGTH(ids); i++)
        count += script_server_count(fixture->server, "GET", file_of(fixture->world, i));
    return count;
}

static unsigned descriptions(const struct fixture *fixture) {
    struct world *world = fixture->world;

    return script_server_count(fixture->server, "GET", PATH("/v2/images/%s", ids[0]));
}

static int64_t entries(struct world *world) {
    return world_count(world, "SELECT COUNT(*) FROM volumes WHERE " IS_ENTRY
                              " AND use_quota = 0 AND status = 'maintenance'");
}

static int64_t all_entries(struct world *world) {
    return world_count(world, "SELECT COUNT(*) FROM volumes WHERE " IS_ENTRY);
}

static const char *entry_of(struct world *world) {
    const json_t *rows;

    ck_assert_int_eq(world_call(world, "GET", "/volumes?all_tenants=1&project_id=" INTERNAL, NULL),
                     200);
    rows = json_object_get(world->answer, "volumes");
    ck_assert_uint_eq(json_array_size(rows), 1);
    return PATH("%s", json_text_of(json_array_get(rows, 0), "id"));
}

START_TEST(an_image_is_downloaded_once_for_all_its_volumes) {
    struct fixture fixture;
    struct world *world;
    const char *made[3], *entry;
    unsigned once;

    begin(&fixture);
    world = fixture.world;
    for (size_t i = 0; i < LENGTH(made); i++)
        made[i] = request_one(world, (int)i + 1);
    world_settle(world);
    once = downloads(&fixture);
    ck_assert_uint_le(once, 2); /* its head, and all of it */
    for (size_t i = 0; i < LENGTH(made); i++) {
        assert_made(world, made[i], 7);
        ck_assert_int_eq(world_size(world, made[i]), (int64_t)i + 1);
        ck_assert_int_eq(world_real_gb(world, made[i]), (int64_t)i + 1);
    }
    make_one(world, 1, 7);
    ck_assert_uint_eq(downloads(&fixture), once);
    ck_assert_int_eq(entries(world), 1);
    ck_assert_int_eq(all_entries(world), 1);
    ck_assert_int_eq(world_in_use(world, "volumes"), 4);
    ck_assert_int_eq(world_in_use(world, "gigabytes"), 7);
    entry = entry_of(world);
    ck_assert_int_eq(world_call(world, "GET", "/volumes", NULL), 200);
    ck_assert_ptr_null(strstr(world->answer_text, entry));
    end(&fixture);
}
END_TEST

START_TEST(another_version_of_an_image_is_downloaded) {
    struct fixture fixture;
    struct world *world;
    const char *former, *late;

    begin(&fixture);
    world = fixture.world;
    make_one(world, 1, 7);
    former = entry_of(world);
    late = request_one(world, 1); /* by its description of today */
    serve(&fixture, 8, "active");
    shown.updated_at = "2026-01-02T00:00:00Z";
    make_one(world, 1, 8);
    assert_made(world, late, 7);
    ck_assert_int_eq(all_entries(world), 1);
    ck_assert_str_ne(entry_of(world), former);
    /* a request that is older than the entry replaces nothing */
    shown.updated_at = "2026-01-01T00:00:00Z";
    former = entry_of(world);
    serve(&fixture, 9, "active");
    make_one(world, 1, 9);
    ck_assert_str_eq(entry_of(world), former);
    end(&fixture);
}
END_TEST

START_TEST(the_least_recently_used_entry_is_evicted) {
    static const char *const uses[] = { ID("1"), ID("2"), ID("1"), ID("3") };

    for (int by_size = 0; by_size <= 1; by_size++) {
        struct fixture fixture;
        struct world *world;

        begin(&fixture);
        world = fixture.world;
        *(by_size ? &world->backends[0].image_cache.gb_most
                  : &world->backends[0].image_cache.entries_most) = 2;
        world_restart(world);
        for (size_t i = 0; i < LENGTH(uses); i++) {
            shown.id = uses[i];
            make_one(world, 1, 7);
            world_advance(world, 1);
        }
        ck_assert_int_eq(entries(world), 2);
        ck_assert_int_eq(all_entries(world), 2);
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volumes WHERE " IS_ENTRY
                                            " AND display_name = 'image-" ID("2") "'"),
                         0);
        end(&fixture);
    }
}
END_TEST

#define NOTIFIED(event)                                              \
    world_count(world, "SELECT COUNT(*) FROM outbox WHERE method = " \
                       "'image_volume_cache." event                  \
                       "' AND payload LIKE '%" ID("1") "%' AND payload LIKE '%" WORLD_NODE "%'")

START_TEST(a_listener_is_notified_of_each_use_of_the_cache) {
    struct fixture fixture;
    struct world *world;

    begin(&fixture);
    world = fixture.world;
    world->settings.notifications = true;
    request_one(world, 1);
    request_one(world, 1); /* waits for the same entry */
    world_settle(world);
    make_one(world, 1, 7);
    ck_assert_int_eq(NOTIFIED("miss"), 1);
    ck_assert_int_eq(NOTIFIED("hit"), 2);
    ck_assert_int_eq(NOTIFIED("evict"), 0);
    shown.updated_at = "2026-01-02T00:00:00Z";
    make_one(world, 1, 7);
    ck_assert_int_eq(NOTIFIED("evict"), 1);
    end(&fixture);
}
END_TEST

/* As one whose entries may be evicted, and another's may not. */
START_TEST(entries_are_evicted_where_that_reaches_the_limit_alone) {
    static const struct {
        const char *status;
        int64_t left, left_of_first; /* entries after a third image */
    } rows[] = {
        { "maintenance", 1, 0 },
        { "error", 1, 0 },
        { "downloading", 1, 1 },
        { "available", 1, 0 }, /* ended by another release: no entry */
    };

    for (size_t i = 0; i < LENGTH(rows) * 2; i++) {
        struct fixture fixture;
        struct world *world;

        begin(&fixture);
        world = fixture.world;
        make_one(world, 1, 7);
        shown.id = ID("2");
        make_one(world, 1, 7);
        world_sql(world,
                  PATH("UPDATE volumes SET status = '%s' WHERE display_name = 'image-" ID("2") "'",
                       rows[i / 2].status));
        *(i % 2 ? &world->backends[0].image_cache.gb_most
                : &world->backends[0].image_cache.entries_most) = 1;
        world_restart(world);
        shown.id = ID("3");
        make_one(world, 1, 7);
        ck_assert_int_eq(entries(world), rows[i / 2].left);
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volumes WHERE display_name = "
                                            "'image-" ID("1") "'"),
                         rows[i / 2].left_of_first);
        end_without_check(&fixture); /* no operation has such a status */
    }
}
END_TEST

static int64_t entries_of(struct world *world, const char *image) {
    return world_count(world, PATH("SELECT COUNT(*) FROM volumes WHERE " IS_ENTRY
                                   " AND display_name = 'image-%s'",
                                   image));
}

static void remove_one(struct world *world, const char *id) {
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s", id), NULL), 202);
    world_settle(world);
    world_advance(world, 61); /* with a new report */
}

/* A pool of 4 GiB with entries of two images, the first one used least recently, and 2 GiB left. */
static void begin_full(struct fixture *fixture) {
    const struct world_settings small = { .capacity_gb = 4 };
    struct world *world;

    begin_with(fixture, &small);
    world = fixture->world;
    world->settings.max_over_subscription_ratio = 1;
    world_restart(world);
    for (size_t i = 0; i < 2; i++) {
        shown.id = ids[i];
        remove_one(world, make_one(world, 1, 7));
    }
    ck_assert_int_eq(entries(world), 2);
}

static const char *empty_one(struct world *world, int size_gb) {
    ck_assert_int_eq(
        world_call(world, "POST", "/volumes", PATH("{\"volume\": {\"size\": %d}}", size_gb)), 202);
    return world_answer_id(world, "volume");
}

START_TEST(a_volume_without_space_evicts_the_least_recently_used_entries) {
    struct fixture fixture;
    struct world *world;
    const char *id, *refused;

    begin_full(&fixture);
    world = fixture.world;
    id = empty_one(world, 3);
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "available");
    ck_assert_int_eq(entries_of(world, ID("1")), 0);
    ck_assert_int_eq(entries_of(world, ID("2")), 1);
    world_advance(world, 61);
    /* nothing is evicted in vain */
    refused = empty_one(world, 2);
    world_settle(world);
    ck_assert_str_eq(world_status(world, refused), "error");
    ck_assert_int_eq(entries_of(world, ID("2")), 1);
    ck_assert_int_eq(world_action(world, id, "{\"os-extend\": {\"new_size\": 4}}"), 202);
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "available");
    ck_assert_int_eq(world_size(world, id), 4);
    ck_assert_int_eq(all_entries(world), 0);
    end(&fixture);
}
END_TEST

/* The first entry is not evicted for a volume that would need the space of both. */
START_TEST(an_entry_that_cannot_be_deleted_is_no_space) {
    static const struct {
        const char *change;
        bool stays;
    } rows[] = {
        { "attach_status = 'attached'", true },      { "migration_status = 'migrating'", true },
        { "migration_status = 'completing'", true }, { "migration_status = 'error'", false },
        { "migration_status = 'success'", false },   { "status = 'error'", false },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        const char *id, *shown_status = rows[i].stays ? "error" : "available";
        struct fixture fixture;
        struct world *world;

        begin_full(&fixture);
        world = fixture.world;
        world_sql(world, PATH("UPDATE volumes SET %s WHERE display_name = 'image-" ID("2") "'",
                              rows[i].change));
        id = empty_one(world, 4);
        world_settle(world);
        ck_assert_msg(strcmp(world_status(world, id), shown_status) == 0, "%s", rows[i].change);
        ck_assert_int_eq(entries_of(world, ID("1")), rows[i].stays);
        ck_assert_int_eq(entries_of(world, ID("2")), rows[i].stays);
        if (rows[i].stays) {
            id = empty_one(world, 3);
            world_settle(world);
            ck_assert_str_eq(world_status(world, id), "available");
            ck_assert_int_eq(entries_of(world, ID("1")), 0);
            ck_assert_int_eq(entries_of(world, ID("2")), 1);
        }
        end_without_check(&fixture); /* no operation writes these */
    }
}
END_TEST

/* Several requests before the first entry is gone. */
START_TEST(an_entry_that_is_being_deleted_is_space_for_one_volume) {
    struct fixture fixture;
    struct world *world;
    const char *made[3];

    begin_full(&fixture);
    world = fixture.world;
    made[0] = empty_one(world, 2);
    ck_assert_int_eq(entries(world), 2);
    made[1] = empty_one(world, 1);
    ck_assert_int_eq(entries(world), 1);
    made[2] = empty_one(world, 1);
    ck_assert_int_eq(entries(world), 0);
    world_settle(world);
    for (size_t i = 0; i < LENGTH(made); i++)
        ck_assert_str_eq(world_status(world, made[i]), "available");
    ck_assert_int_eq(all_entries(world), 0);
    end(&fixture);
}
END_TEST

START_TEST(a_clone_or_a_snapshot_without_space_evicts_entries) {
    struct fixture fixture;
    struct world *world;
    const char *id, *clone;

    begin_full(&fixture);
    world = fixture.world;
    id = empty_one(world, 1);
    world_settle(world);
    empty_one(world, 1);
    world_settle(world);
    world_advance(world, 61);
    ck_assert_int_eq(entries(world), 2);
    ck_assert_int_eq(
        world_call(world, "POST", "/volumes", PATH("{\"volume\": {\"source_volid\": \"%s\"}}", id)),
        202);
    clone = world_answer_id(world, "volume");
    world_settle(world);
    ck_assert_str_eq(world_status(world, clone), "available");
    ck_assert_int_eq(entries_of(world, ID("1")), 0);
    ck_assert_int_eq(entries_of(world, ID("2")), 1);
    world_advance(world, 61);
    ck_assert_int_eq(world_call(world, "POST", "/snapshots",
                                PATH("{\"snapshot\": {\"volume_id\": \"%s\"}}", id)),
                     202);
    world_settle(world);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM snapshots WHERE status = "
                                        "'available'"),
                     1);
    ck_assert_int_eq(all_entries(world), 0);
    end(&fixture);
}
END_TEST

START_TEST(without_an_internal_project_or_a_feature_there_are_no_entries) {
    for (int i = 0; i < 3; i++) {
        struct fixture fixture;
        struct world *world;

        begin(&fixture);
        world = fixture.world;
        if (i == 0)
            world->settings.internal_project_id = NULL;
        else if (i == 1)
            world->backends[0].image_cache.is_enabled = false;
        else
            world->filter.reads_extra_specs = true;
        world_restart(world);
        make_one(world, 1, 7);
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volumes"), 1);
        end(&fixture);
    }
}
END_TEST

START_TEST(an_entry_that_cannot_be_cloned_is_replaced_by_the_image) {
    struct fixture fixture;
    struct world *world;
    unsigned before;

    begin(&fixture);
    world = fixture.world;
    make_one(world, 1, 7);
    before = downloads(&fixture);
    memory_fail_next(world->memory, "clone_volume", ERROR_BACKEND);
    make_one(world, 1, 7);
    ck_assert_uint_gt(downloads(&fixture), before);
    ck_assert_int_eq(all_entries(world), 0);
    make_one(world, 1, 7);
    ck_assert_int_eq(entries(world), 1);
    end(&fixture);
}
END_TEST

START_TEST(an_image_that_fails_leaves_no_entry) {
    struct fixture fixture;
    struct world *world;
    const char *id;

    begin(&fixture);
    world = fixture.world;
    serve(&fixture, 7, "deactivated");
    id = request_one(world, 1);
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "error");
    ck_assert(world_has_message(world, id, "VOLUME_VOLUME_005_012"));
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volumes"), 1);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    end(&fixture);
}
END_TEST

/* Workers are shared among projects: one project for all entries would have all images wait for
 * those of one member. */
START_TEST(the_create_of_an_entry_is_work_of_the_project_of_its_volume) {
    struct fixture fixture;
    struct world *world;

    begin(&fixture);
    world = fixture.world;
    serve(&fixture, 7, "deactivated");
    for (size_t i = 0; i < LENGTH(ids); i++) {
        shown.id = ids[i];
        request_one(world, 1);
    }
    while (all_entries(world) < 3) {
        world_relay(world);
        ck_assert(world_step(world, 0));
    }
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations WHERE project_id = "
                                        "'" WORLD_PROJECT "'"),
                     6);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 6);
    world_settle(world);
    ck_assert_int_eq(all_entries(world), 0);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM messages WHERE " IS_ENTRY), 3);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM messages"), 6);
    end(&fixture);
}
END_TEST

START_TEST(an_image_that_was_deactivated_meanwhile_is_not_used) {
    struct fixture fixture;
    struct world *world;
    const char *id;

    begin(&fixture);
    world = fixture.world;
    make_one(world, 1, 7);
    serve(&fixture, 7, "deactivated");
    id = request_one(world, 1);
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "error");
    ck_assert_int_eq(memory_read(world->memory, id), -1);
    end(&fixture);
}
END_TEST

/* Its content could become that of other projects' volumes. */
START_TEST(an_entry_is_neither_attached_nor_changed) {
    static const char *const actions[] = {
        "{\"os-attach\": {\"instance_uuid\": \"" WORLD_INSTANCE
        "\", \"mountpoint\": \"/dev/vdb\"}}",
        "{\"os-reserve\": {}}",
        "{\"os-initialize_connection\": {\"connector\": {\"host\": \"" WORLD_NODE "\"}}}",
        "{\"os-extend\": {\"new_size\": 2}}",
        "{\"os-reimage\": {\"image_id\": \"" IMAGES_ID "\"}}",
        "{\"os-unmanage\": {}}",
        RESET("maintenance"),
    };
    struct fixture fixture;
    struct world *world;
    const char *entry;

    begin(&fixture);
    world = fixture.world;
    make_one(world, 1, 7);
    entry = entry_of(world);
    images_begin(world);
    for (size_t i = 0; i < LENGTH(actions); i++)
        ck_assert_msg(world_action(world, entry, "%s", actions[i]) == 400, "%s: %s", actions[i],
                      world->answer_text);
    ck_assert_int_eq(world_call(world, "POST", "/attachments",
                                PATH("{\"attachment\": {\"volume_uuid\": \"%s\", "
                                     "\"instance_uuid\": \"" WORLD_INSTANCE "\"}}",
                                     entry)),
                     400);
    ck_assert_int_eq(world_call(world, "PUT", PATH("/volumes/%s", entry),
                                "{\"volume\": {\"description\": \"x\"}}"),
                     400);
    ck_assert_int_eq(entries(world), 1);
    end(&fixture);
}
END_TEST

/* After a reset it is a volume as any other, and the next request makes another entry. */
START_TEST(an_entry_that_was_reset_or_deleted_is_none_any_more) {
    static const char *const actions[] = { RESET("available"), "{\"os-force_delete\": {}}" };

    for (size_t i = 0; i < LENGTH(actions); i++) {
        struct fixture fixture;
        struct world *world;
        const char *entry;

        begin(&fixture);
        world = fixture.world;
        make_one(world, 1, 7);
        entry = entry_of(world);
        ck_assert_int_eq(world_action(world, entry, "%s", actions[i]), 202);
        memory_write(world->memory, entry, 66);
        ck_assert_int_eq(world_action(world, entry, RESET("maintenance")), 400);
        make_one(world, 1, 7);
        ck_assert_int_eq(entries(world), 1);
        end(&fixture);
    }
}
END_TEST

/* Its content is its user's, whatever its status is later. */
START_TEST(an_entry_that_was_reset_is_not_deleted_as_one) {
    static const char *const later[] = { "available", "error", "downloading", "error_deleting" };
    struct fixture fixture;
    struct world *world;
    const char *entry;

    for (size_t i = 0; i < LENGTH(later); i++) {
        begin(&fixture);
        world = fixture.world;
        world->backends[0].image_cache.entries_most = 1;
        world_restart(world);
        make_one(world, 1, 7);
        entry = entry_of(world);
        ck_assert_int_eq(world_action(world, entry, RESET("available")), 202);
        ck_assert_str_eq(json_text_of(world_show(world, entry), "name"), "former-image-" ID("1"));
        memory_write(world->memory, entry, 66);
        world_sql(world, PATH("UPDATE volumes SET status = '%s' WHERE id = '%s'", later[i], entry));
        make_one(world, 1, 7);
        shown.id = ID("2");
        make_one(world, 1, 7);
        ck_assert_int_eq(memory_read(world->memory, entry), 66);
        ck_assert_int_eq(entries(world), 1);
        end_without_check(&fixture); /* no operation has such a status */
    }
}
END_TEST

static const char *reset_entry;

static struct fault_decision reset_before_clone(void *arg, const char *call,
                                                const char *volume_id) {
    struct world *world = arg;

    (void)volume_id;
    if (!reset_entry || strcmp(call, "clone_volume") != 0)
        return (struct fault_decision){ .action = FAULT_PASS };
    ck_assert_int_eq(world_action(world, reset_entry, RESET("error")), 202);
    reset_entry = NULL;
    return (struct fault_decision){ .action = FAULT_BEFORE };
}

START_TEST(an_entry_that_is_reset_during_a_clone_is_not_deleted_as_one) {
    struct fixture fixture;
    struct world *world;
    const char *entry;

    begin(&fixture);
    world = fixture.world;
    make_one(world, 1, 7);
    entry = entry_of(world);
    reset_entry = entry;
    world->decide = reset_before_clone;
    make_one(world, 1, 7);
    ck_assert_str_eq(world_status(world, entry), "error");
    ck_assert_int_eq(memory_read(world->memory, entry), 7);
    end(&fixture);
}
END_TEST

START_TEST(a_stop_between_any_two_steps_leaves_the_volumes_and_one_entry) {
    bool died = true;

    for (int effects = 1; died; effects++) {
        struct fixture fixture;
        struct world *world;
        const char *made[2];

        begin(&fixture);
        world = fixture.world;
        world->backends[0].image_cache.entries_most = 1;
        world_restart(world);
        shown.id = ID("2");
        make_one(world, 1, 7);
        shown.id = ID("1");
        for (size_t i = 0; i < LENGTH(made); i++)
            made[i] = request_one(world, 1);
        world_die_after(world, effects);
        world_settle(world);
        died = world->dead;
        world_restart(world);
        for (int i = 0; i < 6; i++) {
            world_advance(world, 31);
            world_settle(world);
        }
        for (size_t i = 0; i < LENGTH(made); i++)
            assert_made(world, made[i], 7);
        ck_assert_int_eq(entries(world), 1);
        ck_assert_int_eq(all_entries(world), 1);
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
        ck_assert_uint_eq(memory_count(world->memory), 4);
        end(&fixture);
    }
}
END_TEST

static struct {
    struct world *world;
    enum memory_point point; /* of the clone, where its worker sleeps */
    const char *entry, *id;
    bool deletes, asleep;
} late;

/* Another manager ends its operation; then the entry is deleted, perhaps with the volume. */
static bool sleep_once(void *arg, enum memory_point point, const char *call, const char *name_id) {
    struct world *world = late.world;

    (void)arg, (void)name_id;
    if (late.asleep || point != late.point || strcmp(call, "clone_volume") != 0)
        return true;
    late.asleep = true;
    other_manager_works(world);
    ck_assert_str_eq(world_status(world, late.id), "available");
    ck_assert_int_eq(world_action(world, late.entry, "{\"os-force_delete\": {}}"), 202);
    if (late.deletes)
        ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s", late.id), NULL), 202);
    other_manager_works(world);
    return true;
}

START_TEST(a_late_worker_changes_nothing) {
    for (unsigned i = 0; i < 4; i++) {
        struct fixture fixture;
        struct world *world;

        begin(&fixture);
        world = fixture.world;
        make_one(world, 1, 7);
        late.world = world;
        late.point = i % 2 ? MEMORY_LOOKED : MEMORY_FENCED;
        late.entry = entry_of(world);
        late.id = request_one(world, 1);
        late.deletes = i / 2;
        late.asleep = false;
        memory_watch(world->memory, sleep_once, NULL);
        for (int k = 0; k < 4; k++) {
            world_settle(world);
            world_advance(world, 61);
        }
        ck_assert(late.asleep);
        ck_assert_uint_eq(memory_count(world->memory), late.deletes ? 1 : 2);
        ck_assert_int_eq(all_entries(world), 0);
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
        if (!late.deletes)
            assert_made(world, late.id, 7);
        memory_watch(world->memory, NULL, NULL);
        end(&fixture);
    }
}
END_TEST

/* ---- volumes that the image service names ---- */

#define OF(owner, place) PATH(", \"owner\": \"" owner "\", " place, id)
#define DIRECT           "\"direct_url\": \"cinder://%s\""
#define LISTED           "\"locations\": [{\"url\": \"file:///x\"}, {\"url\": \"cinder://store/%s\"}]"

/* A volume with the byte 9, and the option. */
static const char *begin_with_volume(struct fixture *fixture) {
    const char *id;

    begin(fixture);
    fixture->world->backends[0].image_cache.is_enabled = false;
    fixture->world->settings.clones_image_volumes = true;
    world_restart(fixture->world);
    id = world_volume(fixture->world, 1);
    ck_assert(memory_write(fixture->world->memory, id, 9));
    return id;
}

START_TEST(a_volume_of_the_images_owner_is_cloned) {
    for (int i = 0; i < 3; i++) {
        struct fixture fixture;
        const char *id = begin_with_volume(&fixture);
        struct world *world = fixture.world;

        if (i == 2)
            ck_assert_int_eq(world_call(world, "POST", PATH("/volumes/%s/metadata", id),
                                        "{\"metadata\": {\"image_owner\": \"other\"}}"),
                             200);
        fixture.members = i == 0   ? OF(WORLD_PROJECT, DIRECT)
                          : i == 1 ? OF(WORLD_PROJECT, LISTED)
                                   : OF("other", LISTED);
        serve(&fixture, 7, "active");
        make_one(world, 2, 9);
        ck_assert_uint_eq(downloads(&fixture), 0);
        ck_assert_int_eq(memory_read(world->memory, id), 9);
        end(&fixture);
    }
}
END_TEST

START_TEST(the_first_location_with_a_volume_that_can_be_cloned_is_used) {
    static const char *const others[] = {
        "UPDATE volumes SET status = 'in-use'", "UPDATE volumes SET project_id = 'other'",
        "DELETE FROM volumes",
        "UPDATE volumes SET bootable = 0", /* both can be: the first is used */
    };

    for (size_t i = 0; i < LENGTH(others); i++) {
        struct fixture fixture;
        const char *id = begin_with_volume(&fixture), *other;
        struct world *world = fixture.world;

        other = world_volume(world, 1);
        ck_assert(memory_write(world->memory, other, 5));
        fixture.members = PATH(", \"owner\": \"" WORLD_PROJECT
                               "\", \"direct_url\": \"cinder://%s\", \"locations\": "
                               "[{\"url\": \"cinder://%s\"}, {\"url\": \"cinder://%s\"}]",
                               other, other, id);
        serve(&fixture, 7, "active");
        world_sql(world, PATH("%s WHERE id = '%s'", others[i], other));
        make_one(world, 1, i == LENGTH(others) - 1 ? 5 : 9);
        ck_assert_uint_eq(downloads(&fixture), 0);
        end_without_check(&fixture); /* the changes do not fit the storage */
    }
}
END_TEST

/* Users of the image service may add locations. */
START_TEST(any_other_volume_is_no_content_of_an_image) {
    static const char *const changes[] = {
        "UPDATE volumes SET encryption_key_id = id",      "UPDATE volumes SET status = 'in-use'",
        "UPDATE volumes SET host = 'other@memory#pool'",  "UPDATE volumes SET project_id = 'other'",
        "UPDATE volumes SET size_gb = 2, largest_gb = 2",
    };

    for (size_t i = 0; i < LENGTH(changes) + 4; i++) {
        struct fixture fixture;
        const char *id = begin_with_volume(&fixture);
        struct world *world = fixture.world;

        fixture.members = i == 0   ? OF("", DIRECT)
                          : i == 1 ? OF("other", LISTED)
                          : i == 2 ? OF(WORLD_PROJECT, "\"direct_url\": \"rbd://%s\"")
                          : i == 3 ? OF(WORLD_PROJECT, "\"direct_url\": \"cinder://a/b/%s\"")
                                   : OF(WORLD_PROJECT, DIRECT);
        serve(&fixture, 7, "active");
        if (i >= 4)
            world_sql(world, changes[i - 4]);
        make_one(world, 1, 7);
        ck_assert_uint_gt(downloads(&fixture), 0);
        end_without_check(&fixture); /* the changes do not fit the storage */
    }
}
END_TEST

static struct fault_decision no_clones(void *arg, const char *call, const char *volume_id) {
    (void)arg, (void)volume_id;
    return (struct fault_decision){ .action = strcmp(call, "clone_volume") == 0 ? FAULT_BEFORE
                                                                                : FAULT_PASS };
}

START_TEST(without_the_option_or_for_another_format_no_volume_is_cloned) {
    struct fixture fixture;
    const char *id = begin_with_volume(&fixture);
    struct world *world = fixture.world;

    fixture.members = OF(WORLD_PROJECT, DIRECT);
    serve(&fixture, 7, "active");
    world->settings.clones_image_volumes = false;
    make_one(world, 1, 7);
    world->settings.clones_image_volumes = true;
    shown_container = "ami";
    make_one(world, 1, 7);
    shown_container = "bare";
    make_one(world, 1, 9);
    world->decide = no_clones;
    make_one(world, 1, 7);
    ck_assert_str_eq(world_status(world, id), "available");
    end(&fixture);
}
END_TEST

START_TEST(a_stop_between_any_two_steps_leaves_a_clone) {
    bool died = true;

    for (int effects = 1; died; effects++) {
        struct fixture fixture;
        const char *id = begin_with_volume(&fixture), *made;
        struct world *world = fixture.world;

        fixture.members = OF(WORLD_PROJECT, DIRECT);
        serve(&fixture, 7, "active");
        made = request_one(world, 1);
        world_die_after(world, effects);
        world_settle(world);
        died = world->dead;
        world_restart(world);
        for (int i = 0; i < 6; i++) {
            world_advance(world, 31);
            world_settle(world);
        }
        assert_made(world, made, 9);
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
        end(&fixture);
    }
}
END_TEST

static struct {
    const char *source;
    bool fails; /* the clone of it */
    unsigned clones, creates;
} left;

static struct fault_decision see_queue_left(void *arg, const char *call, const char *volume_id) {
    struct world *world = arg;

    (void)volume_id;
    if (strcmp(call, "clone_volume") == 0) {
        left.clones++;
        return (struct fault_decision){ .action = left.fails ? FAULT_BEFORE : FAULT_PASS };
    }
    if (strcmp(call, "create_volume") == 0 && left.creates++ == 0) {
        ck_assert_int_eq(world_count(world, PATH("SELECT COUNT(*) FROM operations WHERE '%s' IN "
                                                 "(turn_of, reads_of) AND volume_id <> '%s'",
                                                 left.source, left.source)),
                         0);
        ck_assert_int_eq(world_count(world, PATH("SELECT COUNT(*) FROM outbox WHERE method = "
                                                 "'delete_volume' AND key = '%s'",
                                                 left.source)),
                         1);
        return (struct fault_decision){ .action = FAULT_BUSY };
    }
    return (struct fault_decision){ .action = FAULT_PASS };
}

/* Other work on it would wait for the download. */
START_TEST(a_source_that_is_not_used_is_not_blocked) {
    for (int is_entry = 0; is_entry <= 1; is_entry++) {
        struct fixture fixture;
        struct world *world;
        const char *id, *made;

        if (is_entry) {
            begin(&fixture);
            world = fixture.world;
            make_one(world, 1, 7);
            id = entry_of(world);
            made = request_one(world, 1);
        } else {
            id = begin_with_volume(&fixture);
            world = fixture.world;
            fixture.members = OF(WORLD_PROJECT, DIRECT);
            serve(&fixture, 7, "active");
            made = request_one(world, 1);
            while (world_count(world, "SELECT COUNT(*) FROM operations WHERE turn_of <> ''") == 0) {
                world_relay(world);
                ck_assert(world_step(world, 0));
            }
            ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s", id), NULL), 202);
            ck_assert(world_step(world, world_relay(world) - 1)); /* in vain before the create */
            ck_assert_str_eq(world_status(world, id), "deleting");
        }
        left.source = id;
        left.fails = is_entry;
        left.clones = left.creates = 0;
        world->decide = see_queue_left;
        world_settle(world);
        ck_assert_uint_eq(left.creates, 1);
        /* the create found files in use, and is repeated */
        for (int i = 0; i < 6; i++) {
            world_advance(world, 31);
            world_settle(world);
        }
        assert_made(world, made, 7);
        ck_assert_uint_eq(left.clones, is_entry ? 1 : 0);
        ck_assert_uint_eq(left.creates, 2);
        ck_assert_str_eq(world_status(world, id), "gone");
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
        end(&fixture);
    }
}
END_TEST

/* One that hangs delays no short work. */
START_TEST(a_worker_for_short_work_sends_nothing_to_the_image_service) {
    for (int is_of_volume = 0; is_of_volume <= 1; is_of_volume++) {
        struct fixture fixture;
        const char *id, *made;
        struct world *world;
        unsigned before;

        if (is_of_volume) {
            id = begin_with_volume(&fixture);
            world = fixture.world;
            fixture.members = OF(WORLD_PROJECT, DIRECT);
            serve(&fixture, 7, "active");
        } else {
            begin(&fixture);
            world = fixture.world;
            make_one(world, 1, 7);
        }
        before = descriptions(&fixture);
        made = request_one(world, 1);
        while (world_count(world, "SELECT COUNT(*) FROM operations WHERE is_long = 1") == 0) {
            world_relay(world);
            ck_assert(world_step(world, 0));
        }
        ck_assert_uint_eq(descriptions(&fixture), before);
        world_settle(world);
        assert_made(world, made, is_of_volume ? 9 : 7);
        ck_assert_uint_gt(descriptions(&fixture), before);
        end(&fixture);
    }
}
END_TEST

CHECK_MAIN("image_cache", an_image_is_downloaded_once_for_all_its_volumes,
           another_version_of_an_image_is_downloaded, the_least_recently_used_entry_is_evicted,
           entries_are_evicted_where_that_reaches_the_limit_alone,
           a_volume_without_space_evicts_the_least_recently_used_entries,
           an_entry_that_cannot_be_deleted_is_no_space,
           an_entry_that_is_being_deleted_is_space_for_one_volume,
           a_clone_or_a_snapshot_without_space_evicts_entries,
           a_listener_is_notified_of_each_use_of_the_cache,
           without_an_internal_project_or_a_feature_there_are_no_entries,
           an_entry_that_cannot_be_cloned_is_replaced_by_the_image,
           an_image_that_fails_leaves_no_entry,
           the_create_of_an_entry_is_work_of_the_project_of_its_volume,
           an_image_that_was_deactivated_meanwhile_is_not_used,
           an_entry_is_neither_attached_nor_changed,
           an_entry_that_was_reset_or_deleted_is_none_any_more,
           an_entry_that_was_reset_is_not_deleted_as_one,
           an_entry_that_is_reset_during_a_clone_is_not_deleted_as_one,
           a_stop_between_any_two_steps_leaves_the_volumes_and_one_entry,
           a_late_worker_changes_nothing, a_volume_of_the_images_owner_is_cloned,
           the_first_location_with_a_volume_that_can_be_cloned_is_used,
           any_other_volume_is_no_content_of_an_image,
           without_the_option_or_for_another_format_no_volume_is_cloned,
           a_stop_between_any_two_steps_leaves_a_clone, a_source_that_is_not_used_is_not_blocked,
           a_worker_for_short_work_sends_nothing_to_the_image_service)
