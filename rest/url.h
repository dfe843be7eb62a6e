/*
 * Paths and queries of requests: parsed, and built for links.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "operation/pairs.h"

#define URL_SEGMENTS   8
#define URL_PARAMETERS 128

struct url_path {
    const char *segments[URL_SEGMENTS]; /* decoded, in the arena */
    unsigned count;
};

/*
 * Splits "/a/b%20c" at the slashes, then decodes each segment.  False for a path outside of the
 * API: an empty segment (so also a trailing slash), too many, bad encoding.
 */
bool url_split(struct arena *arena, const char *path, struct url_path *ret);

/* Parameters of "a=1&b=%20" in order, decoded; "a" alone has the value "". Their number, or -1 when
 * there are more than URL_PARAMETERS or the encoding is bad. */
int url_queries(struct arena *arena, const char *query, const struct pair **ret, struct error *err);
