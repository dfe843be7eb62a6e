/*
 * CStorVolumeReplica: one copy of a volume's data, on one pool; the pool's node creates and
 * removes it. The document stays until the data are removed (P45).
 */
#include "common/reclaim_phase.h"
#include "common/replicas.h"
#include "declared/document.h"
#include "declared/phases.h"
#include "declared/progress.h"

#include "operation/work.h"
#include "json/json.h"

#include <string.h>

#define PATH_MOST    4096
#define MESSAGE_MOST 1024
#define BYTES_MOST   ((int64_t)1 << 50) /* a sum over all replicas does not overflow */

/* clang-format off */
static const struct schema_field source_fields[] = {
    { "replicaId", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .about = "The source replica, on the same pool." },
    { "snapshotId", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .about = "The snapshot of that replica." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field wanted_fields[] = {
    { "uid", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .about = "The snapshot's uid." },
    { "source", SCHEMA_TEXT, .min = 1, .about = "The replica that it is copied from." },
    { "sourcePath", SCHEMA_TEXT, SCHEMA_ADMIN_ONLY, .min = 1, .max = PATH_MOST,
      .about = "The directory of the source's pool." },
    { "remove", SCHEMA_BOOL, .initial = "false", .about = "Its file is to be removed." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field wanted_reclaim_fields[] = {
    { "number", SCHEMA_INT, SCHEMA_REQUIRED, .min = 1, .about = "The request's number." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field spec_fields[] = {
    { "volumeId", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .about = "The uid of its volume." },
    { "poolName", SCHEMA_TEXT, SCHEMA_REQUIRED | SCHEMA_ADMIN_ONLY, .min = 1, .about = "The pool where its file is." },
    { "nodeId", SCHEMA_TEXT, SCHEMA_REQUIRED | SCHEMA_ADMIN_ONLY, .min = 1, .about = "The pool's node." },
    { "path", SCHEMA_TEXT, SCHEMA_REQUIRED | SCHEMA_ADMIN_ONLY, .min = 1, .max = PATH_MOST,
      .about = "The pool's directory." },
    { "capacity", SCHEMA_QUANTITY, SCHEMA_REQUIRED, .min = 1, .about = "The volume's size." },
    { "maximum", SCHEMA_QUANTITY, SCHEMA_REQUIRED, .min = 1,
      .about = "The size that the volume can grow to." },
    { "members", SCHEMA_LIST, .max = REPLICAS_MOST,
      .about = "The volume's first replicas, in order; without it this replica is rebuilt." },
    { "source", SCHEMA_OBJECT, .of = source_fields,
      .about = "The snapshot that it is created from; of a clone." },
    { "snapshots", SCHEMA_LIST, .of = wanted_fields, .max = SNAPSHOTS_MOST,
      .about = "Snapshots that it is to hold or to remove." },
    { "reclaim", SCHEMA_OBJECT, .of = wanted_reclaim_fields,
      .about = "Reclaims unused space, once for each number." },
    { "replicationFactor", SCHEMA_INT, SCHEMA_REQUIRED, .min = 1, .max = REPLICAS_MOST,
      .about = "Number of copies of the data." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field fields[] = {
    { "spec", SCHEMA_OBJECT, SCHEMA_REQUIRED, .of = spec_fields, .about = "The desired state, applied by its node." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field capacity_fields[] = {
    { "used", SCHEMA_QUANTITY, .about = "Bytes allocated for its file." },
    { "total", SCHEMA_QUANTITY, .about = "Size of its file." },
    SCHEMA_FIELDS_END,
};

static const char *const snapshot_phases[] = { "Pending", "Ready", NULL };

static const struct schema_field snapshot_fields[] = {
    { "uid", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .about = "The snapshot's uid." },
    { "phase", SCHEMA_WORD, SCHEMA_REQUIRED, .words = snapshot_phases, .about = "Whether the replica holds it." },
    { "sizeBytes", SCHEMA_INT, .about = "The volume's size at that time." },
    { "message", SCHEMA_TEXT, SCHEMA_ADMIN_ONLY, .max = MESSAGE_MOST, .about = "Reason, as a sentence." },
    SCHEMA_FIELDS_END,
};

static const char *const reclaim_phases[] = { RECLAIM_PHASE_PENDING, RECLAIM_PHASE_DONE,
                                              RECLAIM_PHASE_FAILED, NULL };
static const char *const reclaim_reasons[] = { RECLAIM_REASON_UNSUPPORTED, RECLAIM_REASON_FAILED, NULL };

static const struct schema_field reclaim_fields[] = {
    { "number", SCHEMA_INT, SCHEMA_REQUIRED, .min = 1, .about = "The request's number." },
    { "phase", SCHEMA_WORD, SCHEMA_REQUIRED, .words = reclaim_phases, .about = "Whether it is done." },
    { "reason", SCHEMA_WORD, .words = reclaim_reasons,
      .about = "Reason of a failure: unsupported by the file system, or any other." },
    { "beforeBytes", SCHEMA_INT, .max = BYTES_MOST, .about = "Bytes allocated before." },
    { "afterBytes", SCHEMA_INT, .max = BYTES_MOST, .about = "Bytes allocated afterwards." },
    { "doneBytes", SCHEMA_INT, .max = BYTES_MOST, .about = "Bytes completed." },
    { "totalBytes", SCHEMA_INT, .max = BYTES_MOST, .about = "Bytes in total." },
    { "message", SCHEMA_TEXT, SCHEMA_ADMIN_ONLY, .max = MESSAGE_MOST, .about = "Reason, as a sentence." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field copying_fields[] = {
    { "snapshotId", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .about = "Uid of the snapshot that is copied." },
    { "clone", SCHEMA_BOOL, .about = "The copy becomes the data of a clone, not a snapshot of this replica." },
    { "doneBytes", SCHEMA_INT, .max = BYTES_MOST, .about = "Bytes completed." },
    { "totalBytes", SCHEMA_INT, .max = BYTES_MOST, .about = "Bytes in total." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field status_fields[] = {
    { "phase", SCHEMA_WORD, SCHEMA_REQUIRED, .words = replica_phase_names, .about = "Its phase." },
    { "capacity", SCHEMA_OBJECT, .of = capacity_fields, .about = "Its capacity." },
    { "snapshots", SCHEMA_LIST, .of = snapshot_fields, .max = SNAPSHOTS_MOST,
      .about = "Snapshots of its spec that it holds or still has; absent: unknown." },
    { "reclaim", SCHEMA_OBJECT, .of = reclaim_fields, .about = "State of the requested space reclaim." },
    { "copying", SCHEMA_OBJECT, .of = copying_fields, .about = "Snapshot that is copied to it; absent when none is." },
    { "progress", SCHEMA_LIST, SCHEMA_READ_ONLY, .of = progress_fields, .max = PROGRESS_MOST,
      .about = "Progress of running operations." },
    { "message", SCHEMA_TEXT, SCHEMA_ADMIN_ONLY, .max = MESSAGE_MOST, .about = "Reason, as a sentence." },
    { "observedGeneration", SCHEMA_INT, .about = "Generation of the spec that this status is about." },
    SCHEMA_FIELDS_END,
};
/* clang-format on */

/* A report without a row in the table leaves the phase unchanged. */
static void put_phase(const struct document *before, struct document *after) {
    const char *phase = json_text_of(before->status, "phase");
    unsigned found = phase_named(&replica_states, json_text_of(after->status, "phase"));

    if (!phase_reported(&replica_states, phase, found, before->id))
        json_object_set_new(after->status, "phase", json_string(phase));
}

/* Reported as removed: drops the finalizer of a deleted replica; refused for a wanted one. */
static int check_replica_status(struct work *work, const struct document *before,
                                struct document *after, struct error *err) {
    json_t *progress = progress_of_replica(work->arena, json_object_get(before->status, "progress"),
                                           before->id, after->status, work->now_us);
    json_t *finalizers;

    if (progress)
        json_object_set(after->status, "progress", progress);
    else
        json_object_del(after->status, "progress");
    if (!phase_is(&replica_states, after->status, REPLICA_DELETED)) {
        put_phase(before, after);
        return 0;
    }
    if (!before->deleted_at)
        return error_set(err, ERROR_CONFLICT,
                         "status.phase: Volume replica %s is not being deleted.", before->name);
    put_phase(before, after);
    finalizers = json_keep(work->arena, json_array());
    for (size_t i = 0; i < json_array_size(before->finalizers); i++)
        if (strcmp(json_string_value(json_array_get(before->finalizers, i)),
                   before->kind->finalizer) != 0)
            json_array_append(finalizers, json_array_get(before->finalizers, i));
    after->finalizers = finalizers;
    return 0;
}

const struct document_kind kind_volume_replica = {
    .name = "CStorVolumeReplica",
    .collection = "volume_replicas",
    .word = "volume_replica",
    .label = "Volume replica",
    .short_name = "cvr",
    .fields = fields,
    .initial_status = "{\"phase\":\"Init\"}",
    .finalizer = "cstorvolumereplica.openebs.io/finalizer",
    .read_only = true,
    .is_name_admin_only = true,
    .status_fields = status_fields,
    .check_status = check_replica_status,
};
