/*
 * Connections given out by os-initialize_connection, which has no attachment to record them: from
 * the request until the host's attachment, or the end of the connection, the host may open the
 * connected file at any moment.  Nothing may remove or replace that file meanwhile (conflict.h).
 *
 * One ends by os-attach, os-terminate_connection, os-unreserve, os-detach, or with its volume, and
 * never by time, as a host that was suspended opens later what it was told before.
 */
#pragma once

#include "model/attachment/attachment.h"

/* `id` names the connect operation; `host` may be NULL.  The caller bounds how many there are by
 * `most`: ERROR_TRY_LATER. */
int connection_give(struct work *work, const char *volume_id, const char *id, const char *host,
                    int64_t most, struct error *err);
/* The backend has answered: earlier ones of the same host end. 1; 0 it was ended meanwhile; -1. */
int connection_confirm(struct work *work, const char *volume_id, const char *id, struct error *err);
/* The backend returned none. */
int connection_refused(struct work *work, const char *id, struct error *err);

/* Those of a host; `host` NULL: every one of the volume. */
int connection_end(struct work *work, const char *volume_id, const char *host, struct error *err);
/* An attachment has replaced it: the one of its host, or without such the oldest. */
int connection_attached(struct work *work, const struct attachment *attachment, struct error *err);

/* May a host without an attachment in use open the volume?  1, 0, or -1.  An attachment that could
 * not be reconnected keeps its former data. */
int connection_is_given(struct work *work, const char *volume_id, struct error *err);
