/*
 * Storage daemons outlive the process that started them: none outlives the test program.
 */
#pragma once

#include "common/cleanup.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Daemons are children of the process that runs the tests: those of a failed test end with it. */
static pid_t runner_pid;

static inline void end_children(void) {
    autofile FILE *file = NULL;
    char path[64];
    int pid;

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
    file = fopen(path, "r");
    while (file && fscanf(file, "%d", &pid) == 1)
        kill(pid, SIGKILL);
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

/* One that is just being started becomes a child a moment later. */
static inline void end_daemons(void) {
    for (int i = 0; i < 20 && getpid() == runner_pid; i++) {
        end_children();
        poll(NULL, 0, 5);
    }
}

static inline bool adopt_daemons(void) {
    runner_pid = getpid();
    return prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 && atexit(end_daemons) == 0;
}
