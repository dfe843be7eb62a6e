/*
 * Two engines as one: messages whose topic begins with one of the prefixes use the second.
 */
#pragma once

#include "rpc/rpc.h"

/* `prefixes` ends with NULL and is copied.  Stopping it stops both. */
struct rpc *rpc_switch_new(struct rpc *first, struct rpc *second, const char *const *prefixes);
