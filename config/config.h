/*
 * The values of all options.
 *
 * The file has the INI form of cinder.conf, with its key names where the meaning is the same.  The
 * command line (--section.key=value, or --key=value for DEFAULT, '-' and '_' alike) and the
 * environment (SCORIA_SECTION_KEY, SCORIA_KEY; empty counts as unset, unknown names are ignored)
 * override the file.  An unknown section or key, or a bad value, is refused with file, line and the
 * nearest spelling.  Of a repeated key the last value is used.
 */
#pragma once

#include "common/error.h"
#include "config/option.h"

struct config;

/*
 * `tables` ends with NULL and must live as long as the config.  `path` may be NULL (no file).
 * `arguments` are the command line arguments that begin with "--", ended with NULL (may be NULL).
 * Fails with ERROR_BAD_REQUEST naming file, line, section, key, reason and the nearest spelling.
 */
int config_load(const struct option *const *tables, const char *path, const char *const *arguments,
                struct config **ret, struct error *err);
void config_free(struct config *config);

/* The path of the file; NULL when there was none. */
const char *config_file(const struct config *config);

/* The values; section and key must be in the tables, otherwise an assertion fails.  Thread-safe. */
/* NULL when unset */
const char *config_text(const struct config *config, const char *section, const char *key);
int64_t config_int(const struct config *config, const char *section, const char *key);
double config_float(const struct config *config, const char *section, const char *key);
bool config_bool(const struct config *config, const char *section, const char *key);
/* Item i of a list, trimmed; NULL after the last.  Lives as long as the config. */
const char *config_item(const struct config *config, const char *section, const char *key,
                        size_t i);
/* Was it set by file, environment or command line, rather than by default? */
bool config_given(const struct config *config, const char *section, const char *key);

/* Writes the values of the rows with OPTION_FILLS() to their members of `ret`; texts live as long
 * as the config.  `section`: of a backend or a pool, its name; NULL: each row's own. */
void config_fill(const struct config *config, const char *section, const struct option *options,
                 void *ret);

/* Sets a value like the command line; for defaults that a subcommand chooses. */
int config_set(struct config *config, const char *section, const char *key, const char *value,
               struct error *err);
