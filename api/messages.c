#include "api/page.h"
#include "api/routes.h"
#include "ledger/message.h"

static const char *event_id(struct arena *arena, const struct message *message) {
    return arena_format(arena, "VOLUME_%s_%s_%s",
                        message->resource_type ? message->resource_type : "", message->action_id,
                        message->detail_id);
}

static void view(struct request *request, const void *row, bool detail) {
    const struct message *message = row;
    struct arena *arena = request->work.arena;
    struct json_out *out = &request->out;

    (void)detail;
    out_begin_object(out);
    out_put_text(out, "id", message->id);
    out_put_text(out, "event_id", event_id(arena, message));
    out_put_text(out, "user_message",
                 arena_format(arena, "%s:%s", message_action_text(message->action_id),
                              message_detail_text(message->detail_id)));
    out_put_text(out, "message_level", message->level);
    out_put_time(out, "created_at", message->created_at);
    out_put_time(out, "guaranteed_until", message->expires_at);
    out_put_text(out, "request_id", message->request_id);
    if (message->resource_type)
        out_put_text(out, "resource_type", message->resource_type);
    if (message->resource_uuid)
        out_put_text(out, "resource_uuid", message->resource_uuid);
    request_put_links(request, "messages", message->id);
    out_end_object(out);
}

/* The id of an event is no column of its own, but made of three. */
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

static void *load(struct request *request, const char *id, struct policy_target *ret_owner,
                  struct error *err) {
    struct message *message = arena_alloc(request->work.arena, sizeof(*message));

    if (message_get(&request->work, id, message, err) < 0)
        return NULL;
    ret_owner->project_id = message->project_id;
    return message;
}

static int list(struct request *request, struct page *page, struct error *err) {
    struct message *messages = NULL;
    int count = message_list(&request->work, &page->query, &messages, err);

    page->rows = messages;
    return count;
}

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
    .list = list,
    .view = view,
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
