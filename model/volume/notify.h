/*
 * An event about a volume for an instance, of its growth or its new content: an operation of its
 * own, which is tried a few times, and which nothing waits for.
 */
#pragma once

#include "model/volume/volume.h"
#include "operation/operation.h"

/* Every instance that uses it: the driver grew it by itself while it is attached (R32). */
int volume_notify(struct work *work, const struct volume *volume, struct error *err);
/* Its present instances: earlier events may have gone to hosts that it has left (X21). */
int volume_notify_attached(struct work *work, const struct volume *volume, struct error *err);
/* Every instance with an attachment, reserved ones, too: the content has been replaced by that of
 * an image, or not. */
int volume_notify_reimaged(struct work *work, const struct volume *volume, bool failed,
                           struct error *err);

/* The event of the operation; text in the arena. */
struct notification_event {
    const char *instance_uuid;
    bool failed; /* of a new content */
};
/* 0: it has none. */
int volume_notify_event(struct arena *arena, const struct operation *operation,
                        struct notification_event *ret);
