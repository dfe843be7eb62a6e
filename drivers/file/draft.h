/*
 * A file that is filled under a name of its own attempt and gets its name last, so that nobody ever
 * finds it half made.
 */
#pragma once

#include "drivers/file/directory.h"

struct draft {
    const struct directory *directory;
    const char *name;       /* that it is to get */
    const char *unfinished; /* that it has; NULL when it has no more */
    int fd;                 /* after draft_replace() of what was replaced, and to be read no more */
};

/* A new, empty file for reading and writing, in place of what this attempt and those before have
 * left: the room of a copy that was half made is needed for the next.  draft_end() takes it away
 * again unless it was published. */
int draft_open(const struct directory *directory, struct arena *arena, const char *name,
               unsigned attempt, struct draft *ret, struct error *err);
/* Gives it its name, when it is filled and flushed.  1: somebody else has that name by now, and
 * keeps it. */
int draft_publish(struct draft *draft, const struct driver_fence *fence, struct error *err);
/* The same, but what has the name goes: ERROR_NOT_FOUND when nothing has. */
int draft_replace(struct draft *draft, const struct driver_fence *fence, struct error *err);
void draft_end(struct draft *draft);

/* Tells of every draft in the directory, of whatever attempt, and of every overlay that has lost
 * its name while its making is undone (chain_name_undone()). */
int draft_list(const struct directory *directory, struct arena *arena,
               void (*found)(void *arg, const struct driver_draft *draft), void *arg,
               struct error *err);

#define autodraft __attribute__((cleanup(draft_end)))
