/*
 * What services and tools make from the configuration: options, the database, the backends, the
 * name of the node.
 */
#pragma once

#include "common/error.h"
#include "config/config.h"
#include "db/db.h"

#include <stdbool.h>

/* Every option table of the program, ended with NULL. Not thread-safe. */
const struct option *const *parts_option_tables(void);

struct manager_backend;
struct settings;
/* The directory of state_path, made where it is missing. */
int parts_make_state_directory(const struct config *config, struct error *err);
/* Of a service: the database is made, and migrated. */
int parts_open_db(const struct config *config, bool inline_writes, struct db **ret,
                  struct error *err);
/* Of a tool: no writer's thread, and with an access that only reads nothing is made. */
int parts_open_db_as(const struct config *config, enum db_access access, struct db **ret,
                     struct error *err);
/* Ended with a NULL name, none of them open; for free(). */
int parts_find_backends(const struct config *config, struct manager_backend **ret,
                        struct error *err);
/*
 * The name of this node as hosts of volumes have it: option host; else, where the database is the
 * one in the state directory, the name that a manager has kept there (a machine or a container may
 * get another one, the volumes do not); else the machine's name.
 */
const char *parts_node(const struct config *config);
/* Keeps it in the state directory, for the next start; for the manager, which holds the lock.
 * Where none is kept yet the only node of the database counts (a program before kept none). */
void parts_keep_node(const struct config *config);
/* The kept name, if it is the old one, is the new one from now on. */
int parts_rename_node(const struct config *config, const char *old_node, const char *new_node,
                      struct error *err);
/* Option host, or the machine's name: of what goes by machines, as agents of hypervisors. */
const char *parts_machine(const struct config *config);
/* Of an absolute path; none of them can be listed by others. */
int parts_make_directories(const char *path, struct error *err);
