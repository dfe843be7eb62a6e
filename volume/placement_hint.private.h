/*
 * Scheduler hints of a new volume: near to, or away from, other volumes, or where an instance runs.
 *
 * The caller can name only what it sees: volumes of other projects count as unknown ones.
 */
#pragma once

#include "ledger/work.h"

#include <jansson.h>

struct placement_hint {
    struct hinted {
        bool given;
        const char **places;
        unsigned count;
    } same, different;   /* node@backend#pool of the volumes named */
    struct hinted local; /* nodes where the instance has attachments */
};

/* `hints` may be NULL. ERROR_BAD_REQUEST names the hint that holds no ids. */
int placement_hint_read(struct work *work, const json_t *hints, struct placement_hint *ret,
                        struct error *err);
bool placement_hint_allows(const struct placement_hint *hint, const char *pool);
