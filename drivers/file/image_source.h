/*
 * An image that another one is made of: a volume's, which may be in use, or a snapshot's, which
 * nobody writes to.
 */
#pragma once

#include "drivers/file/draft.h"
#include "drivers/file/volume_image.h"

struct image_source {
    int fd; /* open for reading */
    const char *id;
    const char *format;
    int64_t size_gb;       /* recorded */
    int64_t virtual_bytes; /* real */
    bool attached;
    bool fixed;          /* nobody writes to it */
    const char *name;    /* of the file; it is qcow2 with others below it when `layered` */
    const char *overlay; /* of a snapshot: the one above it; NULL: it is a file of its own */
    bool layered;
    struct chain chain; /* of a volume */
    int lock;           /* as chain_lock() gives it */
};

void image_source_close(struct image_source *source);
#define NO_SOURCE  ((struct image_source){ .fd = -1, .lock = -1 })
#define autosource __attribute__((cleanup(image_source_close)))

/* ERROR_BAD_REQUEST for an encrypted one: its content cannot be another's without its secret.
 * `reader`: the volume that it is copied for, for so long nobody changes the files below it; NULL:
 * whoever opens it has seen to that, or reads no content. */
int image_source_open_volume(const struct directory *directory, struct arena *arena,
                             const struct driver_volume *volume, const struct driver_volume *reader,
                             struct image_source *ret, struct error *err);
int image_source_open_snapshot(const struct directory *directory, struct arena *arena,
                               const struct driver_snapshot *snapshot,
                               const struct driver_volume *reader, struct image_source *ret,
                               struct error *err);

/* Was an image of that name and format made before?  1 yes, flushed, 0 no; it must have so many
 * bytes virtually. */
int image_source_find_made(const struct directory *directory, const char *name, const char *format,
                           int64_t least_bytes, struct error *err);
/* Gives the draft its name; what another worker has made meanwhile is as good. */
int image_source_publish(struct draft *draft, const char *format, int64_t least_bytes,
                         const struct driver_fence *fence, struct error *err);

/* 0: nobody writes while the source is open here.  1: somebody may. */
int image_source_hold(const struct image_source *source, struct error *err);

/* The draft gets its content of one moment, flushed, where the file system shares blocks.  1: it
 * does not. */
int image_source_share(const struct image_source *source, const struct draft *draft,
                       struct error *err);

/*
 * Fills a draft with its content of one moment, flushed, and says how large that is virtually.
 * Blocks are shared where the file system can, unless they shall be the draft's own (`thick`);
 * otherwise they are copied, and nobody begins to write to the source meanwhile.  1: that cannot
 * be, because somebody may write to it now; the draft is good for nothing.
 */
int image_source_take(const struct image_source *source, const struct draft *draft, bool thick,
                      const struct driver_fence *fence, const struct driver_progress *progress,
                      int64_t *ret_bytes, struct error *err);
