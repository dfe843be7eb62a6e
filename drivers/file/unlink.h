/*
 * The only functions of the file drivers that remove a name (tests/lint/removals.sh).  They do not
 * know volumes: images are removed by removal.h.
 */
#pragma once

/* Removes a name while it leads to the file that is open as `fd` (O_PATH suffices): 0 it is gone,
 * or was; 1 it leads to another file, and stays; -1 with errno. */
int unlink_same(int directory_fd, const char *name, int fd);

/* Removes a name that only one attempt uses, ".….new" (draft.h): 0 it is gone, or was; -1 with
 * errno.  No image has such a name. */
int unlink_draft(int directory_fd, const char *name);
