#include "declared/volume_config.h"

#include "common/cleanup.h"
#include "common/quantity.h"
#include "common/replicas.h"
#include "declared/config_reclaim.h"
#include "declared/document_own.h"
#include "declared/document_store.h"
#include "declared/name.h"
#include "declared/phases.h"
#include "declared/pool_list.h"
#include "declared/replica_space.h"
#include "declared/snapshot_source.h"
#include "declared/tree.h"
#include "declared/volume_health.h"
#include "declared/volume_revert.h"
#include "operation/quota_limit.h"
#include "json/span.h"

#include <string.h>

#define CAPACITY_LEAST ((int64_t)1 << 20)
#define CAPACITY_MOST  ((int64_t)1 << 40) /* the space that files of replicas have to grow */

static bool is_node(const char *text) {
    return *text == '\0' || name_is_host(text);
}

/* "volume@snapshot" (P9) */
static bool is_source(const char *text) {
    char volume[SCHEMA_TEXT_MOST + 1];
    const char *at = strchr(text, '@');

    if (!at || strlen(text) > SCHEMA_TEXT_MOST)
        return false;
    memcpy(volume, text, (size_t)(at - text));
    volume[at - text] = '\0';
    return name_is_subdomain(volume) && name_is_subdomain(at + 1);
}

/* clang-format off */
static const struct schema_field capacity_fields[] = {
    { "storage", SCHEMA_QUANTITY, SCHEMA_REQUIRED | SCHEMA_GROWS, .min = CAPACITY_LEAST,
      .max = CAPACITY_MOST, .about = "The requested size of the volume." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field first_capacity_fields[] = {
    { "storage", SCHEMA_QUANTITY, SCHEMA_REQUIRED | SCHEMA_FIXED, .min = CAPACITY_LEAST,
      .max = CAPACITY_MOST, .about = "The size at creation." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field provision_fields[] = {
    { "capacity", SCHEMA_OBJECT, SCHEMA_KEPT, .of = first_capacity_fields, .about = "The capacity at creation." },
    { "replicaCount", SCHEMA_INT, SCHEMA_REQUIRED | SCHEMA_FIXED, .min = 1, .max = REPLICAS_MOST,
      .about = "Number of copies of the data at creation." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field revert_fields[] = {
    { "snapshotName", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .allows = name_is_subdomain,
      .about = "the name of the snapshot to revert to" },
    { "request", SCHEMA_TEXT, .about = "Any text; another text is another request." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field reclaim_fields[] = {
    { "request", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .about = "Any text; another text is another request." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field spec_fields[] = {
    { "capacity", SCHEMA_OBJECT, SCHEMA_REQUIRED, .of = capacity_fields,
      .about = "The requested capacity." },
    { "cstorVolumeRef", SCHEMA_OBJECT, SCHEMA_READ_ONLY, .about = "Reference to its volume." },
    { "cstorVolumeSource", SCHEMA_TEXT, SCHEMA_FIXED, .min = 1, .allows = is_source,
      .about = "of the form volume@snapshot" },
    { "provision", SCHEMA_OBJECT, SCHEMA_REQUIRED, .of = provision_fields,
      .about = "Parameters of its creation; cannot be changed." },
    { "policy", SCHEMA_OBJECT, SCHEMA_KEPT, .of = volume_policy_fields,
      .about = "Its own copy of its policy." },
    { "revert", SCHEMA_OBJECT, .of = revert_fields, .about = "The snapshot to revert to." },
    { "reclaim", SCHEMA_OBJECT, .of = reclaim_fields,
      .about = "Reclaims unused space of its replicas." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field publish_fields[] = {
    { "nodeId", SCHEMA_TEXT, .max = NAME_HOST_MOST, .allows = is_node,
      .about = "the node where it is used, letters, digits, '-', '.', '_', ':'; or empty: none" },
    { "export", SCHEMA_WORD, .words = volume_export_words,
      .about = "Exports on that node. nbd: a socket; file: a regular file, too; device: that file as a block device, too." },
    { "clients", SCHEMA_LIST, .of = volume_client_fields, .max = CLIENTS_MOST,
      .about = "Other hosts that use it on that node, over NBD with TLS." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field fields[] = {
    { "spec", SCHEMA_OBJECT, SCHEMA_REQUIRED, .of = spec_fields, .about = "The desired state." },
    { "publish", SCHEMA_OBJECT, .of = publish_fields, .initial = "{}", .about = "Where it is used." },
    { "status", SCHEMA_OBJECT, SCHEMA_READ_ONLY, .about = "The observed state." },
    { "versionDetails", SCHEMA_OBJECT, .about = "Stored and not evaluated." },
    SCHEMA_FIELDS_END,
};
/* clang-format on */

static const char *node_of(const struct document *config) {
    const char *node = json_text_at(config->body, "publish.nodeId");

    return node && *node ? node : NULL;
}

static const json_t *clients_of(const struct document *config) {
    return json_at(config->body, "publish.clients");
}

/* Each other host once, and only of a published volume. */
static int check_clients(const struct document *config, struct error *err) {
    const json_t *clients = clients_of(config);
    const char *node = node_of(config);

    if (json_array_size(clients) > 0 && !node)
        return error_set(err, ERROR_BAD_REQUEST, "publish.clients: publish.nodeId is required.");
    for (size_t i = 0; i < json_array_size(clients); i++) {
        const char *client = json_text_of(json_array_get(clients, i), "nodeId");
        bool twice = strcmp(client, node) == 0;

        for (size_t j = 0; j < i; j++)
            twice |= strcmp(client, json_text_of(json_array_get(clients, j), "nodeId")) == 0;
        if (twice)
            return error_set(err, ERROR_BAD_REQUEST,
                             "publish.clients[%zu].nodeId: %s is named already.", i, client);
    }
    return 0;
}

/* The address that clients were given ends with the node. */
static int check_move(const struct document *before, const struct document *after,
                      struct error *err) {
    const char *had = node_of(before), *has = node_of(after);

    if (json_array_size(clients_of(after)) == 0 || !had || !has || strcmp(had, has) == 0)
        return check_clients(after, err);
    return error_set(
        err, ERROR_CONFLICT,
        "publish.nodeId cannot be changed from %s while publish.clients are set, which use the volume on that node.",
        had);
}

/* P36: pools named before the volume exists are as many as its replicas. */
static int check_pool_count(const struct document *config, struct error *err) {
    json_int_t replicas = json_int_at(config->body, "spec.provision.replicaCount");
    size_t pools = pool_list_count(json_at(config->body, "spec.policy"));

    if (pools == 0 || pools == (size_t)replicas)
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "spec.policy.replicaPoolInfo names %zu pools for %" JSON_INTEGER_FORMAT
                     " replicas.",
                     pools, replicas);
}

/* P10: the first size is the requested one. */
static int check_config(struct work *work, struct document *config, struct error *err) {
    json_t *spec = document_spec(config);
    json_t *provision = json_object_get(spec, "provision");

    if (check_pool_count(config, err) < 0 || check_clients(config, err) < 0)
        return -1;
    if (json_object_get(spec, "revert") || json_object_get(spec, "reclaim"))
        return error_set(err, ERROR_CONFLICT, "spec.%s: Volume config %s is not Bound.",
                         json_object_get(spec, "revert") ? "revert" : "reclaim", config->name);
    if (!json_object_get(provision, "capacity"))
        json_object_set_new(provision, "capacity",
                            json_deep_copy(json_object_get(spec, "capacity")));
    if (json_bytes_at(provision, "capacity.storage") > json_bytes_at(spec, "capacity.storage"))
        return error_set(err, ERROR_BAD_REQUEST,
                         "spec.capacity.storage: it is less than "
                         "spec.provision.capacity.storage.");
    if (pool_list_check(json_object_get(spec, "policy"), "spec.policy", err) < 0)
        return -1;
    return snapshot_source_check(work, config, err);
}

static const char *phase_of(const struct document *config) {
    const char *phase = json_text_of(config->status, "phase");

    return phase ? phase : "new";
}

/* The pools in use, in the form of a policy. */
static const json_t *used_pools(struct arena *arena, const struct document *config) {
    const json_t *used = json_object_get(config->status, "poolInfo");
    json_t *list = json_array();

    for (size_t i = 0; i < json_array_size(used); i++)
        json_array_append_new(list, json_pack("{s:O}", "poolName", json_array_get(used, i)));
    return json_keep(arena, json_pack("{s:o}", "replicaPoolInfo", list));
}

/* 1: the volume's replica on this pool is not healthy, and none is being removed. */
static int is_replaceable(struct work *work, const struct document *config, const char *pool,
                          struct error *err) {
    struct document *volume = NULL, *replicas = NULL;
    int count = document_owned(work, config->id, &kind_replicated_volume, &volume, err);
    bool found = false;

    if (count <= 0 || json_text_at(volume->body, "spec.removing"))
        return count < 0 ? -1 : 0;
    count = document_owned(work, volume->id, &kind_volume_replica, &replicas, err);
    for (int i = 0; i < count; i++) {
        const struct document *replica = &replicas[i];
        const json_t *list = json_object_get(volume->status, "replicaStatuses");
        const json_t *report = tree_entry(list, "replicaId", replica->id);

        if (replica->deleted_at)
            return 0;
        found |= json_text_is(document_spec(replica), "poolName", pool) &&
                 (!phase_is(&replica_states, replica->status, REPLICA_HEALTHY) ||
                  (report && !json_text_is(report, "mode", "Healthy")));
    }
    return count < 0 ? -1 : found;
}

/* P53: pools change only while the config is Bound; an unreachable change can be undone, and a pool
 * whose replica is not healthy can be removed: the others may be waiting for it. */
static int check_pools(struct work *work, const struct document *before,
                       const struct document *after, struct error *err) {
    struct arena *arena = work->arena;
    const json_t *old_policy = json_at(before->body, "spec.policy");
    const json_t *policy = json_at(after->body, "spec.policy");
    const json_t *replaced = json_object_get(before->status, "replacedPools");
    const json_t *old, *wanted;
    const char *gone;
    int may_go;

    if (pool_list_check(policy, "spec.policy", err) < 0)
        return -1;
    if (pool_list_is_same(old_policy, policy))
        return 0;
    if (phase_is(&config_states, before->status, CONFIG_RECONCILING) &&
        pool_list_names_same(used_pools(arena, before), policy))
        return 0;
    /* the policy's pools, or if it leaves the choice, the chosen ones */
    old = pool_list_count(old_policy) > 0 ? old_policy : used_pools(arena, before);
    old = pool_list_effective(arena, old, replaced);
    wanted = pool_list_effective(arena, policy, replaced);
    if (json_object_size(replaced) > 0 && pool_list_names_same(old, wanted))
        return 0;
    if (!old_policy && phase_is(&config_states, before->status, CONFIG_PENDING))
        return check_pool_count(after, err);
    gone = phase_is(&config_states, before->status, CONFIG_RECONCILING)
               ? pool_list_only_gone(old, wanted)
               : NULL;
    may_go = gone ? is_replaceable(work, before, gone, err) : 0;
    if (may_go != 0)
        return may_go < 0 ? -1 : 0;
    if (!phase_is(&config_states, before->status, CONFIG_BOUND))
        return error_set(err, ERROR_CONFLICT,
                         "spec.policy.replicaPoolInfo can be changed while the config is Bound; it "
                         "is %s.",
                         phase_of(before));
    return pool_list_compare(old, wanted, "spec.policy", err);
}

/* P59: one extend at a time. */
static int check_size(struct work *work, const struct document *before,
                      const struct document *after, struct error *err) {
    int64_t has = json_bytes_at(before->status, "capacity.storage"),
            wanted = json_bytes_at(before->body, "spec.capacity.storage");

    if (json_bytes_at(after->body, "spec.capacity.storage") == wanted)
        return 0;
    if (has == 0 || has >= wanted)
        return replica_space_check_growth(work, before,
                                          json_bytes_at(after->body, "spec.capacity.storage"), err);
    return error_set(err, ERROR_CONFLICT,
                     "spec.capacity.storage: the volume is being extended to %s; try again.",
                     quantity_text(work->arena, wanted));
}

/* P20: an edited policy has to be applied again. */
static int check_config_edit(struct work *work, const struct document *before,
                             struct document *after, struct error *err) {
    const json_t *old_policy = json_at(before->body, "spec.policy");
    const json_t *policy = json_at(after->body, "spec.policy");

    int needs_source = json_object_get(after->labels, LABEL_SOURCE)
                           ? 1
                           : snapshot_source_is_needed(work, before, err);

    /* A complete clone does not need its source, and may drop the label. */
    if (needs_source < 0)
        return -1;
    if (needs_source)
        snapshot_source_keep_label(work, after);
    if (check_move(before, after, err) < 0 || check_pools(work, before, after, err) < 0 ||
        check_size(work, before, after, err) < 0 ||
        volume_revert_edit(work, before, after, err) < 0 ||
        config_reclaim_edit(work, before, after, err) < 0)
        return -1;
    if (old_policy && !json_equal(old_policy, policy)) {
        const struct state_row *row =
            phase_next(&config_states, phase_of(before), CONFIG_POLICY_EDITED);

        if (row)
            json_object_set_new(after->status, "phase",
                                json_string(config_states.states[row->next]));
    }
    return 0;
}

static int size_of(struct work *work, const struct document *config, struct document_size *ret,
                   struct error *err) {
    (void)work, (void)err;
    *ret = (struct document_size){ .bytes = json_bytes_at(config->body, "spec.capacity.storage") };
    return 0;
}

/* A volume that is published is not served before its node has reported it: a client that waits for
 * its phase must not find the one at its former node, even before the controller assigns it. An
 * edit may take the publish back before that: servedPhase has the former one. */
static int follow_publish(struct work *work, const struct document *before,
                          const struct document *after, struct error *err) {
    const char *had = node_of(before), *has = node_of(after);
    struct document *volumes, volume;
    const struct state_row *row;
    json_t *phase;
    int count;

    if (!has || (had && strcmp(had, has) == 0))
        return 0;
    count = document_owned(work, after->id, &kind_replicated_volume, &volumes, err);
    if (count <= 0 || !volume_is_awaited(after->body, volumes->body))
        return count < 0 ? -1 : 0;
    row = phase_next(&volume_states, json_text_of(volumes->status, "phase"), VOLUME_ASSIGNED);
    if (!row || phase_is(&volume_states, volumes->status, row->next))
        return 0;
    volume = *volumes;
    volume.status = json_keep(work->arena, json_deep_copy(volumes->status));
    phase = json_object_get(volumes->status, "phase");
    if (!json_object_get(volume.status, "servedPhase"))
        json_object_set(volume.status, "servedPhase", phase);
    json_object_set_new(volume.status, "phase", json_string(volume_states.states[row->next]));
    return document_own_write(work, volumes, &volume, err);
}

/* P48, P49 */
static int check_config_delete(struct work *work, const struct document *config,
                               struct error *err) {
    int64_t clones;
    struct document *snapshots;
    int count;

    if (node_of(config))
        return error_set(err, ERROR_CONFLICT, "Volume config %s is published on node %s.",
                         config->name, node_of(config));
    if (document_count_labelled(work, config, LABEL_SOURCE, config->name, &clones, err) < 0)
        return -1;
    if (clones > 0)
        return error_set(err, ERROR_CONFLICT,
                         "Volume config %s has %" JSON_INTEGER_FORMAT
                         " clones, which must be deleted first.",
                         config->name, (json_int_t)clones);
    count = document_owned(work, config->id, &kind_volume_config_snapshot, &snapshots, err);
    if (count <= 0)
        return count;
    return error_set(err, ERROR_CONFLICT,
                     "Volume config %s has %d snapshots, which must be deleted first.",
                     config->name, count);
}

/* Without a tree, which takes time and memory: a project may have many and large configs. The name
 * of a node has no character that is escaped. */
static bool is_published_at(const char *text, const char *node) {
    const struct json_span body = { text, text + strlen(text) };
    struct json_span publish, found;

    return json_span_member(body, "publish", &publish) &&
           json_span_member(publish, "nodeId", &found) && json_span_is(found, node);
}

int volume_config_count_published(struct work *work, const char *project_id, const char *node,
                                  int64_t *ret, struct error *err) {
    autorows struct db_rows *rows =
        db_query(work->tx, err,
                 "SELECT body FROM documents WHERE kind = $1 AND project_id = $2 AND "
                 "COALESCE(size_gb, -1) <> $3",
                 DB_TEXT(kind_volume_config.name), DB_TEXT(project_id), DB_INT(DOCUMENT_ELSEWHERE));
    int more = -1;

    *ret = 0;
    while (rows && (more = db_next(rows, err)) > 0) {
        const char *text = db_text(rows, 0);

        /* a node has few of them */
        *ret += strstr(text, node) && is_published_at(text, node);
    }
    return more;
}

const struct document_kind kind_volume_config = {
    .name = "CStorVolumeConfig",
    .collection = "volume_configs",
    .word = "volume_config",
    .label = "Volume config",
    .short_name = "cvc",
    .fields = fields,
    .initial_status = "{\"phase\":\"Pending\"}",
    .finalizer = "cvc.openebs.io/finalizer",
    .check = check_config,
    .check_edit = check_config_edit,
    .follow_edit = follow_publish,
    .check_delete = check_config_delete,
    .counts_as = QUOTA_VOLUMES,
    .size = size_of,
};
