#include "common/error.h"

#include "common/utf8.h"
#include "tests/lib/check_main.h"

#include <errno.h>
#include <string.h>
#include <wchar.h>

START_TEST(set_fills_kind_and_message_and_refuses) {
    struct error err = { 0 };

    ck_assert_int_eq(error_set(&err, ERROR_CONFLICT, "volume %s is %d GB", "v1", 8), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert_str_eq(err.message, "volume v1 is 8 GB");
}
END_TEST

START_TEST(an_empty_result_is_refused_and_a_failure_stays_the_same) {
    struct error err = { ERROR_BACKEND, "as it was" };

    ck_assert_int_eq(error_if_none(2, &err, ERROR_NOT_FOUND, "no volume %s", "v1"), 0);
    ck_assert_int_eq(error_if_none(-1, &err, ERROR_NOT_FOUND, "no volume %s", "v1"), -1);
    ck_assert_int_eq(err.kind, ERROR_BACKEND);
    ck_assert_str_eq(err.message, "as it was");
    ck_assert_int_eq(error_if_none(0, &err, ERROR_NOT_FOUND, "no volume %s", "v1"), -1);
    ck_assert_int_eq(err.kind, ERROR_NOT_FOUND);
    ck_assert_str_eq(err.message, "no volume v1");
}
END_TEST

START_TEST(a_result_is_refused_and_none_and_a_failure_stay_the_same) {
    struct error err = { ERROR_BACKEND, "as it was" };

    ck_assert_int_eq(error_if_any(0, &err, ERROR_CONFLICT, "volume %s exists", "v1"), 0);
    ck_assert_int_eq(error_if_any(-1, &err, ERROR_CONFLICT, "volume %s exists", "v1"), -1);
    ck_assert_int_eq(err.kind, ERROR_BACKEND);
    ck_assert_str_eq(err.message, "as it was");
    ck_assert_int_eq(error_if_any(2, &err, ERROR_CONFLICT, "volume %s exists", "v1"), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert_str_eq(err.message, "volume v1 exists");
}
END_TEST

START_TEST(an_error_without_a_destination_is_dropped) {
    ck_assert_int_eq(error_set(NULL, ERROR_CONFLICT, "x"), -1);
    ck_assert_int_eq(error_errno(NULL, ERROR_CONFLICT, "x"), -1);
    ck_assert_int_eq(error_context(NULL, "x"), -1);
}
END_TEST

START_TEST(a_separate_error_is_passed_on) {
    const struct error failure = { ERROR_CONFLICT, "as found" };
    struct error err = { 0 };

    ck_assert_int_eq(error_pass(&err, &failure), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert_str_eq(err.message, "as found");
    ck_assert_int_eq(error_pass(NULL, &failure), -1);
}
END_TEST

START_TEST(errno_stands_behind_the_message_and_survives) {
    struct error err = { 0 };

    errno = ENOENT;
    ck_assert_int_eq(error_errno(&err, ERROR_BACKEND, "opening %s", "/x"), -1);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_int_eq(err.kind, ERROR_BACKEND);
    ck_assert_str_eq(err.message, "opening /x: No such file or directory");
}
END_TEST

START_TEST(context_stands_in_front_and_keeps_the_kind) {
    struct error err = { 0 };

    error_set(&err, ERROR_BACKEND, "no room");
    ck_assert_int_eq(error_context(&err, "growing %s", "v1"), -1);
    ck_assert_int_eq(error_context(&err, "extend"), -1);
    ck_assert_int_eq(err.kind, ERROR_BACKEND);
    ck_assert_str_eq(err.message, "extend: growing v1: no room");
}
END_TEST

START_TEST(a_message_may_be_made_of_itself) {
    struct error err = { 0 };

    error_set(&err, ERROR_BACKEND, "inner");
    error_set(&err, ERROR_INTERNAL, "outer (%s) and (%s)", err.message, err.message);
    ck_assert_str_eq(err.message, "outer (inner) and (inner)");
    error_context(&err, "<%s>", err.message);
    ck_assert_str_eq(err.message, "<outer (inner) and (inner)>: outer (inner) and (inner)");
    errno = EIO;
    error_errno(&err, ERROR_BACKEND, "%.5s", err.message + 1);
    ck_assert_str_eq(err.message, "outer: Input/output error");
}
END_TEST

START_TEST(long_messages_end_at_a_character) {
    struct error err = { 0 };
    char text[1200];

    for (size_t shift = 0; shift < 4; shift++) {
        memset(text, 'x', shift);
        for (size_t i = shift; i + 4 < sizeof(text); i += 4)
            memcpy(text + i, "\xf0\x9f\x98\x80", 5);
        error_set(&err, ERROR_BACKEND, "%s", text);
        ck_assert_uint_gt(strlen(err.message), sizeof(err.message) - 5);
        ck_assert(utf8_valid(err.message, strlen(err.message)));
        ck_assert(strncmp(err.message, text, strlen(err.message)) == 0);

        error_context(&err, "%s", text);
        ck_assert(utf8_valid(err.message, strlen(err.message)));
        ck_assert_uint_gt(strlen(err.message), sizeof(err.message) - 5);
    }
}
END_TEST

START_TEST(a_long_context_is_cut_and_the_kind_stays) {
    struct error err = { 0 };
    char text[600];

    memset(text, 'c', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    error_set(&err, ERROR_NOT_FOUND, "why");
    error_context(&err, "%s", text);
    ck_assert_int_eq(err.kind, ERROR_NOT_FOUND);
    ck_assert_uint_eq(strlen(err.message), sizeof(err.message) - 1);
}
END_TEST

START_TEST(a_message_is_utf8_whatever_it_is_made_of) {
    struct error err = { 0 };

    error_set(&err, ERROR_BACKEND, "tool said \xff\xc3 \xe2\x82\xac \xe2\x82");
    ck_assert_str_eq(err.message, "tool said ?? \xe2\x82\xac ??");
}
END_TEST

START_TEST(an_error_that_cannot_be_formatted_still_refuses) {
    struct error err = { 0 };

    ck_assert_int_eq(error_set(&err, ERROR_BACKEND, "%ls", L"\x20ac"), -1);
    ck_assert_int_eq(err.kind, ERROR_BACKEND);
    ck_assert_str_eq(err.message, "");
}
END_TEST

START_TEST(kinds_have_the_statuses_and_names_of_the_api) {
    static const struct {
        enum error_kind kind;
        int status;
        const char *fault;
    } rows[] = {
        { ERROR_NONE, 500, "computeFault" },
        { ERROR_BAD_REQUEST, 400, "badRequest" },
        { ERROR_UNAUTHORIZED, 401, "unauthorized" },
        { ERROR_FORBIDDEN, 403, "forbidden" },
        { ERROR_NOT_FOUND, 404, "itemNotFound" },
        { ERROR_CONFLICT, 409, "conflictingRequest" },
        { ERROR_OVER_QUOTA, 413, "overLimit" },
        { ERROR_BAD_MEDIA_TYPE, 415, "badMediaType" },
        { ERROR_INTERNAL, 500, "computeFault" },
        { ERROR_BACKEND, 500, "computeFault" },
        { ERROR_UNAVAILABLE, 503, "serviceUnavailable" },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        ck_assert_int_eq(error_http_status(rows[i].kind), rows[i].status);
        ck_assert_str_eq(error_fault(rows[i].kind), rows[i].fault);
    }
    for (enum error_kind kind = ERROR_NONE; kind < ERROR_KINDS; kind++) {
        ck_assert_int_ge(error_http_status(kind), 400);
        ck_assert_ptr_nonnull(error_fault(kind));
    }
}
END_TEST

CHECK_MAIN("error", set_fills_kind_and_message_and_refuses,
           an_empty_result_is_refused_and_a_failure_stays_the_same,
           a_result_is_refused_and_none_and_a_failure_stay_the_same, a_separate_error_is_passed_on,
           an_error_without_a_destination_is_dropped, errno_stands_behind_the_message_and_survives,
           context_stands_in_front_and_keeps_the_kind, a_message_may_be_made_of_itself,
           long_messages_end_at_a_character, a_long_context_is_cut_and_the_kind_stays,
           a_message_is_utf8_whatever_it_is_made_of,
           an_error_that_cannot_be_formatted_still_refuses,
           kinds_have_the_statuses_and_names_of_the_api)
