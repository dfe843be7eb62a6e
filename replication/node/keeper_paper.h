/*
 * The document that a target was opened with, beside its daemon: so that an agent which starts
 * while the API is away finds out what runs here and goes on watching it.
 */
#pragma once

#include "common/arena.h"

/* As far as it can: without it the API is waited for. */
void paper_write(const char *run, const char *text);
void paper_remove(const char *run);
/* NULL: there is none. */
const char *paper_read(struct arena *arena, const char *run);
