#include "json/span.h"

#include "tests/lib/check_main.h"

#include <stdlib.h>
#include <string.h>

static struct json_span span(const char *text) {
    return (struct json_span){ text, text + strlen(text) };
}

/* "-": there is none. */
static const char *text_of(struct arena *arena, bool found, struct json_span value) {
    return found ? arena_text_n(arena, value.begin, (size_t)(value.end - value.begin)) : "-";
}

START_TEST(a_member_is_found_whatever_is_beside_it) {
    static const struct {
        const char *object, *found;
    } rows[] = {
        { "{\"a\":1}", "1" },
        { " { \"b\" : [ { \"a\" : 2 } , \"}\" ] , \"a\" : { \"a\" : 3 } } ", "{ \"a\" : 3 }" },
        { "{\"b\":\"\\\",\\\"a\\\":4\",\"a\":\"x\\\"y\"}", "\"x\\\"y\"" },
        { "{\"b\":99999999999999999999999,\"a\":null}", "null" },
        { "{\"b\":\"\\u0000\",\"a\\u0000\":1,\"a\":-1e9}", "-1e9" },
        { "{\"a\":1,\"a\":2}", "1" },
        { "{}", "-" },
        { "[\"a\",1]", "-" },
        { "{\"b\":{\"a\":1}}", "-" },
        { "{\"a\":{", "-" },
        { "{\"a\":\"", "-" },
        { "{\"a\":\"\\", "-" },
        { "{\"a\":}", "-" },
        { "{\"a\"", "-" },
        { "{a:1}", "-" },
        { "", "-" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        autoarena struct arena *arena = arena_new();
        struct json_span value;
        bool found = json_span_member(span(rows[i].object), "a", &value);

        ck_assert_str_eq(text_of(arena, found, value), rows[i].found);
    }
}
END_TEST

START_TEST(items_are_found_one_after_the_other) {
    static const struct {
        const char *list, *found;
    } rows[] = {
        { "[1, \"b,]\" ,[3,[4]], {\"c\":[]}]", "1;\"b,]\";[3,[4]];{\"c\":[]};" },
        { "[]", "" },
        { " [ ] ", "" },
        { "{\"a\":1}", "" },
        { "[1", "1;" },
        { "[1,[2", "1;" },
        { "[1 2]", "1;" },
        { "", "" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        autoarena struct arena *arena = arena_new();
        struct json_span list = span(rows[i].list), item;
        const char *all = "";

        while (json_span_next(&list, &item))
            all = arena_join(arena, all, text_of(arena, true, item), ";", NULL);
        ck_assert_str_eq(all, rows[i].found);
    }
}
END_TEST

/* No recursion: the stack would be too small for it. */
START_TEST(values_of_any_depth_are_skipped) {
    const size_t depth = 5000000;
    char *text = malloc(2 * depth + 32), *end = text;
    struct json_span value;

    ck_assert_ptr_nonnull(text);
    end = stpcpy(end, "{\"b\":");
    memset(end, '[', depth);
    memset(end + depth, ']', depth);
    strcpy(end + 2 * depth, ",\"a\":7}");
    ck_assert(json_span_member(span(text), "a", &value));
    ck_assert_int_eq(*value.begin, '7');
    free(text);
}
END_TEST

START_TEST(a_string_is_unescaped) {
    autoarena struct arena *arena = arena_new();

    ck_assert_str_eq(json_span_text(arena, span("\"a\\u00e4\\n\"")), "a\xc3\xa4\n");
    ck_assert_str_eq(json_span_text(arena, span("\"\"")), "");
    ck_assert_ptr_null(json_span_text(arena, span("7")));
    ck_assert_ptr_null(json_span_text(arena, span("\"a\\u0000b\"")));
    ck_assert_ptr_null(json_span_text(arena, span("\"a")));
    ck_assert_ptr_null(json_span_text(arena, span("")));
}
END_TEST

CHECK_MAIN("span", a_member_is_found_whatever_is_beside_it, items_are_found_one_after_the_other,
           values_of_any_depth_are_skipped, a_string_is_unescaped)
