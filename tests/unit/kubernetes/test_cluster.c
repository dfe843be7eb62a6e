#include "kubernetes/cluster.h"

#include "tests/lib/script_server.h"
#include "tests/unit/kubernetes/quoted.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define WATCH "/things?watch=true*"
#define EVENT(type, name, version)                                                           \
    "{'type':'" type "','object':{'metadata':{'name':'" name "','resourceVersion':'" version \
    "'}}}\n"

struct scene {
    struct script_server *server;
    struct arena *arena;
    struct cluster cluster;
    struct cluster_version version;
    struct error err;
    char token[32];
    char events[256];
};

static void write_token(const struct scene *scene, const char *text) {
    FILE *file = fopen(scene->token, "w");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static struct scene *scene_new(void) {
    struct scene *scene = calloc(1, sizeof *scene);
    int fd;

    ck_assert_ptr_nonnull(scene);
    strcpy(scene->token, "/tmp/scoria-token-XXXXXX");
    fd = mkstemp(scene->token);
    ck_assert_int_ge(fd, 0);
    close(fd);
    write_token(scene, "one\n");
    scene->server = script_server_new();
    scene->arena = arena_new();
    scene->cluster =
        (struct cluster){ .url = script_server_url(scene->server), .token_file = scene->token };
    return scene;
}

static void scene_end(struct scene *scene) {
    unlink(scene->token);
    script_server_free(scene->server);
    arena_free(scene->arena);
    free(scene);
}

static void answer(struct scene *scene, const char *path, int status, const char *text) {
    const struct script_rule rule = {
        .path = path, .status = status, .body = quoted(scene->arena, text), .times = 1
    };

    script_server_add(scene->server, &rule);
}

static void note_event(void *arg, const json_t *object) {
    struct scene *scene = arg;

    sprintf(scene->events + strlen(scene->events), "%s;",
            json_text_of(json_object_get(object, "metadata"), "name"));
}

static int list(struct scene *scene) {
    return cluster_list(&scene->cluster, "/things", note_event, scene, &scene->version,
                        &scene->err);
}

static int watch(struct scene *scene) {
    return cluster_watch(&scene->cluster, "/things", 60, note_event, scene, &scene->version,
                         &scene->err);
}

START_TEST(a_replaced_token_is_used) {
    struct scene *scene = scene_new();
    const json_t *status_text;

    for (unsigned i = 0; i < 2; i++) {
        answer(scene, "/one", 200, "{'a':1}");
        ck_assert_int_eq(cluster_call(&scene->cluster, scene->arena, "GET", "/one", NULL,
                                      &status_text, &scene->err),
                         0);
        ck_assert(script_request_has(script_server_request(scene->server, NULL, "/one", i),
                                     "Authorization", i == 0 ? "Bearer one" : "Bearer two"));
        write_token(scene, "two");
    }
    ck_assert_int_eq(json_integer_value(json_object_get(status_text, "a")), 1);
    scene_end(scene);
}
END_TEST

START_TEST(a_failure_has_its_kind_and_the_servers_message) {
    static const struct {
        int status;
        enum error_kind kind;
    } rows[] = { { 404, ERROR_NOT_FOUND }, { 409, ERROR_CONFLICT },    { 410, ERROR_GONE },
                 { 422, ERROR_BACKEND },   { 500, ERROR_UNAVAILABLE }, { 403, ERROR_FORBIDDEN } };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scene *scene = scene_new();

        answer(scene, NULL, rows[i].status,
               arena_format(scene->arena,
                            "{'kind':'Status','code':%d,'reason':'NotFound','message':'the words'}",
                            rows[i].status));
        ck_assert_int_eq(cluster_call(&scene->cluster, scene->arena, "PUT", "/one",
                                      tree(scene->arena, "{}"), NULL, &scene->err),
                         -1);
        ck_assert_int_eq(scene->err.kind, rows[i].kind);
        ck_assert_ptr_nonnull(strstr(scene->err.message, "the words"));
        scene_end(scene);
    }
}
END_TEST

/* Of a gateway, of a path that the server does not know, of our own API. */
START_TEST(a_response_of_another_server_is_no_result) {
    static const int statuses[] = { 302, 400, 401, 403, 404, 409, 410, 422 };
    static const char *const bodies[] = {
        "404 page not found",
        "",
        "{}",
        "<html>",
        "{'kind':'Status','reason':'NotFound','message':'no code'}",
        "{'kind':'Status','code':404,'reason':'Unknown','message':'x'}",
        "{'itemNotFound':{'code':404,'message':'ours'}}",
    };
    struct scene *scene = scene_new();

    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        for (size_t j = 0; j < sizeof bodies / sizeof *bodies; j++) {
            answer(scene, "/one", statuses[i], bodies[j]);
            ck_assert_int_eq(
                cluster_call(&scene->cluster, scene->arena, "GET", "/one", NULL, NULL, &scene->err),
                -1);
            ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
            ck_assert_ptr_nonnull(strstr(scene->err.message, "is not a response of Kubernetes"));
            ck_assert_ptr_nonnull(strstr(scene->err.message, scene->cluster.url));
        }
    scene_end(scene);
}
END_TEST

START_TEST(a_malformed_list_is_not_empty) {
    static const char *const bodies[] = {
        "{}",
        "<html>",
        "[]",
        "{'metadata':{'resourceVersion':'7'}}",
        "{'metadata':{'resourceVersion':'7'},'items':{}}",
        "{'items':[]}",
    };
    struct scene *scene = scene_new();

    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        answer(scene, "/things?limit=500", 200, bodies[i]);
        ck_assert_int_eq(list(scene), -1);
        ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
    }
    scene_end(scene);
}
END_TEST

START_TEST(a_list_is_read_page_by_page) {
    struct scene *scene = scene_new();

    answer(scene, "/things?limit=500", 200,
           "{'metadata':{'resourceVersion':'7','continue':'a/b='},"
           "'items':[{'metadata':{'name':'x'}},{'metadata':{'name':'y'}}]}");
    answer(scene, "/things?limit=500&continue=a%2Fb%3D", 200,
           "{'metadata':{'resourceVersion':'7','continue':''},"
           "'items':[{'metadata':{'name':'z'}}]}");
    ck_assert_int_eq(list(scene), 0);
    ck_assert_str_eq(scene->events, "x;y;z;");
    ck_assert_str_eq(scene->version.text, "7");
    scene_end(scene);
}
END_TEST

START_TEST(a_watch_reports_events_and_the_version_to_resume_from) {
    struct scene *scene = scene_new();

    strcpy(scene->version.text, "7");
    answer(scene, WATCH, 200,
           EVENT("ADDED", "x", "8") EVENT("DELETED", "y", "9") EVENT("BOOKMARK", "", "12"));
    ck_assert_int_eq(watch(scene), 0);
    ck_assert_str_eq(scene->events, "x;y;");
    ck_assert_str_eq(scene->version.text, "12");
    ck_assert_ptr_nonnull(strstr(script_server_request(scene->server, NULL, WATCH, 0)->path,
                                 "&timeoutSeconds=60&resourceVersion=7"));
    scene_end(scene);
}
END_TEST

START_TEST(an_expired_version_is_reported_by_status_or_event) {
    static const struct {
        int status;
        const char *body;
    } rows[] = {
        { 410, "{'kind':'Status','code':410}" },
        { 200,
          EVENT(
              "ADDED", "x",
              "8") "{'type':'ERROR','object':{'kind':'Status','code':410,'message':'too old'}}\n" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scene *scene = scene_new();

        answer(scene, WATCH, rows[i].status, rows[i].body);
        ck_assert_int_eq(watch(scene), 1);
        scene_end(scene);
    }
}
END_TEST

/* Kubernetes takes each of them, from any user that may write objects in one namespace. */
#define DEEP   "[[[[[[[[[[[[[[[["
#define DEPTHS "]]]]]]]]]]]]]]]]"
static const char *const contents[] = {
    "100000000000000000000000",
    "'\\u0000'",
    "{'a\\u0000b':1}",
    DEEP DEEP DEEP DEEP DEEP DEPTHS DEPTHS DEPTHS DEPTHS DEPTHS,
};

START_TEST(an_unreadable_object_hides_no_other) {
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        struct scene *scene = scene_new();

        answer(scene, "/things*", 200,
               arena_join(scene->arena, "{'items':[{'metadata':{'annotations':{'a':", contents[i],
                          "},'name':'x'},'spec':", contents[i],
                          "},{'metadata':{'name':'y'}}],'metadata':{'resourceVersion':'7'}}",
                          NULL));
        ck_assert_int_eq(list(scene), 0);
        ck_assert_str_eq(scene->events, "x;y;");
        ck_assert_str_eq(scene->version.text, "7");
        answer(scene, WATCH, 200,
               arena_join(scene->arena, "{'type':'ADDED','object':{'spec':", contents[i],
                          ",'metadata':{'name':'z','resourceVersion':'8'}}}\n",
                          EVENT("DELETED", "y", "9"), NULL));
        ck_assert_int_eq(watch(scene), 0);
        ck_assert_str_eq(scene->events, "x;y;z;y;");
        ck_assert_str_eq(scene->version.text, "9");
        scene_end(scene);
    }
}
END_TEST

/* One of `size` bytes. */
static char *large_page(struct arena *arena, size_t size, const char *more) {
    char *page = arena_format(arena,
                              "{'metadata':{'resourceVersion':'7','continue':'%s'},"
                              "'items':[{'metadata':{'name':'x'},'spec':'",
                              more);
    char *whole = arena_alloc(arena, size + 1);
    size_t length = strlen(page);

    memcpy(whole, page, length);
    memset(whole + length, 's', size - length);
    strcpy(whole + size - 4, "'}]}");
    return whole;
}

START_TEST(a_page_that_is_too_large_is_read_in_parts) {
    const size_t most = (size_t)16 * 1024 * 1024;
    struct scene *scene = scene_new();

    answer(scene, "/things?limit=500", 200, large_page(scene->arena, most + 1, ""));
    answer(scene, "/things?limit=62", 200, large_page(scene->arena, most, "m"));
    answer(scene, "/things?limit=62&continue=m", 200, large_page(scene->arena, most + 1, ""));
    answer(scene, "/things?limit=7&continue=m", 200,
           "{'metadata':{'resourceVersion':'7'},'items':[{'metadata':{'name':'y'}}]}");
    ck_assert_int_eq(list(scene), 0);
    ck_assert_str_eq(scene->events, "x;y;");
    scene_end(scene);
}
END_TEST

START_TEST(a_too_large_object_is_reported) {
    struct scene *scene = scene_new();
    char *page = large_page(scene->arena, (size_t)16 * 1024 * 1024 + 1, "");

    answer(scene, "/things?limit=500", 200, page);
    answer(scene, "/things?limit=62", 200, page);
    answer(scene, "/things?limit=7", 200, page);
    answer(scene, "/things?limit=1", 200, page);
    ck_assert_int_eq(list(scene), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_TOO_LARGE);
    ck_assert_str_eq(scene->events, "");
    scene_end(scene);
}
END_TEST

START_TEST(a_malformed_event_ends_a_watch) {
    static const char *const lines[] = {
        "no JSON\n", "{'type':'ADDED','object':{}}\n", "{'object':{}}\n",
        "{'type':'ERROR','object':{'code':500,'message':'broken'}}\n"
    };

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct scene *scene = scene_new();

        strcpy(scene->version.text, "7");
        answer(scene, WATCH, 200, lines[i]);
        ck_assert_int_eq(watch(scene), -1);
        ck_assert_str_ne(scene->err.message, "");
        ck_assert_str_eq(scene->version.text, "7");
        scene_end(scene);
    }
}
END_TEST

CHECK_MAIN("cluster", a_replaced_token_is_used, a_failure_has_its_kind_and_the_servers_message,
           a_list_is_read_page_by_page, a_watch_reports_events_and_the_version_to_resume_from,
           an_expired_version_is_reported_by_status_or_event, an_unreadable_object_hides_no_other,
           a_page_that_is_too_large_is_read_in_parts, a_too_large_object_is_reported,
           a_malformed_event_ends_a_watch, a_response_of_another_server_is_no_result,
           a_malformed_list_is_not_empty)
