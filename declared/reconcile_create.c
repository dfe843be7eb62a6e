/*
 * From Pending to Bound: creates a volume and its replicas, and completes the config when their
 * nodes have created them.
 */
#include "declared/reconcile.private.h"

#include "common/assert.h"
#include "common/quantity.h"
#include "common/replicas.h"
#include "declared/document_store.private.h"
#include "declared/replica_placement.h"
#include "declared/snapshot_source.h"
#include "json/json.h"

#include <string.h>

#define REASON      "Provisioning"
#define POLICY_NAME "openebs.io/volume-policy"

/* ---- the policy ---- */

/* 1, or 0 when its project has none of this name. */
static int find_policy(struct reconcile *r, const char *name, struct document *ret,
                       struct error *err) {
    struct context context = { .request_id = "-", .project_id = r->config.before.project_id };
    struct work work = *r->work;
    struct error failure;

    work.context = &context;
    if (document_find(&work, &kind_volume_policy, name, ret, &failure) == 0)
        return 1;
    return failure.kind == ERROR_NOT_FOUND ? 0 : error_pass(err, &failure);
}

/* The volume's policy from now on (P41, P42): 1; or 0, after an event. */
static int take_policy(struct reconcile *r, json_t **ret, struct error *err) {
    struct arena *arena = r->work->arena;
    const struct document *config = &r->config.before;
    const char *name = json_text_of(config->annotations, POLICY_NAME);
    struct document found;
    int there;

    *ret = json_object_get(update_spec(&r->config), "policy");
    if (*ret)
        return 1;
    if (!name || !*name)
        name = json_text_of(config->labels, POLICY_NAME);
    if (name && *name) {
        there = find_policy(r, name, &found, err);
        if (there < 0)
            return -1;
        if (there == 0)
            return reconcile_fail(
                r, REASON, arena_format(arena, "Volume policy %s could not be found.", name), err);
        *ret = json_keep(arena, json_deep_copy(document_spec(&found)));
    } else /* the defaults apply */
        *ret = json_keep(arena, json_object());
    return schema_accept(arena, volume_policy_fields, "spec.policy", *ret, err) < 0 ? -1 : 1;
}

/* ---- the source of a clone ---- */

struct clone_source {
    const char *snapshot; /* uid */
    struct document *replicas;
    const char **pools; /* that hold it, and the replicas there */
    const struct document **holders;
    unsigned count;
};

static bool holds(const struct document *replica, const char *snapshot) {
    const json_t *list = json_object_get(replica->status, "snapshots");

    for (size_t i = 0; i < json_array_size(list) && !replica->deleted_at; i++)
        if (text_is(tree_text(json_array_get(list, i), "uid"), snapshot) &&
            phase_is(&snapshot_states, json_array_get(list, i), SNAPSHOT_READY))
            return true;
    return false;
}

static int find_holders(struct reconcile *r, const struct document *config,
                        struct clone_source *ret, struct error *err) {
    struct document *volume = NULL;
    int count = document_owned(r->work, config->id, &kind_replicated_volume, &volume, err);

    assert(ret->snapshot);
    if (count > 0)
        count = document_owned(r->work, volume->id, &kind_volume_replica, &ret->replicas, err);
    if (count < 0)
        return -1;
    ret->pools = arena_alloc(r->work->arena, ((size_t)count + 1) * sizeof(*ret->pools));
    ret->holders = arena_alloc(r->work->arena, ((size_t)count + 1) * sizeof(*ret->holders));
    for (int i = 0; i < count; i++) {
        if (!holds(&ret->replicas[i], ret->snapshot))
            continue;
        ret->holders[ret->count] = &ret->replicas[i];
        ret->pools[ret->count++] = replica_pool_of(&ret->replicas[i]);
    }
    return 0;
}

/* P19: its source is lost; a later object of the same name is another one. */
static int fail_config(struct reconcile *r, const char *message, struct error *err) {
    if (!update_advance(r, &r->config, &config_states, CONFIG_SOURCE_LOST))
        return 0;
    update_put_status(r, &r->config, "message", json_string(message));
    return reconcile_record_event(r, "Warning", "ProvisioningFailed", message, err);
}

/* 1; or 0, after an event: an empty volume is never created instead (P63). */
static int find_source(struct reconcile *r, const char *name, struct clone_source *ret,
                       struct error *err) {
    struct snapshot_source source;
    struct error failure;

    if (snapshot_source_find(r->work, r->config.before.project_id, name, &source, &failure) < 0)
        return failure.kind == ERROR_NOT_FOUND ? fail_config(r, failure.message, err)
                                               : error_pass(err, &failure);
    if (phase_is(&snapshot_states, source.snapshot.status, SNAPSHOT_FAILED))
        return fail_config(
            r,
            arena_format(r->work->arena,
                         "spec.cstorVolumeSource: too few copies of snapshot %s are left.",
                         source.snapshot.name),
            err);
    ret->snapshot = source.snapshot.id;
    return find_holders(r, &source.config, ret, err) < 0 ? -1 : 1;
}

/* ---- placement ---- */

/* 1: in *ret; 0: no pools, after an event. */
static int choose_pools(struct reconcile *r, const json_t *policy, unsigned count, int64_t bytes,
                        const struct clone_source *source, const struct replica_pool **ret,
                        struct error *err) {
    const struct clock *clock = r->work->settings->clock;
    const json_t *publish = json_object_get(r->config.before.body, "publish");
    bool is_local = json_true_at(json_object_get(policy, "provision"), "replicaAffinity"); /* P34 */
    struct replica_placement wanted = {
        .count = count,
        .bytes = bytes,
        .local_node = is_local ? tree_text(publish, "nodeId") : NULL,
        .of_source = source->pools, /* P37 */
        .source_count = source->count,
    };
    const json_t *named = json_object_get(policy, "replicaPoolInfo");
    size_t named_count = json_array_size(named);
    const char **names = arena_alloc(r->work->arena, (named_count + 1) * sizeof *names);
    struct replica_pool *pools = NULL;
    struct error failure;
    int there = replica_pool_list(r->work, &pools, err);

    assert(count > 0 && count <= REPLICAS_MOST);
    if (there < 0)
        return -1;
    clock->random(clock->arg, &wanted.seed, sizeof wanted.seed);
    for (size_t i = 0; i < named_count; i++)
        names[i] = tree_text(json_array_get(named, i), "poolName");
    wanted.named = named_count > 0 ? names : NULL;
    wanted.named_count = (unsigned)named_count;
    if (replica_placement_choose(r->work->arena, &wanted, pools, (unsigned)there, ret, &failure) ==
        0)
        return 1;
    return reconcile_fail(r, REASON, failure.message, err);
}

/* ---- the documents ---- */

struct first_set {
    unsigned count;
    const struct replica_pool **pools;
    const char **ids;
    const char *capacity;
    json_t *policy;
    struct clone_source source;
};

static int make_volume(struct reconcile *r, const struct first_set *set, struct document *ret,
                       struct error *err) {
    const json_t *target = json_object_get(set->policy, "target");
    const json_t *provision = json_object_get(set->policy, "provision");
    json_t *replicas = json_array(), *body, *status;

    assert(set->capacity && set->count > 0 && set->count <= REPLICAS_MOST);
    for (unsigned i = 0; i < set->count; i++)
        json_array_append_new(replicas, replica_entry(set->ids[i], set->pools[i]));
    body = json_pack("{s:{s:s, s:s, s:O?, s:i, s:i, s:s, s:b, s:O?, s:O?, s:o, s:o}}", "spec",
                     "capacity", set->capacity, "maximum", VOLUME_MAXIMUM, "blockSize",
                     json_object_get(provision, "blockSize"), "replicationFactor", (int)set->count,
                     "consistencyFactor", (int)set->count / 2 + 1, "nodeId", "", "serve", true,
                     "queueDepth", json_object_get(target, "queueDepth"), "luWorkers",
                     json_object_get(target, "luWorkers"), "qos", reconcile_qos(set->policy),
                     "replicas", replicas);
    status = json_pack("{s:s, s:s}", "phase", volume_states.states[volume_states.initial],
                       "capacity", set->capacity);
    return document_own_create(r->work, &kind_replicated_volume, &r->config.before,
                               r->config.before.name, NULL, json_keep(r->work->arena, body),
                               json_keep(r->work->arena, status), NULL, ret, err);
}

static int make_replicas(struct reconcile *r, const struct first_set *set,
                         const struct document *volume, struct error *err) {
    json_t *members = json_keep(r->work->arena, json_array());

    assert(set->count > 0);
    for (unsigned i = 0; i < set->count; i++)
        json_array_append_new(members, json_string(set->ids[i]));
    for (unsigned i = 0; i < set->count; i++) {
        const json_t *source = NULL;

        for (unsigned k = 0; k < set->source.count && !source; k++)
            if (text_is(set->source.pools[k], set->pools[i]->id))
                source = json_keep(r->work->arena,
                                   json_pack("{s:s, s:s}", "replicaId", set->source.holders[k]->id,
                                             "snapshotId", set->source.snapshot));

        assert(source || !set->source.snapshot); /* no replica of a clone begins empty (P63) */
        if (replica_make(r, volume, set->pools[i], set->capacity, set->count, set->ids[i], members,
                         source, err) < 0)
            return -1;
    }
    return 0;
}

static int make(struct reconcile *r, const struct first_set *set, struct error *err) {
    struct document volume;

    assert(!r->dry_run && !r->has_volume);
    for (unsigned i = 0; i < set->count; i++)
        set->ids[i] = work_uuid(r->work);
    update_put_spec(r, &r->config, "policy", json_incref(set->policy));
    /* The copy of the policy counts like fields written by clients: one policy may be copied by any
     * number of configs. */
    if (document_check_bytes(r->work, &r->config.before, &r->config.after, err) < 0 ||
        make_volume(r, set, &volume, err) < 0 || make_replicas(r, set, &volume, err) < 0)
        return -1;
    return reconcile_record_event(
        r, "Normal", REASON,
        arena_format(r->work->arena, "%u replicas are being created.", set->count), err);
}

int reconcile_create(struct reconcile *r, struct error *err) {
    struct arena *arena = r->work->arena;
    const json_t *spec = update_spec(&r->config);
    const char *source = tree_text(spec, "cstorVolumeSource");
    int64_t bytes = reconcile_wanted_bytes(r);
    struct first_set set = {
        .count = (unsigned)json_int_at(spec, "provision.replicaCount"),
        .capacity = quantity_text(arena, bytes),
    };
    int result;

    r->writes = true;
    if (r->dry_run)
        return 0;
    set.pools = arena_alloc(arena, set.count * sizeof(*set.pools) + 1);
    set.ids = arena_alloc(arena, set.count * sizeof(*set.ids) + 1);
    result = take_policy(r, &set.policy, err);
    if (result > 0 && *source)
        result = find_source(r, source, &set.source, err);
    if (result > 0)
        result = choose_pools(r, set.policy, set.count, bytes, &set.source, set.pools, err);
    return result > 0 ? make(r, &set, err) : result;
}

/* ---- bound ---- */

/* 1: all are created; 0: one is not. */
static int all_are_made(struct reconcile *r, struct error *err) {
    const char *message;

    for (unsigned i = 0; i < r->count; i++) {
        const struct document *replica = &r->replicas[i];

        if (replica_is(replica, REPLICA_HEALTHY))
            continue;
        if (!replica_is(replica, REPLICA_ERROR) && !*tree_text(replica->status, "message"))
            return 0;
        /* Events are visible to the project: the pool of the replica and the cause are shown to
         * administrators in its document. */
        message = arena_format(r->work->arena, "Replica %s is not made yet; its node retries.",
                               replica->id);
        return reconcile_fail(r, REASON, message, err);
    }
    return r->count > 0;
}

/* P17, P18: all in one change. */
int reconcile_bind(struct reconcile *r, struct error *err) {
    const struct document *volume = &r->volume.before;
    const char *capacity = tree_text(update_spec(&r->volume), "capacity");
    int made = all_are_made(r, err);
    const struct state_row *row;
    json_t *pools;

    if (made < 0)
        return -1;
    row = update_advance(r, &r->config, &config_states, made ? CONFIG_REPLICAS_MADE : CONFIG_WAITS);
    if (!made || !row)
        return 0;
    pools = json_array();
    for (unsigned i = 0; i < r->count; i++)
        json_array_append_new(pools, json_string(replica_pool_of(&r->replicas[i])));
    update_put_spec(r, &r->config, "cstorVolumeRef",
                    json_pack("{s:s, s:s, s:s, s:s}", "apiVersion", DOCUMENT_API_VERSION, "kind",
                              volume->kind->name, "name", volume->name, "uid", volume->id));
    update_put_status(r, &r->config, "capacity", json_pack("{s:s}", "storage", capacity));
    update_put_status(r, &r->config, "poolInfo", pools);
    return reconcile_record_event(r, "Normal", "Provisioned", row->sentence, err);
}
