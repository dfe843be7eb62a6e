/*
 * Sessions: replicas of this node that targets of other nodes have open
 * (replication/engine/replica_access.h).  Each is a storage daemon of its own that exports one file
 * over NBD with TLS, at a port of its own and with a random name, so that a client of an earlier
 * session cannot use a later one.  It admits only the node that opened it, by the name in its
 * certificate.
 *
 * A session outlives the agent.  It ends when a new one starts, when its target closes it, when the
 * replica is deleted, when a target of this node opens the replica in a later epoch, and when it is
 * unused (session_reaper.h).  Its properties are in a manifest beside its daemon.
 */
#pragma once

#include "replication/engine/replica.h"
#include "replication/node/nbd_server.h"

#define SESSION_NAME_SIZE 128

struct sessions;

struct sessions_settings {     /* referenced objects outlive them */
    const char *run_directory; /* absolute, at most 66 bytes */
    struct nbd_server_settings listener;
};

struct session_request {
    const char *pool, *volume;
    const char *client; /* admitted client (http_exchange.client); NULL, "": any trusted one */
    int64_t epoch;
};

struct replica_session {
    int64_t epoch;
    unsigned port;
    char name[SESSION_NAME_SIZE]; /* of the export */
    char volume[UUID_SIZE];
    const char *pool, *path; /* name and directory of the pool */
};

/* Removes files of terminated daemons. */
struct sessions *sessions_new(const struct sessions_settings *settings);
void sessions_free(struct sessions *sessions); /* daemons go on serving; NULL is fine */

/*
 * Records the epoch of the replica, then ends its session and starts another one.  ERROR_CONFLICT:
 * the replica has a higher epoch, or is locked.
 */
int sessions_begin(struct sessions *sessions, const struct replica *replica,
                   const struct session_request *request, struct replica_session *ret,
                   struct error *err);

/* Ends the session of a replica unless its epoch is higher than `epoch`.  0: no session is left, or
 * a later one. */
int sessions_end(struct sessions *sessions, const char *uid, int64_t epoch, struct error *err);

/* Ends this session, but no later one. */
int sessions_end_one(struct sessions *sessions, const char *uid,
                     const struct replica_session *session, struct error *err);

/* Uids of replicas with a session, ended with NULL. */
const char **sessions_all(struct sessions *sessions, struct arena *arena);

/* Is there a running session?  Its texts are in the arena. */
bool sessions_find(struct sessions *sessions, struct arena *arena, const char *uid,
                   struct replica_session *ret);

/* Directory of write logs of this host's replicas (replication/engine/write_log.h). */
const char *sessions_write_logs(const struct sessions *sessions, struct arena *arena);

/* Refused connections grow the log of its daemon; it is truncated when it is large. */
void sessions_trim_log(struct sessions *sessions, const char *uid);
