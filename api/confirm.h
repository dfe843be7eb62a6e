/*
 * The confirmations of requests (struct confirmation), for the settings of the API: each kind has
 * its own service that knows the answer.
 */
#pragma once

#include "api/attachment/release.h"
#include "api/volume/image.h"

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
