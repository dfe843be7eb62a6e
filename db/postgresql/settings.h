/*
 * The URL of a PostgreSQL database, as parsed by libpq.  Messages about a URL contain no part of
 * its password.
 */
#pragma once

#include "common/error.h"

#include <stdbool.h>

struct session_settings {
    char **keywords, **values; /* for libpq; ended with NULL */
    char *where;               /* for messages: no password */
    bool writes;               /* prefers plans that lock few rows to the fastest ones */
    bool read_only;            /* the server refuses every change */
    unsigned connect_ms, statement_ms;
};

/* Parses a URL of db_settings; messages in `err` contain no part of a password. */
int session_settings_read(const char *url, struct session_settings *ret, struct error *err);
void session_settings_free(struct session_settings *settings);
