/*
 * Documents for people's eyes, on the standard output.
 */
#pragma once

#include "common/arena.h"

#include <jansson.h>
#include <stdbool.h>

/* One line for each of a list: of documents, and of pools of replicas. */
void document_print_table(const json_t *list);
void document_print_pools(const json_t *list);
/* One line for what has become of one: "ADDED", "MODIFIED", "DELETED"; NULL: the names of the
 * columns. */
void document_print_event(const char *type, const json_t *document);
/* All that it says, a line for each value; its conditions at the end, a line for each. */
void document_print_whole(struct arena *arena, const json_t *document);
void document_print_events(const json_t *list);
/* What has become of it, or would: created, configured, unchanged; and each value that differs. */
void document_print_change(struct arena *arena, const json_t *before, const json_t *after,
                           bool would);
