#include "api/openapi.h"

#include "api/openapi.private.h"

#include <assert.h>
#include <ctype.h>
#include <pthread.h>
#include <string.h>

#define TEXT_OF(number) #number
#define VERSION(minor)  "3." TEXT_OF(minor)

void openapi_note(json_t *object, const char *key, json_t *value) {
    json_t *notes = json_object_get(object, "x-openstack");

    if (!notes) {
        notes = json_object();
        json_object_set_new(object, "x-openstack", notes);
    }
    json_object_set_new(notes, key, value);
}

void openapi_since(json_t *object, unsigned since) {
    if (since > MICROVERSION_LEAST)
        openapi_note(object, "min-ver", json_sprintf("3.%u", since));
}

/* ---- operations ---- */

/* get_volumes_id_metadata_key */
static json_t *operation_id(const struct route *route) {
    char text[128];
    size_t size = 0;

    for (const char *at = route->method; *at; at++)
        text[size++] = (char)tolower((unsigned char)*at);
    for (const char *at = route->path; *at && size + 1 < sizeof(text); at++)
        if (!strchr("{}", *at))
            text[size++] = *at == '/' ? '_' : *at;
    return json_stringn(text, size);
}

static json_t *operation_new(const struct route *route) {
    return json_pack("{s:o, s:o, s:{s:{s:s}}}", "operationId", operation_id(route), "parameters",
                     openapi_parameters(route), "responses", "default", "$ref",
                     "#/components/responses/fault");
}

static json_t *content_of(json_t *schema) {
    return json_pack("{s:{s:o}}", "application/json", "schema", schema);
}

static void add_body(json_t *operation, const struct route *route) {
    json_t *schema = openapi_body(route);

    if (!schema)
        return;
    json_object_set_new(operation, "requestBody",
                        json_pack("{s:b, s:o}", "required", !(route->flags & ROUTE_ANY_VALUE),
                                  "content", content_of(schema)));
}

/* One of several bodies, which their key tells apart. */
static void add_action(json_t *operation, const struct route *route) {
    json_t *body = json_object_get(operation, "requestBody"), *schema;

    if (!body) {
        schema = json_pack("{s:[], s:{s:s}}", "oneOf", "x-openstack", "discriminator", "action");
        body = json_pack("{s:b, s:o}", "required", 1, "content", content_of(schema));
        json_object_set_new(operation, "requestBody", body);
    }
    schema = json_object_get(json_object_get(json_object_get(body, "content"), "application/json"),
                             "schema");
    json_array_append_new(json_object_get(schema, "oneOf"), openapi_body(route));
}

static json_t *member(json_t *object, const char *key) {
    json_t *value = json_object_get(object, key);

    if (!value) {
        value = json_object();
        json_object_set_new(object, key, value);
    }
    return value;
}

static void add_route(json_t *paths, const struct route *route, json_t *schemas) {
    json_t *path = member(paths, route->path), *operation;
    char method[16] = "";

    for (size_t i = 0; route->method[i] && i + 1 < sizeof(method); i++)
        method[i] = (char)tolower((unsigned char)route->method[i]);
    operation = json_object_get(path, method);
    if (!operation) {
        operation = operation_new(route);
        json_object_set_new(path, method, operation);
    }
    openapi_answer(json_object_get(operation, "responses"), route, schemas);
    if (route->action) {
        add_action(operation, route);
    } else {
        add_body(operation, route);
        openapi_since(operation, route->since);
    }
}

/* ---- the document ---- */

static json_t *paths_new(json_t *schemas) {
    json_t *paths = json_object();

    for (const struct route *const *routes = api_routes; *routes; routes++)
        for (const struct route *route = *routes; route->method; route++)
            if (!(route->flags & ROUTE_ABSENT))
                add_route(paths, route, schemas);
    return paths;
}

static json_t *info_new(void) {
    return json_pack("{s:s, s:s, s:s, s:{s:s, s:s}}", "title", "scoria: Block Storage API v3",
                     "version", VERSION(MICROVERSION_NEWEST), "description",
                     "Printed from the tables of the program.", "x-openstack", "min-ver",
                     VERSION(MICROVERSION_LEAST), "max-ver", VERSION(MICROVERSION_NEWEST));
}

static json_t *servers_new(void) {
    return json_pack("[{s:s}, {s:s, s:{s:{s:s, s:s}}}]", "url", "/v3", "url", "/v3/{project_id}",
                     "variables", "project_id", "default", "project", "description",
                     "The caller's project.");
}

static json_t *components_new(json_t *schemas) {
    return json_pack("{s:o, s:o, s:o, s:{s:{s:s, s:s, s:s}}}", "schemas", schemas, "parameters",
                     openapi_shared_parameters(), "responses", openapi_faults(), "securitySchemes",
                     "token", "type", "apiKey", "in", "header", "name", "X-Auth-Token");
}

json_t *openapi_document(void) {
    json_t *schemas = json_object(), *paths = paths_new(schemas);

    return json_pack("{s:s, s:o, s:o, s:[{s:[]}], s:o, s:o}", "openapi", "3.1.0", "info",
                     info_new(), "servers", servers_new(), "security", "token", "paths", paths,
                     "components", components_new(schemas));
}

static char *text;

static void text_make(void) {
    json_t *document = openapi_document();

    text = json_dumps(document, JSON_COMPACT);
    assert(text);
    json_decref(document);
}

const char *openapi_text(size_t *ret_size) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, text_make);
    *ret_size = strlen(text);
    return text;
}
