/*
 * Safe display of foreign text: names, reasons, responses.
 */
#pragma once

#include <stdio.h>

/* Control characters become '?'. Returns its width. */
int plain_text_put(FILE *to, const char *text);
/* Its width. */
int plain_text_width(const char *text);
