/*
 * QoS specs: limits for the volumes of types, and their consumer, set by administrators.
 */
#include "model/type/qos.h"

#include "api/routes.h"
#include "common/utf8.h"
#include "rest/answer.h"
#include "rest/page.h"

#include <stdlib.h>
#include <string.h>

#define KEY_MOST  255 /* characters, of a value as well */
#define KEYS_MOST 1000

/* ---- shapes ---- */

/* clang-format off */
#define QOS(member, ...) SHAPE(struct qos_specs, member, __VA_ARGS__)

static const struct shape_key keys[] = {
    QOS(id,       "id",       TEXT),
    QOS(name,     "name",     TEXT),
    QOS(consumer, "consumer", TEXT),
    QOS(specs,    "specs",    PAIRS),
    SHAPES_END,
};
static const struct shape shape = { "qos_specs", keys };

/* A single one has its links beside it. */
static void put_one(struct request *request, const void *row) {
    shape_put(request, &shape, row, 0);
}

static void put_links(struct request *request, const void *row) {
    request_links(request, "qos-specs", ((const struct qos_specs *)row)->id);
}

static const struct shape_key alone_keys[] = {
    SHAPE_BY(put_one,   "qos_specs", OBJECT, .of = &shape),
    SHAPE_BY(put_links, "links",     LIST,   .of = &shape_link),
    SHAPES_END,
};
static const struct shape alone = { "qos_specs_alone", alone_keys };

static const struct resource_column columns[] = {
    { "id",         "q.id",         COLUMN_TEXT,   false, 0 },
    { "name",       "q.name",       COLUMN_FILLED, false, 0 },
    { "consumer",   "q.consumer",   COLUMN_TEXT,   false, 0 },
    { "created_at", "q.created_at", COLUMN_TIME,   false, 0 },
    { "updated_at", "q.updated_at", COLUMN_TIME,   false, 0 },
    { .name = NULL },
};
/* clang-format on */

RESOURCE_LIST(list, struct qos_specs, qos_specs_list)

static void *load(struct request *request, const char *id, struct policy_target *ret_owner,
                  struct error *err) {
    struct qos_specs *qos = arena_alloc(request->work.arena, sizeof *qos);

    (void)ret_owner;
    return qos_specs_get(&request->work, id, qos, err) < 0 ? NULL : qos;
}

static const struct resource resource = {
    .name = "qos_specs",
    .plural = "qos_specs",
    .collection = "qos-specs",
    .label = "QoS spec",
    RESOURCE_ROW(struct qos_specs),

    .load = load,
    .unowned = true,
    .absent = { "No such QoS spec ", "." },

    .table = "qos_specs",
    .alias = "q",
    .columns = columns,
    .default_sort = "created_at",
    .links_word = "qos_specs_links",
    .list = list,
    .shape = &shape,
};

static int show_specs(struct request *request, struct error *err) {
    (void)err;
    answer_row(request, request->object, 0);
    return 0;
}

/* ---- create, change, delete ---- */

struct create_body {
    const char *name, *consumer, *value;
};

static const struct field create_fields[] = {
    FIELD_TEXT(struct create_body, name, "name", FIELD_REQUIRED | FIELD_TRIM, 1, 255),
    FIELD_WORD(struct create_body, consumer, QOS_CONSUMER, 0, qos_consumers),
    FIELD_ELSE(struct create_body, value, TEXT, 0, .max = KEY_MOST),
    FIELDS_END,
};

static int check_create(struct request *request, struct error *err) {
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)request->json, key, value) {
        size_t size = utf8_count(key, strlen(key));

        if (size < 1 || size > KEY_MOST)
            return error_set(err, ERROR_BAD_REQUEST,
                             "Invalid qos specs: a key must be 1 to %d characters long.", KEY_MOST);
    }
    return 0;
}

static int create_specs(struct request *request, struct error *err) {
    const struct create_body *body = request->body;
    const char *consumer = body->consumer ? body->consumer : QOS_BACK_END;
    json_t *others = json_keep(request->work.arena, json_copy((json_t *)(uintptr_t)request->json));
    struct qos_specs made;
    struct pairs specs;

    json_object_del(others, "name");
    json_object_del(others, QOS_CONSUMER);
    specs = request_pairs(request, others);
    if (qos_specs_create(&request->work, body->name, consumer, &specs, &made, err) < 0)
        return -1;
    answer_row(request, &made, 0);
    return 0;
}

struct set_body {
    const json_t *specs;
};

static const struct field set_fields[] = {
    FIELD_META(struct set_body, specs, "qos_specs", FIELD_REQUIRED | FIELD_NULL_VALUES),
    FIELDS_END,
};

static int set_specs(struct request *request, struct error *err) {
    const struct set_body *body = request->body;
    const struct pairs specs = request_pairs(request, body->specs);

    if (qos_specs_set(&request->work, request->object, &specs, err) < 0)
        return -1;
    out_value(&request->out, request->json_outer);
    return 0;
}

struct unset_body {
    const json_t *keys;
};

static const struct field unset_fields[] = {
    FIELD_LIST(struct unset_body, keys, "keys", FIELD_REQUIRED, 0, KEYS_MOST),
    FIELDS_END,
};

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool are_unique(struct arena *arena, const char *const *texts, size_t count) {
    const char **sorted = arena_copy(arena, texts, (count + 1) * sizeof *texts);

    qsort(sorted, count, sizeof *sorted, compare_texts);
    for (size_t i = 1; i < count; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            return false;
    return true;
}

static int unset_specs(struct request *request, struct error *err) {
    const json_t *list = ((const struct unset_body *)request->body)->keys;
    size_t count = json_array_size(list);
    const char **texts = arena_alloc(request->work.arena, (count + 1) * sizeof *texts);

    for (size_t i = 0; i < count; i++) {
        const char *text = texts[i] = json_string_value(json_array_get(list, i));
        size_t size = text ? utf8_count(text, strlen(text)) : 0;

        if (size < 1 || size > KEY_MOST)
            return error_set(
                err, ERROR_BAD_REQUEST,
                "Invalid input: each of 'keys' must be a string of 1 to %d characters.", KEY_MOST);
    }
    texts[count] = NULL;
    if (!are_unique(request->work.arena, texts, count))
        return error_set(err, ERROR_BAD_REQUEST, "Invalid input: 'keys' has one of them twice.");
    return qos_specs_unset(&request->work, request->object, texts, (unsigned)count, err);
}

static int delete_specs(struct request *request, struct error *err) {
    bool force = false;

    if (request_flag(request, "force", &force, err) < 0)
        return -1;
    return qos_specs_delete(&request->work, request->object, force, err);
}

/* ---- types that use them ---- */

static void put_kind(struct request *request, const void *row) {
    (void)row;
    out_text(&request->out, "volume_type");
}

static const struct shape_key type_keys[] = {
    SHAPE_BY(put_kind, "association_type", TEXT),
    SHAPE(struct qos_type, name, "name", TEXT),
    SHAPE(struct qos_type, id, "id", TEXT),
    SHAPES_END,
};
static const struct shape type_shape = { "qos_association", type_keys };

static int list_types(struct request *request, struct error *err) {
    struct qos_type *types = NULL;
    int count = qos_specs_types(&request->work, request->object, &types, err);

    if (count < 0)
        return -1;
    answer_rows(request, types, (unsigned)count, sizeof *types, 0);
    return 0;
}

typedef int change_type(struct work *work, const struct qos_specs *qos,
                        const struct volume_type *type, struct error *err);

static int with_type(struct request *request, change_type *change, struct error *err) {
    const char *id = request_query(request, "vol_type_id");
    struct volume_type type;

    if (!id || !*id)
        return error_set(err, ERROR_BAD_REQUEST, "Volume Type id must not be None.");
    if (volume_type_row(&request->work, id, &type, err) < 0)
        return -1;
    return change(&request->work, request->object, &type, err);
}

static int associate(struct request *request, struct error *err) {
    return with_type(request, qos_specs_associate, err);
}

static int disassociate(struct request *request, struct error *err) {
    return with_type(request, qos_specs_disassociate, err);
}

static int disassociate_all(struct request *request, struct error *err) {
    return qos_specs_disassociate(&request->work, request->object, NULL, err);
}

static const struct route_query delete_queries[] = { { .name = "force", .is_boolean = true },
                                                     { .name = NULL } };
static const struct route_query type_queries[] = { { .name = "vol_type_id" }, { .name = NULL } };

/* Associations use GET, as upstream, though they change state. */
/* clang-format off */
#define SPECS(method_, path_, rule_, handler_, status_) \
    .method = method_, .path = "/qos-specs" path_, .resource = &resource, \
    .rule = "volume_extension:qos_specs_manage:" rule_, .handler = handler_, .status = status_
#define CHANGES .flags = ROUTE_BARE | ROUTE_WRITES
#define ALONE ANSWER(NULL, alone)

const struct route qos_routes[] = {
    { SPECS("GET", "", "get_all", resource_list, 200) },
    { SPECS("POST", "", "create", create_specs, 200), .wrapper = "qos_specs",
      BODY(create_fields, struct create_body), .check = check_create, .flags = ROUTE_OPEN, ALONE },
    { SPECS("GET", "/{id}", "get", show_specs, 200), ALONE },
    { SPECS("PUT", "/{id}", "update", set_specs, 200), BODY(set_fields, struct set_body),
      ANSWER("qos_specs", shape_pairs), .flags = ROUTE_NO_WRAPPER },
    { SPECS("DELETE", "/{id}", "delete", delete_specs, 202), .queries = delete_queries,
      .flags = ROUTE_BARE },
    { SPECS("PUT", "/{id}/delete_keys", "delete", unset_specs, 202),
      BODY(unset_fields, struct unset_body), .flags = ROUTE_NO_WRAPPER | ROUTE_BARE },
    { SPECS("GET", "/{id}/associations", "get_all", list_types, 200),
      ANSWER("qos_associations", type_shape), .flags = ROUTE_MANY },
    { SPECS("GET", "/{id}/associate", "update", associate, 202), .queries = type_queries, CHANGES },
    { SPECS("GET", "/{id}/disassociate", "update", disassociate, 202), .queries = type_queries, CHANGES },
    { SPECS("GET", "/{id}/disassociate_all", "update", disassociate_all, 202), CHANGES },
    ROUTES_END,
};
/* clang-format on */
