#include "json/yaml.h"

#include "common/cleanup.h"
#include "tests/lib/check_main.h"
#include "json/json.h"

#include <string.h>

START_TEST(yaml_is_read_as_the_equivalent_json) {
    static const char *const cases[][2] = {
        { "", "[]" },
        { "---\n...\n---\n# nothing\n", "[]" },
        { "a: 1\nb: [x, 'y', \"z\\n\"]\n", "[{\"a\":1,\"b\":[\"x\",\"y\",\"z\\n\"]}]" },
        { "a: {b: {c: null, d: ~, e: }}\n",
          "[{\"a\":{\"b\":{\"c\":null,\"d\":null,\"e\":null}}}]" },
        { "a: true\n---\nb: False\n", "[{\"a\":true},{\"b\":false}]" },
        { "[yes, on, off, no, 'true', \"1\"]", "[[\"yes\",\"on\",\"off\",\"no\",\"true\",\"1\"]]" },
        { "[0, -12, +7, 0x1F, 0o17, 010, 0b1, 1_0, -]",
          "[[0,-12,7,31,15,\"010\",\"0b1\",\"1_0\",\"-\"]]" },
        { "[1.5, .5, 1e3, -2.5E-1, 1., .inf, .nan, 1.2.3, 1e999, e3]",
          "[[1.5,0.5,1000.0,-0.25,1.0,\".inf\",\".nan\",\"1.2.3\",\"1e999\",\"e3\"]]" },
        { "[9223372036854775807, 9223372036854775808]",
          "[[9223372036854775807,\"9223372036854775808\"]]" },
        { "1: one\ntrue: two\n", "[{\"1\":\"one\",\"true\":\"two\"}]" },
        { "storage: 10Gi\nwhen: 2026-01-01\n", "[{\"storage\":\"10Gi\",\"when\":\"2026-01-01\"}]" },
        { "a: |\n  one\n  two\nb: >-\n  three\n  four\n",
          "[{\"a\":\"one\\ntwo\\n\",\"b\":\"three four\"}]" },
        { "{\"json\": [1, {\"is\": \"yaml\"}]}", "[{\"json\":[1,{\"is\":\"yaml\"}]}]" },
        { "\xc3\xa4: \xc3\xb6", "[{\"\xc3\xa4\":\"\xc3\xb6\"}]" },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        autoarena struct arena *arena = arena_new();
        struct error err = { 0 };
        json_t *documents = yaml_read(arena, cases[i][0], strlen(cases[i][0]), &err);

        ck_assert_msg(documents != NULL, "%s: %s", cases[i][0], err.message);
        ck_assert_str_eq(json_text(arena, documents), cases[i][1]);
    }
}
END_TEST

START_TEST(syntax_errors_have_line_and_column) {
    static const char *const cases[][2] = {
        { "a: &x 1\n", "line 1, column 4: anchors and tags are not understood" },
        { "a: &x [1]\n", "line 1, column 4: anchors and tags are not understood" },
        { "a: 1\nb: *x\n", "line 2, column 4: aliases are not understood" },
        { "a: !!str 1\n", "line 1, column 4: anchors and tags are not understood" },
        { "a: 1\na: 2\n", "line 2, column 1: a key stands twice" },
        { "? [a]\n: 1\n", "line 1, column 3: a key is no plain text" },
        { "a: \"x\\0y\"\n", "line 1, column 4: a text has a NUL in it" },
        { "a: [1\n", "line 2, column 1: did not find expected ',' or ']'" },
        { "a:\n\t- 1\n", "line 2, column 1: found character that cannot start any token" },
        { "\xff\xfe\xff", NULL },
        { "a: \"\xc3\"", NULL },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        autoarena struct arena *arena = arena_new();
        struct error err = { 0 };

        ck_assert_ptr_null(yaml_read(arena, cases[i][0], strlen(cases[i][0]), &err));
        ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
        if (cases[i][1])
            ck_assert_str_eq(err.message, cases[i][1]);
    }
}
END_TEST

START_TEST(depth_and_size_are_bounded) {
    enum { SIZE = 1024 * 1024 + 1 };
    autoarena struct arena *arena = arena_new();
    char *text = arena_alloc(arena, SIZE);
    struct error err = { 0 };

    memset(text, '[', 65);
    memset(text + 65, ']', 65);
    ck_assert_ptr_null(yaml_read(arena, text, 130, &err));
    ck_assert_ptr_nonnull(strstr(err.message, "it nests too deep"));
    ck_assert_ptr_nonnull(yaml_read(arena, text + 1, 128, &err));
    memset(text, ' ', SIZE);
    ck_assert_ptr_null(yaml_read(arena, text, SIZE, &err));
    ck_assert_ptr_nonnull(yaml_read(arena, text, SIZE - 1, &err));
}
END_TEST

CHECK_MAIN("yaml", yaml_is_read_as_the_equivalent_json, syntax_errors_have_line_and_column,
           depth_and_size_are_bounded)
