/*
 * What a PostgreSQL server answers, and what a failure means for the session it happened in.
 * Waiting has a deadline, behind which the session counts as lost.
 */
#pragma once

#include "db/postgresql/session.h"

/* Reads the answer to what was sent; NULL: `err` and the session's fate say why. */
PGresult *answer_read(struct session *session, struct error *err);

/* The same for statements that were sent together, up to their end. */
PGresult *answer_read_pipeline(struct session *session, struct error *err);

/* Sets `err`, the failure and the fate; returns -1. */
int answer_lost(struct session *session, const char *why, struct error *err);
int answer_lost_as_told(struct session *session, struct error *err); /* in libpq's words */

/* false: `until_us` (monotonic) came first. `events` are those of poll(). */
bool answer_wait(const PGconn *handle, short events, int64_t until_us);

/* The first line of a message of libpq. */
const char *answer_line(struct arena *arena, const char *message);
