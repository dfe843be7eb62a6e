/*
 * Watches documents: a list followed by their changes.
 */
#pragma once

#include "client/client.h"

#include <jansson.h>

#define WATCH_FROM_THE_BEGINNING (-1)

/*
 * One change: "ADDED", "MODIFIED" (possibly repeated, also as ADDED) or "DELETED" (possibly of an
 * unreported one), and the document, which lives until this returns.  "BOOKMARK": all changes up to
 * the version of its metadata were reported; it comes periodically, and first after the initial
 * list.  0: continue; 1: stop; -1: failed, see err.
 */
typedef int client_watch_event(void *arg, const char *type, const json_t *object,
                               struct error *err);

/*
 * Calls `each` for every change after *version of the documents that `path` lists
 * ("/volume_replicas?node=a"), until the service ends the watch after some minutes.  *version is
 * advanced, and a watch from there misses nothing.  Without a version all existing documents are
 * reported first, as ADDED; *version stays unset until that is complete.
 *
 * 0: ended normally, `until_us` is over (an instant of the monotonic clock that another thread may
 * set, atomically; NULL, or 0: none) or `each` stopped it.  1: *version is too old: list again, or
 * watch from the beginning.  -1: failed; retry after a pause.
 */
int client_watch(const struct client *client, struct arena *arena, const char *path,
                 int64_t *version, client_watch_event *each, void *arg, const int64_t *until_us,
                 struct error *err);
