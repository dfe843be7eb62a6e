#include "operation/message.h"

#include "operation/operation.h"
#include "tests/lib/work_test.h"

#define VOLUME "aaaaaaaa-0000-4000-8000-000000000001"

static struct message put(struct work *work, const char *project, const char *action,
                          const char *detail) {
    struct query newest = { .where = "1=1",
                            .order = postgresql_given() ? "m.ctid DESC" : "m.rowid DESC",
                            .limit = 1 };
    struct message *messages;
    struct error err = { 0 };

    ck_assert_msg(message_put(work, project, "req-1", VOLUME, action, detail, &err) == 0, "%s",
                  err.message);
    ck_assert_int_eq(message_list(work, &newest, &messages, &err), 1);
    return messages[0];
}

WORK_TEST(a_message_is_read_back_as_it_was_put) {
    struct message made = put(work, PROJECT, "007", "010"), read;

    OK(message_get(work, made.id, &read, err));
    ck_assert_str_eq(read.project_id, PROJECT);
    ck_assert_str_eq(read.request_id, "req-1");
    ck_assert_str_eq(read.resource_type, "VOLUME");
    ck_assert_str_eq(read.resource_uuid, VOLUME);
    ck_assert_str_eq(read.action_id, "007");
    ck_assert_str_eq(read.detail_id, "010");
    ck_assert_str_eq(read.level, "ERROR");
    ck_assert_int_eq(read.created_at, NOW_US);
    ck_assert_int_eq(read.expires_at, NOW_US + INT64_C(1000000000));
}

WORK_TEST(a_message_without_a_volume_names_no_resource) {
    struct query all = { .where = "1=1", .limit = -1 };
    struct message *messages;

    OK(message_put(work, PROJECT, "req-1", NULL, "001", "003", err));
    ck_assert_int_eq(message_list(work, &all, &messages, err), 1);
    ck_assert_ptr_null(messages[0].resource_type);
    ck_assert_ptr_null(messages[0].resource_uuid);
}

WORK_TEST(lack_of_space_is_the_reason_of_a_failure) {
    const struct {
        const char *text, *reason;
    } rows[] = {
        { "writing /srv/a/volume-1: No space left on device",
          "No space is left on the storage of the backend." },
        { "qemu-img: error while writing: Disk quota exceeded",
          "No space is left on the storage of the backend." },
        { "writing /srv/a/volume-1: Input/output error", NULL },
    };
    const struct operation_kind kind = { .message_action = "009" };
    const struct operation held = { .kind = &kind,
                                    .project_id = PROJECT,
                                    .request_id = "req-1",
                                    .volume_id = VOLUME,
                                    .object_id = "snapshot" };
    struct message *found;
    struct query all = { .where = "1=1", .order = "m.detail_id", .limit = -1 };
    struct error failure;
    char detail[8];

    for (unsigned i = 0; i < LENGTH(rows); i++) {
        error_set(&failure, ERROR_BACKEND, "%s", rows[i].text);
        snprintf(detail, sizeof(detail), "%03u", 2 * i);
        OK(message_put_failed(work, &held, detail, &failure, err));
        snprintf(detail, sizeof(detail), "%03u", 2 * i + 1);
        OK(message_put_failed_of(work, &held, "VOLUME_SNAPSHOT", detail, &failure, err));
    }
    ck_assert_int_eq(message_list(work, &all, &found, err), 2 * LENGTH(rows));
    for (unsigned i = 0; i < 2 * LENGTH(rows); i++) {
        ck_assert_str_eq(found[i].action_id, "009");
        ck_assert_str_eq(found[i].resource_uuid, i % 2 ? "snapshot" : VOLUME);
        ck_assert_str_eq(found[i].resource_type, i % 2 ? "VOLUME_SNAPSHOT" : "VOLUME");
        if (rows[i / 2].reason)
            ck_assert_str_eq(found[i].reason, rows[i / 2].reason);
        else
            ck_assert_ptr_null(found[i].reason);
    }
}

WORK_TEST(messages_of_other_projects_do_not_exist_for_a_user) {
    struct message others = put(work, OTHER, "001", "003"), read;

    REFUSED(message_get(work, others.id, &read, err), NOT_FOUND);
    REFUSED(message_delete(work, others.id, err), NOT_FOUND);
    ck_assert_int_eq(rows_of(work, "messages"), 1);
    context_of(work)->is_admin = true;
    OK(message_get(work, others.id, &read, err));
    OK(message_delete(work, others.id, err));
    REFUSED(message_delete(work, others.id, err), NOT_FOUND);
}

WORK_TEST(of_a_projects_messages_the_newest_are_kept) {
    struct message first, message;

    settings_of(work)->per_project_messages = 3;
    first = put(work, PROJECT, "007", "010");
    put(work, OTHER, "007", "010");
    for (unsigned i = 0; i < 3; i++) {
        work->now_us += 1000000;
        message = put(work, PROJECT, "007", "010");
    }
    ck_assert_int_eq(rows_of(work, "messages"), 4);
    REFUSED(message_get(work, first.id, &message, err), NOT_FOUND);
    OK(message_get(work, message.id, &message, err));
}

WORK_TEST(a_list_is_filtered_ordered_and_cut) {
    struct query query = { .where = "m.action_id = $1",
                           .values = DB_VALUES(DB_TEXT("007")) + 1,
                           .value_count = 1,
                           .order = "m.detail_id DESC",
                           .limit = 1,
                           .offset = 1 };
    struct message *messages;

    put(work, PROJECT, "007", "009");
    put(work, PROJECT, "007", "010");
    put(work, PROJECT, "007", "001");
    put(work, PROJECT, "001", "003");
    ck_assert_int_eq(message_list(work, &query, &messages, err), 1);
    ck_assert_str_eq(messages[0].detail_id, "009");
    query.offset = 0;
    query.limit = -1;
    ck_assert_int_eq(message_list(work, &query, &messages, err), 3);
    ck_assert_str_eq(messages[2].detail_id, "001");
    query.limit = 0;
    ck_assert_int_eq(message_list(work, &query, &messages, err), 0);
}

WORK_TEST(an_expired_message_is_deleted) {
    put(work, PROJECT, "007", "010");
    work->clock_us += INT64_C(999999999);
    work->over_us = work->clock_us;
    ck_assert_int_eq(message_expire(work, err), 0);
    put(work, PROJECT, "001", "003");
    work->clock_us += 1;
    ck_assert_int_eq(message_expire(work, err), 0); /* not sure of the time */
    work->over_us = work->clock_us;
    ck_assert_int_eq(message_expire(work, err), 1);
    ck_assert_int_eq(sql_int(work, "SELECT COUNT(*) FROM messages WHERE action_id = '001'"), 1);
}

WORK_TEST(every_number_has_a_text) {
    char number[4];

    (void)work, (void)err;
    for (unsigned i = 1; i <= 16; i++) {
        snprintf(number, sizeof(number), "%03u", i);
        ck_assert_str_ne(message_action_text(number), "unknown action");
    }
    for (unsigned i = 2; i <= 30; i++) {
        snprintf(number, sizeof(number), "%03u", i);
        ck_assert_str_ne(message_detail_text(number), message_detail_text("001"));
    }
    ck_assert_str_eq(message_action_text("007"), "extend volume");
    ck_assert_str_eq(message_action_text("999"), "unknown action");
    ck_assert_str_eq(message_detail_text("999"), message_detail_text("001"));
}

WORK_TEST(a_failing_database_is_reported) {
    if (postgresql_given())
        return; /* there a failed statement ends the transaction */
    struct query all = { .where = "1=1", .limit = -1 };
    struct message message, *messages;

    FAILS_WITHOUT("messages", message_put(work, PROJECT, "r", VOLUME, "001", "003", err));
    FAILS_WITHOUT("messages", message_get(work, VOLUME, &message, err));
    FAILS_WITHOUT("messages", message_list(work, &all, &messages, err));
    FAILS_READING("messages", message_list(work, &all, &messages, err));
    FAILS_WITHOUT("messages", message_delete(work, VOLUME, err));
    FAILS_WITHOUT("messages", message_expire(work, err));
}

CHECK_MAIN("message", a_message_is_read_back_as_it_was_put,
           a_message_without_a_volume_names_no_resource, lack_of_space_is_the_reason_of_a_failure,
           messages_of_other_projects_do_not_exist_for_a_user,
           of_a_projects_messages_the_newest_are_kept, a_list_is_filtered_ordered_and_cut,
           an_expired_message_is_deleted, every_number_has_a_text, a_failing_database_is_reported)
