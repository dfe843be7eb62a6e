#include "common/log.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/thread.h"
#include "common/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* The largest write that a pipe takes in one piece. */
#define LINE_SIZE PIPE_BUF
/* Reserved for the fields of the context, so that long fields never displace the request id … */
#define CONTEXT_ROOM 512
/* … and for the end of a line: the end of a value, the truncation mark, the line break. */
#define TAIL_ROOM 32

static int log_fd = STDERR_FILENO;
static enum log_format log_form = LOG_TEXT;

static const char *const level_names[] = { "DEBUG", "INFO", "WARNING", "ERROR" };

#define ROOT "scoria"

/* clang-format off */
static struct {
    const char *name, *folder; /* operators set levels by name: it stays when a folder moves */
    _Atomic enum log_level least;
} loggers[] = {
    { ROOT, "", LOG_INFO },
    { ROOT ".api", "api", LOG_INFO },
    { ROOT ".client", "client", LOG_INFO },
    { ROOT ".cmd", "cmd", LOG_INFO },
    { ROOT ".common", "common", LOG_INFO },
    { ROOT ".compute", "compute", LOG_INFO },
    { ROOT ".config", "config", LOG_INFO },
    { ROOT ".csi", "csi", LOG_INFO },
    { ROOT ".data", "data", LOG_INFO },
    { ROOT ".db", "db", LOG_INFO },
    { ROOT ".drivers", "drivers", LOG_INFO },
    { ROOT ".engine", "replication/engine", LOG_INFO },
    { ROOT ".grpc", "grpc", LOG_INFO },
    { ROOT ".http", "http", LOG_INFO },
    { ROOT ".identity", "identity", LOG_INFO },
    { ROOT ".json", "json", LOG_INFO },
    { ROOT ".kubernetes", "kubernetes", LOG_INFO },
    { ROOT ".ledger", "operation", LOG_INFO },
    { ROOT ".manager", "manager", LOG_INFO },
    { ROOT ".policy", "policy", LOG_INFO },
    { ROOT ".provision", "declared", LOG_INFO },
    { ROOT ".replicated", "replicated", LOG_INFO },
    { ROOT ".rpc", "rpc", LOG_INFO },
    { ROOT ".storage", "replication/node", LOG_INFO },
    { ROOT ".volume", "model", LOG_INFO },
};
/* clang-format on */

_Atomic enum log_level log_floor = LOG_INFO;

struct line {
    char text[LINE_SIZE];
    size_t size, limit; /* only the tail is written beyond the limit */
    bool full;          /* a piece did not fit: nothing follows up to the limit */
    bool cut;           /* the line is truncated */
};

static void line_put(struct line *line, const char *bytes, size_t size) {
    if (line->full || line->size + size > line->limit) {
        line->full = line->cut = true;
        return;
    }
    memcpy(line->text + line->size, bytes, size);
    line->size += size;
}

static void line_put_text(struct line *line, const char *text) {
    line_put(line, text, strlen(text));
}

static void line_put_tail(struct line *line, const char *text) {
    size_t size = strlen(text);

    memcpy(line->text + line->size, text, size);
    line->size += size;
}

/* Writes one character, escaped as in JSON where necessary; returns its size in the input. */
static size_t line_put_character(struct line *line, const char *text, size_t size) {
    uint32_t character;
    size_t length = utf8_next(text, size, &character);
    char escaped[8];

    if (length == 0) /* an invalid byte, in hexadecimal; in JSON the backslash itself is escaped */
        snprintf(escaped, sizeof(escaped), log_form == LOG_JSON ? "\\\\x%02x" : "\\x%02x",
                 (unsigned)(unsigned char)*text);
    else if (character == '"' || character == '\\')
        snprintf(escaped, sizeof(escaped), "\\%c", (int)character);
    else if (character == '\n')
        snprintf(escaped, sizeof(escaped), "\\n");
    else if (utf8_is_control(character))
        snprintf(escaped, sizeof(escaped), "\\u%04x", (unsigned)(character & 0xffff));
    else {
        line_put(line, text, length);
        return length;
    }
    line_put_text(line, escaped);
    return length > 0 ? length : 1;
}

static void line_put_escaped(struct line *line, const char *text) {
    size_t size = strlen(text);

    for (size_t i = 0; i < size && !line->full;)
        i += line_put_character(line, text + i, size - i);
}

/* Values without blanks, quotes and control characters are not quoted. */
static bool is_bare(const char *text) {
    const char *c = text;

    while (*c > ' ' && *c < 0x7f && *c != '"' && *c != '\\' && *c != '=')
        c++;
    return c > text && *c == '\0';
}

/* A value is shortened to the space left; a field with a name that does not fit is omitted. */
static void line_put_field(struct line *line, const char *name, const char *value) {
    bool json = log_form == LOG_JSON;
    bool quoted = json || (value && !is_bare(value));
    size_t start = line->size;

    line_put_text(line, json ? ",\"" : " ");
    line_put_text(line, name);
    line_put_text(line, json ? "\":" : "=");
    line_put_text(line, quoted ? "\"" : "");
    if (line->full) {
        line->size = start;
        return;
    }
    line_put_escaped(line, value ? value : "-");
    if (quoted)
        line_put_tail(line, "\"");
}

static void line_put_context(struct line *line, const struct log_context *context) {
    const struct {
        const char *name, *value;
    } fields[] = {
        { "request_id", context->request_id },
        { "project_id", context->project_id },
        { "operation_id", context->operation_id },
    };

    for (size_t i = 0; i < LENGTH(fields); i++) {
        if (fields[i].value)
            line_put_field(line, fields[i].name, fields[i].value);
    }
}

/* Lines that were not written, since the last report of them. */
static atomic_uint lost;
static atomic_int lost_reason;
static atomic_bool torn; /* a part of the last one was */

static bool line_end(struct line *line) {
    bool json = log_form == LOG_JSON;
    size_t done = 0;
    ssize_t written;

    if (line->cut)
        line_put_tail(line, json ? ",\"cut\":true" : " cut=true");
    line_put_tail(line, json ? "}\n" : "\n");
    do {
        written = write(log_fd, line->text + done, line->size - done);
        done += written > 0 ? (size_t)written : 0;
    } while (done < line->size && (written > 0 || (written < 0 && errno == EINTR)));
    if (done == line->size) {
        if (torn)
            torn = false;
        return true;
    }
    lost_reason = errno;
    if (done > 0)
        torn = true;
    return false;
}

static void line_start(struct line *line, enum log_level level, const char *event) {
    bool json = log_form == LOG_JSON;
    char time[CLOCK_TEXT_SIZE];

    line->size = 0;
    line->full = line->cut = false;
    line->limit = LINE_SIZE - TAIL_ROOM - CONTEXT_ROOM;
    if (torn)
        line_put_text(line, "\n");
    line_put_text(line, json ? "{\"time\":\"" : "");
    line_put_text(line, clock_text(clock_now_us(&clock_system), time));
    line_put_text(line, json ? "Z\",\"level\":\"" : "Z ");
    line_put_text(line, level_names[level]);
    line_put_text(line, json ? "\",\"event\":\"" : " ");
    line_put_escaped(line, event);
    line_put_tail(line, json ? "\"" : "");
}

/* Before the first line that can be written again. */
static void report_lost(void) {
    char number[16];
    struct line line;
    unsigned count;

    if (lost == 0) /* as always: the lines of all threads would write to one place */
        return;
    count = atomic_exchange(&lost, 0);
    if (count == 0)
        return;
    snprintf(number, sizeof(number), "%u", count);
    line_start(&line, LOG_WARNING, "log lines lost");
    line_put_field(&line, "lines", number);
    line_put_field(&line, "reason", strerror(lost_reason));
    if (!line_end(&line))
        lost += count;
}

/* ---- loggers ---- */

void log_open(int fd, enum log_level least, enum log_format format) {
    log_fd = fd;
    log_form = format;
    for (unsigned i = 0; i < LENGTH(loggers); i++)
        log_set_level(i, least);
}

bool log_is_open(void) {
    return log_fd >= 0;
}

unsigned log_loggers(void) {
    return LENGTH(loggers);
}

const char *log_logger(unsigned i) {
    return loggers[i].name;
}

enum log_level log_level_of(unsigned i) {
    return loggers[i].least;
}

void log_set_level(unsigned i, enum log_level level) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    enum log_level floor = LOG_ERROR;

    scoped_lock(&lock);
    loggers[i].least = level;
    for (unsigned k = 0; k < LENGTH(loggers); k++)
        if (loggers[k].least < floor)
            floor = loggers[k].least;
    log_floor = floor;
}

const char *log_level_name(enum log_level level) {
    return level_names[level];
}

bool log_level_parse(const char *name, enum log_level *ret) {
    for (unsigned i = 0; i < LENGTH(level_names); i++)
        if (strcasecmp(name, level_names[i]) == 0) {
            *ret = (enum log_level)i;
            return true;
        }
    return false;
}

/* The top folder of a file as the build names it: "db" of "db/clock.c". Every folder has a row
 * (tests/lint/layers.sh); tests and bench use the root logger. */
static unsigned logger_of(const char *file) {
    static const char rest[] = "rest/"; /* serves the rows of api/, and shares its logger */

    if (strncmp(file, rest, strlen(rest)) == 0)
        file = "api/";
    for (unsigned i = 1; i < LENGTH(loggers); i++) {
        size_t length = strlen(loggers[i].folder);

        if (strncmp(loggers[i].folder, file, length) == 0 && file[length] == '/')
            return i;
    }
    return 0;
}

/* ---- events ---- */

static _Thread_local const struct log_context *log_around;

const struct log_context *log_within(const struct log_context *context) {
    const struct log_context *before = log_around;

    log_around = context;
    return before;
}

const char *log_int(int64_t value) {
    static _Thread_local char ring[16][24];
    static _Thread_local unsigned next;
    char *text = ring[next++ % LENGTH(ring)];

    snprintf(text, sizeof(ring[0]), "%" PRId64, value);
    return text;
}

void log_event_of(const char *file, enum log_level level, const struct log_context *context,
                  const char *event, ...) {
    int number = errno;
    const char *name;
    struct line line;
    va_list fields;

    if (log_fd < 0 || level < log_floor || level < loggers[logger_of(file)].least)
        return;
    report_lost();
    line_start(&line, level, event);
    va_start(fields, event);
    while ((name = va_arg(fields, const char *)))
        line_put_field(&line, name, va_arg(fields, const char *));
    va_end(fields);
    line.full = false;
    line.limit = LINE_SIZE - TAIL_ROOM;
    if (!context)
        context = log_around;
    if (context)
        line_put_context(&line, context);
    if (!line_end(&line))
        lost++;
    errno = number;
}
