#include "replication/node/connections.h"

#include "common/cleanup.h"

#include <stdio.h>

#define ESTABLISHED 0x01

/* "  0: 0100007F:1F90 0100007F:C350 01 …", after a heading */
static bool read_table(const char *path, struct connections *connections) {
    autofile FILE *file = fopen(path, "re");
    char line[512];

    while (file && fgets(line, sizeof(line), file)) {
        unsigned port, state;

        if (sscanf(line, " %*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x", &port, &state) == 2 &&
            port <= UINT16_MAX && state == ESTABLISHED)
            connections->ports[port / 8] |= (uint8_t)(1u << port % 8);
    }
    return file && !ferror(file);
}

/* A kernel without IPv6 has no table of it. */
void connections_read(struct connections *ret) {
    *ret = (struct connections){ 0 };
    ret->known = read_table("/proc/self/net/tcp", ret);
    if (access("/proc/self/net/tcp6", F_OK) == 0)
        ret->known = read_table("/proc/self/net/tcp6", ret) && ret->known;
}

bool connections_at(const struct connections *connections, unsigned port) {
    return !connections->known || port > UINT16_MAX ||
           (connections->ports[port / 8] & 1u << port % 8);
}
