#include "api/documents/watcher.h"

#include "common/clock.h"
#include "common/heap.h"

#include <string.h>

static char *keep(char **room, const char *text) {
    char *kept = *room;

    if (!text)
        return NULL;
    *room = stpcpy(kept, text) + 1;
    return kept;
}

static size_t size_of(const char *text) {
    return text ? strlen(text) + 1 : 0;
}

struct watcher *watcher_new(const struct watch *watch, const char *project, const char *peer) {
    const struct document_scope *scope = &watch->scope;
    size_t labels = scope->labels.count * sizeof(struct pair);
    size_t size = size_of(scope->project_id) + size_of(scope->name) + size_of(scope->node) +
                  size_of(project) + size_of(peer);
    struct watcher *watcher;
    char *room;

    for (unsigned i = 0; i < scope->labels.count; i++)
        size += size_of(scope->labels.items[i].key) + size_of(scope->labels.items[i].value);
    watcher = heap_new(sizeof(*watcher) + labels + size);
    room = (char *)watcher->labels + labels;
    watcher->scope = (struct document_scope){
        .kind = scope->kind,
        .project_id = keep(&room, scope->project_id),
        .name = keep(&room, scope->name),
        .node = keep(&room, scope->node),
        .labels = { watcher->labels, scope->labels.count },
    };
    for (unsigned i = 0; i < scope->labels.count; i++) {
        watcher->labels[i].key = keep(&room, scope->labels.items[i].key);
        watcher->labels[i].value = keep(&room, scope->labels.items[i].value);
    }
    watcher->project = keep(&room, project);
    watcher->peer = keep(&room, peer);
    watcher->position = watch->position;
    watcher->begins = watch->begins;
    watcher->sees_hosts = watch->sees_hosts;
    watcher->spoken_us = clock_monotonic_us();
    watcher->until_us = watcher->spoken_us + watch->timeout_ms * 1000;
    return watcher;
}

bool watcher_say(struct watcher *watcher, const char *text) {
    enum http_stream_state state = http_stream_put(watcher->stream, text, strlen(text));

    watcher->full = state == HTTP_STREAM_FULL;
    watcher->over |= state == HTTP_STREAM_OVER;
    if (state != HTTP_STREAM_TAKEN)
        return false;
    if (*text)
        watcher->spoken_us = clock_monotonic_us();
    return true;
}

void watcher_say_bookmark(struct watcher *watcher, struct arena *arena) {
    const struct document_change at = { .version = watcher->position.version,
                                        .document = { .kind = watcher->scope.kind } };

    if (watcher_say(watcher, document_watch_event_text(arena, DOCUMENT_BOOKMARK, &at)))
        watcher->begins = false;
}

static bool tell_change(struct watcher *watcher, struct arena *arena, const struct watch_part *part,
                        unsigned i) {
    const struct document_change *change = &part->changes[i];
    enum document_watch_event event =
        document_watch_event_of(&watcher->scope, &watcher->position, change);
    const char **text = &part->texts[i][watcher->sees_hosts][event];

    if (event == DOCUMENT_NO_EVENT)
        return true;
    if (!*text) {
        const struct document *document = &change->document;
        struct document_change told = *change;

        told.document.name = document_name_shown(document, watcher->sees_hosts);
        told.document.body = document_body_shown(arena, document, watcher->sees_hosts);
        told.document.status = document_status_shown(arena, document, watcher->sees_hosts);
        *text = document_watch_event_text(arena, event, &told);
    }
    return watcher_say(watcher, *text);
}

void watcher_tell(struct watcher *watcher, struct arena *arena, const struct watch_part *part) {
    int64_t told = watcher->position.version;

    for (unsigned i = 0; i < part->count; i++) {
        if (part->changes[i].version > told)
            watcher->position.version = told;
        if (!tell_change(watcher, arena, part, i))
            return;
        if (part->changes[i].version > told)
            told = part->changes[i].version;
    }
    if (part->version > watcher->position.version)
        watcher->position.version = part->version;
}
