/*
 * What other volume services' programs may call or cast through the broker: a table of methods,
 * each with the version of the interface (3.x) that brought it.  Arguments are checked like a
 * request's body; whatever they say, the rows decide.
 */
#pragma once

#include "manager/state.private.h"

/* An rpc_consumer's answer to a message that has a version. */
int call_handle(struct manager *manager, const struct rpc_message *message, struct error *err);
