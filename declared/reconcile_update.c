#include "declared/reconcile.private.h"

#include "common/assert.h"
#include "json/json.h"

#define BLOCK_MOST 131072

/* ---- trees ---- */

json_t *update_spec(const struct document_update *update) {
    return document_spec(&update->after);
}

json_t *update_status(const struct document_update *update) {
    return update->after.status;
}

bool config_is(const struct reconcile *r, enum config_phase phase) {
    return phase_is(&config_states, r->config.after.status, phase);
}

/* Copies a tree before its first change: the rest of the run may need the previous state. */
static void own_copy(struct reconcile *r, json_t **tree, bool *is_own) {
    if (!*is_own)
        *tree = json_keep(r->work->arena, json_deep_copy(*tree));
    *is_own = true;
}

static bool has_value(const json_t *object, const char *key, json_t *value) {
    const json_t *present = json_object_get(object, key);

    return (!present && !value) || (present && value && json_equal(present, value));
}

static void put(json_t *object, const char *key, json_t *value) {
    if (value)
        json_object_set_new(object, key, value);
    else
        json_object_del(object, key);
}

void update_put_spec(struct reconcile *r, struct document_update *update, const char *key,
                     json_t *value) {
    if (has_value(update_spec(update), key, value)) {
        json_decref(value);
        return;
    }
    own_copy(r, &update->after.body, &update->own_body);
    put(update_spec(update), key, value);
}

void update_put_status(struct reconcile *r, struct document_update *update, const char *key,
                       json_t *value) {
    if (has_value(update->after.status, key, value)) {
        json_decref(value);
        return;
    }
    own_copy(r, &update->after.status, &update->own_status);
    put(update->after.status, key, value);
}

const struct state_row *update_advance(struct reconcile *r, struct document_update *update,
                                       const struct state_table *table, unsigned event) {
    const struct state_row *row =
        phase_next(table, tree_text(update->after.status, "phase"), event);

    if (row)
        update_put_status(r, update, "phase", json_string(table->states[row->next]));
    return row;
}

json_t *config_conditions(struct reconcile *r) {
    const json_t *present = json_object_get(update_status(&r->config), "conditions");

    if (!r->conditions)
        r->conditions = json_keep(r->work->arena,
                                  json_is_array(present) ? json_deep_copy(present) : json_array());
    return r->conditions;
}

void config_put_conditions(struct reconcile *r, json_t *conditions) {
    update_put_status(r, &r->config, "conditions",
                      json_array_size(conditions) > 0 ? json_incref(conditions) : NULL);
}

/* ---- events ---- */

int reconcile_record_event(struct reconcile *r, const char *type, const char *reason,
                           const char *message, struct error *err) {
    r->writes = true;
    return r->dry_run ? 0 : document_event(r->work, &r->config.before, type, reason, message, err);
}

int reconcile_record_volume_event(struct reconcile *r, const char *type, const char *reason,
                                  const char *message, struct error *err) {
    if (reconcile_record_event(r, type, reason, message, err) < 0)
        return -1;
    return r->dry_run ? 0 : document_event(r->work, &r->volume.before, type, reason, message, err);
}

int reconcile_fail(struct reconcile *r, const char *reason, const char *message,
                   struct error *err) {
    r->again = true;
    return reconcile_record_event(r, "Warning", reason, message, err);
}

/* ---- current state ---- */

int64_t reconcile_wanted_bytes(const struct reconcile *r) {
    int64_t bytes = json_bytes_at(update_spec(&r->config), "capacity.storage");

    return (bytes + BLOCK_MOST - 1) / BLOCK_MOST * BLOCK_MOST;
}

bool volume_is_done(const struct reconcile *r) {
    const struct document_update *volume = &r->volume;

    if (volume->own_body && !json_equal(volume->before.body, volume->after.body))
        return false;
    return !volume->after.node ||
           json_int_at(update_status(volume), "observedGeneration") >= volume->before.generation;
}

bool volume_is_served(const struct reconcile *r) {
    return r->volume.after.node && volume_is_done(r) &&
           text_is(tree_text(update_status(&r->volume), "target.state"), "Serving");
}

json_t *reconcile_other_finalizers(struct reconcile *r, const struct document *document) {
    json_t *finalizers = json_keep(r->work->arena, json_array());

    for (size_t i = 0; i < json_array_size(document->finalizers); i++) {
        json_t *name = json_array_get(document->finalizers, i);

        if (!text_is(json_string_value(name), document->kind->finalizer))
            json_array_append(finalizers, name);
    }
    return finalizers;
}

bool replica_is(const struct document *replica, enum replica_phase phase) {
    return phase_is(&replica_states, replica->status, phase);
}

const char *replica_pool_of(const struct document *replica) {
    return tree_text(replica->body, "spec.poolName");
}

int replica_put_spec(struct reconcile *r, struct document *replica, const char *key, json_t *value,
                     struct error *err) {
    struct document after = *replica;

    assert(!replica->deleted_at);
    if (has_value(document_spec(replica), key, value)) {
        json_decref(value);
        return 0;
    }
    r->writes = true;
    after.body = json_keep(r->work->arena, json_deep_copy(replica->body));
    put(document_spec(&after), key, value);
    if (r->dry_run)
        return 0;
    if (document_own_write(r->work, replica, &after, err) < 0)
        return -1;
    *replica = after;
    return 0;
}
