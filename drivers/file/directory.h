/*
 * A directory of volume files: where file.c and the drivers of mounted shares keep their volumes.
 *
 * The descriptor stays open and every file is reached through it, so that nothing that happens to
 * the path later leads elsewhere.  Thread-safe after directory_open().
 */
#pragma once

#include "drivers/file/directory_settings.h"

struct directory {
    int fd;
    const char *path; /* absolute */
    const struct directory_settings *settings;
    bool locks_trusted; /* a lock that a guest took on another host is seen here */
    bool gives_back;    /* a part of a file, or nobody knows */
};

/* Makes `path` and what is missing above it; what exists stays as it is. */
int directory_make(const char *path, mode_t mode, struct error *err);
/* `path` and `settings` must outlive `ret`; close(ret->fd) ends it. */
int directory_open(const char *path, const struct directory_settings *settings,
                   struct directory *ret, struct error *err);
/* The mount behind the path was renewed: the same descriptor now means what is there. */
int directory_reopen(const struct directory *directory, struct error *err);
/* Of a file, for programs. */
const char *directory_path(const struct directory *directory, struct arena *arena,
                           const char *name);
/* Gives a file another name unless that is taken: 1 it is, and nothing has changed; -1 with
 * ERROR_NOT_FOUND when there is no such file. */
int directory_rename(const struct directory *directory, const char *from, const char *to,
                     struct error *err);
/* Puts one file in the place of another in one step: 0 the other one has the name `from` now, 1 it
 * is gone; -1 with ERROR_NOT_FOUND when one of them is missing. */
int directory_replace(const struct directory *directory, const char *from, const char *to,
                      struct error *err);
/* What of a driver's features can be done here. */
unsigned directory_features(const struct directory *directory, unsigned features);
int directory_flush(const struct directory *directory, struct error *err);

/* Does the path still lead to what is open?  -1 with ERROR_UNAVAILABLE when a mount has come, gone
 * or covers it: the files that are there stay in reach, but nothing new is to be made. */
int directory_check_place(const struct directory *directory, struct error *err);

int directory_get_room(const struct directory *directory, double *ret_total_gb, double *ret_free_gb,
                       struct error *err);
/* Is there room for so many more bytes (D2)? 0, or -1 with ERROR_BACKEND. */
int directory_check_room(const struct directory *directory, int64_t bytes, struct error *err);
