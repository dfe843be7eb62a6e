/*
 * Methods that programs of other volume services may call or cast through the broker: a table with
 * the interface version (3.x) that introduced each.  Arguments are validated like a request's body;
 * the rows decide.
 */
#pragma once

#include "manager/runtime/state.private.h"

/* Result of an rpc_consumer for a message with a version. */
int call_handle(struct manager *manager, const struct rpc_message *message, struct error *err);
