/*
 * The answer as the row of its route says it: {"<answer>": …}, a list there with ROUTE_MANY, or the
 * object alone; of the row's shape.
 */
#pragma once

#include <stddef.h>

struct request;

/* What stands around it. */
void answer_open(struct request *request);
void answer_close(struct request *request);
/* All of it, about one row of C. */
void answer_row(struct request *request, const void *row, unsigned rights);
/* All of it, about `count` rows of `size` bytes. */
void answer_rows(struct request *request, const void *rows, unsigned count, size_t size,
                 unsigned rights);
