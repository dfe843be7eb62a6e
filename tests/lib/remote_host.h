/*
 * A remote host with replicas, in the process of a test: functions take the part of its agent, and
 * one storage daemon for each session serves the data at a port of 127.0.0.1.
 */
#pragma once

#include "replication/engine/replica_access.h"

#include <stdatomic.h>
#include <sys/types.h>

struct remote_session {
    char uid[UUID_SIZE];
    int64_t epoch;
    pid_t pid; /* of its daemon; 0: none */
};

struct remote_host {
    const char *directory;     /* for its files */
    const char *tls_directory; /* NULL: no TLS */
    bool away;                 /* only the daemons respond */
    const char *mute;          /* the replica whose daemon never responds */
    atomic_uint opened;        /* sessions */
    struct remote_session sessions[MEMBERS_MOST];
    struct replica_access access; /* of its replicas */
};

void remote_host_begin(struct remote_host *host, const char *directory, const char *tls_directory);
/* Ends all daemons. */
void remote_host_end(struct remote_host *host);

/* The daemon that serves the replica, or 0. */
pid_t remote_host_server(const struct remote_host *host, const char *uid);
void remote_host_kill(struct remote_host *host, const char *uid);
