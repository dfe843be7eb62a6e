/*
 * Labels of the devices of volumes: "scoria:", a digest of the capability, ':' and the volume's id.
 */
#pragma once

#include <string.h>

#define NODE_LABEL "scoria:"

/* Whose device a label of ours says that it is; "" of another. */
static inline const char *label_volume(const char *label) {
    const char *id = strncmp(label, NODE_LABEL, sizeof(NODE_LABEL) - 1) == 0
                         ? strchr(label + sizeof(NODE_LABEL) - 1, ':')
                         : NULL;

    return id ? id + 1 : "";
}
