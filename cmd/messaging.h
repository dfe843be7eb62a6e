/*
 * The configured rpc engines: in this process or through a broker, and possibly another one for
 * notifications.
 */
#pragma once

#include "config/config.h"
#include "rpc/rpc.h"

struct messaging {
    struct rpc *rpc;    /* all messages */
    struct rpc *broker; /* the part that receives messages from a broker, or NULL */
};

/* Does not connect to the broker, so an unreachable one does not prevent the start. */
int messaging_new(const struct config *config, struct messaging *ret, struct error *err);
/* Starts receiving messages. */
void messaging_start(const struct messaging *messaging);
void messaging_stop(const struct messaging *messaging);
