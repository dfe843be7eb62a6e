/*
 * Changes of documents since a version, for watches.
 *
 * Changes are read in the order of their versions, each document once, in its current state: a
 * watch that continues from the last version it read misses none, and sees only the last state of
 * a document that changes faster. Versions are assigned in the order of commits
 * (document_store.h): none appears below one that was read.
 */
#pragma once

#include "declared/document_store.h"
#include "operation/pairs.h"

/* The scope of a watch; NULL or empty: any. */
struct document_scope {
    const struct document_kind *kind;
    const char *project_id, *name, *node;
    struct pairs labels;
};

/* The progress of a watch. */
struct document_position {
    int64_t version; /* all changes up to this one are reported */
    /* The version at which a watch began with a list of all: earlier deletions are not reported. */
    int64_t floor;
};

struct document_change {
    int64_t version;
    enum {
        DOCUMENT_IS, /* exists in this state since this version */
        /* had other labels or another node until this version; may have changed since */
        DOCUMENT_MOVED,
        DOCUMENT_GONE, /* deleted: only its names are known */
    } what;
    struct document document;
};

enum document_watch_event {
    DOCUMENT_NO_EVENT,
    DOCUMENT_ADDED,
    DOCUMENT_MODIFIED, /* or added and modified before it was reported */
    DOCUMENT_DELETED,  /* or left the scope; perhaps it was never reported */
    DOCUMENT_BOOKMARK, /* a version only */
    DOCUMENT_WATCH_EVENTS
};

/*
 * The next changes that may concern the scope, fewer than exist when they are many or large;
 * *ret_version: the last version covered, that of the last change of all when all are covered.
 * Their number, or -1.
 */
int document_changes(struct work *work, const struct document_scope *scope, int64_t after,
                     struct document_change **ret, int64_t *ret_version, struct error *err);

/* ERROR_GONE: later changes are no longer stored, or that version is not of this database. */
int document_position_check(const struct document_position *position, int64_t last,
                            struct error *err);

/* The event of a change for a watch. */
enum document_watch_event document_watch_event_of(const struct document_scope *scope,
                                                  const struct document_position *position,
                                                  const struct document_change *change);
/* A line {"type": …, "object": …}, in the arena; the object of a bookmark has only its version. */
const char *document_watch_event_text(struct arena *arena, enum document_watch_event event,
                                      const struct document_change *change);
