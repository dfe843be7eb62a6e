/*
 * The names of files: "volume-<name id>" of a volume, "snapshot-<name id>" of a snapshot, which
 * does not depend on what its volume is called, and the same as ".….new" for what takes long to make
 * meanwhile, so a half-made file is never taken for either.
 */
#pragma once

#include "drivers/driver_call.h"
#include "drivers/file/directory.h"

#define VOLUME_NAME_PREFIX   "volume-"
#define SNAPSHOT_NAME_PREFIX "snapshot-"
/* Of what is nobody's again, in front of the id of what it was: a file or a snapshot in a chain. */
#define UNMANAGED_NAME_PREFIX DRIVER_UNMANAGED_PREFIX
bool volume_name_is_nobodys(const char *name);

/* May the id stand in a file's name: letters, digits, '-' and '_', at most 64? */
bool volume_name_fits(const char *name_id);
/* NULL when it may not. */
const char *volume_name(struct arena *arena, const char *name_id, struct error *err);
const char *snapshot_name(struct arena *arena, const char *name_id, struct error *err);
/* Of the half-made file of one worker; `attempt` as in struct driver_volume. */
const char *volume_name_unfinished(struct arena *arena, const char *name, unsigned attempt);

/* Every name of the directory that begins so, with the rest of it. */
int volume_name_each(const struct directory *directory, const char *begins,
                     void (*each)(void *arg, const char *rest), void *arg, struct error *err);

/* Says that there may be one of this attempt, before it is made. */
int volume_name_note_attempt(const struct directory *directory, struct arena *arena,
                             const char *name, unsigned attempt, struct error *err);
/* The half-made file of one worker; a name that is not there is no failure. */
int volume_name_remove_draft(const struct directory *directory, struct arena *arena,
                             const char *name, unsigned attempt, struct error *err);
/* Those of the workers before this one: a later worker's stay. */
int volume_name_remove_earlier(const struct directory *directory, struct arena *arena,
                               const char *name, unsigned attempt, struct error *err);
/* Every worker's. */
int volume_name_remove_unfinished(const struct directory *directory, struct arena *arena,
                                  const char *name, struct error *err);
