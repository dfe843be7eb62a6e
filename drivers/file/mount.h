/*
 * Mounts: the kernel's table of mounts, and the programs that mount and unmount.
 *
 * Nothing here keeps state; thread-safe.  Text of results lives in the arena.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "config/option.h"

#include <stdbool.h>
#include <stdint.h>

/* Of mounted shares; "mount_table" is also used for other directories. */
extern const struct option mount_options[];

struct mount_entry {
    const char *point;
    const char *type;
    const char *source;
    const char *options; /* of the file system; commas between them */
};

/* The mount of `path` (absolute, without links), from a table of mountinfo's form.  1 found, 0
 * there is none, -1 the table cannot be read. */
int mount_find(struct arena *arena, const char *table, const char *path, struct mount_entry *ret,
               struct error *err);

/* Are locks of other hosts visible?  Not on NFS with nolock or local POSIX locks. */
bool mount_shares_locks(const struct mount_entry *entry);

/* Is the option (without its value) in the comma separated text? */
bool mount_has_option(const char *options, const char *name);

struct mount_programs {
    const char *mount, *umount;
    const char *table;
    int64_t timeout_s; /* the deadline of a run (ERROR_UNAVAILABLE) */
};

/*
 * Mounts an NFS share: version 4.2, then 4.1, then as in `options`; only the last when they name a
 * version.  The whole round up to `attempts` times, a second apart; after a run that times out
 * there is no other.
 */
int mount_nfs(struct arena *arena, const struct mount_programs *programs, const char *share,
              const char *options, const char *point, int64_t attempts, struct error *err);

/* `config`: file of the client, may be NULL. */
int mount_quobyte(struct arena *arena, const struct mount_programs *programs, const char *share,
                  const char *config, const char *point, struct error *err);

/* `lazily`: also when something is open below it. */
int mount_detach(struct arena *arena, const struct mount_programs *programs, const char *point,
                 bool lazily, struct error *err);
