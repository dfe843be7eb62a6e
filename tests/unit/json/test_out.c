#include "json/out.h"

#include "tests/lib/check_main.h"

#include <limits.h>
#include <math.h>
#include <string.h>

static struct arena *arena;

static struct json_out new_out(void) {
    struct json_out out;

    arena = arena_new();
    json_out_init(&out, arena, 0);
    return out;
}

static void assert_written(struct json_out *out, const char *expected) {
    ck_assert_str_eq(json_out_text(out), expected);
    ck_assert_uint_eq(out->size, strlen(expected));
    arena_free(arena);
}

START_TEST(commas_stand_between_values_at_every_level) {
    struct json_out out = new_out();

    out_begin_object(&out);
    out_key(&out, "empty");
    out_begin_object(&out);
    out_end_object(&out);
    out_key(&out, "list");
    out_begin_array(&out);
    out_begin_array(&out);
    out_end_array(&out);
    out_int(&out, 1);
    out_begin_object(&out);
    out_put_null(&out, "a");
    out_put_bool(&out, "b", true);
    out_end_object(&out);
    out_text(&out, "x");
    out_end_array(&out);
    out_put_int(&out, "n", -2);
    out_key_text(&out, "k\"");
    out_bool(&out, false);
    out_key_text(&out, "l");
    out_raw(&out, "{\"raw\":[]}", 10);
    out_put_text(&out, "last", NULL);
    out_end_object(&out);
    assert_written(&out, "{\"empty\":{},\"list\":[[],1,{\"a\":null,\"b\":true},\"x\"],\"n\":-2,"
                         "\"k\\\"\":false,\"l\":{\"raw\":[]},\"last\":null}");
}
END_TEST

START_TEST(integers_are_whole) {
    struct json_out out = new_out();

    out_begin_array(&out);
    out_int(&out, 0);
    out_int(&out, 9);
    out_int(&out, 10);
    out_int(&out, -1);
    out_int(&out, INT64_MAX);
    out_int(&out, INT64_MIN);
    out_end_array(&out);
    assert_written(&out, "[0,9,10,-1,9223372036854775807,-9223372036854775808]");
}
END_TEST

START_TEST(doubles_read_back_as_the_same_real_number) {
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        { 0, "0.0" },          { 1230, "1230.0" }, { 99.5, "99.5" },
        { -0.25, "-0.25" },    { 0.1, "0.1" },     { 1.0 / 3, "0.33333333333333331" },
        { 1e300, "1e+300" },   { NAN, "null" },    { INFINITY, "null" },
        { -INFINITY, "null" },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct json_out out = new_out();

        out_double(&out, rows[i].value);
        assert_written(&out, rows[i].text);
    }
}
END_TEST

START_TEST(instants_are_text_and_none_is_null) {
    struct json_out out = new_out();

    out_begin_object(&out);
    out_put_time(&out, "a", INT64_C(1795252087123456));
    out_put_time(&out, "b", 0);
    out_end_object(&out);
    assert_written(&out, "{\"a\":\"2026-11-21T09:08:07.123456\",\"b\":null}");
}
END_TEST

START_TEST(text_is_escaped_only_where_json_requires_it) {
    static const struct {
        const char *value, *text;
    } rows[] = {
        { "", "\"\"" },
        { "plain / text \x7f", "\"plain / text \x7f\"" },
        { "\"\\", "\"\\\"\\\\\"" },
        { "\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\"" },
        { "\x01\x1f", "\"\\u0001\\u001f\"" },
        { "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80",
          "\"na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80\"" },
        { "\xff", "\"\xef\xbf\xbd\"" },
        { "a\xc3", "\"a\xef\xbf\xbd\"" },
        { "\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
        { "\xe2\x82z", "\"\xef\xbf\xbd\xef\xbf\xbdz\"" },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct json_out out = new_out();

        out_text(&out, rows[i].value);
        assert_written(&out, rows[i].text);
    }
}
END_TEST

/* A special byte at every place of texts of every length around the eight bytes of one step. */
START_TEST(special_bytes_are_found_at_every_place) {
    static const struct {
        const char *byte, *text;
    } rows[] = { { "\"", "\\\"" },
                 { "\\", "\\\\" },
                 { "\x1f", "\\u001f" },
                 { "\xff", "\xef\xbf\xbd" },
                 { "\x80", "\xef\xbf\xbd" },
                 { " ", " " },
                 { "!", "!" },
                 { "#", "#" },
                 { "[", "[" },
                 { "]", "]" },
                 { "\x7f", "\x7f" } };
    char value[64], expected[128];

    for (size_t row = 0; row < LENGTH(rows); row++) {
        for (size_t length = 1; length < 34; length++) {
            for (size_t place = 0; place < length; place++) {
                struct json_out out = new_out();

                memset(value, 'v', length);
                value[length] = '\0';
                value[place] = rows[row].byte[0];
                snprintf(expected, sizeof(expected), "\"%.*s%s%s\"", (int)place, value,
                         rows[row].text, value + place + 1);
                out_text(&out, value);
                assert_written(&out, expected);
            }
        }
    }
}
END_TEST

START_TEST(a_text_is_escaped_between_parts_of_json) {
    static const struct json_part parts[] = { { "[\"x/", 4 }, { "\",\"y/", 5 }, { "\"]", 2 } };
    struct json_out out = new_out();

    out_begin_array(&out);
    out_between(&out, parts, 3, "a\"b");
    out_between(&out, parts, 3, "");
    out_end_array(&out);
    assert_written(&out, "[[\"x/a\\\"b\",\"y/a\\\"b\"],[\"x/\",\"y/\"]]");
}
END_TEST

START_TEST(the_buffer_grows_whatever_is_written) {
    struct json_out out = new_out();
    char *value = arena_alloc(arena, 100001);
    json_t *read;

    memset(value, '\x01', 100000);
    out_begin_array(&out);
    for (int i = 0; i < 5000; i++)
        out_int(&out, i);
    out_text(&out, value);
    for (int i = 0; i < 3000; i++) {
        out_begin_object(&out);
        out_put_text(&out, "name", "x");
        out_end_object(&out);
    }
    out_end_array(&out);
    read = json_loads(json_out_text(&out), 0, NULL);
    ck_assert_uint_eq(json_array_size(read), 8001);
    ck_assert_int_eq(json_integer_value(json_array_get(read, 4999)), 4999);
    ck_assert_str_eq(json_string_value(json_array_get(read, 5000)), value);
    json_decref(read);
    arena_free(arena);
}
END_TEST

START_TEST(text_is_cut_where_requested_and_may_continue) {
    struct json_out out = new_out();

    out_begin_array(&out);
    ck_assert_str_eq(json_out_text(&out), "[");
    out_int(&out, 1);
    out_end_array(&out);
    assert_written(&out, "[1]");
}
END_TEST

START_TEST(an_object_is_written_alone_or_below_a_key) {
    struct arena *own = arena_new();
    struct json_out out;

    json_out_begin(&out, own, NULL);
    out_put_int(&out, "a", 1);
    ck_assert_str_eq(json_out_end(&out), "{\"a\":1}");
    json_out_begin(&out, own, "vol\"ume");
    ck_assert_str_eq(json_out_end(&out), "{\"vol\\\"ume\":{}}");
    json_out_begin(&out, own, "volume");
    out_put_text(&out, "name", "x");
    out_put_null(&out, "size");
    ck_assert_str_eq(json_out_end(&out), "{\"volume\":{\"name\":\"x\",\"size\":null}}");
    arena_free(own);
}
END_TEST

START_TEST(trees_are_written_as_they_are) {
    static const char text[] = "{\"a\": [1, -2.5, true, false, null, \"q\\\"\", {}, []], "
                               "\"\xc3\xa4\\n\": {\"deep\": {\"deeper\": [[[0]]]}}}";
    struct json_out out = new_out();
    json_t *tree = json_loads(text, 0, NULL), *again;

    ck_assert_ptr_nonnull(tree);
    out_value(&out, tree);
    again = json_loads(json_out_text(&out), 0, NULL);
    ck_assert(json_equal(tree, again));
    json_decref(tree);
    json_decref(again);
    arena_free(arena);
}
END_TEST

START_TEST(text_with_nul_in_a_tree_and_no_tree_are_written) {
    struct json_out out = new_out();
    json_t *text = json_stringn("a\0b", 3);

    out_begin_array(&out);
    out_value(&out, text);
    out_value(&out, NULL);
    out_end_array(&out);
    json_decref(text);
    assert_written(&out, "[\"a\\u0000b\",null]");
}
END_TEST

/* An answer of a megabyte takes the arena no more than one of 64 KiB. */
START_TEST(a_large_text_leaves_no_outgrown_copies) {
    struct json_out out = new_out();
    char piece[1001];

    memset(piece, 'x', sizeof(piece) - 1);
    piece[sizeof(piece) - 1] = '\0';
    out_begin_array(&out);
    for (unsigned i = 0; i < 1000; i++)
        out_text(&out, piece);
    out_end_array(&out);
    ck_assert_uint_eq(out.size, 1000 * 1003 + 1);
    ck_assert_uint_eq(strlen(json_out_text(&out)), out.size);
    ck_assert_int_eq(out.text[out.size - 2], '"');
    ck_assert_uint_lt(arena_bytes(arena), 200000);
    arena_free(arena);
}
END_TEST

CHECK_MAIN("json_out", commas_stand_between_values_at_every_level, integers_are_whole,
           doubles_read_back_as_the_same_real_number, instants_are_text_and_none_is_null,
           text_is_escaped_only_where_json_requires_it, special_bytes_are_found_at_every_place,
           a_text_is_escaped_between_parts_of_json, the_buffer_grows_whatever_is_written,
           text_is_cut_where_requested_and_may_continue, a_large_text_leaves_no_outgrown_copies,
           an_object_is_written_alone_or_below_a_key, trees_are_written_as_they_are,
           text_with_nul_in_a_tree_and_no_tree_are_written)
