/*
 * The PostgreSQL server that the tests may use: SCORIA_TEST_POSTGRESQL is the URL of one of its
 * superusers (tests/lib/postgresql.py starts a server and sets it).
 */
#pragma once

#include <stdbool.h>

bool postgresql_given(void);

/* The URL of an empty schema of its own, for the caller to free. */
char *postgresql_url(void);

/* Runs SQL as the superuser, outside any schema; asserts that it worked. */
void postgresql_sql(const char *sql);

/* An empty database for one test, of the engine that is tested: SQLite in memory, or such a URL.
 * Lives as long as the process. */
const char *database_url(void);

/* The same for tests that leave nothing: on a server one schema serves all tests of the program,
 * since to make one takes longer than most of them. */
const char *database_shared_url(void);
