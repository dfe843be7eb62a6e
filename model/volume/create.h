/*
 * Creating a volume: from POST /volumes to its object on a backend.
 */
#pragma once

#include "model/volume/volume.h"

#include <jansson.h>

struct operation;
struct volume_image;

struct volume_new {
    const char *name, *description;
    int64_t size_gb;  /* 0: not given */
    const char *type; /* id or name; NULL: the default */
    const char *availability_zone;
    struct pairs metadata;
    const char *snapshot_id, *source_volid, *backup_id, *group_id; /* sources */
    const struct volume_image *image;                              /* the same; NULL: none */
    const json_t *hints;
};

/* POST /volumes: row, quota, placement, operation and message.  When no backend fits, the row has
 * status error and a user message (the answer still shows creating). */
int volume_create(struct work *work, const struct volume_new *request, struct volume *ret,
                  struct error *err);
/* A volume that is a clone of another one, on its pool, while `held`, an operation on that one, is
 * let pass: it is created first.  1, 0 the pool has no space.  Its quota is taken.  */
int volume_create_clone(struct work *work, const struct operation *held, const struct volume *from,
                        const struct volume *clone, struct error *err);
/* Does it create an entry of an image cache?  Of creates these alone are in their own queue. */
bool volume_create_makes_entry(const struct operation *operation);
/* Admin metadata of a volume that was not made: create_ending.tried. */
#define CREATE_KEY_TRIED "create_tried"
/* Its result. */
struct create_ending {
    const char *location, *format; /* returned by the driver */
    const char *connection_info; /* of a snapshot below a guest, which continues in another file */
    const struct error *failure; /* NULL: made */
    const char *tried;           /* the only place where a failed one may be; NULL: anywhere */
    const char *detail;          /* of the user message about the failure; NULL: by its kind */
    const char *signature_verified; /* of an image, in its metadata; NULL: it has no such row */
    bool in_use; /* it failed because a snapshot below the present user is impossible */
};
