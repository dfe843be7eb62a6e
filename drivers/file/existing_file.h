/*
 * Files that somebody else made, taken over by a new name and let go of by another one: as volumes
 * (volume_file_manage.c) and as snapshots (snapshot_file_manage.c).
 */
#pragma once

#include "drivers/driver_call.h"
#include "drivers/file/directory.h"

struct existing_file {
    const struct directory *directory;
    const char *source; /* its name, a plain one */
    const char *name;   /* that it is to get, or has got by an earlier call */
    const char *format; /* that it must have */
    const struct driver_fence *fence;
};

/* Why a file of that name cannot be taken over; NULL: the name does not forbid it. */
const char *existing_file_name_refusal(const char *name);
/* The same of the file itself, for a list: a guest's locks are asked for when it is taken over.
 * *ret_bytes: its size, where it can be told. */
const char *existing_file_why_not(const struct directory *directory, const char *name,
                                  int64_t *ret_bytes);

/* get_manageable() and manage_volume() of driver.h once the names are known. */
int existing_file_look(const struct existing_file *file, int64_t *ret_bytes, struct error *err);
int existing_file_take(const struct existing_file *file, struct error *err);
