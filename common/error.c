#include "common/error.h"

#include "common/assert.h"
#include "common/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define ITS_OWN_TEXT NULL
#define SEE_LOG      "The request id names the entry in the log."

static const struct kind {
    const char *fault, *told; /* told NULL: the message itself is meant for clients */
    int status;
} kinds[ERROR_KINDS] = {
#define ERROR(kind, status_, fault_, told_) [ERROR_##kind] = { fault_, told_, status_ },
#include "common/error.def"
#undef ERROR
};

/* Unclassified failures are internal errors. */
static const struct kind *kind_find(enum error_kind kind) {
    assert(kind < ERROR_KINDS);
    return &kinds[kind == ERROR_NONE ? ERROR_INTERNAL : kind];
}

/* The parts may point into err->message, which is written once the new text is complete. */
static void set_message(struct error *err, const char *front, const char *separator,
                        const char *back) {
    char text[2 * sizeof(err->message)];
    int length = snprintf(text, sizeof(text), "%s%s%s", front, separator, back);
    size_t kept = utf8_cut(text, (size_t)length, sizeof(err->message) - 1);
    uint32_t character;

    /* output of programs and libraries need not be UTF-8, a message must be */
    for (size_t i = 0, step; i < kept; i += step) {
        step = utf8_next(text + i, kept - i, &character);
        if (step == 0) {
            text[i] = '?';
            step = 1;
        }
    }
    memcpy(err->message, text, kept);
    err->message[kept] = '\0';
}

/* One byte more than a message, so that set_message() detects truncation. */
#define FORMAT_SIZE (sizeof(((struct error *)NULL)->message) + 1)

static void format_text(char text[FORMAT_SIZE], const char *format, va_list values)
    __attribute__((format(printf, 2, 0)));

static void format_text(char text[FORMAT_SIZE], const char *format, va_list values) {
    if (vsnprintf(text, FORMAT_SIZE, format, values) < 0)
        text[0] = '\0';
}

static void error_set_list(struct error *err, enum error_kind kind, const char *format,
                           va_list values) __attribute__((format(printf, 3, 0)));

static void error_set_list(struct error *err, enum error_kind kind, const char *format,
                           va_list values) {
    char text[FORMAT_SIZE];

    if (!err)
        return;
    format_text(text, format, values);
    err->kind = kind;
    set_message(err, text, "", "");
}

#undef error_set
int error_set(struct error *err, enum error_kind kind, const char *format, ...) {
    va_list values;

    va_start(values, format);
    error_set_list(err, kind, format, values);
    va_end(values);
    return -1;
}

int error_if_none(int count, struct error *err, enum error_kind kind, const char *format, ...) {
    va_list values;

    if (count != 0)
        return count < 0 ? -1 : 0;
    va_start(values, format);
    error_set_list(err, kind, format, values);
    va_end(values);
    return -1;
}

int error_if_any(int count, struct error *err, enum error_kind kind, const char *format, ...) {
    va_list values;

    if (count <= 0)
        return count;
    va_start(values, format);
    error_set_list(err, kind, format, values);
    va_end(values);
    return -1;
}

#undef error_errno
int error_errno(struct error *err, enum error_kind kind, const char *format, ...) {
    int number = errno;
    char text[FORMAT_SIZE], reason[128];
    va_list values;

    if (!err)
        return -1;
    va_start(values, format);
    format_text(text, format, values);
    va_end(values);
    err->kind = kind;
    set_message(err, text, ": ", strerror_r(number, reason, sizeof(reason)));
    errno = number;
    return -1;
}

int error_context(struct error *err, const char *format, ...) {
    char text[FORMAT_SIZE];
    va_list values;

    if (!err)
        return -1;
    va_start(values, format);
    format_text(text, format, values);
    va_end(values);
    set_message(err, text, ": ", err->message);
    return -1;
}

int error_pass(struct error *err, const struct error *failure) {
    if (err)
        *err = *failure;
    return -1;
}

int error_http_status(enum error_kind kind) {
    return kind_find(kind)->status;
}

const char *error_fault(enum error_kind kind) {
    return kind_find(kind)->fault;
}

bool error_is_hidden(enum error_kind kind) {
    return kind_find(kind)->told;
}

const char *error_client_text(const struct error *err) {
    const char *told = kind_find(err->kind)->told;

    return told ? told : err->message;
}
