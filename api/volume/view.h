/*
 * Rows in responses: by microversion and by the rights of the caller.
 *
 * A view of volumes evaluates the policy once for each owner, not once for each volume: a page of a
 * thousand volumes of one project costs four evaluations.
 */
#pragma once

#include "model/attachment/attachment.h"
#include "model/volume/volume.h"
#include "rest/request.h"
#include "rest/shape.h"
#include "rest/view_pairs.h"

struct volume_view {
    struct request *request;
    bool with_attributes; /* the os-vol-… keys and the image metadata: show and detail */

    /* The owner checked last, and the caller's rights to its volumes. */
    const char *project_id, *user_id;
    unsigned rights;
};

void view_open(struct request *request, bool with_attributes, struct volume_view *ret);
/* The full object; the volume must have been read with its details. */
void view_volume(struct volume_view *view, const struct volume *volume);
extern const struct shape volume_shape;
extern const struct shape volume_first_shape; /* as of 3.0 */
extern const struct shape volume_short_shape; /* of the row alone */

extern const struct shape attachment_shape;
extern const struct shape attachment_short_shape; /* of the row alone */
/* `format` goes into connection_info (a volume's admin metadata of that name); may be NULL. */
void view_attachment(struct request *request, const struct attachment *attachment,
                     const char *format);

/* Admin metadata shown in a volume's metadata, overriding a user's value of the same name (R43,
 * R45). */
bool view_shows_admin_key(const char *key);
/* Names in a volume's metadata reserved for the service; a user's value of one is never shown
 * (X13). */
bool view_reserves_key(const char *key);
/* Names of admin metadata; users may set some of them, too. */
bool view_is_admin_key(const char *key);
/* May the caller see hosts, as the compute side must? */
bool view_shows_hosts(const struct context *context);
