/*
 * The values of all options.
 *
 * The file is cinder.conf's INI form with cinder's key names where the meaning is the same.  What
 * is on the command line (--section.key=value, or --key=value for DEFAULT, '-' and '_' alike) or in
 * the environment (SCORIA_SECTION_KEY, SCORIA_KEY; empty counts as unset, unknown names are
 * nobody's) wins over the file.  An unknown section or key, or a bad value, is refused with file,
 * line and the nearest spelling.  A key that is given twice has the last value.
 */
#pragma once

#include "common/error.h"
#include "config/option.h"

struct config;

/*
 * `tables` ends with NULL and must live as long as the config.  `path` may be NULL (no file).
 * `arguments` are the command line's words that begin with "--", ended with NULL (may be NULL).
 * Fails with ERROR_BAD_REQUEST naming file, line, section, key, reason and the nearest spelling.
 */
int config_load(const struct option *const *tables, const char *path, const char *const *arguments,
                struct config **ret, struct error *err);
void config_free(struct config *config);

/* The file it was read from; NULL when there was none. */
const char *config_file(const struct config *config);

/* Reading; section and key must be in the tables (a bug otherwise: asserts). Thread-safe. */
/* NULL when unset */
const char *config_text(const struct config *config, const char *section, const char *key);
int64_t config_int(const struct config *config, const char *section, const char *key);
double config_float(const struct config *config, const char *section, const char *key);
bool config_bool(const struct config *config, const char *section, const char *key);
/* Item i of a list, trimmed; NULL behind the last. Lives as long as the config. */
const char *config_item(const struct config *config, const char *section, const char *key,
                        size_t i);
/* Was it given by file, environment or command line (and not just the fallback)? */
bool config_given(const struct config *config, const char *section, const char *key);

/* Sets a value as the command line would; for defaults that a subcommand chooses. */
int config_set(struct config *config, const char *section, const char *key, const char *value,
               struct error *err);
