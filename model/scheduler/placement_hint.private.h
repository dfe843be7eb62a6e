/*
 * Scheduler hints of a new volume: near to, or away from, other volumes, at the host of an
 * instance, or in a pool for which a term holds.
 *
 * The caller can name only visible objects: volumes of other projects count as unknown ones.
 */
#pragma once

#include "model/scheduler/placement_query.private.h"

struct placement_hint {
    struct hinted {
        bool given;
        const char **places;
        unsigned count;
    } same, different;   /* node@backend#pool of the volumes named */
    struct hinted local; /* nodes where the instance has attachments */
    const json_t *query; /* NULL: any */
};

/* `hints` may be NULL.  ERROR_BAD_REQUEST names the invalid hint. */
int placement_hint_read(struct work *work, const json_t *hints, struct placement_hint *ret,
                        struct error *err);
bool placement_hint_allows(struct work *work, const struct placement_hint *hint,
                           const struct pool *pool);
