/*
 * Transfers: a volume, with its snapshots or without, is offered to another project, which accepts
 * it with the key.
 */
#include "common/cleanup.h"
#include "common/log.h"
#include "tests/lib/groups.h"
#include "tests/lib/roles.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GIVER "member:" WORLD_PROJECT
#define TAKER "member:" WORLD_OTHER
#define ADMIN "admin:" WORLD_PROJECT

/* Volumes are made by an administrator of the giver's project, requests are a member's. */
static struct world *enter(const struct world_settings *settings) {
    struct world *world = world_new(settings);

    roles_enter(world, NULL);
    world->token = ADMIN;
    return world;
}

static int offer_at(struct world *world, const char *path, const char *volume, const char *more) {
    world->token = GIVER;
    return world_call(
        world, "POST", path,
        PATH("{\"transfer\": {\"volume_id\": \"%s\", \"name\": \"gift\"%s}}", volume, more));
}

static int offer(struct world *world, const char *volume) {
    return offer_at(world, "/volume-transfers", volume, "");
}

static const char *answered(struct world *world, const char *key) {
    return PATH(
        "%s", json_string_value(json_object_get(json_object_get(world->answer, "transfer"), key)));
}

static int send_request(struct world *world, const char *token, const char *method,
                        const char *path) {
    world->token = token;
    return world_call(world, method, path, NULL);
}

static int accept_with(struct world *world, const char *token, const char *id, const char *value) {
    world->token = token;
    return world_call(world, "POST", PATH("/volume-transfers/%s/accept", id),
                      PATH("{\"accept\": {\"auth_key\": %s}}", value));
}

static int accept(struct world *world, const char *token, const char *id, const char *key) {
    return accept_with(world, token, id, PATH("\"%s\"", key));
}

static void assert_volume(struct world *world, const char *id, const char *project,
                          const char *status) {
    world->token = ADMIN;
    ck_assert_str_eq(world_status(world, id), status);
    ck_assert_int_eq(COUNT("volumes WHERE id = '%s' AND project_id = '%s'", id, project), 1);
    ck_assert_int_eq(COUNT("transfers"), strcmp(status, "awaiting-transfer") == 0);
    ck_assert_int_eq(world_check(world), 0);
}

static void assert_offered(struct world *world, const char *volume) {
    assert_volume(world, volume, WORLD_PROJECT, "awaiting-transfer");
}

/* ---- offered and shown ---- */

START_TEST(an_offer_shows_its_key_once) {
    autoworld struct world *world = enter(NULL);
    const char *volume = world_volume(world, 1), *id, *key;
    const json_t *shown;

    ck_assert_int_eq(offer(world, volume), 202);
    id = answered(world, "id");
    key = answered(world, "auth_key");
    ck_assert_uint_eq(strlen(key), 16);
    ck_assert_uint_eq(strspn(key, "0123456789abcdef"), 16);
    ck_assert_str_eq(answered(world, "volume_id"), volume);
    ck_assert_ptr_nonnull(strstr(world->answer_text, PATH("/os-volume-transfer/%s\"", id)));
    assert_offered(world, volume);
    ck_assert_int_eq(COUNT("transfers WHERE digest LIKE '%%%s%%' OR salt LIKE '%%%s%%'", key, key),
                     0);
    ck_assert_int_eq(send_request(world, GIVER, "GET", PATH("/volume-transfers/%s", id)), 200);
    shown = json_object_get(world->answer, "transfer");
    ck_assert_str_eq(json_string_value(json_object_get(shown, "name")), "gift");
    ck_assert_str_eq(json_string_value(json_object_get(shown, "source_project_id")), WORLD_PROJECT);
    ck_assert(json_is_null(json_object_get(shown, "destination_project_id")));
    ck_assert(json_is_false(json_object_get(shown, "accepted")));
    ck_assert(json_is_false(json_object_get(shown, "no_snapshots")));
    ck_assert_uint_eq(json_object_size(shown), 9);
}
END_TEST

START_TEST(keys_come_with_their_microversions) {
    static const struct {
        unsigned minor;
        size_t keys;
    } cases[] = { { 0, 5 }, { 54, 5 }, { 55, 6 }, { 56, 6 }, { 57, 9 } };
    autoworld struct world *world = enter(NULL);
    const char *volume = world_volume(world, 1), *id;

    world->minor = 54;
    ck_assert_int_eq(offer_at(world, "/volume-transfers", volume, ", \"no_snapshots\": true"), 400);
    ck_assert_int_eq(offer(world, volume), 202);
    id = answered(world, "id");
    for (size_t i = 0; i < LENGTH(cases); i++) {
        world->minor = cases[i].minor;
        ck_assert_int_eq(send_request(world, GIVER, "GET", PATH("/os-volume-transfer/%s", id)),
                         200);
        ck_assert_uint_eq(json_object_size(json_object_get(world->answer, "transfer")),
                          cases[i].keys);
    }
}
END_TEST

START_TEST(lists_filter_and_page) {
    static const char *const paths[] = { "/volume-transfers", "/os-volume-transfer" };
    static const struct {
        const char *query;
        size_t count;
    } cases[] = { { "", 2 }, { "?name=gift", 2 }, { "?name=other", 0 }, { "?limit=1", 1 } };
    autoworld struct world *world = enter(NULL);
    const char *volumes[] = { world_volume(world, 1), world_volume(world, 1) };

    for (size_t i = 0; i < LENGTH(volumes); i++)
        ck_assert_int_eq(offer(world, volumes[i]), 202);
    for (size_t p = 0; p < LENGTH(paths); p++) {
        for (size_t i = 0; i < LENGTH(cases); i++) {
            ck_assert_int_eq(
                send_request(world, GIVER, "GET", PATH("%s%s", paths[p], cases[i].query)), 200);
            ck_assert_uint_eq(json_array_size(json_object_get(world->answer, "transfers")),
                              cases[i].count);
        }
        ck_assert_int_eq(
            send_request(world, GIVER, "GET", PATH("%s/detail?volume_id=%s", paths[p], volumes[1])),
            200);
        ck_assert_ptr_nonnull(strstr(world->answer_text, volumes[1]));
        ck_assert_ptr_null(strstr(world->answer_text, volumes[0]));
        ck_assert_int_eq(send_request(world, TAKER, "GET", paths[p]), 200);
        ck_assert_str_eq(world->answer_text, "{\"transfers\":[]}");
        ck_assert_int_eq(
            send_request(world, "admin:" WORLD_OTHER, "GET", PATH("%s?all_tenants=1", paths[p])),
            200);
        ck_assert_uint_eq(json_array_size(json_object_get(world->answer, "transfers")), 2);
    }
}
END_TEST

START_TEST(an_offer_of_another_project_is_not_found) {
    autoworld struct world *world = enter(NULL);
    const char *volume = world_volume(world, 1), *path;

    ck_assert_int_eq(offer(world, volume), 202);
    path = PATH("/volume-transfers/%s", answered(world, "id"));
    ck_assert_int_eq(send_request(world, TAKER, "GET", path), 404);
    ck_assert_int_eq(send_request(world, TAKER, "DELETE", path), 404);
    ck_assert_int_eq(accept(world, TAKER, "11111111-1111-4111-8111-111111111111", "k"), 404);
    assert_offered(world, volume);
}
END_TEST

/* ---- accepted ---- */

START_TEST(an_accepted_volume_is_the_takers_with_all_that_counts) {
    autoworld struct world *world = enter(NULL);
    const char *volume = world_volume(world, 3), *snapshot = snapshot_of_volume(world, volume);
    const char *id, *key;

    world->token = ADMIN;
    ck_assert_int_eq(world_call(world, "POST", PATH("/volumes/%s/metadata", volume),
                                "{\"metadata\": {\"k\": \"v\", \"image_owner\": \"" WORLD_PROJECT
                                "\", \"glance_image_id\": \"i\"}}"),
                     200);
    ck_assert_int_eq(offer(world, volume), 202);
    id = answered(world, "id");
    key = answered(world, "auth_key");
    ck_assert_int_eq(accept(world, TAKER, id, key), 202);
    ck_assert_str_eq(answered(world, "volume_id"), volume);
    ck_assert_str_eq(answered(world, "name"), "gift");
    assert_volume(world, volume, WORLD_OTHER, "available");
    ck_assert_int_eq(
        COUNT("snapshots WHERE id = '%s' AND project_id = '" WORLD_OTHER "'", snapshot), 1);
    ck_assert_int_eq(COUNT("volume_metadata WHERE project_id = '" WORLD_OTHER "'"), 1);
    ck_assert_int_eq(COUNT("volume_metadata WHERE key = 'k'"), 1);
    ck_assert_int_eq(world_in_use(world, "volumes"), 0);
    ck_assert_int_eq(world_in_use(world, "snapshots"), 0);
    ck_assert_int_eq(world_in_use(world, "gigabytes"), 0);
    ck_assert_int_eq(world_in_use(world, "gigabytes___DEFAULT__"), 0);
    ck_assert_int_eq(COUNT("quota_usages WHERE project_id = '" WORLD_OTHER "' AND "
                           "resource IN ('gigabytes', 'gigabytes___DEFAULT__') AND used = 6"),
                     2);
    ck_assert_int_eq(COUNT("quota_usages WHERE project_id = '" WORLD_OTHER "' AND "
                           "resource IN ('volumes', 'snapshots', 'volumes___DEFAULT__', "
                           "'snapshots___DEFAULT__') AND used = 1"),
                     4);
    ck_assert_int_eq(send_request(world, TAKER, "GET", "/volumes?metadata={'k':'v'}"), 200);
    ck_assert_ptr_nonnull(strstr(world->answer_text, volume));
    ck_assert_int_eq(send_request(world, GIVER, "GET", PATH("/volumes/%s", volume)), 404);
    ck_assert_int_eq(accept(world, TAKER, id, key), 404);
    ck_assert_int_eq(send_request(world, TAKER, "DELETE", PATH("/snapshots/%s", snapshot)), 202);
    world_settle(world);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

START_TEST(snapshots_stay_where_no_snapshots_is_requested) {
    autoworld struct world *world = enter(NULL);
    const char *volume = world_volume(world, 2), *snapshot = snapshot_of_volume(world, volume);

    ck_assert_int_eq(offer_at(world, "/volume-transfers", volume, ", \"no_snapshots\": true"), 202);
    ck_assert_int_eq(accept(world, TAKER, answered(world, "id"), answered(world, "auth_key")), 202);
    assert_volume(world, volume, WORLD_OTHER, "available");
    ck_assert_int_eq(
        COUNT("snapshots WHERE id = '%s' AND project_id = '" WORLD_PROJECT "'", snapshot), 1);
    ck_assert_int_eq(world_in_use(world, "volumes"), 0);
    ck_assert_int_eq(world_in_use(world, "snapshots"), 1);
    ck_assert_int_eq(world_in_use(world, "gigabytes"), 2);
}
END_TEST

/* The response has no part of a hidden snapshot, and is that for an unknown one. */
static void assert_hidden(struct world *world, const char *snapshot, const char *method,
                          const char *path, const char *body) {
    const char *first;

    world->token = TAKER;
    ck_assert_int_eq(world_call(world, method, path, body), 400);
    ck_assert_ptr_null(strstr(world->answer_text, snapshot));
    first = PATH("%s", world->answer_text);
    world_sql(world, "UPDATE snapshots SET status = 'error', size_gb = 9");
    world->token = TAKER;
    ck_assert_int_eq(world_call(world, method, path, body), 400);
    ck_assert_str_eq(world->answer_text, first);
    world_sql(world, "UPDATE snapshots SET status = 'available', size_gb = 2");
}

START_TEST(a_snapshot_that_stayed_is_hidden_from_the_volumes_new_project) {
    autoworld struct world *world = enter(NULL);
    const char *volume = world_volume(world, 2), *snapshot = snapshot_of_volume(world, volume);
    const char *action = PATH("/volumes/%s/action", volume);

    ck_assert_int_eq(offer_at(world, "/volume-transfers", volume, ", \"no_snapshots\": true"), 202);
    ck_assert_int_eq(accept(world, TAKER, answered(world, "id"), answered(world, "auth_key")), 202);
    assert_hidden(world, snapshot, "POST", action,
                  PATH("{\"revert\": {\"snapshot_id\": \"%s\"}}", snapshot));
    assert_hidden(world, snapshot, "POST", action,
                  "{\"revert\": {\"snapshot_id\": \"7a1e1c88-2d6b-4f0e-9c86-3d5e7f0a9b11\"}}");
    assert_hidden(world, snapshot, "DELETE", PATH("/volumes/%s?cascade=true", volume), NULL);
    assert_hidden(world, snapshot, "POST", "/volume-transfers",
                  PATH("{\"transfer\": {\"volume_id\": \"%s\"}}", volume));
    assert_volume(world, volume, WORLD_OTHER, "available");
    ck_assert_int_eq(COUNT("operations"), 0);
}
END_TEST

START_TEST(a_volume_made_of_a_snapshot_is_hidden_from_its_new_project) {
    autoworld struct world *world = enter(NULL);
    const char *volume = world_volume(world, 2), *snapshot = snapshot_of_volume(world, volume);
    const char *made, *id, *key;

    world->token = GIVER;
    ck_assert_int_eq(world_call(world, "POST", "/volumes",
                                PATH("{\"volume\": {\"snapshot_id\": \"%s\"}}", snapshot)),
                     202);
    made = world_answer_id(world, "volume");
    ck_assert_int_eq(offer(world, volume), 202);
    id = answered(world, "id");
    key = answered(world, "auth_key");
    ck_assert_int_eq(accept(world, TAKER, id, key), 202);
    ck_assert_int_eq(send_request(world, TAKER, "DELETE", PATH("/volumes/%s?cascade=true", volume)),
                     400);
    ck_assert_ptr_nonnull(strstr(world->answer_text, snapshot));
    ck_assert_ptr_null(strstr(world->answer_text, made));
    world_settle(world);
    ck_assert_int_eq(send_request(world, TAKER, "DELETE", PATH("/volumes/%s?cascade=true", volume)),
                     202);
    world_settle(world);
    assert_volume(world, made, WORLD_PROJECT, "available");
}
END_TEST

/* As a transfer without snapshots leaves them. */
START_TEST(a_snapshot_of_another_project_is_neither_offered_nor_accepted) {
    static const char *const callers[] = { TAKER, "admin:" WORLD_OTHER };

    for (size_t i = 0; i < LENGTH(callers); i++) {
        autoworld struct world *world = enter(NULL);
        const char *volume = world_volume(world, 2), *snapshot = snapshot_of_volume(world, volume);
        const char *body = PATH("{\"transfer\": {\"volume_id\": \"%s\"}}", volume);
        const char *id, *key;

        ck_assert_int_eq(offer_at(world, "/volume-transfers", volume, ", \"no_snapshots\": true"),
                         202);
        ck_assert_int_eq(accept(world, TAKER, answered(world, "id"), answered(world, "auth_key")),
                         202);
        world->token = callers[i];
        ck_assert_int_eq(world_call(world, "POST", "/volume-transfers", body), 400);
        assert_volume(world, volume, WORLD_OTHER, "available");
        /* it is the other project's only after the offer */
        world_sql(world, "UPDATE snapshots SET project_id = '" WORLD_OTHER "'");
        world->token = callers[i];
        ck_assert_int_eq(world_call(world, "POST", "/volume-transfers", body), 202);
        id = answered(world, "id");
        key = answered(world, "auth_key");
        world_sql(world, "UPDATE snapshots SET project_id = '" WORLD_PROJECT "'");
        ck_assert_int_eq(accept(world, callers[i], id, key), 400);
        assert_volume(world, volume, WORLD_OTHER, "awaiting-transfer");
        ck_assert_int_eq(
            COUNT("snapshots WHERE id = '%s' AND project_id = '" WORLD_PROJECT "'", snapshot), 1);
        ck_assert_int_eq(world_in_use(world, "snapshots"), 1);
    }
}
END_TEST

START_TEST(an_offer_is_accepted_within_its_project) {
    const struct world_settings settings = { .quota_volumes = 1 };
    autoworld struct world *world = enter(&settings);
    const char *volume = world_volume(world, 1);

    ck_assert_int_eq(offer_at(world, "/os-volume-transfer", volume, ""), 202);
    ck_assert_int_eq(accept(world, GIVER, answered(world, "id"), answered(world, "auth_key")), 202);
    assert_volume(world, volume, WORLD_PROJECT, "available");
    ck_assert_int_eq(world_in_use(world, "volumes"), 1);
}
END_TEST

START_TEST(a_wrong_key_changes_nothing) {
    static const struct {
        const char *value;
        int status;
    } cases[] = { { "\"0123456789abcdef\"", 400 },
                  { "12345", 400 },
                  { "\"\"", 400 },
                  { "null", 400 },
                  { "[]", 400 },
                  { "true", 400 } };
    autoworld struct world *world = enter(NULL);
    const char *volume = world_volume(world, 1), *id;

    ck_assert_int_eq(offer(world, volume), 202);
    id = answered(world, "id");
    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_int_eq(accept_with(world, TAKER, id, cases[i].value), cases[i].status);
    assert_offered(world, volume);
    ck_assert_int_eq(world_in_use(world, "volumes"), 1);
}
END_TEST

static unsigned lines_with(int log, const char *text) {
    char line[4097];
    autofile FILE *file = fdopen(dup(log), "r");
    unsigned count = 0;

    rewind(file);
    while (fgets(line, sizeof(line), file))
        count += strstr(line, text) != NULL;
    return count;
}

START_TEST(wrong_keys_of_a_project_for_an_offer_are_logged_once) {
    enum { KEYS = 20 };
    autoworld struct world *world = enter(NULL);
    const char *volume = world_volume(world, 1), *id;
    autoclose int log = memfd_create("log", MFD_CLOEXEC);

    ck_assert_int_eq(offer(world, volume), 202);
    id = answered(world, "id");
    log_open(log, LOG_WARNING, LOG_TEXT);
    for (unsigned i = 0; i < KEYS; i++) {
        ck_assert_int_eq(accept(world, TAKER, id, "0123456789abcdef"), 400);
        ck_assert_int_eq(accept(world, GIVER, id, "0123456789abcdef"), 400);
    }
    log_open(-1, LOG_ERROR, LOG_TEXT);
    ck_assert_uint_eq(lines_with(log, "wrong key"), 2); /* of each project */
    ck_assert_uint_eq(lines_with(log, id), 2);
    ck_assert_uint_eq(lines_with(log, "others=0"), 2);
    assert_offered(world, volume);
}
END_TEST

START_TEST(a_key_of_digits_may_be_a_number) {
    autoworld struct world *world = enter(NULL);
    const char *volume = world_volume(world, 1);
    const char *id;

    ck_assert_int_eq(offer(world, volume), 202);
    id = answered(world, "id");
    world_sql(world, /* of the key 42 */
              "UPDATE transfers SET salt = 'salt', digest = "
              "'98c2d78e000f17f1958ac5ae7ca5293f16a4dcdf996afc0253bcd8accac9c6a2'");
    ck_assert_int_eq(accept_with(world, TAKER, id, "42"), 202);
    assert_volume(world, volume, WORLD_OTHER, "available");
}
END_TEST

START_TEST(a_taker_past_its_quota_changes_nothing) {
    static const char *const limits[] = { "volumes", "snapshots", "gigabytes",
                                          "gigabytes___DEFAULT__", "per_volume_gigabytes" };
    autoworld struct world *world = enter(NULL);
    const char *volume = world_volume(world, 2), *id, *key;

    snapshot_of_volume(world, volume);
    ck_assert_int_eq(offer(world, volume), 202);
    id = answered(world, "id");
    key = answered(world, "auth_key");
    for (size_t i = 0; i < LENGTH(limits); i++) {
        bool is_size = strstr(limits[i], "gigabytes") != NULL;

        world->token = ADMIN;
        ck_assert_int_eq(world_call(world, "PUT", "/os-quota-sets/" WORLD_OTHER,
                                    PATH("{\"quota_set\": {\"%s\": %d}}", limits[i], is_size)),
                         200);
        ck_assert_int_eq(accept(world, TAKER, id, key), 413);
        assert_offered(world, volume);
        ck_assert_int_eq(world_in_use(world, "gigabytes"), 4);
        world->token = ADMIN;
        ck_assert_int_eq(send_request(world, ADMIN, "DELETE", "/os-quota-sets/" WORLD_OTHER), 200);
    }
    ck_assert_int_eq(accept(world, TAKER, id, key), 202);
}
END_TEST

START_TEST(a_taker_that_may_not_use_the_type_is_refused) {
    autoworld struct world *world = enter(NULL);
    const char *volume, *id, *key;

    ck_assert_int_eq(world_call(world, "POST", "/types",
                                "{\"volume_type\": {\"name\": \"own\", "
                                "\"os-volume-type-access:is_public\": false}}"),
                     200);
    ck_assert_int_eq(world_call(world, "POST", "/volumes",
                                "{\"volume\": {\"size\": 1, \"volume_type\": \"own\"}}"),
                     202);
    volume = world_answer_id(world, "volume");
    world_settle(world);
    ck_assert_int_eq(offer(world, volume), 202);
    id = answered(world, "id");
    key = answered(world, "auth_key");
    ck_assert_int_eq(accept(world, TAKER, id, key), 400);
    assert_offered(world, volume);
    ck_assert_int_eq(accept(world, "admin:" WORLD_OTHER, id, key), 202);
}
END_TEST

/* ---- deleted ---- */

START_TEST(a_deleted_offer_leaves_the_volume_available) {
    autoworld struct world *world = enter(NULL);
    const char *volume = world_volume(world, 1), *id, *key;

    ck_assert_int_eq(offer(world, volume), 202);
    id = answered(world, "id");
    key = answered(world, "auth_key");
    ck_assert_int_eq(send_request(world, GIVER, "DELETE", PATH("/volume-transfers/%s", id)), 202);
    assert_volume(world, volume, WORLD_PROJECT, "available");
    ck_assert_int_eq(accept(world, TAKER, id, key), 404);
    ck_assert_int_eq(send_request(world, GIVER, "DELETE", PATH("/volume-transfers/%s", id)), 404);
    ck_assert_int_eq(offer(world, volume), 202);
}
END_TEST

START_TEST(a_reset_ends_the_offer) {
    autoworld struct world *world = enter(NULL);
    const char *volume = world_volume(world, 1), *id, *key;

    ck_assert_int_eq(offer(world, volume), 202);
    id = answered(world, "id");
    key = answered(world, "auth_key");
    world->token = ADMIN;
    ck_assert_int_eq(
        world_action(world, volume, "{\"os-reset_status\": {\"status\": \"available\"}}"), 202);
    assert_volume(world, volume, WORLD_PROJECT, "available");
    ck_assert_int_eq(accept(world, TAKER, id, key), 404);
}
END_TEST

START_TEST(a_detach_leaves_the_volume_offered) {
    static const char *const actions[] = {
        "{\"os-detach\": {}}",
        "{\"os-force_detach\": {\"connector\": null}}",
        "{\"os-unreserve\": null}",
        "{\"os-roll_detaching\": null}",
        "{\"os-terminate_connection\": {\"connector\": null}}",
    };
    autoworld struct world *world = enter(NULL);
    const char *volume = world_volume(world, 1), *id, *key;

    ck_assert_int_eq(offer(world, volume), 202);
    id = answered(world, "id");
    key = answered(world, "auth_key");
    for (size_t i = 0; i < LENGTH(actions); i++) {
        world->token = ADMIN;
        ck_assert_int_eq(world_action(world, volume, "%s", actions[i]), 202);
        assert_offered(world, volume);
    }
    ck_assert_int_eq(accept(world, TAKER, id, key), 202);
    assert_volume(world, volume, WORLD_OTHER, "available");
}
END_TEST

START_TEST(an_offered_volume_is_deleted_by_force_alone) {
    autoworld struct world *world = enter(NULL);
    const char *volume = world_volume(world, 1), *id, *key;

    ck_assert_int_eq(offer(world, volume), 202);
    id = answered(world, "id");
    key = answered(world, "auth_key");
    ck_assert_int_eq(send_request(world, GIVER, "DELETE", PATH("/volumes/%s", volume)), 400);
    assert_offered(world, volume);
    world->token = ADMIN;
    ck_assert_int_eq(world_action(world, volume, "{\"os-force_delete\": null}"), 202);
    ck_assert_int_eq(accept(world, TAKER, id, key), 400);
    ck_assert_int_eq(send_request(world, GIVER, "DELETE", PATH("/volume-transfers/%s", id)), 202);
    ck_assert_str_eq(world_status(world, volume), "deleting");
    world_settle(world);
    ck_assert_int_eq(COUNT("volumes"), 0);
    ck_assert_int_eq(COUNT("transfers"), 0);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

/* ---- refused ---- */

START_TEST(an_impossible_offer_changes_nothing) {
    static const char *const changes[] = {
        "UPDATE volumes SET status = 'in-use'",
        "UPDATE volumes SET status = 'error'",
        "UPDATE volumes SET attach_status = 'attached'",
        "UPDATE volumes SET encryption_key_id = 'k'",
        "UPDATE volumes SET migration_status = 'migrating'",
        "UPDATE snapshots SET status = 'error'",
        "UPDATE snapshots SET group_snapshot_id = 'g'",
    };
    for (size_t i = 0; i < LENGTH(changes); i++) {
        autoworld struct world *world = enter(NULL);
        const char *volume = world_volume(world, 1);

        snapshot_of_volume(world, volume);
        world_sql(world, changes[i]);
        ck_assert_msg(offer(world, volume) == 400, "%s: %s", changes[i], world->answer_text);
        ck_assert_int_eq(COUNT("transfers"), 0);
        ck_assert_int_eq(COUNT("volumes WHERE status = 'awaiting-transfer'"), 0);
    }
}
END_TEST

START_TEST(a_member_of_a_group_is_not_offered) {
    autoworld struct world *world = enter(NULL);
    const char *volume = world_volume(world, 1);

    group_of(world, &volume, 1);
    ck_assert_int_eq(offer(world, volume), 400);
    assert_volume(world, volume, WORLD_PROJECT, "available");
}
END_TEST

START_TEST(a_volume_is_offered_once_and_by_its_project) {
    static const char *const bodies[] = {
        "{\"transfer\": {\"volume_id\": \"%s\", \"name\": \"\"}}",
        "{\"transfer\": {\"volume_id\": \"%s\", \"name\": \"  \"}}",
        "{\"transfer\": {\"volume_id\": \"%s\", \"unknown\": 1}}",
        "{\"transfer\": {\"name\": \"n\"}}",
        "{\"transfer\": {\"volume_id\": \"n\"}}",
    };
    autoworld struct world *world = enter(NULL);
    const char *volume = world_volume(world, 1);

    for (size_t i = 0; i < LENGTH(bodies); i++) {
        const char *place = strstr(bodies[i], "%s");

        world->token = GIVER;
        ck_assert_int_eq(world_call(world, "POST", "/volume-transfers",
                                    place ? PATH("%.*s%s%s", (int)(place - bodies[i]), bodies[i],
                                                 volume, place + 2)
                                          : bodies[i]),
                         400);
    }
    world->token = TAKER;
    ck_assert_int_eq(world_call(world, "POST", "/volume-transfers",
                                PATH("{\"transfer\": {\"volume_id\": \"%s\"}}", volume)),
                     404);
    assert_volume(world, volume, WORLD_PROJECT, "available");
    ck_assert_int_eq(offer(world, volume), 202);
    ck_assert_int_eq(offer(world, volume), 400);
    assert_offered(world, volume);
}
END_TEST

START_TEST(listeners_get_each_step) {
    static const char *const steps[] = { "create", "delete", "create", "accept" };
    autoworld struct world *world = enter(NULL);
    const char *volume = world_volume(world, 1);

    world->settings.notifications = true;
    ck_assert_int_eq(offer(world, volume), 202);
    ck_assert_int_eq(
        send_request(world, GIVER, "DELETE", PATH("/volume-transfers/%s", answered(world, "id"))),
        202);
    ck_assert_int_eq(offer(world, volume), 202);
    ck_assert_int_eq(accept(world, TAKER, answered(world, "id"), answered(world, "auth_key")), 202);
    for (size_t i = 0; i < LENGTH(steps); i++)
        for (size_t end = 0; end < 2; end++)
            ck_assert_int_eq(COUNT("outbox WHERE method = 'volume.transfer.%s.%s'", steps[i],
                                   end ? "end" : "start"),
                             i % 2 == 0 ? 2 : 1);
    ck_assert_int_eq(COUNT("outbox WHERE method = 'volume.transfer.accept.end' AND payload LIKE "
                           "'%%\"tenant_id\":\"" WORLD_OTHER "\"%%'"),
                     1);
}
END_TEST

CHECK_MAIN("transfers", an_offer_shows_its_key_once, keys_come_with_their_microversions,
           lists_filter_and_page, an_offer_of_another_project_is_not_found,
           an_accepted_volume_is_the_takers_with_all_that_counts,
           snapshots_stay_where_no_snapshots_is_requested,
           a_snapshot_that_stayed_is_hidden_from_the_volumes_new_project,
           a_volume_made_of_a_snapshot_is_hidden_from_its_new_project,
           a_snapshot_of_another_project_is_neither_offered_nor_accepted,
           an_offer_is_accepted_within_its_project, a_wrong_key_changes_nothing,
           wrong_keys_of_a_project_for_an_offer_are_logged_once, a_key_of_digits_may_be_a_number,
           a_taker_past_its_quota_changes_nothing, a_taker_that_may_not_use_the_type_is_refused,
           a_deleted_offer_leaves_the_volume_available, a_reset_ends_the_offer,
           a_detach_leaves_the_volume_offered, an_offered_volume_is_deleted_by_force_alone,
           an_impossible_offer_changes_nothing, a_member_of_a_group_is_not_offered,
           a_volume_is_offered_once_and_by_its_project, listeners_get_each_step)
