/*
 * One line for each event worth an operator's night, with fields.
 *
 *     log_info(&context->log, "extend done", "volume_id", id, "size_gb", LOG_INT(size), NULL);
 *
 * Field names and values come in pairs and end with NULL; a NULL value is printed as "-".  Request
 * id, project and operation come from the log_context.  Lines are written whole with one write(2),
 * so threads never mix them.  Control characters and quotes in values are escaped: a client cannot
 * forge a line.  A line of more than 4096 bytes is cut and says so (cut=true), its context stays.
 * Values of secrets never come here.
 *
 * Forms (option log_format): text "2026-11-21T09:08:07.123456Z INFO extend done volume_id=… …",
 * json (one object a line).
 */
#pragma once

#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR };
enum log_format { LOG_TEXT, LOG_JSON };

struct log_context {
    const char *request_id; /* each may be NULL */
    const char *project_id;
    const char *operation_id;
};

/* Set once, before threads start. `fd` is 2 for stderr; -1 silences everything (tests). */
void log_open(int fd, enum log_level least, enum log_format format);

/* Text of a number, in a ring of buffers of the calling thread: good for one log call. */
const char *log_int(int64_t value);
#define LOG_INT(value) log_int((int64_t)(value))

void log_event(enum log_level level, const struct log_context *context, const char *event, ...)
    __attribute__((sentinel));

#define log_debug(context, ...)   log_event(LOG_DEBUG, context, __VA_ARGS__)
#define log_info(context, ...)    log_event(LOG_INFO, context, __VA_ARGS__)
#define log_warning(context, ...) log_event(LOG_WARNING, context, __VA_ARGS__)
#define log_error(context, ...)   log_event(LOG_ERROR, context, __VA_ARGS__)
