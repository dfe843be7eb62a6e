#include "api/page_read.h"
#include "api/routes.h"
#include "ledger/message.h"

static const char *event_id(struct arena *arena, const struct message *message) {
    return arena_format(arena, "VOLUME_%s_%s_%s",
                        message->resource_type ? message->resource_type : "", message->action_id,
                        message->detail_id);
}

static void put_message(struct request *request, const struct message *message) {
    struct arena *arena = request->work.arena;
    struct json_out *out = &request->out;

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
static const struct page_column message_columns[] = {
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

const struct page_rules message_list_rules = {
    .resource = "message",
    .alias = "m",
    .collection = "messages",
    .links_word = "messages_links",
    .table = "messages",
    .columns = message_columns,
    .default_sort = "created_at",
};

static int read_page(struct request *request, struct page *ret, struct error *err) {
    const struct db_value project = DB_TEXT(request->context.project_id);

    if (request->minor >= MV_MESSAGE_PAGES)
        return page_read(request, &message_list_rules, true, ret, err);
    *ret = (struct page){
        .rules = &message_list_rules,
        .limit = request->work.settings->max_limit,
        .query = { .order = "m.created_at DESC, m.id DESC",
                   .limit = request->work.settings->max_limit },
    };
    page_and(request, ret, "m.project_id = ?", &project, 1);
    return 0;
}

static int list_messages(struct request *request, struct error *err) {
    struct message *messages = NULL;
    struct page page;
    int count = 0;

    if (read_page(request, &page, err) < 0)
        return -1;
    if (!page.empty)
        count = message_list(&request->work, &page.query, &messages, err);
    if (count < 0)
        return -1;
    out_begin_object(&request->out);
    out_key(&request->out, "messages");
    out_begin_array(&request->out);
    for (int i = 0; i < count; i++)
        put_message(request, &messages[i]);
    out_end_array(&request->out);
    if (count > 0)
        page_put_links(request, &page, (unsigned)count, count, messages[count - 1].id, false);
    out_end_object(&request->out);
    return 0;
}

static int show_message(struct request *request, struct error *err) {
    (void)err;
    out_begin_object(&request->out);
    out_key(&request->out, "message");
    put_message(request, request->message);
    out_end_object(&request->out);
    return 0;
}

static int delete_message(struct request *request, struct error *err) {
    return message_delete(&request->work, request->id, err);
}

/* clang-format off */
const struct route message_routes[] = {
    { .method = "GET", .path = "/messages", .since = MV_MESSAGES, .rule = "message:get_all",
      .handler = list_messages, .status = 200 },
    ABSENT("POST", "/messages"),
    { .method = "GET", .path = "/messages/{id}", .since = MV_MESSAGES, .loads = LOADS_MESSAGE,
      .rule = "message:get", .handler = show_message, .status = 200 },
    ABSENT("PUT", "/messages/{id}"),
    { .method = "DELETE", .path = "/messages/{id}", .since = MV_MESSAGES,
      .loads = LOADS_MESSAGE, .rule = "message:delete", .handler = delete_message, .status = 204,
      .flags = ROUTE_BARE },
    ROUTES_END
};
/* clang-format on */
