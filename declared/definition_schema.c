#include "declared/definition.h"

#include "common/quantity.h"

#include <stdarg.h>
#include <string.h>

#define PRESERVE      "x-kubernetes-preserve-unknown-fields"
#define INT_OR_STRING "x-kubernetes-int-or-string"
#define RULES         "x-kubernetes-validations"

#define QUANTITY_PATTERN \
    "^[+]?([0-9]+([.][0-9]*)?|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$"
#define QUANTITY_LENGTH_MOST 64
#define VALUE(of)            "quantity(string(" of "))"
#define IF_QUANTITY          "!isQuantity(string(self)) || " /* else the pattern refuses it */

static void put(json_t *into, const char *key, json_t *value) {
    json_object_set_new(into, key, value);
}

static void add_rule(json_t *schema, const char *message, json_t *rule) {
    json_t *rules = json_object_get(schema, RULES);

    if (!rules)
        put(schema, RULES, rules = json_array());
    json_array_append_new(rules, json_pack("{so ss}", "rule", rule, "message", message));
}

/* ---- values ---- */

static void put_type(json_t *schema, const char *type) {
    put(schema, "type", json_string(type));
}

static void put_text(json_t *schema, const struct schema_field *field) {
    put_type(schema, "string");
    if (field->min > 0)
        put(schema, "minLength", json_integer(field->min));
    put(schema, "maxLength", json_integer(field->max ? field->max : SCHEMA_TEXT_MOST));
}

static void put_either(json_t *schema, const char *pattern, int length_most) {
    put(schema, "anyOf", json_pack("[{ss} {ss}]", "type", "integer", "type", "string"));
    put(schema, INT_OR_STRING, json_true());
    put(schema, "pattern", json_string(pattern));
    put(schema, "maxLength", json_integer(length_most));
}

static void put_range(json_t *schema, const struct schema_field *field) {
    put(schema, "minimum", json_integer(field->min));
    if (field->max)
        put(schema, "maximum", json_integer(field->max));
}

static void put_digits(json_t *schema, const struct schema_field *field) {
    put_either(schema, "^[0-9]+$", 18);
    put_range(schema, field);
    if (field->max)
        add_rule(schema, "is out of range",
                 json_sprintf("int(string(self)) >= %" JSON_INTEGER_FORMAT
                              " && int(string(self)) <= %" JSON_INTEGER_FORMAT,
                              (json_int_t)field->min, (json_int_t)field->max));
}

/* A range has few powers of two. */
static void put_int(json_t *schema, const struct schema_field *field) {
    json_t *powers;

    put_type(schema, "integer");
    put(schema, "format", json_string("int64"));
    if (!(field->flags & SCHEMA_POWER_OF_2) || !field->max) {
        put_range(schema, field);
        return;
    }
    put(schema, "enum", powers = json_array());
    for (int64_t power = 1; power <= field->max; power *= 2)
        if (power >= field->min)
            json_array_append_new(powers, json_integer(power));
}

static void put_bool(json_t *schema, const struct schema_field *field) {
    (void)field;
    put_type(schema, "boolean");
}

static void put_word(json_t *schema, const struct schema_field *field) {
    json_t *words = json_array();

    put_type(schema, "string");
    put(schema, "enum", words);
    for (const char *const *name = field->words; *name; name++)
        json_array_append_new(words, json_string(*name));
}

static json_t *bound(struct arena *arena, const char *comparison, int64_t value) {
    return json_sprintf(IF_QUANTITY VALUE("self") ".compareTo(quantity('%s')) %s 0",
                        quantity_text(arena, value), comparison);
}

static void put_quantity(json_t *schema, const struct schema_field *field) {
    autoarena struct arena *arena = arena_new();

    put_either(schema, QUANTITY_PATTERN, QUANTITY_LENGTH_MOST);
    if (field->min > 0)
        add_rule(schema, arena_format(arena, "is less than %s", quantity_text(arena, field->min)),
                 bound(arena, ">=", field->min));
    if (field->max > 0)
        add_rule(schema, arena_format(arena, "is more than %s", quantity_text(arena, field->max)),
                 bound(arena, "<=", field->max));
}

/* ---- containers ---- */

static void put_names(json_t *schema, const struct schema_field *of) {
    json_t *value = json_object();

    (of->type == SCHEMA_QUANTITY ? put_quantity : put_text)(value, of);
    put_type(schema, "object");
    put(schema, "additionalProperties", value);
}

static void put_quantities(json_t *schema, const struct schema_field *field) {
    const struct schema_field one = { .type = SCHEMA_QUANTITY };

    (void)field;
    put_names(schema, &one);
}

static void put_map(json_t *schema, const struct schema_field *field) {
    const struct schema_field one = { .type = SCHEMA_TEXT };

    (void)field;
    put_names(schema, &one);
}

static json_t *schema_of(const struct schema_field *field, bool edits);

json_t *definition_schema(const struct schema_field *fields, bool edits) {
    json_t *schema = json_object(), *properties = json_object(), *required = json_array();

    put_type(schema, "object");
    for (const struct schema_field *field = fields; field->type != SCHEMA_END; field++) {
        put(properties, field->name, schema_of(field, edits));
        if (field->flags & SCHEMA_REQUIRED)
            json_array_append_new(required, json_string(field->name));
    }
    if (json_array_size(required) > 0)
        json_object_set(schema, "required", required);
    json_decref(required);
    put(schema, "properties", properties);
    if (edits) {
        /* A field that cannot be added or removed by an edit: a rule about the field itself does
         * not see its presence change. */
        for (; fields->type != SCHEMA_END; fields++)
            if ((fields->flags & SCHEMA_FIXED) && !(fields->flags & SCHEMA_REQUIRED) &&
                !fields->initial) {
                json_t *message = json_sprintf("%s cannot be changed", fields->name);

                add_rule(
                    schema, json_string_value(message),
                    json_sprintf("has(self.%s) == has(oldSelf.%s)", fields->name, fields->name));
                json_decref(message);
            }
    }
    return schema;
}

static void put_anything(json_t *schema) {
    put(schema, PRESERVE, json_true());
}

static void put_object(json_t *schema, const struct schema_field *field, bool edits) {
    json_t *inner;

    if (field->of) {
        inner = definition_schema(field->of, edits);
        json_object_update(schema, inner);
        json_decref(inner);
    } else {
        put_type(schema, "object");
        put_anything(schema);
    }
}

/* Kubernetes does not know the previous item of a list: no rules for edits below. */
static void put_list(json_t *schema, const struct schema_field *field) {
    const struct schema_field *of = field->of;
    json_t *items = json_object();

    put_type(schema, "array");
    put(schema, "maxItems", json_integer(field->max ? field->max : SCHEMA_TEXT_MOST));
    if (of)
        put_object(items, field, false);
    else
        put_anything(items);
    put(schema, "items", items);
    /* a list of names alone: each occurs once */
    if (of && of[0].type == SCHEMA_TEXT && (of[0].flags & SCHEMA_REQUIRED) &&
        of[1].type == SCHEMA_END) {
        put(schema, "x-kubernetes-list-type", json_string("map"));
        put(schema, "x-kubernetes-list-map-keys", json_pack("[s]", of->name));
    }
}

static json_t *schema_of(const struct schema_field *field, bool edits) {
    static void (*const puts[])(json_t * schema, const struct schema_field *field) = {
        [SCHEMA_TEXT] = put_text,
        [SCHEMA_DIGITS] = put_digits,
        [SCHEMA_INT] = put_int,
        [SCHEMA_BOOL] = put_bool,
        [SCHEMA_WORD] = put_word,
        [SCHEMA_QUANTITY] = put_quantity,
        [SCHEMA_QUANTITIES] = put_quantities,
        [SCHEMA_MAP] = put_map,
        [SCHEMA_LIST] = put_list,
    };
    json_t *schema = json_object();

    put(schema, "description", json_string(field->about));
    if (field->type == SCHEMA_OBJECT)
        put_object(schema, field, edits);
    else
        puts[field->type](schema, field);
    if (edits) {
        bool quantity = field->type == SCHEMA_QUANTITY;

        if (field->flags & SCHEMA_FIXED)
            add_rule(schema, "cannot be changed",
                     json_string(quantity ? IF_QUANTITY VALUE("self") ".compareTo(" VALUE(
                                                "oldSelf") ") == 0"
                                          : "self == oldSelf"));
        if (field->flags & SCHEMA_GROWS)
            add_rule(
                schema, "can only grow",
                json_string(IF_QUANTITY VALUE("self") ".compareTo(" VALUE("oldSelf") ") >= 0"));
    }
    if (field->initial)
        put(schema, "default", json_loads(field->initial, JSON_DECODE_ANY, NULL));
    return schema;
}
