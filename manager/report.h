/*
 * What a manager says of itself and its backends: heartbeat, pools and their room.
 */
#pragma once

#include "manager/state.private.h"

int report_host(const struct manager_host *host, struct error *err);
int report_node(const struct manager *manager, struct error *err);
