/*
 * Manifest of a storage daemon, in its run directory: the document with which its target was
 * opened, or the properties of a session or client export.  An agent that starts while the API is
 * unavailable finds running daemons by it and goes on watching them.
 */
#pragma once

#include "common/arena.h"

/* Best effort: a target without a manifest is not watched before the API lists its volume. */
void manifest_write(const char *run, const char *text);
void manifest_remove(const char *run);
/* NULL: none. */
const char *manifest_read(struct arena *arena, const char *run);
/* The uids behind `prefix` in the names of run directories below `directory`; ended with NULL. */
const char **manifest_uids(struct arena *arena, const char *directory, const char *prefix);
