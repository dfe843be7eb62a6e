/*
 * CStorVolumeSnapshot: the data of a config's volume at one moment. It belongs to the config, and
 * stays until its files are removed from every pool.
 */
#include "declared/document_store.h"
#include "declared/name.h"
#include "declared/phases.h"
#include "declared/replica_space.h"
#include "declared/snapshot_node.h"
#include "declared/snapshot_source.h"
#include "declared/tree.h"
#include "declared/volume_revert.h"
#include "operation/quota_limit.h"

#include <string.h>

/* clang-format off */
static const struct schema_field spec_fields[] = {
    { "volumeName", SCHEMA_TEXT, SCHEMA_REQUIRED | SCHEMA_FIXED, .min = 1,
      .allows = name_is_subdomain, .about = "the name of its volume config" },
    SCHEMA_FIELDS_END,
};

static const struct schema_field fields[] = {
    { "spec", SCHEMA_OBJECT, SCHEMA_REQUIRED, .of = spec_fields, .about = "The desired state." },
    { "status", SCHEMA_OBJECT, SCHEMA_READ_ONLY, .about = "The observed state." },
    SCHEMA_FIELDS_END,
};
/* clang-format on */

static const char *volume_of(const struct document *snapshot) {
    return json_text_at(snapshot->body, "spec.volumeName");
}

static int check_snapshot(struct work *work, struct document *snapshot, struct error *err) {
    struct document config;
    struct document *others;
    int count;
    const char *published;
    struct document *volume = NULL;
    int found;
    const char *obstacle;

    if (error_if_none(document_named(work, &kind_volume_config, snapshot->project_id,
                                     volume_of(snapshot), &config, err),
                      err, ERROR_NOT_FOUND, "spec.volumeName: Volume config %s could not be found.",
                      volume_of(snapshot)) < 0)
        return -1;
    if (config.deleted_at || !(phase_is(&config_states, config.status, CONFIG_BOUND) ||
                               phase_is(&config_states, config.status, CONFIG_RECONCILING)))
        return error_set(err, ERROR_CONFLICT, "spec.volumeName: Volume config %s is %s.",
                         config.name, config.deleted_at ? "being deleted" : "not Bound yet");
    snapshot->owner_id = config.id;
    count = document_owned(work, config.id, &kind_volume_config_snapshot, &others, err);
    if (count >= SNAPSHOTS_MOST)
        return error_set(err, ERROR_OVER_QUOTA, "Volume config %s has %d snapshots already.",
                         config.name, count);
    if (count < 0)
        return -1;
    /* Where the volume is published now, the snapshot would wait for ever. */
    published = tree_text(config.body, "publish.nodeId");
    found = document_owned(work, config.id, &kind_replicated_volume, &volume, err);
    obstacle =
        found > 0 ? snapshot_node_obstacle(work->arena, document_spec(volume), published) : NULL;
    if (obstacle)
        return error_set(err, ERROR_CONFLICT, "spec.volumeName: Volume config %s: %s.", config.name,
                         obstacle);
    if (found < 0)
        return -1;
    return replica_space_check_snapshot(work, &config, err);
}

/* Clones are created from its files, and volumes are reverted to them. */
static int check_snapshot_delete(struct work *work, const struct document *snapshot,
                                 struct error *err) {
    struct document config;
    int found = document_named(work, &kind_volume_config, snapshot->project_id, volume_of(snapshot),
                               &config, err);
    int begun = found > 0 ? snapshot_source_begun(work, &config, snapshot->name, err) : found;

    /* a failed snapshot is useless for a revert */
    if (found > 0 && json_text_is(volume_revert_pending(&config), "uid", snapshot->id) &&
        !phase_is(&snapshot_states, snapshot->status, SNAPSHOT_FAILED))
        return error_set(err, ERROR_CONFLICT, "Volume config %s is being reverted to snapshot %s.",
                         config.name, snapshot->name);
    if (begun <= 0)
        return begun;
    return error_set(err, ERROR_CONFLICT,
                     "Snapshot %s is the source of %d volumes that are being created.",
                     snapshot->name, begun);
}

/* Like a volume: the config's size at its creation. */
static int size_of(struct work *work, const struct document *snapshot, struct document_size *ret,
                   struct error *err) {
    struct document config;
    int found = document_named(work, &kind_volume_config, snapshot->project_id, volume_of(snapshot),
                               &config, err);

    if (error_if_none(found, err, ERROR_INTERNAL, "Snapshot %s has no volume config.",
                      snapshot->name) < 0)
        return -1;
    if (kind_volume_config.size(work, &config, ret, err) < 0)
        return -1;
    ret->elsewhere = config.size_gb == DOCUMENT_ELSEWHERE;
    return 0;
}

const struct document_kind kind_volume_config_snapshot = {
    .name = "CStorVolumeSnapshot",
    .collection = "volume_config_snapshots",
    .word = "volume_config_snapshot",
    .label = "Volume config snapshot",
    .short_name = "cvsnap",
    .fields = fields,
    .initial_status = "{\"phase\":\"Pending\"}",
    .finalizer = "cstorvolumesnapshot.openebs.io/finalizer",
    .check = check_snapshot,
    .check_delete = check_snapshot_delete,
    .counts_as = QUOTA_SNAPSHOTS,
    .size = size_of,
};
