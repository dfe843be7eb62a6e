/*
 * One line for each event worth an operator's night, with fields.
 *
 *     log_info(&context->log, "extend done", "volume_id", id, "size_gb", LOG_INT(size), NULL);
 *
 * Field names and values come in pairs and end with NULL; a NULL value is printed as "-".  Request
 * id, project and operation come from the log_context, or where a line names none (NULL) from that
 * of what its thread works for (log_within()): a driver knows of no request, and its lines name it.
 * Lines are written whole with one write(2), so threads never mix them.  Control characters and
 * quotes in values are escaped: a client cannot forge a line.  A line of more than 4096 bytes is
 * cut and says so (cut=true), its context stays.  Values of secrets never come here.
 *
 * A line that cannot be written (a full disk, one that fails) is lost, without a delay; the number
 * of such lines stands before the next one that can be written ("log lines lost").
 *
 * Forms (option log_format): text "2026-11-21T09:08:07.123456Z INFO extend done volume_id=… …",
 * json (one object a line).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR };
enum log_format { LOG_TEXT, LOG_JSON };

struct log_context {
    const char *request_id; /* each may be NULL */
    const char *project_id;
    const char *operation_id;
};

/* Called once, before threads start: every logger has the level `least`. `fd` is 2 for stderr; -1
 * disables logging (tests). */
void log_open(int fd, enum log_level least, enum log_format format);
bool log_is_open(void); /* lines are written */

/*
 * Each folder of the sources has a logger: "scoria.manager", "scoria.volume", …; its name stays
 * when the folder moves; other files use "scoria". Levels may change at any time, from any thread.
 */
unsigned log_loggers(void); /* their number; the i-th in alphabetical order: */
const char *log_logger(unsigned i);
enum log_level log_level_of(unsigned i);
void log_set_level(unsigned i, enum log_level level);

/* "DEBUG", "INFO", "WARNING", "ERROR"; parsed without regard to case. */
const char *log_level_name(enum log_level level);
bool log_level_parse(const char *name, enum log_level *ret);

/* A number as text, in a ring of buffers of the calling thread: valid during one log call. */
const char *log_int(int64_t value);
#define LOG_INT(value) log_int((int64_t)(value))

/* Sets the context of this thread's log lines; `context` must outlive it.  NULL: no request, as in
 * periodic work.  Returns the previous one, to be restored. */
const struct log_context *log_within(const struct log_context *context);

/* The lowest level of all loggers: the fields of an event below it are not even evaluated. */
extern _Atomic enum log_level log_floor;

/* `file` is __FILE__: its folder selects the logger. */
void log_event_of(const char *file, enum log_level level, const struct log_context *context,
                  const char *event, ...) __attribute__((sentinel));

#define log_event(level, context, ...) \
    ((level) < log_floor ? (void)0 : log_event_of(__FILE__, level, context, __VA_ARGS__))

#define log_debug(context, ...)   log_event(LOG_DEBUG, context, __VA_ARGS__)
#define log_info(context, ...)    log_event(LOG_INFO, context, __VA_ARGS__)
#define log_warning(context, ...) log_event(LOG_WARNING, context, __VA_ARGS__)
#define log_error(context, ...)   log_event(LOG_ERROR, context, __VA_ARGS__)
