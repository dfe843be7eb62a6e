/*
 * The image of a volume, as described by the controller's publish_context, and its access on this
 * node: a share is mounted below a directory of the node, at a path derived from the share's name,
 * while one of its images is in use.
 *
 * The context is validated like external input: a file below a share or below a configured
 * directory, by plain names, without symbolic links.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

struct text_pair {
    const char *key, *value;
};

/* The directories of images.  All data outlives its users. */
struct node_places {
    const char *share_directory;          /* shares are mounted below it; created when it is
                                           * missing */
    const char *const *local_directories; /* ended by NULL: images of drivers without shares */
    const char *mount_program;            /* NULL: mount */
    const char *target_directory;         /* of this node's storage agent; NULL: none */
};

struct node_image {
    const char *share, *options; /* NULL without a share; the argument of -o */
    const char *path;            /* of a file without a share */
    const char *name;            /* below the share */
    const char *target;          /* uid of a replicated volume that is served here as a file */
    unsigned block_size;         /* 0: the default */
    bool read_only;
    bool keeps_blocks; /* its blocks are preallocated: discards must not free them */
};

/* -1: ERROR_BAD_REQUEST; ERROR_PRECONDITION for an image that this node cannot attach. */
int node_image_parse(struct arena *arena, const struct text_pair *context, size_t count,
                     struct node_image *ret, struct error *err);
/* Mounts the share if needed.  A descriptor of the image, or -1; and one of its directory
 * (O_PATH). */
int node_image_open(const struct node_places *places, struct arena *arena,
                    const struct node_image *image, bool read_only, int *ret_directory,
                    struct error *err);
/*
 * Is the opened and locked image still the volume's active image?  An outdated context may name a
 * file that now belongs to a snapshot: ERROR_PRECONDITION.  The file <name>.info beside it, as
 * written by the service and by Cinder, names the active image.
 */
int node_image_check(struct arena *arena, const struct node_image *image, int file, int directory,
                     struct error *err);
/* The image with this path is unused: unmounts the share if none of its images is in use. */
void node_image_release(const struct node_places *places, struct arena *arena, const char *path);
/* The same by the image's description. */
void node_image_release_share(const struct node_places *places, struct arena *arena,
                              const struct node_image *image);
/* Unmounts every share without an image in use, also those left by a terminated process. */
void node_image_release_unused(const struct node_places *places, struct arena *arena);
