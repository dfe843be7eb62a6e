#include "declared/snapshot_source.h"

#include "declared/document_store.private.h"
#include "declared/name.h"
#include "declared/phases.h"
#include "declared/pool_list.h"
#include "operation/query.h"
#include "json/json.h"
#include "json/span.h"

#include <string.h>

#define SOURCE "spec.cstorVolumeSource"

/* ---- lookup ---- */

int snapshot_source_find(struct work *work, const char *project_id, const char *source,
                         struct snapshot_source *ret, struct error *err) {
    const char *at = strchr(source, '@');
    const char *volume = arena_format(work->arena, "%.*s", (int)(at - source), source);
    int found = document_named(work, &kind_volume_config, project_id, volume, &ret->config, err);

    if (found > 0)
        found = document_named(work, &kind_volume_config_snapshot, project_id, at + 1,
                               &ret->snapshot, err);
    if (found < 0)
        return -1;
    if (!found || ret->snapshot.deleted_at || ret->config.deleted_at ||
        strcmp(ret->snapshot.owner_id, ret->config.id) != 0)
        return error_set(err, ERROR_NOT_FOUND, SOURCE ": Snapshot %s could not be found.", source);
    return 0;
}

/* ---- checks ---- */

/* P37 */
static int check_pools(const struct document *config, const struct document *snapshot,
                       struct error *err) {
    const json_t *pools = json_object_get(snapshot->status, "poolInfo");
    const json_t *named = json_at(config->body, "spec.policy.replicaPoolInfo");
    json_int_t replicas = json_int_at(config->body, "spec.provision.replicaCount");

    if ((size_t)replicas > json_array_size(pools))
        return error_set(
            err, ERROR_BAD_REQUEST,
            "spec.provision.replicaCount: snapshot %s is on %zu pools, too few for %jd replicas.",
            snapshot->name, json_array_size(pools), (intmax_t)replicas);
    for (size_t i = 0; i < json_array_size(named); i++) {
        const char *name = json_text_of(json_array_get(named, i), "poolName");

        if (!json_list_has(pools, name))
            return error_set(err, ERROR_BAD_REQUEST,
                             "spec.policy.replicaPoolInfo: snapshot %s is not on pool %s.",
                             snapshot->name, name);
    }
    return 0;
}

int snapshot_source_check(struct work *work, struct document *config, struct error *err) {
    const char *source = json_text_at(config->body, SOURCE);
    struct snapshot_source found;

    if (!source)
        return 0;
    if (snapshot_source_find(work, config->project_id, source, &found, err) < 0)
        return -1;
    if (!phase_is(&snapshot_states, found.snapshot.status, SNAPSHOT_READY))
        return error_set(err, ERROR_BAD_REQUEST, SOURCE ": Snapshot %s is not ready.",
                         found.snapshot.name);
    if (json_bytes_at(config->body, "spec.capacity.storage") <
        json_bytes_at(found.snapshot.status, "capacity.storage"))
        return error_set(err, ERROR_BAD_REQUEST,
                         "spec.capacity.storage: a clone of snapshot %s has at least %s.",
                         found.snapshot.name,
                         json_text_at(found.snapshot.status, "capacity.storage"));
    if (check_pools(config, &found.snapshot, err) < 0)
        return -1;
    if (!name_is_label_value(found.config.name))
        return error_set(err, ERROR_BAD_REQUEST,
                         SOURCE ": the name of volume config %s is no valid value of a label.",
                         found.config.name);
    snapshot_source_keep_label(work, config);
    return 0;
}

void snapshot_source_keep_label(struct work *work, struct document *config) {
    const char *source = json_text_at(config->body, SOURCE);

    if (!source)
        return;
    config->labels = json_keep(work->arena, json_deep_copy(config->labels));
    json_object_set_new(config->labels, LABEL_SOURCE,
                        json_stringn(source, (size_t)(strchr(source, '@') - source)));
}

int snapshot_source_is_needed(struct work *work, const struct document *config, struct error *err) {
    struct document *volume = NULL, *replicas = NULL;
    int count;

    if (!json_text_at(config->body, SOURCE))
        return 0;
    if (!phase_is(&config_states, config->status, CONFIG_BOUND) &&
        !phase_is(&config_states, config->status, CONFIG_RECONCILING))
        return 1;
    count = document_owned(work, config->id, &kind_replicated_volume, &volume, err);
    if (count > 0)
        count = document_owned(work, volume->id, &kind_volume_replica, &replicas, err);
    for (int i = 0; i < count; i++) {
        const char *phase = json_text_of(replicas[i].status, "phase");

        /* its node has not created it from the snapshot yet */
        if (!replicas[i].deleted_at && json_at(replicas[i].body, "spec.source") &&
            (!phase || strcmp(phase, "Init") == 0))
            return 1;
    }
    return count < 0 ? -1 : 0;
}

/* ---- pending clones ---- */

#define PENDING                                                                            \
    "SELECT d.body, d.status FROM documents d JOIN document_labels l "                     \
    "ON l.document_id = d.id WHERE l.project_id = $1 AND l.key = $2 AND l.value = $3 AND " \
    "d.kind = $4 AND d.deleted_at IS NULL AND d.status LIKE '%\"phase\":\"Pending\"%'"

/* Without trees: a project may give the label to many and large configs. The pattern also matches a
 * complete clone with a revert that is Pending. */
static bool is_begun(const char *body, const char *status, const char *source, bool is_whole) {
    const struct json_span all = { body, body + strlen(body) };
    const struct json_span state = { status, status + strlen(status) };
    struct json_span spec, found;

    return json_span_member(state, "phase", &found) &&
           json_span_is(found, config_states.states[CONFIG_PENDING]) &&
           json_span_member(all, "spec", &spec) &&
           json_span_member(spec, "cstorVolumeSource", &found) &&
           (is_whole ? json_span_is(found, source) : json_span_begins(found, source));
}

int snapshot_source_begun(struct work *work, const struct document *config, const char *snapshot,
                          struct error *err) {
    autorows struct db_rows *rows =
        db_query(work->tx, err, PENDING, DB_TEXT(config->project_id), DB_TEXT(LABEL_SOURCE),
                 DB_TEXT(config->name), DB_TEXT(kind_volume_config.name));
    const char *name = arena_join(work->arena, config->name, "@", snapshot ? snapshot : "", NULL);
    int more = -1, begun = 0;

    while (rows && (more = db_next(rows, err)) > 0)
        begun += is_begun(db_text(rows, 0), db_text(rows, 1), name, snapshot != NULL);
    return more < 0 ? -1 : begun;
}
