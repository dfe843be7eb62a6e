/*
 * Calls that end in another way than by their answer: deadlines, clients that go, a server that
 * goes.
 */
#include "tests/unit/grpc/service.h"

static struct wire_answer *request_with_timeout(struct scene *scene, int32_t stream,
                                                const char *path, const char *timeout) {
    const char *const more[] = { "grpc-timeout", timeout, NULL };

    wire_begin(scene->wire, stream, path, more);
    wire_message(scene->wire, stream, "", 0);
    return wire_await(scene->wire, stream);
}

/* ---- deadlines ---- */

START_TEST(a_deadline_ends_the_call_and_notifies_its_handler) {
    struct scene *scene = SCENE(.workers = 1);
    autofree struct wire_answer *answer = request_with_timeout(scene, 1, GET, "50m"), *next = NULL;

    assert_status(answer, "4", "deadline");
    scene_await(scene, &scene->over, 1);
    next = scene_request(scene, 3, PROBE, "", 0);
    assert_status(next, "0", "");
    scene_end(scene);
}
END_TEST

START_TEST(a_call_whose_deadline_passes_in_the_queue_never_begins) {
    struct scene *scene = SCENE(.workers = 1);
    autofree struct wire_answer *late = NULL, *first = NULL;

    wire_call(scene->wire, 1, GET, "", 0);
    scene_await(scene, &scene->entered, 1);
    late = request_with_timeout(scene, 3, GET, "20m");
    assert_status(late, "4", "deadline");
    scene_open(scene);
    first = wire_await(scene->wire, 1);
    assert_status(first, "0", "");
    assert_alive(scene); /* behind it in the queue */
    ck_assert_uint_eq(scene_count(scene, &scene->entered), 1);
    scene_end(scene);
}
END_TEST

START_TEST(a_quick_method_waits_for_no_other) {
    struct scene *scene = SCENE(.workers = 1);
    autofree struct wire_answer *quick = NULL, *first = NULL;

    wire_call(scene->wire, 1, GET, "", 0);
    scene_await(scene, &scene->entered, 1);
    quick = scene_request(scene, 3, INFO, "", 0);
    assert_status(quick, "0", "");
    ck_assert_uint_eq(scene_count(scene, &scene->left), 0);
    scene_open(scene);
    first = wire_await(scene->wire, 1);
    assert_status(first, "0", "");
    scene_end(scene);
}
END_TEST

START_TEST(a_method_with_threads_of_its_own_waits_for_no_other) {
    struct scene *scene = SCENE(.workers = 1);
    autofree struct wire_answer *ahead = NULL, *first = NULL;

    wire_call(scene->wire, 1, GET, "", 0);
    wire_call(scene->wire, 3, GET, "", 0);
    scene_await(scene, &scene->entered, 1);
    ahead = scene_request(scene, 5, DELETE,
                          "\n\1"
                          "5",
                          3);
    assert_status(ahead, "5", "");
    ck_assert_uint_eq(scene_count(scene, &scene->left), 0);
    scene_open(scene);
    first = wire_await(scene->wire, 1);
    assert_status(first, "0", "");
    scene_end(scene);
}
END_TEST

START_TEST(a_deadline_has_a_number_and_a_unit) {
    static const char *const wrong[] = { "abc", "S", "1", "1x", "1SS", "-1S", "123456789S", "1 S" };
    static const char *const right[] = { "99999999H", "1M", "60S", "60000m", "99999999u" };
    struct scene *scene = SCENE(.workers = 1);
    int32_t stream = 1;

    for (size_t i = 0; i < LENGTH(wrong); i++, stream += 2) {
        autofree struct wire_answer *answer = request_with_timeout(scene, stream, PROBE, wrong[i]);

        assert_status(answer, "13", "grpc-timeout");
    }
    for (size_t i = 0; i < LENGTH(right); i++, stream += 2) {
        autofree struct wire_answer *answer = request_with_timeout(scene, stream, PROBE, right[i]);

        assert_status(answer, "0", "");
    }
    free(request_with_timeout(scene, stream, GET, "999n"));
    ck_assert_uint_eq(scene_count(scene, &scene->entered), 0);
    scene_end(scene);
}
END_TEST

/* ---- clients that go ---- */

START_TEST(a_handler_is_notified_of_an_abandoned_call) {
    const uint8_t code[] = { 0, 0, 0, NGHTTP2_CANCEL };
    struct scene *scene = SCENE(.workers = 1);
    autofree struct wire_answer *next = NULL;

    wire_call(scene->wire, 1, GET, "", 0);
    scene_await(scene, &scene->entered, 1);
    wire_send(scene->wire, NGHTTP2_RST_STREAM, 0, 1, code, sizeof(code));
    scene_await(scene, &scene->over, 1);
    next = scene_request(scene, 3, PROBE, "", 0);
    assert_status(next, "0", "");
    scene_end(scene);
}
END_TEST

START_TEST(a_handler_is_notified_of_a_disconnected_client) {
    struct scene *scene = SCENE(.workers = 2);

    wire_call(scene->wire, 1, GET, "", 0);
    wire_call(scene->wire, 3, GET, "", 0);
    wire_call(scene->wire, 5, GET, "", 0);
    scene_await(scene, &scene->entered, 2);
    wire_close(scene->wire);
    scene->wire = NULL;
    scene_await(scene, &scene->over, 2);
    assert_alive(scene);
    ck_assert_uint_eq(scene_count(scene, &scene->entered), 2); /* the third never began */
    scene_end(scene);
}
END_TEST

/* ---- a server that goes ---- */

struct end {
    struct scene *scene;
    int64_t grace_ms;
    pthread_t thread;
};

static void *stop(void *arg) {
    struct end *end = arg;

    grpc_server_stop(end->scene->server, end->grace_ms);
    return NULL;
}

/* Begins to end, and is back when the client has been notified. */
static void begin_end(struct end *end) {
    autofree struct wire_answer *reply = NULL;

    ck_assert_int_eq(pthread_create(&end->thread, NULL, stop, end), 0);
    reply = wire_await(end->scene->wire, 0);
    ck_assert_uint_eq(reply->away, NGHTTP2_NO_ERROR + 1);
    ck_assert_int_lt(wire_connect(end->scene->path), 0);
}

static void finish_end(struct end *end) {
    ck_assert_int_eq(pthread_join(end->thread, NULL), 0);
    end->scene->server = NULL;
}

START_TEST(calls_that_run_at_shutdown_are_answered) {
    struct scene *scene = SCENE(.workers = 1);
    struct end end = { .scene = scene, .grace_ms = WIRE_TIMEOUT_S * 1000 };
    autofree struct wire_answer *first = NULL, *queued = NULL, *late = NULL;

    wire_call(scene->wire, 1, GET, "", 0);
    wire_call(scene->wire, 3, PROBE, "", 0);
    scene_await(scene, &scene->entered, 1);
    begin_end(&end);
    wire_call(scene->wire, 5, PROBE, "", 0);
    scene_open(scene);
    first = wire_await(scene->wire, 1);
    queued = wire_await(scene->wire, 3);
    assert_status(first, "0", "");
    assert_status(queued, "0", "");
    late = wire_await(scene->wire, 5);
    ck_assert(late->gone);
    finish_end(&end);
    scene_end(scene);
}
END_TEST

START_TEST(calls_beyond_the_shutdown_timeout_are_cut) {
    struct scene *scene = SCENE(.workers = 1);
    struct end end = { .scene = scene, .grace_ms = 20 };
    autofree struct wire_answer *first = NULL;

    wire_call(scene->wire, 1, GET, "", 0);
    wire_call(scene->wire, 3, GET, "", 0);
    wire_begin(scene->wire, 5, PROBE, NULL);
    scene_await(scene, &scene->entered, 1);
    begin_end(&end);
    first = wire_await(scene->wire, 1);
    assert_status(first, "14", "ends");
    finish_end(&end);
    ck_assert_uint_eq(scene_count(scene, &scene->over), 1);
    ck_assert_uint_eq(scene_count(scene, &scene->entered), 1);
    scene_end(scene);
}
END_TEST

START_TEST(idle_clients_do_not_delay_a_shutdown) {
    struct scene *scene = SCENE(.workers = 1);
    struct end end = { .scene = scene, .grace_ms = WIRE_TIMEOUT_S * 10000 };

    assert_alive(scene);
    begin_end(&end);
    finish_end(&end);
    scene_end(scene);
}
END_TEST

CHECK_MAIN("grpc calls", a_deadline_ends_the_call_and_notifies_its_handler,
           a_call_whose_deadline_passes_in_the_queue_never_begins,
           a_quick_method_waits_for_no_other, a_method_with_threads_of_its_own_waits_for_no_other,
           a_deadline_has_a_number_and_a_unit, a_handler_is_notified_of_an_abandoned_call,
           a_handler_is_notified_of_a_disconnected_client, calls_that_run_at_shutdown_are_answered,
           calls_beyond_the_shutdown_timeout_are_cut, idle_clients_do_not_delay_a_shutdown)
