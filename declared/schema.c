#include "declared/schema.h"

#include "common/nearest.h"
#include "common/quantity.h"
#include "json/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The value being read: its field, its path, and the value in the document. */
struct input {
    struct arena *arena;
    const struct schema_field *field;
    const char *path;
    json_t *value;
};

const char *schema_path(struct arena *arena, const char *path, const char *name) {
    return *path ? arena_join(arena, path, ".", name, NULL) : name;
}

static int schema_refuse(const struct input *input, struct error *err, const char *must_be) {
    char shown[FIELD_SHOWN_SIZE];
    const char *text = json_is_string(input->value) ? json_string_value(input->value)
                                                    : json_text(input->arena, input->value);

    return error_set(err, ERROR_BAD_REQUEST, "%s: %s is not %s.", input->path,
                     field_show(shown, text), must_be);
}

/* ---- values ---- */

static bool in_range(const struct schema_field *field, int64_t value) {
    return value >= field->min && (field->max == 0 || value <= field->max) &&
           (!(field->flags & SCHEMA_POWER_OF_2) || (value > 0 && (value & (value - 1)) == 0));
}

static const char *describe_range(const struct input *input, const char *noun) {
    const struct schema_field *field = input->field;
    const char *power = field->flags & SCHEMA_POWER_OF_2 ? ", a power of two" : "";

    if (field->max == 0)
        return arena_format(input->arena, "%s of at least %" PRId64 "%s", noun, field->min, power);
    return arena_format(input->arena, "%s from %" PRId64 " to %" PRId64 "%s", noun, field->min,
                        field->max, power);
}

/* YAML reads a number without quotes as an integer, also where a text is expected. */
static const char *text_of(const struct input *input) {
    if (!json_is_integer(input->value))
        return json_string_value(input->value);
    return arena_format(input->arena, "%" JSON_INTEGER_FORMAT, json_integer_value(input->value));
}

static int read_text(const struct input *input, json_t **ret, struct error *err) {
    const struct schema_field *field = input->field;
    int64_t most = field->max ? field->max : SCHEMA_TEXT_MOST;
    const char *text = json_string_value(input->value);
    int64_t length = text ? (int64_t)strlen(text) : 0;

    if (!text || length < field->min || length > most)
        return schema_refuse(input, err,
                             arena_format(input->arena,
                                          "a text of %" PRId64 " to %" PRId64 " bytes", field->min,
                                          most));
    if (field->allows && !field->allows(text))
        return schema_refuse(input, err, field->about);
    *ret = json_incref(input->value);
    return 0;
}

static int read_digits(const struct input *input, json_t **ret, struct error *err) {
    const char *text = text_of(input);
    char *end = NULL;
    int64_t value = text && *text >= '0' && *text <= '9' ? strtoll(text, &end, 10) : -1;

    if (value < 0 || *end || strlen(text) > 18 || !in_range(input->field, value))
        return schema_refuse(input, err, describe_range(input, "a text of digits"));
    *ret = json_string(text);
    return 0;
}

static int read_int(const struct input *input, json_t **ret, struct error *err) {
    if (!json_is_integer(input->value) || !in_range(input->field, json_integer_value(input->value)))
        return schema_refuse(input, err, describe_range(input, "an integer"));
    *ret = json_incref(input->value);
    return 0;
}

static int read_bool(const struct input *input, json_t **ret, struct error *err) {
    if (!json_is_boolean(input->value))
        return schema_refuse(input, err, "true or false");
    *ret = json_incref(input->value);
    return 0;
}

static int read_word(const struct input *input, json_t **ret, struct error *err) {
    const char *text = json_string_value(input->value);
    const char *list = NULL;

    for (const char *const *word = input->field->words; *word; word++) {
        if (text && strcmp(text, *word) == 0) {
            *ret = json_incref(input->value);
            return 0;
        }
        list = list ? arena_join(input->arena, list, ", ", *word, NULL) : *word;
    }
    return schema_refuse(input, err, arena_join(input->arena, "one of ", list, NULL));
}

static int read_quantity(const struct input *input, json_t **ret, struct error *err) {
    const char *text = text_of(input);
    int64_t value;

    if (!text || !quantity_read(text, &value))
        return schema_refuse(input, err, "a quantity, like 10Gi, below 8Ei");
    if (!in_range(input->field, value))
        return schema_refuse(input, err, describe_range(input, "a quantity"));
    *ret = json_string(text);
    return 0;
}

/* ---- containers ---- */

static int read_each(const struct input *input, enum schema_type type, json_t **ret,
                     struct error *err);

static int read_quantities(const struct input *input, json_t **ret, struct error *err) {
    return read_each(input, SCHEMA_QUANTITY, ret, err);
}

static int read_map(const struct input *input, json_t **ret, struct error *err) {
    return read_each(input, SCHEMA_TEXT, ret, err);
}

/* A null in a patch of a missing field adds nothing: applying the patch again changes nothing. */
static void drop_nulls(json_t *object) {
    const char *name;
    json_t *value;
    void *next;

    json_object_foreach_safe(object, next, name, value) {
        if (json_is_null(value))
            json_object_del(object, name);
        else if (json_is_object(value))
            drop_nulls(value);
    }
}

static bool is_deeper(const json_t *value, unsigned levels) {
    const char *name;
    json_t *below;

    if (!json_is_object(value) && !json_is_array(value))
        return false;
    if (levels == 0)
        return true;
    json_object_foreach((json_t *)(uintptr_t)value, name, below) {
        if (is_deeper(below, levels - 1))
            return true;
    }
    for (size_t i = 0; i < json_array_size(value); i++)
        if (is_deeper(json_array_get(value, i), levels - 1))
            return true;
    return false;
}

static int check_depth(const struct input *input, struct error *err) {
    if (input->field->of || !is_deeper(input->value, SCHEMA_DEPTH_MOST))
        return 0;
    return error_set(err, ERROR_BAD_REQUEST, "%s: it nests deeper than %d levels.", input->path,
                     SCHEMA_DEPTH_MOST);
}

static int read_object(const struct input *input, json_t **ret, struct error *err) {
    if (!json_is_object(input->value))
        return schema_refuse(input, err, "an object");
    if (check_depth(input, err) < 0)
        return -1;
    if (input->field->of &&
        schema_accept(input->arena, input->field->of, input->path, input->value, err) < 0)
        return -1;
    if (!input->field->of)
        drop_nulls(input->value);
    *ret = json_incref(input->value);
    return 0;
}

static int read_list(const struct input *input, json_t **ret, struct error *err) {
    const struct schema_field *field = input->field;

    if (!json_is_array(input->value) ||
        (int64_t)json_array_size(input->value) > (field->max ? field->max : SCHEMA_TEXT_MOST))
        return schema_refuse(input, err,
                             arena_format(input->arena, "a list of at most %" PRId64,
                                          field->max ? field->max : SCHEMA_TEXT_MOST));
    if (check_depth(input, err) < 0)
        return -1;
    for (size_t i = 0; field->of && i < json_array_size(input->value); i++) {
        struct input item = *input;

        item.path = arena_format(input->arena, "%s[%zu]", input->path, i);
        item.value = json_array_get(input->value, i);
        if (!json_is_object(item.value))
            return schema_refuse(&item, err, "an object");
        if (schema_accept(input->arena, field->of, item.path, item.value, err) < 0)
            return -1;
    }
    *ret = json_incref(input->value);
    return 0;
}

static int read_value(const struct input *input, json_t **ret, struct error *err) {
    static int (*const readers[])(const struct input *input, json_t **ret, struct error *err) = {
        [SCHEMA_TEXT] = read_text,
        [SCHEMA_DIGITS] = read_digits,
        [SCHEMA_INT] = read_int,
        [SCHEMA_BOOL] = read_bool,
        [SCHEMA_WORD] = read_word,
        [SCHEMA_QUANTITY] = read_quantity,
        [SCHEMA_QUANTITIES] = read_quantities,
        [SCHEMA_MAP] = read_map,
        [SCHEMA_OBJECT] = read_object,
        [SCHEMA_LIST] = read_list,
    };

    return readers[input->field->type](input, ret, err);
}

static int read_each(const struct input *input, enum schema_type type, json_t **ret,
                     struct error *err) {
    struct schema_field item = { .type = type };
    json_t *read = json_keep(input->arena, json_object());
    const char *name;
    json_t *value;

    if (!json_is_object(input->value))
        return schema_refuse(input, err, "an object");
    json_object_foreach(input->value, name, value) {
        struct input below = { input->arena, &item, schema_path(input->arena, input->path, name),
                               value };
        json_t *accepted;

        if (input->field->allows && !input->field->allows(name))
            return error_set(err, ERROR_BAD_REQUEST, "%s: the name is not %s.", below.path,
                             input->field->about);
        if (json_is_null(value))
            continue;
        if (read_value(&below, &accepted, err) < 0)
            return -1;
        json_object_set_new(read, name, accepted);
    }
    *ret = json_incref(read);
    return 0;
}

/* ---- an object ---- */

static int check_names(struct arena *arena, const struct schema_field *fields, const char *path,
                       const json_t *object, struct error *err) {
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)object, name, value) {
        const struct schema_field *field = fields;

        while (field->type != SCHEMA_END && strcmp(field->name, name) != 0 &&
               !(field->also && strcmp(field->also, name) == 0))
            field++;
        if (field->type == SCHEMA_END) {
            struct nearest nearest = nearest_to(name);
            char shown[FIELD_SHOWN_SIZE];

            for (; fields->type != SCHEMA_END; fields++)
                nearest_try(&nearest, fields->name);
            path = *path ? arena_join(arena, path, ": ", NULL) : "";
            if (!nearest.word)
                return error_set(err, ERROR_BAD_REQUEST, "%s%s is not a known field.", path,
                                 field_show(shown, name));
            return error_set(err, ERROR_BAD_REQUEST, "%s%s is not a known field; did you mean %s?",
                             path, field_show(shown, name), nearest.word);
        }
        if (strcmp(field->name, name) != 0 && json_object_get(object, field->name))
            return error_set(err, ERROR_BAD_REQUEST, "%s is given twice, as %s and as %s.",
                             schema_path(arena, path, field->name), field->name, name);
    }
    return 0;
}

/* Takes the document's value of the field, or its default; NULL: none. It is removed from the
 * document, as the normal form is written in the order of the table. */
static json_t *take_value(struct arena *arena, const struct schema_field *field, json_t *object) {
    json_t *value = json_object_get(object, field->name);

    if (!value && field->also)
        value = json_object_get(object, field->also);
    value = value && !json_is_null(value) && !(field->flags & SCHEMA_READ_ONLY)
                ? json_keep(arena, json_incref(value))
                : NULL;
    json_object_del(object, field->name);
    if (field->also)
        json_object_del(object, field->also);
    if (!value && field->initial)
        value = json_keep(arena, json_loads(field->initial, JSON_DECODE_ANY, NULL));
    return value;
}

int schema_accept(struct arena *arena, const struct schema_field *fields, const char *path,
                  json_t *object, struct error *err) {
    if (check_names(arena, fields, path, object, err) < 0)
        return -1;
    for (; fields->type != SCHEMA_END; fields++) {
        const char *below = schema_path(arena, path, fields->name);
        json_t *value = take_value(arena, fields, object);
        struct input input = { arena, fields, below, value };
        json_t *accepted;

        if (!value && (fields->flags & SCHEMA_REQUIRED))
            return error_set(err, ERROR_BAD_REQUEST, "%s is missing.", below);
        if (!value)
            continue;
        if (read_value(&input, &accepted, err) < 0)
            return -1;
        json_object_set_new(object, fields->name, accepted);
    }
    return 0;
}

/* ---- hidden fields ---- */

static void hide(const struct schema_field *fields, json_t *object) {
    for (; fields->type != SCHEMA_END; fields++) {
        json_t *below = json_object_get(object, fields->name);

        if (fields->flags & SCHEMA_ADMIN_ONLY) {
            if (below && fields->instead)
                json_object_set_new(object, fields->name, json_string(fields->instead));
            else
                json_object_del(object, fields->name);
            continue;
        }
        for (size_t i = 0; fields->of && i < json_array_size(below); i++)
            hide(fields->of, json_array_get(below, i));
        if (fields->of && json_is_object(below))
            hide(fields->of, below);
    }
}

json_t *schema_shown(struct arena *arena, const struct schema_field *fields, const json_t *object) {
    json_t *shown = json_keep(arena, json_deep_copy(object));

    hide(fields, shown);
    return shown;
}
