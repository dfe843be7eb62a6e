/*
 * Prints documents on the standard output.
 */
#pragma once

#include "common/arena.h"

#include <jansson.h>
#include <stdbool.h>

/* One line for each document or pool of a list. */
void document_print_table(const json_t *list);
void document_print_pools(const json_t *list);
/* One line for an event: "ADDED", "MODIFIED", "DELETED"; NULL: the names of the columns. */
void document_print_event(const char *type, const json_t *document);
/* The whole document, a line for each value, followed by a line for each condition. */
void document_print_whole(struct arena *arena, const json_t *document);
void document_print_events(const json_t *list);
/* The result of a change, or of a dry run: created, configured, unchanged; and each value that
 * differs. */
void document_print_change(struct arena *arena, const json_t *before, const json_t *after,
                           bool would);
