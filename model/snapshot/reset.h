/*
 * Changes of a snapshot's status outside its operations: by an operator (os-reset_status), or by
 * the component that creates or deletes it at the hypervisor's side (os-update_snapshot_status).
 */
#pragma once

#include "model/snapshot/snapshot.h"

int snapshot_reset_status(struct work *work, const struct snapshot *snapshot, const char *status,
                          struct error *err);
/* From creating to creating, available, error; from deleting to deleting, error_deleting.  progress
 * may be NULL. */
int snapshot_report_status(struct work *work, const struct snapshot *snapshot, const char *status,
                           const char *progress, struct error *err);
