/*
 * The image of a new volume, as the image service describes it to the caller.
 */
#pragma once

#include "model/volume/create.h"
#include "model/volume/image.h"
#include "rest/request.h"

/* Sets the source of a new volume by `reference`: the image, or the snapshot that it stands for.
 * ERROR_BAD_REQUEST: there is no such image for the caller. */
int image_ref_find(struct request *request, const char *reference, struct volume_new *ret,
                   struct error *err);

struct image_query {
    /* The object of the API v2; NULL: see err.  Blocks for a while, called from several threads. */
    const json_t *(*find)(void *arg, const struct request *request, const char *reference,
                          struct error *err);
    void *arg;
};

/* The subject is a reference, and the answer the image. */
bool image_confirm(const struct image_query *query, const struct request *request,
                   struct confirmation *confirmation, bool late, struct error *refusal);
