/*
 * Objects of services and tools built from the configuration: options, the database, the backends,
 * the name of the node.
 */
#pragma once

#include "common/error.h"
#include "config/config.h"
#include "db/db.h"

#include <stdbool.h>

/* Those that fill struct http_server_settings, and struct db_settings. */
extern const struct option service_options[], database_options[];

/* Every option table of the program, ended with NULL. Not thread-safe. */
const struct option *const *parts_option_tables(void);

struct manager_backend;
struct settings;
/* The directory of state_path, created if missing. */
int parts_make_state_directory(const struct config *config, struct error *err);
/* Of a service: creates the database, and migrates it. */
int parts_open_db(const struct config *config, bool inline_writes, struct db **ret,
                  struct error *err);
/* Of a tool: without a writer's thread; a read-only access creates nothing. */
int parts_open_db_as(const struct config *config, enum db_access access, struct db **ret,
                     struct error *err);
/* -1: names the database in an error of an open one. */
int parts_db_context(const struct config *config, struct error *err);
/* Ended with a NULL name, none of them open; to be freed. */
int parts_find_backends(const struct config *config, struct manager_backend **ret,
                        struct error *err);
/*
 * The name of this node in hosts of volumes: option host; otherwise, if the database is the one in
 * the state directory, the name stored there by a manager (machine or container may be renamed, the
 * volumes stay); otherwise the machine's name.
 */
const char *parts_node(const struct config *config);
/* Stores it in the state directory, for the next start; called by the manager, which holds the
 * lock.  Without a stored name the only node in the database counts (a previous program stored
 * none). */
void parts_keep_node(const struct config *config);
/* Replaces the stored name if it is the old one: 1 replaced, 0 it is not. */
int parts_rename_node(const struct config *config, const char *old_node, const char *new_node,
                      struct error *err);
/* Option host, or the machine's name: for parts bound to the machine, such as agents of
 * hypervisors. */
const char *parts_machine(const struct config *config);
/* Of an absolute path; none of them can be listed by others. */
int parts_make_directories(const char *path, struct error *err);
