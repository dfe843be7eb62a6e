/*
 * The response described by the row of its route: {"<answer>": …}, a list there with ROUTE_MANY, or
 * the object alone; of the row's shape.
 */
#pragma once

#include <stddef.h>

struct request;

/* Opens the enclosing object. */
void answer_open(struct request *request);
void answer_close(struct request *request);
/* The whole response, for one row of C. */
void answer_row(struct request *request, const void *row, unsigned rights);
/* The whole response, for `count` rows of `size` bytes. */
void answer_rows(struct request *request, const void *rows, unsigned count, size_t size,
                 unsigned rights);
