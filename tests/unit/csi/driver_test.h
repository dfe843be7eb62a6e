/*
 * The driver in front of a volume API that a test plays, and its client.
 */
#pragma once

#include "common/cleanup.h"
#include "config/config.h"
#include "csi/driver.h"
#include "csi/proto.h"
#include "tests/lib/check_main.h"
#include "tests/lib/script_server.h"
#include "tests/lib/wire.h"

#include <stdio.h>
#include <string.h>

#define VERSIONS "{\"versions\": [{\"id\": \"v3.0\", \"version\": \"3.71\"}]}"

struct scene {
    char directory[32], path[64], endpoint[80];
    struct config *config;
    struct script_server *api;
    struct csi_driver *driver;
    struct wire *wire;
    int32_t stream;
};

/* `arguments` as on the command line; NULL: none. */
static inline int scene_begin(struct scene *scene, const char *const *arguments,
                              struct error *err) {
    static const struct option *const tables[] = { csi_options, NULL };
    static const char *const nowhere[] = { "--csi.kubelet_directory=/nowhere", NULL };
    char url[128];

    memset(scene, 0, sizeof(*scene));
    strcpy(scene->directory, "/tmp/scoria-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(scene->directory));
    snprintf(scene->path, sizeof(scene->path), "%s/csi.sock", scene->directory);
    snprintf(scene->endpoint, sizeof(scene->endpoint), "unix://%s", scene->path);
    scene->api = script_server_new();
    snprintf(url, sizeof(url), "%s/", script_server_url(scene->api));
    ck_assert_msg(config_load(tables, NULL, arguments ? arguments : nowhere, &scene->config, err) ==
                      0,
                  "%s", err->message);
    return csi_driver_start(&(struct csi_settings){ .config = scene->config,
                                                    .endpoint = scene->endpoint,
                                                    .volume_url = url },
                            &scene->driver, err);
}

static inline struct scene *scene_new(const char *const *arguments) {
    struct scene *scene = malloc(sizeof(*scene));
    struct error err = { .kind = ERROR_NONE };

    ck_assert_msg(scene_begin(scene, arguments, &err) == 0, "%s", err.message);
    scene->wire = wire_open(scene->path);
    return scene;
}

static inline void scene_end(struct scene *scene) {
    if (scene->wire)
        wire_close(scene->wire);
    csi_driver_stop(scene->driver, 0);
    script_server_free(scene->api);
    config_free(scene->config);
    ck_assert_int_eq(rmdir(scene->directory), 0);
    free(scene);
}

/* For free(). */
static inline struct wire_answer *scene_call(struct scene *scene, const char *path,
                                             const void *message, size_t size) {
    scene->stream += scene->stream ? 2 : 1;
    wire_call(scene->wire, scene->stream, path, message, size);
    return wire_await(scene->wire, scene->stream);
}

static inline struct wire_answer *scene_request(struct scene *scene, const char *path,
                                                const void *message) {
    size_t size = protobuf_c_message_get_packed_size(message);
    autofree uint8_t *bytes = malloc(size + 1);

    protobuf_c_message_pack(message, bytes);
    return scene_call(scene, path, bytes, size);
}

/* For a block device of one node. */
static inline struct wire_answer *scene_create_volume(struct scene *scene,
                                                      Csi__V1__CreateVolumeRequest *request) {
    Csi__V1__VolumeCapability__AccessMode mode = CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__INIT;
    Csi__V1__VolumeCapability__BlockVolume block = CSI__V1__VOLUME_CAPABILITY__BLOCK_VOLUME__INIT;
    Csi__V1__VolumeCapability capability = CSI__V1__VOLUME_CAPABILITY__INIT, *one = &capability;

    mode.mode = CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__SINGLE_NODE_WRITER;
    capability.access_mode = &mode;
    capability.access_type_case = CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_BLOCK;
    capability.block = &block;
    request->n_volume_capabilities = 1;
    request->volume_capabilities = &one;
    return scene_request(scene, "/csi.v1.Controller/CreateVolume", request);
}

/* The message of an answer that is OK; for protobuf_c_message_free_unpacked(). */
static inline void *scene_message(const struct wire_answer *answer,
                                  const ProtobufCMessageDescriptor *type) {
    void *message;

    ck_assert_msg(strcmp(answer->status, "0") == 0, "%s: %s", answer->status, answer->message);
    ck_assert_uint_ge(answer->size, 5);
    message = protobuf_c_message_unpack(type, NULL, answer->size - 5, answer->body + 5);
    ck_assert_ptr_nonnull(message);
    return message;
}
