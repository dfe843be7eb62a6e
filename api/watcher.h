/*
 * One of those who watch: how far it has come, and what it hears.  It is in one piece of memory:
 * there may be a thousand that have nothing to do.
 */
#pragma once

#include "declared/document_changes.h"
#include "http/stream.h"

#include <stdbool.h>
#include <sys/queue.h>

/* What one wants to hear. */
struct watch {
    struct document_scope scope;
    struct document_position position;
    bool begins;     /* with all there is, and then a bookmark */
    bool sees_hosts; /* an administrator */
    int64_t timeout_ms;
};

struct watcher {
    TAILQ_ENTRY(watcher) next;
    struct document_scope scope;
    struct document_position position;
    struct http_stream *stream;
    const char *project, *peer; /* whose seats it has */
    int64_t until_us, spoken_us;
    bool begins; /* has not heard yet that it was told all there was */
    bool sees_hosts;
    bool full; /* its client has to read first */
    bool over;
    struct pair labels[];
};

/* A part of what has changed, and each change as it is told, once for all who hear it, and once for
 * those who see all of it. */
struct watch_part {
    struct document_change *changes;
    unsigned count;
    int64_t version; /* how far it goes */
    const char *(*texts)[2][DOCUMENT_NEWS];
};

/* Without a stream yet; freed with free(). */
struct watcher *watcher_new(const struct watch *watch, const char *project, const char *peer);

/* False: it was not taken.  Nothing is said to hear whether something can be. */
bool watcher_say(struct watcher *watcher, const char *text);
void watcher_say_bookmark(struct watcher *watcher, struct arena *arena);
/* What concerns it of a part that goes on from where it is, as far as its client takes it.  Two
 * changes may have one version: they are told both, or once more. */
void watcher_tell(struct watcher *watcher, struct arena *arena, const struct watch_part *part);
