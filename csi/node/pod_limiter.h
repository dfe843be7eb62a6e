/*
 * Applies the I/O limits that the volume API defines for the volumes staged on this node to its
 * pods: the API is queried periodically, and as soon as a volume is staged or unstaged.
 *
 * The limits are set on the volume's loop device, for the cgroup of all pods.  Nothing is stored:
 * labels identify the devices.  While the API does not respond, nothing changes.
 */
#pragma once

#include "client/client.h"

struct pod_limiter;

struct pod_limiter_settings {
    struct client api;
    const char *host;  /* this node, as in attachments */
    const char *group; /* directory of the cgroup */
    int64_t pause_ms;  /* between two queries */
};

/* Starts immediately, in a thread of its own. */
struct pod_limiter *pod_limiter_new(const struct pod_limiter_settings *settings);
/* A volume was staged or unstaged.  NULL is fine. */
void pod_limiter_wake(struct pod_limiter *limiter);
void pod_limiter_free(struct pod_limiter *limiter); /* NULL is fine */
