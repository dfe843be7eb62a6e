#include "rest/openapi.h"

#include "common/arena.h"
#include "common/scoria_headers.h"
#include "rest/route.h"
#include "tests/lib/answers.h"
#include "tests/lib/check_main.h"
#include "tests/lib/exchange.h"
#include "json/json.h"

#include <ctype.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static json_t *document(void) {
    static json_t *made;

    if (!made)
        made = openapi_document();
    ck_assert_ptr_nonnull(made);
    return made;
}

static const json_t *at(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);

    ck_assert_msg(value != NULL, "%s is not there", key);
    return value;
}

static const json_t *operation_of(const char *method, const char *path) {
    char key[16] = "";

    for (size_t i = 0; method[i]; i++)
        key[i] = (char)tolower((unsigned char)method[i]);
    return at(at(at(document(), "paths"), path), key);
}

static const json_t *body_of(const char *method, const char *path) {
    const json_t *body = at(operation_of(method, path), "requestBody");

    return at(at(at(body, "content"), "application/json"), "schema");
}

static const json_t *parameter_of(const char *method, const char *path, const char *name) {
    const json_t *list = at(operation_of(method, path), "parameters"), *parameter;
    size_t i;

    json_array_foreach(list, i, parameter) {
        const char *its = json_string_value(json_object_get(parameter, "name"));

        if (its && strcmp(its, name) == 0)
            return parameter;
    }
    return NULL;
}

static const char *since_of(const json_t *object) {
    return json_string_value(json_object_get(json_object_get(object, "x-openstack"), "min-ver"));
}

static const json_t *action_of(const json_t *body, const char *name) {
    const json_t *list = at(body, "oneOf"), *one;
    size_t i;

    json_array_foreach(list, i, one) {
        if (json_object_get(at(one, "properties"), name))
            return one;
    }
    ck_abort_msg("%s is no action of it", name);
}

START_TEST(every_route_is_listed_from_its_version_on) {
    for (const struct route *const *routes = api_routes; *routes; routes++)
        for (const struct route *route = *routes; route->method; route++) {
            const json_t *operation;
            char since[8], status[8];

            if (route->flags & ROUTE_ABSENT)
                continue;
            operation = operation_of(route->method, route->path);
            snprintf(since, sizeof(since), "3.%u", route->since);
            snprintf(status, sizeof(status), "%d", route->status);
            if (route->status < 400)
                at(at(operation, "responses"), status);
            if (route->action)
                operation = action_of(body_of(route->method, route->path), route->action);
            ck_assert_pstr_eq(since_of(operation), route->since > 0 ? since : NULL);
        }
}
END_TEST

START_TEST(unserved_routes_are_not_listed) {
    ck_assert_ptr_null(json_object_get(at(at(document(), "paths"), "/extensions"), "post"));
    ck_assert_ptr_null(json_object_get(at(document(), "paths"), "/attachments/summary"));
}
END_TEST

START_TEST(headers_of_this_service_are_parameters_of_their_routes) {
    static const struct {
        const char *method, *path, *header;
    } rows[] = {
        { "POST", "/volumes", UNIQUE_HEADER },
        { "POST", "/snapshots", UNIQUE_HEADER },
        { "POST", "/groups", UNIQUE_HEADER },
        { "POST", "/group_snapshots", UNIQUE_HEADER },
        { "POST", "/volumes/{id}/action", RETRY_HEADER },
        { "DELETE", "/volumes/{id}", RETRY_HEADER },
        { "DELETE", "/snapshots/{id}", RETRY_HEADER },
        { "DELETE", "/volumes/{id}", UNREPORTED_HEADER },
        { "DELETE", "/snapshots/{id}", UNREPORTED_HEADER },
        { "POST", "/attachments", RETRY_HEADER },
        { "POST", "/volumes/{id}/action", EXTEND_HEADER },
        { "POST", "/attachments/{id}/action", VOLUME_LIMIT_HEADER },
        { "DELETE", "/attachments/{id}", INCOMPLETE_HEADER },
        { "PUT", "/replica_pools/{id}", INSTANCE_HEADER },
        { "PUT", "/volume_replicas/{id}/status", INSTANCE_HEADER },
        { "PUT", "/replicated_volumes/{id}/status", INSTANCE_HEADER },
        { "GET", "/volume_replicas", INSTANCE_HEADER },
        { "GET", "/replicated_volumes", INSTANCE_HEADER },
    };
    const json_t *answer;

    for (size_t i = 0; i < LENGTH(rows); i++) {
        const json_t *parameter = parameter_of(rows[i].method, rows[i].path, rows[i].header);

        ck_assert_msg(parameter != NULL, "%s %s has no %s", rows[i].method, rows[i].path,
                      rows[i].header);
        ck_assert_str_eq(json_string_value(at(parameter, "in")), "header");
    }
    ck_assert_ptr_null(parameter_of("GET", "/volume_policies", INSTANCE_HEADER));
    answer = at(at(operation_of("GET", "/volumes/{id}"), "responses"), "200");
    at(at(answer, "headers"), EXTEND_HEADER);
    ck_assert_ptr_null(parameter_of("GET", "/volumes/{id}", EXTEND_HEADER));
}
END_TEST

START_TEST(bodies_have_the_limits_of_their_fields) {
    const json_t *outer = body_of("POST", "/volumes");
    const json_t *volume = at(at(outer, "properties"), "volume");
    const json_t *size = at(at(volume, "properties"), "size");
    const json_t *extend;

    ck_assert_int_eq(json_integer_value(at(size, "minimum")), 1);
    ck_assert_int_eq(json_integer_value(at(size, "maximum")), FIELD_MAX_SIZE_GB);
    ck_assert_str_eq(since_of(at(at(volume, "properties"), "backup_id")), "3.47");
    ck_assert_ptr_null(json_object_get(volume, "additionalProperties")); /* before 3.53 */

    extend = action_of(body_of("POST", "/volumes/{id}/action"), "os-extend");
    ck_assert_str_eq(json_string_value(at(at(extend, "x-openstack"), "action-name")), "os-extend");
    ck_assert(json_is_false(at(extend, "additionalProperties")));
    extend = at(at(extend, "properties"), "os-extend");
    ck_assert(json_is_false(at(extend, "additionalProperties")));
    ck_assert_str_eq(json_string_value(json_array_get(at(extend, "required"), 0)), "new_size");
}
END_TEST

START_TEST(objects_with_any_key_have_a_schema_for_their_values) {
    const json_t *body = at(at(body_of("PUT", "/os-quota-sets/{id}"), "properties"), "quota_set");

    ck_assert_int_eq(json_integer_value(at(at(body, "additionalProperties"), "minimum")), -1);
    ck_assert_uint_eq(json_object_size(at(at(body, "properties"), "tenant_id")), 0);
    body = body_of("PUT", "/types/{id}/extra_specs/{key}");
    ck_assert_int_eq(json_integer_value(at(body, "maxProperties")), 1);
    ck_assert_int_eq(json_integer_value(at(at(body, "additionalProperties"), "maxLength")), 255);
}
END_TEST

/* Rows that leave a body or a response open, and why; an ignored body is marked by
 * ROUTE_ANY_VALUE. */
static const struct {
    const char *method, *path, *action, *why;
} untold[] = {
    { "GET", "/volumes/{id}/encryption/{key}", NULL, "it is bare text" },
    { "POST", "/volumes/{id}/action", "os-initialize_connection", "it is what a driver says" },
    { "GET", "/capabilities/{id}", NULL, "it is what a driver says" },
};

/* An object is described by each of its keys. */
static bool is_specific(const json_t *schema) {
    const json_t *properties = json_object_get(schema, "properties");
    const json_t *others = json_object_get(schema, "additionalProperties");
    const char *key;
    json_t *inner;

    if (json_object_get(schema, "$ref") || json_object_get(schema, "enum"))
        return true;
    if (!json_object_get(schema, "type") && !json_object_get(schema, "anyOf"))
        return false;
    json_object_foreach((json_t *)(uintptr_t)properties, key, inner) {
        if (!is_specific(inner))
            return false;
    }
    return json_object_size(properties) > 0 || !others || is_specific(others);
}

/* An action that answers no body has none among those of its path. */
static const json_t *answer_of_action(const json_t *schema, const char *name) {
    const json_t *one;
    size_t i;

    json_array_foreach(at(schema, "oneOf"), i, one) {
        if (strcmp(json_string_value(at(at(one, "x-openstack"), "action-name")), name) == 0)
            return one;
    }
    return NULL;
}

static bool is_response_described(const struct route *route) {
    const json_t *answer, *schema;
    char status[16];

    snprintf(status, sizeof(status), "%d", route->status);
    answer = at(at(operation_of(route->method, route->path), "responses"), status);
    if (!json_object_get(answer, "content"))
        return strcmp(route->method, "GET") != 0 || route->flags & ROUTE_WRITES;
    schema = at(at(at(answer, "content"), "application/json"), "schema");
    if (route->action)
        schema = answer_of_action(schema, route->action);
    return !schema || is_specific(schema);
}

static const char *why_untold(const struct route *route) {
    for (size_t i = 0; i < LENGTH(untold); i++)
        if (strcmp(untold[i].method, route->method) == 0 &&
            strcmp(untold[i].path, route->path) == 0 &&
            strcmp(untold[i].action ? untold[i].action : "", route->action ? route->action : "") ==
                0)
            return untold[i].why;
    return NULL;
}

START_TEST(every_body_and_response_is_described_or_has_a_reason) {
    for (const struct route *const *routes = api_routes; *routes; routes++)
        for (const struct route *route = *routes; route->method; route++) {
            bool sends = strcmp(route->method, "POST") == 0 || strcmp(route->method, "PUT") == 0;
            bool described;

            if (route->flags & ROUTE_ABSENT || route->status >= 400)
                continue;
            described = is_response_described(route) &&
                        (!sends || route->fields || route->flags & ROUTE_ANY_VALUE);
            ck_assert_msg(described == !why_untold(route), "%s %s %s is %s", route->method,
                          route->path, route->action ? route->action : "",
                          described ? "told" : "not told");
        }
}
END_TEST

START_TEST(lists_have_the_filters_of_their_resource) {
    ck_assert_ptr_nonnull(parameter_of("GET", "/volumes", "all_tenants"));
    ck_assert_ptr_nonnull(parameter_of("GET", "/volumes/detail", "availability_zone"));
    ck_assert_ptr_nonnull(parameter_of("GET", "/volumes", "metadata"));
    ck_assert_str_eq(since_of(parameter_of("GET", "/volumes", "with_count")), "3.45");
    ck_assert_str_eq(since_of(parameter_of("GET", "/volumes", "group_id")), "3.10");
    ck_assert_str_eq(since_of(parameter_of("GET", "/messages", "limit")), "3.5");
    ck_assert_ptr_null(parameter_of("GET", "/types", "all_tenants"));
    ck_assert_ptr_null(parameter_of("GET", "/volumes/{id}", "limit"));
    ck_assert_str_eq(since_of(parameter_of("DELETE", "/volumes/{id}", "force")), "3.23");
    ck_assert(
        json_is_true(at(parameter_of("GET", "/volumes/{id}/metadata/{key}", "key"), "required")));
}
END_TEST

/* Every $ref of the tree leads somewhere. */
static void check_refs(const json_t *value) {
    const char *key, *ref = json_string_value(json_object_get(value, "$ref"));
    const json_t *target = document();
    json_t *inner;
    size_t i;

    if (ref) {
        char *text = strdup(ref), *rest = text + strlen("#/");

        ck_assert_int_eq(strncmp(ref, "#/", 2), 0);
        while (rest)
            target = at(target, strsep(&rest, "/"));
        free(text);
    }
    json_object_foreach((json_t *)(uintptr_t)value, key, inner) check_refs(inner);
    json_array_foreach(value, i, inner) check_refs(inner);
}

START_TEST(references_resolve_and_are_defined_once) {
    json_t *ids = json_object(), *path, *operation;
    const char *key, *method;

    check_refs(document());
    json_object_foreach((json_t *)(uintptr_t)at(document(), "paths"), key, path)
        json_object_foreach(path, method, operation) {
        const char *id = json_string_value(at(operation, "operationId"));

        ck_assert_msg(!json_object_get(ids, id), "%s stands twice", id);
        json_object_set_new(ids, id, json_true());
    }
    json_decref(ids);
}
END_TEST

START_TEST(the_text_is_made_once) {
    size_t size, again;
    const char *text = openapi_text(&size);
    json_t *parsed = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);

    ck_assert(json_equal(parsed, document()));
    ck_assert_ptr_eq(openapi_text(&again), text);
    json_decref(parsed);
}
END_TEST

/* ---- answers that are held against it ---- */

static const char *fault_of(const char *schema, unsigned minor, const char *value) {
    static struct arena *arena;
    const json_t *parsed;

    if (!arena)
        arena = arena_new();
    parsed = json_parse(arena, value, strlen(value), NULL);
    ck_assert_msg(parsed != NULL, "%s", value);
    return schema_fault(document(), at(at(at(document(), "components"), "schemas"), schema), parsed,
                        minor);
}

#define SNAPSHOT                                                                   \
    "\"id\": \"i\", \"created_at\": \"c\", \"updated_at\": null, \"name\": null, " \
    "\"description\": null, \"volume_id\": \"v\", \"status\": \"s\", \"metadata\": {\"a\": \"b\"}"

START_TEST(a_response_has_exactly_the_keys_of_its_schema) {
    static const struct {
        unsigned minor;
        const char *value, *why;
    } cases[] = {
        { 0, "{" SNAPSHOT ", \"size\": 1}", NULL },
        { 0, "{" SNAPSHOT "}", "size is missing" },
        { 0, "{" SNAPSHOT ", \"size\": \"1\"}", "size: it must be of the type integer" },
        { 0, "{" SNAPSHOT ", \"size\": 1, \"colour\": 1}", "colour: it is unknown" },
        { 13, "{" SNAPSHOT ", \"size\": 1, \"group_snapshot_id\": null}", "it is too new" },
        { 14, "{" SNAPSHOT ", \"size\": 1, \"group_snapshot_id\": null}", NULL },
        { 14, "{" SNAPSHOT ", \"size\": 1}", "group_snapshot_id is missing" },
        { 0, "[]", "it must be of the type object" },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        const char *fault = fault_of("snapshot", cases[i].minor, cases[i].value);

        if (cases[i].why)
            ck_assert_msg(fault && strstr(fault, cases[i].why), "%s: %s", cases[i].value, fault);
        else
            ck_assert_msg(fault == NULL, "%s: %s", cases[i].value, fault);
    }
    ck_assert_ptr_null(fault_of("quota_set", 0, "{\"id\": \"p\", \"volumes\": 1}"));
    ck_assert_ptr_nonnull(fault_of("quota_set", 0, "{\"volumes\": \"1\"}"));
}
END_TEST

/* How a process ends that gets this answer: 0, or the signal. */
static int checked(const char *method, const char *path, int status, const char *body) {
    int ended;
    pid_t child = fork();

    if (child == 0) {
        struct test_exchange *test = test_exchange_new(method, path, NULL, NULL);
        struct http_exchange *http = test_exchange_of(test);

        freopen("/dev/null", "w", stderr);
        http_add_header(http, "x-compute-request-id", "r");
        http_add_header(http, "Content-Type", "application/json");
        http->status = status;
        http->reply_body = body;
        http->reply_size = strlen(body);
        http_reply(http);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &ended, 0), child);
    return WIFSIGNALED(ended) ? WTERMSIG(ended) : WEXITSTATUS(ended);
}

START_TEST(a_response_that_differs_ends_the_test) {
    static const char list[] = "{\"extensions\": []}",
                      fault[] = "{\"itemNotFound\": {\"code\": 404, \"message\": \"m\"}}";

    ck_assert_int_eq(checked("GET", "/v3/extensions", 200, list), 0);
    ck_assert_int_eq(checked("GET", "/v3/p/extensions.json", 200, list), 0);
    ck_assert_int_eq(checked("GET", "/v3/extensions", 202, list), SIGABRT);
    ck_assert_int_eq(checked("GET", "/v3/extensions", 200, "{}"), SIGABRT);
    ck_assert_int_eq(checked("GET", "/v3/extensions", 200, "{\"extensions\": [], \"a\": 1}"),
                     SIGABRT);
    ck_assert_int_eq(checked("GET", "/v3/extensions", 200, "no JSON"), SIGABRT);
    ck_assert_int_eq(checked("GET", "/v3/nothing", 200, ""), SIGABRT);
    ck_assert_int_eq(checked("GET", "/v3/messages", 200, "{\"messages\": []}"), SIGABRT); /* 3.3 */
    ck_assert_int_eq(checked("GET", "/v3/nothing", 404, fault), 0);
    ck_assert_int_eq(checked("GET", "/v3/nothing", 404, "{\"what\": {}}"), SIGABRT);
    ck_assert_int_eq(checked("DELETE", "/v3/volumes/v", 202, ""), 0);
    ck_assert_int_eq(checked("DELETE", "/v3/volumes/v", 202, "{}"), SIGABRT);
    ck_assert_int_eq(checked("GET", "/v3/volumes/v/encryption/encryption_key_id", 200, "key"), 0);
}
END_TEST

CHECK_MAIN("openapi", every_route_is_listed_from_its_version_on, unserved_routes_are_not_listed,
           headers_of_this_service_are_parameters_of_their_routes,
           bodies_have_the_limits_of_their_fields,
           objects_with_any_key_have_a_schema_for_their_values,
           every_body_and_response_is_described_or_has_a_reason,
           lists_have_the_filters_of_their_resource, references_resolve_and_are_defined_once,
           the_text_is_made_once, a_response_has_exactly_the_keys_of_its_schema,
           a_response_that_differs_ends_the_test)
