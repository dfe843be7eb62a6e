#include "rest/dict_text.h"

#include "tests/lib/check_main.h"

#include <string.h>

static struct pairs parsed(struct arena *arena, const char *text) {
    struct pairs pairs;

    ck_assert_msg(dict_text_parse(arena, text, &pairs), "refused: %s", text);
    return pairs;
}

START_TEST(both_quotes_and_blanks_are_read) {
    autoarena struct arena *arena = arena_new();
    struct pairs pairs = parsed(arena, " { 'a' : \"1\",\n\"b\":'2' , u'c':u\"3\" , } ");

    ck_assert_uint_eq(pairs.count, 3);
    ck_assert_str_eq(pairs_get(&pairs, "a"), "1");
    ck_assert_str_eq(pairs_get(&pairs, "b"), "2");
    ck_assert_str_eq(pairs_get(&pairs, "c"), "3");
}
END_TEST

START_TEST(an_empty_dict_has_no_pairs) {
    autoarena struct arena *arena = arena_new();

    ck_assert_uint_eq(parsed(arena, "{}").count, 0);
    ck_assert_uint_eq(parsed(arena, "{ }").count, 0);
}
END_TEST

START_TEST(escapes_stand_for_their_character) {
    autoarena struct arena *arena = arena_new();
    struct pairs pairs = parsed(arena, "{'it\\'s': 'a\\\\b\\n\\t\\r\\q', '': ''}");

    ck_assert_uint_eq(pairs.count, 2);
    ck_assert_str_eq(pairs_get(&pairs, "it's"), "a\\b\n\t\rq");
    ck_assert_str_eq(pairs_get(&pairs, ""), "");
}
END_TEST

START_TEST(separators_inside_of_texts_are_text) {
    autoarena struct arena *arena = arena_new();
    struct pairs pairs = parsed(arena, "{'a:b,c}': \"x:'y'\"}");

    ck_assert_uint_eq(pairs.count, 1);
    ck_assert_str_eq(pairs_get(&pairs, "a:b,c}"), "x:'y'");
}
END_TEST

START_TEST(whatever_is_no_dict_of_strings_is_refused) {
    static const char *const bad[] = {
        "",         "a",           "[]",       "{",          "{'a'",       "{'a':",
        "{'a':'b'", "{'a':'b'} x", "{'a':1}",  "{1:'a'}",    "{'a' 'b'}",  "{'a':'b' 'c':'d'}",
        "{,}",      "{'a':'b',,}", "{'a':'b}", "{'a':'b\\'", "{'a':u}",    "{'a':'b\\",
        "{u",       "{'a': None}", "'a':'b'",  "{'a':{}}",   "{\"a':'b'}", "{'a':'b'}}",
    };
    autoarena struct arena *arena = arena_new();
    struct pairs pairs = { .count = 77 };

    for (size_t i = 0; i < LENGTH(bad); i++)
        ck_assert_msg(!dict_text_parse(arena, bad[i], &pairs), "accepted: %s", bad[i]);
    ck_assert_uint_eq(pairs.count, 77);
}
END_TEST

CHECK_MAIN("dict_text", both_quotes_and_blanks_are_read, an_empty_dict_has_no_pairs,
           escapes_stand_for_their_character, separators_inside_of_texts_are_text,
           whatever_is_no_dict_of_strings_is_refused)
