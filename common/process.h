/*
 * Runs a program without a shell, with a deadline and limits, and captures its output.
 *
 * Thread-safe; blocks the calling thread.  The child gets LC_ALL=C, /dev/null as stdin, no
 * inherited descriptors beyond 0–2, default signals and a process group of its own; at the
 * deadline, and when the child has ended, the whole group is killed.  The child is killed when the
 * calling thread ends.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct process_limits {
    int64_t timeout_ms;   /* 0: 60 000 */
    int64_t idle_ms;      /* without any processor time of the program; 0: no limit */
    int64_t cpu_seconds;  /* RLIMIT_CPU, 0: none */
    int64_t memory_bytes; /* RLIMIT_AS, 0: none */
    int64_t file_bytes;   /* RLIMIT_FSIZE, 0: none */
    /* limit of stdout and of stderr; 0: 64 KiB; more is a failure */
    size_t output_bytes;
    bool keeps_end; /* more is no failure: the beginning is dropped */
    /* Called at least twice a second with the output so far; false cancels the program.  NULL: not
     * cancellable. */
    bool (*goes_on)(void *arg, const char *output, size_t size);
    void *arg;
};

struct process_result {
    int exit_status; /* 0…255; 128 + signal when killed by one */
    char *output;    /* stdout, ended with '\0'; arena */
    char *errors;    /* stderr, ended with '\0'; arena */
};

/*
 * `arguments` is argv, ended with NULL; arguments[0] is searched in PATH when it has no slash.  0:
 * the program ran and ended, see exit_status.  -1: it could not be started (ERROR_INTERNAL), timed
 * out (ERROR_UNAVAILABLE), printed too much or was idle (ERROR_BACKEND), or was cancelled
 * (ERROR_CONFLICT).
 */
int process_run(struct arena *arena, const char *const *arguments,
                const struct process_limits *limits, struct process_result *ret, struct error *err);
