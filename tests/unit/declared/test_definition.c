/*
 * The definitions for Kubernetes follow from the service's own tables.
 */
#include "declared/definition.h"

#include "common/arena.h"
#include "common/cleanup.h"
#include "tests/lib/check_main.h"
#include "json/json.h"

#include <string.h>

static const char *const words[] = { "on", "off", NULL };

static const struct schema_field inner[] = {
    { "size", SCHEMA_QUANTITY, SCHEMA_REQUIRED | SCHEMA_GROWS, .min = 1024, .max = 4096,
      .about = "A size." },
    { "first", SCHEMA_QUANTITY, SCHEMA_FIXED, .about = "The first." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field name_fields[] = {
    { "name", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .about = "A name." },
    SCHEMA_FIELDS_END,
};

/* clang-format off */
static const struct {
    struct schema_field field;
    const char *schema; /* without the description */
} types[] = {
    { { "a", SCHEMA_TEXT, 0, .min = 1 }, "{\"type\":\"string\",\"minLength\":1,\"maxLength\":255}" },
    { { "a", SCHEMA_INT, SCHEMA_FIXED, .min = 2, .max = 5, .initial = "3" },
      "{\"type\":\"integer\",\"format\":\"int64\",\"minimum\":2,\"maximum\":5,"
      "\"x-kubernetes-validations\":[{\"rule\":\"self == oldSelf\",\"message\":\"cannot be changed\"}],\"default\":3}" },
    { { "a", SCHEMA_INT, SCHEMA_POWER_OF_2, .min = 512, .max = 2048 },
      "{\"type\":\"integer\",\"format\":\"int64\",\"enum\":[512,1024,2048]}" },
    { { "a", SCHEMA_BOOL, 0, .initial = "false" }, "{\"type\":\"boolean\",\"default\":false}" },
    { { "a", SCHEMA_WORD, 0, .words = words }, "{\"type\":\"string\",\"enum\":[\"on\",\"off\"]}" },
    { { .name = "a", .type = SCHEMA_MAP }, "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\",\"maxLength\":255}}" },
    { { .name = "a", .type = SCHEMA_OBJECT }, "{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}" },
    { { "a", SCHEMA_LIST, 0, .max = 3 },
      "{\"type\":\"array\",\"maxItems\":3,\"items\":{\"x-kubernetes-preserve-unknown-fields\":true}}" },
    { { "a", SCHEMA_LIST, 0, .max = 3, .of = name_fields },
      "{\"type\":\"array\",\"maxItems\":3,\"items\":{\"type\":\"object\",\"required\":[\"name\"],\"properties\":"
      "{\"name\":{\"description\":\"A name.\",\"type\":\"string\",\"minLength\":1,\"maxLength\":255}}},"
      "\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":[\"name\"]}" },
};
/* clang-format on */

START_TEST(each_type_has_its_schema) {
    for (size_t i = 0; i < LENGTH(types); i++) {
        autoarena struct arena *arena = arena_new();
        const struct schema_field fields[] = { types[i].field, SCHEMA_FIELDS_END };
        json_t *schema = json_keep(arena, definition_schema(fields, true));
        json_t *of_a = json_object_get(json_object_get(schema, "properties"), "a");

        json_object_del(of_a, "description");
        ck_assert_str_eq(json_text(arena, of_a), types[i].schema);
    }
}
END_TEST

static const char *rules_of(struct arena *arena, const json_t *schema, const char *name) {
    const json_t *field = json_object_get(json_object_get(schema, "properties"), name);

    return json_text(arena, json_object_get(name ? field : schema, "x-kubernetes-validations"));
}

START_TEST(fixed_and_growing_fields_have_rules_for_edits) {
    autoarena struct arena *arena = arena_new();
    json_t *schema = json_keep(arena, definition_schema(inner, true));

    ck_assert_ptr_nonnull(strstr(rules_of(arena, schema, "size"), "quantity('1Ki')) >= 0"));
    ck_assert_ptr_nonnull(strstr(rules_of(arena, schema, "size"), "quantity('4Ki')) <= 0"));
    ck_assert_ptr_nonnull(strstr(rules_of(arena, schema, "size"), "oldSelf))) >= 0"));
    ck_assert_ptr_nonnull(strstr(rules_of(arena, schema, "first"), "oldSelf))) == 0"));
    ck_assert_ptr_nonnull(
        strstr(rules_of(arena, schema, NULL), "has(self.first) == has(oldSelf.first)"));
}
END_TEST

/* An API server refuses a definition with a rule about previous items of a list without keys. */
START_TEST(below_a_list_there_are_no_rules_for_edits) {
    static const struct schema_field list[] = {
        { "list", SCHEMA_LIST, .of = inner, .about = "Of both." },
        SCHEMA_FIELDS_END,
    };
    autoarena struct arena *arena = arena_new();
    const char *text = json_text(arena, json_keep(arena, definition_schema(list, true)));

    ck_assert_ptr_null(strstr(text, "oldSelf"));
    ck_assert_ptr_nonnull(strstr(text, "compareTo"));
}
END_TEST

static void check_fields(const struct schema_field *fields, const json_t *schema) {
    const json_t *properties = json_object_get(schema, "properties");

    for (; fields->type != SCHEMA_END; fields++) {
        const json_t *field = json_object_get(properties, fields->name);

        ck_assert_msg(field != NULL, "%s is missing", fields->name);
        if (fields->of)
            check_fields(fields->of,
                         fields->type == SCHEMA_LIST ? json_object_get(field, "items") : field);
    }
}

START_TEST(every_kind_has_a_definition_with_all_its_fields) {
    for (const struct document_kind *const *kind = document_kinds; *kind; kind++) {
        autoarena struct arena *arena = arena_new();
        const json_t *spec = json_object_get(json_keep(arena, definition_of(*kind)), "spec");
        const json_t *version = json_array_get(json_object_get(spec, "versions"), 0);
        const json_t *schema =
            json_object_get(json_object_get(version, "schema"), "openAPIV3Schema");

        ck_assert_str_eq(json_text_of(json_object_get(spec, "names"), "kind"), (*kind)->name);
        ck_assert_ptr_nonnull(json_object_get(json_object_get(version, "subresources"), "status"));
        check_fields((*kind)->fields, schema);
        ck_assert_ptr_nonnull(json_object_get(
            json_object_get(json_object_get(json_object_get(schema, "properties"), "status"),
                            "properties"),
            "phase"));
    }
}
END_TEST

CHECK_MAIN("definition", each_type_has_its_schema, fixed_and_growing_fields_have_rules_for_edits,
           below_a_list_there_are_no_rules_for_edits,
           every_kind_has_a_definition_with_all_its_fields)
