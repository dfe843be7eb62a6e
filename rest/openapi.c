#include "rest/openapi.h"

#include "common/assert.h"
#include "rest/openapi.private.h"

#include <ctype.h>
#include <pthread.h>
#include <string.h>

#define TEXT_OF(number) #number
#define VERSION(minor)  "3." TEXT_OF(minor)

/* ---- operations ---- */

/* get_volumes_id_metadata_key */
static json_t *operation_id(const char *method, const char *path) {
    char text[128];
    size_t size = (size_t)snprintf(text, sizeof(text), "%s", method);

    for (; *path && size < sizeof(text); path++)
        if (!strchr("{}", *path))
            text[size++] = *path == '/' ? '_' : *path;
    return json_stringn(text, size);
}

static void add_route(json_t *paths, const struct route *route, json_t *schemas) {
    json_t *path = openapi_member(paths, route->path), *operation, *schema, *body;
    char method[16] = "";

    for (size_t i = 0; route->method[i] && i + 1 < sizeof(method); i++)
        method[i] = (char)tolower((unsigned char)route->method[i]);
    operation = json_object_get(path, method);
    if (!operation) {
        operation =
            json_pack("{s:o, s:o, s:{s:{s:s}}}", "operationId", operation_id(method, route->path),
                      "parameters", openapi_parameters(route), "responses", "default", "$ref",
                      "#/components/responses/fault");
        json_object_set_new(path, method, operation);
    } else {
        openapi_add_queries(json_object_get(operation, "parameters"), route);
    }
    openapi_answer(json_object_get(operation, "responses"), route, schemas);
    schema = openapi_body(route);
    if (schema) {
        body = openapi_member(operation, "requestBody");
        json_object_set_new(body, "required",
                            json_boolean(route->action || !(route->flags & ROUTE_ANY_VALUE)));
        openapi_content(body, route, schema);
    }
    if (!route->action)
        openapi_since(operation, route->since);
}

/* ---- the document ---- */

json_t *openapi_document(void) {
    json_t *schemas = json_object(), *paths = json_object(), *info, *servers, *components;

    for (const struct route *const *routes = api_routes; *routes; routes++)
        for (const struct route *route = *routes; route->method; route++)
            if (!(route->flags & ROUTE_ABSENT))
                add_route(paths, route, schemas);
    info = json_pack("{s:s, s:s, s:s, s:{s:s, s:s}}", "title", "scoria: Block Storage API v3",
                     "version", VERSION(MICROVERSION_NEWEST), "description",
                     "Printed from the tables of the program.", "x-openstack", "min-ver",
                     VERSION(MICROVERSION_LEAST), "max-ver", VERSION(MICROVERSION_NEWEST));
    servers = json_pack("[{s:s}, {s:s, s:{s:{s:s, s:s}}}]", "url", "/v3", "url", "/v3/{project_id}",
                        "variables", "project_id", "default", "project", "description",
                        "The caller's project.");
    components =
        json_pack("{s:o, s:o, s:o, s:{s:{s:s, s:s, s:s}}}", "schemas", schemas, "parameters",
                  openapi_shared_parameters(), "responses", openapi_faults(), "securitySchemes",
                  "token", "type", "apiKey", "in", "header", "name", "X-Auth-Token");
    return json_pack("{s:s, s:o, s:o, s:[{s:[]}], s:o, s:o}", "openapi", "3.1.0", "info", info,
                     "servers", servers, "security", "token", "paths", paths, "components",
                     components);
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
