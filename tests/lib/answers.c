#include "tests/lib/answers.h"

#include "common/arena.h"
#include "common/cleanup.h"
#include "common/utf8.h"
#include "rest/openapi.h"

#include <ctype.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- schemas ---- */

struct look {
    const json_t *document;
    unsigned minor;
};

static __thread char reason[512];

__attribute__((format(printf, 1, 2))) static bool differs(const char *format, ...) {
    va_list values;

    va_start(values, format);
    vsnprintf(reason, sizeof(reason), format, values);
    va_end(values);
    return false;
}

/* It is somewhere below `key`. */
static bool differs_below(const char *key) {
    char inner[sizeof(reason)];

    strcpy(inner, reason);
    return differs("%.100s: %.380s", key, inner);
}

static bool fits(const struct look *look, const json_t *schema, const json_t *value);

static const json_t *note_of(const json_t *schema, const char *key) {
    return json_object_get(json_object_get(schema, "x-openstack"), key);
}

static unsigned since_of(const json_t *schema) {
    const char *text = json_string_value(note_of(schema, "min-ver"));

    return text ? (unsigned)atoi(text + strlen("3.")) : 0;
}

static bool is_of(const json_t *value, const char *type) {
    return strcmp(type, "object") == 0    ? json_is_object(value)
           : strcmp(type, "array") == 0   ? json_is_array(value)
           : strcmp(type, "string") == 0  ? json_is_string(value)
           : strcmp(type, "integer") == 0 ? json_is_integer(value)
           : strcmp(type, "boolean") == 0 ? json_is_boolean(value)
           : strcmp(type, "null") == 0    ? json_is_null(value)
                                          : differs("there is no type %s", type);
}

static bool fits_type(const struct look *look, const json_t *types, const json_t *value) {
    const json_t *type;
    size_t i;

    (void)look;
    if (json_is_string(types))
        return is_of(value, json_string_value(types)) ||
               differs("it must be of the type %s", json_string_value(types));
    json_array_foreach(types, i, type) if (is_of(value, json_string_value(type))) return true;
    return differs("it is of none of the types");
}

static bool fits_enum(const struct look *look, const json_t *values, const json_t *value) {
    const json_t *one;
    size_t i;

    (void)look;
    json_array_foreach(values, i, one) if (json_equal(one, value)) return true;
    return differs("it is none of the values");
}

static bool fits_items(const struct look *look, const json_t *items, const json_t *value) {
    const json_t *one;
    size_t i;

    json_array_foreach(value, i, one) if (!fits(look, items, one)) return differs_below("[]");
    return true;
}

static bool fits_required(const struct look *look, const json_t *keys, const json_t *value) {
    const json_t *key;
    size_t i;

    (void)look;
    json_array_foreach(keys, i, key) {
        if (json_is_object(value) && !json_object_get(value, json_string_value(key)))
            return differs("%s is missing", json_string_value(key));
    }
    return true;
}

static unsigned count_fitting(const struct look *look, const json_t *schemas, const json_t *value) {
    unsigned count = 0;
    const json_t *one;
    size_t i;

    json_array_foreach(schemas, i, one) count += fits(look, one, value);
    return count;
}

static bool fits_any(const struct look *look, const json_t *schemas, const json_t *value) {
    return count_fitting(look, schemas, value) > 0;
}

static bool fits_one(const struct look *look, const json_t *schemas, const json_t *value) {
    unsigned count = count_fitting(look, schemas, value);

    return count == 1 || differs("%u of oneOf fit (%s)", count, count ? "" : reason);
}

static bool fits_ref(const struct look *look, const json_t *ref, const json_t *value) {
    autoarena struct arena *arena = arena_new();
    char *rest = arena_text(arena, json_string_value(ref) + strlen("#/"));
    const json_t *schema = look->document;

    while (rest && schema)
        schema = json_object_get(schema, strsep(&rest, "/"));
    return schema ? fits(look, schema, value) : differs("%s leads nowhere", json_string_value(ref));
}

static size_t size_of(const json_t *value) {
    return json_is_string(value)  ? utf8_count(json_string_value(value), json_string_length(value))
           : json_is_array(value) ? json_array_size(value)
                                  : json_object_size(value);
}

static bool fits_least(const struct look *look, const json_t *least, const json_t *value) {
    (void)look;
    return (json_int_t)size_of(value) >= json_integer_value(least) || json_is_null(value) ||
           differs("it is shorter than %d", (int)json_integer_value(least));
}

static bool fits_most(const struct look *look, const json_t *most, const json_t *value) {
    (void)look;
    return (json_int_t)size_of(value) <= json_integer_value(most) ||
           differs("it is longer than %d", (int)json_integer_value(most));
}

static bool fits_minimum(const struct look *look, const json_t *least, const json_t *value) {
    (void)look;
    return !json_is_integer(value) || json_integer_value(value) >= json_integer_value(least) ||
           differs("it is too small");
}

static bool fits_maximum(const struct look *look, const json_t *most, const json_t *value) {
    (void)look;
    return !json_is_integer(value) || json_integer_value(value) <= json_integer_value(most) ||
           differs("it is too large");
}

static bool is_annotation(const struct look *look, const json_t *keyword, const json_t *value) {
    (void)look, (void)keyword, (void)value;
    return true;
}

/* Every keyword that the description uses: another one is a difference. */
static const struct {
    const char *name;
    bool (*fits)(const struct look *look, const json_t *keyword, const json_t *value);
} keywords[] = {
    { "type", fits_type },
    { "enum", fits_enum },
    { "items", fits_items },
    { "required", fits_required },
    { "anyOf", fits_any },
    { "oneOf", fits_one },
    { "$ref", fits_ref },
    { "minLength", fits_least },
    { "maxLength", fits_most },
    { "minItems", fits_least },
    { "maxItems", fits_most },
    { "minProperties", fits_least },
    { "maxProperties", fits_most },
    { "minimum", fits_minimum },
    { "maximum", fits_maximum },
    { "properties", is_annotation },           /* see fits_members() */
    { "additionalProperties", is_annotation }, /* see fits_members() */
    { "pattern", is_annotation },              /* of a request body; the service itself reads it */
    { "propertyNames", is_annotation },
    { "format", is_annotation },
    { "description", is_annotation },
    { "x-openstack", is_annotation },
};

static bool fits_keyword(const struct look *look, const char *name, const json_t *keyword,
                         const json_t *value) {
    for (size_t i = 0; i < LENGTH(keywords); i++)
        if (strcmp(keywords[i].name, name) == 0)
            return keywords[i].fits(look, keyword, value);
    return differs("the keyword %s is unknown", name);
}

static bool fits_member(const struct look *look, const json_t *schema, const char *key,
                        const json_t *member) {
    const json_t *property = json_object_get(json_object_get(schema, "properties"), key);
    const json_t *others = json_object_get(schema, "additionalProperties");

    if (property && (since_of(property) <= look->minor || !others))
        return fits(look, property, member);
    if (json_is_false(others))
        return differs(property ? "it is too new" : "it is unknown");
    return !others || fits(look, others, member);
}

/* Those that are there, and those that are always there from a version on. */
static bool fits_members(const struct look *look, const json_t *schema, const json_t *value) {
    const json_t *properties = json_object_get(schema, "properties");
    json_t *each;
    const char *key;

    json_object_foreach((json_t *)(uintptr_t)value, key, each) {
        if (!fits_member(look, schema, key, each))
            return differs_below(key);
    }
    json_object_foreach((json_t *)(uintptr_t)properties, key, each) {
        if (json_is_object(value) && json_is_true(note_of(each, "required")) &&
            since_of(each) <= look->minor && !json_object_get(value, key))
            return differs("%s is missing", key);
    }
    return true;
}

static bool fits(const struct look *look, const json_t *schema, const json_t *value) {
    const char *name;
    json_t *keyword;

    json_object_foreach((json_t *)(uintptr_t)schema, name, keyword) {
        if (!fits_keyword(look, name, keyword, value))
            return false;
    }
    return fits_members(look, schema, value);
}

const char *schema_fault(const json_t *document, const json_t *schema, const json_t *value,
                         unsigned minor) {
    const struct look look = { document, minor };

    return fits(&look, schema, value) ? NULL : reason;
}

/* ---- the operation ---- */

static json_t *document;

static void make_document(void) {
    document = openapi_document();
}

static const char *skip_slashes(const char *path) {
    return path + strspn(path, "/");
}

/* How many segments are words of the pattern; 0: it is another path.  ".json" at the end goes. */
static unsigned words_matching(const char *pattern, const char *path) {
    unsigned words = 1;

    for (;;) {
        size_t length, expected;

        pattern = skip_slashes(pattern);
        path = skip_slashes(path);
        if (!*pattern || !*path)
            return *pattern || *path ? 0 : words;
        length = strcspn(path, "/");
        expected = strcspn(pattern, "/");
        if (*pattern != '{') {
            bool cut = path[length] == '\0' && length == expected + strlen(".json") &&
                       strcmp(path + expected, ".json") == 0;

            if ((length != expected && !cut) || strncmp(pattern, path, expected) != 0)
                return 0;
            words++;
        }
        pattern += expected;
        path += length;
    }
}

static const json_t *find_operation(const char *method, const char *path) {
    const json_t *best = NULL;
    unsigned most = 0;
    const char *pattern;
    json_t *methods;

    json_object_foreach(json_object_get(document, "paths"), pattern, methods) {
        const json_t *operation = json_object_get(methods, method);
        unsigned words = operation ? words_matching(pattern, path) : 0;

        if (words > most) {
            most = words;
            best = operation;
        }
    }
    return best;
}

/* Of a path below /v3, with a project or without. */
static const json_t *operation_of(const struct http_exchange *exchange) {
    const char *path = skip_slashes(exchange->path + strlen("/v3"));
    bool head = strcmp(exchange->method, "HEAD") == 0;
    char method[16] = "";
    const json_t *found;

    for (size_t i = 0; exchange->method[i] && i + 1 < sizeof(method); i++)
        method[i] = (char)tolower((unsigned char)exchange->method[i]);
    found = find_operation(head ? "get" : method, path);
    return found ? found : find_operation(head ? "get" : method, path + strcspn(path, "/"));
}

/* ---- the answer ---- */

static const char *header_of(const struct http_exchange *exchange, const char *name) {
    for (unsigned i = 0; i < exchange->reply_header_count; i++)
        if (strcasecmp(exchange->reply_headers[i].name, name) == 0)
            return exchange->reply_headers[i].value;
    return NULL;
}

static unsigned minor_of(const struct http_exchange *exchange) {
    const char *version = header_of(exchange, "OpenStack-API-Version");

    return version && strncmp(version, "volume 3.", 9) == 0 ? (unsigned)atoi(version + 9) : 0;
}

static const json_t *schema_in(const json_t *part) {
    const json_t *content = json_object_get(part, "content");

    return json_object_get(json_object_get(content, "application/json"), "schema");
}

/* Of schemas of actions that of the requested one. */
static const json_t *schema_of_action(const json_t *schema, const json_t *sent) {
    const char *name = json_object_iter_key(json_object_iter((json_t *)(uintptr_t)sent));
    const json_t *one;
    size_t i;

    if (!note_of(schema, "discriminator"))
        return schema;
    json_array_foreach(json_object_get(schema, "oneOf"), i, one) {
        if (name && strcmp(name, json_string_value(note_of(one, "action-name"))) == 0)
            return one;
    }
    return NULL;
}

static bool check_body(const struct look *look, const json_t *schema, const char *body,
                       size_t size) {
    json_t *value;
    bool good;

    if (!schema)
        return size == 0 || differs("a body where there should be none");
    if (json_object_size(schema) == (json_object_get(schema, "x-openstack") ? 1 : 0))
        return true; /* bare text */
    value = json_loadb(body, size, JSON_REJECT_DUPLICATES, NULL);
    good = value ? fits(look, schema, value) : differs("no JSON");
    json_decref(value);
    return good;
}

static bool check_accepted(const struct look *look, const struct http_exchange *exchange,
                           const json_t *operation) {
    json_t *sent = json_loadb(exchange->body, exchange->body_size, 0, NULL);
    const json_t *request = schema_in(json_object_get(operation, "requestBody")), *response;
    char status[8];
    bool good;

    snprintf(status, sizeof(status), "%d", exchange->status);
    response = json_object_get(json_object_get(operation, "responses"), status);
    if (!operation || since_of(operation) > look->minor)
        good = differs("an operation that there is not");
    else if (!response)
        good = differs("the operation has no such status");
    else if (!header_of(exchange, "Content-Type"))
        good = differs("no Content-Type, which upstream sends also without a body");
    else if (sent && request && !fits(look, request, sent))
        good = differs_below("what was sent and taken");
    else
        good = check_body(look, schema_of_action(schema_in(response), sent), exchange->reply_body,
                          exchange->reply_size);
    json_decref(sent);
    return good;
}

static bool check_refused(const struct look *look, const struct http_exchange *exchange) {
    const json_t *responses = json_object_get(json_object_get(document, "components"), "responses");

    if (exchange->status == 412)
        return exchange->reply_size == 0 || differs("a body where there should be none");
    return check_body(look, schema_in(json_object_get(responses, "fault")), exchange->reply_body,
                      exchange->reply_size);
}

void answer_check(const struct http_exchange *exchange) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct look look = { .minor = minor_of(exchange) };

    if (!header_of(exchange, "x-compute-request-id") || strncmp(exchange->path, "/v3/", 4) != 0 ||
        !exchange->path[4]) /* the version document is no operation */
        return;
    pthread_once(&once, make_document);
    look.document = document;
    if (exchange->status < 400 ? check_accepted(&look, exchange, operation_of(exchange))
                               : check_refused(&look, exchange))
        return;
    fprintf(stderr, "%s %s at 3.%u: %d: not as the description of the API has it: %s\n%.*s\n%.*s\n",
            exchange->method, exchange->path, look.minor, exchange->status, reason,
            (int)exchange->body_size, exchange->body, (int)exchange->reply_size,
            exchange->reply_body);
    abort();
}
