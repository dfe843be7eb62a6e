/*
 * A file that is filled under a name of its own attempt, or without a name, and gets its final name
 * last, so it is never visible half made.
 */
#pragma once

#include "drivers/file/directory.h"

struct draft {
    const struct directory *directory;
    const char *name;       /* its final name */
    const char *unfinished; /* its present name; NULL when it has none */
    int fd;                 /* after draft_replace() of the replaced file, and not to be read */
};

/* A new, empty file for reading and writing, in place of those of this attempt and of earlier ones:
 * the next copy needs the space of a half-made copy. draft_end() removes it unless it was
 * published. */
int draft_open(const struct directory *directory, struct arena *arena, const char *name,
               unsigned attempt, struct draft *ret, struct error *err);
/* The same without a name, where the directory keeps_unnamed: a crash leaves nothing, and no other
 * worker can remove it.  Drafts of earlier attempts stay. */
int draft_open_unnamed(const struct directory *directory, const char *name, struct draft *ret,
                       struct error *err);
/* Gives it its final name, once it is filled, and flushed unless a flush of the directory has its
 * changes (metadata_order.h).  1: another file has that name by now,
 * and keeps it. */
int draft_publish(struct draft *draft, const struct driver_fence *fence, struct error *err);
/* The same, but replaces the file of that name: ERROR_NOT_FOUND when there is none. */
int draft_replace(struct draft *draft, const struct driver_fence *fence, struct error *err);
void draft_end(struct draft *draft);
/* For a program that this process starts: the draft itself, whichever file has its name by then.
 * A program that creates what is missing would leave a file of that name behind. */
const char *draft_path(const struct draft *draft, struct arena *arena);

/* Reports every draft in the directory, of any attempt, and every overlay that has lost its name
 * while its creation is undone (chain_name_undone()). */
int draft_list(const struct directory *directory, struct arena *arena,
               void (*found)(void *arg, const struct driver_draft *draft), void *arg,
               struct error *err);

#define autodraft __attribute__((cleanup(draft_end)))
