/*
 * User messages in the volume API as we call it (volumes_client()): why what went on there failed.
 */
#pragma once

#include "client/client.h"

struct remote_message {
    const char *event_id, *text;
};

/* The newest about what has the id: 1, 0 there is none (*ret stays), -1. */
int messages_newest(const struct client *api, struct arena *arena, const char *resource_id,
                    struct remote_message *ret, struct error *err);
