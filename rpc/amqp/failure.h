/*
 * What went wrong on a connection to the broker, in the words of the broker or of the library.
 * `where` is the broker's address, `what` was to be done.
 */
#pragma once

#include "common/error.h"

#include <amqp.h>

int failure_library(const char *where, int status, const char *what, struct error *err); /* -1 */

/* What the broker says when it closes a channel or the connection; -1. */
int failure_broker(const char *where, const amqp_method_t *method, const char *what,
                   struct error *err);

/* 0 done, 1 the channel was closed, -1 the connection is of no use any more. */
int failure_reply(const char *where, amqp_rpc_reply_t reply, const char *what, struct error *err);

/* As much as there is room for; returns `text`. */
const char *failure_bytes(amqp_bytes_t bytes, char *text, size_t room);
