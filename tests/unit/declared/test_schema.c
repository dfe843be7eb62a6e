#include "declared/schema.h"

#include "common/cleanup.h"
#include "declared/name.h"
#include "tests/lib/check_main.h"
#include "json/json.h"

#include <string.h>

/* clang-format off */
static const char *const words[] = { "red", "green", NULL };

static const struct schema_field inner_fields[] = {
    { "kept", SCHEMA_TEXT, SCHEMA_READ_ONLY, .about = "Ours." },
    { "name", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .max = 8, .about = "A name." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field fields[] = {
    { "size", SCHEMA_QUANTITY, SCHEMA_GROWS, .min = 1024, .max = 1 << 30, .about = "A size." },
    { "block", SCHEMA_INT, SCHEMA_FIXED | SCHEMA_POWER_OF_2, .min = 512, .max = 4096,
      .initial = "512", .about = "A block." },
    { "depth", SCHEMA_DIGITS, .min = 1, .max = 64, .about = "A depth." },
    { "flag", SCHEMA_BOOL, .about = "A flag." },
    { "colour", SCHEMA_WORD, .words = words, .also = "color", .about = "A colour." },
    { "limits", SCHEMA_QUANTITIES, .about = "Limits." },
    { "labels", SCHEMA_MAP, .allows = name_is_qualified, .about = "a qualified name" },
    { "inner", SCHEMA_OBJECT, .of = inner_fields, .about = "Inside." },
    { "free", SCHEMA_OBJECT, .about = "Anything." },
    { "items", SCHEMA_LIST, .of = inner_fields, .max = 2, .about = "Items." },
    { "list", SCHEMA_LIST, .about = "Anything." },
    SCHEMA_FIELDS_END,
};
/* clang-format on */

static json_t *parse(struct arena *arena, const char *text) {
    struct error err = { 0 };
    json_t *tree = json_parse(arena, text, strlen(text), &err);

    ck_assert_msg(tree != NULL, "%s: %s", text, err.message);
    return tree;
}

START_TEST(an_accepted_document_is_in_normal_form) {
    static const char *const cases[][2] = {
        { "{}", "{\"block\":512}" },
        { "{\"flag\":null,\"size\":\"1Ki\"}", "{\"size\":\"1Ki\",\"block\":512}" },
        { "{\"size\":2048,\"depth\":32}", "{\"size\":\"2048\",\"block\":512,\"depth\":\"32\"}" },
        { "{\"color\":\"red\",\"block\":4096}", "{\"block\":4096,\"colour\":\"red\"}" },
        { "{\"limits\":{\"cpu\":\"500m\",\"memory\":1024},\"labels\":{\"a/b\":\"c\"}}",
          "{\"block\":512,\"limits\":{\"cpu\":\"500m\",\"memory\":\"1024\"},"
          "\"labels\":{\"a/b\":\"c\"}}" },
        { "{\"inner\":{\"name\":\"x\",\"kept\":7},\"free\":{\"any\":[1]}}",
          "{\"block\":512,\"inner\":{\"name\":\"x\"},\"free\":{\"any\":[1]}}" },
        { "{\"items\":[{\"name\":\"x\"},{\"name\":\"y\"}]}",
          "{\"block\":512,\"items\":[{\"name\":\"x\"},{\"name\":\"y\"}]}" },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        autoarena struct arena *arena = arena_new();
        json_t *object = parse(arena, cases[i][0]);
        struct error err = { 0 };

        ck_assert_msg(schema_accept(arena, fields, "spec", object, &err) == 0, "%s: %s",
                      cases[i][0], err.message);
        ck_assert_str_eq(json_text(arena, object), cases[i][1]);
        ck_assert_int_eq(schema_accept(arena, fields, "spec", object, &err), 0);
        ck_assert_str_eq(json_text(arena, object), cases[i][1]);
    }
}
END_TEST

START_TEST(a_refusal_names_the_field_and_the_reason) {
    static const char *const cases[][2] = {
        { "{\"sice\":1}", "spec: 'sice' is not a known field; did you mean size?" },
        { "{\"zzzzzzzzzz\":1}", "spec: 'zzzzzzzzzz' is not a known field." },
        { "{\"color\":\"red\",\"colour\":\"red\"}",
          "spec.colour is given twice, as colour and as color." },
        { "{\"size\":\"1Gx\"}", "spec.size: '1Gx' is not a quantity, like 10Gi, below 8Ei." },
        { "{\"size\":true}", "spec.size: 'true' is not a quantity, like 10Gi, below 8Ei." },
        { "{\"size\":\"1\"}", "spec.size: '1' is not a quantity from 1024 to 1073741824." },
        { "{\"size\":\"2Gi\"}", "spec.size: '2Gi' is not a quantity from 1024 to 1073741824." },
        { "{\"block\":513}",
          "spec.block: '513' is not an integer from 512 to 4096, a power of two." },
        { "{\"block\":\"512\"}",
          "spec.block: '512' is not an integer from 512 to 4096, a power of two." },
        { "{\"block\":8192}",
          "spec.block: '8192' is not an integer from 512 to 4096, a power of two." },
        { "{\"depth\":\"x\"}", "spec.depth: 'x' is not a text of digits from 1 to 64." },
        { "{\"depth\":-1}", "spec.depth: '-1' is not a text of digits from 1 to 64." },
        { "{\"depth\":\"9999999999999999999999\"}",
          "spec.depth: '9999999999999999999999' is not a text of digits from 1 to 64." },
        { "{\"flag\":\"yes\"}", "spec.flag: 'yes' is not true or false." },
        { "{\"colour\":\"blue\"}", "spec.colour: 'blue' is not one of red, green." },
        { "{\"limits\":{\"cpu\":\"many\"}}",
          "spec.limits.cpu: 'many' is not a quantity, like 10Gi, below 8Ei." },
        { "{\"limits\":[]}", "spec.limits: '[]' is not an object." },
        { "{\"labels\":{\"-\":\"c\"}}", "spec.labels.-: the name is not a qualified name." },
        { "{\"labels\":{\"a\":1}}", "spec.labels.a: '1' is not a text of 0 to 255 bytes." },
        { "{\"inner\":{}}", "spec.inner.name is missing." },
        { "{\"inner\":\"x\"}", "spec.inner: 'x' is not an object." },
        { "{\"inner\":{\"name\":\"\"}}", "spec.inner.name: '' is not a text of 1 to 8 bytes." },
        { "{\"items\":[{\"name\":\"x\"},{\"names\":\"y\"}]}",
          "spec.items[1]: 'names' is not a known field; did you mean name?" },
        { "{\"items\":[1]}", "spec.items[0]: '1' is not an object." },
        { "{\"items\":[1,2,3]}", "spec.items: '[1,2,3]' is not a list of at most 2." },
        { "{\"free\":1}", "spec.free: '1' is not an object." },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        autoarena struct arena *arena = arena_new();
        struct error err = { 0 };

        ck_assert_int_eq(schema_accept(arena, fields, "spec", parse(arena, cases[i][0]), &err), -1);
        ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
        ck_assert_str_eq(err.message, cases[i][1]);
    }
}
END_TEST

START_TEST(free_form_fields_have_a_depth_limit) {
    static const char *const forms[][3] = { { "free", "{\"a\":", "}" }, { "list", "[", "]" } };

    for (size_t i = 0; i < LENGTH(forms); i++) {
        for (unsigned levels = SCHEMA_DEPTH_MOST; levels <= SCHEMA_DEPTH_MOST + 1; levels++) {
            autoarena struct arena *arena = arena_new();
            const char *text = "1";
            struct error err = { 0 };
            int result;

            for (unsigned level = 0; level < levels; level++)
                text = arena_join(arena, forms[i][1], text, forms[i][2], NULL);
            text = arena_join(arena, "{\"", forms[i][0], "\":", text, "}", NULL);
            result = schema_accept(arena, fields, "spec", parse(arena, text), &err);
            ck_assert_int_eq(result, levels > SCHEMA_DEPTH_MOST ? -1 : 0);
            if (result == 0)
                continue;
            ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
            ck_assert_str_eq(err.message, arena_join(arena, "spec.", forms[i][0],
                                                     ": it nests deeper than 32 levels.", NULL));
        }
    }
}
END_TEST

START_TEST(an_edit_keeps_fixed_and_read_only_fields) {
    static const char *const cases[][3] = {
        { "{\"size\":\"1Mi\"}", "{\"size\":\"1024Ki\"}", "" },
        { "{\"size\":\"1Mi\"}", "{\"size\":\"2Mi\"}", "" },
        { "{}", "{\"size\":\"2Mi\"}", "" },
        { "{\"size\":\"2Mi\"}", "{\"size\":\"1Mi\"}", "size can only grow: it is 2Mi." },
        { "{\"size\":\"2Mi\"}", "{}", "size can only grow: it is 2Mi." },
        { "{\"block\":512}", "{\"block\":1024}", "block cannot be changed: it is 512." },
        { "{\"block\":512}", "{}", "block cannot be changed: it is 512." },
        { "{}", "{\"block\":512}", "block cannot be changed: it is nothing." },
        { "{\"inner\":{\"name\":\"a\"}}", "{\"inner\":{\"name\":\"b\"}}", "" },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        autoarena struct arena *arena = arena_new();
        json_t *before = parse(arena, cases[i][0]), *after = parse(arena, cases[i][1]);
        struct error err = { 0 };

        ck_assert_int_eq(schema_compare(arena, fields, "", before, after, &err),
                         *cases[i][2] ? -1 : 0);
        ck_assert_str_eq(err.message, cases[i][2]);
    }
}
END_TEST

START_TEST(read_only_fields_stay_in_an_edit) {
    autoarena struct arena *arena = arena_new();
    json_t *before = parse(arena, "{\"inner\":{\"kept\":\"ours\",\"name\":\"a\"}}");
    json_t *after = parse(arena, "{\"inner\":{\"name\":\"b\"}}");

    schema_keep_read_only(fields, before, after);
    ck_assert_str_eq(json_text(arena, after), "{\"inner\":{\"name\":\"b\",\"kept\":\"ours\"}}");
    after = parse(arena, "{\"size\":\"1Ki\"}");
    schema_keep_read_only(fields, before, after);
    ck_assert_str_eq(json_text(arena, after), "{\"size\":\"1Ki\"}");
}
END_TEST

START_TEST(omitted_fixed_fields_stay_in_an_edit) {
    autoarena struct arena *arena = arena_new();
    json_t *before = parse(arena, "{\"size\":\"1Mi\",\"block\":1024}");
    json_t *given = parse(arena, "{\"block\":null,\"flag\":true}");

    schema_keep(fields, before, given);
    ck_assert_str_eq(json_text(arena, given), "{\"block\":1024,\"flag\":true}");
}
END_TEST

START_TEST(names_are_those_of_kubernetes) {
    static const struct {
        const char *text;
        bool subdomain, qualified, value;
    } cases[] = {
        { "", false, false, true },
        { "a", true, true, true },
        { "db-1.example", true, true, true },
        { "A_b", false, true, true },
        { "-a", false, false, false },
        { "a-", false, false, false },
        { "a..b", false, true, true },
        { "a.b.", false, false, false },
        { "a/b", false, true, false },
        { "a.b/C_d", false, true, false },
        { "A/b", false, false, false },
        { "a/", false, false, false },
        { "/a", false, false, false },
        { "a/b/c", false, false, false },
        { "a b", false, false, false },
        { "\xc3\xa4", false, false, false },
        { "0123456789012345678901234567890123456789012345678901234567890123", true, false, false },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        const char *text = cases[i].text;

        ck_assert_msg(name_is_subdomain(text) == cases[i].subdomain, "%s", text);
        ck_assert_msg(name_is_qualified(text) == cases[i].qualified, "%s", text);
        ck_assert_msg(name_is_label_value(text) == cases[i].value, "%s", text);
    }
}
END_TEST

CHECK_MAIN("schema", an_accepted_document_is_in_normal_form,
           a_refusal_names_the_field_and_the_reason, free_form_fields_have_a_depth_limit,
           an_edit_keeps_fixed_and_read_only_fields, read_only_fields_stay_in_an_edit,
           omitted_fixed_fields_stay_in_an_edit, names_are_those_of_kubernetes)
