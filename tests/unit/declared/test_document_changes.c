#include "declared/document_changes.h"

#include "common/cleanup.h"
#include "declared/document_edit.h"
#include "declared/document_own.h"
#include "tests/lib/work_test.h"
#include "json/json.h"

#include <stdio.h>

#define REPLICA                                                                                \
    "{\"spec\":{\"volumeId\":\"v\",\"poolName\":\"p\",\"nodeId\":\"a\",\"path\":\"/pools/a\"," \
    "\"capacity\":\"10Gi\",\"maximum\":\"1Ti\",\"members\":[\"a\"],\"replicationFactor\":3}}"

static json_t *parse(struct work *work, const char *text) {
    json_t *tree = json_parse(work->arena, text, strlen(text), NULL);

    ck_assert_msg(tree != NULL, "%s", text);
    return tree;
}

static struct document policy_made(struct work *work, const char *name, const char *labels) {
    const char *text = arena_format(
        work->arena, "{\"metadata\":{\"name\":\"%s\",\"labels\":{%s}},\"spec\":{}}", name, labels);
    struct document made;
    struct error err = { 0 };

    ck_assert_msg(
        document_create(work, &kind_volume_policy, parse(work, text), false, &made, &err) == 0,
        "%s", err.message);
    return made;
}

static struct document labelled(struct work *work, const struct document *before,
                                const char *labels) {
    struct document made;
    struct error err = { 0 };

    ck_assert_msg(
        document_patch(
            work, before,
            parse(work, arena_format(work->arena, "{\"metadata\":{\"labels\":{%s}}}", labels)),
            false, &made, &err) == 0,
        "%s", err.message);
    return made;
}

static void delete (struct work *work, const struct document *document) {
    struct document gone;
    struct error err = { 0 };

    ck_assert_msg(document_delete(work, document, false, &gone, &err) == 0, "%s", err.message);
}

/* The events of a watch, as "ADDED a 3;"; its position is the last version then. */
static const char *news(struct work *work, const struct document_scope *scope,
                        struct document_position *position) {
    static const char *const words[] = { "-", "ADDED", "MODIFIED", "DELETED", "BOOKMARK" };
    struct document_change *changes;
    const char *text = "";
    struct error err = { 0 };
    int64_t version;
    int count = document_changes(work, scope, position->version, &changes, &version, &err);

    ck_assert_msg(count >= 0, "%s", err.message);
    for (int i = 0; i < count; i++) {
        enum document_watch_event is = document_watch_event_of(scope, position, &changes[i]);

        if (is != DOCUMENT_NO_EVENT)
            text = arena_format(work->arena, "%s%s %s %jd;", text, words[is],
                                changes[i].document.name, (intmax_t)changes[i].version);
    }
    position->version = version;
    return text;
}

WORK_TEST(changes_are_reported_in_order_each_document_once) {
    const struct document_scope scope = { .kind = &kind_volume_policy, .project_id = PROJECT };
    struct document_position position = { 0 };
    struct document a = policy_made(work, "a", ""), b = policy_made(work, "b", "");

    ck_assert_str_eq(news(work, &scope, &position), "ADDED a 1;ADDED b 2;");
    ck_assert_int_eq(position.version, 2);
    ck_assert_str_eq(news(work, &scope, &position), "");
    a = labelled(work, &a, "\"x\":\"1\"");
    a = labelled(work, &a, "\"x\":\"2\"");
    delete (work, &b);
    ck_assert_str_eq(news(work, &scope, &position), "MODIFIED a 4;DELETED b 5;");
    b = policy_made(work, "b", "");
    delete (work, &b);
    policy_made(work, "b", "");
    ck_assert_str_eq(news(work, &scope, &position), "DELETED b 7;ADDED b 8;");
    (void)err;
}

WORK_TEST(a_watch_reports_only_documents_in_its_scope) {
    struct document_position of_other = { 0 }, of_name = { 0 }, of_kind = { 0 };
    const struct document_scope other = { .kind = &kind_volume_policy, .project_id = OTHER };
    const struct document_scope name = { .kind = &kind_volume_policy, .name = "b" };
    const struct document_scope kind = { .kind = &kind_volume_config };
    struct document a = policy_made(work, "a", "");

    policy_made(work, "b", "");
    delete (work, &a);
    ck_assert_str_eq(news(work, &other, &of_other), "");
    ck_assert_str_eq(news(work, &name, &of_name), "ADDED b 2;");
    ck_assert_str_eq(news(work, &kind, &of_kind), "");
    ck_assert_int_eq(of_kind.version, 3); /* and goes on from there */
    (void)err;
}

WORK_TEST(a_document_that_leaves_the_labels_of_a_watch_is_deleted_in_it) {
    const struct pair disk = { "disk", "ssd" };
    const struct document_scope scope = { .kind = &kind_volume_policy, .labels = { &disk, 1 } };
    struct document_position position = { 0 };
    struct document a = policy_made(work, "a", "\"disk\":\"ssd\"");
    struct document b = policy_made(work, "b", "\"disk\":\"tape\"");

    ck_assert_str_eq(news(work, &scope, &position), "ADDED a 1;");
    b = labelled(work, &b, "\"other\":\"1\""); /* never in scope: its leaving may be reported */
    ck_assert_str_eq(news(work, &scope, &position), "DELETED b 3;");
    a = labelled(work, &a, "\"disk\":\"tape\"");
    b = labelled(work, &b, "\"disk\":\"ssd\"");
    a = labelled(work, &a, "\"other\":\"1\"");
    ck_assert_str_eq(news(work, &scope, &position), "DELETED a 4;MODIFIED b 5;DELETED a 6;");
    delete (work, &b);
    ck_assert_str_eq(news(work, &scope, &position), "DELETED b 7;");
    (void)err;
}

WORK_TEST(a_new_watch_reports_no_earlier_deletions) {
    const struct document_scope scope = { .kind = &kind_volume_policy };
    struct document_position position = { .floor = 4 };
    struct document a = policy_made(work, "a", ""), b = policy_made(work, "b", "");

    labelled(work, &a, "\"x\":\"1\"");
    delete (work, &b);
    ck_assert_str_eq(news(work, &scope, &position), "ADDED a 3;");
    (void)err;
}

WORK_TEST(an_unknown_or_expired_version_is_refused) {
    struct document_position position = { .version = 5, .floor = 5 };

    ck_assert_int_eq(document_position_check(&position, 5, err), 0);
    ck_assert_int_eq(document_position_check(&position, 5 + DOCUMENT_CHANGES_KEPT, err), 0);
    REFUSED(document_position_check(&position, 6 + DOCUMENT_CHANGES_KEPT, err), GONE);
    REFUSED(document_position_check(&position, 4, err), GONE);
    (void)work;
    position = (struct document_position){ .version = 0, .floor = 20000 };
    ck_assert_int_eq(document_position_check(&position, 20000, err), 0);
}

WORK_TEST(an_event_is_a_line_with_the_version_of_its_change) {
    struct document a = policy_made(work, "a", "");
    const struct document_change is = { 1, DOCUMENT_IS, a }, moved = { 7, DOCUMENT_MOVED, a };
    const struct document_change gone = { 9, DOCUMENT_GONE, a };
    const char *text = document_watch_event_text(work->arena, DOCUMENT_ADDED, &is);

    ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
    ck_assert_ptr_nonnull(strstr(text, "{\"type\":\"ADDED\",\"object\":{"));
    ck_assert_ptr_nonnull(strstr(text, "\"resourceVersion\":\"1\""));
    ck_assert_ptr_nonnull(strstr(text, "\"spec\":{"));
    text = document_watch_event_text(work->arena, DOCUMENT_DELETED, &moved);
    ck_assert_ptr_nonnull(strstr(text, "\"resourceVersion\":\"7\""));
    text = document_watch_event_text(work->arena, DOCUMENT_DELETED, &gone);
    ck_assert_ptr_nonnull(strstr(text, "\"resourceVersion\":\"9\""));
    ck_assert_ptr_nonnull(strstr(text, a.id));
    ck_assert_ptr_null(strstr(text, "spec"));
    text = document_watch_event_text(work->arena, DOCUMENT_BOOKMARK, &moved);
    ck_assert_str_eq(text,
                     "{\"type\":\"BOOKMARK\",\"object\":{\"apiVersion\":\"cstor.openebs.io/v1\","
                     "\"kind\":\"CStorVolumePolicy\",\"metadata\":{\"resourceVersion\":\"7\"}}}"
                     "\n");
    (void)err;
}

WORK_TEST(many_changes_come_in_parts) {
    const struct document_scope scope = { .kind = &kind_volume_policy };
    struct document_position position = { 0 };
    unsigned reported = 0, parts = 0;

    for (int i = 0; i < 250; i++) {
        struct document made =
            policy_made(work, arena_format(work->arena, "p%d", i), "\"x\":\"1\"");

        if (i % 3 == 0)
            delete (work, &made);
    }
    for (int64_t before = -1; position.version != before; parts++) {
        const char *text = news(work, &scope, &position);

        before = *text ? before : position.version;
        for (; *text; text++)
            reported += *text == ';';
    }
    ck_assert_uint_eq(reported, 250);
    ck_assert_uint_gt(parts, 2);
    (void)err;
}

/* ---- nothing is ever lost ---- */

#define REPLICAS 12
#define WATCHERS 6

/* A watch that may be interrupted at any event, and continues from the last one received. */
struct follower {
    struct document_scope scope;
    struct document_position position;
    int64_t known[REPLICAS]; /* versions by the number in the name; 0: none */
};

static uint64_t chance(uint64_t *state, uint64_t most) {
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return (*state >> 33) % most;
}

static void follow(struct work *work, struct follower *follower, uint64_t *state, bool all) {
    struct document_change *changes;
    struct error err = { 0 };
    int64_t version;
    int count = document_changes(work, &follower->scope, follower->position.version, &changes,
                                 &version, &err);

    ck_assert_msg(count >= 0, "%s", err.message);
    for (int i = 0; i < count; i++) {
        const struct document *document = &changes[i].document;
        enum document_watch_event is =
            document_watch_event_of(&follower->scope, &follower->position, &changes[i]);
        int64_t *known = &follower->known[atoi(strchr(document->name, '-') + 1)];

        if (is == DOCUMENT_NO_EVENT)
            continue;
        *known = is == DOCUMENT_DELETED ? 0 : changes[i].version;
        follower->position.version = changes[i].version;
        if (!all && chance(state, 4) == 0)
            return;
    }
    follower->position.version = version;
}

static void assert_knows_all(struct work *work, const struct follower *follower,
                             const struct document *replicas) {
    (void)work;
    for (unsigned i = 0; i < REPLICAS; i++) {
        const struct document *replica = &replicas[i];
        const struct document_scope *scope = &follower->scope;
        bool fits = replica->id && (!scope->node || strcmp(scope->node, replica->node) == 0) &&
                    (!scope->name || strcmp(scope->name, replica->name) == 0) &&
                    (scope->labels.count == 0 ||
                     json_equal(json_object_get(replica->labels, "x"),
                                json_object_get(parse(work, "{\"x\":\"1\"}"), "x")));

        ck_assert_int_eq(follower->known[i], fits ? replica->version : 0);
    }
}

/* Makes, changes or deletes one. */
static void step(struct work *work, const struct document *volume, struct document *replica,
                 unsigned number, uint64_t *state) {
    static const char *const nodes[] = { "host-a", "host-b" };
    struct document after = *replica;
    struct error err = { 0 };

    if (!replica->id) {
        ck_assert_int_eq(document_own_create(work, &kind_volume_replica, volume,
                                             arena_format(work->arena, "r-%u", number),
                                             parse(work, chance(state, 2) ? "{\"x\":\"1\"}" : "{}"),
                                             parse(work, REPLICA), NULL, nodes[chance(state, 2)],
                                             replica, &err),
                         0);
        return;
    }
    switch (chance(state, 4)) {
    case 0:
        after.node = nodes[chance(state, 2)];
        break;
    case 1:
        after.labels = parse(work, chance(state, 2) ? "{\"x\":\"1\"}" : "{\"x\":\"2\"}");
        break;
    case 2:
        after.status = parse(
            work, arena_format(work->arena, "{\"message\":\"%u\"}", (unsigned)chance(state, 1000)));
        break;
    default:
        after.deleted_at = NOW_US;
        after.finalizers = parse(work, "[]");
        break;
    }
    ck_assert_msg(document_own_write(work, replica, &after, &err) == 0, "%s", err.message);
    *replica = after.deleted_at ? (struct document){ 0 } : after;
}

WORK_TEST(a_watch_resumed_at_any_change_misses_none) {
    static const struct pair label = { "x", "1" };
    struct follower followers[WATCHERS] = {
        { .scope = { .kind = &kind_volume_replica } },
        { .scope = { .kind = &kind_volume_replica, .project_id = PROJECT } },
        { .scope = { .kind = &kind_volume_replica, .node = "host-a" } },
        { .scope = { .kind = &kind_volume_replica, .labels = { &label, 1 } } },
        { .scope = { .kind = &kind_volume_replica, .node = "host-b", .labels = { &label, 1 } } },
        { .scope = { .kind = &kind_volume_replica, .name = "r-3" } },
    };
    struct document config, volume, replicas[REPLICAS] = { 0 };
    uint64_t state = 7;

    OK(document_create(work, &kind_volume_config,
                       parse(work, "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"capacity\":{"
                                   "\"storage\":\"10Gi\"},\"provision\":{\"replicaCount\":3},"
                                   "\"policy\":{}}}"),
                       false, &config, err));
    OK(document_own_create(work, &kind_replicated_volume, &config, "c", NULL,
                           parse(work, "{\"spec\":{\"capacity\":\"10Gi\",\"maximum\":\"1Ti\","
                                       "\"replicationFactor\":3,\"consistencyFactor\":2,"
                                       "\"replicas\":[]}}"),
                           NULL, NULL, &volume, err));
    for (int i = 0; i < 1500; i++) {
        unsigned number = (unsigned)chance(&state, REPLICAS);

        step(work, &volume, &replicas[number], number, &state);
        if (chance(&state, 3) == 0)
            follow(work, &followers[chance(&state, WATCHERS)], &state, false);
        if (i % 100 == 99)
            for (unsigned j = 0; j < WATCHERS; j++) {
                follow(work, &followers[j], &state, true);
                assert_knows_all(work, &followers[j], replicas);
            }
    }
}

CHECK_MAIN("declared/document_changes", changes_are_reported_in_order_each_document_once,
           a_watch_reports_only_documents_in_its_scope,
           a_document_that_leaves_the_labels_of_a_watch_is_deleted_in_it,
           a_new_watch_reports_no_earlier_deletions, an_unknown_or_expired_version_is_refused,
           an_event_is_a_line_with_the_version_of_its_change, many_changes_come_in_parts,
           a_watch_resumed_at_any_change_misses_none)
