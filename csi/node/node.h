/*
 * The node's operations on volumes: attach a device of the image and mount a file system on it
 * (stage), and mount that for each pod (publish).
 *
 * Nothing is stored: the state is that of the kernel's devices and mounts, so each step may be
 * repeated, also after a crash or a restart, and a label on the device names its volume and its
 * capability.  The device of a file system is detached with the last mount; that of a block volume
 * is bound to the file NODE_DEVICE in the staging directory and stays until it is unstaged.
 *
 * Of two concurrent calls for one volume the second is refused with ERROR_CONFLICT.  Functions
 * return 0, -1, or a value of enum node_refusal with err's message.
 */
#pragma once

#include "csi/node/image.h"

#include <stdint.h>

#define NODE_DEVICE "device"

enum node_refusal {
    NODE_DIFFERS = 1, /* it is done already, with other arguments */
    NODE_RANGE,       /* the size is not available */
    NODE_STALE,       /* the staged device returns only errors: node_stage() replaces it */
};

/* Access modes, as numbered by CSI. */
enum node_mode {
    NODE_SINGLE_WRITER_NODE = 1,
    NODE_SINGLE_READER_ONLY,
    NODE_MULTI_READER_ONLY,
    NODE_MULTI_SINGLE_WRITER,
    NODE_MULTI_MULTI_WRITER,
    NODE_SINGLE_SINGLE_WRITER,
    NODE_SINGLE_MULTI_WRITER,
};

struct node {
    const char *root; /* the kubelet's directory: paths are below it */
    struct node_places places;
};

struct node_capability {
    bool block;
    const char *type; /* of the file system; "": the default type */
    char *const *flags;
    size_t flag_count;
    int mode; /* enum node_mode */
};

struct node_stage {
    const char *volume_id, *path;
    const struct node_capability *capability;
    const struct text_pair *context;
    size_t context_count;
    /* Called before anything changes, while other calls for the volume are refused: 0: it may be
     * staged.  NULL: it always may. */
    int (*check)(void *arg, const struct node_stage *stage, struct error *err);
    void *arg;
};

struct node_publish {
    const char *volume_id, *staging_path, *path;
    const struct node_capability *capability;
    bool read_only;
    const struct node_stage *again; /* replaces a stale device; NULL: NODE_STALE */
};

struct node_usage {
    bool block; /* only bytes.total is valid */
    struct node_space {
        int64_t available, total, used;
    } bytes, inodes;
    const char *fault; /* the detected fault; NULL: none */
};

struct node_growth {
    const char *volume_id, *path;
    int64_t required_bytes, limit_bytes; /* 0: unlimited */
};

struct node_reclaim {
    const char *volume_id, *path;
    int mode; /* of the capability; 0: unknown */
    bool (*may_continue)(void *arg);
    void *arg;
};

int node_stage(const struct node *node, struct arena *arena, const struct node_stage *stage,
               struct error *err);
int node_unstage(const struct node *node, struct arena *arena, const char *volume_id,
                 const char *path, struct error *err);
int node_publish(const struct node *node, struct arena *arena, const struct node_publish *publish,
                 struct error *err);
int node_unpublish(const struct node *node, const char *volume_id, const char *path,
                   struct error *err);
int node_usage(const struct node *node, const char *volume_id, const char *path,
               struct node_usage *ret, struct error *err);
int node_grow(const struct node *node, struct arena *arena, const struct node_growth *growth,
              int64_t *ret_bytes, struct error *err);
/* The image's allocated bytes on the backend, before and after. */
int node_reclaim(const struct node *node, const struct node_reclaim *reclaim, int64_t *ret_before,
                 int64_t *ret_after, struct error *err);
