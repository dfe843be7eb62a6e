#include "json/field_schema.h"

#include "common/cleanup.h"
#include "tests/lib/check_main.h"
#include "json/word.h"

static const char *const words[] = { "rw", "ro", NULL };

#define TYPE(kind, ...) \
    { .name = "f", .type = FIELD_TYPE_##kind, __VA_ARGS__ }

START_TEST(each_type_has_its_schema) {
    static const struct {
        struct field field;
        const char *schema;
    } cases[] = {
        { TYPE(TEXT, .min = 1, .max = 255),
          "{\"type\":\"string\",\"minLength\":1,\"maxLength\":255}" },
        { TYPE(TEXT, .max = 9, .flags = FIELD_NULLABLE),
          "{\"type\":[\"string\",\"null\"],\"maxLength\":9}" },
        { TYPE(TEXT, .max = 9, .flags = FIELD_TRIM),
          "{\"type\":\"string\",\"pattern\":\"^\\\\s*(\\\\S[\\\\s\\\\S]{0,8}\\\\s*)?$\"}" },
        { TYPE(TEXT, .min = 1, .max = 9, .flags = FIELD_TRIM | FIELD_NOT_BLANK),
          "{\"type\":\"string\",\"pattern\":\"^\\\\s*\\\\S[\\\\s\\\\S]{0,8}\\\\s*$\"}" },
        { TYPE(TEXT, .max = 9, .flags = FIELD_NOT_BLANK),
          "{\"type\":\"string\",\"maxLength\":9,\"pattern\":\"\\\\S\"}" },
        { TYPE(UUID, .flags = 0), "{\"type\":\"string\",\"format\":\"uuid\"}" },
        { TYPE(INT, .min = -1, .max = 5), "{\"type\":\"integer\",\"minimum\":-1,\"maximum\":5}" },
        { TYPE(SIZE, .min = 1, .max = 5, .flags = FIELD_NULLABLE),
          "{\"type\":[\"integer\",\"string\",\"null\"],\"minimum\":1,\"maximum\":5,"
          "\"pattern\":\"^[0-9]+$\"}" },
        { TYPE(SIZE, .min = -1, .max = 5),
          "{\"type\":[\"integer\",\"string\"],\"minimum\":-1,\"maximum\":5,"
          "\"pattern\":\"^-?[0-9]+$\"}" },
        { TYPE(META, .min = 1, .max = 1),
          "{\"type\":\"object\",\"propertyNames\":{\"pattern\":\"^[a-zA-Z0-9_:. /-]{1,255}$\"},"
          "\"additionalProperties\":{\"type\":\"string\",\"maxLength\":255},"
          "\"minProperties\":1,\"maxProperties\":1}" },
        { TYPE(META, .flags = FIELD_SPEC_KEYS | FIELD_NULL_VALUES),
          "{\"type\":\"object\",\"propertyNames\":{\"pattern\":\"^[a-zA-Z0-9_:.-]{1,255}$\"},"
          "\"additionalProperties\":{\"type\":[\"string\",\"null\"],\"maxLength\":255}}" },
        { TYPE(WORD, .words = words, .flags = FIELD_NULLABLE), "{\"enum\":[\"rw\",\"ro\",null]}" },
        { TYPE(OBJECT, .flags = FIELD_OR_TEXT), "{\"type\":[\"object\",\"string\"]}" },
        { TYPE(LIST, .min = 1, .max = 3), "{\"type\":\"array\",\"minItems\":1,\"maxItems\":3}" },
        { TYPE(ANY, .flags = FIELD_NULLABLE), "{}" },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        json_t *schema = field_schema(&cases[i].field);
        char *text = json_dumps(schema, JSON_COMPACT);

        ck_assert_str_eq(text, cases[i].schema);
        free(text);
        json_decref(schema);
    }
}
END_TEST

START_TEST(every_spelling_of_a_boolean_is_listed) {
    const struct field field = TYPE(BOOL, .flags = 0);
    json_t *schema = field_schema(&field), *values = json_object_get(schema, "enum");
    size_t count = 0;
    bool value;

    for (; json_boolean_name(count); count++)
        ck_assert(json_boolean_word(json_boolean_name(count), false, &value));
    ck_assert_uint_ge(count, 20);
    ck_assert_uint_eq(json_array_size(values), count + 2); /* true and false themselves */
    json_decref(schema);
}
END_TEST

CHECK_MAIN("field_schema", each_type_has_its_schema, every_spelling_of_a_boolean_is_listed)
