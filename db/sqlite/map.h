/*
 * Readers map the database file: among many volumes the requested one is rarely in the page cache
 * of SQLite, and copying its pages there takes a fifth of the time of a response.  An unreadable
 * page then raises SIGBUS in place of an error of read(2). Here it becomes an error again: zeros
 * replace the page, and what the thread has read is void.
 *
 * A mapping belongs to the thread that made it; of several, the last one counts.  Any other SIGBUS
 * ends the program.
 */
#pragma once

#include <stdbool.h>

/* Installs the SIGBUS handler and SQLite's mapping functions.  Once, before the first
 * connection. */
void sqlite_map_setup(void);

/*
 * Was a page of the calling thread's mapping lost since the last call?  Then nothing read since may
 * be used, and the connection must be closed: its mapping holds zeros now.
 */
bool sqlite_map_lost(void);
