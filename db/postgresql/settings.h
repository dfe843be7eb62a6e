/*
 * What the URL of a PostgreSQL database says, as libpq takes it.  Nothing that is said about a URL
 * shows a part of its password.
 */
#pragma once

#include "common/error.h"

#include <stdbool.h>

struct session_settings {
    char **keywords, **values; /* for libpq; ended with NULL */
    char *where;               /* for messages: no password */
    bool writes;               /* plans that lock few rows rather than the fastest ones */
    bool read_only;            /* the server refuses every change */
    unsigned connect_ms, statement_ms;
};

/* Takes a URL of db_settings apart; nothing that it sets in `err` shows a part of a password. */
int session_settings_read(const char *url, struct session_settings *ret, struct error *err);
void session_settings_free(struct session_settings *settings);
