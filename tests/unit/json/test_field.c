#include "json/field.h"

#include "tests/lib/check_main.h"

#include <string.h>

static struct arena *arena;
static struct error err;

static void setup(void) {
    arena = arena_new();
}

/* A member of any type, which a refusal must leave alone. */
union member {
    const char *text;
    int64_t number;
    bool boolean;
    const json_t *tree;
};

static void release_value(void *value) {
    json_decref(value);
}

static int read_value(const struct field *field, json_t *value, union member *ret) {
    int result;

    memset(ret, 0x55, sizeof(*ret));
    err = (struct error){ 0 };
    ck_assert_ptr_nonnull(value);
    arena_defer(arena, release_value, value);
    result = field_read(arena, field, value, ret, &err);
    if (result < 0) {
        union member untouched;

        memset(&untouched, 0x55, sizeof(untouched));
        ck_assert_mem_eq(ret, &untouched, sizeof(*ret));
        ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    }
    return result;
}

static int read_json(const struct field *field, const char *json, union member *ret) {
    return read_value(field, json_loads(json, JSON_DECODE_ANY, NULL), ret);
}

static void assert_refused(const struct field *field, const char *json, const char *message) {
    union member member;

    if (read_json(field, json, &member) != -1)
        ck_abort_msg("%s was taken", json);
    ck_assert_str_eq(err.message, message);
}

static void assert_text(const struct field *field, const char *json, const char *text) {
    union member member;

    ck_assert_msg(read_json(field, json, &member) == 0, "%s: %s", json, err.message);
    ck_assert_str_eq(member.text, text);
}

static void assert_number(const struct field *field, const char *json, int64_t number) {
    union member member;

    ck_assert_msg(read_json(field, json, &member) == 0, "%s: %s", json, err.message);
    ck_assert_int_eq(member.number, number);
}

static void assert_tree(const struct field *field, const char *json) {
    json_t *value = json_loads(json, JSON_DECODE_ANY, NULL);
    union member member;

    ck_assert_msg(read_value(field, value, &member) == 0, "%s: %s", json, err.message);
    ck_assert_ptr_eq(member.tree, value);
}

/* `count` times `unit` as a JSON string. */
static json_t *repeated(const char *unit, size_t count) {
    autofree char *text = calloc(count + 1, strlen(unit) + 1);

    for (size_t i = 0; i < count; i++)
        memcpy(text + i * strlen(unit), unit, strlen(unit));
    return json_string(text);
}

static const struct field text_field = {
    .name = "t", .type = FIELD_TYPE_TEXT, .min = 1, .max = 255
};

START_TEST(text_is_counted_in_characters) {
    union member member;

    setup();
    assert_text(&text_field, "\"x\"", "x");
    assert_refused(&text_field, "\"\"",
                   "Invalid value '' for 't': it must be 1 to 255 characters long.");
    ck_assert_int_eq(read_value(&text_field, repeated("\xe2\x82\xac", 255), &member), 0);
    ck_assert_uint_eq(strlen(member.text), 765);
    ck_assert_int_eq(read_value(&text_field, repeated("\xe2\x82\xac", 256), &member), -1);
    arena_free(arena);
}
END_TEST

START_TEST(a_long_value_is_shown_short) {
    union member member;
    char message[400] = "Invalid value '";

    setup();
    ck_assert_int_eq(read_value(&text_field, repeated("\xf0\x9f\x98\x80", 300), &member), -1);
    for (int i = 0; i < 64; i++)
        strcat(message, "\xf0\x9f\x98\x80");
    strcat(message, "…' for 't': it must be 1 to 255 characters long.");
    ck_assert_str_eq(err.message, message);
    arena_free(arena);
}
END_TEST

START_TEST(a_text_without_bound_has_only_a_least_length) {
    const struct field field = { .name = "t", .type = FIELD_TYPE_TEXT, .min = 2 };
    union member member;

    setup();
    ck_assert_int_eq(read_value(&field, repeated("x", 100000), &member), 0);
    assert_refused(&field, "\"x\"",
                   "Invalid value 'x' for 't': it must be at least 2 characters long.");
    arena_free(arena);
}
END_TEST

START_TEST(a_value_of_another_type_is_shown_in_the_error) {
    setup();
    assert_refused(&text_field, "12", "Invalid value 12 for 't': it must be a string.");
    assert_refused(&text_field, "-1.5", "Invalid value -1.5 for 't': it must be a string.");
    assert_refused(&text_field, "true", "Invalid value true for 't': it must be a string.");
    assert_refused(&text_field, "false", "Invalid value false for 't': it must be a string.");
    assert_refused(&text_field, "null", "Invalid value null for 't': it must be a string.");
    assert_refused(&text_field, "{}", "Invalid value (an object) for 't': it must be a string.");
    assert_refused(&text_field, "[]", "Invalid value (a list) for 't': it must be a string.");
    arena_free(arena);
}
END_TEST

START_TEST(trimmed_text_is_measured_without_its_blanks) {
    const struct field field = {
        .name = "t", .type = FIELD_TYPE_TEXT, .flags = FIELD_TRIM, .min = 0, .max = 3
    };

    setup();
    assert_text(&field, "\"abc\"", "abc");
    assert_text(&field, "\" \\t\\r\\n abc \\u000b\\f\"", "abc");
    assert_text(&field, "\"\\u00a0\\u3000a b\\u2003\\u2028\"", "a b");
    assert_text(&field, "\"   \"", "");
    assert_text(&field, "\"\"", "");
    assert_refused(&field, "\" abcd \"",
                   "Invalid value ' abcd ' for 't': it must be 0 to 3 characters long.");
    arena_free(arena);
}
END_TEST

START_TEST(text_that_must_not_be_blank_keeps_its_blanks) {
    const struct field field = {
        .name = "t", .type = FIELD_TYPE_TEXT, .flags = FIELD_NOT_BLANK, .min = 1, .max = 9
    };

    setup();
    assert_text(&field, "\" a \"", " a ");
    assert_refused(&field, "\"  \"", "Invalid value '  ' for 't': it must be more than blanks.");
    assert_refused(&field, "\"\\u3000\"",
                   "Invalid value '\xe3\x80\x80' for 't': it must be more than blanks.");
    assert_refused(&field, "\"\"", "Invalid value '' for 't': it must be more than blanks.");
    arena_free(arena);
}
END_TEST

START_TEST(printable_text_has_no_controls_and_line_breaks) {
    const struct field field = {
        .name = "t", .type = FIELD_TYPE_TEXT, .flags = FIELD_PRINTABLE, .max = 255
    };
    static const char *const texts[] = { "\"a\\nb\"",   "\"\\t\"",     "\"\\u001b\"", "\"\\u007f\"",
                                         "\"\\u0085\"", "\"\\u2028\"", "\"\\u2029\"" };

    setup();
    assert_text(&field, "\"na\\u00efve \\ud83d\\ude00\"", "na\xc3\xafve \xf0\x9f\x98\x80");
    for (size_t i = 0; i < LENGTH(texts); i++) {
        union member member;

        ck_assert_int_eq(read_json(&field, texts[i], &member), -1);
        ck_assert_ptr_nonnull(strstr(err.message, "free of control characters and line breaks."));
    }
    arena_free(arena);
}
END_TEST

START_TEST(text_from_elsewhere_must_be_utf8) {
    const struct field field = {
        .name = "t", .type = FIELD_TYPE_TEXT, .flags = FIELD_PRINTABLE | FIELD_TRIM, .max = 255
    };
    union member member;

    setup();
    ck_assert_int_eq(read_value(&field, json_string_nocheck("\xff "), &member), -1);
    arena_free(arena);
}
END_TEST

START_TEST(hosts_have_their_own_characters) {
    const struct field field = {
        .name = "t", .type = FIELD_TYPE_TEXT, .flags = FIELD_HOST_CHARS, .min = 1, .max = 255
    };
    static const char *const texts[] = { "\"a b\"", "\"a,b\"",   "\"a\\u00e4\"", "\"a\\u0000\"",
                                         "\"a;b\"", "\"a\\nb\"", "\"\\u012d\"" };

    setup();
    assert_text(&field, "\"Node-1.x_y@nfs#pool:/a+[9]\"", "Node-1.x_y@nfs#pool:/a+[9]");
    for (size_t i = 0; i < LENGTH(texts); i++) {
        json_t *value = json_loads(texts[i], JSON_DECODE_ANY, NULL);
        union member member;

        if (value) /* the parser itself refuses a NUL */
            ck_assert_int_eq(read_value(&field, value, &member), -1);
    }
    assert_refused(
        &field, "\"a b\"",
        "Invalid value 'a b' for 't': it must be of letters, digits and -._#@:/+[] only.");
    arena_free(arena);
}
END_TEST

START_TEST(words_are_those_of_the_list) {
    static const char *const words[] = { "never", "on-demand", NULL };
    static const char *const none[] = { NULL };
    const struct field field = { .name = "t", .type = FIELD_TYPE_WORD, .words = words };
    const struct field empty = { .name = "t", .type = FIELD_TYPE_WORD, .words = none };
    union member member;

    setup();
    assert_text(&field, "\"on-demand\"", "on-demand");
    assert_refused(&field, "\"Never\"",
                   "Invalid value 'Never' for 't': it must be one of: never, on-demand.");
    assert_refused(&field, "1", "Invalid value 1 for 't': it must be one of: never, on-demand.");
    ck_assert_int_eq(read_json(&empty, "\"x\"", &member), -1);
    arena_free(arena);
}
END_TEST

START_TEST(uuids_become_canonical) {
    const struct field field = { .name = "t", .type = FIELD_TYPE_UUID };

    setup();
    assert_text(&field, "\"0123ABCD456789ABCDEF0123456789AB\"",
                "0123abcd-4567-89ab-cdef-0123456789ab");
    assert_refused(&field, "\"x\"", "Invalid value 'x' for 't': it must be a UUID.");
    assert_refused(&field, "7", "Invalid value 7 for 't': it must be a UUID.");
    arena_free(arena);
}
END_TEST

START_TEST(booleans_are_booleans_or_text) {
    const struct field field = { .name = "t", .type = FIELD_TYPE_BOOL };
    union member member;

    setup();
    ck_assert(read_json(&field, "true", &member) == 0 && member.boolean);
    ck_assert(read_json(&field, "false", &member) == 0 && !member.boolean);
    ck_assert(read_json(&field, "\"Yes\"", &member) == 0 && member.boolean);
    ck_assert(read_json(&field, "\"0\"", &member) == 0 && !member.boolean);
    assert_refused(&field, "0", "Invalid value 0 for 't': it must be a boolean.");
    assert_refused(&field, "\"yEs\"", "Invalid value 'yEs' for 't': it must be a boolean.");
    assert_refused(&field, "null", "Invalid value null for 't': it must be a boolean.");
    arena_free(arena);
}
END_TEST

START_TEST(sizes_are_integers_or_digits) {
    const struct field field = {
        .name = "t", .type = FIELD_TYPE_SIZE, .min = 1, .max = FIELD_MAX_SIZE_GB
    };
    static const char *const no_integers[] = { "\"\"",    "\" 1\"",  "\"1 \"",
                                               "\"-1\"",  "\"+1\"",  "\"1.0\"",
                                               "\"1_0\"", "\"0x1\"", "\"99999999999999999999\"" };
    static const char *const others[] = { "1.0", "1e3", "true", "null", "[]", "{}" };
    union member member;

    setup();
    assert_number(&field, "1", 1);
    assert_number(&field, "\"0010\"", 10);
    assert_number(&field, "2147483647", FIELD_MAX_SIZE_GB);
    assert_refused(&field, "0", "Invalid value 0 for 't': it must be between 1 and 2147483647.");
    assert_refused(&field, "\"2147483648\"",
                   "Invalid value '2147483648' for 't': it must be between 1 and 2147483647.");
    for (size_t i = 0; i < LENGTH(no_integers); i++) {
        ck_assert_int_eq(read_json(&field, no_integers[i], &member), -1);
        ck_assert_ptr_nonnull(strstr(err.message, "an integer or a string of digits."));
    }
    for (size_t i = 0; i < LENGTH(others); i++) {
        ck_assert_int_eq(read_json(&field, others[i], &member), -1);
        ck_assert_ptr_nonnull(strstr(err.message, "an integer."));
    }
    arena_free(arena);
}
END_TEST

START_TEST(a_size_may_be_negative_where_its_minimum_is) {
    const struct field field = { .name = "t", .type = FIELD_TYPE_SIZE, .min = -1, .max = 5 };

    setup();
    assert_number(&field, "\"-1\"", -1);
    assert_number(&field, "-1", -1);
    assert_number(&field, "\"5\"", 5);
    assert_refused(&field, "\"-2\"", "Invalid value '-2' for 't': it must be between -1 and 5.");
    assert_refused(&field, "\"--1\"",
                   "Invalid value '--1' for 't': it must be an integer or a string of digits.");
    arena_free(arena);
}
END_TEST

START_TEST(integers_are_integers_within_their_range) {
    const struct field field = { .name = "t", .type = FIELD_TYPE_INT, .min = -1, .max = 5 };

    setup();
    assert_number(&field, "-1", -1);
    assert_number(&field, "5", 5);
    assert_refused(&field, "-2", "Invalid value -2 for 't': it must be between -1 and 5.");
    assert_refused(&field, "6", "Invalid value 6 for 't': it must be between -1 and 5.");
    assert_refused(&field, "\"5\"", "Invalid value '5' for 't': it must be an integer.");
    assert_refused(&field, "5.0", "Invalid value 5.0 for 't': it must be an integer.");
    arena_free(arena);
}
END_TEST

START_TEST(metadata_is_an_object_of_short_texts) {
    const struct field field = { .name = "metadata", .type = FIELD_TYPE_META };
    json_t *object = json_object();
    union member member;

    setup();
    assert_tree(&field, "{}");
    assert_tree(&field, "{\"a-Z_9:. /\": \"v\", \"b\": \"\"}");
    assert_refused(&field, "[]", "Invalid value (a list) for 'metadata': it must be an object.");
    assert_refused(&field, "null", "Invalid value null for 'metadata': it must be an object.");
    assert_refused(&field, "{\"\": \"v\"}",
                   "Invalid key '' in 'metadata': it must be 1 to 255 characters long.");
    assert_refused(&field, "{\"k\": 1}",
                   "Invalid value 1 for key 'k' in 'metadata': it must be a string.");
    assert_refused(&field, "{\"k\": null}",
                   "Invalid value null for key 'k' in 'metadata': it must be a string.");
    assert_refused(&field, "{\"k*\": \"v\"}",
                   "Invalid key 'k*' in 'metadata': it must be of "
                   "letters, digits and -_:./ and blanks only.");
    assert_refused(&field, "{\"\\u00e4\": \"v\"}",
                   "Invalid key '\xc3\xa4' in 'metadata': it must be of letters, digits and "
                   "-_:./ and blanks only.");
    json_object_set_new(object, "k", repeated("\xe2\x82\xac", 255));
    ck_assert_int_eq(read_value(&field, object, &member), 0);
    object = json_object();
    json_object_set_new(object, "k", repeated("x", 256));
    ck_assert_int_eq(read_value(&field, object, &member), -1);
    ck_assert_ptr_nonnull(strstr(err.message, "x…' for key 'k' in 'metadata': it must be at most "
                                              "255 characters long."));
    arena_free(arena);
}
END_TEST

START_TEST(metadata_keys_are_bounded) {
    const struct field field = { .name = "metadata", .type = FIELD_TYPE_META };
    json_t *object = json_object(), *key = repeated("k", 255);
    union member member;

    setup();
    json_object_set_new(object, json_string_value(key), json_string("v"));
    json_decref(key);
    ck_assert_int_eq(read_value(&field, object, &member), 0);
    object = json_object();
    key = repeated("k", 256);
    json_object_set_new(object, json_string_value(key), json_string("v"));
    json_decref(key);
    ck_assert_int_eq(read_value(&field, object, &member), -1);
    ck_assert_ptr_nonnull(strstr(err.message, "k…' in 'metadata': it must be 1 to 255"));
    arena_free(arena);
}
END_TEST

START_TEST(specs_have_no_blanks_in_keys_and_may_be_null) {
    const struct field field = { .name = "specs",
                                 .type = FIELD_TYPE_META,
                                 .flags = FIELD_SPEC_KEYS | FIELD_NULL_VALUES };
    union member member;

    setup();
    assert_tree(&field, "{\"capabilities:thin-x_y.z\": null, \"b\": \"v\"}");
    assert_refused(&field, "{\"a b\": \"v\"}",
                   "Invalid key 'a b' in 'specs': it must be of letters, digits and -_:. only.");
    ck_assert_int_eq(read_json(&field, "{\"a/b\": \"v\"}", &member), -1);
    assert_refused(&field, "{\"k\": 1}",
                   "Invalid value 1 for key 'k' in 'specs': it must be a string or null.");
    arena_free(arena);
}
END_TEST

START_TEST(pairs_may_be_counted) {
    const struct field field = { .name = "t", .type = FIELD_TYPE_META, .min = 1, .max = 1 };

    setup();
    assert_tree(&field, "{\"a\": \"b\"}");
    assert_refused(
        &field, "{}",
        "Invalid value (an object) for 't': it must be an object of at least 1 elements.");
    assert_refused(
        &field, "{\"a\": \"b\", \"c\": \"d\"}",
        "Invalid value (an object) for 't': it must be an object of at most 1 elements.");
    arena_free(arena);
}
END_TEST

START_TEST(long_values_are_bounded_in_bytes) {
    const struct field field = { .name = "metadata",
                                 .type = FIELD_TYPE_META,
                                 .flags = FIELD_LONG_VALUES };
    json_t *object = json_object();
    union member member;

    setup();
    json_object_set_new(object, "k", repeated("x", 65535));
    ck_assert_int_eq(read_value(&field, object, &member), 0);
    object = json_object();
    json_object_set_new(object, "k", repeated("\xc3\xa4", 32768));
    ck_assert_int_eq(read_value(&field, object, &member), -1);
    ck_assert_ptr_nonnull(strstr(err.message, "it must be at most 65535 bytes long."));
    arena_free(arena);
}
END_TEST

START_TEST(objects_lists_and_anything_are_kept_as_they_are) {
    const struct field object = { .name = "t", .type = FIELD_TYPE_OBJECT };
    const struct field or_text = { .name = "t", .type = FIELD_TYPE_OBJECT, .flags = FIELD_OR_TEXT };
    const struct field list = { .name = "t", .type = FIELD_TYPE_LIST, .min = 1, .max = 2 };
    const struct field any_list = { .name = "t", .type = FIELD_TYPE_LIST };
    const struct field any = { .name = "t", .type = FIELD_TYPE_ANY };

    setup();
    assert_tree(&object, "{\"a\": []}");
    assert_refused(&object, "\"x\"", "Invalid value 'x' for 't': it must be an object.");
    assert_tree(&or_text, "{}");
    assert_tree(&or_text, "\"x\"");
    assert_refused(&or_text, "1", "Invalid value 1 for 't': it must be an object or a string.");
    assert_tree(&list, "[1, {}]");
    assert_refused(&list, "{}", "Invalid value (an object) for 't': it must be a list.");
    assert_refused(&list, "[]",
                   "Invalid value (a list) for 't': it must be a list of at least 1 elements.");
    assert_refused(&list, "[1, 2, 3]",
                   "Invalid value (a list) for 't': it must be a list of at most 2 elements.");
    assert_tree(&any_list, "[]");
    assert_tree(&any_list, "[1, 2, 3]");
    assert_tree(&any, "null");
    assert_tree(&any, "1.5");
    arena_free(arena);
}
END_TEST

CHECK_MAIN("field", text_is_counted_in_characters, a_long_value_is_shown_short,
           a_text_without_bound_has_only_a_least_length,
           a_value_of_another_type_is_shown_in_the_error,
           trimmed_text_is_measured_without_its_blanks,
           text_that_must_not_be_blank_keeps_its_blanks,
           printable_text_has_no_controls_and_line_breaks, text_from_elsewhere_must_be_utf8,
           hosts_have_their_own_characters, words_are_those_of_the_list, uuids_become_canonical,
           booleans_are_booleans_or_text, sizes_are_integers_or_digits,
           a_size_may_be_negative_where_its_minimum_is, pairs_may_be_counted,
           integers_are_integers_within_their_range, metadata_is_an_object_of_short_texts,
           metadata_keys_are_bounded, specs_have_no_blanks_in_keys_and_may_be_null,
           long_values_are_bounded_in_bytes, objects_lists_and_anything_are_kept_as_they_are)
