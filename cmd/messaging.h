/*
 * The rpc engines that the configuration asks for: in this process or through a broker, and for
 * notifications another when they go elsewhere.
 */
#pragma once

#include "config/config.h"
#include "rpc/rpc.h"

struct messaging {
    struct rpc *rpc;    /* all of it */
    struct rpc *broker; /* the part of it that takes messages from a broker, or NULL */
};

/* The broker is not asked yet, so one that is away does not hinder the start. */
int messaging_new(const struct config *config, struct messaging *ret, struct error *err);
/* Messages come in from here on. */
void messaging_start(const struct messaging *messaging);
void messaging_stop(const struct messaging *messaging);
