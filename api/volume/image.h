/*
 * Images in requests: that of a new volume, as the image service describes it to the caller, and a
 * new one of a volume.
 */
#pragma once

#include "model/volume/create.h"
#include "model/volume/image.h"
#include "rest/request.h"

/* Sets the source of a new volume by `reference`: the image, or the snapshot that it stands for.
 * ERROR_BAD_REQUEST: there is no such image for the caller, or the image service does not
 * respond. */
int image_ref_find(struct request *request, const char *reference, struct volume_new *ret,
                   struct error *err);

/* The same of an image that replaces the content of a volume.  ERROR_NOT_FOUND: there is no
 * image of that id for the caller; ERROR_UNAVAILABLE: the image service does not respond. */
int image_id_find(struct request *request, const char *id, struct volume_image *ret,
                  struct error *err);
/* The new, empty image of that description (JSON); NULL: see err.  It is deleted when the request
 * fails. */
const json_t *image_make(struct request *request, const char *description, struct error *err);

struct image_query {
    /* The object of the API v2; NULL: see err.  Blocks for a while, called from several threads. */
    const json_t *(*find)(void *arg, const struct request *request, const char *reference,
                          struct error *err);
    /* The same of a new image; and its end, of which a failure is logged. */
    const json_t *(*make)(void *arg, const struct request *request, const char *description,
                          struct error *err);
    void (*discard)(void *arg, const struct request *request, const json_t *image);
    /* The certificate of that id in the key manager, with the rights of the caller, in base64, or
     * NULL: see err.  Without a function there is no key manager. */
    const char *(*find_certificate)(void *arg, const struct request *request, const char *id,
                                    struct error *err);
    void *arg;
};

/* The subject is a reference or a description, and the answer the image. */
bool image_confirm(const struct image_query *query, const struct request *request,
                   struct confirmation *confirmation, bool late, struct error *refusal);
/* The subject is the id of a certificate, and the answer it or the failure, which is none of the
 * request before a download needs the certificate: true. */
bool image_confirm_certificate(const struct image_query *query, const struct request *request,
                               struct confirmation *confirmation, bool late);
