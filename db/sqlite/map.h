/*
 * Readers map the database file: of many volumes the one that is asked for is in no cache of ours,
 * and to copy its pages costs a fifth of the answer.  What a disk cannot give is then not an error
 * of read(2) but a SIGBUS.  Here it becomes an error again: the page is replaced by zeros, and the
 * thread is told that what it has read is worth nothing.
 *
 * A mapping belongs to the thread that made it (a reader is one thread's), the last one if it has
 * several.  Any other SIGBUS ends the program, as it should.
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
