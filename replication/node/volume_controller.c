#include "replication/node/volume_controller.private.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/thread.h"
#include "replication/node/local_replica.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>

#define CALL_MS 5000 /* least timeout of a call that changes a pool */

static const char *run_of(struct arena *arena, const struct volume_controller_settings *settings,
                          const char *uid) {
    return arena_join(arena, settings->run_directory, "/", uid, NULL);
}

bool volume_controller_finds(const struct volume_controller_settings *settings, const char *uid) {
    autoarena struct arena *arena = arena_new();

    return access(run_of(arena, settings, uid), F_OK) == 0;
}

const char *volume_controller_uid(const struct volume_controller *controller) {
    return controller->uid;
}

/* ---- the thread ---- */

/* false: it ends. */
static bool take_update(struct volume_controller *controller) {
    const struct assignment_volume *volume;
    bool ends, has_update, differs;

    pthread_mutex_lock(&controller->lock);
    has_update = controller->pending != NULL;
    if (has_update) {
        assignment_release(controller->assignment);
        controller->assignment = controller->pending;
        controller->pending = NULL;
        controller->backoff.due_us = 0;
        if (controller->state == CONTROLLER_RELEASED)
            volume_controller_change_state(controller, CONTROLLER_DOCUMENT_CHANGED);
    }
    ends = controller->ends;
    pthread_mutex_unlock(&controller->lock);
    if (has_update) {
        volume = &controller->assignment->volume;
        /* Does the document lack the reported status? */
        differs = controller->phase && volume_controller_is_assigned(controller) &&
                  (!volume->has_target || !volume->phase ||
                   strcmp(volume->phase, controller->phase) != 0);
        reports_differs(controller->settings->reports, ASSIGNMENT_VOLUME, controller->uid, differs);
    }
    return !ends;
}

/* Its abandoned calls must end first, as they may still change a pool that the next controller
 * uses.  false: an update is pending, or a call is still running. */
static bool try_end(struct volume_controller *controller) {
    bool ends, released = controller->state == CONTROLLER_RELEASED;

    assert(!controller->target);
    if (pool_calls_are_abandoned(controller->calls))
        return false;
    pthread_mutex_lock(&controller->lock);
    ends = !controller->pending && (released || controller->unlisted);
    if (ends)
        volume_controller_change_state(controller, CONTROLLER_RETIRED);
    pthread_mutex_unlock(&controller->lock);
    if (ends && !released) /* it may never have a document */
        reports_forget(controller->settings->reports, ASSIGNMENT_VOLUME, controller->uid);
    return ends;
}

static void *run(void *arg) {
    struct volume_controller *controller = arg;
    uint64_t count;

    while (take_update(controller)) {
        int64_t ms = volume_controller_work(controller);
        struct pollfd polled[] = {
            { .fd = controller->wake_fd, .events = POLLIN },
            { .fd = controller->target ? target_fd(controller->target) : -1, .events = POLLIN },
        };

        if (!controller->target &&
            !volume_controller_finds(controller->settings, controller->uid) && try_end(controller))
            break;
        poll(polled, LENGTH(polled), (int)ms);
        if (polled[0].revents)
            (void)!read(controller->wake_fd, &count, sizeof(count));
    }
    volume_controller_close_target(controller);
    return NULL;
}

/* ---- other threads ---- */

static void wake(const struct volume_controller *controller) {
    const uint64_t one = 1;

    (void)!write(controller->wake_fd, &one, sizeof(one));
}

bool volume_controller_assign(struct volume_controller *controller, struct assignment *assignment) {
    bool ended;

    assert(strcmp(assignment->uid, controller->uid) == 0);
    pthread_mutex_lock(&controller->lock);
    assignment_release(controller->pending);
    controller->pending = assignment_hold(assignment);
    controller->unlisted = false;
    ended = controller->state == CONTROLLER_ENDED;
    pthread_mutex_unlock(&controller->lock);
    wake(controller);
    return !ended;
}

void volume_controller_unlist(struct volume_controller *controller) {
    pthread_mutex_lock(&controller->lock);
    controller->unlisted = true;
    pthread_mutex_unlock(&controller->lock);
    wake(controller);
}

void volume_controller_end(struct volume_controller *controller) {
    pthread_mutex_lock(&controller->lock);
    controller->ends = true;
    pthread_mutex_unlock(&controller->lock);
    wake(controller);
}

bool volume_controller_ended(struct volume_controller *controller) {
    bool ended;

    pthread_mutex_lock(&controller->lock);
    ended = controller->state == CONTROLLER_ENDED;
    pthread_mutex_unlock(&controller->lock);
    return ended;
}

static void free_controller(struct volume_controller *controller) {
    assert(!controller->target);
    assignment_release(controller->assignment);
    assignment_release(controller->pending);
    cleanup_close(&controller->wake_fd);
    pthread_mutex_destroy(&controller->lock);
    pool_calls_free(controller->calls);
    arena_free(controller->arena);
    free(controller);
}

bool volume_controller_join(struct volume_controller *controller, int64_t ms, bool *ret_running) {
    if (!thread_join_within(controller->thread, ms))
        return false;
    *ret_running = pool_calls_may_change(controller->calls);
    free_controller(controller);
    return true;
}

int volume_controller_start(const struct volume_controller_settings *settings,
                            struct assignment *assignment, struct volume_controller **ret,
                            struct error *err) {
    struct volume_controller *controller = heap_new(sizeof(*controller));
    int code;

    assert(assignment->kind == ASSIGNMENT_VOLUME && strlen(assignment->uid) < UUID_SIZE);
    controller->settings = settings;
    strcpy(controller->uid, assignment->uid);
    controller->arena = arena_new();
    controller->run = run_of(controller->arena, settings, controller->uid);
    controller->assignment = assignment_hold(assignment);
    pthread_mutex_init(&controller->lock, NULL);
    controller->calls = pool_calls_new(settings->health_probes,
                                       settings->hang_ms > CALL_MS ? settings->hang_ms : CALL_MS);
    controller->local = local_replica_access(controller->calls);
    controller->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    code = controller->wake_fd < 0 ? errno
                                   : thread_start(&controller->thread, "target", run, controller);
    if (code == 0) {
        *ret = controller;
        return 0;
    }
    free_controller(controller);
    return error_set(err, ERROR_INTERNAL, "cannot start the controller of the volume %s: %s",
                     assignment->uid, strerror(code));
}
