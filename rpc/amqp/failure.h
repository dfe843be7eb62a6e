/*
 * Errors of a connection to the broker, with the message of the broker or of the library.  `where`
 * is the broker's address, `what` the attempted action.
 */
#pragma once

#include "common/error.h"

#include <amqp.h>

int failure_library(const char *where, int status, const char *what, struct error *err); /* -1 */

/* Reason of the broker for closing a channel or the connection; -1. */
int failure_broker(const char *where, const amqp_method_t *method, const char *what,
                   struct error *err);

/* 0 done, 1 the channel was closed, -1 the connection is lost. */
int failure_reply(const char *where, amqp_rpc_reply_t reply, const char *what, struct error *err);

/* Truncates to the buffer; returns `text`. */
const char *failure_bytes(amqp_bytes_t bytes, char *text, size_t room);
