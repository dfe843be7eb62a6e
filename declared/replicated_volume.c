/*
 * CStorVolume: what a config has become; its node serves it from replicas on pools.
 */
#include "declared/condition.h"
#include "declared/document.h"
#include "declared/name.h"
#include "declared/phases.h"
#include "declared/progress.h"
#include "declared/volume_health.h"
#include "declared/volume_recovery.h"
#include "declared/volume_revert.h"

#include "json/json.h"

#define PATH_MOST    4096
#define MESSAGE_MOST 1024
#define LISTED_MOST  (2 * REPLICAS_MOST) /* those that come and those that go, too */

const char *const volume_export_words[] = { "nbd", "file", NULL };

/* clang-format off */
static const struct schema_field member_fields[] = {
    { "uid", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .about = "Of the replica." },
    { "poolName", SCHEMA_TEXT, SCHEMA_REQUIRED | SCHEMA_ADMIN_ONLY, .min = 1,
      .about = "The pool where its file is." },
    { "nodeId", SCHEMA_TEXT, SCHEMA_REQUIRED | SCHEMA_ADMIN_ONLY, .min = 1, .about = "The pool's node." },
    { "path", SCHEMA_TEXT, SCHEMA_REQUIRED | SCHEMA_ADMIN_ONLY, .min = 1, .max = PATH_MOST,
      .about = "The pool's directory." },
    { "address", SCHEMA_TEXT, SCHEMA_ADMIN_ONLY, .min = 1,
      .about = "Where other nodes reach it, HOST:PORT; without, by the path alone." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field wanted_fields[] = {
    { "uid", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .about = "Of the snapshot." },
    { "name", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .about = "Its name." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field wanted_revert_fields[] = {
    { "uid", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .about = "Of the snapshot." },
    { "number", SCHEMA_INT, SCHEMA_REQUIRED, .min = 1, .about = "Of the revert." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field wanted_recovery_fields[] = {
    { "number", SCHEMA_INT, SCHEMA_REQUIRED, .min = 1, .about = "Of the salvage." },
    { "replicaId", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .about = "Of the replica." },
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
      .about = "How many copies of the data there are to be." },
    { "consistencyFactor", SCHEMA_INT, SCHEMA_REQUIRED, .min = 1, .max = REPLICAS_MOST,
      .about = "Fewer copies than this take no writes." },
    { "nodeId", SCHEMA_TEXT, .initial = "\"\"", .about = "Where it is to be served; empty: nowhere." },
    { "epoch", SCHEMA_INT, .min = 1,
      .about = "Grows whenever it is given to a node: replicas obey the highest that they have seen." },
    { "serve", SCHEMA_BOOL, .initial = "true", .about = "Clients are let in." },
    { "queueDepth", SCHEMA_DIGITS, .min = 1, .initial = "\"32\"",
      .about = "How many requests of a client are under way at once." },
    { "luWorkers", SCHEMA_INT, .min = 1, .initial = "6", .about = "Threads that serve them." },
    { "export", SCHEMA_WORD, .words = volume_export_words, .initial = "\"nbd\"",
      .about = "How clients have it: at an NBD socket, or as a file, too." },
    { "clients", SCHEMA_LIST, .of = volume_client_fields, .max = CLIENTS_MOST,
      .about = "Hosts beside its own that are let in, over NBD with TLS." },
    { "qos", SCHEMA_OBJECT, .of = volume_qos_fields, .initial = "{}", .about = "What clients may take." },
    { "replicas", SCHEMA_LIST, SCHEMA_REQUIRED, .of = member_fields, .max = LISTED_MOST,
      .about = "All that belong to it, in their order." },
    { "snapshots", SCHEMA_LIST, .of = wanted_fields, .max = SNAPSHOTS_MOST,
      .about = "Those that are to be taken." },
    { "revert", SCHEMA_OBJECT, .of = wanted_revert_fields,
      .about = "What it is to hold before anybody is let in." },
    { "salvage", SCHEMA_OBJECT, .of = wanted_recovery_fields,
      .about = "Forced recovery: the replica that the volume is made of, whatever the others hold." },
    { "salvaged", SCHEMA_INT, .min = 1,
      .about = "The last forced recovery that is confirmed: what replicas have of before counts no more." },
    { "removing", SCHEMA_TEXT, .min = 1, .about = "The one that is to leave." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field fields[] = {
    { "spec", SCHEMA_OBJECT, SCHEMA_REQUIRED, .of = spec_fields, .about = "What its node makes true." },
    SCHEMA_FIELDS_END,
};

static const char *const states[] = { "Down", "Levelling", "Serving", NULL };
static const char *const modes[] = {
    "Healthy", "Degraded", "Rebuilding", "Offline", "Error", "NewReplicaDegraded", NULL,
};

static const struct schema_field client_export_fields[] = {
    { "nodeId", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .about = "Who is let in." },
    { "state", SCHEMA_WORD, SCHEMA_REQUIRED, .words = states, .about = "Is it, now?" },
    { "generation", SCHEMA_INT, .min = 1, .about = "The spec that named it." },
    { "host", SCHEMA_TEXT, SCHEMA_REQUIRED | SCHEMA_ADMIN_ONLY, .min = 1, .about = "What it calls," },
    { "port", SCHEMA_INT, SCHEMA_REQUIRED | SCHEMA_ADMIN_ONLY, .min = 1, .max = 65535, .about = "at this port," },
    { "export", SCHEMA_TEXT, SCHEMA_REQUIRED | SCHEMA_ADMIN_ONLY, .min = 1, .about = "and the export's name." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field target_fields[] = {
    { "nodeId", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .about = "Where it runs." },
    { "state", SCHEMA_WORD, SCHEMA_REQUIRED, .words = states, .about = "What it does." },
    { "address", SCHEMA_TEXT, SCHEMA_ADMIN_ONLY, .max = PATH_MOST, .about = "Where clients find it." },
    { "clients", SCHEMA_LIST, .of = client_export_fields, .max = CLIENTS_MOST,
      .about = "Where other hosts find it." },
    { "epoch", SCHEMA_INT, .min = 1, .about = "That this is said in; without, the present one." },
    { "highestEpoch", SCHEMA_INT, .min = 1, .max = EPOCH_MOST,
      .about = "In which a replica was opened, if it is higher: a target of `epoch` cannot serve." },
    { "decidedBlocks", SCHEMA_INT,
      .about = "Blocks that differed behind an unclean stop, and that write logs decided when it was started." },
    SCHEMA_FIELDS_END,
};

static const char *const rebuild_reasons[] = { "NoSpace", "RebuildFailed", NULL };

static const struct schema_field replica_fields[] = {
    { "replicaId", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .about = "Its uid." },
    { "poolName", SCHEMA_TEXT, SCHEMA_ADMIN_ONLY, .about = "The pool where its file is." },
    { "mode", SCHEMA_WORD, SCHEMA_REQUIRED, .words = modes, .about = "As the target sees it." },
    { "reason", SCHEMA_WORD, .words = rebuild_reasons, .about = "Why it could not be rebuilt." },
    { "message", SCHEMA_TEXT, SCHEMA_ADMIN_ONLY, .max = MESSAGE_MOST, .about = "Why it is so." },
    { "mismatches", SCHEMA_INT, .about = "How often it had other data than the rest." },
    { "errors", SCHEMA_INT, .about = "How often it failed." },
    { "doneBytes", SCHEMA_INT, .about = "How much of it is rebuilt." },
    { "totalBytes", SCHEMA_INT, .about = "How much there is to rebuild." },
    SCHEMA_FIELDS_END,
};

static const char *const snapshot_phases[] = { "Pending", "Ready", NULL };

static const struct schema_field snapshot_fields[] = {
    { "uid", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .about = "Of the snapshot." },
    { "phase", SCHEMA_WORD, SCHEMA_REQUIRED, .words = snapshot_phases, .about = "Is it taken?" },
    { "sizeBytes", SCHEMA_INT, .about = "The volume's size then." },
    { "message", SCHEMA_TEXT, SCHEMA_ADMIN_ONLY, .max = MESSAGE_MOST, .about = "Why it is so." },
    SCHEMA_FIELDS_END,
};

static const char *const revert_phases[] = { "Pending", "Done", NULL };

static const struct schema_field revert_fields[] = {
    { "number", SCHEMA_INT, SCHEMA_REQUIRED, .min = 1, .about = "Of the revert." },
    { "attempt", SCHEMA_INT, SCHEMA_REQUIRED, .min = 1,
      .about = "Begun when this is told; of earlier ones nothing is heard." },
    { "phase", SCHEMA_WORD, SCHEMA_REQUIRED, .words = revert_phases, .about = "Is it done?" },
    { "doneBytes", SCHEMA_INT, .about = "How much is copied." },
    { "totalBytes", SCHEMA_INT, .about = "How much there is to copy." },
    SCHEMA_FIELDS_END,
};

static const char *const recovery_phases[] = { RECOVERY_PHASE_ABLE, RECOVERY_PHASE_REFUSED, RECOVERY_PHASE_DONE, NULL };

static const struct schema_field recovery_fields[] = {
    { "number", SCHEMA_INT, SCHEMA_REQUIRED, .min = 1, .about = "Of the salvage." },
    { "phase", SCHEMA_WORD, SCHEMA_REQUIRED, .words = recovery_phases,
      .about = "Can it be, and is it done?" },
    { "reason", SCHEMA_WORD, .words = recovery_reasons, .about = "Why it cannot." },
    { "message", SCHEMA_TEXT, SCHEMA_ADMIN_ONLY, .max = MESSAGE_MOST, .about = "The same, in full." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field scrub_fields[] = {
    { "damagedBlocks", SCHEMA_INT, .about = "Blocks of 4096 bytes in which one was outvoted." },
    { "undecidedBlocks", SCHEMA_INT, .about = "Those about which no majority agreed." },
    { "doneBytes", SCHEMA_INT, .about = "How much is compared." },
    { "totalBytes", SCHEMA_INT, .about = "How much there is to compare; nothing when none goes on." },
    { "resynchronizing", SCHEMA_BOOL,
      .about = "Behind an unclean stop: a replica may lack a write, and is found by comparing all." },
    { "finishedAt", SCHEMA_TEXT, .about = "When the last one ended." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field status_fields[] = {
    { "phase", SCHEMA_WORD, SCHEMA_REQUIRED, .words = volume_phase_names, .about = "How it is." },
    { "servedPhase", SCHEMA_WORD, SCHEMA_READ_ONLY, .words = volume_phase_names,
      .about = "How its last node left it, where its pools make it something else." },
    { "capacity", SCHEMA_QUANTITY, .about = "Its real size." },
    { "observedGeneration", SCHEMA_INT, .about = "The spec that this is about." },
    { "claimedEpoch", SCHEMA_INT, SCHEMA_READ_ONLY,
      .about = "The last in which its node had a target, or was about to." },
    { "silentNodes", SCHEMA_TEXT, SCHEMA_READ_ONLY,
      .about = "Those that lost it without a word, until another has most of its replicas: a,b." },
    { "target", SCHEMA_OBJECT, .of = target_fields, .about = "What serves it; nothing when nothing does." },
    { "replicaStatuses", SCHEMA_LIST, .of = replica_fields, .max = LISTED_MOST,
      .about = "Each replica as the target sees it." },
    { "snapshots", SCHEMA_LIST, .of = snapshot_fields, .max = SNAPSHOTS_MOST,
      .about = "Each that is to be taken." },
    { "revert", SCHEMA_OBJECT, .of = revert_fields, .about = "How the one that is wanted goes on." },
    { "salvage", SCHEMA_OBJECT, .of = recovery_fields, .about = "What becomes of the one that is wanted." },
    { "scrub", SCHEMA_OBJECT, .of = scrub_fields, .about = "How the replicas compare." },
    { "progress", SCHEMA_LIST, SCHEMA_READ_ONLY, .of = progress_fields, .max = PROGRESS_MOST,
      .about = "How far what runs is; nothing when nothing does." },
    { "message", SCHEMA_TEXT, SCHEMA_ADMIN_ONLY, .max = MESSAGE_MOST, .about = "Why it is so." },
    { "conditions", SCHEMA_LIST, .of = condition_fields, .max = CONDITIONS_MOST, .also = "condition",
      .about = "What goes on." },
    SCHEMA_FIELDS_END,
};
/* clang-format on */

/* The phase that its node reports, or a worse one that the replicas reported beside it make it. */
static void put_phase(const struct document *before, struct document *after) {
    const char *phase = json_text_of(before->status, "phase");
    struct volume_facts facts = { .has_node = true };
    const struct state_row *row;

    json_object_del(after->status, "servedPhase");
    volume_facts_read(json_object_get(before->body, "spec"), after->status, &facts);
    row = phase_reported(&volume_states, phase, VOLUME_FOUND + volume_phase_of(&facts), before->id);
    if (row)
        phase = volume_phase_names[row->next];
    json_object_set_new(after->status, "phase", json_string(phase));
}

static void put_progress(struct work *work, const struct document *before, struct document *after) {
    json_t *progress = progress_of(work->arena, json_object_get(before->status, "progress"),
                                   after->status, work->now_us);

    if (progress)
        json_object_set(after->status, "progress", progress);
    else
        json_object_del(after->status, "progress");
}

/* A node that tells of a target has it, or is about to: from then on only its own word gives the
 * volume to another.  That stands until the next epoch, whatever the node says later. */
static int keep_claim(struct work *work, const struct document *before, struct document *after,
                      struct error *err) {
    const json_t *target = json_object_get(after->status, "target");
    json_int_t epoch = json_int_at(before->body, "spec.epoch");
    json_int_t reported = json_int_at(target, "epoch");
    json_int_t claimed = json_int_at(before->status, "claimedEpoch");

    (void)err;
    if (target && (reported == 0 || reported >= epoch))
        claimed = epoch;
    if (claimed > 0)
        json_object_set_new(after->status, "claimedEpoch", json_integer(claimed));
    put_phase(before, after);
    volume_revert_keep(before, after);
    put_progress(work, before, after);
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
