/*
 * What one document wants of this node: a volume's target, or a replica's file.  Read from the form
 * in which documents travel, and checked: what is in a wish makes sense in itself.
 *
 * A wish does not change.  Threads share it: each that keeps it holds it, and the last lets it go.
 */
#pragma once

#include "replication/engine/target.h"
#include "replication/node/gates.h"

#include <jansson.h>

enum wish_kind { WISH_VOLUME, WISH_REPLICA };

#define WISH_SNAPSHOTS_MOST 64

struct wish_snapshot {
    const char *uid;
    /* Of a replica: the one that it is copied from, and the path of its pool; NULL: none. */
    struct replica source;
    bool remove;
};

/* The volume is put back to a snapshot, and nobody is let in before. */
struct wish_revert {
    const char *snapshot; /* uid; NULL: it is not */
    int64_t number;       /* of this revert */
    int64_t attempt;      /* the last that the document has heard of */
    bool done;            /* as the document says */
};

/* A replica gives back room that holds nothing. */
enum wish_reclaim_phase { RECLAIM_PENDING, RECLAIM_DONE, RECLAIM_ENDED /* and not done */ };

struct wish_reclaim {
    int64_t number; /* of the request; 0: it is not asked for */
    /* As the document has heard of it. */
    enum wish_reclaim_phase phase;
    bool unsupported;
    int64_t before_bytes, after_bytes;
};

/* One of its replicas is believed alone: the word stands when the volume says that it is salvaged
 * by that number. */
struct wish_salvage {
    const char *replica; /* uid; NULL: none is */
    int64_t number;
};

struct wish_volume {
    int64_t size_bytes, maximum_bytes;
    const char *node;  /* where its target is to be; "": nowhere */
    bool has_target;   /* its status says that there is one */
    int64_t observed;  /* the generation that its status is about */
    const char *phase; /* that its status says; NULL: none */
    int64_t had_bytes; /* the capacity that its status says; 0: none */
    const char *text;  /* the document, to be read again */
    struct target_qos qos;
    enum target_export export;
    unsigned count;
    struct replica replicas[REPLICAS_MOST];
    const char *pools[REPLICAS_MOST]; /* their names */
    const char *nodes[REPLICAS_MOST]; /* of the pools; NULL: it is not said */
    /* Where other nodes than that reach it, host:port; NULL: by its path alone. */
    const char *addresses[REPLICAS_MOST];
    int64_t epoch;         /* replicas obey the highest that they have seen; 0: none */
    bool claimed;          /* nobody else gets it before we have said that we have it no more */
    const char *removing;  /* uid of a replica; NULL: none */
    bool closed;           /* clients are not told where it is */
    unsigned client_count; /* hosts beside its own that are let in, */
    struct gate_client clients[GATES_MOST]; /* with the ports that its status says */
    unsigned snapshot_count;                /* that are to be taken */
    const struct wish_snapshot *snapshots;
    struct wish_revert revert;
    struct wish_salvage salvage;
    int64_t salvaged; /* the last that stands; 0: none */
};

struct wish_replica {
    const char *volume; /* uid */
    const char *pool, *path;
    int64_t size_bytes, maximum_bytes;
    unsigned count; /* of members; 0: it is made empty */
    const char *members[REPLICAS_MOST];
    const char *source, *source_snapshot; /* uids: what a clone's begins with; NULL: nothing */
    unsigned snapshot_count;              /* that it is to hold, or to remove */
    const struct wish_snapshot *snapshots;
    struct wish_reclaim reclaim;
    const char *phase; /* that its status says; NULL: none */
    /* Its file was there once: it is never made with the volume's first generation again, as it
     * would pass for one that has all that was written. */
    bool made;
};

struct wish {
    enum wish_kind kind;
    const char *uid;
    int64_t version, generation;
    bool going; /* has a deletion time */
    struct wish_volume volume;
    struct wish_replica replica;
};

/* Name of the pool of one of its replicas; NULL: it is none. */
const char *wish_pool(const struct wish_volume *volume, const char *replica);

/* What a program or the kernel has said, as a member of a status. */
json_t *wish_text(const char *message);

/* Held by the caller. -1 (ERROR_BACKEND): such a document makes no sense. */
int wish_read(enum wish_kind kind, const json_t *document, struct wish **ret, struct error *err);
struct wish *wish_hold(struct wish *wish);
void wish_release(struct wish *wish); /* NULL is fine */
