/*
 * Attaching and detaching: the attachments API, and the older volume actions on the same rows.
 */
#pragma once

#include "model/attachment/attachment.h"
#include "model/volume/volume.h"

/* ---- attachments API (3.27) ---- */

/* POST: reserves the volume. mode NULL below 3.54.  `retried` (RETRY_HEADER): of a multiattach
 * volume also while other hosts are being attached. */
int attachment_create(struct work *work, const struct volume *volume, const char *instance_uuid,
                      const char *mode, bool retried, struct attachment *ret, struct error *err);
int attachment_complete(struct work *work, const struct attachment *attachment, struct error *err);
/* Removes the row; the volume's status follows from the remaining rows.  Removing the last
 * attachment of a pending extend makes the backend check the result (X30). */
int attachment_delete(struct work *work, const struct attachment *attachment, struct error *err);

/* ---- volume actions ---- */

int volume_reserve(struct work *work, const struct volume *volume, struct error *err);
int volume_unreserve(struct work *work, const struct volume *volume, struct error *err);
int volume_begin_detaching(struct work *work, const struct volume *volume, struct error *err);
int volume_roll_detaching(struct work *work, const struct volume *volume, struct error *err);
int volume_attach(struct work *work, const struct volume *volume, const char *instance_uuid,
                  const char *host_name, const char *mountpoint, const char *mode,
                  struct error *err);
int volume_detach(struct work *work, const struct volume *volume, const char *attachment_id,
                  struct error *err);
