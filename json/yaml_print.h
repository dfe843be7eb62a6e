/*
 * Trees as YAML for people: block style, in the order in which they were made.  Who reads it by the
 * rules of 1.1 finds the same as by those of 1.2: a word that is not itself in both is quoted.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

/* One document, without the line between documents. */
void yaml_print(const json_t *tree, FILE *out);
