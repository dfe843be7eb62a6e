#include "json/json.h"

#include "common/assert.h"
#include "common/nearest.h"
#include "common/quantity.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_MOST ((size_t)64)
#define SIZE_MOST  ((size_t)16 * 1024 * 1024)
/* A page of our own lists, 8 MiB of the shortest members, has 1.2 million. */
#define VALUES_MOST ((size_t)2 * 1024 * 1024)

/* Memory of a value in jansson's tree, measured: 40 of a number in a list to 180 of a member. */
#define VALUE_BYTES ((size_t)128)

struct extent {
    size_t values;
    bool too_deep;
};

/* Nesting and number of values, by brackets and commas outside of strings; whether they match is
 * checked by the parser.  The scan ends where one is above its limit. */
static struct extent extent_of(const char *text, size_t size, size_t values_most) {
    struct extent extent = { .values = 1 };
    size_t depth = 0;
    bool in_string = false;

    for (size_t i = 0; i < size && extent.values <= values_most && !extent.too_deep; i++) {
        char c = text[i];

        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == ',') {
            extent.values++;
        } else if (c == '{' || c == '[') {
            extent.values++;
            extent.too_deep = ++depth > DEPTH_MOST;
        } else if ((c == '}' || c == ']') && depth > 0) {
            depth--;
        }
    }
    return extent;
}

size_t json_values(const char *text, size_t size) {
    return extent_of(text, size, SIZE_MAX).values;
}

static void release_tree(void *tree) {
    json_decref(tree);
}

json_t *json_keep(struct arena *arena, json_t *tree) {
    arena_defer(arena, release_tree, tree);
    return tree;
}

char *json_text(struct arena *arena, const json_t *tree) {
    char *text = json_dumps(tree, JSON_COMPACT | JSON_ENCODE_ANY);

    assert(text);
    arena_defer(arena, free, text);
    return text;
}

json_t *json_parse_within(struct arena *arena, const char *text, size_t size, size_t values_most,
                          struct error *err) {
    json_error_t failure;
    struct extent extent;
    json_t *tree;

    if (size > SIZE_MOST) {
        error_set(err, ERROR_BAD_REQUEST, "The JSON text is longer than %zu bytes.", SIZE_MOST);
        return NULL;
    }
    extent = extent_of(text, size, values_most);
    if (extent.too_deep) {
        error_set(err, ERROR_BAD_REQUEST, "The JSON text nests deeper than %zu levels.",
                  DEPTH_MOST);
        return NULL;
    }
    if (extent.values > values_most) {
        error_set(err, ERROR_BAD_REQUEST,
                  "The JSON text has more than %zu values (lists and objects count twice).",
                  values_most);
        return NULL;
    }
    tree = json_loadb(text, size, JSON_REJECT_DUPLICATES, &failure);
    if (!tree) {
        /* jansson appends the text to its reason, "… near 'text'": it may contain a secret, and
         * messages are logged. */
        const char *quote = strstr(failure.text, " near '");
        size_t length = quote ? (size_t)(quote - failure.text) : strlen(failure.text);

        error_set(err, ERROR_BAD_REQUEST, "The text is not valid JSON (line %d, column %d): %.*s.",
                  failure.line, failure.column, (int)length, failure.text);
        return NULL;
    }
    arena_count(arena, extent.values * VALUE_BYTES);
    return json_keep(arena, tree);
}

json_t *json_parse(struct arena *arena, const char *text, size_t size, struct error *err) {
    return json_parse_within(arena, text, size, VALUES_MOST, err);
}

static int decode_field(struct arena *arena, const json_t *object, const char *what,
                        const struct field *field, void *ret, struct error *err) {
    const json_t *value = json_object_get(object, field->name);

    if (!value && (field->flags & FIELD_REQUIRED))
        return error_set(err, ERROR_BAD_REQUEST, "'%s' is missing in '%s'.", field->name, what);
    if (!value || (json_is_null(value) && (field->flags & FIELD_NULLABLE)))
        return 0;
    return field_read(arena, field, value, (char *)ret + field->offset, err);
}

/* The row of the objects below the key; NULL: none. */
static const struct field *field_of(const struct field *fields, unsigned minor, const char *key) {
    const struct field *others = NULL;

    for (const struct field *field = fields; field->type != FIELD_TYPE_END; field++) {
        if (field->flags & FIELD_OTHERS)
            others = field;
        else if (field->since <= minor && strcmp(field->name, key) == 0)
            return field;
    }
    return others;
}

static int refuse_unknown(const struct field *fields, unsigned minor, const char *what,
                          const char *key, struct error *err) {
    struct nearest nearest = nearest_to(key);
    char shown[FIELD_SHOWN_SIZE];

    for (const struct field *field = fields; field->type != FIELD_TYPE_END; field++)
        if (field->since <= minor)
            nearest_try(&nearest, field->name);
    field_show(shown, key);
    if (!nearest.word)
        return error_set(err, ERROR_BAD_REQUEST, "%s is not a known key of '%s'.", shown, what);
    return error_set(err, ERROR_BAD_REQUEST, "%s is not a known key of '%s'; did you mean %s?",
                     shown, what, nearest.word);
}

int json_decode(struct arena *arena, const json_t *object, const char *what,
                const struct field *fields, unsigned minor, bool strict, void *ret,
                struct error *err) {
    struct field others;
    const char *key;
    json_t *value;

    if (!json_is_object(object))
        return error_set(err, ERROR_BAD_REQUEST, "'%s' must be an object.", what);
    /* Keys without a row: read by the FIELD_OTHERS row, or refused. */
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        const struct field *field = field_of(fields, minor, key);

        if (!field && strict)
            return refuse_unknown(fields, minor, what, key, err);
        if (!field || !(field->flags & FIELD_OTHERS))
            continue;
        others = *field;
        others.name = key;
        if (decode_field(arena, object, what, &others, ret, err) < 0)
            return -1;
    }
    for (const struct field *field = fields; field->type != FIELD_TYPE_END; field++) {
        if (field->since <= minor && !(field->flags & FIELD_OTHERS) &&
            decode_field(arena, object, what, field, ret, err) < 0)
            return -1;
    }
    return 0;
}

bool json_has(const json_t *object, const char *key) {
    return json_object_get(object, key) != NULL;
}

const char *json_text_of(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

json_t *json_at(const json_t *tree, const char *path) {
    while (tree && *path) {
        size_t size = strcspn(path, ".");

        tree = json_object_getn(tree, path, size);
        path += size + (path[size] == '.');
    }
    return (json_t *)(uintptr_t)tree;
}

const char *json_text_at(const json_t *tree, const char *path) {
    return json_string_value(json_at(tree, path));
}

int64_t json_int_at(const json_t *tree, const char *path) {
    return json_integer_value(json_at(tree, path));
}

int64_t json_bytes_at(const json_t *tree, const char *path) {
    const char *text = json_text_at(tree, path);
    int64_t bytes;

    return text && quantity_read(text, &bytes) ? bytes : 0;
}

bool json_true_at(const json_t *tree, const char *path) {
    return json_is_true(json_at(tree, path));
}

bool json_list_has(const json_t *list, const char *text) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *element = json_string_value(json_array_get(list, i));

        if (element && strcmp(element, text) == 0)
            return true;
    }
    return false;
}

bool json_text_is(const json_t *object, const char *key, const char *text) {
    const char *value = json_text_of(object, key);

    return value && strcmp(value, text) == 0;
}
