/*
 * The PostgreSQL server of a session: its results, and the effect of a failure on the session.
 * Each wait has a deadline, after which the session counts as lost.
 */
#pragma once

#include "common/arena.h"
#include "db/postgresql/settings.h"

#include <libpq-fe.h>

/* The effect of the last failure on its transaction. */
enum session_fate {
    SESSION_GOOD,
    SESSION_AGAIN, /* nothing of it took effect: a retry may succeed */
    SESSION_LOST   /* the session is lost; statements sent before may have taken effect */
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

/* Reads the result of the last statement; NULL: see `err` and the fate. */
PGresult *server_read(struct server *server, struct error *err);

/* The same for statements sent together, up to their end. */
PGresult *server_read_pipeline(struct server *server, struct error *err);

/* Sets `err`, the failure and the fate; returns -1. */
int server_lost(struct server *server, const char *why, struct error *err);
int server_lost_as_told(struct server *server, struct error *err); /* with libpq's message */
