/*
 * Names of files: "volume-<name id>" of a volume, "snapshot-<name id>" of a snapshot, independent
 * of its volume's name, and ".….new" for drafts, so a half-made file is never taken for either.
 */
#pragma once

#include "drivers/driver_call.h"
#include "drivers/file/directory.h"

#define VOLUME_NAME_PREFIX   "volume-"
#define SNAPSHOT_NAME_PREFIX "snapshot-"
/* Before the id, in the name of an unmanaged file or snapshot in a chain. */
#define UNMANAGED_NAME_PREFIX DRIVER_UNMANAGED_PREFIX
bool volume_name_is_nobodys(const char *name);

/* Is the id valid in a file's name: letters, digits, '-' and '_', at most 64? */
bool volume_name_fits(const char *name_id);
/* NULL when it is not. */
const char *volume_name(struct arena *arena, const char *name_id, struct error *err);
const char *snapshot_name(struct arena *arena, const char *name_id, struct error *err);
/* Of the draft of one worker; `attempt` as in struct driver_volume. */
const char *volume_name_unfinished(struct arena *arena, const char *name, unsigned attempt);

/* Every name of the directory that begins so, with the rest of it. */
int volume_name_each(const struct directory *directory, const char *begins,
                     void (*each)(void *arg, const char *rest), void *arg, struct error *err);

/* Notes that a draft of this attempt may exist, before it is made. */
int volume_name_note_attempt(const struct directory *directory, struct arena *arena,
                             const char *name, unsigned attempt, struct error *err);
/* The draft of one worker; a missing file is no failure. */
int volume_name_remove_draft(const struct directory *directory, struct arena *arena,
                             const char *name, unsigned attempt, struct error *err);
/* Those of earlier workers: a later worker's stay. */
int volume_name_remove_earlier(const struct directory *directory, struct arena *arena,
                               const char *name, unsigned attempt, struct error *err);
/* Every worker's. */
int volume_name_remove_unfinished(const struct directory *directory, struct arena *arena,
                                  const char *name, struct error *err);
