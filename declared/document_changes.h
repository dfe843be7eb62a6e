/*
 * What has become of documents since a version: for who watches them.
 *
 * Changes are read in the order of their versions, each document once, as it is now; so who goes on
 * from what was read last misses none, and hears of a document that changes faster than he reads
 * what it is and not what it was.  A version is given while all later ones wait for its
 * transaction's end (document_store.h): none appears behind one that was seen.
 */
#pragma once

#include "declared/document_store.h"
#include "ledger/pairs.h"

/* What somebody watches; what is NULL, or empty, is not asked for. */
struct document_scope {
    const struct document_kind *kind;
    const char *project_id, *name, *node;
    struct pairs labels;
};

/* How far somebody has come. */
struct document_position {
    int64_t version; /* all up to this one is known */
    /* Who begins with all there is began here: of what has gone before nothing was ever told. */
    int64_t floor;
};

struct document_change {
    int64_t version;
    enum {
        DOCUMENT_IS,    /* so, since this version */
        DOCUMENT_MOVED, /* had other labels, or another node; perhaps it has changed since */
        DOCUMENT_GONE,  /* of the document only its names are known */
    } what;
    struct document document;
};

enum document_watch_event {
    DOCUMENT_NO_EVENT,
    DOCUMENT_ADDED,
    DOCUMENT_MODIFIED, /* or added, and never told before it was modified */
    DOCUMENT_DELETED,  /* or no longer in the scope; perhaps it was never told */
    DOCUMENT_BOOKMARK, /* nothing but the version */
    DOCUMENT_WATCH_EVENTS
};

/*
 * The next changes that may concern the scope, fewer than there are when they are many or large:
 * *ret_version is how far they go, the last version of all when they are all.  How many, or -1.
 */
int document_changes(struct work *work, const struct document_scope *scope, int64_t after,
                     struct document_change **ret, int64_t *ret_version, struct error *err);

/* ERROR_GONE: what has happened since is not kept any more, or that version is not of this
 * database. */
int document_position_check(const struct document_position *position, int64_t last,
                            struct error *err);

/* What a change is to somebody. */
enum document_watch_event document_watch_event_of(const struct document_scope *scope,
                                                  const struct document_position *position,
                                                  const struct document_change *change);
/* A line {"type": …, "object": …}, in the arena; the object of a bookmark is its version alone. */
const char *document_watch_event_text(struct arena *arena, enum document_watch_event event,
                                      const struct document_change *change);
