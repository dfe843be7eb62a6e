/*
 * Transfers: the same resource below two paths.  The newer one has no_snapshots.
 */
#include "model/volume/transfer.h"

#include "api/routes.h"
#include "api/volume/resource.h"
#include "rest/answer.h"
#include "rest/page.h"

#include <inttypes.h>
#include <string.h>

/* ---- the resource ---- */

#define ACCEPT_RULE "volume:accept_transfer"

/* To accept one, a caller of any project has the key, and the rule is about the caller alone: it is
 * checked first, as the response to a refused caller is the same for a missing one. */
static void *load(struct request *request, const char *id, struct policy_target *ret_owner,
                  struct error *err) {
    struct transfer *transfer = arena_alloc(request->work.arena, sizeof *transfer);

    if (strcmp(request->route->rule, ACCEPT_RULE) == 0) {
        *ret_owner =
            (struct policy_target){ request->context.project_id, request->context.user_id };
        if (request_authorize(request, ACCEPT_RULE, ret_owner, err) < 0 ||
            transfer_offered(&request->work, id, transfer, err) < 0)
            return NULL;
        return transfer;
    }
    if (transfer_get(&request->work, id, transfer, err) < 0)
        return NULL;
    ret_owner->project_id = transfer->project_id;
    return transfer;
}

/* clang-format off */
static const struct resource_column columns[] = {
    { "id",         "tr.id",           COLUMN_TEXT, false, 0 },
    { "name",       "tr.display_name", COLUMN_TEXT, false, 0 },
    { "volume_id",  "tr.volume_id",    COLUMN_TEXT, false, 0 },
    { "created_at", "tr.created_at",   COLUMN_TIME, false, 0 },
    { .name = NULL },
};
/* clang-format on */

/* For all callers, and no entry of /resource_filters, as upstream. */
static int filter(struct request *request, struct page *page, const char *key, const char *value,
                  struct error *err) {
    const struct db_value values[] = { DB_TEXT(value) };

    (void)err;
    if (strcmp(key, "volume_id") == 0)
        page_and(request, page, "tr.volume_id = ?", values, 1);
    else if (strcmp(key, "name") == 0)
        page_and(request, page, "tr.display_name = ?", values, 1);
    else
        return 0;
    return 1;
}

RESOURCE_LIST(list, struct transfer, transfer_list)

static void put_links(struct request *request, const void *row) {
    const struct transfer *transfer = row;

    request_links(request, "os-volume-transfer", transfer->id);
}

/* One that was accepted is gone. */
static void put_accepted(struct request *request, const void *row) {
    (void)row;
    out_bool(&request->out, false);
}

/* clang-format off */
#define TRANSFER(member, ...) SHAPE(struct transfer, member, __VA_ARGS__)
#define SHORT_KEYS \
    TRANSFER(id,           "id",        TEXT), \
    TRANSFER(volume_id,    "volume_id", TEXT), \
    TRANSFER(name,         "name",      TEXT, .flags = SHAPE_NULLABLE), \
    SHAPE_BY(put_links,    "links",     LIST, .of = &shape_link)
#define KEYS \
    SHORT_KEYS, \
    TRANSFER(created_at,   "created_at",   TIME), \
    TRANSFER(no_snapshots, "no_snapshots", BOOL, .since = MV_TRANSFER_SNAPSHOTS), \
    TRANSFER(project_id,   "source_project_id", TEXT, .since = MV_TRANSFER_HISTORY), \
    { SHAPE_KEY("destination_project_id", NULL), .since = MV_TRANSFER_HISTORY }, \
    SHAPE_BY(put_accepted, "accepted",     BOOL, .since = MV_TRANSFER_HISTORY)

static const struct shape_key short_keys[] = { SHORT_KEYS, SHAPES_END };
static const struct shape short_shape = { "transfer_short", short_keys };

static const struct shape_key keys[] = { KEYS, SHAPES_END };
static const struct shape shape = { "transfer", keys };

static const struct shape_key made_keys[] = {
    KEYS,
    TRANSFER(auth_key, "auth_key", TEXT),
    SHAPES_END,
};
static const struct shape made_shape = { NULL, made_keys };
/* clang-format on */

static const struct resource resource = {
    .name = "transfer",
    .plural = "transfers",
    .collection = "os-volume-transfer",
    .label = "Transfer",
    RESOURCE_ROW(struct transfer),

    .load = load,

    .table = "transfers",
    .alias = "tr",
    .columns = columns,
    .default_sort = "created_at",
    .links_word = "transfers_links",
    .by_project = true,
    .filter = filter,
    .list = list,
    .shape = &shape,
    .short_shape = &short_shape,
};

/* ---- operations ---- */

struct create_body {
    const char *volume_id, *name;
    bool no_snapshots;
};

/* clang-format off */
#define CREATE_FIELDS \
    FIELD_UUID(struct create_body, volume_id, "volume_id", FIELD_REQUIRED), \
    FIELD(struct create_body, name, "name", TEXT, FIELD_NULLABLE | FIELD_TRIM | FIELD_NOT_BLANK, \
          .min = 1, .max = 255)
/* clang-format on */

static const struct field former_fields[] = { CREATE_FIELDS, FIELDS_END };
static const struct field create_fields[] = {
    CREATE_FIELDS,
    FIELD(struct create_body, no_snapshots, "no_snapshots", BOOL, 0,
          .since = MV_TRANSFER_SNAPSHOTS),
    FIELDS_END,
};

static int create(struct request *request, struct error *err) {
    const struct create_body *body = request->body;
    const struct volume *volume;
    struct policy_target owner;
    struct transfer made;

    volume = resource_load(request, &volume_resource, body->volume_id, &owner, err);
    if (!volume || request_authorize(request, "volume:create_transfer", &owner, err) < 0 ||
        transfer_create(&request->work, volume, body->name, body->no_snapshots, &made, err) < 0)
        return -1;
    answer_row(request, &made, 0);
    return 0;
}

struct accept_body {
    const json_t *auth_key;
};

static const struct field accept_fields[] = {
    FIELD_ANY(struct accept_body, auth_key, "auth_key", FIELD_REQUIRED),
    FIELDS_END,
};

#define KEY_LENGTH_MOST 255

static int check_accept(struct request *request, struct error *err) {
    const json_t *value = ((const struct accept_body *)request->body)->auth_key;

    if ((json_is_string(value) && *json_string_value(value) &&
         strlen(json_string_value(value)) <= KEY_LENGTH_MOST) ||
        json_is_integer(value))
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid input for field auth_key: it must be a string of 1 to %d characters "
                     "or an integer.",
                     KEY_LENGTH_MOST);
}

static int accept(struct request *request, struct error *err) {
    const json_t *value = ((const struct accept_body *)request->body)->auth_key;
    /* one of decimal digits alone may be sent as a number */
    const char *key = json_is_string(value) ? json_string_value(value)
                                            : arena_format(request->work.arena, "%" PRIdMAX,
                                                           (intmax_t)json_integer_value(value));

    if (transfer_accept(&request->work, request->object, key, err) < 0)
        return -1;
    answer_row(request, request->object, 0);
    return 0;
}

static int delete (struct request *request, struct error *err) {
    return transfer_delete(&request->work, request->object, err);
}

/* clang-format off */
#define TRANSFERS(path_, fields_) \
    { .method = "GET", .path = path_, .resource = &resource, .rule = "volume:get_all_transfers", \
      .handler = resource_list, .status = 200 }, \
    { .method = "GET", .path = path_ "/detail", .resource = &resource, \
      .rule = "volume:get_all_transfers", .handler = resource_list_detail, .status = 200 }, \
    { .method = "POST", .path = path_, .wrapper = "transfer", BODY(fields_, struct create_body), \
      ANSWER("transfer", made_shape), .handler = create, .status = 202 }, \
    { .method = "GET", .path = path_ "/{id}", .resource = &resource, .rule = "volume:get_transfer", \
      .handler = resource_show, .status = 200 }, \
    { .method = "DELETE", .path = path_ "/{id}", .resource = &resource, \
      .rule = "volume:delete_transfer", .handler = delete, .status = 202, .flags = ROUTE_BARE }, \
    { .method = "POST", .path = path_ "/{id}/accept", .resource = &resource, .rule = ACCEPT_RULE, \
      .wrapper = "accept", BODY(accept_fields, struct accept_body), .check = check_accept, \
      ANSWER("transfer", short_shape), .handler = accept, .status = 202 }, \
    ABSENT("PUT", path_ "/{id}")

const struct route transfer_routes[] = {
    TRANSFERS("/volume-transfers", create_fields),
    TRANSFERS("/os-volume-transfer", former_fields),
    ROUTES_END,
};
/* clang-format on */
