/*
 * What services and tools make from the configuration: options, the database, the backends, the
 * name of the node.
 */
#pragma once

#include "common/error.h"
#include "config/config.h"

#include <stdbool.h>

/* Every option table of the program, ended with NULL. Not thread-safe. */
const struct option *const *parts_option_tables(void);

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
