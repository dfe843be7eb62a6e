/*
 * One field of json_decode(): checks a JSON value by its row of the table and stores it.
 *
 * The message of a refusal names the field, the value (shortened) and what it must be.
 */
#pragma once

#include "json/json.h"

/* Writes `member` only when the value is accepted. 0 or -1 (ERROR_BAD_REQUEST). */
int field_read(struct arena *arena, const struct field *field, const json_t *value, void *member,
               struct error *err);

#define FIELD_SHOWN_SIZE 272

/* Quotes a client's text for a message, shortened to 64 characters; returns `shown`. */
const char *field_show(char shown[FIELD_SHOWN_SIZE], const char *text);
