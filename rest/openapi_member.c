#include "rest/openapi.private.h"

json_t *openapi_member(json_t *object, const char *key) {
    json_t *value = json_object_get(object, key);

    if (!value) {
        value = json_object();
        json_object_set_new(object, key, value);
    }
    return value;
}

void openapi_note(json_t *object, const char *key, json_t *value) {
    json_object_set_new(openapi_member(object, "x-openstack"), key, value);
}

void openapi_since(json_t *object, unsigned since) {
    if (since > MICROVERSION_LEAST)
        openapi_note(object, "min-ver", json_sprintf("3.%u", since));
}

void openapi_content(json_t *object, const struct route *route, json_t *schema) {
    json_t *media = openapi_member(openapi_member(object, "content"), "application/json"), *choice;

    if (!route->action) {
        json_object_set_new(media, "schema", schema);
        return;
    }
    choice = openapi_member(media, "schema");
    if (json_object_size(choice) == 0) {
        json_object_set_new(choice, "oneOf", json_array());
        openapi_note(choice, "discriminator", json_string("action"));
    }
    json_array_append_new(json_object_get(choice, "oneOf"), schema);
}
