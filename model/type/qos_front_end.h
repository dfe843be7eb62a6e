/*
 * QoS specs for the host that has the volume attached, in the connection info.
 */
#pragma once

#include "model/type/qos.h"

#include <jansson.h>

/* An object of the specs; JSON's null when the volume's type has none for the front-end.  Limits
 * for each GiB (total_iops_sec_per_gb and the like) are scaled to the whole volume. */
int qos_front_end(struct work *work, const struct volume *volume, json_t **ret, struct error *err);

/* A host gets no others while it has the volume: ERROR_BAD_REQUEST when either type has some for
 * the front-end, and they are not the same. */
int qos_front_end_check_retype(struct work *work, const struct volume *volume,
                               const struct volume_type *type, struct error *err);
