/*
 * Any bytes: envelope_read() refuses with a reason that repeats nothing of them, or gives a request
 * whose arguments are a JSON object; one that is written again reads the same.
 */
#include "common/utf8.h"
#include "rpc/amqp/url.h"
#include "rpc/envelope.h"
#include "json/json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void require(bool condition) {
    if (!condition)
        abort();
}

static void require_text(const char *text) {
    require(text && strlen(text) <= 255 && utf8_valid(text, strlen(text)));
}

static void require_request(struct arena *arena, const struct envelope *envelope) {
    unsigned major, minor;
    struct error err;

    require_text(envelope->method);
    require(*envelope->method != '\0');
    require_text(envelope->key);
    require(envelope_version(envelope->version, &major, &minor));
    require(!envelope->message_id == !envelope->reply_queue);
    require(
        json_is_object(json_parse(arena, envelope->arguments, strlen(envelope->arguments), &err)));
}

static void write_and_read(struct arena *arena, const struct envelope *envelope) {
    const struct rpc_message message = { .method = envelope->method,
                                         .key = envelope->key,
                                         .payload = envelope->arguments };
    const char *text = envelope_request(arena, &message, "0");
    struct envelope again;
    struct error err;

    require(envelope_read(arena, text, strlen(text), &again, &err) == 0);
    require(strcmp(again.method, envelope->method) == 0);
    require(strcmp(again.key, envelope->key) == 0);
    require(strcmp(again.arguments, envelope->arguments) == 0);
}

static void parse_url(struct arena *arena, const uint8_t *bytes, size_t size) {
    struct amqp_url url;
    struct error err = { 0 };

    if (amqp_url_parse(arena, arena_text_n(arena, (const char *)bytes, size), false, &url, &err) <
        0) {
        require(err.kind == ERROR_BAD_REQUEST && err.message[0] != '\0');
        return;
    }
    for (unsigned i = 0; i < url.host_count; i++)
        require(url.hosts[i].port > 0 && *url.hosts[i].name != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    autoarena struct arena *arena = arena_new();
    struct envelope envelope;
    struct error err = { 0 };

    parse_url(arena, bytes, size);
    if (envelope_read(arena, bytes, size, &envelope, &err) < 0) {
        require(err.kind == ERROR_BAD_REQUEST && err.message[0] != '\0');
        return 0;
    }
    require_request(arena, &envelope);
    write_and_read(arena, &envelope);
    return 0;
}
