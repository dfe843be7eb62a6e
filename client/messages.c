#include "client/messages.h"

static int read_message(struct arena *arena, const json_t *object, void *ret, struct error *err) {
    const struct remote_message message = { json_text_of(object, "event_id"),
                                            json_text_of(object, "user_message") };

    (void)arena;
    if (!message.event_id || !message.text)
        return error_set(err, ERROR_UNAVAILABLE, "the volume API described no message");
    *(struct remote_message *)ret = message;
    return 0;
}

int messages_newest(const struct client *api, struct arena *arena, const char *resource_id,
                    struct remote_message *ret, struct error *err) {
    const char *query = arena_join(
        arena, "sort=created_at:desc&resource_uuid=", http_encode(arena, resource_id), NULL);
    void *rows = NULL;
    int count = client_list(api, arena, client_page(arena, "/messages", query, NULL, 1), "messages",
                            read_message, sizeof(struct remote_message), &rows, err);

    if (count > 0)
        *ret = *(const struct remote_message *)rows;
    return count < 0 ? -1 : count > 0;
}
