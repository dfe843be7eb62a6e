/*
 * The controller among clients that edit, nodes that act, fail and are down, and transactions that
 * do not commit, in an order that a seed decides. After each step the invariants are checked; in
 * the end, when all nodes respond, all that was declared is reconciled, and deleted.
 */
#include "common/quantity.h"
#include "declared/changes.h"
#include "declared/settled.h"
#include "tests/lib/declared.h"

#include <stdio.h>

#define WALKS        20
#define STEPS        250
#define NODES        5
#define POOL_COUNT   7
#define CONFIGS      3
#define VOLUMES_MOST 256
#define FILES_MOST   1024
#define SHOTS        4 /* names of snapshots */
#define HELD_MOST    64

/* ---- state outside of the database ---- */

enum file_state { FILE_NONE, FILE_DATA, FILE_EMPTY };

struct held { /* the file of a snapshot */
    char id[UUID_SIZE];
    unsigned content;
};

struct file { /* of a replica */
    char id[UUID_SIZE];
    enum file_state state;
    bool votes; /* in the volume's generation */
    struct held held[HELD_MOST];
    unsigned held_count;
    unsigned origin; /* of a clone's: the content that it was made with */
    uint64_t body;   /* its spec, without snapshots and space reclaim */
};

struct target {
    char id[UUID_SIZE]; /* of the volume */
    char node[16];      /* where it runs; "": nowhere */
    int64_t bytes;
    bool fails; /* its next growth */
};

struct walk {
    struct db *db;
    struct arena *arena;
    struct work_fixture fixture;
    uint64_t seed;
    bool away[NODES];
    struct file files[FILES_MOST];
    unsigned file_count;
    struct target targets[VOLUMES_MOST];
    unsigned target_count;
    unsigned moves;   /* replacements that began */
    bool calm;        /* nothing fails any more */
    unsigned content; /* the data of a volume: never the same twice */
    struct settled *settled;
    struct pool_changes *pool_changes;
    int64_t seen;      /* all changes up to this number were followed */
    unsigned settling; /* configs found settled that had been evaluated before */
};

static unsigned draw(struct walk *walk, unsigned below) {
    uint64_t value = walk->seed += UINT64_C(0x9e3779b97f4a7c15);

    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (unsigned)((value ^ (value >> 31)) % below);
}

static bool chance(struct walk *walk, unsigned percent) {
    return !walk->calm && draw(walk, 100) < percent;
}

static struct file *file_of(struct walk *walk, const char *id) {
    for (unsigned i = 0; i < walk->file_count; i++)
        if (strcmp(walk->files[i].id, id) == 0)
            return &walk->files[i];
    ck_assert_uint_lt(walk->file_count, FILES_MOST);
    strcpy(walk->files[walk->file_count].id, id);
    return &walk->files[walk->file_count++];
}

static struct target *target_of(struct walk *walk, const char *id) {
    for (unsigned i = 0; i < walk->target_count; i++)
        if (strcmp(walk->targets[i].id, id) == 0)
            return &walk->targets[i];
    ck_assert_uint_lt(walk->target_count, VOLUMES_MOST);
    strcpy(walk->targets[walk->target_count].id, id);
    return &walk->targets[walk->target_count++];
}

static struct held *held_of(struct file *file, const char *id) {
    for (unsigned i = 0; i < file->held_count; i++)
        if (strcmp(file->held[i].id, id) == 0)
            return &file->held[i];
    return NULL;
}

static void hold(struct file *file, const char *id, unsigned content) {
    ck_assert_uint_lt(file->held_count, HELD_MOST);
    strcpy(file->held[file->held_count].id, id);
    file->held[file->held_count++].content = content;
}

static void forget_held(struct file *file, const char *id) {
    struct held *held = held_of(file, id);

    if (held)
        *held = file->held[--file->held_count];
}

/* ---- transactions ---- */

struct act {
    struct walk *walk;
    void (*run)(struct walk *walk, struct work *work, void *arg);
    void *arg;
    bool dies; /* behind all of it, and before the commit */
};

static int act_body(struct work *work, void *arg, struct error *err) {
    struct act *act = arg;

    act->run(act->walk, work, act->arg);
    return act->dies ? error_set(err, ERROR_UNAVAILABLE, "It died.") : 0;
}

static void act(struct walk *walk, void (*run)(struct walk *, struct work *, void *), void *arg,
                bool dies) {
    struct work base = { .arena = walk->arena,
                         .context = &walk->fixture.context,
                         .settings = &walk->fixture.settings };
    struct act call = { walk, run, arg, dies };
    struct error err = { 0 };
    int result = work_transaction(walk->db, &base, act_body, &call, &err);

    ck_assert_msg(result == (dies ? -1 : 0), "%s", err.message);
}

static unsigned all_of(struct work *work, const struct document_kind *kind, struct document **ret) {
    const struct db_value values[] = { DB_TEXT(kind->name) };
    const struct query query = { .where = "d.kind = $1",
                                 .values = values,
                                 .value_count = 1,
                                 .order = "d.first_version",
                                 .limit = 1000 };
    struct error err = { 0 };
    int count = document_list(work, &query, ret, &err);

    ck_assert_msg(count >= 0, "%s", err.message);
    return (unsigned)count;
}

static const json_t *spec_of(const struct document *document) {
    return json_object_get(document->body, "spec");
}

static const char *text_at(const json_t *object, const char *key) {
    const char *text = json_text_of(object, key);

    return text ? text : "";
}

/* ---- clients ---- */

static const char *some_pools(struct walk *walk, struct work *work, unsigned count) {
    unsigned first = draw(walk, POOL_COUNT);
    const char *list = "";

    for (unsigned i = 0; i < count; i++)
        list = arena_format(work->arena, "%s%s{\"poolName\":\"pool-%c\"}", list, *list ? "," : "",
                            'a' + (first + i) % POOL_COUNT);
    return list;
}

static void client_declares(struct walk *walk, struct work *work, void *arg) {
    unsigned replicas = 1 + draw(walk, 3);
    const char *policy =
        draw(walk, 2) ? arena_format(work->arena, POOLS("%s"), some_pools(walk, work, replicas))
                      : "";
    const char *text = arena_format(
        work->arena,
        "{\"metadata\":{\"name\":\"c%u\",\"labels\":{%s}},\"spec\":{\"capacity\":{\"storage\":"
        "\"%uMi\"},\"provision\":{\"replicaCount\":%u}%s}}",
        draw(walk, CONFIGS), draw(walk, 4) ? "" : "\"openebs.io/volume-policy\":\"late\"",
        1 + draw(walk, 9), replicas, policy);
    struct document made;
    struct error err = { 0 };

    (void)arg;
    document_create(work, &kind_volume_config, tree(work, text), false, &made, &err);
}

/* One more than it has, or one less, or as it was. */
static const char *other_pools(struct walk *walk, struct work *work,
                               const struct document *config) {
    const json_t *used = json_object_get(config->status, "poolInfo");
    unsigned count = (unsigned)json_array_size(used), what = draw(walk, 3), but = draw(walk, 9);
    const char *list = what == 0 ? some_pools(walk, work, 1) : "";

    for (unsigned i = 0; i < count; i++)
        if (what != 1 || i != but % count)
            list = arena_format(work->arena, "%s%s{\"poolName\":\"%s\"}", list, *list ? "," : "",
                                json_string_value(json_array_get(used, i)));
    return list;
}

static void client_edits(struct walk *walk, struct work *work, void *arg) {
    struct document *configs = NULL, after;
    unsigned count = all_of(work, &kind_volume_config, &configs);
    unsigned which = count ? draw(walk, count) : 0;
    const char *patch;
    struct error err = { 0 };

    (void)arg;
    if (count == 0)
        return;
    switch (draw(walk, 6)) {
    case 0:
        patch = arena_format(work->arena, "{\"spec\":{\"capacity\":{\"storage\":\"%uMi\"}}}",
                             1 + draw(walk, 40));
        break;
    case 1:
        patch = arena_format(work->arena,
                             "{\"spec\":{\"policy\":{\"target\":{\"luWorkers\":%u,"
                             "\"qos\":{\"iops\":%u}}}}}",
                             1 + draw(walk, 9), draw(walk, 9));
        break;
    case 2:
        patch = arena_format(work->arena, "{\"spec\":{\"policy\":{\"replicaPoolInfo\":[%s]}}}",
                             other_pools(walk, work, &configs[which]));
        break;
    case 3:
        patch = arena_format(work->arena, "{\"spec\":{\"reclaim\":{\"request\":\"%u\"}}}",
                             draw(walk, 4));
        break;
    default:
        patch = draw(walk, 4) ? arena_format(work->arena, "{\"publish\":{\"nodeId\":\"host-%c\"}}",
                                             'a' + draw(walk, NODES))
                              : "{\"publish\":{\"nodeId\":\"\"}}";
    }
    document_patch(work, &configs[which], tree(work, patch), false, &after, &err);
}

static void client_deletes(struct walk *walk, struct work *work, void *arg) {
    struct document *configs = NULL, after;
    unsigned count = all_of(work, &kind_volume_config, &configs);
    struct error err = { 0 };

    (void)arg;
    if (count > 0)
        document_delete(work, &configs[draw(walk, count)], false, &after, &err);
}

static void client_shoots(struct walk *walk, struct work *work, void *arg) {
    const char *text = arena_format(
        work->arena, "{\"metadata\":{\"name\":\"s%u\"},\"spec\":{\"volumeName\":\"c%u\"}}",
        draw(walk, SHOTS), draw(walk, CONFIGS));
    struct document made;
    struct error err = { 0 };

    (void)arg;
    document_create(work, &kind_volume_config_snapshot, tree(work, text), false, &made, &err);
}

static void client_deletes_snapshot(struct walk *walk, struct work *work, void *arg) {
    struct document *all = NULL, after;
    unsigned count = all_of(work, &kind_volume_config_snapshot, &all);
    struct error err = { 0 };

    (void)arg;
    if (count > 0)
        document_delete(work, &all[draw(walk, count)], false, &after, &err);
}

static void client_clones(struct walk *walk, struct work *work, void *arg) {
    struct document *all = NULL, made;
    unsigned count = all_of(work, &kind_volume_config_snapshot, &all);
    const struct document *snapshot = count ? &all[draw(walk, count)] : NULL;
    struct error err = { 0 };

    (void)arg;
    if (snapshot)
        document_create(
            work, &kind_volume_config,
            tree(work, arena_format(work->arena,
                                    "{\"metadata\":{\"name\":\"k%u\"},\"spec\":{\"capacity\":{"
                                    "\"storage\":\"40Mi\"},\"provision\":{\"replicaCount\":%u},"
                                    "\"cstorVolumeSource\":\"%s@%s\"}}",
                                    draw(walk, CONFIGS), 1 + draw(walk, 2),
                                    text_at(spec_of(snapshot), "volumeName"), snapshot->name)),
            false, &made, &err);
}

static void client_makes_policy(struct walk *walk, struct work *work, void *arg) {
    struct document made;
    struct error err = { 0 };

    (void)walk;
    (void)arg;
    document_create(work, &kind_volume_policy,
                    tree(work, "{\"metadata\":{\"name\":\"late\"},\"spec\":{}}"), false, &made,
                    &err);
}

/* ---- nodes ---- */

/* Its data go for one reason alone. */
static void remove_held(struct walk *walk, struct work *work, struct file *file, const char *id) {
    const struct db_value values[] = { DB_TEXT(id) };
    const struct query query = {
        .where = "d.id = $1", .values = values, .value_count = 1, .limit = 1
    };
    struct document *snapshot = NULL;
    struct error err = { 0 };

    (void)walk;
    if (document_list(work, &query, &snapshot, &err) > 0)
        ck_assert_msg(snapshot->deleted_at != 0, "a file goes of a snapshot that is wanted");
    forget_held(file, id);
}

/* The snapshots that it is to hold or to remove, as its node's part of the status. */
static const char *node_snapshots(struct walk *walk, struct work *work,
                                  const struct document *replica, struct file *file) {
    const json_t *list = json_object_get(spec_of(replica), "snapshots");
    const char *rows = "";

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        const char *id = text_at(entry, "uid"), *source = text_at(entry, "source");
        const struct held *from = *source ? held_of(file_of(walk, source), id) : NULL;

        if (json_is_true(json_object_get(entry, "remove")) && !chance(walk, 20))
            remove_held(walk, work, file, id);
        else if (from && !held_of(file, id) && !chance(walk, 30))
            hold(file, id, from->content);
        if (held_of(file, id) || !json_is_true(json_object_get(entry, "remove")))
            rows = arena_format(work->arena, "%s%s{\"uid\":\"%s\",\"phase\":\"%s\"}", rows,
                                *rows ? "," : "", id, held_of(file, id) ? "Ready" : "Pending");
    }
    return json_array_size(list) ? arena_format(work->arena, ",\"snapshots\":[%s]", rows) : "";
}

/* The outcome of the requested space reclaim, as a part of its status. */
static const char *node_reclaim(struct walk *walk, struct work *work,
                                const struct document *replica) {
    const json_t *wanted = json_object_get(spec_of(replica), "reclaim");
    const char *phase = chance(walk, 20) ? "Pending" : chance(walk, 20) ? "Failed" : "Done";

    return wanted ? arena_format(work->arena,
                                 ",\"reclaim\":{\"number\":%jd,\"phase\":\"%s\",\"message\":"
                                 "\"in /srv/pool\"}",
                                 (intmax_t)json_integer_value(json_object_get(wanted, "number")),
                                 phase)
                  : "";
}

/* A clone's replica begins with the data of its source; false: that does not exist. */
static bool make_data(struct walk *walk, const struct document *replica, struct file *file) {
    const json_t *source = json_object_get(spec_of(replica), "source");
    const struct held *held =
        source ? held_of(file_of(walk, text_at(source, "replicaId")), text_at(source, "snapshotId"))
               : NULL;

    if (source && !held)
        return false;
    file->origin = held ? held->content : 0;
    file->state = FILE_DATA;
    file->votes = true;
    return true;
}

/* The work of a node on its own replica; it may die before it has reported. */
static void node_replica(struct walk *walk, struct work *work, const struct document *replica) {
    struct file *file = file_of(walk, replica->id);
    const char *phase = text_at(replica->status, "phase"), *snapshots = "";

    if (replica->deleted_at) {
        const struct target *target = target_of(walk, replica->owner_id);

        ck_assert_msg(!*target->node || !file->votes, "data go that are still written to");
        file->state = FILE_NONE;
        file->held_count = 0;
        phase = "Deleted";
    } else if (file->state == FILE_NONE && strcmp(phase, "Init") == 0) {
        phase = chance(walk, 10) || !make_data(walk, replica, file) ? "Error" : "Healthy";
    } else if (file->state == FILE_NONE && strcmp(phase, "Error") == 0) {
        phase = make_data(walk, replica, file) ? "Healthy" : "Error";
    } else if (file->state == FILE_NONE) {
        file->state = FILE_EMPTY;
        phase = "Recreate";
    } else {
        phase = file->state == FILE_EMPTY ? "Recreate" : chance(walk, 10) ? "Offline" : "Healthy";
    }
    if (strcmp(phase, "Offline") != 0 && strcmp(phase, "Deleted") != 0)
        snapshots = node_snapshots(walk, work, replica, file);
    if (!chance(walk, 20))
        report(work, replica,
               arena_format(work->arena, "{\"phase\":\"%s\",\"observedGeneration\":%jd%s%s}", phase,
                            (intmax_t)replica->generation, snapshots,
                            node_reclaim(walk, work, replica)));
}

/* Rebuilds empty replicas, evicts those to be removed. */
static void run_target(struct walk *walk, const struct document *volume) {
    const json_t *list = json_object_get(spec_of(volume), "replicas");

    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *id = json_text_of(json_array_get(list, i), "uid");
        struct file *file = file_of(walk, id);

        if (strcmp(id, text_at(spec_of(volume), "removing")) == 0)
            file->votes = file->votes && chance(walk, 50);
        else if (file->state != FILE_NONE) {
            file->state = FILE_DATA;
            file->votes = true;
        }
    }
}

static const char *modes_of(struct walk *walk, struct work *work, const struct document *volume) {
    const json_t *list = json_object_get(spec_of(volume), "replicas");
    const char *rows = "";

    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *id = json_text_of(json_array_get(list, i), "uid");
        const struct file *file = file_of(walk, id);

        if (!file->votes && strcmp(id, text_at(spec_of(volume), "removing")) == 0)
            continue;
        rows = arena_format(work->arena, "%s%s{\"replicaId\":\"%s\",\"mode\":\"%s\"}", rows,
                            *rows ? "," : "", id,
                            !file->votes       ? "Rebuilding"
                            : chance(walk, 10) ? "Offline"
                                               : "Healthy");
    }
    return rows;
}

static intmax_t epoch_of(const struct document *volume) {
    return json_integer_value(json_object_get(spec_of(volume), "epoch"));
}

static bool is_claimed(const struct document *volume) {
    return json_integer_value(json_object_get(volume->status, "claimedEpoch")) >= epoch_of(volume);
}

/* It begins nothing before the document has its claim. */
static bool claims(struct walk *walk, struct work *work, const struct document *volume) {
    if (is_claimed(volume))
        return false;
    if (!chance(walk, 20))
        report(work, volume,
               arena_format(work->arena,
                            "{\"phase\":\"Init\",\"target\":{\"nodeId\":\"%s\",\"state\":\"Down\","
                            "\"epoch\":%jd}}",
                            volume->node, epoch_of(volume)));
    return true;
}

/* Of one moment: on all voting replicas, or where it dies in between, on the first of them; a
 * replica that holds it does not take it again. */
static bool shoot(struct walk *walk, const struct document *volume, const char *id) {
    const json_t *list = json_object_get(spec_of(volume), "replicas");
    unsigned content = ++walk->content;
    bool there = false, dies = chance(walk, 20);

    for (size_t i = 0; i < json_array_size(list); i++)
        there |= held_of(file_of(walk, json_text_of(json_array_get(list, i), "uid")), id) != NULL;
    for (size_t i = 0; i < json_array_size(list) && !there; i++) {
        struct file *file = file_of(walk, json_text_of(json_array_get(list, i), "uid"));

        if (!file->votes)
            continue;
        hold(file, id, content);
        if (dies)
            return false;
    }
    return true;
}

static const char *taken_of(struct walk *walk, struct work *work, const struct document *volume) {
    const json_t *list = json_object_get(spec_of(volume), "snapshots");
    const char *rows = "";

    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *id = text_at(json_array_get(list, i), "uid");
        bool taken = !chance(walk, 30) && shoot(walk, volume, id);

        rows = arena_format(work->arena, "%s%s{\"uid\":\"%s\",\"phase\":\"%s\",\"sizeBytes\":%d}",
                            rows, *rows ? "," : "", id, taken ? "Ready" : "Pending", 1 << 20);
    }
    return rows;
}

static const char *status_of(struct walk *walk, struct work *work, const struct document *volume,
                             const struct target *target, bool done, bool wanted) {
    const char *running =
        arena_format(work->arena,
                     ",\"target\":{\"nodeId\":\"%s\",\"state\":\"Serving\",\"epoch\":%jd},"
                     "\"replicaStatuses\":[%s],\"snapshots\":[%s],\"conditions\":[%s]",
                     target->node, epoch_of(volume), modes_of(walk, work, volume),
                     wanted ? taken_of(walk, work, volume) : "",
                     target->fails ? "{\"type\":\"VolumeResizeFailed\",\"status\":\"True\","
                                     "\"message\":\"/srv/secret: no\"}"
                                   : "");

    return arena_format(work->arena,
                        "{\"phase\":\"Healthy\",\"capacity\":\"%s\",\"observedGeneration\":%jd%s}",
                        quantity_text(work->arena, target->bytes),
                        (intmax_t)volume->generation - !done, *target->node ? running : "");
}

static void node_volume(struct walk *walk, struct work *work, const struct document *volume) {
    struct target *target = target_of(walk, volume->id);
    bool wanted = strcmp(text_at(spec_of(volume), "nodeId"), volume->node) == 0;
    int64_t bytes = 0;

    ck_assert(quantity_read(text_at(spec_of(volume), "capacity"), &bytes));
    ck_assert_msg(!*target->node || strcmp(target->node, volume->node) == 0,
                  "%s is to act, and %s serves it", volume->node, target->node);
    if (wanted && !*target->node && claims(walk, work, volume))
        return;
    target->fails = *target->node && wanted && target->bytes < bytes && chance(walk, 40);
    if (wanted || !chance(walk, 30))
        strcpy(target->node, wanted ? volume->node : "");
    if (!target->fails)
        target->bytes = bytes;
    if (wanted)
        run_target(walk, volume);
    if (!chance(walk, 20))
        report(work, volume, status_of(walk, work, volume, target, !target->fails, wanted));
}

/* One document of a node that is there. */
static void node_acts(struct walk *walk, struct work *work, void *arg) {
    struct document *all = NULL;
    bool volumes = draw(walk, 2);
    unsigned count = all_of(work, volumes ? &kind_replicated_volume : &kind_volume_replica, &all);
    const struct document *document = count > 0 ? &all[draw(walk, count)] : NULL;

    (void)arg;
    if (!document || !document->node || walk->away[document->node[strlen("host-")] - 'a'])
        return;
    if (volumes)
        node_volume(walk, work, document);
    else
        node_replica(walk, work, document);
}

/* Some stay offline for longer than any policy permits, or are drained; the rest are online. */
static void keep_pools_offline(struct walk *walk, struct work *work, void *arg) {
    unsigned first = draw(walk, POOL_COUNT), away = draw(walk, 3);

    (void)arg;
    sql(work, "UPDATE replica_pools SET up_since = 1");
    for (unsigned i = 0; i < away; i++)
        sql(work, "%s",
            arena_format(work->arena,
                         "UPDATE replica_pools SET seen_at = 1, online_at = 1, "
                         "up_since = NULL WHERE name = 'pool-%c'",
                         'a' + (first + i) % POOL_COUNT));
    sql(work, "%s",
        arena_format(work->arena, "UPDATE replica_pools SET draining = %u WHERE name = 'pool-%c'",
                     draw(walk, 2), 'a' + draw(walk, POOL_COUNT)));
}

static void pools_change(struct walk *walk, struct work *work, void *arg) {
    unsigned pool = draw(walk, POOL_COUNT);

    (void)arg;
    walk->away[draw(walk, NODES)] = chance(walk, 30);
    put_pool(work, arena_format(work->arena, "pool-%c", 'a' + pool),
             arena_format(work->arena, "host-%c", 'a' + pool % NODES),
             chance(walk, 30) ? 0 : 100 * GIB);
}

/* ---- the controller ---- */

/* An evaluation predicts the call; as many calls as needed, and no more. */
static void controller_acts(struct walk *walk, struct work *work, void *arg) {
    struct document *configs = NULL;
    unsigned count = all_of(work, &kind_volume_config, &configs), rounds = 0;
    unsigned which = count ? draw(walk, count) : 0;
    struct error err = { 0 };
    bool once = arg != NULL;
    int64_t before;
    int look;

    if (count == 0)
        return;
    do {
        int64_t events = rows_of(work, "document_events");
        int result;

        before = last_version(work);
        look = reconcile_evaluate(work, configs[which].id, NULL, &err);
        result = reconcile_config(work, configs[which].id, &err);
        ck_assert_msg(look >= 0 && result >= 0, "%s", err.message);
        if (look == RECONCILE_SETTLED) {
            ck_assert_int_eq(last_version(work), before);
            ck_assert_int_eq(rows_of(work, "document_events"), events);
        }
        ck_assert_uint_lt(rounds++, 6);
    } while (!once && last_version(work) != before);
}

/* ---- configs that are settled ---- */

static void unsettle(struct walk *walk, struct work *work) {
    struct replica_pool *pools;
    struct pool_change change;
    struct error err = { 0 };
    int count = replica_pool_list(work, &pools, &err);

    ck_assert_int_ge(count, 0);
    pool_changes_note(walk->pool_changes, pools, (unsigned)count);
    while (pool_changes_take(walk->pool_changes, 0, true, &change)) {
        int64_t *versions;

        count = changes_of_pool(work, &change, &versions, &err);
        ck_assert_int_ge(count, 0);
        for (int i = 0; i < count; i++)
            settled_put(walk->settled, versions[i], false);
    }
}

static void follow_changes(struct walk *walk, struct work *work) {
    struct reconcile_evaluation outlook;
    struct changes changes;
    struct error err = { 0 };

    ck_assert_int_eq(changes_read(work, walk->seen, &changes, &err), 0);
    for (unsigned i = 0; i < changes.count; i++) {
        ck_assert_int_ge(reconcile_evaluate(work, changes.configs[i], &outlook, &err), 0);
        settled_put(walk->settled, outlook.version, outlook.is_settled);
    }
    walk->seen = changes.version;
}

/* As the controller skips configs: they are settled at any later time, too, while their pools stay
 * as they are. */
static void settled_have_no_work(struct walk *walk, struct work *work, void *arg) {
    struct settings settings = *work->settings;
    struct document *configs = NULL;
    unsigned count;
    struct error err = { 0 };
    struct work later = *work;

    (void)arg;
    unsettle(walk, work);
    follow_changes(walk, work);
    settings.replica_pool_down_s += 86400;
    later.settings = &settings;
    later.clock_us += 86400 * SECOND_US;
    later.now_us += 86400 * SECOND_US;
    count = all_of(work, &kind_volume_config, &configs);
    for (unsigned i = 0; i < count; i++) {
        struct reconcile_evaluation outlook;

        if (!settled_meet(walk->settled, configs[i].version, 0)) {
            ck_assert_int_ge(reconcile_evaluate(work, configs[i].id, &outlook, &err), 0);
            settled_put(walk->settled, outlook.version, outlook.is_settled);
            continue;
        }
        walk->settling++;
        ck_assert_int_eq(reconcile_evaluate(&later, configs[i].id, NULL, &err), RECONCILE_SETTLED);
    }
}

/* ---- invariants ---- */

struct seen {
    char id[UUID_SIZE], phase[16], replaced[UUID_SIZE];
    int64_t bytes;
};

struct picture {
    struct seen configs[64];
    unsigned count;
    struct {
        char id[UUID_SIZE], node[16], removing[UUID_SIZE];
        bool released;
    } volumes[64];
    unsigned volume_count;
};

static void check_conditions(const json_t *conditions) {
    for (size_t i = 0; i < json_array_size(conditions); i++) {
        ck_assert_str_ne(text_at(json_array_get(conditions, i), "reason"), "");
        ck_assert_str_ne(text_at(json_array_get(conditions, i), "message"), "");
        for (size_t k = 0; k < i; k++)
            ck_assert_str_ne(text_at(json_array_get(conditions, i), "type"),
                             text_at(json_array_get(conditions, k), "type"));
    }
}

static bool gives_back(const struct document *config) {
    return strcmp(text_at(json_object_get(config->status, "reclaim"), "phase"), "Pending") == 0;
}

static void check_phase(const struct picture *before, const struct document *config,
                        struct seen *ret) {
    static const char *const changes[] = { "Pending Bound", "Pending Failed", "Bound Reconciling",
                                           "Reconciling Bound",
                                           "Pending Reconciling" }; /* by way of Bound, in one */
    const json_t *capacity = json_object_get(config->status, "capacity");
    const char *now = text_at(config->status, "phase");

    snprintf(ret->id, sizeof ret->id, "%s", config->id);
    snprintf(ret->phase, sizeof ret->phase, "%s", now);
    quantity_read(text_at(capacity, "storage"), &ret->bytes);
    for (unsigned i = 0; i < before->count; i++) {
        const struct seen *old = &before->configs[i];
        char change[40];
        bool allowed = strcmp(old->phase, now) == 0;

        if (strcmp(old->id, config->id) != 0)
            continue;
        ck_assert_msg(!*old->replaced || !*ret->replaced ||
                          strcmp(old->replaced, ret->replaced) == 0,
                      "a replica is replaced before the last replacement has ended");
        snprintf(change, sizeof change, "%s %s", old->phase, now);
        for (size_t k = 0; k < LENGTH(changes); k++)
            allowed = allowed || strcmp(change, changes[k]) == 0;
        ck_assert_msg(allowed, "%s", change);
        ck_assert_int_ge(ret->bytes, old->bytes);
    }
    snprintf(ret->replaced, sizeof ret->replaced, "%s",
             text_at(json_object_get(config->status, "replacement"), "replicaId"));
    check_conditions(json_object_get(config->status, "conditions"));
    ck_assert_msg(!gives_back(config) ||
                      !*text_at(json_object_get(config->body, "publish"), "nodeId"),
                  "space of a published volume is reclaimed");
    if (strcmp(now, "Pending") == 0)
        return;
    ck_assert_ptr_nonnull(json_object_get(spec_of(config), "cstorVolumeRef"));
    ck_assert_ptr_nonnull(json_object_get(spec_of(config), "policy"));
    ck_assert_uint_gt(json_array_size(json_object_get(config->status, "poolInfo")), 0);
    ck_assert_int_gt(ret->bytes, 0);
}

static bool is_healthy(const struct document *volume, const struct document *replica) {
    const json_t *modes = json_object_get(volume->status, "replicaStatuses");

    for (size_t i = 0; i < json_array_size(modes); i++)
        if (strcmp(text_at(json_array_get(modes, i), "replicaId"), replica->id) == 0)
            return strcmp(text_at(json_array_get(modes, i), "mode"), "Healthy") == 0 &&
                   strcmp(text_at(replica->status, "phase"), "Healthy") == 0;
    return false;
}

/* P65: a counted replica is removed only while all others are healthy. */
static void check_removing(struct work *work, const struct document *volume, const char *leaves) {
    const struct document config = config_of(work, volume->owner_id);
    const json_t *pools = json_object_get(config.status, "poolInfo");
    struct document *replicas = NULL;
    unsigned count = owned_by(work, volume->id, &kind_volume_replica, &replicas);
    const json_t *move = json_object_get(config.status, "replacement");
    bool counts = false, sick = false, is_lost = false;
    unsigned healthy = 0;

    for (unsigned i = 0; i < count; i++) {
        if (strcmp(replicas[i].id, leaves) != 0) {
            sick = sick || !is_healthy(volume, &replicas[i]);
            healthy += is_healthy(volume, &replicas[i]);
            continue;
        }
        is_lost =
            !is_healthy(volume, &replicas[i]) && strcmp(text_at(move, "replicaId"), leaves) == 0;
        for (size_t k = 0; k < json_array_size(pools); k++)
            counts = counts || strcmp(json_string_value(json_array_get(pools, k)),
                                      text_at(spec_of(&replicas[i]), "poolName")) == 0;
    }
    if (is_lost)
        ck_assert_msg(healthy * 2 > count - 1, "the others are no healthy majority");
    else
        ck_assert_msg(!counts || !sick, "a replica leaves while another is not healthy");
}

/* The identity of a replica is fixed; the snapshots that it is to hold change. */
static void check_spec(struct walk *walk, struct work *work, const struct document *replica) {
    json_t *spec = json_keep(work->arena, json_deep_copy(spec_of(replica)));
    struct file *file = file_of(walk, replica->id);
    uint64_t body = UINT64_C(0xcbf29ce484222325);

    json_object_del(spec, "snapshots");
    json_object_del(spec, "reclaim");
    for (const char *text = json_text(work->arena, spec); *text; text++)
        body = (body ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    ck_assert(!file->body || file->body == body);
    file->body = body;
}

/* A Ready snapshot is the same on all replicas, and so are the initial data of a clone. */
static void check_contents(struct walk *walk, struct work *work, void *arg) {
    struct document *all = NULL, *replicas = NULL;
    unsigned count = all_of(work, &kind_volume_config_snapshot, &all);

    (void)arg;
    for (unsigned i = 0; i < count; i++) {
        bool is_taken = *text_at(all[i].status, "creationTime") != '\0';
        unsigned content = 0;

        for (unsigned k = 0; k < walk->file_count && is_taken; k++) {
            const struct held *held = held_of(&walk->files[k], all[i].id);

            ck_assert(!held || !content || held->content == content);
            content = held ? held->content : content;
        }
    }
    count = all_of(work, &kind_replicated_volume, &all);
    for (unsigned i = 0; i < count; i++) {
        unsigned of = owned_by(work, all[i].id, &kind_volume_replica, &replicas), origin = 0;

        for (unsigned k = 0; k < of; k++) {
            const struct file *file = file_of(walk, replicas[k].id);

            ck_assert(!file->origin || !origin || file->origin == origin);
            origin = file->origin ? file->origin : origin;
        }
    }
}

static void check_volume(struct walk *walk, struct work *work, const struct document *volume) {
    const json_t *spec = spec_of(volume);
    json_int_t factor = json_integer_value(json_object_get(spec, "replicationFactor"));
    size_t listed = json_array_size(json_object_get(spec, "replicas"));
    struct document *replicas = NULL;
    unsigned count = owned_by(work, volume->id, &kind_volume_replica, &replicas);

    ck_assert_int_eq(factor, (json_int_t)listed - (*text_at(spec, "removing") ? 1 : 0));
    ck_assert_int_eq(json_integer_value(json_object_get(spec, "consistencyFactor")),
                     factor / 2 + 1);
    for (unsigned i = 0; i < count; i++) {
        check_spec(walk, work, &replicas[i]);
        for (unsigned k = 0; k < i; k++)
            ck_assert_str_ne(text_at(spec_of(&replicas[i]), "poolName"),
                             text_at(spec_of(&replicas[k]), "poolName"));
    }
}

static bool acts_on(const struct document *volume, const char *node) {
    return volume->node && strcmp(volume->node, node) == 0;
}

/* An unresponsive node from which the volume was revoked: most of three or more replicas refuse it,
 * and so it does not serve the volume any more, whatever its own state. */
static bool is_fenced(struct work *work, const struct document *volume, const char *node) {
    const char *list =
        arena_join(work->arena, ",", text_at(volume->status, "silentNodes"), ",", NULL);

    if (!*node || !strstr(list, arena_join(work->arena, ",", node, ",", NULL)))
        return false;
    ck_assert_int_ge(json_integer_value(json_object_get(spec_of(volume), "replicationFactor")), 3);
    return true;
}

static void check_volumes(struct walk *walk, struct work *work, const struct picture *before,
                          struct picture *ret) {
    struct document *volumes = NULL;

    ret->volume_count = all_of(work, &kind_replicated_volume, &volumes);
    ck_assert_uint_le(ret->volume_count, LENGTH(ret->volumes));
    for (unsigned i = 0; i < ret->volume_count; i++) {
        const struct document *volume = &volumes[i];
        const char *removing = text_at(spec_of(volume), "removing");

        check_volume(walk, work, volume);
        if (is_fenced(work, volume, target_of(walk, volume->id)->node))
            strcpy(target_of(walk, volume->id)->node, "");
        snprintf(ret->volumes[i].id, UUID_SIZE, "%s", volume->id);
        snprintf(ret->volumes[i].node, 16, "%s", volume->node ? volume->node : "");
        snprintf(ret->volumes[i].removing, UUID_SIZE, "%s", removing);
        ck_assert_msg(!*target_of(walk, volume->id)->node ||
                          acts_on(volume, target_of(walk, volume->id)->node),
                      "it is no more the matter of %s, which serves it",
                      target_of(walk, volume->id)->node);
        ret->volumes[i].released =
            !is_claimed(volume) ||
            (!json_object_get(volume->status, "target") && !*text_at(spec_of(volume), "nodeId") &&
             json_integer_value(json_object_get(volume->status, "observedGeneration")) ==
                 volume->generation);
        for (unsigned k = 0; k < before->volume_count; k++) {
            if (strcmp(before->volumes[k].id, volume->id) != 0)
                continue;
            ck_assert_msg(!*before->volumes[k].node || before->volumes[k].released ||
                              is_fenced(work, volume, before->volumes[k].node) ||
                              strcmp(before->volumes[k].node, ret->volumes[i].node) == 0,
                          "%s has it no more, and has not said so", before->volumes[k].node);
            if (*removing && strcmp(removing, before->volumes[k].removing) != 0)
                check_removing(work, volume, removing);
        }
    }
}

/* New ones since the last step: none while half of the pools are offline; and never too many. */
static void check_moves(struct walk *walk, struct work *work, const struct picture *before,
                        const struct picture *now) {
    unsigned begun = 0;

    for (unsigned i = 0; i < now->count; i++) {
        const char *had = "";

        for (unsigned k = 0; k < before->count; k++)
            if (strcmp(before->configs[k].id, now->configs[i].id) == 0)
                had = before->configs[k].replaced;
        begun += *now->configs[i].replaced && !*had;
    }
    ck_assert_msg(begun == 0 || sql_int(work, "SELECT COUNT(*) FROM replica_pools WHERE "
                                              "seen_at > 1") *
                                        2 >
                                    POOL_COUNT,
                  "a replica is replaced in a mass outage");
    walk->moves += begun;
    ck_assert_int_le(sql_int(work, "SELECT COUNT(*) FROM replica_moves"), 2);
}

/* Texts of a node describe its hosts. */
static void check_words(struct work *work) {
    ck_assert_int_eq(sql_int(work,
                             "SELECT COUNT(*) FROM documents WHERE status LIKE '%%/srv/%%' AND "
                             "kind IN ('CStorVolumeConfig', 'CStorVolumeSnapshot')"),
                     0);
    ck_assert_int_eq(
        sql_int(work, "SELECT COUNT(*) FROM document_events WHERE message LIKE '%%/srv/%%'"), 0);
}

static void check(struct walk *walk, struct work *work, void *arg) {
    static const struct picture empty;
    struct picture *picture = arg, now = empty;
    struct document *configs = NULL;

    now.count = all_of(work, &kind_volume_config, &configs);
    for (unsigned i = 0; i < now.count; i++)
        check_phase(picture, &configs[i], &now.configs[i]);
    check_volumes(walk, work, picture, &now);
    check_contents(walk, work, NULL);
    check_moves(walk, work, picture, &now);
    check_words(work);
    *picture = now;
}

/* ---- the walk ---- */

/* Each node and client does its pending work. */
static void all_nodes(struct walk *walk, struct work *work, void *arg) {
    struct document *all = NULL;
    unsigned count = all_of(work, &kind_volume_replica, &all);

    (void)arg;
    for (unsigned i = 0; i < count; i++)
        node_replica(walk, work, &all[i]);
    count = all_of(work, &kind_replicated_volume, &all);
    for (unsigned i = 0; i < count; i++)
        if (all[i].node)
            node_volume(walk, work, &all[i]);
}

static void all_configs(struct walk *walk, struct work *work, void *arg) {
    struct document *all = NULL;
    unsigned count = all_of(work, &kind_volume_config, &all);
    struct error err = { 0 };

    (void)walk;
    (void)arg;
    for (unsigned i = 0; i < count; i++)
        ck_assert_int_ge(reconcile_config(work, all[i].id, &err), 0);
}

/* A volume that is served and settled loses a pool. */
static void all_stay_away(struct walk *walk, struct picture *picture) {
    for (unsigned i = 0; i < 3; i++) {
        act(walk, all_nodes, NULL, false);
        act(walk, check, picture, false);
        act(walk, all_configs, NULL, false);
        act(walk, check, picture, false);
    }
    act(walk, keep_pools_offline, NULL, false);
    act(walk, all_nodes, NULL, false);
    act(walk, check, picture, false);
    act(walk, all_configs, NULL, false);
}

static void step(struct walk *walk, struct picture *picture) {
    static void (*const clients[])(struct walk *, struct work *, void *) = {
        client_declares,         client_edits,        client_edits,  client_edits,
        client_deletes,          client_makes_policy, client_shoots, client_shoots,
        client_deletes_snapshot, client_clones,
    };
    unsigned what = draw(walk, 100);

    if (what < 20)
        act(walk, clients[draw(walk, LENGTH(clients))], NULL, chance(walk, 5));
    else if (what < 25)
        act(walk, pools_change, NULL, false);
    else if (what < 33)
        all_stay_away(walk, picture);
    else if (what < 60)
        act(walk, node_acts, NULL, false);
    else
        act(walk, controller_acts, chance(walk, 50) ? walk : NULL, chance(walk, 15));
}

static void walk_on(struct walk *walk, struct picture *picture, unsigned steps) {
    while (steps-- > 0) {
        step(walk, picture);
        act(walk, check, picture, false);
        act(walk, settled_have_no_work, NULL, false);
        arena_reset(walk->arena);
    }
}

static void calm_down(struct walk *walk, struct work *work, void *arg) {
    (void)arg;
    walk->calm = true;
    memset(walk->away, 0, sizeof walk->away);
    client_makes_policy(walk, work, NULL);
    sql(work, "UPDATE replica_pools SET draining = 0");
    for (unsigned i = 0; i < POOL_COUNT; i++)
        put_pool(work, arena_format(work->arena, "pool-%c", 'a' + i),
                 arena_format(work->arena, "host-%c", 'a' + i % NODES), 100 * GIB);
}

static void settle_wholly(struct walk *walk, struct picture *picture) {
    for (unsigned i = 0; i < 12; i++) {
        act(walk, all_nodes, NULL, false);
        act(walk, check, picture, false);
        act(walk, all_configs, NULL, false);
        act(walk, check, picture, false);
        arena_reset(walk->arena);
    }
}

static void each_config(struct walk *walk, struct work *work, const char *patch) {
    struct document *configs = NULL, after;
    unsigned count = all_of(work, &kind_volume_config, &configs);
    struct error err = { 0 };

    (void)walk;
    for (unsigned i = 0; i < count; i++)
        if (!configs[i].deleted_at)
            ck_assert_msg(
                document_patch(work, &configs[i], tree(work, patch), false, &after, &err) == 0,
                "%s", err.message);
}

static void publish_all(struct walk *walk, struct work *work, void *arg) {
    (void)arg;
    each_config(walk, work, "{\"publish\":{\"nodeId\":\"host-b\"}}");
}

/* No space reclaim is pending or requested any more. */
static void no_reclaim_is_requested(struct work *work, const struct document *config) {
    struct document *replicas = NULL;
    unsigned count = replicas_of(work, config->id, &replicas);

    ck_assert(!gives_back(config));
    for (unsigned i = 0; i < count; i++)
        ck_assert_ptr_null(json_object_get(spec_of(&replicas[i]), "reclaim"));
}

static void assert_well(struct work *work, const struct document *config) {
    size_t pools = json_array_size(json_object_get(config->status, "poolInfo"));

    ck_assert_str_eq(conditions_at(work, config->id), "null");
    ck_assert_str_eq(condition_at(work, config->id, CONDITION_AVAILABLE), "True Served");
    ck_assert_str_eq(condition_at(work, config->id, CONDITION_REDUNDANT),
                     pools > 1 ? "True AllReplicas" : "False SingleReplica");
    ck_assert_str_eq(condition_at(work, config->id, CONDITION_REBUILDING), "False NotRebuilding");
    ck_assert_str_eq(condition_at(work, config->id, CONDITION_NEAR_FULL), "False SpaceLeft");
}

static void all_are_true(struct walk *walk, struct work *work, void *arg) {
    struct document *configs = NULL;
    unsigned count = all_of(work, &kind_volume_config, &configs);

    (void)arg;
    for (unsigned i = 0; i < count; i++) {
        const struct document volume = volume_of(work, configs[i].id);
        const json_t *policy = json_object_get(spec_of(&configs[i]), "policy");
        const json_t *named = json_object_get(policy, "replicaPoolInfo");
        const json_t *used = json_object_get(configs[i].status, "poolInfo");
        int64_t wanted = 0, has = 0;

        ck_assert_int_eq(configs[i].deleted_at, 0);
        no_reclaim_is_requested(work, &configs[i]);
        ck_assert_str_eq(text_at(configs[i].status, "phase"), "Bound");
        assert_well(work, &configs[i]);
        ck_assert(json_array_size(named) == 0 || json_array_size(named) == json_array_size(used));
        quantity_read(text_at(json_object_get(spec_of(&configs[i]), "capacity"), "storage"),
                      &wanted);
        quantity_read(text_at(json_object_get(configs[i].status, "capacity"), "storage"), &has);
        ck_assert_int_eq(has, wanted);
        ck_assert_str_eq(target_of(walk, volume.id)->node, "host-b");
        ck_assert_str_eq(text_at(spec_of(&volume), "luWorkers"),
                         ""); /* a number, and the policy's: */
        ck_assert(json_equal(json_object_get(spec_of(&volume), "luWorkers"),
                             json_object_get(json_object_get(policy, "target"), "luWorkers")));
        ck_assert_int_eq(
            json_integer_value(json_object_get(json_object_get(spec_of(&volume), "qos"), "iops")),
            json_integer_value(json_object_get(
                json_object_get(json_object_get(policy, "target"), "qos"), "iops")));
    }
}

static void snapshots_are_true(struct walk *walk, struct work *work, void *arg) {
    struct document *all = NULL;
    unsigned count = all_of(work, &kind_volume_config_snapshot, &all);

    (void)arg;
    for (unsigned i = 0; i < count; i++) {
        const json_t *pools = json_object_get(all[i].status, "poolInfo");
        unsigned held = 0;

        ck_assert_int_eq(all[i].deleted_at, 0);
        for (unsigned k = 0; k < walk->file_count; k++)
            held += held_of(&walk->files[k], all[i].id) != NULL;
        if (strcmp(text_at(all[i].status, "phase"), "Failed") == 0)
            continue;
        ck_assert_str_eq(text_at(all[i].status, "phase"), "Ready");
        ck_assert_uint_eq(json_array_size(pools), held);
    }
}

static void delete_clones(struct walk *walk, struct work *work, void *arg) {
    struct document *configs = NULL, after;
    unsigned count;
    struct error err = { 0 };

    (void)arg;
    each_config(walk, work, "{\"publish\":{\"nodeId\":\"\"}}");
    count = all_of(work, &kind_volume_config, &configs);
    for (unsigned i = count; i > 0; i--) /* a clone is newer than its source */
        (void)document_delete(work, &configs[i - 1], false, &after, &err);
}

static void delete_snapshots(struct walk *walk, struct work *work, void *arg) {
    struct document *all = NULL, after;
    unsigned count = all_of(work, &kind_volume_config_snapshot, &all);
    struct error err = { 0 };

    (void)walk;
    (void)arg;
    for (unsigned i = 0; i < count; i++)
        ck_assert_msg(document_delete(work, &all[i], false, &after, &err) == 0, "%s", err.message);
}

static void no_snapshot_is_left(struct walk *walk, struct work *work, void *arg) {
    struct document *all = NULL;

    (void)arg;
    ck_assert_uint_eq(all_of(work, &kind_volume_config_snapshot, &all), 0);
    for (unsigned i = 0; i < walk->file_count; i++)
        ck_assert_uint_eq(walk->files[i].held_count, 0);
}

static void delete_all(struct walk *walk, struct work *work, void *arg) {
    struct document *configs = NULL, after;
    unsigned count = all_of(work, &kind_volume_config, &configs);
    struct error err = { 0 };

    (void)arg;
    each_config(walk, work, "{\"publish\":{\"nodeId\":\"\"}}");
    count = all_of(work, &kind_volume_config, &configs);
    for (unsigned i = 0; i < count; i++)
        ck_assert_msg(document_delete(work, &configs[i], false, &after, &err) == 0, "%s",
                      err.message);
}

static void nothing_is_left(struct walk *walk, struct work *work, void *arg) {
    (void)arg;
    ck_assert_int_eq(sql_int(work, "SELECT COUNT(*) FROM documents WHERE kind <> "
                                   "'CStorVolumePolicy'"),
                     0);
    for (unsigned i = 0; i < walk->file_count; i++)
        ck_assert_int_eq(walk->files[i].state, FILE_NONE);
    for (unsigned i = 0; i < walk->target_count; i++)
        ck_assert_str_eq(walk->targets[i].node, "");
}

static unsigned walk_once(uint64_t seed, struct db *db, unsigned *settling) {
    struct walk *walk = calloc(1, sizeof *walk);
    struct picture *picture = calloc(1, sizeof *picture);
    unsigned moves;

    walk->db = db;
    walk->seed = seed;
    walk->arena = arena_new();
    walk->fixture = test_fixture();
    walk->settled = settled_new();
    walk->pool_changes = pool_changes_new();
    act(walk, calm_down, NULL, false);
    walk->calm = false;
    walk_on(walk, picture, STEPS);
    act(walk, calm_down, NULL, false);
    settle_wholly(walk, picture);
    act(walk, publish_all, NULL, false);
    settle_wholly(walk, picture);
    act(walk, all_are_true, NULL, false);
    act(walk, snapshots_are_true, NULL, false);
    act(walk, settled_have_no_work, NULL, false);
    act(walk, delete_snapshots, NULL, false);
    settle_wholly(walk, picture);
    act(walk, no_snapshot_is_left, NULL, false);
    for (unsigned i = 0; i < CONFIGS; i++) {
        act(walk, delete_clones, NULL, false);
        settle_wholly(walk, picture);
    }
    act(walk, delete_all, NULL, false);
    settle_wholly(walk, picture);
    act(walk, nothing_is_left, NULL, false);
    moves = walk->moves;
    *settling += walk->settling;
    arena_free(walk->arena);
    settled_free(walk->settled);
    pool_changes_free(walk->pool_changes);
    free(picture);
    free(walk);
    return moves;
}

/* WALKS=1000 runs more of them, and prints each; WALK_SEED=7 repeats one. */
START_TEST(whatever_happens_in_between_all_comes_true_and_nothing_is_left) {
    const char *given = getenv("WALK_SEED"), *more = getenv("WALKS");
    uint64_t first = given ? strtoull(given, NULL, 10) : 1;
    uint64_t walks = given ? 1 : more ? strtoull(more, NULL, 10) : WALKS;
    const struct db_settings settings = { .url = database_url(), .inline_writes = true };
    struct error err = { 0 };
    unsigned moves = 0, settling = 0;
    struct db *db;

    ck_assert_msg(db_open(&settings, &db, &err) == 0, "%s", err.message);
    for (uint64_t n = given ? 0 : WALK_FIRST; n < walks; n += WALK_STEP) {
        if (more)
            fprintf(stderr, "walk %ju\n", (uintmax_t)(first + n));
        moves += walk_once(first + n, db, &settling);
    }
    ck_assert_msg(given || !WALK_IS_WHOLE || moves > 0, "no replica was replaced in any walk");
    ck_assert_msg(given || !WALK_IS_WHOLE || settling > 0, "no config was settled in any walk");
    if (more)
        fprintf(stderr, "%u moves, %u times settled\n", moves, settling);
    db_close(db);
}
END_TEST

CHECK_MAIN("reconcile_walk", whatever_happens_in_between_all_comes_true_and_nothing_is_left)
