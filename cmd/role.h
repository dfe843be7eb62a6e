/*
 * What a running service is made of, and the roles that it can be started in.  A role is a row
 * (cmd/commands.c); what each part needs beside it, and in which order they start and end, are rows
 * as well (cmd/run.c).
 */
#pragma once

#include "common/arena.h"
#include "config/config.h"

enum {
    PART_API = 1,
    PART_MANAGER = 2, /* takes the lock of the state directory */
    PART_AGENT = 4,
    PART_CSI = 8, /* has a socket of its own */
    PART_STORAGE = 16,
    PART_KUBERNETES = 64,
    PARTS_STORING = PART_API | PART_MANAGER, /* need the database and messages */
    PARTS_LISTENING = PART_API | PART_AGENT, /* are exposed, by the one listener of the process */
};

struct listener {
    const char *section, *address, *port; /* its options; --listen sets them */
    const char *told;                     /* the path that "ready" tells */
    const char *agent;                    /* the path before the agent's own */
};

/* Of the volume API. */
extern const struct listener listener_api;

/* The URL of a path behind a listener of this configuration, as it is called from here; `port` is
 * the one that it has got, 0: as configured. */
const char *listener_url(struct arena *arena, const struct config *config,
                         const struct listener *listener, unsigned port, const char *path);

struct role {
    unsigned parts;                  /* 0: no service, a tool */
    unsigned optional;               /* those of them that an option leaves out */
    const struct listener *listener; /* NULL: nothing is exposed */
    const char *const *sections;     /* whose options --help shows; ended with NULL */
};

/* Those that the configuration leaves. */
unsigned role_parts(const struct role *role, const struct config *config);

/*
 * Starts the parts, prints "ready http://HOST:PORT/v3" (or "ready" without a listener), waits for
 * SIGTERM or SIGINT, drains and ends. Returns the exit status.
 */
int role_run(const struct role *role, const struct config *config);
