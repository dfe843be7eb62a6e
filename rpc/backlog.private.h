/*
 * Notifications that wait in the outbox for their broker, and those of them that are too many:
 * above a number of bytes the oldest of the projects with most are deleted.  Work is never counted
 * here.
 *
 * Of one thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct backlog;

struct backlog *backlog_new(void);
void backlog_free(struct backlog *backlog);

void backlog_clear(struct backlog *backlog);
/* In the order of the ids. */
void backlog_add(struct backlog *backlog, int64_t id, const char *project, size_t bytes);
size_t backlog_bytes(const struct backlog *backlog);
/* The ids of those above `bytes_most`, in order, until the next call; returns their number.  They
 * are not counted any more. */
size_t backlog_cut(struct backlog *backlog, size_t bytes_most, const int64_t **ret);
