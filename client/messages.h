/*
 * User messages in the volume API (volumes_client()): reasons of failures.  Failures as in
 * client.h.
 */
#pragma once

#include "client/client.h"

struct remote_message {
    const char *event_id, *text;
};

/* The newest one about the object with this id: 1, 0 there is none (*ret is unchanged), -1. */
int messages_newest(const struct client *api, struct arena *arena, const char *resource_id,
                    struct remote_message *ret, struct error *err);
