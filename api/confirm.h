/*
 * The confirmations of requests (struct confirmation), for the settings of the API: each kind has
 * its own service that knows the answer.
 */
#pragma once

#include "api/volume/image.h"
#include "model/attachment/attachment.h"

/* The compute service alone knows that a server does not use its disk any more. */
struct release {
    /* Does its server use the disk?  1, 0, or -1: unknown (err). Blocks for a while, called from
     * several threads. */
    int (*server_uses)(void *arg, struct arena *arena, const struct attachment *attachment,
                       const char *request_id, struct error *err);
    void *arg;
};

struct confirm {
    struct release release;    /* without a function: nothing is confirmed */
    struct image_query images; /* the same */
};

/* struct api_settings: confirm; `confirm` is a struct confirm. */
bool api_confirm(void *confirm, const struct request *request, struct confirmation *confirmation,
                 bool late, struct error *refusal);
/* struct api_settings: withdraw. */
void api_withdraw(void *confirm, const struct request *request,
                  const struct confirmation *confirmation);
