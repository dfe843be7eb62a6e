/*
 * The desired state of one document of this node: a volume's target or a replica's file, parsed and
 * validated.
 *
 * An assignment is immutable.  Threads share it by reference counting.
 */
#pragma once

#include "replication/engine/target.h"
#include "replication/node/client_exports.h"

#include <jansson.h>

enum assignment_kind { ASSIGNMENT_VOLUME, ASSIGNMENT_REPLICA };

#define ASSIGNMENT_SNAPSHOTS_MOST 64

struct assignment_snapshot {
    const char *uid;
    /* Of a replica: the replica that it is copied from, with the path of its pool; NULL: none. */
    struct replica source;
    bool remove;
};

/* The volume is reverted to a snapshot; it is exported to no client before. */
struct assignment_revert {
    const char *snapshot; /* uid; NULL: none */
    int64_t number;       /* of this revert */
    int64_t attempt;      /* the last one in the document */
    bool done;            /* according to the document */
};

/* The free space of a replica is reclaimed. */
enum assignment_reclaim_phase { RECLAIM_PENDING, RECLAIM_DONE, RECLAIM_ENDED /* and not done */ };

struct assignment_reclaim {
    int64_t number; /* of the request; 0: none */
    /* The last reported outcome. */
    enum assignment_reclaim_phase phase;
    bool unsupported;
    int64_t before_bytes, after_bytes;
};

/* Forced recovery from one replica.  The request is confirmed when the number of the volume's last
 * recovery equals its own. */
struct assignment_recovery {
    const char *replica; /* uid; NULL: none */
    int64_t number;
};

struct assignment_volume {
    int64_t size_bytes, maximum_bytes;
    const char *node;       /* of its target; "": none */
    bool has_target;        /* according to its status */
    int64_t observed;       /* generation of its status */
    const char *phase;      /* in its status; NULL: none */
    int64_t reported_bytes; /* capacity in its status; 0: none */
    const char *text;       /* the document, for the manifest */
    struct target_qos qos;
    enum target_export export;
    bool device; /* the file is a block device, too */
    unsigned count;
    struct replica replicas[MEMBERS_MOST];
    const char *pools[MEMBERS_MOST]; /* their names */
    const char *nodes[MEMBERS_MOST]; /* of the pools; NULL: unknown */
    /* host:port of the replica for other nodes; NULL: accessible by its path only. */
    const char *addresses[MEMBERS_MOST];
    int64_t epoch;         /* replicas accept the highest epoch that they have seen; 0: none */
    bool claimed;          /* the API assigns it to no other node before this one releases it */
    const char *removing;  /* uid of a replica; NULL: none */
    bool closed;           /* its address is not reported */
    unsigned client_count; /* admitted hosts beside its own, */
    struct export_client clients[CLIENT_EXPORTS_MOST]; /* with the ports in its status */
    unsigned snapshot_count;                           /* to be taken */
    const struct assignment_snapshot *snapshots;
    struct assignment_revert revert;
    struct assignment_recovery recovery;
    int64_t recovered; /* number of the last confirmed recovery; 0: none */
};

struct assignment_replica {
    const char *volume; /* uid */
    const char *pool, *path;
    int64_t size_bytes, maximum_bytes;
    unsigned count; /* of members; 0: it is created empty */
    const char *members[REPLICAS_MOST];
    const char *source, *source_snapshot; /* uids: initial data of a clone's replica; NULL: none */
    unsigned snapshot_count;              /* to be held or removed */
    const struct assignment_snapshot *snapshots;
    struct assignment_reclaim reclaim;
    const char *phase; /* in its status; NULL: none */
    /* Its file existed before: it is not created with the volume's first generation again, which
     * would make it an up-to-date replica without the data written since. */
    bool created;
};

struct assignment {
    enum assignment_kind kind;
    const char *uid;
    int64_t version, generation;
    bool deleting; /* has a deletion time */
    struct assignment_volume volume;
    struct assignment_replica replica;
};

/* Name of a replica's pool; NULL: the volume has no such replica. */
const char *assignment_pool(const struct assignment_volume *volume, const char *replica);

/* A message for a status; one of a program or the kernel may be invalid UTF-8. */
json_t *assignment_message(const char *message);

/* Held by the caller.  -1 (ERROR_BACKEND): invalid document. */
int assignment_read(enum assignment_kind kind, const json_t *document, struct assignment **ret,
                    struct error *err);
struct assignment *assignment_hold(struct assignment *assignment);
void assignment_release(struct assignment *assignment); /* NULL is fine */
