/*
 * Decodes a JSON object into a C struct by a table of fields, checking everything that a schema can
 * say; so a handler holds only meaning.  The message of a refusal names the field, the value and
 * what is wrong (ERROR_BAD_REQUEST).
 *
 * Type words are those of the Block Storage API: see json/field.h.  A member of an absent field
 * keeps 0/NULL/false; whether the client sent it is asked with json_has().  Text and trees belong
 * to the arena and to `object`.
 */
#pragma once

#include "json/field.h"
#include "json/word.h"

/*
 * Decodes `object` (must be a JSON object, else refused as `what`) into *ret by `fields`.
 * Fields with since > minor do not exist.  strict: keys that no field names are refused.
 * Returns 0 or -1 (ERROR_BAD_REQUEST).
 */
int json_decode(struct arena *arena, const json_t *object, const char *what,
                const struct field *fields, unsigned minor, bool strict, void *ret,
                struct error *err);

/* Did the client send this key (even as null)? */
bool json_has(const json_t *object, const char *key);

/* A member that is text; NULL: there is none. */
const char *json_text_of(const json_t *object, const char *key);
/* Members by a path of keys with dots between them ("spec.policy.provision"), of trees that were
 * checked where they were written.  NULL, 0 and false: there is none, or it is of another type. */
json_t *json_at(const json_t *tree, const char *path);
const char *json_text_at(const json_t *tree, const char *path);
int64_t json_int_at(const json_t *tree, const char *path);
int64_t json_bytes_at(const json_t *tree, const char *path); /* of a quantity (P15) in a text */
bool json_true_at(const json_t *tree, const char *path);
/* An array with this text among its elements. */
bool json_list_has(const json_t *list, const char *text);
/* Is it there, and that text? */
bool json_text_is(const json_t *object, const char *key, const char *text);

/*
 * Parses text of `size` bytes: strict JSON, valid UTF-8, depth and size bounded, duplicate keys
 * refused, no NUL in strings. Released with the arena. NULL and ERROR_BAD_REQUEST on failure.
 */
json_t *json_parse(struct arena *arena, const char *text, size_t size, struct error *err);

/* The reference is the arena's from now on. */
json_t *json_keep(struct arena *arena, json_t *tree);
/* As compact text, in the arena. */
char *json_text(struct arena *arena, const json_t *tree);
