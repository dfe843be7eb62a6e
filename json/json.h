/*
 * Decodes a JSON object into a C struct by a table of fields, and checks everything that a schema
 * can express, so that handlers contain only the operation.  The message of a refusal names the
 * field, the value and the reason (ERROR_BAD_REQUEST).
 *
 * The type words are those of the Block Storage API: see json/field.h.  The member of an absent
 * field keeps 0/NULL/false; json_has() tells whether the client sent it.  Text and trees belong to
 * the arena and to `object`.
 */
#pragma once

#include "json/field.h"
#include "json/word.h"

/*
 * Decodes `object` (must be a JSON object, otherwise refused as `what`) into *ret by `fields`.
 * Fields with since > minor do not exist.  strict: unknown keys are refused.  Returns 0 or -1
 * (ERROR_BAD_REQUEST).
 */
int json_decode(struct arena *arena, const json_t *object, const char *what,
                const struct field *fields, unsigned minor, bool strict, void *ret,
                struct error *err);

/* Did the client send this key (even as null)? */
bool json_has(const json_t *object, const char *key);

/* The value of a text member; NULL: there is none. */
const char *json_text_of(const json_t *object, const char *key);
/* Members by a path of keys separated by dots ("spec.policy.provision"), of trees that were
 * validated when they were written.  NULL, 0 and false: there is none, or it has another type. */
json_t *json_at(const json_t *tree, const char *path);
const char *json_text_at(const json_t *tree, const char *path);
int64_t json_int_at(const json_t *tree, const char *path);
int64_t json_bytes_at(const json_t *tree, const char *path); /* of a quantity (P15) in a text */
bool json_true_at(const json_t *tree, const char *path);
/* Does the array contain this text? */
bool json_list_has(const json_t *list, const char *text);
/* Does the member exist with that text? */
bool json_text_is(const json_t *object, const char *key, const char *text);

/* Most values of a request's body. */
#define JSON_BODY_VALUES_MOST ((size_t)4096)

/*
 * Parses text of `size` bytes: strict JSON, valid UTF-8, depth, size and number of values bounded,
 * duplicate keys refused, no NUL in strings.  Released with the arena: its arena_bytes() includes
 * it.  NULL and ERROR_BAD_REQUEST on failure.
 *
 * A tree has up to 75 times the size of its text, so input of clients has a bound of its own:
 * `values_most`, counted as json_values() does.  json_parse() is for rows and responses of
 * services.
 */
json_t *json_parse_within(struct arena *arena, const char *text, size_t size, size_t values_most,
                          struct error *err);
json_t *json_parse(struct arena *arena, const char *text, size_t size, struct error *err);
/* Values in a JSON text; lists and objects count twice. */
size_t json_values(const char *text, size_t size);

/* The arena takes over the reference. */
json_t *json_keep(struct arena *arena, json_t *tree);
/* Compact text, in the arena. */
char *json_text(struct arena *arena, const json_t *tree);
