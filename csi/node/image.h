/*
 * The image of a volume as the controller's publish_context names it, and how this node gets at it:
 * shares are mounted below a directory of the node's own, in a place that follows from the share's
 * name, for as long as an image there is in use.
 *
 * What stands in the context is checked as if it came from outside: a file below a share or below a
 * directory that the configuration names, by plain names, with no link on the way.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

struct text_pair {
    const char *key, *value;
};

/* Where images may be.  All of it outlives what uses it. */
struct node_places {
    const char *share_directory;          /* shares are mounted below it; made when it is missing */
    const char *const *local_directories; /* ended with NULL: images of drivers without shares */
    const char *mount_program;            /* NULL: mount */
    const char *target_directory;         /* of this node's storage agent; NULL: it has none */
};

struct node_image {
    const char *share, *options; /* NULL without a share; what follows -o */
    const char *path;            /* of a file without a share */
    const char *name;            /* below the share */
    const char *target;          /* uid of a replicated volume that is served here as a file */
    unsigned block_size;         /* 0: as of any device */
    bool read_only;
    bool keeps_blocks; /* its blocks are its own from the beginning: no discard gives them back */
};

/* -1: ERROR_BAD_REQUEST; ERROR_PRECONDITION for what this node cannot attach. */
int node_image_parse(struct arena *arena, const struct text_pair *context, size_t count,
                     struct node_image *ret, struct error *err);
/* Mounts the share if need be. A descriptor of the image, or -1; and one of its directory
 * (O_PATH). */
int node_image_open(const struct node_places *places, struct arena *arena,
                    const struct node_image *image, bool read_only, int *ret_directory,
                    struct error *err);
/*
 * Is the image that was opened, and is locked, what the volume's users have to this day?  A context
 * that is out of date may name a file that has become a snapshot's: ERROR_PRECONDITION.  What lies
 * beside it says so (<name>.info, as the service and others of its API write it).
 */
int node_image_check(struct arena *arena, const struct node_image *image, int file, int directory,
                     struct error *err);
/* The image with this path is not used any more: the share goes if none of its images is. */
void node_image_leave(const struct node_places *places, struct arena *arena, const char *path);
/* The same by what it was opened with. */
void node_image_forget(const struct node_places *places, struct arena *arena,
                       const struct node_image *image);
/* Whoever has died between using an image and leaving it: every share goes that has none in use. */
void node_image_leave_all(const struct node_places *places, struct arena *arena);
