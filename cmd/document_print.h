/*
 * Documents for people's eyes, on the standard output.
 */
#pragma once

#include "common/arena.h"

#include <jansson.h>
#include <stdbool.h>

/* One line for each of a list. */
void document_print_table(const json_t *list);
/* All that it says, a line for each value. */
void document_print_whole(const json_t *document);
/* What has become of it, or would: created, configured, unchanged; and each value that differs. */
void document_print_change(struct arena *arena, const json_t *before, const json_t *after,
                           bool would);
