/*
 * A server with handlers controlled by a test, and its client.
 */
#pragma once

#include "common/cleanup.h"
#include "csi/proto.h"
#include "grpc/server.h"
#include "tests/lib/check_main.h"
#include "tests/lib/wire.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define PROBE  "/csi.v1.Identity/Probe"
#define INFO   "/csi.v1.Identity/GetPluginInfo"
#define DELETE "/csi.v1.Controller/DeleteVolume"
#define GET    "/csi.v1.Controller/ControllerGetVolume"
#define LIST   "/csi.v1.Controller/ListVolumes"

struct scene {
    char directory[32], path[64], endpoint[80];
    struct grpc_server *server;
    struct wire *wire;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t changed;
    unsigned entered, over, left; /* calls of GET: begun, found to be over, ended */
    unsigned forgotten;           /* of LIST, whose memory is free */
    bool open;                    /* they may end */
};

static int probe(struct grpc_call *call, const void *request, void *response, struct error *err) {
    Csi__V1__ProbeResponse *answer = response;

    (void)request, (void)err;
    answer->ready = arena_alloc(call->arena, sizeof(*answer->ready));
    csi__v1__bool_value__init(answer->ready);
    answer->ready->value = true;
    return 0;
}

/* The caller, and how it calls. */
static int tell(struct grpc_call *call, const void *request, void *response, struct error *err) {
    Csi__V1__GetPluginInfoResponse *answer = response;

    (void)request, (void)err;
    answer->name =
        arena_format(call->arena, "%u %u %d %s", call->uid, call->gid, call->pid, call->path);
    answer->vendor_version = call->request_id;
    log_info(NULL, "a call begins", NULL);
    return 0;
}

/* volume_id decides how it ends: "-7" is an error of that kind, "7" that code. */
static int end_as(struct grpc_call *call, const void *request, void *response, struct error *err) {
    const Csi__V1__DeleteVolumeRequest *asked = request;
    int how = atoi(asked->volume_id);

    (void)call, (void)response;
    return how < 0 ? error_set(err, (enum error_kind) - how, "kind %d", -how)
                   : grpc_refuse(err, (enum grpc_code)how, "100%% \xc3\xa4\n %d", how);
}

/* Ends when it is over, or may end. */
static int linger(struct grpc_call *call, const void *request, void *response, struct error *err) {
    struct scene *scene = call->service;

    (void)request, (void)response, (void)err;
    pthread_mutex_lock(&scene->lock);
    scene->entered++;
    pthread_cond_broadcast(&scene->changed);
    while (!scene->open && !grpc_call_is_over(call)) {
        struct timespec until;

        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 1000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&scene->changed, &scene->lock, &until);
    }
    scene->over += grpc_call_is_over(call);
    scene->left++;
    pthread_cond_broadcast(&scene->changed);
    pthread_mutex_unlock(&scene->lock);
    return 0;
}

static void forget(void *arg) {
    struct scene *scene = arg;

    pthread_mutex_lock(&scene->lock);
    scene->forgotten++;
    pthread_cond_broadcast(&scene->changed);
    pthread_mutex_unlock(&scene->lock);
}

/* max_entries bytes. */
static int list(struct grpc_call *call, const void *request, void *response, struct error *err) {
    const Csi__V1__ListVolumesRequest *asked = request;
    Csi__V1__ListVolumesResponse *answer = response;
    char *token = arena_alloc(call->arena, (size_t)asked->max_entries + 1);

    (void)err;
    arena_defer(call->arena, forget, call->service);
    memset(token, 'x', (size_t)asked->max_entries);
    answer->next_token = token;
    return 0;
}

static const struct grpc_method identity_methods[] = {
    { "Probe", probe },
    { "GetPluginInfo", tell },
    { NULL, NULL },
};

static const struct grpc_method controller_methods[] = {
    { "DeleteVolume", end_as },
    { "ControllerGetVolume", linger },
    { "ListVolumes", list },
    { NULL, NULL },
};

static inline struct scene *scene_new(void) {
    struct scene *scene = calloc(1, sizeof(*scene));

    strcpy(scene->directory, "/tmp/scoria-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(scene->directory));
    snprintf(scene->path, sizeof(scene->path), "%s/csi.sock", scene->directory);
    snprintf(scene->endpoint, sizeof(scene->endpoint), "unix://%s", scene->path);
    pthread_mutex_init(&scene->lock, NULL);
    pthread_cond_init(&scene->changed, NULL);
    return scene;
}

static inline int scene_listen(struct scene *scene, struct grpc_server_settings settings,
                               struct error *err) {
    static const char *const quick[] = { INFO, NULL }, *const ahead[] = { DELETE, NULL };
    const struct grpc_service services[] = {
        { &csi__v1__identity__descriptor, identity_methods, scene },
        { &csi__v1__controller__descriptor, controller_methods, scene },
        { NULL, NULL, NULL },
    };

    settings.quick = quick;
    settings.ahead = ahead;
    if (!settings.endpoint)
        settings.endpoint = scene->endpoint;
    settings.services = services;
    return grpc_server_start(&settings, &scene->server, err);
}

static inline struct scene *scene_start(struct grpc_server_settings settings) {
    struct scene *scene = scene_new();
    struct error err = { .kind = ERROR_NONE };

    ck_assert_msg(scene_listen(scene, settings, &err) == 0, "%s", err.message);
    scene->wire = wire_open(scene->path);
    return scene;
}
#define SCENE(...) scene_start((struct grpc_server_settings){ __VA_ARGS__ })

static inline void scene_end(struct scene *scene) {
    if (scene->wire)
        wire_close(scene->wire);
    grpc_server_stop(scene->server, 0);
    ck_assert_int_eq(rmdir(scene->directory), 0); /* nothing was left, and nothing stood beside */
    pthread_mutex_destroy(&scene->lock);
    pthread_cond_destroy(&scene->changed);
    free(scene);
}

static inline void scene_open(struct scene *scene) {
    pthread_mutex_lock(&scene->lock);
    scene->open = true;
    pthread_cond_broadcast(&scene->changed);
    pthread_mutex_unlock(&scene->lock);
}

static inline unsigned scene_count(struct scene *scene, const unsigned *what) {
    unsigned count;

    pthread_mutex_lock(&scene->lock);
    count = *what;
    pthread_mutex_unlock(&scene->lock);
    return count;
}

static inline void scene_await(struct scene *scene, const unsigned *what, unsigned least) {
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WIRE_TIMEOUT_S;
    pthread_mutex_lock(&scene->lock);
    while (*what < least)
        ck_assert_int_eq(pthread_cond_timedwait(&scene->changed, &scene->lock, &until), 0);
    pthread_mutex_unlock(&scene->lock);
}

/* A call of its own stream, and how it ended. */
static inline struct wire_answer *scene_request(struct scene *scene, int32_t stream,
                                                const char *path, const void *message,
                                                size_t size) {
    wire_call(scene->wire, stream, path, message, size);
    return wire_await(scene->wire, stream);
}

static inline void assert_status(const struct wire_answer *answer, const char *status,
                                 const char *message) {
    ck_assert_str_eq(answer->http_status, "200");
    ck_assert_msg(strcmp(answer->status, status) == 0, "%s instead of %s: %s", answer->status,
                  status, answer->message);
    ck_assert_msg(strstr(answer->message, message) != NULL, "%s", answer->message);
}

/* Does it still work, for another client? */
static inline void assert_alive(struct scene *scene) {
    struct wire *other = wire_open(scene->path);
    autofree struct wire_answer *answer = NULL;

    wire_call(other, 1, PROBE, "", 0);
    answer = wire_await(other, 1);
    assert_status(answer, "0", "");
    wire_close(other);
}
