/*
 * Notifications about volumes, snapshots, groups and group snapshots in oslo's form: put into the
 * outbox with the change that they report, so each committed change has exactly one.  Off unless
 * [oslo_messaging_notifications] driver enables them.
 *
 * For the broker the outbox has the whole envelope, once for each topic, under "<topic>.info"; for
 * the log only the payload, under NOTIFICATION_TOPIC.
 */
#pragma once

#include "model/group/group.h"
#include "model/volume/volume.h"

#define NOTIFICATION_TOPIC "notifications.info"

/* event is "volume.resize.end", …; the payload shows `volume` as given. */
int notification_put(struct work *work, const char *event, const struct volume *volume,
                     struct error *err);
/* The same for the volume as its rows are now. */
int notification_of(struct work *work, const char *event, const char *volume_id, struct error *err);
/* event is "image_volume_cache.hit", …; of the cache on that host. */
int notification_put_image_cache(struct work *work, const char *event, const char *image_id,
                                 const char *host, struct error *err);
/* event is "snapshot.create.end", …. */
int notification_of_snapshot(struct work *work, const char *event, const char *snapshot_id,
                             struct error *err);
/* event is "group.create.end", …; the payload shows `group` as given. */
int notification_put_group(struct work *work, const char *event, const struct volume_group *group,
                           struct error *err);
/* event is "group_snapshot.create.end", …. */
int notification_of_group_snapshot(struct work *work, const char *event, const char *id,
                                   struct error *err);
