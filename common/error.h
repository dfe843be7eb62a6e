/*
 * Errors: one value, owned by the caller.
 *
 * A function that can fail returns int: -1 with the reason in `err`, 0 for success, a positive
 * value for an outcome that its header documents.  `struct error` is plain memory: nothing to free,
 * and it works when memory is short.  error.def lists the kinds with HTTP status, fault key and the
 * visibility of their messages; no other module maps failures to HTTP numbers.
 */
#pragma once

#include <stdbool.h>

enum error_kind {
    ERROR_NONE,
#define ERROR(kind, status, fault, told) ERROR_##kind,
#include "common/error.def"
#undef ERROR
    ERROR_KINDS
};

struct error {
    enum error_kind kind;
    char message[512]; /* UTF-8, truncated at a character boundary */
};

/* Sets kind and message; always returns -1, so that a refusal is one line.  `err` may be NULL. */
int error_set(struct error *err, enum error_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* For functions that return a count, or -1 on failure: 0 if the count is positive, the error if it
 * is 0. */
int error_if_none(int count, struct error *err, enum error_kind kind, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The contrary: the error if the count is positive. */
int error_if_any(int count, struct error *err, enum error_kind kind, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* error_set() with ": <strerror(errno)>" appended. */
int error_errno(struct error *err, enum error_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#ifdef __clang_analyzer__ /* for the analyzer, which sees one file at a time */
#define error_set(...)   (error_set(__VA_ARGS__), -1)
#define error_errno(...) (error_errno(__VA_ARGS__), -1)
#endif

/* Prefixes the message with "<text>: " and keeps the kind; always returns -1. */
int error_context(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Copies a failure; always returns -1. */
int error_pass(struct error *err, const struct error *failure);

int error_http_status(enum error_kind kind);
const char *error_fault(enum error_kind kind);
/*
 * Is the message for the log only?  Messages of libraries, drivers and the database contain paths,
 * names of tables and hosts: clients get one fixed sentence for such a kind.
 */
bool error_is_hidden(enum error_kind kind);
/* The text for clients: the message, or the fixed sentence of a hidden kind. */
const char *error_client_text(const struct error *err);
