#include "replication/node/assignment_informer.h"

#include "client/documents.h"
#include "tests/unit/replication/node/storage_test.h"

#include <stdatomic.h>

#define REPLICAS_PATH "/v3/volume_replicas?sort=id:asc&node=host-a&limit=1000"
#define VOLUMES_PATH  "/v3/replicated_volumes?sort=id:asc&node=host-a&limit=1000"
#define ONE_PATH      "/v3/replicated_volumes/" VOLUME

/* Deliveries: how many, and the length of the last one. */
static struct { atomic_uint calls, count, version; } replicas, volumes;
static bool holds; /* the node has files of the volume */
static char assigned_node[16];
static struct assignment_informer *informer;

static void set_replicas(void *arg, struct assignment *const *assignments, unsigned count) {
    (void)arg;
    atomic_store(&replicas.count, count);
    atomic_store(&replicas.version, count > 0 ? (unsigned)assignments[0]->version : 0);
    atomic_fetch_add(&replicas.calls, 1);
}

static void set_volumes(void *arg, struct assignment *const *assignments, unsigned count) {
    (void)arg;
    snprintf(assigned_node, sizeof(assigned_node), "%s",
             count > 0 ? assignments[0]->volume.node : "");
    atomic_store(&volumes.count, count);
    atomic_fetch_add(&volumes.calls, 1);
}

static const char **local_volumes(void *arg, struct arena *memory) {
    const char **list = arena_alloc(memory, 2 * sizeof(*list));

    (void)arg;
    list[0] = holds ? VOLUME : NULL;
    return list;
}

static void begin_with(int64_t period_ms) {
    const struct assignment_informer_settings settings = {
        .api = api,
        .node = NODE,
        .period_ms = period_ms,
        .set_replicas = set_replicas,
        .set_volumes = set_volumes,
        .local_volumes = local_volumes,
    };

    ck_assert_int_eq(assignment_informer_start(&settings, &informer, &err), 0);
}

static void begin_informer(void) {
    begin_with(5);
}

static void end(void) {
    ck_assert(assignment_informer_stop(informer, 60000));
    end_storage();
}

/* A list with `count` of these documents, on one page. */
static void answer_list(const char *path, const char *word, json_t *first, json_t *second) {
    json_t *list = json_array();

    if (first)
        json_array_append(list, first);
    if (second)
        json_array_append(list, second);
    answer("GET", path, 200, json_text(arena, json_keep(arena, json_pack("{s:o}", word, list))));
}

static void await_calls(atomic_uint *calls, unsigned count) {
    while (atomic_load(calls) < count)
        poll(NULL, 0, 2);
}

static void await_rounds(unsigned more) {
    unsigned seen = script_server_count(server, "GET", VOLUMES_PATH);

    ck_assert(script_server_await(server, "GET", VOLUMES_PATH, seen + more));
}

START_TEST(unchanged_assignments_are_not_delivered_again) {
    answer_list(REPLICAS_PATH, "volume_replicas", replica_document(0, 1), replica_document(1, 1));
    answer_list(VOLUMES_PATH, "replicated_volumes", NULL, NULL);
    begin_informer();
    await_calls(&volumes.calls, 1);
    await_rounds(3);
    ck_assert_uint_eq(atomic_load(&replicas.calls), 1);
    ck_assert_uint_eq(atomic_load(&replicas.count), 2);
    ck_assert_uint_eq(atomic_load(&volumes.calls), 1);

    script_server_clear(server);
    answer_list(REPLICAS_PATH, "volume_replicas", replica_document(0, 2), replica_document(1, 1));
    answer_list(VOLUMES_PATH, "replicated_volumes", volume_document(NODE, "64Mi", 1), NULL);
    await_calls(&replicas.calls, 2);
    await_calls(&volumes.calls, 2);
    ck_assert_uint_eq(atomic_load(&replicas.version), 2);
    ck_assert_str_eq(assigned_node, NODE);
}
END_TEST

START_TEST(failed_queries_and_invalid_documents_change_nothing) {
    json_t *strange = replica_document(0, 2);

    answer_list(REPLICAS_PATH, "volume_replicas", replica_document(0, 1), NULL);
    answer_list(VOLUMES_PATH, "replicated_volumes", NULL, NULL);
    begin_informer();
    await_calls(&replicas.calls, 1);
    script_server_clear(server);
    answer(NULL, NULL, 503, NULL);
    poll(NULL, 0, 30);
    json_object_set_new(json_object_get(strange, "spec"), "path", json_string("odd"));
    script_server_clear(server);
    answer_list(REPLICAS_PATH, "volume_replicas", strange, NULL);
    answer_list(VOLUMES_PATH, "replicated_volumes", NULL, NULL);
    await_rounds(3);
    ck_assert_uint_eq(atomic_load(&replicas.calls), 1);
    ck_assert_uint_eq(atomic_load(&replicas.version), 1);
}
END_TEST

START_TEST(a_notified_change_is_read_at_once) {
    static const char watch[] = "/v3/volume_replicas?node=host-a&watch=true*";
    const char *event = arena_format(arena, "{\"type\": \"MODIFIED\", \"object\": %s}\n",
                                     json_text(arena, replica_document(0, 2)));

    answer_list(REPLICAS_PATH, "volume_replicas", replica_document(0, 1), NULL);
    answer_list(VOLUMES_PATH, "replicated_volumes", NULL, NULL);
    script_server_add(server, &(struct script_rule){ .path = watch, .manner = SCRIPT_SILENT });
    begin_with(3600 * 1000);
    await_calls(&volumes.calls, 1);
    ck_assert(script_server_await(server, "GET", watch, 1));
    script_server_clear(server);
    answer_list(REPLICAS_PATH, "volume_replicas", replica_document(0, 2), NULL);
    answer_list(VOLUMES_PATH, "replicated_volumes", NULL, NULL);
    script_server_add(
        server, &(struct script_rule){ .path = watch, .status = 200, .body = event, .times = 1 });
    script_server_drop_silent(server); /* the watch is connected again */
    await_calls(&replicas.calls, 2);
    ck_assert_uint_eq(atomic_load(&replicas.version), 2);
}
END_TEST

START_TEST(an_unassigned_local_volume_is_read_by_its_uid) {
    holds = true;
    answer_list(REPLICAS_PATH, "volume_replicas", NULL, NULL);
    answer_list(VOLUMES_PATH, "replicated_volumes", NULL, NULL);
    answer("GET", ONE_PATH, 200,
           json_text(arena, json_keep(arena, json_pack("{s:O}", "replicated_volume",
                                                       volume_document("other", "64Mi", 4)))));
    begin_informer();
    await_calls(&volumes.calls, 1);
    ck_assert_uint_eq(atomic_load(&volumes.count), 1);
    ck_assert_str_eq(assigned_node, "other");
    await_rounds(3); /* read at intervals, and known meanwhile */
    ck_assert_uint_eq(script_server_count(server, "GET", ONE_PATH), 1);
    ck_assert_uint_eq(atomic_load(&volumes.count), 1);
}
END_TEST

START_TEST(a_local_volume_without_a_document_is_not_changed) {
    holds = true;
    answer_list(REPLICAS_PATH, "volume_replicas", NULL, NULL);
    answer_list(VOLUMES_PATH, "replicated_volumes", NULL, NULL);
    answer("GET", ONE_PATH, 404, NULL);
    begin_informer();
    await_calls(&volumes.calls, 1);
    await_rounds(2);
    ck_assert_uint_eq(atomic_load(&volumes.count), 0);
}
END_TEST

/* The last document of a page was deleted before the next page was requested. */
START_TEST(a_list_with_a_lost_marker_is_read_again) {
    json_t *page =
        json_pack("{s:[O], s:[{s:s}]}", "replicated_volumes", volume_document(NODE, "64Mi", 1),
                  "replicated_volumes_links", "rel", "next");

    script_server_add(
        server, &(struct script_rule){
                    .method = "GET", .path = VOLUMES_PATH "&marker=*", .status = 404, .times = 2 });
    answer("GET", VOLUMES_PATH "&marker=*", 200, "{\"replicated_volumes\": []}");
    answer_list(REPLICAS_PATH, "volume_replicas", NULL, NULL);
    answer("GET", VOLUMES_PATH, 200, json_text(arena, json_keep(arena, page)));
    begin_with(60000); /* exactly one query */
    await_calls(&volumes.calls, 1);
    ck_assert_uint_eq(atomic_load(&volumes.count), 1);
    ck_assert_uint_eq(script_server_count(server, "GET", VOLUMES_PATH), 3);
}
END_TEST

START_TEST(a_list_without_a_link_to_a_next_page_ends_with_its_first) {
    answer_list(REPLICAS_PATH, "volume_replicas", replica_document(0, 1), NULL);
    answer_list(VOLUMES_PATH, "replicated_volumes", volume_document(NODE, "64Mi", 1), NULL);
    begin_with(60000);
    await_calls(&volumes.calls, 1);
    ck_assert_uint_eq(script_server_count(server, "GET", REPLICAS_PATH), 1);
    ck_assert_uint_eq(script_server_count(server, "GET", VOLUMES_PATH), 1);
    ck_assert_uint_eq(script_server_count(server, "GET", REPLICAS_PATH "&marker=*"), 0);
    ck_assert_uint_eq(script_server_count(server, "GET", VOLUMES_PATH "&marker=*"), 0);
}
END_TEST

/* An empty list would end everything that is served here. */
START_TEST(an_invalid_list_is_not_an_empty_one) {
    static const char *const bodies[] = { "{}", "{\"volume_replicas\": {}}",
                                          "{\"volume_replicas\": [{}]}", "[]", "<html>" };
    const struct remote_documents kind = { .collection = "volume_replicas", .node = NODE };

    for (unsigned i = 0; i < LENGTH(bodies); i++) {
        script_server_clear(server);
        answer(NULL, NULL, 200, bodies[i]);
        ck_assert_ptr_null(documents_fetch(&api, arena, &kind, &err));
        ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    }
}
END_TEST

START_TEST(a_document_has_the_requested_name_or_uid) {
    const struct remote_documents kind = { .collection = "volume_policies",
                                           .word = "volume_policy" };

    answer(NULL, NULL, 200,
           "{\"volume_policy\": {\"metadata\": {\"name\": \"n\", \"uid\": \"u\"}}}");
    ck_assert_ptr_nonnull(document_fetch(&api, arena, &kind, "n", &err));
    ck_assert_ptr_nonnull(document_fetch(&api, arena, &kind, "u", &err));
    ck_assert_ptr_null(document_fetch(&api, arena, &kind, "x", &err));
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
}
END_TEST

/* A gateway drops the query. */
START_TEST(a_page_that_comes_again_ends_the_list) {
    const struct remote_documents kind = { .collection = "volume_replicas", .node = NODE };

    answer(NULL, NULL, 200,
           "{\"volume_replicas\": [{\"metadata\": {\"uid\": \"u\"}}], "
           "\"volume_replicas_links\": [{\"rel\": \"next\", \"href\": \"x\"}]}");
    ck_assert_ptr_null(documents_fetch(&api, arena, &kind, &err));
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert_uint_eq(script_server_count(server, NULL, NULL), 2);
}
END_TEST

START_TEST(a_list_during_a_suspension_delays_the_next_by_ten_periods) {
    const int64_t period_ms = 1000, hour_us = 3600 * SECOND_US;

    ck_assert_int_eq(assignment_informer_pause_us(0, period_ms), 0);
    ck_assert_int_eq(assignment_informer_pause_us(SECOND_US / 100, period_ms), 3 * SECOND_US / 100);
    ck_assert_int_eq(assignment_informer_pause_us(20 * SECOND_US, period_ms), 10 * SECOND_US);
    ck_assert_int_eq(assignment_informer_pause_us(hour_us, period_ms), 10 * SECOND_US);
    ck_assert_int_eq(assignment_informer_pause_us(INT64_MAX, period_ms), 10 * SECOND_US);
}
END_TEST

START_TEST(a_few_short_lists_follow_at_once_and_many_with_their_pauses) {
    const int64_t period_ms = 1000, list_us = SECOND_US / 1000, began_us = 100 * SECOND_US;
    int64_t now_us = began_us, paid_us = 0, next_us;
    unsigned at_once = 0;

    for (int i = 0; i < 1000; i++) {
        next_us = assignment_informer_next_us(now_us, now_us + list_us, period_ms, &paid_us);
        at_once += next_us <= now_us + list_us && at_once == (unsigned)i;
        now_us = next_us > now_us + list_us ? next_us : now_us + list_us;
    }
    ck_assert_uint_ge(at_once, 10);
    ck_assert_uint_lt(at_once, 30);
    ck_assert_int_ge(now_us - began_us, 1000 * 4 * list_us - SECOND_US / 10);

    /* the pauses of a former burst have passed */
    now_us += SECOND_US;
    next_us = assignment_informer_next_us(now_us, now_us + list_us, period_ms, &paid_us);
    ck_assert_int_le(next_us, now_us + list_us);
    /* a long list has its pause */
    now_us += SECOND_US;
    next_us = assignment_informer_next_us(now_us, now_us + SECOND_US, period_ms, &paid_us);
    ck_assert_int_ge(next_us, now_us + 4 * SECOND_US - SECOND_US / 10);
}
END_TEST

CHECK_MAIN_WITH("assignment_informer", true, begin_storage, end,
                unchanged_assignments_are_not_delivered_again,
                failed_queries_and_invalid_documents_change_nothing,
                a_notified_change_is_read_at_once, an_unassigned_local_volume_is_read_by_its_uid,
                a_local_volume_without_a_document_is_not_changed,
                a_list_with_a_lost_marker_is_read_again,
                a_list_without_a_link_to_a_next_page_ends_with_its_first,
                an_invalid_list_is_not_an_empty_one, a_page_that_comes_again_ends_the_list,
                a_document_has_the_requested_name_or_uid,
                a_list_during_a_suspension_delays_the_next_by_ten_periods,
                a_few_short_lists_follow_at_once_and_many_with_their_pauses)
