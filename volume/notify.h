/*
 * The news of a volume's growth for an instance that uses it: a message of its own, which is tried
 * a few times and whose end nobody waits for.
 */
#pragma once

#include "volume/volume.h"

/* Every instance that uses it: the driver grew it by itself while it is attached (R32). */
int volume_notify(struct work *work, const struct volume *volume, struct error *err);
/* Those where it is attached: what they were told before may have gone to where they are no more
 * (X21). */
int volume_notify_attached(struct work *work, const struct volume *volume, struct error *err);
