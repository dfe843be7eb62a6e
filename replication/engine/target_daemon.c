/*
 * The storage daemon of a target: its start, its monitor, the end of its export, its end.
 */
#include "replication/engine/target.private.h"

#include "replication/engine/daemon.h"
#include "replication/engine/deadline.h"

/* A monitor that has not yet noticed its former client's disconnection closes the connection. */
int target_connect(struct target *target, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *path = daemon_path(arena, target->run, "qmp");
    int64_t until_us = deadline_after_us(target->timeout_ms);
    unsigned pauses = 0;

    while (qmp_connect(path, target->timeout_ms, &target->qmp, err) < 0) {
        if (!daemon_runs(target->run) || !deadline_pause_again(&pauses, &until_us))
            return -1;
    }
    return 0;
}

static int end_daemon(struct target *target, struct error *err) {
    qmp_close(target->qmp);
    target->qmp = NULL;
    if (daemon_kill(target->run, target->timeout_ms, err) < 0)
        return -1;
    target_job_next(target, JOB_DAEMON_ENDED);
    return 0;
}

int target_kill(struct target *target, struct error *err) {
    if (end_daemon(target, err) < 0)
        return -1;
    target_next(target, TARGET_ENDED);
    return 0;
}

int target_launch(struct target *target, struct error *err) {
    return end_daemon(target, err) < 0
               ? -1
               : daemon_start(target->run, target->program, target->timeout_ms, &target->qmp, err);
}

int target_end_export(struct target *target, struct error *err) {
    int64_t until_us = deadline_after_us(target->timeout_ms);
    int there = graph_export(target, err);
    unsigned pauses = 0;

    if (there > 0 && graph_end_export(target, err) < 0)
        return -1;
    while (there > 0) {
        there = graph_export(target, err);
        if (there > 0 && !deadline_pause_again(&pauses, &until_us))
            return error_set(err, ERROR_UNAVAILABLE, "the export does not end");
    }
    return there;
}
