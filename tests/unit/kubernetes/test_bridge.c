#include "kubernetes/bridge.h"

#include "common/clock.h"
#include "tests/lib/script_server.h"
#include "tests/unit/kubernetes/quoted.h"

#include <stdio.h>

#define CONFIGS "/apis/cstor.openebs.io/v1/cstorvolumeconfigs"
#define OBJECT  "/apis/cstor.openebs.io/v1/namespaces/s/cstorvolumeconfigs/"

struct scene {
    struct script_server *server;
    struct arena *arena;
    struct config *config;
    struct bridge *bridge;
};

static void answer(struct scene *scene, const char *path, enum script_manner manner, int status,
                   const char *text, unsigned times) {
    const struct script_rule rule = { .method = "GET",
                                      .path = path,
                                      .manner = manner,
                                      .status = status,
                                      .body = quoted(scene->arena, text),
                                      .times = times };

    script_server_add(scene->server, &rule);
}

static void scene_start(struct scene *scene) {
    static const struct option *const tables[] = { kubernetes_options, NULL };
    const char *const words[] = {
        arena_format(scene->arena, "--kubernetes.url=%s", script_server_url(scene->server)),
        "--kubernetes.token_file=/dev/null",
        NULL,
    };
    struct bridge_settings settings = { .volume_url = script_server_url(scene->server) };
    struct error err;

    ck_assert_msg(config_load(tables, NULL, words, &scene->config, &err) == 0, "%s", err.message);
    settings.config = scene->config;
    ck_assert_msg(bridge_start(&settings, &scene->bridge, &err) == 0, "%s", err.message);
}

static void scene_new(struct scene *scene) {
    *scene = (struct scene){ .server = script_server_new(), .arena = arena_new() };
}

static void scene_end(struct scene *scene) {
    bridge_stop(scene->bridge);
    config_free(scene->config);
    script_server_free(scene->server);
    arena_free(scene->arena);
}

#define NO(code, reason) "{'kind':'Status','code':" code ",'reason':'" reason "','message':'no'}"
#define LIST \
    "{'metadata':{'resourceVersion':'7'},'items':[{'metadata':{'name':'a','namespace':'s'}}]}"
#define REPORTED \
    "{'type':'MODIFIED','object':{'metadata':{'name':'b','namespace':'s','resourceVersion':'8'}}}\n"
#define DOCUMENT "{'type':'MODIFIED','object':{'metadata':{'name':'s.c','resourceVersion':'9'}}}\n"

START_TEST(existing_and_changed_objects_are_processed) {
    struct scene scene;

    scene_new(&scene);
    answer(&scene, CONFIGS "?limit=500", SCRIPT_WHOLE, 200, LIST, 1);
    answer(&scene, CONFIGS "?watch=true*", SCRIPT_WHOLE, 200, REPORTED, 1);
    answer(&scene, "/volume_configs?watch=true", SCRIPT_WHOLE, 200, DOCUMENT, 1);
    answer(&scene, OBJECT "*", SCRIPT_WHOLE, 404, NO("404", "NotFound"), 0);
    answer(&scene, NULL, SCRIPT_SILENT, 200, "", 0);
    scene_start(&scene);
    ck_assert(script_server_await(scene.server, "GET", OBJECT "a", 1));
    ck_assert(script_server_await(scene.server, "GET", OBJECT "b", 1));
    ck_assert(script_server_await(scene.server, "GET", OBJECT "c", 1));
    /* and from there it goes on */
    ck_assert(script_server_await(scene.server, "GET", CONFIGS "?watch=true*", 2));
    ck_assert_ptr_nonnull(
        strstr(script_server_request(scene.server, "GET", CONFIGS "?watch=true*", 1)->path,
               "resourceVersion=8"));
    scene_end(&scene);
}
END_TEST

START_TEST(an_expired_version_causes_a_new_list) {
    struct scene scene;

    scene_new(&scene);
    answer(&scene, CONFIGS "?limit=500", SCRIPT_WHOLE, 200, LIST, 2);
    answer(&scene, CONFIGS "?watch=true*", SCRIPT_WHOLE, 410, NO("410", "Expired"), 1);
    answer(&scene, OBJECT "*", SCRIPT_WHOLE, 404, NO("404", "NotFound"), 0);
    answer(&scene, NULL, SCRIPT_SILENT, 200, "", 0);
    scene_start(&scene);
    ck_assert(script_server_await(scene.server, "GET", OBJECT "a", 2));
    scene_end(&scene);
}
END_TEST

START_TEST(failed_objects_are_processed_again) {
    struct scene scene;

    scene_new(&scene);
    answer(&scene, CONFIGS "?limit=500", SCRIPT_WHOLE, 200, LIST, 1);
    answer(&scene, OBJECT "a", SCRIPT_WHOLE, 500, "{}", 1);
    answer(&scene, OBJECT "a", SCRIPT_CLOSE, 0, "", 1);
    answer(&scene, OBJECT "a", SCRIPT_WHOLE, 404, NO("404", "NotFound"), 0);
    answer(&scene, NULL, SCRIPT_SILENT, 200, "", 0);
    scene_start(&scene);
    ck_assert(script_server_await(scene.server, "GET", OBJECT "a", 3));
    scene_end(&scene);
}
END_TEST

/* The test would hang. */
START_TEST(a_bridge_stops_while_no_server_responds) {
    struct scene scene;

    scene_new(&scene);
    answer(&scene, NULL, SCRIPT_SILENT, 200, "", 0);
    scene_start(&scene);
    ck_assert(script_server_await(scene.server, "GET", NULL, 4));
    scene_end(&scene);
}
END_TEST

CHECK_MAIN("bridge", existing_and_changed_objects_are_processed,
           an_expired_version_causes_a_new_list, failed_objects_are_processed_again,
           a_bridge_stops_while_no_server_responds)
