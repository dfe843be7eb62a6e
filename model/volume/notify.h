/*
 * The event of a volume's growth for an instance that uses it: an operation of its own, which is
 * tried a few times, and which nothing waits for.
 */
#pragma once

#include "model/volume/volume.h"

/* Every instance that uses it: the driver grew it by itself while it is attached (R32). */
int volume_notify(struct work *work, const struct volume *volume, struct error *err);
/* Its present instances: earlier events may have gone to hosts that it has left (X21). */
int volume_notify_attached(struct work *work, const struct volume *volume, struct error *err);
