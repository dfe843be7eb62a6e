/*
 * Holds the pods of this node to what the volume API says of the volumes that are staged here: it
 * is asked once in a while, and as soon as one is staged or unstaged.
 *
 * What is limited is the volume's loop device, for the group of all pods.  Nothing is kept: labels
 * of devices say whose they are.  While the API does not answer, everything stays.
 */
#pragma once

#include "client/client.h"

struct holder;

struct holder_settings {
    struct client api;
    const char *host;  /* this node, as volumes are attached to it */
    const char *group; /* directory of the cgroup */
    int64_t pause_ms;  /* between two looks */
};

/* Begins at once, in a thread of its own. */
struct holder *holder_new(const struct holder_settings *settings);
/* Something was staged, or is no more.  NULL is fine. */
void holder_wake(struct holder *holder);
void holder_free(struct holder *holder); /* NULL is fine */
