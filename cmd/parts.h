/*
 * The parts of a running service, made from the configuration; a subcommand says which roles it
 * plays.  Nothing here decides anything: it wires.
 */
#pragma once

#include "common/error.h"
#include "config/option.h"

#include <stdbool.h>

struct roles {
    bool api, manager, agent;
};

/* Every option table of the program, ended with NULL. Not thread-safe. */
const struct option *const *parts_option_tables(void);

/*
 * Starts the roles, prints "ready http://HOST:PORT/v3" (or "ready" without an API), waits for
 * SIGTERM or SIGINT, drains and ends. Returns the exit status.
 */
int parts_run(const struct config *config, struct roles roles);

/* What tools need: the database, and the backends when asked. */
struct manager_backend;
struct db;
struct settings;
int parts_open_db(const struct config *config, bool inline_writes, struct db **ret,
                  struct error *err);
/* For looking and for tools of the database: no writer's thread. `as_it_is`: its schema stays. */
int parts_open_db_as(const struct config *config, bool as_it_is, struct db **ret,
                     struct error *err);
/* Ended with a NULL name; not open. */
int parts_find_backends(const struct config *config, struct manager_backend **ret,
                        struct error *err);
/* The same, every one opened. parts_close_backends() closes those and frees. */
int parts_open_backends(const struct config *config, struct manager_backend **ret,
                        struct error *err);
void parts_close_backends(struct manager_backend *backends);
/* Option host, or the machine's name. */
const char *parts_node(const struct config *config);
