/*
 * TCP ports of this host at which somebody is connected, as the kernel tells.  One that cannot be
 * asked about passes for one that is.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct connections {
    bool known;
    uint8_t ports[(UINT16_MAX + 1) / 8];
};

void connections_read(struct connections *ret);
bool connections_at(const struct connections *connections, unsigned port);
