#include "api/routes.h"
#include "operation/message.h"
#include "rest/page.h"

#include <string.h>

static void put_event_id(struct request *request, const void *row) {
    const struct message *message = row;

    out_text(&request->out, arena_format(request->work.arena, "VOLUME_%s_%s_%s",
                                         message->resource_type ? message->resource_type : "",
                                         message->action_id, message->detail_id));
}

static void put_text(struct request *request, const void *row) {
    const struct message *message = row;

    out_text(&request->out,
             arena_format(request->work.arena, "%s:%s%s%s", message_action_text(message->action_id),
                          message_detail_text(message->detail_id), message->reason ? " " : "",
                          message->reason ? message->reason : ""));
}

static bool has_type(const void *row) {
    const struct message *message = row;

    return message->resource_type != NULL;
}

static bool has_uuid(const void *row) {
    const struct message *message = row;

    return message->resource_uuid != NULL;
}

static void put_links(struct request *request, const void *row) {
    const struct message *message = row;

    request_links(request, "messages", message->id);
}

/* clang-format off */
static const struct shape_key keys[] = {
    SHAPE(struct message, id,            "id",               TEXT),
    SHAPE_BY(put_event_id,               "event_id",         TEXT),
    SHAPE_BY(put_text,                   "user_message",     TEXT),
    SHAPE(struct message, level,         "message_level",    TEXT),
    SHAPE(struct message, created_at,    "created_at",       TIME),
    SHAPE(struct message, expires_at,    "guaranteed_until", TIME),
    SHAPE(struct message, request_id,    "request_id",       TEXT, .flags = SHAPE_NULLABLE),
    SHAPE(struct message, resource_type, "resource_type",    TEXT, .has = has_type),
    SHAPE(struct message, resource_uuid, "resource_uuid",    TEXT, .has = has_uuid),
    SHAPE_BY(put_links,                  "links",            LIST, .of = &shape_link),
    SHAPES_END,
};
/* clang-format on */
static const struct shape shape = { "message", keys };

/* The id of an event is derived from three columns. */
#define EVENT_ID \
    "('VOLUME_' || COALESCE(m.resource_type, '') || '_' || m.action_id || '_' || m.detail_id)"

/* clang-format off */
static const struct resource_column columns[] = {
    { "id",               "m.id",            COLUMN_TEXT, false, 0 },
    { "resource_uuid",    "m.resource_uuid", COLUMN_TEXT, true,  0 },
    { "resource_type",    "m.resource_type", COLUMN_TEXT, true,  0 },
    { "event_id",         EVENT_ID,          COLUMN_TEXT, true,  0 },
    { "request_id",       "m.request_id",    COLUMN_TEXT, true,  0 },
    { "message_level",    "m.message_level", COLUMN_TEXT, true,  0 },
    { "action_id",        "m.action_id",     COLUMN_TEXT, false, 0 },
    { "detail_id",        "m.detail_id",     COLUMN_TEXT, false, 0 },
    { "project_id",       "m.project_id",    COLUMN_TEXT, false, 0 },
    { "created_at",       "m.created_at",    COLUMN_TIME, false, 0 },
    { "guaranteed_until", "m.expires_at",    COLUMN_TIME, false, 0 },
    { "expires_at",       "m.expires_at",    COLUMN_TIME, false, 0 },
    { .name = NULL },
};
/* clang-format on */

/* Clients have it in lower case, too: upstream's databases ignore the case. */
static int filter(struct request *request, struct page *page, const char *key, const char *value,
                  struct error *err) {
    const struct db_value values[] = { DB_TEXT(value) };

    (void)err;
    if (strcmp(key, "resource_type") != 0 || *value == '[')
        return 0;
    page_and(request, page, "m.resource_type = UPPER(?)", values, 1);
    return 1;
}

static void *load(struct request *request, const char *id, struct policy_target *ret_owner,
                  struct error *err) {
    struct message *message = arena_alloc(request->work.arena, sizeof(*message));

    if (message_get(&request->work, id, message, err) < 0)
        return NULL;
    ret_owner->project_id = message->project_id;
    return message;
}

RESOURCE_LIST(list, struct message, message_list)

static const struct resource resource = {
    .name = "message",
    .plural = "messages",
    .collection = "messages",
    .label = "Message",
    RESOURCE_ROW(struct message),

    .load = load,

    .table = "messages",
    .alias = "m",
    .columns = columns,
    .default_sort = "created_at",
    .links_word = "messages_links",
    .query_since = MV_MESSAGE_PAGES,
    .by_project = true,
    .filter = filter,
    .list = list,
    .shape = &shape,
};

static int delete_message(struct request *request, struct error *err) {
    return message_delete(&request->work, request->id, err);
}

/* clang-format off */
const struct route message_routes[] = {
    { .method = "GET", .path = "/messages", .since = MV_MESSAGES, .resource = &resource,
      .rule = "message:get_all", .handler = resource_list, .status = 200 },
    ABSENT("POST", "/messages"),
    { .method = "GET", .path = "/messages/{id}", .since = MV_MESSAGES, .resource = &resource,
      .rule = "message:get", .handler = resource_show, .status = 200 },
    ABSENT("PUT", "/messages/{id}"),
    { .method = "DELETE", .path = "/messages/{id}", .since = MV_MESSAGES, .resource = &resource,
      .rule = "message:delete", .handler = delete_message, .status = 204, .flags = ROUTE_BARE },
    ROUTES_END
};
/* clang-format on */
