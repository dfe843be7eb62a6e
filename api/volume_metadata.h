/*
 * User metadata of a volume: rows of the table in volumes.c.
 *
 * From 3.15 on the whole set has an entity tag, the MD5 of the JSON text of its GET answer, and the
 * two PUTs hold to If-Match: a mismatch is 412 with an empty body and changes nothing.
 */
#pragma once

#include "api/routes.h"

struct metadata_body {
    const json_t *pairs;
};

extern const struct field volume_metadata_fields[]; /* {"metadata": {…}} */
extern const struct field volume_meta_fields[];     /* {"meta": {…}} */

route_handler volume_metadata_show, volume_metadata_add, volume_metadata_replace;
route_handler volume_metadata_show_key, volume_metadata_set_key, volume_metadata_remove_key;

/* A user cannot give the names that the service gives itself (X13): ERROR_BAD_REQUEST. */
int volume_metadata_check(const struct pairs *pairs, struct error *err);
