#include "replication/node/keeper.private.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/thread.h"
#include "replication/node/near.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>

#define CALL_MS 5000 /* that who changes something in a pool has at least */

static const char *run_of(struct arena *arena, const struct keeper_settings *settings,
                          const char *uid) {
    return arena_join(arena, settings->run_directory, "/", uid, NULL);
}

bool keeper_finds(const struct keeper_settings *settings, const char *uid) {
    autoarena struct arena *arena = arena_new();

    return access(run_of(arena, settings, uid), F_OK) == 0;
}

const char *keeper_uid(const struct keeper *keeper) {
    return keeper->uid;
}

/* ---- the thread ---- */

/* Its status was reported, and the document has another one. */
static void compare_status(const struct keeper *keeper) {
    const struct assignment_volume *volume = &keeper->assignment->volume;
    bool differs =
        keeper->phase && keeper_is_wanted(keeper) &&
        (!volume->has_target || !volume->phase || strcmp(volume->phase, keeper->phase) != 0);

    reports_differs(keeper->settings->reports, ASSIGNMENT_VOLUME, keeper->uid, differs);
}

/* The one place where a state changes.  The lock is held. */
static const struct state_row *change_state(struct keeper *keeper, enum controller_event event) {
    return state_table_next(&controller_states, &keeper->state, event);
}

const struct state_row *keeper_take(struct keeper *keeper, enum controller_event event) {
    const struct state_row *row;

    pthread_mutex_lock(&keeper->lock);
    row = change_state(keeper, event);
    pthread_mutex_unlock(&keeper->lock);
    return row;
}

/* false: the agent ends. */
static bool take_news(struct keeper *keeper) {
    bool ends, has_news;

    pthread_mutex_lock(&keeper->lock);
    has_news = keeper->news != NULL;
    if (has_news) {
        assignment_release(keeper->assignment);
        keeper->assignment = keeper->news;
        keeper->news = NULL;
        keeper->backoff.due_us = 0;
        if (keeper->state == CONTROLLER_RELEASED)
            change_state(keeper, CONTROLLER_DOCUMENT_CHANGED);
    }
    ends = keeper->ends;
    pthread_mutex_unlock(&keeper->lock);
    if (has_news)
        compare_status(keeper);
    return !ends;
}

/* What it has left in a pool may do something there yet: that is to be nobody's who comes behind
 * it.  false: there is news after all, or something was left. */
static bool try_end(struct keeper *keeper) {
    bool ends, released = keeper->state == CONTROLLER_RELEASED;

    if (pool_calls_are_left(keeper->calls))
        return false;
    pthread_mutex_lock(&keeper->lock);
    ends = !keeper->news && (released || keeper->unnamed);
    if (ends)
        change_state(keeper, CONTROLLER_RETIRED);
    pthread_mutex_unlock(&keeper->lock);
    if (ends && !released) /* its document may never come */
        reports_forget(keeper->settings->reports, ASSIGNMENT_VOLUME, keeper->uid);
    return ends;
}

static void wait_for(const struct keeper *keeper, int64_t ms) {
    struct pollfd polled[] = {
        { .fd = keeper->news_fd, .events = POLLIN },
        { .fd = keeper->target ? target_fd(keeper->target) : -1, .events = POLLIN },
    };
    uint64_t count;

    poll(polled, LENGTH(polled), (int)ms);
    if (polled[0].revents)
        (void)!read(keeper->news_fd, &count, sizeof(count));
}

static void *run(void *arg) {
    struct keeper *keeper = arg;

    while (take_news(keeper)) {
        int64_t ms = keeper_work(keeper);

        if (!keeper->target && !keeper_finds(keeper->settings, keeper->uid) && try_end(keeper))
            break;
        wait_for(keeper, ms);
    }
    keeper_let_go(keeper);
    return NULL;
}

/* ---- the others ---- */

static void wake(const struct keeper *keeper) {
    const uint64_t one = 1;

    (void)!write(keeper->news_fd, &one, sizeof(one));
}

bool keeper_set(struct keeper *keeper, struct assignment *assignment) {
    bool ended;

    pthread_mutex_lock(&keeper->lock);
    assignment_release(keeper->news);
    keeper->news = assignment_hold(assignment);
    keeper->unnamed = false;
    ended = keeper->state == CONTROLLER_ENDED;
    pthread_mutex_unlock(&keeper->lock);
    wake(keeper);
    return !ended;
}

void keeper_unname(struct keeper *keeper) {
    pthread_mutex_lock(&keeper->lock);
    keeper->unnamed = true;
    pthread_mutex_unlock(&keeper->lock);
    wake(keeper);
}

void keeper_tell_end(struct keeper *keeper) {
    pthread_mutex_lock(&keeper->lock);
    keeper->ends = true;
    pthread_mutex_unlock(&keeper->lock);
    wake(keeper);
}

bool keeper_ended(struct keeper *keeper) {
    bool ended;

    pthread_mutex_lock(&keeper->lock);
    ended = keeper->state == CONTROLLER_ENDED;
    pthread_mutex_unlock(&keeper->lock);
    return ended;
}

static void free_keeper(struct keeper *keeper) {
    assignment_release(keeper->assignment);
    assignment_release(keeper->news);
    cleanup_close(&keeper->news_fd);
    pthread_mutex_destroy(&keeper->lock);
    pool_calls_free(keeper->calls);
    arena_free(keeper->arena);
    free(keeper);
}

bool keeper_join(struct keeper *keeper, int64_t ms, bool *ret_left) {
    if (!thread_join_within(keeper->thread, ms))
        return false;
    *ret_left = pool_calls_may_change(keeper->calls);
    free_keeper(keeper);
    return true;
}

int keeper_start(const struct keeper_settings *settings, struct assignment *assignment,
                 struct keeper **ret, struct error *err) {
    struct keeper *keeper = heap_new(sizeof(*keeper));
    int code;

    keeper->settings = settings;
    strcpy(keeper->uid, assignment->uid);
    keeper->arena = arena_new();
    keeper->run = run_of(keeper->arena, settings, keeper->uid);
    keeper->assignment = assignment_hold(assignment);
    pthread_mutex_init(&keeper->lock, NULL);
    keeper->calls =
        pool_calls_new(settings->knocks, settings->hang_ms > CALL_MS ? settings->hang_ms : CALL_MS);
    keeper->here = near_access(keeper->calls);
    keeper->news_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    code = keeper->news_fd < 0 ? errno : thread_start(&keeper->thread, "target", run, keeper);
    if (code == 0) {
        *ret = keeper;
        return 0;
    }
    free_keeper(keeper);
    return error_set(err, ERROR_INTERNAL, "cannot keep the volume %s: %s", assignment->uid,
                     strerror(code));
}
