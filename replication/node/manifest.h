/*
 * The manifest beside a storage daemon: the document that its target was opened with, or what a
 * session or a client export is.  An agent that starts while the API cannot be reached finds by it
 * what runs here, and continues to watch it.
 */
#pragma once

#include "common/arena.h"

/* Best effort: a target without one is not watched before the API has named its volume. */
void manifest_write(const char *run, const char *text);
void manifest_remove(const char *run);
/* NULL: there is none. */
const char *manifest_read(struct arena *arena, const char *run);
