/*
 * A directory of volume files: where file.c and the drivers of mounted shares keep their volumes.
 *
 * The descriptor stays open and every file is reached through it, so that nothing that happens to
 * the path later leads elsewhere.  Thread-safe after directory_open().
 */
#pragma once

#include "drivers/driver.h"
#include "drivers/file/qemu_img.h"

#include <sys/types.h>

struct directory_settings {
    struct qemu_img qemu_img;
    bool sparse;                  /* raw: blocks are taken when they are written */
    bool qcow2;                   /* format of new volumes; else raw */
    mode_t mode;                  /* of new files */
    bool over_subscription_given; /* by the backend's own section: then it is reported */
    double over_subscription;     /* sparse files may grow to this multiple of the free room */
    int64_t reserved_percent;     /* of the whole room, kept free */
};

struct directory {
    int fd;
    const char *path; /* absolute */
    const struct directory_settings *settings;
    bool locks_trusted; /* a lock that a guest took on another host is seen here */
};

/* What driver_options say of a backend; the rest is the driver's own. */
void directory_settings_load(const struct driver_backend *backend, struct directory_settings *ret);
/* How much room a backend with such settings reports beside its numbers; a new reference. */
json_t *directory_capabilities(const struct directory_settings *settings, unsigned features);

/* Makes `path` and what is missing above it; what exists stays as it is. */
int directory_make(const char *path, mode_t mode, struct error *err);
/* `path` and `settings` must outlive `ret`; close(ret->fd) ends it. */
int directory_open(const char *path, const struct directory_settings *settings,
                   struct directory *ret, struct error *err);
/* The mount behind the path was renewed: the same descriptor now means what is there. */
int directory_reopen(const struct directory *directory, struct error *err);
/*
 * Is it the directory that the backend's volumes are in, and not the empty place of a mount that is
 * missing, or another mount?  It is when it has the backend's marker, ".scoria-<name>".  One without
 * gets it if it has a volume of the backend, or if there is none that was made (at `location`;
 * NULL: anywhere).  Otherwise it is refused (ERROR_UNAVAILABLE): a volume that is not found there
 * is not a volume that is gone.  Does nothing for who only looks.
 */
int directory_claim(const struct directory *directory, const struct driver_backend *backend,
                    const char *location, struct error *err);
/* Gives a file another name unless that is taken: 1 it is, and nothing has changed; -1 with
 * ERROR_NOT_FOUND when there is no such file. */
int directory_rename(const struct directory *directory, const char *from, const char *to,
                     struct error *err);
int directory_flush(const struct directory *directory, struct error *err);

int directory_get_room(const struct directory *directory, double *ret_total_gb, double *ret_free_gb,
                       struct error *err);
/* Is there room for so many more bytes (D2)? 0, or -1 with ERROR_BACKEND. */
int directory_check_room(const struct directory *directory, int64_t bytes, struct error *err);

/* Every volume file; -1 for the size of one that only its record can tell (see volume_file.h). */
int directory_list(const struct directory *directory,
                   void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg,
                   struct error *err);
