#include "tests/lib/reasons.h"
#include "tests/unit/grpc/service.h"

#include <sys/socket.h>
#include <sys/un.h>

/* ---- answers ---- */

START_TEST(a_call_is_answered) {
    struct scene *scene = SCENE(.workers = 2);
    autofree struct wire_answer *answer = scene_request(scene, 1, PROBE, "", 0);
    const uint8_t ready[] = { 0, 0, 0, 0, 4, 0x0a, 2, 8, 1 };

    assert_status(answer, "0", "");
    ck_assert_uint_eq(answer->size, sizeof(ready));
    ck_assert_mem_eq(answer->body, ready, sizeof(ready));
    ck_assert_int_eq(strncmp(answer->request_id, "req-", 4), 0);
    scene_end(scene);
}
END_TEST

START_TEST(a_handler_sees_the_user_of_the_client) {
    struct scene *scene = SCENE(.workers = 2);
    autofree struct wire_answer *answer = scene_request(scene, 1, INFO, "", 0);
    char wanted[128];

    assert_status(answer, "0", "");
    snprintf(wanted, sizeof(wanted), "%u %u %d %s", getuid(), getgid(), getpid(), INFO);
    ck_assert_ptr_nonnull(memmem(answer->body, answer->size, wanted, strlen(wanted)));
    ck_assert_ptr_nonnull(
        memmem(answer->body, answer->size, answer->request_id, strlen(answer->request_id)));
    scene_end(scene);
}
END_TEST

START_TEST(log_lines_of_a_handler_have_the_request_id) {
    struct scene *scene = SCENE(.workers = 2);
    autofree struct wire_answer *answer = NULL;
    char wanted[128];

    begin_log("GRPC_LOG");
    answer = scene_request(scene, 1, INFO, "", 0);
    snprintf(wanted, sizeof(wanted), "a call begins request_id=%s\n", answer->request_id);
    ck_assert(was_logged(wanted));
    scene_end(scene);
}
END_TEST

START_TEST(a_response_of_many_frames_arrives_whole) {
    struct scene *scene = SCENE(.workers = 2);
    const uint8_t increment[] = { 0, 15, 0, 0 };
    const uint8_t request[] = { 8, 0xc0, 0x84, 0x3d }; /* max_entries: 1 000 000 */
    autofree struct wire_answer *answer = NULL;

    wire_begin(scene->wire, 1, LIST, NULL);
    wire_send(scene->wire, NGHTTP2_WINDOW_UPDATE, 0, 0, increment, sizeof(increment));
    wire_send(scene->wire, NGHTTP2_WINDOW_UPDATE, 0, 1, increment, sizeof(increment));
    wire_message(scene->wire, 1, request, sizeof(request));
    answer = wire_await(scene->wire, 1);
    assert_status(answer, "0", "");
    ck_assert_uint_eq(answer->size, 5 + 4 + 1000000);
    scene_end(scene);
}
END_TEST

START_TEST(a_response_that_is_not_read_to_its_end_is_reset) {
    struct scene *scene = SCENE(.workers = 2);
    const uint8_t request[] = { 8, 0x80, 0xda, 0xc4, 0x09 }; /* max_entries: 20 000 000 */
    autofree struct wire_answer *answer = scene_request(scene, 1, LIST, request, sizeof(request));

    assert_status(answer, "8", "ask for less at once");
    scene_end(scene);
}
END_TEST

/* clang-format off */
static const struct failure {
    const char *how, *status, *message;
} failures[] = {
    { "6", "6", "100%25 %C3%A4%0A 6" },
    { "11", "11", "11" },
    { "16", "16", "16" },
};
/* clang-format on */

START_TEST(a_handler_sets_the_status_of_its_call) {
    struct scene *scene = SCENE(.workers = 2);

    for (size_t i = 0; i < LENGTH(failures); i++) {
        const char *how = failures[i].how;
        char message[16];
        size_t size = (size_t)sprintf(message, "\x0a%c%s", (int)strlen(how), how);
        autofree struct wire_answer *answer =
            scene_request(scene, 1 + 2 * (int)i, DELETE, message, size);

        assert_status(answer, failures[i].status, failures[i].message);
    }
    scene_end(scene);
}
END_TEST

/* ---- requests that are none ---- */

#define TEXT(text) text, sizeof(text) - 1

/* clang-format off */
static const struct refusal {
    const char *path, *frame; /* as it is in DATA */
    size_t size;
    const char *status, *message;
} refusals[] = {
    { "/csi.v1.Identity/Nothing", TEXT("\0\0\0\0\0"), "12", "unknown method" },
    { "/", TEXT("\0\0\0\0\0"), "12", "unknown method" },
    { "/csi.v1.Controller/CreateVolume", TEXT("\0\0\0\0\0"), "12", "not offered" },
    { PROBE, TEXT("\1\0\0\0\0"), "12", "compressed" },
    { PROBE, TEXT("\2\0\0\0\0"), "13", "prefix" },
    { PROBE, TEXT(""), "13", "no message" },
    { PROBE, TEXT("\0\0\0\0"), "13", "not whole" },
    { PROBE, TEXT("\0\0\0\0\2\x08"), "13", "not whole" },
    { PROBE, TEXT("\0\0\0\0\0x"), "13", "more behind" },
    { PROBE, TEXT("\0\0\0\0\0\0\0\0\0\0"), "13", "more behind" },
    { PROBE, TEXT("\0\0\4\0\1"), "8", "too large" },
    { PROBE, TEXT("\0\xff\xff\xff\xff"), "8", "too large" },
    { DELETE, TEXT("\0\0\0\0\1\xff"), "3", "malformed request message" },
    { DELETE, TEXT("\0\0\0\0\2\x0a\5"), "3", "malformed request message" },
    { DELETE, TEXT("\0\0\0\0\4\x0a\2\xc3\x28"), "3", "volume_id: the text is not UTF-8" },
    { DELETE, TEXT("\0\0\0\0\5\x0a\3""a\0b"), "3", "volume_id: the text has a zero byte" },
    { DELETE, TEXT("\0\0\0\0\5\x12\3\x0a\1\xff"), "3", "key: the text is not UTF-8" },
    { DELETE, TEXT("\0\0\0\0\5\x12\3\x12\1\0"), "3", "value: the text has a zero byte" },
};
/* clang-format on */

START_TEST(a_malformed_request_is_refused) {
    struct scene *scene = SCENE(.workers = 2);
    for (size_t i = 0; i < LENGTH(refusals); i++) {
        const struct refusal *refusal = &refusals[i];
        int32_t stream = 1 + 4 * (int32_t)i;
        autofree struct wire_answer *answer = NULL, *next = NULL;

        wire_begin(scene->wire, stream, refusal->path, NULL);
        wire_send(scene->wire, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, stream, refusal->frame,
                  refusal->size);
        answer = wire_await(scene->wire, stream);
        assert_status(answer, refusal->status, refusal->message);
        next = scene_request(scene, stream + 2, PROBE, "", 0);
        assert_status(next, "0", "");
    }
    scene_end(scene);
}
END_TEST

START_TEST(a_message_may_come_in_pieces) {
    struct scene *scene = SCENE(.workers = 2);
    static const char bytes[] = "\0\0\0\0\4\x0a\2-4";
    autofree struct wire_answer *answer = NULL;

    wire_begin(scene->wire, 1, DELETE, NULL);
    for (size_t i = 0; i < sizeof(bytes) - 1; i++)
        wire_send(scene->wire, NGHTTP2_DATA, 0, 1, bytes + i, 1);
    wire_send(scene->wire, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, "", 0);
    answer = wire_await(scene->wire, 1);
    assert_status(answer, "5", "kind 4");
    scene_end(scene);
}
END_TEST

/* clang-format off */
static const struct other_head {
    const char *method, *type, *http_status;
} other_heads[] = {
    { "POST", "application/json", "415" },
    { "POST", "application/grpcx", "415" },
    { "POST", "application/grpc+json", "415" },
    { "GET", "application/grpc", "405" },
};
/* clang-format on */

START_TEST(a_request_without_a_call_is_answered_as_http) {
    struct scene *scene = SCENE(.workers = 2);
    for (size_t i = 0; i < LENGTH(other_heads); i++) {
        const struct other_head *head = &other_heads[i];
        const char *texts[] = { ":method",      head->method, ":scheme", "http",
                                ":authority",   "l",          ":path",   PROBE,
                                "content-type", head->type,   NULL };
        int32_t stream = 1 + 2 * (int32_t)i;
        autofree struct wire_answer *answer = NULL;

        wire_headers(scene->wire, NGHTTP2_FLAG_END_STREAM, stream, texts);
        answer = wire_await(scene->wire, stream);
        ck_assert_str_eq(answer->http_status, head->http_status);
        ck_assert_str_eq(answer->status, "");
    }
    scene_end(scene);
}
END_TEST

START_TEST(headers_above_the_limit_are_refused) {
    struct scene *scene = SCENE(.workers = 2);
    char value[4096];
    const char *more[] = { "a", value, "b", value, "c", value, "d", value, NULL };
    autofree struct wire_answer *answer = NULL;

    memset(value, 'v', sizeof(value));
    value[sizeof(value) - 1] = '\0';
    wire_begin(scene->wire, 1, PROBE, more);
    wire_message(scene->wire, 1, "", 0);
    answer = wire_await(scene->wire, 1);
    assert_status(answer, "8", "headers");
    assert_alive(scene);
    scene_end(scene);
}
END_TEST

/* ---- where it listens ---- */

START_TEST(a_path_is_one_servers) {
    struct scene *scene = SCENE(.workers = 1);
    struct grpc_server *first = scene->server;
    struct error err = { .kind = ERROR_NONE };

    ck_assert_int_eq(scene_listen(scene, (struct grpc_server_settings){ 0 }, &err), -1);
    ck_assert_msg(strstr(err.message, "another process listens there"), "%s", err.message);
    ck_assert_ptr_eq(scene->server, first);
    assert_alive(scene);
    scene_end(scene);
}
END_TEST

START_TEST(a_stale_socket_is_replaced) {
    struct scene *scene = scene_new();
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    autoclose int dead = socket(AF_UNIX, SOCK_STREAM, 0);
    struct error err = { .kind = ERROR_NONE };

    strcpy(address.sun_path, scene->path);
    ck_assert_int_eq(bind(dead, (const struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(
        scene_listen(scene, (struct grpc_server_settings){ .endpoint = scene->path }, &err), 0);
    assert_alive(scene);
    scene_end(scene);
}
END_TEST

START_TEST(an_endpoint_is_an_absolute_path) {
    static const char *const wrong[] = { "unix:relative.sock", "unix://relative.sock",
                                         "unix-abstract:name", "tcp://127.0.0.1:1", "" };
    struct scene *scene = scene_new();

    for (size_t i = 0; i < LENGTH(wrong); i++) {
        struct error err = { .kind = ERROR_NONE };

        ck_assert_int_eq(
            scene_listen(scene, (struct grpc_server_settings){ .endpoint = wrong[i] }, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    }
    scene_end(scene);
}
END_TEST

CHECK_MAIN("grpc server", a_call_is_answered, a_handler_sees_the_user_of_the_client,
           log_lines_of_a_handler_have_the_request_id, a_response_of_many_frames_arrives_whole,
           a_response_that_is_not_read_to_its_end_is_reset, a_handler_sets_the_status_of_its_call,
           a_malformed_request_is_refused, a_message_may_come_in_pieces,
           a_request_without_a_call_is_answered_as_http, headers_above_the_limit_are_refused,
           a_path_is_one_servers, a_stale_socket_is_replaced, an_endpoint_is_an_absolute_path)
