/*
 * Readers map the database file: among many volumes the one that is asked for is rarely in the page
 * cache of SQLite, and copying its pages there takes a fifth of the time of an answer.  A page that
 * the disk cannot read then shows as a SIGBUS and not as an error of read(2).  Here it becomes an
 * error again: zeros take the place of the page, and the thread hears that what it has read is
 * worth nothing.
 *
 * A mapping belongs to the thread that made it; of several, the last one counts.  Any other SIGBUS
 * ends the program, as it should.
 */
#pragma once

#include <stdbool.h>

/* Takes SIGBUS and SQLite's ways to map a file. Once, before the first connection. */
void sqlite_map_setup(void);

/*
 * Was a page of the calling thread's mapping lost since the last call? Then nothing that was read
 * since may be used, and the connection must be closed: its mapping holds zeros now.
 */
bool sqlite_map_lost(void);
