#include "json/json.h"

#include "tests/lib/check_main.h"

#include <string.h>

static struct arena *arena;
static struct error err;

static json_t *parse(const char *text) {
    if (!arena)
        arena = arena_new();
    err = (struct error){ 0 };
    return json_parse(arena, text, strlen(text), &err);
}

static void end(void) {
    arena_free(arena);
    arena = NULL;
}

START_TEST(json_is_parsed_and_released_with_the_arena) {
    json_t *tree = parse(" {\"a\": [1, 2.5, \"x\\u00e4\", null]} \n");

    ck_assert_ptr_nonnull(tree);
    ck_assert_int_eq(err.kind, ERROR_NONE);
    ck_assert_uint_eq(json_array_size(json_object_get(tree, "a")), 4);
    ck_assert_ptr_nonnull(parse("[]"));
    end();
}
END_TEST

START_TEST(malformed_json_is_refused) {
    static const char *const texts[] = {
        "",
        " ",
        "x",
        "1",
        "\"text\"",
        "{",
        "{\"a\": 1}}",
        "{\"a\": 1} x",
        "{\"a\": 1,}",
        "{a: 1}",
        "{'a': 1}",
        "{\"a\": 01}",
        "{\"a\": .5}",
        "{\"a\": NaN}",
        "{\"a\": 1e999}",
        "{\"a\": 9223372036854775808}",
        "{\"a\": 1, \"a\": 2}",
        "{\"a\": {\"b\": 1, \"b\": 1}}",
        "{\"a\": \"\\u0000\"}",
        "{\"a\\u0000\": 1}",
        "{\"a\": \"\x01\"}",
        "{\"a\": \"\xff\"}",
        "{\"a\": \"\xc0\x80\"}",
        "{\"a\": \"\\ud800\"}",
        "{\"a\": \"\\",
        "// {}",
    };

    for (size_t i = 0; i < LENGTH(texts); i++) {
        if (parse(texts[i]))
            ck_abort_msg("%s was taken", texts[i]);
        ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
        ck_assert_msg(strstr(err.message, "not valid JSON (line "), "%s", err.message);
        ck_assert_msg(!strstr(err.message, " near '"), "%s", err.message); /* no text of it */
    }
    ck_assert_ptr_null(json_parse(arena, "{}\0{}", 5, &err));
    ck_assert_ptr_null(json_parse(arena, "{\"a\":\"b\0\"}", 10, &err));
    ck_assert_ptr_nonnull(json_parse(arena, "{} x", 2, &err));
    end();
}
END_TEST

START_TEST(depth_is_bounded) {
    char text[300];

    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    text[128] = '\0';
    ck_assert_ptr_nonnull(parse(text));
    memset(text, '[', 65);
    memset(text + 65, ']', 65);
    text[130] = '\0';
    ck_assert_ptr_null(parse(text));
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    ck_assert_str_eq(err.message, "The JSON text nests deeper than 64 levels.");
    ck_assert_ptr_nonnull(
        parse("[\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
              "\\\"[{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{\"]"));
    end();
}
END_TEST

START_TEST(width_is_not_depth) {
    autofree char *text = calloc(1, 3 * 5000 + 2);

    text[0] = '[';
    for (size_t i = 0; i < 5000; i++)
        memcpy(text + 1 + 3 * i, "[],", 3);
    text[3 * 5000] = ']';
    ck_assert_uint_eq(json_array_size(parse(text)), 5000);
    end();
}
END_TEST

/* `count` times the element, with commas between, in a list. */
static char *list_of(const char *element, size_t count) {
    size_t size = strlen(element) + 1;
    char *text = calloc(1, count * size + 3), *end = text;

    *end++ = '[';
    for (size_t i = 0; i < count; i++)
        end += sprintf(end, "%s%s", i > 0 ? "," : "", element);
    *end = ']';
    return text;
}

START_TEST(values_are_bounded) {
    static const char quoted[] = "\",,,[{\\\",\"";
    static const struct {
        const char *element;
        size_t values; /* of one, with its comma */
    } elements[] = {
        { "1", 1 },    { "\"\"", 1 }, { "[]", 2 }, { "{}", 2 }, { "{\"a\":1,\"b\":2}", 3 },
        { "[[]]", 3 },
    };

    for (size_t i = 0; i < LENGTH(elements); i++) {
        autofree char *text = list_of(elements[i].element, 100);
        size_t values = 100 * elements[i].values + 1; /* and the list */

        ck_assert_uint_eq(json_values(text, strlen(text)), values);
        arena = arena_new();
        ck_assert_ptr_nonnull(json_parse_within(arena, text, strlen(text), values, &err));
        ck_assert_ptr_null(json_parse_within(arena, text, strlen(text), values - 1, &err));
        ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
        ck_assert_ptr_nonnull(strstr(err.message, " values (lists and objects count twice)."));
        end();
    }
    ck_assert_uint_eq(json_values(quoted, strlen(quoted)), 1);
}
END_TEST

/* The parser takes no memory for what is refused. */
START_TEST(a_text_of_too_many_values_is_refused_unparsed) {
    autofree char *text = list_of("{}", (size_t)2 << 20);

    arena = arena_new();
    ck_assert_ptr_null(json_parse(arena, text, strlen(text), &err));
    ck_assert_str_eq(err.message,
                     "The JSON text has more than 2097152 values (lists and objects count twice).");
    text[1] = 'x';
    ck_assert_ptr_null(json_parse_within(arena, text, strlen(text), JSON_BODY_VALUES_MOST, &err));
    ck_assert_str_eq(err.message,
                     "The JSON text has more than 4096 values (lists and objects count twice).");
    end();
}
END_TEST

START_TEST(an_arena_counts_its_trees) {
    static const char *const elements[] = { "1", "\"\"", "[]", "{}", "{\"a\":\"\"}" };

    for (size_t i = 0; i < LENGTH(elements); i++) {
        autofree char *text = list_of(elements[i], 10000);
        size_t before, values = json_values(text, strlen(text));

        arena = arena_new();
        before = arena_bytes(arena);
        ck_assert_ptr_nonnull(json_parse(arena, text, strlen(text), &err));
        ck_assert_uint_ge(arena_bytes(arena) - before, 100 * values);
        arena_reset(arena);
        ck_assert_uint_eq(arena_bytes(arena), before);
        end();
    }
}
END_TEST

START_TEST(size_is_bounded) {
    size_t size = ((size_t)16 << 20) + 1;
    autofree char *text = malloc(size);

    memset(text, ' ', size);
    text[0] = '{';
    text[1] = '}';
    arena = arena_new();
    ck_assert_ptr_nonnull(json_parse(arena, text, size - 1, &err));
    ck_assert_ptr_null(json_parse(arena, text, size, &err));
    ck_assert_str_eq(err.message, "The JSON text is longer than 16777216 bytes.");
    end();
}
END_TEST

START_TEST(spellings_of_booleans_are_those_of_the_api) {
    static const char *const yes[] = { "1",  "t",  "true", "True", "TRUE", "on",
                                       "On", "ON", "y",    "yes",  "Yes",  "YES" };
    static const char *const no[] = { "0",   "f",   "false", "False", "FALSE", "off",
                                      "Off", "OFF", "n",     "no",    "No",    "NO" };
    static const char *const others[] = { "",     "2",  "T",    "F",     "Y",     "N",
                                          "tRUE", "oN", "null", " true", "true ", "enabled" };
    bool value;

    for (size_t i = 0; i < 12; i++) {
        value = false;
        ck_assert(json_boolean_word(yes[i], false, &value) && value);
        ck_assert(json_boolean_word(no[i], false, &value) && !value);
        value = true;
        ck_assert(!json_boolean_word(others[i], false, &value) && value);
    }
    ck_assert(json_boolean_word("tRuE", true, &value) && value);
    ck_assert(json_boolean_word("F", true, &value) && !value);
    ck_assert(!json_boolean_word("maybe", true, &value) && !value);
}
END_TEST

START_TEST(digits_are_digits_only_and_fit) {
    static const char *const others[] = { "",
                                          " 1",
                                          "1 ",
                                          "-1",
                                          "+1",
                                          "1.0",
                                          "0x1",
                                          "1_0",
                                          "1e2",
                                          "\xd9\xa1",
                                          "9223372036854775808",
                                          "99999999999999999999999" };
    int64_t number = 0;

    ck_assert(json_digits("0", &number) && number == 0);
    ck_assert(json_digits("007", &number) && number == 7);
    ck_assert(json_digits("9223372036854775807", &number) && number == INT64_MAX);
    number = 42;
    for (size_t i = 0; i < LENGTH(others); i++)
        ck_assert(!json_digits(others[i], &number));
    ck_assert_int_eq(number, 42);
}
END_TEST

struct body {
    const char *name;
    int64_t size;
    bool multiattach;
    const char *group_id;
};

static const struct field fields[] = {
    FIELD_NAMET(struct body, name, "name", 0),
    FIELD_SIZE(struct body, size, "size", FIELD_REQUIRED),
    FIELD_BOOL(struct body, multiattach, "multiattach", FIELD_NULLABLE),
    { .name = "group_id",
      .type = FIELD_TYPE_UUID,
      .flags = FIELD_NULLABLE,
      .offset = offsetof(struct body, group_id),
      .since = 13 },
    FIELDS_END,
};

#define GROUP "0123abcd-4567-89ab-cdef-0123456789ab"

static int decode(const char *text, unsigned minor, bool strict, struct body *ret) {
    json_t *object = parse(text);

    ck_assert_ptr_nonnull(object);
    *ret = (struct body){ 0 };
    return json_decode(arena, object, "volume", fields, minor, strict, ret, &err);
}

static void assert_refused(const char *text, unsigned minor, const char *message) {
    struct body body;

    ck_assert_int_eq(decode(text, minor, true, &body), -1);
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    ck_assert_str_eq(err.message, message);
}

START_TEST(fields_fill_their_members) {
    struct body body;

    ck_assert_int_eq(decode("{\"name\": \" n \", \"size\": \"8\", \"multiattach\": \"on\", "
                            "\"group_id\": \"0123ABCD456789abcdef0123456789ab\"}",
                            13, true, &body),
                     0);
    ck_assert_str_eq(body.name, "n");
    ck_assert_int_eq(body.size, 8);
    ck_assert(body.multiattach);
    ck_assert_str_eq(body.group_id, GROUP);
    end();
}
END_TEST

START_TEST(absent_and_null_fields_leave_their_members) {
    struct body body;

    ck_assert_int_eq(
        decode("{\"size\": 1, \"name\": null, \"multiattach\": null}", 71, true, &body), 0);
    ck_assert_ptr_null(body.name);
    ck_assert_ptr_null(body.group_id);
    ck_assert(!body.multiattach);
    end();
}
END_TEST

START_TEST(refusals_name_the_field_and_the_reason) {
    assert_refused("[]", 71, "'volume' must be an object.");
    assert_refused("{}", 71, "'size' is missing in 'volume'.");
    assert_refused("{\"size\": null}", 71, "Invalid value null for 'size': it must be an integer.");
    assert_refused("{\"size\": 1, \"nmae\": 1}", 71,
                   "'nmae' is not a known key of 'volume'; did you mean name?");
    assert_refused("{\"size\": 1, \"anything\": 1}", 71,
                   "'anything' is not a known key of 'volume'.");
    assert_refused("{\"size\": 1, \"multiattach\": 1}", 71,
                   "Invalid value 1 for 'multiattach': it must be a boolean.");
    end();
}
END_TEST

START_TEST(no_object_at_all_is_refused) {
    struct body body = { 0 };

    arena = arena_new();
    ck_assert_int_eq(json_decode(arena, NULL, "volume", fields, 0, true, &body, &err), -1);
    ck_assert_str_eq(err.message, "'volume' must be an object.");
    end();
}
END_TEST

START_TEST(a_field_does_not_exist_before_its_version) {
    struct body body;

    assert_refused("{\"size\": 1, \"group_id\": \"" GROUP "\"}", 12,
                   "'group_id' is not a known key of 'volume'.");
    ck_assert_int_eq(decode("{\"size\": 1, \"group_id\": 5}", 12, false, &body), 0);
    ck_assert_ptr_null(body.group_id);
    ck_assert_int_eq(decode("{\"size\": 1, \"group_id\": 5}", 13, false, &body), -1);
    end();
}
END_TEST

START_TEST(open_objects_take_unknown_keys) {
    struct body body;

    ck_assert_int_eq(decode("{\"size\": 1, \"other\": {}}", 0, false, &body), 0);
    ck_assert_int_eq(body.size, 1);
    end();
}
END_TEST

START_TEST(one_row_may_stand_for_all_other_keys) {
    static const struct field others[] = {
        FIELD_ELSE(struct body, size, SIZE, 0, .min = 2, .max = 9),
        FIELD_NAME0(struct body, name, "name", 0),
        FIELDS_END,
    };
    struct body body = { 0 };

    ck_assert_int_eq(json_decode(arena, parse("{\"a\": 3, \"name\": \"n\", \"b\": \"4\"}"), "w",
                                 others, 0, true, &body, &err),
                     0);
    ck_assert_str_eq(body.name, "n");
    ck_assert_int_eq(body.size, 4);
    end();
    for (int strict = 0; strict < 2; strict++) {
        ck_assert_int_eq(json_decode(arena, parse("{\"name\": \"n\", \"b\": 1}"), "w", others, 0,
                                     strict, &body, &err),
                         -1);
        ck_assert_str_eq(err.message, "Invalid value 1 for 'b': it must be between 2 and 9.");
        end();
    }
}
END_TEST

START_TEST(long_keys_are_shown_short) {
    char text[400], key[301], message[200];

    memset(key, 'k', 300);
    key[300] = '\0';
    snprintf(text, sizeof(text), "{\"size\": 1, \"%s\": 1}", key);
    snprintf(message, sizeof(message), "'%.64s…' is not a known key of 'volume'.", key);
    assert_refused(text, 71, message);
    end();
}
END_TEST

START_TEST(sent_keys_are_known_even_when_null) {
    json_t *object = parse("{\"a\": null}");

    ck_assert(json_has(object, "a"));
    ck_assert(!json_has(object, "b"));
    ck_assert(!json_has(NULL, "a"));
    end();
}
END_TEST

START_TEST(members_are_found_by_their_path) {
    json_t *tree =
        parse("{\"spec\": {\"name\": \"a\", \"count\": 7, \"on\": true, \"size\": \"2Ki\", "
              "\"list\": [1, \"x\"]}, \"metadata\": null}");

    ck_assert_str_eq(json_text_at(tree, "spec.name"), "a");
    ck_assert_int_eq(json_int_at(tree, "spec.count"), 7);
    ck_assert(json_true_at(tree, "spec.on"));
    ck_assert_int_eq(json_bytes_at(tree, "spec.size"), 2048);
    ck_assert_ptr_eq(json_at(tree, ""), tree);
    ck_assert(json_list_has(json_at(tree, "spec.list"), "x"));
    ck_assert(!json_list_has(json_at(tree, "spec.list"), "y"));
    ck_assert(!json_list_has(json_at(tree, "spec.name"), "a"));
    ck_assert(!json_list_has(NULL, "x"));
    ck_assert_ptr_eq(json_at(tree, "spec"), json_object_get(tree, "spec"));
    end();
}
END_TEST

START_TEST(members_that_are_missing_or_of_another_type_are_absent) {
    static const char *const paths[] = { "spec",      "spec.list",   "spec.list.x", "spec.none",
                                         "spec.n",    "spec.name.x", "metadata",    "metadata.name",
                                         "none.name", ".spec",       "spec..name" };
    json_t *tree = parse("{\"spec\": {\"name\": \"much\", \"list\": [1]}, \"metadata\": null}");

    for (size_t i = 0; i < LENGTH(paths); i++) {
        ck_assert_ptr_null(json_text_at(tree, paths[i]));
        ck_assert_int_eq(json_int_at(tree, paths[i]), 0);
        ck_assert_int_eq(json_bytes_at(tree, paths[i]), 0);
        ck_assert(!json_true_at(tree, paths[i]));
    }
    ck_assert_int_eq(json_bytes_at(tree, "spec.name"), 0);
    ck_assert_ptr_null(json_at(tree, "spec.none"));
    ck_assert_ptr_null(json_at(NULL, "spec"));
    end();
}
END_TEST

CHECK_MAIN("json", json_is_parsed_and_released_with_the_arena, malformed_json_is_refused,
           depth_is_bounded, width_is_not_depth, values_are_bounded,
           a_text_of_too_many_values_is_refused_unparsed, an_arena_counts_its_trees,
           size_is_bounded, spellings_of_booleans_are_those_of_the_api,
           digits_are_digits_only_and_fit, fields_fill_their_members,
           absent_and_null_fields_leave_their_members, refusals_name_the_field_and_the_reason,
           no_object_at_all_is_refused, a_field_does_not_exist_before_its_version,
           open_objects_take_unknown_keys, one_row_may_stand_for_all_other_keys,
           long_keys_are_shown_short, sent_keys_are_known_even_when_null,
           members_are_found_by_their_path, members_that_are_missing_or_of_another_type_are_absent)
