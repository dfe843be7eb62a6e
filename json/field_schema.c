#include "json/field_schema.h"

#include "common/cleanup.h"
#include "json/word.h"

#include <inttypes.h>
#include <stdio.h>

static void put_bounds(json_t *schema, const char *least, const char *most,
                       const struct field *field) {
    if (field->min != 0)
        json_object_set_new(schema, least, json_integer(field->min));
    if (field->max != 0)
        json_object_set_new(schema, most, json_integer(field->max));
}

/* Blanks at both ends do not count: the bounds apply to the text between them. */
static json_t *trimmed_pattern(const struct field *field) {
    char most[32] = "";

    if (field->max > 0)
        snprintf(most, sizeof(most), "%" PRId64, field->max - 1);
    return field->flags & FIELD_NOT_BLANK || field->min > 0
               ? json_sprintf("^\\s*\\S[\\s\\S]{0,%s}\\s*$", most)
               : json_sprintf("^\\s*(\\S[\\s\\S]{0,%s}\\s*)?$", most);
}

static json_t *text_schema(const struct field *field) {
    json_t *schema = json_pack("{s:s}", "type", "string");

    if (field->flags & FIELD_TRIM) {
        json_object_set_new(schema, "pattern", trimmed_pattern(field));
        return schema;
    }
    put_bounds(schema, "minLength", "maxLength", field);
    if (field->flags & FIELD_HOST_CHARS)
        json_object_set_new(schema, "pattern", json_string("^[a-zA-Z0-9._#@:/+\\[\\]-]*$"));
    else if (field->flags & FIELD_PRINTABLE)
        json_object_set_new(schema, "pattern",
                            json_string("^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$"));
    else if (field->flags & FIELD_NOT_BLANK)
        json_object_set_new(schema, "pattern", json_string("\\S"));
    return schema;
}

static json_t *bool_schema(const struct field *field) {
    json_t *values = json_pack("[b, b]", 1, 0);

    (void)field;
    for (size_t i = 0; json_boolean_name(i); i++)
        json_array_append_new(values, json_string(json_boolean_name(i)));
    return json_pack("{s:o}", "enum", values);
}

static json_t *uuid_schema(const struct field *field) {
    (void)field;
    return json_pack("{s:s, s:s}", "type", "string", "format", "uuid");
}

static json_t *int_schema(const struct field *field) {
    return json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum", (json_int_t)field->min,
                     "maximum", (json_int_t)field->max);
}

static json_t *size_schema(const struct field *field) {
    return json_pack("{s:[ss], s:I, s:I, s:s}", "type", "integer", "string", "minimum",
                     (json_int_t)field->min, "maximum", (json_int_t)field->max, "pattern",
                     field->min < 0 ? "^-?[0-9]+$" : "^[0-9]+$");
}

static json_t *meta_schema(const struct field *field) {
    bool spec = field->flags & FIELD_SPEC_KEYS;
    json_t *value = field->flags & FIELD_NULL_VALUES
                        ? json_pack("{s:[ss]}", "type", "string", "null")
                        : json_pack("{s:s}", "type", "string");
    json_t *schema;

    json_object_set_new(value, "maxLength",
                        json_integer(field->flags & FIELD_LONG_VALUES ? 65535 : 255));
    schema = json_pack("{s:s, s:{s:s}, s:o}", "type", "object", "propertyNames", "pattern",
                       spec ? "^[a-zA-Z0-9_:.-]{1,255}$" : "^[a-zA-Z0-9_:. /-]{1,255}$",
                       "additionalProperties", value);
    put_bounds(schema, "minProperties", "maxProperties", field);
    return schema;
}

static json_t *word_schema(const struct field *field) {
    json_t *words = json_array();

    for (size_t i = 0; field->words[i]; i++)
        json_array_append_new(words, json_string(field->words[i]));
    return json_pack("{s:o}", "enum", words);
}

static json_t *object_schema(const struct field *field) {
    return field->flags & FIELD_OR_TEXT ? json_pack("{s:[ss]}", "type", "object", "string")
                                        : json_pack("{s:s}", "type", "object");
}

static json_t *list_schema(const struct field *field) {
    json_t *schema = json_pack("{s:s}", "type", "array");

    put_bounds(schema, "minItems", "maxItems", field);
    return schema;
}

static json_t *any_schema(const struct field *field) {
    (void)field;
    return json_object();
}

/* clang-format off */
static json_t *(*const schemas[])(const struct field *field) = {
    [FIELD_TYPE_TEXT] = text_schema, [FIELD_TYPE_BOOL] = bool_schema,
    [FIELD_TYPE_UUID] = uuid_schema, [FIELD_TYPE_SIZE] = size_schema,
    [FIELD_TYPE_INT] = int_schema,   [FIELD_TYPE_META] = meta_schema,
    [FIELD_TYPE_WORD] = word_schema, [FIELD_TYPE_OBJECT] = object_schema,
    [FIELD_TYPE_LIST] = list_schema, [FIELD_TYPE_ANY] = any_schema,
};
/* clang-format on */

json_t *field_schema(const struct field *field) {
    json_t *schema = schemas[field->type](field);

    if (field->flags & FIELD_NULLABLE) {
        json_t *type = json_object_get(schema, "type"), *values = json_object_get(schema, "enum");

        if (json_is_string(type))
            json_object_set_new(schema, "type", json_pack("[O, s]", type, "null"));
        else if (type)
            json_array_append_new(type, json_string("null"));
        if (values)
            json_array_append_new(values, json_null());
    }
    return schema;
}
