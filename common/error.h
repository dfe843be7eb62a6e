/*
 * Errors: one value, owned by the caller.
 *
 * A function that can fail returns int: -1 and `err` says why, 0 for done, a positive value is an
 * outcome that its header documents.  `struct error` is plain memory: nothing to free, and it works
 * when memory is short.  error.def lists the kinds with their HTTP status and fault key, and says
 * whose message clients may read; nothing outside this module knows an HTTP number for a failure.
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
    char message[512]; /* UTF-8, cut at a character when too long */
};

/* Sets kind and message; always returns -1, so that a refusal is one line. `err` may be NULL. */
int error_set(struct error *err, enum error_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* For what returns a number of rows or of what was found, -1 when it failed: 0 when there is some,
 * the error when there is none. */
int error_if_none(int count, struct error *err, enum error_kind kind, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* error_set() with ": <strerror(errno)>" behind the message. */
int error_errno(struct error *err, enum error_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#ifdef __clang_analyzer__ /* which does not look into other files */
#define error_set(...)   (error_set(__VA_ARGS__), -1)
#define error_errno(...) (error_errno(__VA_ARGS__), -1)
#endif

/* Puts "<text>: " in front of the message; keeps the kind; always returns -1. */
int error_context(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Hands on what was found out without `err`; always returns -1. */
int error_pass(struct error *err, const struct error *failure);

int error_http_status(enum error_kind kind);
const char *error_fault(enum error_kind kind);
/*
 * Was its message written for the log and not for clients?  What libraries, drivers and the
 * database say has paths, names of tables and hosts in it: such a kind has one sentence for all.
 */
bool error_is_hidden(enum error_kind kind);
/* What clients may read: the message, or the sentence of a hidden kind. */
const char *error_told(const struct error *err);
