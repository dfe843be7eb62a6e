#include "declared/document_own.h"

#include "common/cleanup.h"
#include "declared/document_edit.h"
#include "tests/lib/work_test.h"
#include "json/json.h"

#define CONFIG                                                                       \
    "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"capacity\":{\"storage\":\"10Gi\"}," \
    "\"provision\":{\"replicaCount\":3},\"policy\":{}}}"
#define VOLUME                                                                      \
    "{\"spec\":{\"capacity\":\"10Gi\",\"maximum\":\"1Ti\",\"replicationFactor\":3," \
    "\"consistencyFactor\":2,\"replicas\":[]}}"
#define REPLICA                                                                            \
    "{\"spec\":{\"volumeId\":\"v\",\"poolName\":\"%s\",\"nodeId\":\"host-a\","             \
    "\"path\":\"/pools/a\",\"capacity\":\"10Gi\",\"maximum\":\"1Ti\",\"members\":[\"a\"]," \
    "\"replicationFactor\":3}}"

static json_t *parse(struct work *work, const char *text) {
    struct error err = { 0 };
    json_t *tree = json_parse(work->arena, text, strlen(text), &err);

    ck_assert_msg(tree != NULL, "%s: %s", text, err.message);
    return tree;
}

static struct document config_made(struct work *work, const char *name) {
    struct error err = { 0 };
    struct document config;

    ck_assert_msg(document_create(work, &kind_volume_config,
                                  parse(work, arena_format(work->arena, CONFIG, name)), false,
                                  &config, &err) == 0,
                  "%s", err.message);
    return config;
}

static struct document volume_made(struct work *work, const struct document *config) {
    struct error err = { 0 };
    struct document volume;

    ck_assert_msg(document_own_create(work, &kind_replicated_volume, config, config->name, NULL,
                                      parse(work, VOLUME), NULL, NULL, &volume, &err) == 0,
                  "%s", err.message);
    return volume;
}

static struct document replica_made(struct work *work, const struct document *volume,
                                    const char *pool) {
    struct error err = { 0 };
    const char *name = arena_join(work->arena, volume->name, "-", pool, NULL);
    struct document replica;

    ck_assert_msg(document_own_create(work, &kind_volume_replica, volume, name, NULL,
                                      parse(work, arena_format(work->arena, REPLICA, pool)), NULL,
                                      "host-a", &replica, &err) == 0,
                  "%s", err.message);
    return replica;
}

static struct document found(struct work *work, const struct document *document) {
    struct error err = { 0 };
    struct document now;

    ck_assert_msg(document_find(work, document->kind, document->id, &now, &err) == 0, "%s",
                  err.message);
    return now;
}

static bool is_gone(struct work *work, const struct document *document) {
    struct error err = { 0 };
    struct document now;

    return document_find(work, document->kind, document->id, &now, &err) < 0 &&
           err.kind == ERROR_NOT_FOUND;
}

static int64_t number(struct work *work, const char *sql) {
    struct error err = { 0 };
    int64_t value = -1;

    ck_assert_msg(db_query_int(work->tx, &value, &err, sql) >= 0, "%s: %s", sql, err.message);
    return value;
}

static const char *whole(struct work *work, const struct document *document) {
    return json_text(work->arena, document_json(work->arena, document));
}

WORK_TEST(owned_documents_are_of_their_owners_project_and_found_by_it) {
    struct document config = config_made(work, "db"), volume = volume_made(work, &config);
    struct document one = replica_made(work, &volume, "a"), two = replica_made(work, &volume, "b");
    struct document *owned, now = found(work, &volume);

    ck_assert_str_eq(whole(work, &now), whole(work, &volume));
    ck_assert_str_eq(volume.project_id, PROJECT);
    ck_assert_ptr_null(now.node);
    ck_assert_str_eq(json_text(work->arena, now.status), "{\"phase\":\"Init\"}");
    ck_assert_str_eq(json_text(work->arena, now.finalizers), "[]");
    ck_assert_int_eq(document_owned(work, config.id, &kind_replicated_volume, &owned, err), 1);
    ck_assert_str_eq(owned[0].id, volume.id);
    ck_assert_int_eq(document_owned(work, config.id, &kind_volume_replica, &owned, err), 0);
    ck_assert_int_eq(document_owned(work, volume.id, &kind_volume_replica, &owned, err), 2);
    ck_assert_str_eq(owned[0].id, one.id);
    ck_assert_str_eq(owned[1].id, two.id);
    ck_assert_str_eq(owned[1].node, "host-a");
    ck_assert_str_eq(json_text(work->arena, owned[1].finalizers),
                     "[\"cstorvolumereplica.openebs.io/finalizer\"]");
    ck_assert_int_eq(owned[1].version, 4);
}

WORK_TEST(replicas_of_two_volumes_may_have_one_name) {
    struct document first = config_made(work, "a"), second = config_made(work, "a-b");
    struct document volume = volume_made(work, &first), other = volume_made(work, &second);
    struct document one = replica_made(work, &volume, "b-c"), two = replica_made(work, &other, "c");

    (void)err;
    ck_assert_str_eq(one.name, "a-b-c");
    ck_assert_str_eq(two.name, arena_format(work->arena, "a-b-c-%.8s", two.id));
}

WORK_TEST(nothing_is_created_for_a_document_being_deleted) {
    struct document config = config_made(work, "db"), deleted, volume;

    OK(document_delete(work, &config, false, &deleted, err));
    REFUSED(document_own_create(work, &kind_replicated_volume, &deleted, "db", NULL,
                                parse(work, VOLUME), NULL, NULL, &volume, err),
            CONFLICT);
    ck_assert_int_eq(number(work, "SELECT version FROM document_versions"), 2);
}

WORK_TEST(documents_of_the_service_are_checked_by_their_schema) {
    struct document config = config_made(work, "db"), volume;

    REFUSED(document_own_create(work, &kind_replicated_volume, &config, "db", NULL,
                                parse(work, "{\"spec\":{\"capacity\":\"1Gi\"}}"), NULL, NULL,
                                &volume, err),
            BAD_REQUEST);
    ck_assert_str_eq(err->message, "Replicated volume db: spec.maximum is missing.");
    volume = volume_made(work, &config);
    ck_assert_str_eq(json_text(work->arena, volume.body),
                     "{\"spec\":{\"capacity\":\"10Gi\",\"maximum\":\"1Ti\",\"blockSize\":4096,"
                     "\"replicationFactor\":3,\"consistencyFactor\":2,\"nodeId\":\"\","
                     "\"serve\":true,\"queueDepth\":\"32\",\"luWorkers\":6,\"export\":\"nbd\","
                     "\"qos\":{\"iops\":0,\"bytesPerSecond\":0},\"replicas\":[]}}");
}

WORK_TEST(each_change_has_a_version_and_each_desired_state_a_generation) {
    struct document config = config_made(work, "db"), volume = volume_made(work, &config);
    struct document after = volume, again;

    OK(document_own_write(work, &volume, &after, err));
    ck_assert_int_eq(after.version, 2);
    after.node = "host-a";
    OK(document_own_write(work, &volume, &after, err));
    ck_assert_int_eq(after.version, 3);
    ck_assert_int_eq(after.generation, 1);
    ck_assert_str_eq(found(work, &volume).node, "host-a");
    again = after;
    again.body = json_keep(work->arena, json_deep_copy(after.body));
    json_object_set_new(json_object_get(again.body, "spec"), "nodeId", json_string("host-a"));
    OK(document_own_write(work, &after, &again, err));
    ck_assert_int_eq(again.version, 4);
    ck_assert_int_eq(again.generation, 2);
    volume = found(work, &volume);
    ck_assert_str_eq(whole(work, &volume), whole(work, &again));
}

WORK_TEST(an_outdated_writer_writes_nothing) {
    struct document config = config_made(work, "db"), first, second;

    first = second = config;
    first.status = parse(work, "{\"phase\":\"Bound\"}");
    second.status = parse(work, "{\"phase\":\"Failed\"}");
    OK(document_own_write(work, &config, &first, err));
    REFUSED(document_own_write(work, &config, &second, err), CONFLICT);
    ck_assert_str_eq(err->message, "Volume config db was changed meanwhile; read it again.");
    ck_assert_str_eq(json_text(work->arena, found(work, &config).status), "{\"phase\":\"Bound\"}");
}

static int put(struct work *work, const struct document *before, const char *node,
               const char *status, struct document *ret, struct error *err) {
    return document_status_put(work, before, node, parse(work, status), ret, err);
}

WORK_TEST(a_status_is_its_nodes_and_whole) {
    struct document config = config_made(work, "db"), volume = volume_made(work, &config);
    struct document replica = replica_made(work, &volume, "a"), after;

    REFUSED(put(work, &replica, "host-b", "{\"phase\":\"Healthy\"}", &after, err), CONFLICT);
    ck_assert_str_eq(err->message, "Volume replica db-a is assigned to node host-a.");
    REFUSED(put(work, &volume, "host-a", "{\"phase\":\"Healthy\"}", &after, err), CONFLICT);
    ck_assert_str_eq(err->message, "Replicated volume db is assigned to no node.");
    REFUSED(put(work, &config, "host-a", "{\"phase\":\"Bound\"}", &after, err), BAD_REQUEST);
    OK(put(work, &replica, "host-a",
           "{\"phase\":\"Error\",\"message\":\"no room\",\"observedGeneration\":1}", &after, err));
    replica = found(work, &replica);
    ck_assert_int_eq(replica.version, 4);
    ck_assert_int_eq(replica.generation, 1);
    OK(put(work, &replica, "host-a", "{\"phase\":\"Healthy\",\"capacity\":{\"used\":0}}", &after,
           err));
    ck_assert_str_eq(json_text(work->arena, found(work, &replica).status),
                     "{\"phase\":\"Healthy\",\"capacity\":{\"used\":\"0\"}}");
    OK(put(work, &after, "host-a", "{\"phase\":\"Healthy\",\"capacity\":{\"used\":0}}", &replica,
           err));
    ck_assert_int_eq(replica.version, 5);
}

static struct document served_volume(struct work *work, const char *node) {
    struct document config = config_made(work, "db"), volume = volume_made(work, &config);
    struct document after = volume;
    struct error err = { 0 };

    after.node = node;
    ck_assert_int_eq(document_own_write(work, &volume, &after, &err), 0);
    return after;
}

WORK_TEST(an_invalid_status_is_refused_with_its_path) {
    static const char *const cases[][2] = {
        { "{}", "status.phase is missing." },
        { "{\"phase\":\"healthy\"}", "status.phase: 'healthy' is not one of Init, Healthy, "
                                     "Degraded, Offline, Error." },
        { "{\"phase\":\"Init\",\"phases\":1}",
          "status: 'phases' is not a known field; did you mean phase?" },
        { "{\"phase\":\"Init\",\"observedGeneration\":2}",
          "status.observedGeneration: 2 is greater than the document's generation 1." },
        { "{\"phase\":\"Init\",\"observedGeneration\":-1}",
          "status.observedGeneration: '-1' is not an integer of at least 0." },
        { "{\"phase\":\"Init\",\"target\":{\"nodeId\":\"host-a\",\"state\":\"Up\"}}",
          "status.target.state: 'Up' is not one of Down, Levelling, Serving." },
        { "{\"phase\":\"Init\",\"replicaStatuses\":[{\"replicaId\":\"x\"}]}",
          "status.replicaStatuses[0].mode is missing." },
        { "{\"phase\":\"Init\",\"capacity\":\"much\"}",
          "status.capacity: 'much' is not a quantity, like 10Gi, below 8Ei." },
    };
    struct document volume = served_volume(work, "host-a"), after;

    for (size_t i = 0; i < LENGTH(cases); i++) {
        REFUSED(put(work, &volume, "host-a", cases[i][0], &after, err), BAD_REQUEST);
        ck_assert_str_eq(err->message, cases[i][1]);
    }
    ck_assert_int_eq(number(work, "SELECT version FROM document_versions"), 3);
}

WORK_TEST(conditions_are_taken_by_either_name) {
    struct document volume = served_volume(work, "host-a"), after;

    OK(put(work, &volume, "host-a",
           "{\"phase\":\"Init\",\"condition\":[{\"type\":\"x\",\"status\":\"True\"}]}", &after,
           err));
    ck_assert_str_eq(json_text(work->arena, after.status),
                     "{\"phase\":\"Init\",\"conditions\":[{\"type\":\"x\",\"status\":\"True\"}]}");
    REFUSED(put(work, &after, "host-a", "{\"phase\":\"Init\",\"condition\":[],\"conditions\":[]}",
                &volume, err),
            BAD_REQUEST);
}

WORK_TEST(a_status_has_a_size) {
    struct document volume = served_volume(work, "host-a"), after;
    char *message = arena_alloc(work->arena, 4097);
    const char *rows = "";

    memset(message, 'x', 4096);
    message[4096] = '\0';
    for (int i = 0; i < 16; i++)
        rows = arena_format(work->arena,
                            "%s%s{\"type\":\"t%d\",\"status\":\"True\",\"message\":\"%s\"}", rows,
                            i ? "," : "", i, message);
    REFUSED(put(work, &volume, "host-a",
                arena_join(work->arena, "{\"phase\":\"Init\",\"conditions\":[", rows, "]}", NULL),
                &after, err),
            TOO_LARGE);
}

WORK_TEST(a_replica_stays_until_its_data_are_gone_and_then_removes_its_volume) {
    struct document config = config_made(work, "db"), volume = volume_made(work, &config);
    struct document one = replica_made(work, &volume, "a"), two = replica_made(work, &volume, "b");
    struct document after;

    REFUSED(put(work, &one, "host-a", "{\"phase\":\"Deleted\"}", &after, err), CONFLICT);
    ck_assert_str_eq(err->message, "status.phase: Volume replica db-a is not being deleted.");
    OK(document_delete(work, &volume, false, &after, err));
    ck_assert_int_eq(found(work, &volume).deleted_at, NOW_US);
    OK(document_delete(work, &one, false, &after, err));
    OK(put(work, &after, "host-a", "{\"phase\":\"DeletionFailed\"}", &after, err));
    OK(put(work, &after, "host-a", "{\"phase\":\"Deleted\"}", &after, err));
    ck_assert(is_gone(work, &one));
    ck_assert(!is_gone(work, &volume));
    OK(document_delete(work, &two, false, &after, err));
    OK(put(work, &after, "host-a", "{\"phase\":\"Deleted\"}", &after, err));
    ck_assert(is_gone(work, &two));
    ck_assert(is_gone(work, &volume));
    ck_assert(!is_gone(work, &config));
    ck_assert_int_eq(number(work, "SELECT COUNT(*) FROM documents_gone"), 3);
    ck_assert_int_eq(number(work, "SELECT COUNT(DISTINCT version) FROM documents_gone"), 3);
    ck_assert_int_eq(number(work, "SELECT COUNT(*) FROM documents_gone WHERE node = 'host-a'"), 2);
    ck_assert_int_eq(number(work, "SELECT version FROM document_versions"),
                     number(work, "SELECT MAX(version) FROM documents_gone"));
}

WORK_TEST(a_config_is_deleted_after_its_volume) {
    struct document config = config_made(work, "db"), volume = volume_made(work, &config), after;

    OK(document_delete(work, &config, false, &after, err));
    config = after;
    after.finalizers = json_keep(work->arena, json_array());
    OK(document_own_write(work, &config, &after, err));
    ck_assert(!is_gone(work, &config));
    OK(document_delete(work, &volume, false, &after, err));
    ck_assert(is_gone(work, &volume));
    ck_assert(is_gone(work, &config));
    ck_assert_int_eq(number(work, "SELECT SUM(documents) FROM document_counts"), 0);
}

WORK_TEST(documents_are_limited_without_counting_rows) {
    struct document config = config_made(work, "db"), volume = volume_made(work, &config), after;

    config_made(work, "web");
    ck_assert_int_eq(number(work, "SELECT documents FROM document_counts "
                                  "WHERE kind = 'CStorVolumeConfig'"),
                     2);
    OK(document_delete(work, &volume, false, &after, err));
    ck_assert_int_eq(number(work, "SELECT COUNT(*) FROM document_counts c WHERE documents <> "
                                  "(SELECT COUNT(*) FROM documents d WHERE d.kind = c.kind AND "
                                  "d.project_id = c.project_id)"),
                     0);
    OK(db_change(work->tx, err, "UPDATE document_counts SET documents = $1",
                 DB_INT(DOCUMENTS_MOST)));
    REFUSED(document_create(work, &kind_volume_config,
                            parse(work, arena_format(work->arena, CONFIG, "more")), false, &after,
                            err),
            OVER_QUOTA);
}

WORK_TEST(a_repeated_event_is_one_with_a_count) {
    struct document config = config_made(work, "db");
    struct document_event *events;

    OK(document_event(work, &config, "Warning", "Provisioning", "2 pools for 3 replicas", err));
    OK(document_event(work, &config, "Normal", "Bound", "", err));
    OK(document_event(work, &config, "Warning", "Provisioning", "2 pools for 3 replicas", err));
    ck_assert_int_eq(document_events(work, config.id, &events, err), 2);
    ck_assert_str_eq(events[0].reason, "Bound");
    ck_assert_str_eq(events[1].reason, "Provisioning");
    ck_assert_str_eq(events[1].type, "Warning");
    ck_assert_str_eq(events[1].message, "2 pools for 3 replicas");
    ck_assert_int_eq(events[1].times, 2);
    ck_assert_int_eq(events[1].last_at, NOW_US);
    ck_assert_int_eq(number(work, "SELECT version FROM document_versions"), 1);
}

WORK_TEST(a_document_has_so_many_events_and_each_is_so_long) {
    struct document config = config_made(work, "db"), other = config_made(work, "web");
    char *text = arena_alloc(work->arena, 10001);
    struct document_event *events;

    OK(document_event(work, &other, "Normal", "Other", "stays", err));
    for (int i = 0; i < 100; i++)
        OK(document_event(work, &config, "Normal", "Test",
                          arena_format(work->arena, "number %d", i), err));
    ck_assert_int_eq(document_events(work, config.id, &events, err), DOCUMENT_EVENTS_MOST);
    ck_assert_str_eq(events[0].message, "number 68");
    ck_assert_str_eq(events[DOCUMENT_EVENTS_MOST - 1].message, "number 99");
    text[0] = 'x';
    for (size_t i = 1; i < 9999; i += 2)
        memcpy(text + i, "\xC3\xA9", 2);
    text[9999] = '\0';
    OK(document_event(work, &config, "Normal", "Test", text, err));
    ck_assert_int_eq(document_events(work, config.id, &events, err), DOCUMENT_EVENTS_MOST);
    ck_assert_uint_eq(strlen(events[DOCUMENT_EVENTS_MOST - 1].message), 1023);
    ck_assert_int_eq(document_events(work, other.id, &events, err), 1);
    ck_assert_int_eq(events[0].times, 1);
}

/* Texts of a status that are no words of a node's own. */
static bool is_plain(const char *name) {
    static const char *const plain[] = {
        "uid",         "replicaId", "poolName",      "nodeId",         "finishedAt",
        "type",        "reason",    "lastProbeTime", "lastUpdateTime", "lastTransitionTime",
        "volumeId",    "name",      "removing",      "source",         "snapshotId",
        "silentNodes", "startedAt",
    };

    for (size_t i = 0; i < LENGTH(plain); i++)
        if (strcmp(plain[i], name) == 0)
            return true;
    return false;
}

static void assert_no_hosts(const struct document_kind *kind, const struct schema_field *fields) {
    for (; fields->type != SCHEMA_END; fields++) {
        bool is_of_anything = (fields->type == SCHEMA_OBJECT || fields->type == SCHEMA_LIST) &&
                              !fields->of && strcmp(fields->name, "members") != 0; /* uids */

        if (fields->flags & SCHEMA_ADMIN_ONLY)
            continue;
        ck_assert_msg(!is_of_anything && (fields->type != SCHEMA_TEXT || is_plain(fields->name)),
                      "%s: %s", kind->name, fields->name);
        if (fields->of)
            assert_no_hosts(kind, fields->of);
    }
}

WORK_TEST(texts_of_nodes_are_shown_to_administrators_only) {
    (void)work, (void)err;
    for (const struct document_kind *const *kind = document_kinds; *kind; kind++) {
        if ((*kind)->status_fields)
            assert_no_hosts(*kind, (*kind)->status_fields);
        if ((*kind)->read_only)
            assert_no_hosts(*kind, (*kind)->fields);
    }
}

CHECK_MAIN("document_own", owned_documents_are_of_their_owners_project_and_found_by_it,
           replicas_of_two_volumes_may_have_one_name,
           nothing_is_created_for_a_document_being_deleted,
           documents_of_the_service_are_checked_by_their_schema,
           each_change_has_a_version_and_each_desired_state_a_generation,
           an_outdated_writer_writes_nothing, a_status_is_its_nodes_and_whole,
           an_invalid_status_is_refused_with_its_path, conditions_are_taken_by_either_name,
           a_status_has_a_size, a_replica_stays_until_its_data_are_gone_and_then_removes_its_volume,
           a_config_is_deleted_after_its_volume, documents_are_limited_without_counting_rows,
           a_repeated_event_is_one_with_a_count, a_document_has_so_many_events_and_each_is_so_long,
           texts_of_nodes_are_shown_to_administrators_only)
