/*
 * User metadata of objects: routes for every resource that has them.
 *
 * With etags, from 3.15 on, the whole set has an entity tag, the MD5 of the JSON text of its GET
 * response, and the two PUTs honour If-Match: a mismatch is 412 with an empty body and changes
 * nothing.
 */
#pragma once

#include "rest/route.h"

struct metadata_body {
    const json_t *pairs;
};

extern const struct field metadata_fields[];     /* {"metadata": {…}} */
extern const struct field metadata_one_fields[]; /* {"meta": {…}} */

route_handler metadata_show, metadata_add, metadata_replace;
route_handler metadata_show_key, metadata_set_key, metadata_remove_key;

/* Has the row's resource all functions that these handlers call?  Rows with other handlers need
 * none. */
bool metadata_route_works(const struct route *route);

/* Names set by the service are refused (X13): ERROR_BAD_REQUEST. */
int metadata_check(const struct resource *resource, const struct pairs *pairs, struct error *err);

/* UNREPORTED_HEADER: ERROR_CONFLICT without the key that it names.  *ret: is the header given? */
int metadata_check_unreported(const struct request *request, const struct pairs *pairs, bool *ret,
                              struct error *err);

/* The rows of a resource with metadata; `path_` ends with the object, the rules are those of GET,
 * POST, PUT and DELETE. */
/* clang-format off */
#define METADATA_ROUTE(resource_, method_, path_, since_, rule_, handler_) \
    .method = method_, .path = path_, .since = since_, .resource = &(resource_), .rule = rule_, \
    .handler = handler_, .status = 200
#define METADATA_ALL ANSWER("metadata", shape_pairs)
#define METADATA_ONE ANSWER("meta", shape_pairs)
#define METADATA_TAKES(fields_) \
    BODY(fields_, struct metadata_body), .flags = ROUTE_NO_WRAPPER | ROUTE_ROW_ALONE
#define METADATA_ROUTES(resource_, path_, since_, get_, add_, set_, remove_) \
    { METADATA_ROUTE(resource_, "GET", path_ "/metadata", since_, get_, metadata_show), \
      METADATA_ALL, .flags = ROUTE_ROW_ALONE }, \
    { METADATA_ROUTE(resource_, "POST", path_ "/metadata", since_, add_, metadata_add), \
      METADATA_ALL, METADATA_TAKES(metadata_fields) }, \
    { METADATA_ROUTE(resource_, "PUT", path_ "/metadata", since_, set_, metadata_replace), \
      METADATA_ALL, METADATA_TAKES(metadata_fields) }, \
    { METADATA_ROUTE(resource_, "GET", path_ "/metadata/{key}", since_, get_, metadata_show_key), \
      METADATA_ONE, .flags = ROUTE_ROW_ALONE }, \
    { METADATA_ROUTE(resource_, "PUT", path_ "/metadata/{key}", since_, set_, metadata_set_key), \
      METADATA_ONE, METADATA_TAKES(metadata_one_fields) }, \
    { METADATA_ROUTE(resource_, "DELETE", path_ "/metadata/{key}", since_, remove_, \
                     metadata_remove_key), .flags = ROUTE_ROW_ALONE | ROUTE_BARE }
/* clang-format on */
