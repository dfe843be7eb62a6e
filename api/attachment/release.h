/*
 * The confirmation that a server does not use its disk any more, for the settings of the API: the
 * compute service alone knows that.
 */
#pragma once

#include "model/attachment/attachment.h"
#include "rest/request.h"

struct release {
    /* Does its server use the disk?  1, 0, or -1: unknown (err). Blocks for a while, called from
     * several threads. */
    int (*server_uses)(void *arg, struct arena *arena, const struct attachment *attachment,
                       const char *request_id, struct error *err);
    void *arg;
};

/* The subject is an attachment; true: its server does not use it. */
bool release_confirm(const struct release *release, const struct request *request,
                     const struct confirmation *confirmation, bool late);
