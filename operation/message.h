/*
 * User messages: every asynchronous failure is reported to the user (messages API, D18).
 */
#pragma once

#include "operation/query.h"

struct operation;

struct message {
    const char *id, *project_id, *request_id, *resource_type, *resource_uuid;
    const char *action_id, *detail_id, *level;
    const char *reason; /* one more sentence; may be NULL */
    int64_t created_at, expires_at;
};

/* Of `message` all but id, level and instants. */
int message_insert(struct work *work, const struct message *message, struct error *err);

/* Actions and details by number ("007", "010"); lives for settings.message_ttl_s. */
int message_put(struct work *work, const char *project_id, const char *request_id,
                const char *volume_id, const char *action_id, const char *detail_id,
                struct error *err);
/* The same about a resource of another type ("VOLUME_SNAPSHOT"). */
int message_put_of(struct work *work, const char *project_id, const char *request_id,
                   const char *type, const char *id, const char *action_id, const char *detail_id,
                   struct error *err);
/* Of a failed operation, about its volume, or its object of another type.  Where the failure (NULL:
 * none that a user should read) is lack of space, the message says so. */
int message_put_failed(struct work *work, const struct operation *held, const char *detail_id,
                       const struct error *failure, struct error *err);
int message_put_failed_of(struct work *work, const struct operation *held, const char *type,
                          const char *detail_id, const struct error *failure, struct error *err);
/* The same with a sentence of the caller's (NULL: none). */
int message_put_reason(struct work *work, const struct operation *held, const char *detail_id,
                       const char *reason, struct error *err);
/* Adds a sentence to the message about that resource in this request. */
int message_explain(struct work *work, const char *resource_id, const char *reason,
                    struct error *err);
/* Never NULL: unknown numbers have a text too. */
const char *message_action_text(const char *action_id);
const char *message_detail_text(const char *detail_id);

/* Of the caller's project, or any for an admin; else ERROR_NOT_FOUND. */
int message_get(struct work *work, const char *id, struct message *ret, struct error *err);
int message_list(struct work *work, const struct query *query, struct message **ret,
                 struct error *err); /* alias m */
int message_delete(struct work *work, const char *id, struct error *err);
int message_expire(struct work *work, struct error *err); /* deletes expired messages; how many */
