/*
 * Sessions: replicas of this node that targets of other nodes have open
 * (replication/engine/replica_access.h).  Each is a storage daemon of its own that exports the one
 * file over NBD with TLS, at a port of its own and by a name that nobody can guess: who was told
 * the last one does not find the next.  It lets in nobody but who has opened it, by the name in his
 * certificate.
 *
 * A session outlives the agent, and ends when a new one begins, when its target closes it, when the
 * replica is deleted, when a target of this node wants the replica in a later epoch, and when
 * nobody will use it again (session_reaper.h).  All that is known of one stands beside its daemon:
 * nothing is to be found again.
 */
#pragma once

#include "replication/engine/replica.h"
#include "replication/node/nbd_server.h"

#define SESSION_NAME_SIZE 128

struct sessions;

struct sessions_settings {     /* what they point to outlives them */
    const char *run_directory; /* absolute, at most 66 bytes */
    struct nbd_server_settings listener;
};

struct session_request {
    const char *pool, *volume;
    const char *client; /* whom it is for (http_exchange.client); NULL, "": whoever is trusted */
    int64_t epoch;
};

struct replica_session {
    int64_t epoch;
    unsigned port;
    char name[SESSION_NAME_SIZE]; /* of the export */
    char volume[UUID_SIZE];
    const char *pool, *path; /* the pool's name, and its directory */
};

/* What daemons that run no more have left is removed. */
struct sessions *sessions_new(const struct sessions_settings *settings);
void sessions_free(struct sessions *sessions); /* daemons serve on; NULL is fine */

/*
 * Ends the one that there is and begins another; the replica's epoch is taken first.
 * ERROR_CONFLICT: a higher epoch has it, or somebody decides about the replica.
 */
int sessions_begin(struct sessions *sessions, const struct replica *replica,
                   const struct session_request *request, struct replica_session *ret,
                   struct error *err);

/* Ends the session of a replica unless its epoch is higher than `epoch`: 0 when there is none any
 * more, or a later one. */
int sessions_end(struct sessions *sessions, const char *uid, int64_t epoch, struct error *err);

/* Ends this very session, and none that began since. */
int sessions_end_one(struct sessions *sessions, const char *uid,
                     const struct replica_session *session, struct error *err);

/* The replicas that have one; NULL is behind the last. */
const char **sessions_all(struct sessions *sessions, struct arena *arena);

/* Is there one that serves?  Its texts are in the arena. */
bool sessions_find(struct sessions *sessions, struct arena *arena, const char *uid,
                   struct replica_session *ret);

/* Where the write logs of this host's replicas are (replication/engine/write_log.h). */
const char *sessions_write_logs(const struct sessions *sessions, struct arena *arena);

/* Strangers that probe make its daemon say more: that is cut where it has become much. */
void sessions_trim_log(struct sessions *sessions, const char *uid);
