/*
 * Prints trees as YAML: block style, members in their order of insertion.  Parsers of YAML 1.1 and
 * 1.2 read the same values: a word with another meaning in either is quoted.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

/* One document, without the separator between documents. */
void yaml_print(const json_t *tree, FILE *out);
