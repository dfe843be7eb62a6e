/*
 * One watch of a client: its position, and its filters.  In one allocation: there may be a thousand
 * idle ones.
 */
#pragma once

#include "declared/document_changes.h"
#include "http/stream.h"

#include <stdbool.h>
#include <sys/queue.h>

/* Filters of a watch. */
struct watch {
    struct document_scope scope;
    struct document_position position;
    bool begins;     /* from the beginning, followed by a bookmark */
    bool sees_hosts; /* an administrator */
    int64_t timeout_ms;
};

struct watcher {
    TAILQ_ENTRY(watcher) next;
    struct document_scope scope;
    struct document_position position;
    struct http_stream *stream;
    const char *project, *peer; /* owner of its slots */
    int64_t until_us, spoken_us;
    bool begins; /* the bookmark after the initial list is still due */
    bool sees_hosts;
    bool full; /* its client must read first */
    bool over;
    struct pair labels[];
};

/* A part of the changes, with the text of each, once for all watches, and once for those that may
 * see all of it. */
struct watch_part {
    struct document_change *changes;
    unsigned count;
    int64_t version; /* its last version */
    const char *(*texts)[2][DOCUMENT_WATCH_EVENTS];
};

/* Without a stream yet; freed with free(). */
struct watcher *watcher_new(const struct watch *watch, const char *project, const char *peer);

/* False: it was not queued.  An empty text queries whether one can be. */
bool watcher_say(struct watcher *watcher, const char *text);
void watcher_say_bookmark(struct watcher *watcher, struct arena *arena);
/* Sends the matching changes of a part that starts at the watch's position, as far as its client
 * reads them.  Two changes may have one version: both are sent, or repeated. */
void watcher_tell(struct watcher *watcher, struct arena *arena, const struct watch_part *part);
