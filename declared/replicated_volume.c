/*
 * CStorVolume: the volume of a config; its node serves it from replicas on pools.
 */
#include "common/replicas.h"
#include "declared/condition.h"
#include "declared/document_store.h"
#include "declared/name.h"
#include "declared/phases.h"
#include "declared/progress.h"
#include "declared/volume_health.h"
#include "declared/volume_recovery.h"
#include "declared/volume_revert.h"

#include "json/json.h"

#define PATH_MOST    4096
#define MESSAGE_MOST 1024

const char *const volume_export_words[] = { "nbd", "file", "device", NULL };

/* clang-format off */
static const struct schema_field member_fields[] = {
    { "uid", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .about = "The replica's uid." },
    { "poolName", SCHEMA_TEXT, SCHEMA_REQUIRED | SCHEMA_ADMIN_ONLY, .min = 1,
      .about = "The pool where its file is." },
    { "nodeId", SCHEMA_TEXT, SCHEMA_REQUIRED | SCHEMA_ADMIN_ONLY, .min = 1, .about = "The pool's node." },
    { "path", SCHEMA_TEXT, SCHEMA_REQUIRED | SCHEMA_ADMIN_ONLY, .min = 1, .max = PATH_MOST,
      .about = "The pool's directory." },
    { "address", SCHEMA_TEXT, SCHEMA_ADMIN_ONLY, .min = 1,
      .about = "Address for other nodes, HOST:PORT; without it they use the path." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field wanted_fields[] = {
    { "uid", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .about = "The snapshot's uid." },
    { "name", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .about = "Its name." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field wanted_revert_fields[] = {
    { "uid", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .about = "The snapshot's uid." },
    { "number", SCHEMA_INT, SCHEMA_REQUIRED, .min = 1, .about = "The revert's number." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field wanted_recovery_fields[] = {
    { "number", SCHEMA_INT, SCHEMA_REQUIRED, .min = 1, .about = "The number of the forced recovery." },
    { "replicaId", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .about = "The replica's uid." },
    SCHEMA_FIELDS_END,
};

const struct schema_field volume_client_fields[] = {
    { "nodeId", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .max = NAME_HOST_MOST, .allows = name_is_host,
      .about = "the host, as the CN of its certificate has it: letters, digits, '-', '.', '_', ':'" },
    SCHEMA_FIELDS_END,
};

static const struct schema_field spec_fields[] = {
    { "capacity", SCHEMA_QUANTITY, SCHEMA_REQUIRED, .min = 1, .about = "Its size." },
    { "maximum", SCHEMA_QUANTITY, SCHEMA_REQUIRED, .min = 1,
      .about = "The size that it can grow to." },
    { "blockSize", SCHEMA_INT, SCHEMA_POWER_OF_2, .min = 512, .max = 131072, .initial = "4096",
      .about = "The size of a logical block in bytes." },
    { "replicationFactor", SCHEMA_INT, SCHEMA_REQUIRED, .min = 1, .max = REPLICAS_MOST,
      .about = "Number of copies of the data." },
    { "consistencyFactor", SCHEMA_INT, SCHEMA_REQUIRED, .min = 1, .max = REPLICAS_MOST,
      .about = "Number of copies that a write needs." },
    { "nodeId", SCHEMA_TEXT, .initial = "\"\"", .about = "The node that is to serve it; empty: none." },
    { "epoch", SCHEMA_INT, .min = 1,
      .about = "Grows with each assignment to a node; replicas accept only the highest that they have seen." },
    { "serve", SCHEMA_BOOL, .initial = "true", .about = "Clients are admitted." },
    { "queueDepth", SCHEMA_DIGITS, .min = 1, .initial = "\"32\"",
      .about = "Most concurrent requests of a client." },
    { "luWorkers", SCHEMA_INT, .min = 1, .initial = "6", .about = "Threads that serve the requests." },
    { "export", SCHEMA_WORD, .words = volume_export_words, .initial = "\"nbd\"",
      .about = "Exports for clients. nbd: a socket; file: a regular file, too; device: that file as a block device, too." },
    { "clients", SCHEMA_LIST, .of = volume_client_fields, .max = CLIENTS_MOST,
      .about = "Other hosts that are admitted, over NBD with TLS." },
    { "qos", SCHEMA_OBJECT, .of = volume_qos_fields, .initial = "{}", .about = "Limits for clients." },
    { "replicas", SCHEMA_LIST, SCHEMA_REQUIRED, .of = member_fields, .max = MEMBERS_MOST,
      .about = "All its replicas, in order." },
    { "snapshots", SCHEMA_LIST, .of = wanted_fields, .max = SNAPSHOTS_MOST,
      .about = "Snapshots to be taken." },
    { "revert", SCHEMA_OBJECT, .of = wanted_revert_fields,
      .about = "The snapshot to revert to before clients are admitted." },
    { "salvage", SCHEMA_OBJECT, .of = wanted_recovery_fields,
      .about = "Forced recovery: the replica whose data the volume gets; data of the others are discarded." },
    { "salvaged", SCHEMA_INT, .min = 1,
      .about = "The last confirmed forced recovery; earlier data of other replicas are invalid." },
    { "removing", SCHEMA_TEXT, .min = 1, .about = "The replica to be evicted." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field fields[] = {
    { "spec", SCHEMA_OBJECT, SCHEMA_REQUIRED, .of = spec_fields, .about = "The desired state, applied by its node." },
    SCHEMA_FIELDS_END,
};

static const char *const states[] = { "Down", "Levelling", "Serving", NULL };
static const char *const modes[] = {
    "Healthy", "Degraded", "Rebuilding", "Offline", "Error", "NewReplicaDegraded", NULL,
};

static const struct schema_field client_export_fields[] = {
    { "nodeId", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .about = "The admitted host." },
    { "state", SCHEMA_WORD, SCHEMA_REQUIRED, .words = states, .about = "State of the export." },
    { "generation", SCHEMA_INT, .min = 1, .about = "Generation of the spec that named the host." },
    { "host", SCHEMA_TEXT, SCHEMA_REQUIRED | SCHEMA_ADMIN_ONLY, .min = 1, .about = "Address to connect to." },
    { "port", SCHEMA_INT, SCHEMA_REQUIRED | SCHEMA_ADMIN_ONLY, .min = 1, .max = 65535, .about = "Port to connect to." },
    { "export", SCHEMA_TEXT, SCHEMA_REQUIRED | SCHEMA_ADMIN_ONLY, .min = 1, .about = "Name of the export." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field target_fields[] = {
    { "nodeId", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .about = "The node that runs it." },
    { "state", SCHEMA_WORD, SCHEMA_REQUIRED, .words = states, .about = "State of the target." },
    { "address", SCHEMA_TEXT, SCHEMA_ADMIN_ONLY, .max = PATH_MOST, .about = "Address for clients." },
    { "clients", SCHEMA_LIST, .of = client_export_fields, .max = CLIENTS_MOST,
      .about = "Exports for other hosts." },
    { "epoch", SCHEMA_INT, .min = 1, .about = "Epoch of this report; without it, the current one." },
    { "highestEpoch", SCHEMA_INT, .min = 1, .max = EPOCH_MOST,
      .about = "Highest epoch of a replica, where it exceeds `epoch`: the target cannot serve." },
    { "highestSalvage", SCHEMA_INT, .min = 1, .max = RECOVERY_MOST,
      .about = "Highest forced recovery of a replica, where it exceeds the confirmed one." },
    { "decidedBlocks", SCHEMA_INT,
      .about = "Blocks that differed after an unclean stop and were decided by write logs at the start." },
    SCHEMA_FIELDS_END,
};

static const char *const rebuild_reasons[] = { "NoSpace", "RebuildFailed", NULL };

static const struct schema_field replica_fields[] = {
    { "replicaId", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .about = "Its uid." },
    { "poolName", SCHEMA_TEXT, SCHEMA_ADMIN_ONLY, .about = "The pool where its file is." },
    { "mode", SCHEMA_WORD, SCHEMA_REQUIRED, .words = modes, .about = "State reported by the target." },
    { "reason", SCHEMA_WORD, .words = rebuild_reasons, .about = "Reason of a failed rebuild." },
    { "message", SCHEMA_TEXT, SCHEMA_ADMIN_ONLY, .max = MESSAGE_MOST, .about = "Reason, as a sentence." },
    { "mismatches", SCHEMA_INT, .about = "Number of comparisons that found other data than the majority's." },
    { "errors", SCHEMA_INT, .about = "Number of failed requests." },
    { "doneBytes", SCHEMA_INT, .about = "Bytes rebuilt." },
    { "totalBytes", SCHEMA_INT, .about = "Bytes to rebuild." },
    SCHEMA_FIELDS_END,
};

static const char *const snapshot_phases[] = { "Pending", "Ready", NULL };

static const struct schema_field snapshot_fields[] = {
    { "uid", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .about = "The snapshot's uid." },
    { "phase", SCHEMA_WORD, SCHEMA_REQUIRED, .words = snapshot_phases, .about = "Whether it is taken." },
    { "sizeBytes", SCHEMA_INT, .about = "The volume's size at that time." },
    { "message", SCHEMA_TEXT, SCHEMA_ADMIN_ONLY, .max = MESSAGE_MOST, .about = "Reason, as a sentence." },
    SCHEMA_FIELDS_END,
};

static const char *const revert_phases[] = { "Pending", "Done", NULL };

static const struct schema_field revert_fields[] = {
    { "number", SCHEMA_INT, SCHEMA_REQUIRED, .min = 1, .about = "The revert's number." },
    { "attempt", SCHEMA_INT, SCHEMA_REQUIRED, .min = 1,
      .about = "Number of the attempt; reports of earlier ones are ignored." },
    { "phase", SCHEMA_WORD, SCHEMA_REQUIRED, .words = revert_phases, .about = "Whether it is done." },
    { "doneBytes", SCHEMA_INT, .about = "Bytes copied." },
    { "totalBytes", SCHEMA_INT, .about = "Bytes to copy." },
    SCHEMA_FIELDS_END,
};

static const char *const recovery_phases[] = { RECOVERY_PHASE_ABLE, RECOVERY_PHASE_REFUSED, RECOVERY_PHASE_DONE, NULL };

static const struct schema_field recovery_fields[] = {
    { "number", SCHEMA_INT, SCHEMA_REQUIRED, .min = 1, .about = "The number of the forced recovery." },
    { "phase", SCHEMA_WORD, SCHEMA_REQUIRED, .words = recovery_phases,
      .about = "Whether it is possible, refused or done." },
    { "reason", SCHEMA_WORD, .words = recovery_reasons, .about = "Reason of a refusal." },
    { "message", SCHEMA_TEXT, SCHEMA_ADMIN_ONLY, .max = MESSAGE_MOST, .about = "The reason, as a sentence." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field scrub_fields[] = {
    { "damagedBlocks", SCHEMA_INT, .about = "Blocks of 4096 bytes in which a replica differed from the majority." },
    { "undecidedBlocks", SCHEMA_INT, .about = "Blocks without a majority." },
    { "doneBytes", SCHEMA_INT, .about = "Bytes compared." },
    { "totalBytes", SCHEMA_INT, .about = "Bytes to compare; absent when no comparison runs." },
    { "resynchronizing", SCHEMA_BOOL,
      .about = "After an unclean stop: replicas may differ in writes, and all are compared." },
    { "finishedAt", SCHEMA_TEXT, .about = "Time of the last completed comparison." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field status_fields[] = {
    { "phase", SCHEMA_WORD, SCHEMA_REQUIRED, .words = volume_phase_names, .about = "Its phase." },
    { "servedPhase", SCHEMA_WORD, SCHEMA_READ_ONLY, .words = volume_phase_names,
      .about = "The phase last reported by a node, where the pools or a publish imply another." },
    { "capacity", SCHEMA_QUANTITY, .about = "Its real size." },
    { "observedGeneration", SCHEMA_INT, .about = "Generation of the spec that this status is about." },
    { "claimedEpoch", SCHEMA_INT, SCHEMA_READ_ONLY,
      .about = "The last epoch in which its node had a target, or was about to start one." },
    { "silentNodes", SCHEMA_TEXT, SCHEMA_READ_ONLY,
      .about = "Nodes that lost it without confirming its stop, until another node has most of its replicas: a,b." },
    { "target", SCHEMA_OBJECT, .of = target_fields, .about = "The process that serves it; absent when there is none." },
    { "replicaStatuses", SCHEMA_LIST, .of = replica_fields, .max = MEMBERS_MOST,
      .about = "State of each replica, reported by the target." },
    { "snapshots", SCHEMA_LIST, .of = snapshot_fields, .max = SNAPSHOTS_MOST,
      .about = "State of each snapshot to be taken." },
    { "revert", SCHEMA_OBJECT, .of = revert_fields, .about = "State of the requested revert." },
    { "salvage", SCHEMA_OBJECT, .of = recovery_fields, .about = "State of the requested forced recovery." },
    { "scrub", SCHEMA_OBJECT, .of = scrub_fields, .about = "Results of comparing the replicas." },
    { "progress", SCHEMA_LIST, SCHEMA_READ_ONLY, .of = progress_fields, .max = PROGRESS_MOST,
      .about = "Progress of running operations; absent when none runs." },
    { "message", SCHEMA_TEXT, SCHEMA_ADMIN_ONLY, .max = MESSAGE_MOST, .about = "Reason, as a sentence." },
    { "conditions", SCHEMA_LIST, .of = condition_fields, .max = CONDITIONS_MOST, .also = "condition",
      .about = "Current conditions." },
    SCHEMA_FIELDS_END,
};
/* clang-format on */

/* The phase found in a report that ends Init, which a published volume has until the node that it
 * is published on has reported the spec that assigns it. */
static int keep_init(struct work *work, const struct document *before, struct document *after,
                     enum volume_phase *phase, struct error *err) {
    const struct db_value values[] = { DB_TEXT(before->owner_id) };
    const struct query query = {
        .where = "d.id = $1", .values = values, .value_count = 1, .limit = 1
    };
    json_int_t seen = json_int_at(after->status, "observedGeneration");
    struct document *config = NULL;
    int count;

    if (!phase_is(&volume_states, before->status, VOLUME_IS_INIT) ||
        !volume_phase_is_usable(*phase))
        return 0;
    count = before->owner_id ? document_list(work, &query, &config, err) : 0;
    if (count < 0)
        return -1;
    if (count > 0 && volume_is_awaited(config->body, before->body))
        json_object_set_new(after->status, "servedPhase", json_string(volume_phase_names[*phase]));
    else if (seen == 0 || seen >= before->generation)
        return 0;
    *phase = VOLUME_IS_INIT;
    return 0;
}

/* A node that reports a target has the volume, or is about to start it: from then on only its own
 * report releases the volume for another. That holds until the next epoch, whatever the node
 * reports later. */
static int keep_claim(struct work *work, const struct document *before, struct document *after,
                      struct error *err) {
    const json_t *target = json_object_get(after->status, "target");
    json_int_t epoch = json_int_at(before->body, "spec.epoch");
    json_int_t reported = json_int_at(target, "epoch");
    json_int_t claimed = json_int_at(before->status, "claimedEpoch");
    const char *phase;
    struct volume_facts facts = { .has_node = true };
    enum volume_phase found;
    const struct state_row *row;
    json_t *progress;

    if (target && (reported == 0 || reported >= epoch))
        claimed = epoch;
    if (claimed > 0)
        json_object_set_new(after->status, "claimedEpoch", json_integer(claimed));
    /* The phase that its node reports, or a worse one implied by the replicas in the report. */
    phase = json_text_of(before->status, "phase");
    json_object_del(after->status, "servedPhase");
    volume_facts_read(document_spec(before), after->status, &facts);
    found = volume_phase_of(&facts);
    if (keep_init(work, before, after, &found, err) < 0)
        return -1;
    row = phase_reported(&volume_states, phase, VOLUME_FOUND + found, before->id);
    if (row)
        phase = volume_phase_names[row->next];
    json_object_set_new(after->status, "phase", json_string(phase));
    volume_revert_keep(before, after);
    progress = progress_of(work->arena, json_object_get(before->status, "progress"), after->status,
                           work->now_us);
    if (progress)
        json_object_set(after->status, "progress", progress);
    else
        json_object_del(after->status, "progress");
    volume_recovery_keep(before, after);
    volume_silent_nodes_keep(before, after);
    return 0;
}

const struct document_kind kind_replicated_volume = {
    .name = "CStorVolume",
    .collection = "replicated_volumes",
    .word = "replicated_volume",
    .label = "Replicated volume",
    .short_name = "cv",
    .fields = fields,
    .initial_status = "{\"phase\":\"Init\"}",
    .read_only = true,
    .status_fields = status_fields,
    .check_status = keep_claim,
};
