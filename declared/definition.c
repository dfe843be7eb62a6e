#include "declared/definition.h"

#include "common/arena.h"
#include "declared/condition.h"

#include <ctype.h>
#include <string.h>

/* ---- names ---- */

/* As in OpenEBS: "cstorvolumepolicies". */
static const char *plural_of(struct arena *arena, const struct document_kind *kind) {
    char *name = arena_text(arena, kind->name);
    size_t length = strlen(name);

    for (char *c = name; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    if (name[length - 1] != 'y')
        return arena_join(arena, name, "s", NULL);
    name[length - 1] = '\0';
    return arena_join(arena, name, "ies", NULL);
}

/* ---- columns ---- */

struct column {
    const struct document_kind *kind; /* NULL: of all */
    const char *name, *type, *path;
};

/* clang-format off */
static const struct column columns[] = {
    { &kind_volume_config, "Capacity", "string", ".status.capacity.storage" },
    { &kind_volume_config, "Node", "string", ".publish.nodeId" },
    { &kind_volume_config_snapshot, "Volume", "string", ".spec.volumeName" },
    { &kind_volume_config_snapshot, "Capacity", "string", ".status.capacity.storage" },
    { &kind_replicated_volume, "Capacity", "string", ".status.capacity" },
    { &kind_replicated_volume, "Node", "string", ".status.target.nodeId" },
    { &kind_volume_replica, "Pool", "string", ".spec.poolName" },
    { &kind_volume_replica, "Used", "string", ".status.capacity.used" },
    { &kind_volume_replica, "Allocated", "string", ".status.capacity.total" },
    { NULL, "Status", "string", ".status.phase" },
    { &kind_volume_config, "Applied", "string", ".status.conditions[?(@.type==\"Applied\")].status" },
    { &kind_volume_policy, "Applied", "string", ".status.conditions[?(@.type==\"Applied\")].status" },
    { NULL, "Age", "date", ".metadata.creationTimestamp" },
};
/* clang-format on */

/* ---- the schema ---- */

/* clang-format off */
static const struct schema_field status_fields[] = {
    { "phase", SCHEMA_TEXT, .about = "Its phase." },
    { "observedGeneration", SCHEMA_INT, .about = "The generation that the service has read." },
    { "capacity", SCHEMA_QUANTITIES, .about = "Its real size." },
    { "poolInfo", SCHEMA_LIST, .about = "The pools that have a replica." },
    { "conditions", SCHEMA_LIST, .of = condition_fields, .max = CONDITIONS_MOST,
      .about = "Current conditions, and whether the service accepted the object." },
    SCHEMA_FIELDS_END,
};
/* clang-format on */

static json_t *schema_of(const struct document_kind *kind) {
    json_t *schema = definition_schema(kind->fields, true), *properties = json_object();
    json_t *status =
        definition_schema(kind->status_fields ? kind->status_fields : status_fields, false);

    /* the service may write more fields of its own status than listed here */
    if (!kind->status_fields)
        json_object_set_new(status, "x-kubernetes-preserve-unknown-fields", json_true());
    json_object_set_new(status, "description",
                        json_string("The observed state, written by the service."));
    json_object_set_new(properties, "apiVersion", json_pack("{ss}", "type", "string"));
    json_object_set_new(properties, "kind", json_pack("{ss}", "type", "string"));
    json_object_set_new(properties, "metadata", json_pack("{ss}", "type", "object"));
    json_object_update(properties, json_object_get(schema, "properties"));
    json_object_set_new(properties, "status", status);
    json_object_set_new(schema, "properties", properties);
    json_object_set_new(schema, "description", json_sprintf("%s of scoria.", kind->label));
    return schema;
}

/* ---- the whole ---- */

json_t *definition_of(const struct document_kind *kind) {
    autoarena struct arena *arena = arena_new();
    char *singular = arena_text(arena, kind->name);
    json_t *shown = json_array(), *names, *version;

    for (char *c = singular; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (!columns[i].kind || columns[i].kind == kind)
            json_array_append_new(shown, json_pack("{ss ss ss}", "name", columns[i].name, "type",
                                                   columns[i].type, "jsonPath", columns[i].path));
    names =
        json_pack("{ss ss ss s[s] s[s]}", "plural", plural_of(arena, kind), "singular", singular,
                  "kind", kind->name, "shortNames", kind->short_name, "categories", "cstor");
    version = json_pack("{ss sb sb s{s{}} so s{so}}", "name", DEFINITION_VERSION, "served", 1,
                        "storage", 1, "subresources", "status", "additionalPrinterColumns", shown,
                        "schema", "openAPIV3Schema", schema_of(kind));
    return json_pack("{ss ss s{ss} s{ss ss so s[o]}}", "apiVersion", "apiextensions.k8s.io/v1",
                     "kind", "CustomResourceDefinition", "metadata", "name",
                     arena_join(arena, plural_of(arena, kind), ".", DEFINITION_GROUP, NULL), "spec",
                     "group", DEFINITION_GROUP, "scope", "Namespaced", "names", names, "versions",
                     version);
}
