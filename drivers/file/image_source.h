/*
 * The source image of a copy: a volume's, which may be in use, or a snapshot's, which is never
 * written.
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
    bool fixed;          /* never written */
    const char *name;    /* of the file; a qcow2 overlay when `layered` */
    const char *name_id; /* of a snapshot below an overlay; NULL: it is a separate file */
    bool layered;
    struct chain chain; /* of a volume */
    int lock;           /* from chain_lock() */
};

void image_source_close(struct image_source *source);
#define NO_SOURCE  ((struct image_source){ .fd = -1, .lock = -1 })
#define autosource __attribute__((cleanup(image_source_close)))

/* ERROR_BAD_REQUEST for an encrypted source: its content is useless without its secret.  `reader`:
 * the volume that it is copied for; meanwhile the files below do not change.  NULL: the caller
 * ensures that, or reads no content. */
int image_source_open_volume(const struct directory *directory, struct arena *arena,
                             const struct driver_volume *volume, const struct driver_volume *reader,
                             struct image_source *ret, struct error *err);
int image_source_open_snapshot(const struct directory *directory, struct arena *arena,
                               const struct driver_snapshot *snapshot,
                               const struct driver_volume *reader, struct image_source *ret,
                               struct error *err);

/* Does an image of that name and format exist from before?  1 yes, flushed, 0 no; its virtual size
 * must be so many bytes. */
int image_source_find_made(const struct directory *directory, const char *name, const char *format,
                           int64_t least_bytes, struct error *err);
/* Gives the draft its name; an image that another worker has made meanwhile is accepted. */
int image_source_publish(struct draft *draft, const char *format, int64_t least_bytes,
                         const struct driver_fence *fence, struct error *err);

/* 0: there is no writer while the source is open here.  1: there may be one. */
int image_source_hold(const struct image_source *source, struct error *err);

/* The draft gets its content of one moment, flushed, where the file system shares blocks.  1: it
 * does not. */
int image_source_share(const struct image_source *source, const struct draft *draft,
                       struct error *err);

/*
 * Fills a draft with its content of one moment, flushed, and returns its virtual size.  Blocks are
 * shared where the file system can, unless `thick` requires allocated ones; otherwise they are
 * copied, with writers locked out.  1: impossible now, as there may be a writer; the draft is
 * unusable.
 */
int image_source_take(const struct image_source *source, const struct draft *draft, bool thick,
                      const struct driver_fence *fence, const struct driver_progress *progress,
                      int64_t *ret_bytes, struct error *err);
