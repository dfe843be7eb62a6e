/*
 * Labels of the devices of volumes: "scoria:", a digest of the capability, ':' and the volume's id.
 */
#pragma once

#include <string.h>

#define NODE_LABEL "scoria:"

/* The volume in a label of the driver; "" for other labels. */
static inline const char *label_volume(const char *label) {
    const char *id = strncmp(label, NODE_LABEL, sizeof(NODE_LABEL) - 1) == 0
                         ? strchr(label + sizeof(NODE_LABEL) - 1, ':')
                         : NULL;

    return id ? id + 1 : "";
}
