/*
 * QoS specs: made, shown, changed and deleted by administrators, for types that belong to them.
 */
#include "common/cleanup.h"
#include "tests/lib/check_main.h"
#include "tests/lib/world.h"

#include <string.h>

#define PATH(...)  arena_format(world->arena, __VA_ARGS__)
#define COUNT(...) world_count(world, PATH("SELECT COUNT(*) FROM " __VA_ARGS__))
#define UNKNOWN    "99999999-9999-4999-8999-999999999999"

/* The id of QoS specs made with these members beside their name. */
static const char *make(struct world *world, const char *name, const char *members) {
    int status = world_call(world, "POST", "/qos-specs",
                            PATH("{\"qos_specs\": {\"name\": \"%s\"%s}}", name, members));

    ck_assert_msg(status == 200, "%d %s", status, world->answer_text);
    return world_answer_id(world, "qos_specs");
}

static const char *make_type(struct world *world, const char *name) {
    ck_assert_int_eq(
        world_call(world, "POST", "/types", PATH("{\"volume_type\": {\"name\": \"%s\"}}", name)),
        200);
    return world_answer_id(world, "volume_type");
}

static int associate(struct world *world, const char *id, const char *how, const char *type) {
    return world_call(world, "GET", PATH("/qos-specs/%s/%s?vol_type_id=%s", id, how, type), NULL);
}

/* Names of the specs that the list gives, or of the types that belong to some, with blanks. */
static const char *names(struct world *world, const char *path, const char *plural) {
    const char *joined = "";
    const json_t *one;
    size_t i;
    int status = world_call(world, "GET", path, NULL);

    ck_assert_msg(status == 200, "%d %s", status, world->answer_text);
    json_array_foreach(json_object_get(world->answer, plural), i, one) {
        joined = PATH("%s%s%s", joined, i > 0 ? " " : "",
                      json_string_value(json_object_get(one, "name")));
    }
    return joined;
}

static const char *types_of(struct world *world, const char *id) {
    return names(world, PATH("/qos-specs/%s/associations", id), "qos_associations");
}

static const char *listed(struct world *world, const char *query) {
    return names(world, PATH("/qos-specs?sort=name:asc%s", query), "qos_specs");
}

static void assert_shown(struct world *world, const char *id, const char *inner) {
    ck_assert_int_eq(world_call(world, "GET", PATH("/qos-specs/%s", id), NULL), 200);
    ck_assert_str_eq(world->answer_text,
                     PATH("{\"qos_specs\":{\"id\":\"%s\",%s},\"links\":%s}", id, inner,
                          json_text(world->arena, json_object_get(world->answer, "links"))));
    ck_assert_uint_eq(json_array_size(json_object_get(world->answer, "links")), 2);
    ck_assert_ptr_nonnull(strstr(world->answer_text, PATH("/qos-specs/%s\"", id)));
}

START_TEST(specs_are_made_and_shown_with_links_beside_them) {
    autoworld struct world *world = world_new(NULL);
    const char *plain = make(world, "  plain ", "");
    const char *id = make(world, "gold", ", \"consumer\": \"both\", \"a/b c\": \"1\", \"n\": \"\"");

    ck_assert_ptr_nonnull(json_object_get(world->answer, "links"));
    assert_shown(world, id,
                 "\"name\":\"gold\",\"consumer\":\"both\",\"specs\":{\"a/b c\":\"1\",\"n\":\"\"}");
    assert_shown(world, plain, "\"name\":\"plain\",\"consumer\":\"back-end\",\"specs\":{}");
    ck_assert_int_eq(world_call(world, "GET", "/qos-specs/" UNKNOWN, NULL), 404);
}
END_TEST

START_TEST(invalid_specs_are_refused_and_create_nothing) {
    static const struct {
        const char *members;
        int status;
    } cases[] = {
        { "", 400 },
        { "\"name\": null", 400 },
        { "\"name\": \"\"", 400 },
        { "\"name\": \"  \"", 400 },
        { "\"name\": 5", 400 },
        { "\"name\": \"x\", \"consumer\": \"unknown\"", 400 },
        { "\"name\": \"x\", \"consumer\": null", 400 },
        { "\"name\": \"x\", \"consumer\": \"\"", 400 },
        { "\"name\": \"x\", \"k\": 1", 400 },
        { "\"name\": \"x\", \"k\": null", 400 },
        { "\"name\": \"x\", \"k\": {}", 400 },
        { "\"name\": \"x\", \"\": \"v\"", 400 },
        { "\"name\": \"there\"", 409 },
        { "\"name\": \" there \"", 409 },
    };
    autoworld struct world *world = world_new(NULL);
    char long_text[257] = { 0 };

    make(world, "there", "");
    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_msg(world_call(world, "POST", "/qos-specs",
                                 PATH("{\"qos_specs\": {%s}}", cases[i].members)) ==
                          cases[i].status,
                      "%s: %d", cases[i].members, world->status);
    memset(long_text, 'x', 256);
    ck_assert_int_eq(
        world_call(world, "POST", "/qos-specs",
                   PATH("{\"qos_specs\": {\"name\": \"x\", \"%s\": \"\"}}", long_text)),
        400);
    ck_assert_int_eq(
        world_call(world, "POST", "/qos-specs",
                   PATH("{\"qos_specs\": {\"name\": \"x\", \"k\": \"%s\"}}", long_text)),
        400);
    ck_assert_str_eq(listed(world, ""), "there");
    ck_assert_int_eq(COUNT("qos_spec_pairs"), 0);
}
END_TEST

START_TEST(an_update_changes_the_named_fields) {
    static const struct {
        const char *members;
        int status;
    } cases[] = {
        { "\"a\": 1", 400 },
        { "\"a\": \"x\", \"consumer\": \"unknown\"", 400 },
        { "\"a\": \"x\", \"consumer\": null", 400 },
        { "", 200 },
        { "\"b\": null", 200 },
        { "\"a\": \"2\", \"consumer\": \"front-end\"", 200 },
    };
    autoworld struct world *world = world_new(NULL);
    const char *id = make(world, "gold", ", \"a\": \"1\", \"c\": \"3\"");

    for (size_t i = 0; i < LENGTH(cases); i++) {
        const char *body = PATH("{\"qos_specs\": {%s}}", cases[i].members);

        ck_assert_msg(world_call(world, "PUT", PATH("/qos-specs/%s", id), body) == cases[i].status,
                      "%s: %d", cases[i].members, world->status);
    }
    ck_assert_str_eq(world->answer_text,
                     "{\"qos_specs\":{\"a\":\"2\",\"consumer\":\"front-end\"}}");
    assert_shown(world, id,
                 "\"name\":\"gold\",\"consumer\":\"front-end\","
                 "\"specs\":{\"a\":\"2\",\"b\":null,\"c\":\"3\"}");
    ck_assert_int_eq(world_call(world, "PUT", "/qos-specs/" UNKNOWN, "{\"qos_specs\": {}}"), 404);
}
END_TEST

START_TEST(keys_go_all_of_them_or_none) {
    static const struct {
        const char *keys;
        int status;
    } cases[] = {
        { "{}", 400 },
        { "{\"keys\": null}", 400 },
        { "{\"keys\": \"a\"}", 400 },
        { "{\"keys\": [\"a\", 1]}", 400 },
        { "{\"keys\": [\"a\", \"\"]}", 400 },
        { "{\"keys\": [\"a\", \"b\", \"a\"]}", 400 },
        { "{\"keys\": [\"a\", \"consumer\"]}", 404 },
        { "{\"keys\": [\"a\", \"none\"]}", 404 },
    };
    autoworld struct world *world = world_new(NULL);
    const char *id = make(world, "gold", ", \"a\": \"1\", \"b\": \"2\", \"c\": \"3\"");
    const char *path = PATH("/qos-specs/%s/delete_keys", id);

    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_msg(world_call(world, "PUT", path, cases[i].keys) == cases[i].status, "%s: %d",
                      cases[i].keys, world->status);
    ck_assert_int_eq(COUNT("qos_spec_pairs"), 3);
    ck_assert_int_eq(world_call(world, "PUT", path, "{\"keys\": [\"a\", \"c\"]}"), 202);
    ck_assert_str_eq(world->answer_text, "");
    ck_assert_int_eq(world_call(world, "PUT", path, "{\"keys\": []}"), 202);
    assert_shown(world, id, "\"name\":\"gold\",\"consumer\":\"back-end\",\"specs\":{\"b\":\"2\"}");
}
END_TEST

START_TEST(keys_are_bounded) {
    autoworld struct world *world = world_new(NULL);
    const char *id;

    world->settings.metadata_items = 2;
    id = make(world, "gold", ", \"a\": \"1\", \"b\": \"2\"");
    ck_assert_int_eq(
        world_call(world, "PUT", PATH("/qos-specs/%s", id), "{\"qos_specs\": {\"c\": \"3\"}}"),
        413);
    ck_assert_int_eq(world_call(world, "POST", "/qos-specs",
                                "{\"qos_specs\": {\"name\": \"x\", \"a\": \"\", \"b\": \"\", "
                                "\"c\": \"\", \"consumer\": \"both\"}}"),
                     413);
    ck_assert_str_eq(listed(world, ""), "gold");
    ck_assert_int_eq(COUNT("qos_spec_pairs"), 2);
}
END_TEST

START_TEST(a_list_is_cut_into_pages_and_filtered) {
    autoworld struct world *world = world_new(NULL);
    const char *gold = make(world, "gold", ", \"consumer\": \"front-end\", \"k\": \"v\"");

    make(world, "silver", "");
    make(world, "tin", "");
    ck_assert_str_eq(listed(world, ""), "gold silver tin");
    ck_assert_ptr_nonnull(strstr(world->answer_text, "\"specs\":{\"k\":\"v\"}"));
    ck_assert_ptr_null(strstr(world->answer_text, "links"));
    ck_assert_str_eq(listed(world, "&limit=2"), "gold silver");
    ck_assert_ptr_nonnull(strstr(world->answer_text, "qos_specs_links"));
    ck_assert_str_eq(listed(world, PATH("&limit=2&marker=%s", gold)), "silver tin");
    ck_assert_str_eq(listed(world, "&name=tin"), "tin");
    ck_assert_str_eq(listed(world, "&consumer=front-end"), "gold");
    ck_assert_str_eq(listed(world, PATH("&id=%s&consumer=back-end", gold)), "");
    ck_assert_int_eq(world_call(world, "GET", "/qos-specs?marker=" UNKNOWN, NULL), 404);
    ck_assert_int_eq(world_call(world, "GET", "/qos-specs?limit=-1", NULL), 400);
    ck_assert_int_eq(world_call(world, "GET", "/qos-specs?sort_key=colour", NULL), 400);
}
END_TEST

/* ---- types ---- */

START_TEST(a_type_belongs_to_one_of_them) {
    autoworld struct world *world = world_new(NULL);
    const char *gold = make(world, "gold", ""), *tin = make(world, "tin", "");
    const char *fast = make_type(world, "fast"), *slow = make_type(world, "slow");

    ck_assert_int_eq(associate(world, gold, "associate", slow), 202);
    ck_assert_str_eq(world->answer_text, "");
    ck_assert_int_eq(associate(world, gold, "associate", fast), 202);
    ck_assert_int_eq(associate(world, gold, "associate", fast), 202);
    ck_assert_int_eq(associate(world, tin, "associate", fast), 400);
    ck_assert_str_eq(types_of(world, gold), "fast slow");
    ck_assert_ptr_nonnull(strstr(
        world->answer_text,
        PATH("{\"association_type\":\"volume_type\",\"name\":\"fast\",\"id\":\"%s\"}", fast)));
    ck_assert_str_eq(types_of(world, tin), "");
    ck_assert_int_eq(world_call(world, "GET", PATH("/types/%s", fast), NULL), 200);
    ck_assert_ptr_nonnull(strstr(world->answer_text, PATH("\"qos_specs_id\":\"%s\"", gold)));

    ck_assert_int_eq(associate(world, tin, "disassociate", fast), 202);
    ck_assert_str_eq(types_of(world, gold), "fast slow");
    ck_assert_int_eq(associate(world, gold, "disassociate", fast), 202);
    ck_assert_str_eq(types_of(world, gold), "slow");
    ck_assert_int_eq(associate(world, tin, "associate", fast), 202);
    ck_assert_int_eq(associate(world, gold, "disassociate_all", ""), 202);
    ck_assert_str_eq(types_of(world, gold), "");
    ck_assert_str_eq(types_of(world, tin), "fast");
}
END_TEST

START_TEST(missing_specs_and_types_are_not_associated) {
    static const char *const ways[] = { "associate", "disassociate" };
    autoworld struct world *world = world_new(NULL);
    const char *id = make(world, "gold", ""), *type = make_type(world, "fast");

    for (size_t i = 0; i < LENGTH(ways); i++) {
        ck_assert_int_eq(associate(world, id, ways[i], UNKNOWN), 404);
        ck_assert_int_eq(associate(world, id, ways[i], "fast"), 404);
        ck_assert_int_eq(associate(world, id, ways[i], ""), 400);
        ck_assert_int_eq(associate(world, UNKNOWN, ways[i], type), 404);
        ck_assert_int_eq(world_call(world, "GET", PATH("/qos-specs/%s/%s", id, ways[i]), NULL),
                         400);
    }
    ck_assert_int_eq(associate(world, UNKNOWN, "disassociate_all", type), 404);
    ck_assert_int_eq(world_call(world, "GET", "/qos-specs/" UNKNOWN "/associations", NULL), 404);
    ck_assert_int_eq(COUNT("volume_types WHERE qos_specs_id IS NOT NULL"), 0);
}
END_TEST

START_TEST(specs_with_types_are_deleted_by_force_only) {
    autoworld struct world *world = world_new(NULL);
    const char *id = make(world, "gold", ", \"k\": \"v\""), *type = make_type(world, "fast");
    const char *path = PATH("/qos-specs/%s", id);

    make(world, "tin", "");
    ck_assert_int_eq(associate(world, id, "associate", type), 202);
    ck_assert_int_eq(world_call(world, "DELETE", path, NULL), 400);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("%s?force=no", path), NULL), 400);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("%s?force=maybe", path), NULL), 400);
    ck_assert_str_eq(types_of(world, id), "fast");
    ck_assert_int_eq(world_call(world, "DELETE", PATH("%s?force=True", path), NULL), 202);
    ck_assert_str_eq(world->answer_text, "");
    ck_assert_int_eq(world_call(world, "DELETE", path, NULL), 404);
    ck_assert_str_eq(listed(world, ""), "tin");
    ck_assert_int_eq(world_call(world, "GET", PATH("/types/%s", type), NULL), 200);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "\"qos_specs_id\":null"));
    ck_assert_int_eq(COUNT("qos_spec_pairs"), 0);
}
END_TEST

START_TEST(a_deleted_type_is_disassociated) {
    autoworld struct world *world = world_new(NULL);
    const char *id = make(world, "gold", ""), *type = make_type(world, "fast");

    ck_assert_int_eq(associate(world, id, "associate", type), 202);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/types/%s", type), NULL), 202);
    ck_assert_str_eq(types_of(world, id), "");
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/qos-specs/%s", id), NULL), 202);
}
END_TEST

CHECK_MAIN("qos", specs_are_made_and_shown_with_links_beside_them,
           invalid_specs_are_refused_and_create_nothing, an_update_changes_the_named_fields,
           keys_go_all_of_them_or_none, keys_are_bounded, a_list_is_cut_into_pages_and_filtered,
           a_type_belongs_to_one_of_them, missing_specs_and_types_are_not_associated,
           specs_with_types_are_deleted_by_force_only, a_deleted_type_is_disassociated)
