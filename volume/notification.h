/*
 * Notifications about volumes, snapshots, groups and group snapshots in oslo's form: put into the
 * outbox with the change they tell of, so none is sent for what did not happen and none is lost for
 * what did.  Off unless [oslo_messaging_notifications] driver says otherwise.
 *
 * For the broker the outbox holds all that a listener gets, once for each topic, under
 * "<topic>.info"; for the log only the payload, under NOTIFICATION_TOPIC.
 */
#pragma once

#include "volume/group.h"
#include "volume/volume.h"

#define NOTIFICATION_TOPIC "notifications.info"

/* event is "volume.resize.end", …; the payload tells `volume` as it is given. */
int notification_put(struct work *work, const char *event, const struct volume *volume,
                     struct error *err);
/* The same for the volume as its rows are now. */
int notification_of(struct work *work, const char *event, const char *volume_id, struct error *err);
/* event is "snapshot.create.end", …. */
int notification_of_snapshot(struct work *work, const char *event, const char *snapshot_id,
                             struct error *err);
/* event is "group.create.end", …; the payload tells `group` as it is given. */
int notification_put_group(struct work *work, const char *event, const struct volume_group *group,
                           struct error *err);
/* event is "group_snapshot.create.end", …. */
int notification_of_group_snapshot(struct work *work, const char *event, const char *id,
                                   struct error *err);
