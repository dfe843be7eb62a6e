/*
 * What others have written, shown to people: a name, a reason, an answer of somebody's.
 */
#pragma once

#include <stdio.h>

/* What controls a terminal becomes '?'. How many places it takes there. */
int plain_text_put(FILE *to, const char *text);
/* So many it would take. */
int plain_text_width(const char *text);
