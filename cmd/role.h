/*
 * The parts of a running service, and the roles in which it can be started.  A role is a row
 * (cmd/commands.c); requirements of the parts, and their order of start and stop, are rows as well
 * (cmd/run.c).
 */
#pragma once

#include "common/arena.h"
#include "config/config.h"

enum {
    PART_API = 1,
    PART_MANAGER = 2, /* takes the lock of the state directory */
    PART_AGENT = 4,
    PART_CSI = 8, /* has its own socket */
    PART_STORAGE = 16,
    PART_KUBERNETES = 64,
    PARTS_STORING = PART_API | PART_MANAGER, /* need the database and messages */
    PARTS_LISTENING = PART_API | PART_AGENT, /* share the one listener of the process */
};

struct listener {
    const char *section, *address, *port; /* its options; --listen sets them */
    const char *told;                     /* the path printed after "ready" */
    const char *agent;                    /* prefix of the agent's paths */
};

/* Of the volume API. */
extern const struct listener listener_api;

/* The URL of a path of a configured listener, for local calls; `port` is the actual one, 0: as
 * configured. */
const char *listener_url(struct arena *arena, const struct config *config,
                         const struct listener *listener, unsigned port, const char *path);

struct role {
    unsigned parts;                  /* 0: a tool */
    unsigned optional;               /* those that an option may disable */
    const struct listener *listener; /* NULL: nothing is exposed */
    const char *const *sections;     /* sections shown by --help; ended with NULL */
};

/* The parts enabled by the configuration. */
unsigned role_parts(const struct role *role, const struct config *config);

/*
 * Starts the parts, prints "ready http://HOST:PORT/v3" (or "ready" without a listener), waits for
 * SIGTERM or SIGINT, drains and stops.  Returns the exit status.
 */
int role_run(const struct role *role, const struct config *config);
