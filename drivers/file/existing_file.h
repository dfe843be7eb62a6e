/*
 * Existing files that are managed and unmanaged by renaming: as volumes (volume_file_manage.c) and
 * as snapshots (snapshot_file_manage.c).
 */
#pragma once

#include "drivers/driver_call.h"
#include "drivers/file/directory.h"

struct existing_file {
    const struct directory *directory;
    const char *source; /* its plain name */
    const char *name;   /* its new name, which an earlier call may have given it */
    const char *format; /* the required format */
    const struct driver_fence *fence;
};

/* Why a file of that name cannot be taken over; NULL: the name does not forbid it. */
const char *existing_file_name_refusal(const char *name);
/* The same check of the file itself, for a list: a guest's locks are checked only when it is
 * managed.  *ret_bytes: its size, where known. */
const char *existing_file_refusal(const struct directory *directory, const char *name,
                                  int64_t *ret_bytes);

/* get_manageable() and manage_volume() of driver.h once the names are known. */
int existing_file_probe(const struct existing_file *file, int64_t *ret_bytes, struct error *err);
int existing_file_take(const struct existing_file *file, struct error *err);
