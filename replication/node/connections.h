/*
 * TCP ports of this host with established connections, from the kernel.  A port counts as connected
 * when the kernel's table cannot be read.
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
