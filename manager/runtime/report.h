/*
 * Reports of a manager about itself and its backends: heartbeat, pools and their capacity.  They
 * are not flushed: the next one repeats them.
 */
#pragma once

#include "manager/runtime/state.private.h"

int report_host(const struct manager_host *host, struct error *err);
int report_node(const struct manager *manager, struct error *err);
