/*
 * Changes of documents as they happen: a list that goes on.
 */
#pragma once

#include "client/client.h"

#include <jansson.h>

#define WATCH_FROM_THE_BEGINNING (-1)

/*
 * One change: "ADDED", "MODIFIED" (one that was told already may come so, or as ADDED, once more) or
 * "DELETED" (perhaps of one that was never told), and the document, which lives until this returns.
 * "BOOKMARK" says that all up to the version of its metadata was told; it comes now and then, and
 * first behind all that there was when the watch began from the beginning.
 * 0: go on; 1: it is enough; -1: failed, and err says why.
 */
typedef int client_watch_event(void *arg, const char *type, const json_t *object,
                               struct error *err);

/*
 * Calls `each` for every change behind *version of the documents that `path` lists
 * ("/volume_replicas?node=a"), until the service ends the watch, some minutes later.  *version
 * follows what was told, and a watch from there misses nothing.  From the beginning everything that
 * there is comes first, as ADDED; *version is none before all of it was told.
 *
 * 0: it has ended in good order, `until_us` is over (an instant of the monotonic clock that another
 * thread may set, atomically; NULL, or 0: none) or `each` has enough.
 * 1: *version is too old: list anew, or watch from the beginning.
 * -1: failed; try again after a pause.
 */
int client_watch(const struct client *client, struct arena *arena, const char *path,
                 int64_t *version, client_watch_event *each, void *arg, const int64_t *until_us,
                 struct error *err);
