/*
 * The subcommands of scoria manage; each prints a table or JSON and returns the exit status.
 */
#pragma once

#include "cmd/command.h"

#include <jansson.h>

extern const struct command_word manage_words[];
int manage_run(const struct command *command, const struct config *config,
               const char *const *words);

/* Output of --format json; takes over the list. */
void manage_print_json(json_t *list);

int manage_check(const struct config *config, bool json);
int manage_operations(const struct config *config, bool json);
int manage_db_sync(const struct config *config, bool json);
int manage_db_version(const struct config *config, bool json);
int manage_db_copy(const struct config *config, bool json);
/* `words`: the old name and the new one, and --dry-run. */
int manage_host_rename(const struct config *config, const char *const *words, bool json);
/* `words`: cinder.conf or the address of Cinder's database, --backend=THEIRS=OURS and --apply. */
int manage_import_cinder(const struct config *config, const char *const *words, bool json);
int manage_routes(const struct config *config, bool json);
int manage_drivers(const struct config *config, bool json);
/* `words`: a kind and a name, and the options of manage_talk.h. */
int manage_apply(const struct config *config, const char *const *words, bool json);
int manage_get(const struct config *config, const char *const *words, bool json);
int manage_describe(const struct config *config, const char *const *words, bool json);
int manage_delete(const struct config *config, const char *const *words, bool json);
int manage_drain(const struct config *config, const char *const *words, bool json);
int manage_salvage(const struct config *config, const char *const *words, bool json);
int manage_wait(const struct config *config, const char *const *words, bool json);
