/*
 * Readers map the database file: among many volumes the requested one is rarely in the page cache
 * of SQLite, and copying its pages there takes a fifth of the time of a response.  An unreadable
 * page then raises SIGBUS in place of an error of read(2). Here it becomes an error again: zeros
 * replace the page, and what was read is void.
 *
 * SQLite unmaps the file whenever it has changed, as on other systems a file that was cut and grew
 * again would leave an invalid mapping.  Here such a mapping is kept for the connection's next
 * transaction, as unmapping interrupts all threads of the process.
 *
 * A mapping belongs to a connection, which one thread uses at a time.  Any other SIGBUS ends the
 * program.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct sqlite_map {
    volatile uintptr_t begin, end;
    /* A page was: nothing read since may be used, and the connection must be closed. */
    volatile sig_atomic_t lost;
    bool kept; /* without a use by SQLite */
    struct stat file;
};

/* Installs the SIGBUS handler and SQLite's mapping functions.  Once, before the first
 * connection. */
void sqlite_map_setup(void);

/* The mapping of the connection that the calling thread uses now; NULL: none. */
void sqlite_map_use(struct sqlite_map *map);

/* Of a connection that was closed. */
void sqlite_map_end(struct sqlite_map *map);
