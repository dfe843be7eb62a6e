#include "tests/unit/replication/node/storage_test.h"

START_TEST(a_replica_assignment_is_read) {
    json_t *document = replica_document(1, 7);
    struct assignment *assignment = assignment_of(ASSIGNMENT_REPLICA, document),
                      *held = assignment_hold(assignment);

    ck_assert_str_eq(assignment->uid, uids[1]);
    ck_assert_int_eq(assignment->version, 7);
    ck_assert_str_eq(assignment->replica.volume, VOLUME);
    ck_assert_str_eq(assignment->replica.pool, "pool-b");
    ck_assert_str_eq(assignment->replica.path, paths[1]);
    ck_assert_int_eq(assignment->replica.size_bytes, SIZE);
    ck_assert_int_eq(assignment->replica.maximum_bytes, INT64_C(1) << 30);
    ck_assert_uint_eq(assignment->replica.count, 3);
    ck_assert_str_eq(assignment->replica.members[2], uids[2]);
    ck_assert(!assignment->deleting && !assignment->replica.created);
    assignment_release(assignment);
    ck_assert_str_eq(held->uid, uids[1]);
    assignment_release(held);

    set_phase(document, "Init");
    assignment = assignment_of(ASSIGNMENT_REPLICA, document);
    ck_assert(!assignment->replica.created);
    assignment_release(assignment);
    set_phase(document, "Offline");
    set_deleting(document);
    assignment = assignment_of(ASSIGNMENT_REPLICA, document);
    ck_assert(assignment->replica.created && assignment->deleting);
    assignment_release(assignment);
}
END_TEST

static struct assignment_reclaim reclaim_of(const char *reported) {
    json_t *document = replica_document(1, 7);
    struct assignment *assignment;
    struct assignment_reclaim found;

    json_object_set_new(json_object_get(document, "spec"), "reclaim",
                        json_pack("{s:i}", "number", 2));
    set_phase(document, "Healthy");
    json_object_set(json_object_get(document, "status"), "reclaim",
                    json_parse(arena, reported, strlen(reported), &err));
    assignment = assignment_of(ASSIGNMENT_REPLICA, document);
    found = assignment->replica.reclaim;
    assignment_release(assignment);
    return found;
}

/* The status of another request, or an unknown phase, counts for nothing. */
START_TEST(a_reported_reclaim_is_recognized_by_its_number) {
    struct assignment_reclaim done =
        reclaim_of("{\"number\":2,\"phase\":\"Done\",\"beforeBytes\":9000,\"afterBytes\":4096}");
    struct assignment_reclaim failed =
        reclaim_of("{\"number\":2,\"phase\":\"Failed\",\"reason\":\"unsupported\"}");

    ck_assert_int_eq(done.number, 2);
    ck_assert_int_eq(done.phase, RECLAIM_DONE);
    ck_assert_int_eq(done.before_bytes, 9000);
    ck_assert_int_eq(done.after_bytes, 4096);
    ck_assert_int_eq(failed.phase, RECLAIM_ENDED);
    ck_assert(failed.unsupported);
    ck_assert(!reclaim_of("{\"number\":2,\"phase\":\"Failed\"}").unsupported);
    ck_assert_int_eq(reclaim_of("{\"number\":1,\"phase\":\"Done\"}").phase, RECLAIM_PENDING);
    ck_assert_int_eq(reclaim_of("{\"number\":2,\"phase\":\"Pending\"}").phase, RECLAIM_PENDING);
    ck_assert_int_eq(reclaim_of("{\"number\":2}").phase, RECLAIM_PENDING);
}
END_TEST

START_TEST(a_volume_assignment_is_read_and_its_text_can_be_read_again) {
    json_t *document = volume_document(NODE, "128Mi", 3);
    struct assignment *assignment, *again;

    json_object_set_new(json_object_get(document, "spec"), "qos",
                        json_pack("{s:i, s:i}", "iops", 100, "bytesPerSecond", 5));
    json_object_set_new(json_object_get(document, "spec"), "removing", json_string(uids[2]));
    json_object_set_new(json_object_get(document, "spec"), "epoch", json_integer(7));
    json_object_set_new(json_object_get(document, "spec"), "export", json_string("device"));
    json_object_set_new(
        json_array_get(json_object_get(json_object_get(document, "spec"), "replicas"), 1),
        "address", json_string("[::1]:10810"));
    json_object_set_new(document, "status",
                        json_pack("{s:s, s:s, s:{s:s}}", "phase", "Healthy", "capacity", "64Mi",
                                  "target", "nodeId", NODE));
    assignment = assignment_of(ASSIGNMENT_VOLUME, document);
    again = assignment_of(ASSIGNMENT_VOLUME, json_parse(arena, assignment->volume.text,
                                                        strlen(assignment->volume.text), &err));
    for (const struct assignment *one = assignment; one; one = one == assignment ? again : NULL) {
        ck_assert_int_eq(one->volume.size_bytes, 2 * SIZE);
        ck_assert_int_eq(one->volume.reported_bytes, SIZE);
        ck_assert_str_eq(one->volume.node, NODE);
        ck_assert_int_eq(one->volume.qos.iops, 100);
        ck_assert_int_eq(one->volume.export, TARGET_EXPORT_FILE);
        ck_assert(one->volume.device);
        ck_assert_int_eq(one->volume.qos.bytes_per_second, 5);
        ck_assert_uint_eq(one->volume.count, 3);
        ck_assert_str_eq(one->volume.replicas[1].uid, uids[1]);
        ck_assert_str_eq(one->volume.replicas[1].pool, paths[1]);
        ck_assert_str_eq(assignment_pool(&one->volume, uids[1]), "pool-b");
        ck_assert_ptr_null(assignment_pool(&one->volume, VOLUME));
        ck_assert_str_eq(one->volume.removing, uids[2]);
        ck_assert_int_eq(one->volume.epoch, 7);
        ck_assert_str_eq(one->volume.nodes[1], NODE);
        ck_assert_str_eq(one->volume.addresses[1], "[::1]:10810");
        ck_assert_ptr_null(one->volume.addresses[0]);
        ck_assert_str_eq(one->volume.phase, "Healthy");
        ck_assert(one->volume.has_target);
    }
    assignment_release(assignment);
    assignment_release(again);
}
END_TEST

static void assert_refused(enum assignment_kind kind, json_t *document, const char *part,
                           const char *key, json_t *value) {
    struct assignment *assignment = NULL;

    json_object_set_new(json_object_get(document, part), key, value);
    ck_assert_msg(assignment_read(kind, document, &assignment, &err) < 0, "%s.%s", part, key);
    ck_assert_int_eq(err.kind, ERROR_BACKEND);
}

static json_t *many(void) {
    json_t *list = json_array();

    for (unsigned i = 0; i <= REPLICAS_MOST; i++)
        json_array_append_new(list, json_string(uids[0]));
    return list;
}

START_TEST(invalid_documents_are_refused) {
    assert_refused(ASSIGNMENT_REPLICA, replica_document(0, 1), "metadata", "uid", json_string("x"));
    assert_refused(ASSIGNMENT_REPLICA, replica_document(0, 1), "metadata", "resourceVersion",
                   json_integer(1));
    assert_refused(ASSIGNMENT_REPLICA, replica_document(0, 1), "spec", "volumeId",
                   json_string("../x"));
    assert_refused(ASSIGNMENT_REPLICA, replica_document(0, 1), "spec", "path",
                   json_string("relative"));
    assert_refused(ASSIGNMENT_REPLICA, replica_document(0, 1), "spec", "poolName", json_null());
    assert_refused(ASSIGNMENT_REPLICA, replica_document(0, 1), "spec", "capacity",
                   json_string("2Gi"));
    assert_refused(ASSIGNMENT_REPLICA, replica_document(0, 1), "spec", "capacity",
                   json_string("much"));
    assert_refused(ASSIGNMENT_REPLICA, replica_document(0, 1), "spec", "members", many());
    assert_refused(ASSIGNMENT_REPLICA, replica_document(0, 1), "spec", "members",
                   json_pack("[s]", "missing"));
    assert_refused(ASSIGNMENT_REPLICA, replica_document(0, 1), "spec", "members",
                   json_pack("[s,s]", uids[0], uids[0]));
    assert_refused(ASSIGNMENT_REPLICA, replica_document(0, 1), "spec", "source",
                   json_pack("{s:s}", "replicaId", uids[1]));
    assert_refused(ASSIGNMENT_REPLICA, replica_document(0, 1), "spec", "reclaim",
                   json_pack("{s:i}", "number", 0));
    assert_refused(ASSIGNMENT_REPLICA, replica_document(0, 1), "spec", "snapshots",
                   json_pack("[{s:s, s:b}]", "uid", "../data", "remove", 1));
    assert_refused(ASSIGNMENT_REPLICA, replica_document(0, 1), "spec", "snapshots",
                   json_pack("[{s:s, s:s, s:s}]", "uid", uids[1], "source", uids[2], "sourcePath",
                             "relative"));
    assert_refused(ASSIGNMENT_VOLUME, volume_document(NODE, "64Mi", 1), "spec", "snapshots",
                   json_pack("[{s:s}]", "uid", "missing"));
    assert_refused(ASSIGNMENT_VOLUME, volume_document(NODE, "64Mi", 1), "spec", "revert",
                   json_pack("{s:s, s:i}", "uid", "../data", "number", 1));
    assert_refused(ASSIGNMENT_VOLUME, volume_document(NODE, "64Mi", 1), "spec", "revert",
                   json_pack("{s:s}", "uid", uids[0]));
    assert_refused(ASSIGNMENT_VOLUME, volume_document(NODE, "64Mi", 1), "spec", "maximum",
                   json_string("1Mi"));
    assert_refused(ASSIGNMENT_VOLUME, volume_document(NODE, "64Mi", 1), "spec", "replicas", many());
    assert_refused(ASSIGNMENT_VOLUME, volume_document(NODE, "64Mi", 1), "spec", "replicas",
                   json_pack("[{s:s, s:s, s:s}]", "uid", uids[0], "poolName", "p", "path", "x"));
    ck_assert_int_lt(assignment_read(ASSIGNMENT_VOLUME, NULL, NULL, &err), 0);
}
END_TEST

static json_t *volume_of(unsigned count) {
    json_t *document = volume_document(NODE, "64Mi", 1), *list = json_array();

    for (unsigned i = 0; i < count; i++)
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:s, s:s}", "uid",
                            arena_format(arena, "00000000-0000-4000-8000-0000000000%02x", i),
                            "poolName", names[0], "nodeId", NODE, "path", paths[0]));
    json_object_set_new(json_object_get(document, "spec"), "replicas", list);
    return document;
}

START_TEST(a_volume_has_one_more_replica_while_one_of_the_most_is_replaced) {
    struct assignment *assignment = assignment_of(ASSIGNMENT_VOLUME, volume_of(MEMBERS_MOST));

    ck_assert_uint_eq(assignment->volume.count, REPLICAS_MOST + 1);
    ck_assert_str_eq(assignment->volume.replicas[REPLICAS_MOST].uid,
                     "00000000-0000-4000-8000-000000000007");
    assignment_release(assignment);
    ck_assert_int_lt(
        assignment_read(ASSIGNMENT_VOLUME, volume_of(MEMBERS_MOST + 1), &assignment, &err), 0);
    ck_assert_int_eq(err.kind, ERROR_BACKEND);
}
END_TEST

START_TEST(any_message_becomes_valid_text) {
    json_t *text = assignment_message("\xff\xfe"), *plain = assignment_message("plain");

    ck_assert_str_eq(json_string_value(plain), "plain");
    ck_assert_ptr_nonnull(json_string_value(text));
    json_decref(text);
    json_decref(plain);
}
END_TEST

CHECK_MAIN_WITH("assignment", true, begin_storage, end_storage, a_replica_assignment_is_read,
                a_reported_reclaim_is_recognized_by_its_number,
                a_volume_assignment_is_read_and_its_text_can_be_read_again,
                a_volume_has_one_more_replica_while_one_of_the_most_is_replaced,
                invalid_documents_are_refused, any_message_becomes_valid_text)
