#include "client/watch.h"

#include "common/clock.h"

#include <inttypes.h>
#include <string.h>

#define LINE_MOST        ((size_t)4 * 1024 * 1024)
#define QUIET_MS         45000   /* the service sends bookmarks more often */
#define LASTS_AT_MOST_MS 1200000 /* the service ends it earlier */

struct watch {
    struct arena *arena; /* of the current line */
    const char *name;    /* of the peer, in messages */
    int64_t *version;
    client_watch_event *each;
    void *arg;
    int outcome;
    struct error *err;
};

static int read_event(struct watch *watch, const char *line, size_t size, struct error *err) {
    const json_t *event = json_parse(watch->arena, line, size, NULL);
    const json_t *object = json_object_get(event, "object");
    const char *type = json_text_of(event, "type");
    const char *text = json_text_at(object, "metadata.resourceVersion");
    int64_t version;

    if (!type || !text || !json_digits(text, &version))
        return error_set(err, ERROR_UNAVAILABLE, "unexpected response of %s: %.200s", watch->name,
                         line);
    watch->outcome = watch->each(watch->arg, type, object, err);
    /* the initial events come in no order of versions */
    if (watch->outcome >= 0 && (*watch->version >= 0 || strcmp(type, "BOOKMARK") == 0))
        *watch->version = version;
    return watch->outcome;
}

static bool take_line(void *arg, const char *line, size_t size) {
    struct watch *watch = arg;

    watch->outcome = size > 0 ? read_event(watch, line, size, watch->err) : 0;
    arena_reset(watch->arena);
    return watch->outcome == 0;
}

int client_watch(const struct client *client, struct arena *arena, const char *path,
                 int64_t *version, client_watch_event *each, void *arg, const int64_t *until_us,
                 struct error *err) {
    autoarena struct arena *own = arena_new();
    struct error failure = { .kind = ERROR_NONE };
    struct watch watch = {
        .arena = own, .name = client->name, .version = version, .each = each, .arg = arg, .err = err
    };
    const struct http_lines lines = {
        .each = take_line, .arg = &watch, .most = LINE_MOST, .quiet_ms = QUIET_MS
    };
    const char *sign = strchr(path, '?') ? "&" : "?";
    const struct client_call call = {
        .method = "GET",
        .path = *version < 0 ? arena_format(arena, "%s%swatch=true", path, sign)
                             : arena_format(arena, "%s%swatch=true&resourceVersion=%" PRId64, path,
                                            sign, *version),
        .lines = &lines,
        .done = { 200 },
    };
    struct client lasting = *client;
    struct http_answer answer;
    int64_t end_us;
    int result;

    lasting.repeats = 0;
    lasting.timeout_ms = LASTS_AT_MOST_MS;
    lasting.until_us = until_us;
    result = client_call(&lasting, arena, &call, &answer, &failure);
    if (watch.outcome < 0)
        return -1;
    end_us = until_us ? __atomic_load_n(until_us, __ATOMIC_RELAXED) : 0;
    if (result == 0 || watch.outcome > 0 || (end_us != 0 && clock_monotonic_us() >= end_us))
        return 0;
    if (failure.kind == ERROR_GONE)
        return 1;
    *err = failure;
    return -1;
}
