/*
 * The PostgreSQL server at the other end of a session: what it answers, and what a failure means
 * for the session.  Waiting has a deadline, behind which the session counts as lost.
 */
#pragma once

#include "common/arena.h"
#include "db/postgresql/settings.h"

#include <libpq-fe.h>

/* What the last failure means for the transaction it happened in. */
enum session_fate {
    SESSION_GOOD,
    SESSION_AGAIN, /* nothing of it took effect: the same again may succeed */
    SESSION_LOST   /* the session is gone; what was sent before may or may not have taken effect */
};

struct server {
    PGconn *handle;
    const struct session_settings *settings;
    enum session_fate fate; /* of the last failure since session_begin() */
    struct error failure;   /* that failure */
    char state[6];          /* SQLSTATE of the last failure that had one */
    struct arena *scratch;
};

int server_connect(struct server *server, struct error *err);

/* Reads the answer to what was sent; NULL: `err` and the fate say why. */
PGresult *server_read(struct server *server, struct error *err);

/* The same for statements that were sent together, up to their end. */
PGresult *server_read_pipeline(struct server *server, struct error *err);

/* Sets `err`, the failure and the fate; returns -1. */
int server_lost(struct server *server, const char *why, struct error *err);
int server_lost_as_told(struct server *server, struct error *err); /* in libpq's words */
