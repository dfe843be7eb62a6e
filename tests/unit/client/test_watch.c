#include "client/watch.h"

#include "common/clock.h"
#include "tests/lib/check_main.h"
#include "tests/lib/script_server.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EVENT(type, name, version)                                      \
    "{\"type\":\"" type "\",\"object\":{\"metadata\":{\"name\":\"" name \
    "\",\"resourceVersion\":\"" version "\"}}}\n"

struct scene {
    struct script_server *server;
    struct arena *arena;
    struct client client;
    struct error err;
    int64_t version, until_us;
    char events[512]; /* "ADDED a;…" */
    unsigned most;    /* after so many it is enough; 0: never */
    unsigned count;
    bool fails;
};

static struct scene *scene_new(int64_t version) {
    struct scene *scene = calloc(1, sizeof(*scene));

    scene->server = script_server_new();
    scene->arena = arena_new();
    scene->client =
        (struct client){ .name = "the API",
                         .service = "volume",
                         .url = arena_text(scene->arena, script_server_url(scene->server)),
                         .timeout_ms = 5000,
                         .repeats = 3 };
    scene->version = version;
    return scene;
}

static void scene_end(struct scene *scene) {
    script_server_free(scene->server);
    arena_free(scene->arena);
    free(scene);
}

static int note_event(void *arg, const char *type, const json_t *object, struct error *err) {
    struct scene *scene = arg;
    const char *name =
        json_string_value(json_object_get(json_object_get(object, "metadata"), "name"));

    sprintf(scene->events + strlen(scene->events), "%s %s;", type, name);
    if (scene->fails)
        return error_set(err, ERROR_CONFLICT, "not this one");
    return ++scene->count == scene->most;
}

static int watch(struct scene *scene) {
    return client_watch(&scene->client, scene->arena, "/things?node=a", &scene->version, note_event,
                        scene, &scene->until_us, &scene->err);
}

static void answer(struct scene *scene, enum script_manner manner, int status, const char *body) {
    script_server_add(
        scene->server,
        &(struct script_rule){ .status = status, .body = body, .manner = manner, .times = 1 });
}

START_TEST(changes_are_reported_and_the_version_follows) {
    struct scene *scene = scene_new(4);

    answer(scene, SCRIPT_WHOLE, 200,
           EVENT("ADDED", "a", "5") EVENT("MODIFIED", "a", "7") "\n" EVENT("DELETED", "b", "9"));
    ck_assert_int_eq(watch(scene), 0);
    ck_assert_str_eq(scene->events, "ADDED a;MODIFIED a;DELETED b;");
    ck_assert_int_eq(scene->version, 9);
    ck_assert_uint_eq(
        script_server_count(scene->server, "GET", "/things?node=a&watch=true&resourceVersion=4"),
        1);
    scene_end(scene);
}
END_TEST

START_TEST(an_interrupted_initial_list_is_restarted) {
    struct scene *scene = scene_new(WATCH_FROM_THE_BEGINNING);

    answer(scene, SCRIPT_WHOLE, 200, EVENT("ADDED", "a", "5") EVENT("ADDED", "b", "2"));
    ck_assert_int_eq(watch(scene), 0);
    ck_assert_int_eq(scene->version, WATCH_FROM_THE_BEGINNING);
    answer(scene, SCRIPT_WHOLE, 200, EVENT("ADDED", "a", "5") EVENT("BOOKMARK", "-", "6"));
    ck_assert_int_eq(watch(scene), 0);
    ck_assert_int_eq(scene->version, 6);
    ck_assert_uint_eq(script_server_count(scene->server, "GET", "/things?node=a&watch=true"), 2);
    scene_end(scene);
}
END_TEST

START_TEST(events_before_a_lost_connection_are_not_requested_again) {
    struct scene *scene = scene_new(4);

    answer(scene, SCRIPT_HALF, 200, EVENT("ADDED", "a", "5") EVENT("ADDED", "b", "6"));
    ck_assert_int_eq(watch(scene), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
    ck_assert_str_eq(scene->events, "ADDED a;");
    ck_assert_int_eq(scene->version, 5);
    ck_assert_uint_eq(script_server_count(scene->server, NULL, NULL), 1);
    scene_end(scene);
}
END_TEST

START_TEST(an_expired_version_is_reported) {
    struct scene *scene = scene_new(4);

    answer(scene, SCRIPT_WHOLE, 410, "{\"gone\": {\"code\": 410, \"message\": \"list anew\"}}");
    ck_assert_int_eq(watch(scene), 1);
    answer(scene, SCRIPT_WHOLE, 403, "{\"forbidden\": {\"code\": 403, \"message\": \"no\"}}");
    ck_assert_int_eq(watch(scene), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_FORBIDDEN);
    ck_assert_int_eq(scene->version, 4);
    scene_end(scene);
}
END_TEST

START_TEST(a_watch_ends_when_its_callback_stops_or_fails) {
    struct scene *scene = scene_new(4);

    scene->most = 1;
    answer(scene, SCRIPT_WHOLE, 200, EVENT("ADDED", "a", "5") EVENT("ADDED", "b", "6"));
    ck_assert_int_eq(watch(scene), 0);
    ck_assert_str_eq(scene->events, "ADDED a;");
    ck_assert_int_eq(scene->version, 5);
    scene->fails = true;
    answer(scene, SCRIPT_WHOLE, 200, EVENT("ADDED", "b", "6") EVENT("ADDED", "c", "7"));
    ck_assert_int_eq(watch(scene), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_CONFLICT);
    ck_assert_int_eq(scene->version, 5);
    scene_end(scene);
}
END_TEST

START_TEST(an_invalid_response_is_a_failure) {
    static const char *const bodies[] = {
        "<html>\n",
        "[]\n",
        "{\"type\": \"ADDED\"}\n",
        "{\"type\": \"ADDED\", \"object\": {\"metadata\": {}}}\n",
        "{\"type\": 1, \"object\": {\"metadata\": {\"resourceVersion\": \"5\"}}}\n",
        "{\"type\": \"ADDED\", \"object\": {\"metadata\": {\"resourceVersion\": \"x\"}}}\n",
    };

    for (size_t i = 0; i < LENGTH(bodies); i++) {
        struct scene *scene = scene_new(4);

        answer(scene, SCRIPT_WHOLE, 200, bodies[i]);
        ck_assert_msg(watch(scene) == -1, "%s", bodies[i]);
        ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
        ck_assert_int_eq(scene->version, 4);
        scene_end(scene);
    }
}
END_TEST

START_TEST(a_line_without_an_end_is_bounded) {
    const size_t size = (size_t)5 * 1024 * 1024;
    struct scene *scene = scene_new(4);
    char *line = malloc(size + 1);

    memset(line, 'x', size);
    line[size] = '\0';
    answer(scene, SCRIPT_WHOLE, 200, line);
    ck_assert_int_eq(watch(scene), -1);
    ck_assert_ptr_nonnull(strstr(scene->err.message, "a line of the answer is larger than"));
    free(line);
    scene_end(scene);
}
END_TEST

START_TEST(a_watch_ends_with_its_timeout) {
    struct scene *scene = scene_new(4);

    scene->until_us = clock_monotonic_us() + 100000;
    answer(scene, SCRIPT_SILENT, 200, NULL);
    ck_assert_int_eq(watch(scene), 0);
    ck_assert_int_eq(scene->version, 4);
    scene_end(scene);
}
END_TEST

CHECK_MAIN("client/watch", changes_are_reported_and_the_version_follows,
           an_interrupted_initial_list_is_restarted,
           events_before_a_lost_connection_are_not_requested_again, an_expired_version_is_reported,
           a_watch_ends_when_its_callback_stops_or_fails, an_invalid_response_is_a_failure,
           a_line_without_an_end_is_bounded, a_watch_ends_with_its_timeout)
