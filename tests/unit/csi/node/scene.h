/*
 * A node with one volume, for tests of the node's driver.
 */
#pragma once

#include "csi/node/node.h"
#include "tests/unit/csi/node/node_test.h"

/* A device is known by its volume on the whole machine: each program names its own. */
#define ID "6f9f3b4e-0000-4000-8000-00000000000" NODE_SCENE

static __attribute__((unused)) struct node node;
static __attribute__((unused)) const char *directories[2];

static __attribute__((unused))
const struct node_capability ext4 = { .type = "", .mode = NODE_SINGLE_WRITER_NODE };
static __attribute__((unused))
const struct node_capability xfs = { .type = "xfs", .mode = NODE_SINGLE_MULTI_WRITER };
static __attribute__((unused))
const struct node_capability block = { .block = true, .mode = NODE_SINGLE_WRITER_NODE };
static __attribute__((unused))
const struct node_capability shared_block = { .block = true, .mode = NODE_MULTI_MULTI_WRITER };
static __attribute__((unused))
const struct node_capability reader = { .type = "ext4", .mode = NODE_MULTI_READER_ONLY };

static __attribute__((unused)) void begin(void) {
    node_test_begin();
    directories[0] = path_of("images");
    node = (struct node){ .root = path_of("kubelet"),
                          .places = { .share_directory = path_of("shares"),
                                      .local_directories = directories } };
    ck_assert_int_eq(shell("mkdir -p %1$s/images %1$s/kubelet/staging %1$s/kubelet/pods", base), 0);
}

static __attribute__((unused)) int stage_from(const struct text_pair *context, size_t count,
                                              const char *path,
                                              const struct node_capability *capability,
                                              const char *id) {
    const struct node_stage stage = { .volume_id = id,
                                      .path = path,
                                      .capability = capability,
                                      .context = context,
                                      .context_count = count };

    memset(&err, 0, sizeof(err));
    return node_stage(&node, arena, &stage, &err);
}

static __attribute__((unused)) int
stage_at(const char *path, const struct node_capability *capability, const char *id) {
    const char *image = arena_format(arena, "%s/images/%s", base, id);
    const struct text_pair context[] = { { "driver_volume_type", "local" },
                                         { "format", "raw" },
                                         { "device_path", image } };

    return stage_from(context, LENGTH(context), path, capability, id);
}

static __attribute__((unused)) int stage(const struct node_capability *capability) {
    return stage_at(path_of("kubelet/staging"), capability, ID);
}

static __attribute__((unused)) int unstage(void) {
    memset(&err, 0, sizeof(err));
    return node_unstage(&node, arena, ID, path_of("kubelet/staging"), &err);
}

static __attribute__((unused)) int
publish(const char *target, const struct node_capability *capability, bool read_only) {
    const struct node_publish publish = { .volume_id = ID,
                                          .staging_path = path_of("kubelet/staging"),
                                          .path = path_of(target),
                                          .capability = capability,
                                          .read_only = read_only };

    memset(&err, 0, sizeof(err));
    return node_publish(&node, arena, &publish, &err);
}

static __attribute__((unused)) int unpublish(const char *target) {
    memset(&err, 0, sizeof(err));
    return node_unpublish(&node, ID, path_of(target), &err);
}

#define assert_refused(call, error_kind)                                                           \
    do {                                                                                           \
        ck_assert_int_eq(call, -1);                                                                \
        ck_assert_msg(err.kind == ERROR_##error_kind, "%s: %d, %s", #call, err.kind, err.message); \
    } while (0)

static __attribute__((unused)) int image(int64_t bytes) {
    return image_make("images/" ID, bytes);
}

static __attribute__((unused)) bool exists(const char *name) {
    struct stat status;

    return lstat(path_of(name), &status) == 0;
}

#define NODE_SCENE_MAIN(name, ...)                                                                \
    CHECK_MAIN_WITH(name, geteuid() == 0 && access("/dev/loop-control", R_OK | W_OK) == 0, begin, \
                    node_test_end, __VA_ARGS__)
