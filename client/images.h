/*
 * The image service (Glance, API v2): images by id or name, their bytes, and new images.
 *
 * Thread-safe; a call blocks for [DEFAULT] glance_request_timeout, images_create() for twice that,
 * and as long again for each response of Keystone that it needs.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "config/config.h"
#include "http/transfer.h"

#include <jansson.h>

struct images;

extern const struct option images_options[];

/* *ret is NULL when the configuration has no image service.  The config must live as long. */
int images_new(const struct config *config, struct images **ret, struct error *err);
void images_free(struct images *images); /* NULL is fine */

/* On behalf of a user. */
struct images_caller {
    const char *token; /* its own; NULL: as the service, which applies the rules below */
    const char *project_id, *user_id;
    bool is_admin;
    const char *request_id; /* sent as the global request id */
};

/*
 * The image of an id, a URL that ends with one, or a name; NULL: see err.  Visible is what the
 * image service shows to the caller's token; without a token public images, the project's own,
 * those that it has accepted, and all of them for an administrator.
 *
 * ERROR_BAD_REQUEST: there is none that is visible, for whatever reason; ERROR_UNAVAILABLE: no
 * response; ERROR_CONFLICT: several have that name.
 */
const json_t *images_find(struct images *images, struct arena *arena, const char *reference,
                          const struct images_caller *caller, struct error *err);

/* The download of its stored bytes, or the upload of those of a queued one, as the service's own
 * user: URL, headers, peer and timeout, in the arena and valid as long as `images`.  Here and below
 * the id is a UUID; `turn` selects the server. */
int images_prepare_transfer(struct images *images, struct arena *arena, const char *id,
                            unsigned turn, struct http_transfer_call *ret, struct error *err);
/* The server refuses its token: the next one; ERROR_UNAUTHORIZED: there is no other. */
int images_renew_transfer(struct images *images, struct arena *arena,
                          struct http_transfer_call *transfer, struct error *err);
/* How many servers in turn are asked for bytes, each as often as glance_num_retries says; and the
 * first turn, which is another one in the next second. */
unsigned images_attempts(const struct images *images);
unsigned images_turn(void);

/*
 * A new image without data, status queued, on behalf of the caller; `description` is its JSON.
 * NULL: see err.  ERROR_BAD_REQUEST: refused, for whatever reason; ERROR_UNAVAILABLE: no usable
 * response, and the image, which may exist, was deleted, or is named by the error.
 */
const json_t *images_create(struct images *images, struct arena *arena, const char *description,
                            const struct images_caller *caller, struct error *err);

/* By id, as the service's own user where the caller has no token.  ERROR_NOT_FOUND: there is none;
 * ERROR_BACKEND: refused; ERROR_UNAVAILABLE: unknown. */
const json_t *images_get(struct images *images, struct arena *arena, const char *id,
                         const struct images_caller *caller, struct error *err);
/* The place of the content of a queued image, which is active or about to be afterwards.
 * ERROR_BACKEND, ERROR_NOT_FOUND: refused, it has no such place; ERROR_UNAVAILABLE: unknown. */
int images_add_location(struct images *images, struct arena *arena, const char *id, const char *url,
                        const struct images_caller *caller, struct error *err);
/* As images_get(); an image that does not exist is deleted.  Repeated as the service's own user
 * where the caller's token is refused: for images that were created for this caller. */
int images_delete(struct images *images, struct arena *arena, const char *id,
                  const struct images_caller *caller, struct error *err);
