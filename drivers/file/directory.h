/*
 * A directory of volume files: used by file.c and the drivers of mounted shares.
 *
 * The descriptor stays open and every file is reached through it, so later changes of the path
 * cannot redirect it.  Thread-safe after directory_open(), beside directory_reopen(), too.
 */
#pragma once

#include "drivers/file/directory_settings.h"
#include "drivers/file/shared_flush.h"

#include <stdatomic.h>

struct directory {
    int fd;
    const char *path; /* absolute */
    const struct directory_settings *settings;
    atomic_bool locks_trusted; /* a lock that a guest took on another host is seen here */
    bool punches_holes;        /* or unknown */
    bool keeps_order;   /* of metadata (metadata_order.h), on a mount that is never renewed */
    bool keeps_unnamed; /* files, until their first name: the same */
    /* NULL: a flush is shared by no threads, as on a mount, which may hang and be renewed. */
    struct shared_flush *flush;
};

/* Makes `path` and its missing parents; existing ones stay unchanged. */
int directory_make(const char *path, mode_t mode, struct error *err);
/* `path` and `settings` must outlive `ret`; close(ret->fd) ends it. */
int directory_open(const char *path, const struct directory_settings *settings,
                   struct directory *ret, struct error *err);
/* The mount at the path was renewed: the descriptor now refers to it. */
int directory_reopen(const struct directory *directory, struct error *err);
/* Of a file, for programs. */
const char *directory_path(const struct directory *directory, struct arena *arena,
                           const char *name);
/* Gives a file another name unless another file has that: 1 it has, and nothing has changed; -1
 * with ERROR_NOT_FOUND when there is no such file. */
int directory_rename(const struct directory *directory, const char *from, const char *to,
                     struct error *err);
/* A new file without a name (O_TMPFILE), for its owner alone; -1 with errno. */
int directory_open_unnamed(const struct directory *directory);
/* Can one be made, and get a name?  Nothing is made. */
bool directory_links_unnamed(const struct directory *directory);
/* Gives a file without a name its first one: as directory_rename(). */
int directory_link(const struct directory *directory, int fd, const char *to, struct error *err);
/* As directory_rename(), in one step on every file system, so that of two calls one has the file; a
 * file of the new name is replaced: -1 with ERROR_NOT_FOUND when there is no such file any more. */
int directory_take(const struct directory *directory, const char *from, const char *to,
                   struct error *err);
/* Puts one file in the place of another in one step: 0 the other one has the name `from` now, 1 it
 * is gone; -1 with ERROR_NOT_FOUND when one of them is missing. */
int directory_replace(const struct directory *directory, const char *from, const char *to,
                      struct error *err);
/* The features of a driver that work in this directory. */
unsigned directory_features(const struct directory *directory, unsigned features);
int directory_flush(const struct directory *directory, struct error *err);

/* Does the path still lead to the open directory?  -1 with ERROR_UNAVAILABLE when a mount has come,
 * gone or covers it: the present files stay accessible, but no new ones may be made. */
int directory_check_place(const struct directory *directory, struct error *err);

/* Does the file system accept new files?  -1 with ERROR_UNAVAILABLE when it is read-only, or has
 * stopped after an error; writes nothing. */
int directory_check_writable(const struct directory *directory, struct error *err);

int directory_get_space(const struct directory *directory, double *ret_total_gb,
                        double *ret_free_gb, struct error *err);
/* Of a call that writes there, to be returned: lack of space has the directory in its error, unless
 * it has a path already, as that of a content from elsewhere. */
int directory_result(const struct directory *directory, int result, struct error *err);
/* Is there space for so many more bytes (D2)?  0, or -1 with ERROR_BACKEND. */
int directory_check_space(const struct directory *directory, int64_t bytes, struct error *err);
