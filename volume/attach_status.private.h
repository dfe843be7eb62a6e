/*
 * The volume's status as it follows from its attachment rows.  Only attachment.c and attach.c use
 * this; nothing else writes these statuses.
 */
#pragma once

#include "common/cleanup.h"
#include "volume/attachment.h"

#include <jansson.h>

static inline void cleanup_tree(json_t **tree) {
    json_decref(*tree);
}
#define autofree_tree __attribute__((cleanup(cleanup_tree)))
#define autofree_json autofree

int attachment_insert(struct work *work, const struct attachment *attachment, struct error *err);

/* From the status that `volume` was read with; a miss is ERROR_BAD_REQUEST. */
int attach_status_write(struct work *work, const struct volume *volume, enum volume_status status,
                        struct error *err);

/*
 * Reads the rows again and writes status and attach_status accordingly.  A status that an operation
 * owns stays (a pending extend, X45; migrating and uploading volumes too).  When the last row of a
 * pending extend went, its backend settles it now (X30).
 */
int attach_status_follow(struct work *work, const char *volume_id, struct error *err);
