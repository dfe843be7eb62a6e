/*
 * The bytes of a project's documents: those written by its members are limited, and those written
 * by the service are counted.
 */
#include "common/cleanup.h"
#include "common/clock.h"
#include "declared/volume_config.h"
#include "tests/lib/declared.h"

#include <pthread.h>

#define POLICY(name, text)                                                                    \
    "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"target\":{\"affinity\":{\"a\":\"" text \
    "\"}}}}"
#define EDIT(text) "{\"spec\":{\"target\":{\"affinity\":{\"a\":\"" text "\"}}}}"
#define FOLLOWS                                                                     \
    "{\"metadata\":{\"name\":\"db\",\"annotations\":{\"openebs.io/volume-policy\":" \
    "\"fast\"}},\"spec\":{\"capacity\":{\"storage\":\"1Gi\"},\"provision\":{\"replicaCount\":1}}}"

static int64_t number(struct work *work, const char *sql) {
    struct error err = { 0 };
    int64_t value = -1;

    ck_assert_msg(db_query_int(work->tx, &value, &err, sql) >= 0, "%s: %s", sql, err.message);
    return value;
}

static int64_t bytes_of(struct work *work, const char *project) {
    struct error err = { 0 };
    int64_t bytes = -1;

    ck_assert_int_ge(db_query_int(work->tx, &bytes, &err,
                                  "SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM "
                                  "document_counts WHERE project_id = $1",
                                  DB_TEXT(project)),
                     0);
    return bytes;
}

/* The count equals the stored bytes of clients' documents, without their "publish". */
static void assert_counted(struct work *work) {
    static const char *const none[] = {
        "SELECT COUNT(*) FROM documents WHERE kind = 'CStorVolumePolicy' AND "
        "bytes <> LENGTH(metadata) + LENGTH(body)",
        "SELECT COUNT(*) FROM documents WHERE kind = 'CStorVolumeConfig' AND "
        "bytes + 50 NOT BETWEEN LENGTH(metadata) + LENGTH(body) AND "
        "LENGTH(metadata) + LENGTH(body) + 50",
        "SELECT COUNT(*) FROM documents WHERE kind IN ('CStorVolume', 'CStorVolumeReplica') AND "
        "bytes <> 0",
    };

    for (size_t i = 0; i < LENGTH(none); i++)
        ck_assert_msg(number(work, none[i]) == 0, "%s", none[i]);
    ck_assert_int_eq(number(work, "SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM "
                                  "document_counts"),
                     number(work, "SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM "
                                  "documents"));
}

static int try(struct work *work, const char *text, bool dry_run, struct error *err) {
    struct document document;

    return document_create(work, &kind_volume_policy, tree(work, text), dry_run, &document, err);
}

static int patch(struct work *work, const char *id, const char *text, bool dry_run,
                 struct error *err) {
    struct document before = document_of(work, &kind_volume_policy, id), after;

    return document_patch(work, &before, tree(work, text), dry_run, &after, err);
}

/* Leaves so many bytes. */
static void leave(struct work *work, int64_t bytes) {
    settings_of(work)->document_bytes = bytes_of(work, PROJECT) + bytes;
}

WORK_TEST(the_bytes_of_a_projects_documents_are_limited) {
    const char *id = declare(work, &kind_volume_policy, POLICY("one", "aaaaaaaaaa"));
    int64_t size = bytes_of(work, PROJECT), version;

    assert_counted(work);
    leave(work, size - 1);
    version = last_version(work);
    for (int dry_run = 0; dry_run < 2; dry_run++) {
        REFUSED(try(work, POLICY("two", "aaaaaaaaaa"), dry_run, err), OVER_QUOTA);
        ck_assert_str_eq(err->message,
                         arena_format(work->arena,
                                      "With Volume policy two the documents of the project would "
                                      "have %jd bytes together, more than %jd.",
                                      (intmax_t)(2 * size), (intmax_t)(2 * size - 1)));
    }
    ck_assert_int_eq(last_version(work), version);
    ck_assert_int_eq(bytes_of(work, PROJECT), size);
    OK(try(work, POLICY("two", "aaaaaaaaa"), true, err));
    OK(try(work, POLICY("two", "aaaaaaaaa"), false, err));
    REFUSED(try(work, POLICY("two", "aaaaaaaaa"), false, err), CONFLICT);
    for (int dry_run = 0; dry_run < 2; dry_run++)
        REFUSED(patch(work, id, EDIT("aaaaaaaaaaa"), dry_run, err), OVER_QUOTA);
    ck_assert_int_eq(last_version(work), version + 1);
    ck_assert_int_eq(bytes_of(work, PROJECT), 2 * size - 1);
    OK(patch(work, id, EDIT("bbbbbbbbbb"), false, err));
    OK(patch(work, id, EDIT("bbbbbbbbb"), false, err));
    OK(patch(work, "two", EDIT("aaaaaaaaaa"), false, err));
    assert_counted(work);
}

WORK_TEST(released_bytes_are_available_again_and_limits_are_per_project) {
    const char *id = declare(work, &kind_volume_policy, POLICY("one", "a"));
    struct document policy = document_of(work, &kind_volume_policy, id), after;

    leave(work, 0);
    REFUSED(try(work, POLICY("two", "a"), false, err), OVER_QUOTA);
    context_of(work)->project_id = OTHER;
    OK(try(work, POLICY("two", "a"), false, err));
    context_of(work)->project_id = PROJECT;
    OK(document_delete(work, &policy, false, &after, err));
    ck_assert_int_eq(bytes_of(work, PROJECT), 0);
    OK(try(work, POLICY("two", "a"), false, err));
    ck_assert_int_eq(bytes_of(work, PROJECT), bytes_of(work, OTHER));
    assert_counted(work);
}

WORK_TEST(the_bytes_of_all_kinds_of_a_project_are_limited_together) {
    struct document document;

    declare(work, &kind_volume_policy, POLICY("one", "a"));
    leave(work, 10);
    REFUSED(document_create(work, &kind_volume_config, tree(work, DECLARED("db", "1Gi", 1, "")),
                            false, &document, err),
            OVER_QUOTA);
    leave(work, 1000);
    declare(work, &kind_volume_config, DECLARED("db", "1Gi", 1, ""));
    assert_counted(work);
}

/* After the limit was lowered, documents can still be made smaller. */
WORK_TEST(a_document_over_the_limit_may_shrink_and_be_deleted) {
    const char *id = declare(work, &kind_volume_policy, POLICY("one", "aaaaaaaaaa"));
    struct document policy, after;

    settings_of(work)->document_bytes = 1;
    OK(patch(work, id, EDIT("aaaaa"), false, err));
    OK(patch(work, id, EDIT("bbbbb"), false, err));
    REFUSED(patch(work, id, EDIT("bbbbbb"), false, err), OVER_QUOTA);
    policy = document_of(work, &kind_volume_policy, id);
    OK(document_delete(work, &policy, false, &after, err));
    assert_counted(work);
}

/* A volume comes, is served, grows smaller and larger and goes, in a project that is full. */
WORK_TEST(documents_of_the_service_are_counted_and_never_refused) {
    const char *id = declare(work, &kind_volume_config, DECLARED("db", "1Gi", 1, ",\"policy\":{}"));
    int64_t before = bytes_of(work, PROJECT);

    put_pools(work, 1);
    settings_of(work)->document_bytes = 1;
    settle(work, id);
    report_made(work, id);
    ck_assert_int_eq(settle(work, id), RECONCILE_SETTLED);
    ck_assert_str_eq(config_at(work, id, "status.phase"), "\"Bound\"");
    ck_assert_int_gt(bytes_of(work, PROJECT), before); /* spec.cstorVolumeRef */
    assert_counted(work);
    before = bytes_of(work, PROJECT);
    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"host-a\"}}", err));
    ck_assert_int_eq(bytes_of(work, PROJECT), before);
    settle(work, id);
    report_served(work, id, -1, NULL);
    ck_assert_int_eq(settle(work, id), RECONCILE_SETTLED);
    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"\"}}", err));
    ck_assert_int_eq(bytes_of(work, PROJECT), before);
}

static const char *detailed(struct work *work, const char *text) {
    return arena_join(work->arena, "{\"versionDetails\":{\"a\":\"", text, "\"}}", NULL);
}

/* At the limit of one document, the service's own fields still fit. */
WORK_TEST(the_largest_config_becomes_bound) {
    const char *id = declare(work, &kind_volume_config, DECLARED("db", "1Gi", 1, ",\"policy\":{}"));
    size_t left = DOCUMENT_BYTES_MOST - (size_t)bytes_of(work, PROJECT) -
                  strlen(",\"versionDetails\":{\"a\":\"\"}");
    char *text = arena_alloc(work->arena, left + 2);

    memset(text, 'x', left + 1);
    text[left + 1] = '\0';
    REFUSED(edit(work, id, detailed(work, text), err), TOO_LARGE);
    text[left] = '\0';
    OK(edit(work, id, detailed(work, text), err));
    ck_assert_int_eq(bytes_of(work, PROJECT), DOCUMENT_BYTES_MOST);
    put_pools(work, 1);
    settle(work, id);
    report_made(work, id);
    ck_assert_int_eq(settle(work, id), RECONCILE_SETTLED);
    ck_assert_str_eq(config_at(work, id, "status.phase"), "\"Bound\"");
    OK(edit(work, id, "{\"spec\":{\"capacity\":{\"storage\":\"2Gi\"}}}", err));
    REFUSED(edit(work, id, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", err), TOO_LARGE);
    assert_counted(work);
}

/* One policy that many configs name would be as many copies. */
WORK_TEST(a_policy_too_large_to_copy_is_not_copied) {
    const char *id;

    put_pools(work, 1);
    declare(work, &kind_volume_policy, POLICY("fast", "a"));
    id = declare(work, &kind_volume_config, FOLLOWS);
    leave(work, 100);
    REFUSED(reconcile_config(work, id, err), OVER_QUOTA);
    ck_assert_ptr_nonnull(strstr(err->message, "With Volume config db the documents of"));
    ck_assert_str_eq(config_at(work, id, "spec.policy"), "null");
    ck_assert_int_eq(number(work, "SELECT COUNT(*) FROM documents"), 2);
    leave(work, 10000);
    ck_assert_int_eq(settle(work, id), RECONCILE_SETTLED);
    ck_assert_str_eq(config_at(work, id, "spec.policy.target.affinity"), "{\"a\":\"a\"}");
    assert_counted(work);
}

/* ---- at once ---- */

#define THREADS 4

struct writer {
    struct db *db;
    struct work_fixture fixture;
    const char *name;
    unsigned made;
};

static int make_next(struct work *work, void *arg, struct error *err) {
    const struct writer *writer = arg;
    const char *text = arena_format(work->arena, POLICY("%s-%u", "a"), writer->name, writer->made);

    return try(work, text, false, err);
}

static void *write_until_full(void *arg) {
    struct writer *writer = arg;
    struct error err = { 0 };

    do {
        autoarena struct arena *arena = arena_new();
        const struct work base = { .arena = arena,
                                   .context = &writer->fixture.context,
                                   .settings = &writer->fixture.settings };

        if (work_transaction(writer->db, &base, make_next, writer, &err) < 0)
            break;
    } while (writer->made++ < 100);
    ck_assert_msg(err.kind == ERROR_OVER_QUOTA, "%s", err.message);
    return NULL;
}

static int read_bytes(struct work *work, void *arg, struct error *err) {
    (void)err;
    assert_counted(work);
    *(int64_t *)arg = bytes_of(work, PROJECT);
    return 0;
}

START_TEST(concurrent_writers_have_one_limit_together) {
    const struct db_settings settings = { .url = database_url() };
    autoarena struct arena *arena = arena_new();
    struct writer writers[THREADS];
    pthread_t threads[THREADS];
    struct error err = { 0 };
    unsigned made = 0;
    int64_t bytes = 0;
    struct db *db;

    ck_assert_msg(db_open(&settings, &db, &err) == 0, "%s", err.message);
    for (unsigned i = 0; i < THREADS; i++) {
        writers[i] = (struct writer){ .db = db,
                                      .fixture = test_fixture(),
                                      .name = arena_format(arena, "t%u", i) };
        writers[i].fixture.settings.clock = &clock_system;
        writers[i].fixture.settings.document_bytes = 10000;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, write_until_full, &writers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        made += writers[i].made;
    }
    ck_assert_int_eq(work_read(db,
                               &(struct work){ .arena = arena,
                                               .context = &writers[0].fixture.context,
                                               .settings = &writers[0].fixture.settings },
                               read_bytes, &bytes, &err),
                     0);
    ck_assert_int_le(bytes, 10000);
    ck_assert_int_gt(bytes, 10000 - 1000);
    ck_assert_uint_gt(made, 10);
    db_close(db);
}
END_TEST

/* In the transaction of an attachment, which other projects wait for. */
WORK_TEST(published_configs_are_counted_without_much_memory) {
    const struct arena *arena = work->arena;
    json_t *list = json_keep(work->arena, json_array());
    const char *details, *id = NULL;
    int64_t count = -1;
    size_t before;

    for (int i = 0; i < 3000; i++)
        json_array_append_new(list, json_integer(1));
    details =
        arena_format(work->arena, ",\"versionDetails\":{\"publish\":{\"nodeId\":\"n1\"},\"l\":%s}",
                     json_text(work->arena, list));
    for (int i = 0; i < 9; i++)
        id = declare(
            work, &kind_volume_config,
            arena_format(work->arena,
                         "{\"metadata\":{\"name\":\"c%d\"},\"spec\":{\"capacity\":{\"storage\":"
                         "\"1Gi\"},\"provision\":{\"replicaCount\":1}}%s}",
                         i, details));
    OK(edit(work, id, "{\"publish\":{\"nodeId\":\"n1\"}}", err));
    before = arena_bytes(arena);
    OK(volume_config_count_published(work, PROJECT, "n1", &count, err));
    ck_assert_int_eq(count, 1);
    ck_assert_uint_lt(arena_bytes(arena) - before, 64 * 1024);
    OK(volume_config_count_published(work, PROJECT, "n", &count, err));
    ck_assert_int_eq(count, 0);
}

CHECK_MAIN("document_bytes", the_bytes_of_a_projects_documents_are_limited,
           released_bytes_are_available_again_and_limits_are_per_project,
           the_bytes_of_all_kinds_of_a_project_are_limited_together,
           a_document_over_the_limit_may_shrink_and_be_deleted,
           documents_of_the_service_are_counted_and_never_refused, the_largest_config_becomes_bound,
           a_policy_too_large_to_copy_is_not_copied, concurrent_writers_have_one_limit_together,
           published_configs_are_counted_without_much_memory)
