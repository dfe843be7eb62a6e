/*
 * Another host with replicas, in the process of a test: what an agent there would do is done by
 * functions, and one storage daemon for each session serves the data at a port of 127.0.0.1.
 */
#pragma once

#include "replication/engine/replica_access.h"

#include <sys/types.h>

struct far_session {
    char uid[UUID_SIZE];
    int64_t epoch;
    pid_t pid; /* of its daemon; 0: none */
};

struct far_host {
    const char *directory;     /* for its files */
    const char *tls_directory; /* NULL: no TLS */
    bool away;                 /* nobody answers but the daemons */
    const char *mute;          /* this one's daemon says nothing from its beginning on */
    unsigned opened;           /* sessions */
    struct far_session sessions[REPLICAS_MOST];
    struct replica_access access; /* of its replicas */
};

void far_begin(struct far_host *host, const char *directory, const char *tls_directory);
/* Ends all daemons. */
void far_end(struct far_host *host);

/* The daemon that serves it, or 0. */
pid_t far_server(const struct far_host *host, const char *uid);
void far_kill(struct far_host *host, const char *uid);
