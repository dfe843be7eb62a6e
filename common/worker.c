#include "common/worker.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/thread.h"
#include "common/words.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define BUCKETS 256

struct task {
    STAILQ_ENTRY(task) next;
    struct group *group;
    void (*run)(void *arg);
    void *arg;
    int64_t due_us;
    char key[]; /* "": no ordering */
};

STAILQ_HEAD(tasks, task);

/*
 * The tasks of one key, oldest first; a task without a key has its own lane.  A lane is in `ready`
 * of its first task's group, or a thread runs that task; it lives as long as it has tasks.
 */
struct lane {
    STAILQ_ENTRY(lane) ready;
    LIST_ENTRY(lane) bucket; /* lanes with a key */
    struct tasks tasks;
};

STAILQ_HEAD(lanes, lane);
LIST_HEAD(bucket, lane);

/* In `waiting` of the pool while a lane is in `ready`; lives while it has tasks. */
struct group {
    TAILQ_ENTRY(group) waiting;
    LIST_ENTRY(group) bucket;
    struct lanes ready;
    unsigned running; /* running its tasks */
    unsigned tasks;   /* including delayed ones */
    char name[];
};

TAILQ_HEAD(groups, group);
LIST_HEAD(group_bucket, group);

struct worker_pool {
    pthread_mutex_t lock;   /* guards the members below */
    pthread_cond_t changed; /* new task, new delay, or shutdown */
    struct groups *waiting; /* by the number of their threads; within a level the one that has
                             * waited longest is first */
    struct bucket buckets[BUCKETS];
    struct group_bucket groups[BUCKETS];
    struct tasks delayed; /* ordered by due time */
    unsigned pending;     /* tasks in lanes */
    unsigned tasks;       /* with running and delayed ones */
    bool stopping;
    unsigned levels; /* length of `waiting` */
    unsigned group_most;
    char name[12]; /* of threads, before their number */
    unsigned thread_count, thread_most;
    pthread_t threads[];
};

/* ---- groups ---- */

static struct group *group_hold(struct worker_pool *pool, const char *name) {
    struct group_bucket *bucket = &pool->groups[word_hash(name) % BUCKETS];
    struct group *group;

    LIST_FOREACH(group, bucket, bucket) {
        if (strcmp(group->name, name) == 0)
            break;
    }
    if (!group) {
        group = heap_new(sizeof(*group) + strlen(name) + 1);
        strcpy(group->name, name);
        STAILQ_INIT(&group->ready);
        LIST_INSERT_HEAD(bucket, group, bucket);
    }
    group->tasks++;
    pool->tasks++;
    return group;
}

static void group_release(struct group *group) {
    if (--group->tasks > 0)
        return;
    LIST_REMOVE(group, bucket);
    free(group);
}

static void group_wait(struct worker_pool *pool, struct group *group) {
    TAILQ_INSERT_TAIL(&pool->waiting[group->running], group, waiting);
}

static void group_wait_no_more(struct worker_pool *pool, struct group *group) {
    TAILQ_REMOVE(&pool->waiting[group->running], group, waiting);
}

/* ---- lanes ---- */

static void lane_ready(struct worker_pool *pool, struct lane *lane) {
    struct group *group = STAILQ_FIRST(&lane->tasks)->group;

    if (STAILQ_EMPTY(&group->ready))
        group_wait(pool, group);
    STAILQ_INSERT_TAIL(&group->ready, lane, ready);
}

static void lane_append(struct worker_pool *pool, struct task *task) {
    struct bucket *bucket = &pool->buckets[word_hash(task->key) % BUCKETS];
    struct lane *lane;

    pool->pending++;
    LIST_FOREACH(lane, bucket, bucket) {
        if (task->key[0] && strcmp(STAILQ_FIRST(&lane->tasks)->key, task->key) == 0) {
            STAILQ_INSERT_TAIL(&lane->tasks, task, next);
            return;
        }
    }
    lane = heap_new(sizeof(*lane));
    STAILQ_INIT(&lane->tasks);
    STAILQ_INSERT_TAIL(&lane->tasks, task, next);
    if (task->key[0])
        LIST_INSERT_HEAD(bucket, lane, bucket);
    lane_ready(pool, lane);
}

/* The next lane, for a thread to run its first task; NULL: there is none. */
static struct lane *lane_take(struct worker_pool *pool) {
    struct group *group = NULL;
    struct lane *lane;

    for (unsigned level = 0; level < pool->group_most && !group; level++)
        group = TAILQ_FIRST(&pool->waiting[level]);
    if (!group)
        return NULL;
    group_wait_no_more(pool, group);
    group->running++;
    lane = STAILQ_FIRST(&group->ready);
    STAILQ_REMOVE_HEAD(&group->ready, ready);
    if (!STAILQ_EMPTY(&group->ready))
        group_wait(pool, group);
    return lane;
}

/* Ends the first task of a taken lane; the next task of its key becomes ready. */
static void lane_advance(struct worker_pool *pool, struct lane *lane) {
    autofree struct task *task = STAILQ_FIRST(&lane->tasks);
    bool waits;

    pool->pending--;
    pool->tasks--;
    /* the group joins the end of its new level */
    waits = !STAILQ_EMPTY(&task->group->ready);
    if (waits)
        group_wait_no_more(pool, task->group);
    task->group->running--;
    if (waits)
        group_wait(pool, task->group);
    STAILQ_REMOVE_HEAD(&lane->tasks, next);
    if (!STAILQ_EMPTY(&lane->tasks)) {
        lane_ready(pool, lane);
    } else {
        if (task->key[0])
            LIST_REMOVE(lane, bucket);
        free(lane);
    }
    group_release(task->group);
}

/* ---- threads ---- */

static void move_due_tasks(struct worker_pool *pool) {
    int64_t now_us = STAILQ_EMPTY(&pool->delayed) ? 0 : clock_monotonic_us();
    struct task *task;

    while ((task = STAILQ_FIRST(&pool->delayed)) && task->due_us <= now_us) {
        STAILQ_REMOVE_HEAD(&pool->delayed, next);
        lane_append(pool, task);
        pthread_cond_signal(&pool->changed);
    }
}

static void *run_tasks(void *arg) {
    struct worker_pool *pool = arg;

    pthread_mutex_lock(&pool->lock);
    while (!pool->stopping) {
        struct lane *lane;
        const struct task *task;

        move_due_tasks(pool);
        lane = lane_take(pool);
        if (!lane) {
            task = STAILQ_FIRST(&pool->delayed);
            if (task)
                thread_cond_wait(&pool->changed, &pool->lock, task->due_us);
            else
                pthread_cond_wait(&pool->changed, &pool->lock);
            continue;
        }
        task = STAILQ_FIRST(&lane->tasks);
        if (!STAILQ_EMPTY(&pool->delayed))
            pthread_cond_signal(&pool->changed); /* another thread takes over the timer */
        pthread_mutex_unlock(&pool->lock);
        task->run(task->arg);
        pthread_mutex_lock(&pool->lock);
        lane_advance(pool, lane);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static void add_thread(struct worker_pool *pool) {
    char numbered[16];

    snprintf(numbered, sizeof(numbered), "%s-%u", pool->name, pool->thread_count % 1000);
    if (thread_start(&pool->threads[pool->thread_count], numbered, run_tasks, pool) == 0)
        pool->thread_count++;
}

/* After a task was added: there is a thread for each, up to the limit. */
static void call_thread(struct worker_pool *pool) {
    if (pool->thread_count < pool->tasks && pool->thread_count < pool->thread_most &&
        !pool->stopping)
        add_thread(pool);
    pthread_cond_signal(&pool->changed);
}

struct worker_pool *worker_pool_new_shared(const char *name, unsigned threads,
                                           unsigned group_most) {
    unsigned most = threads ? threads : 1;
    struct worker_pool *pool = heap_new(sizeof(*pool) + most * sizeof(pool->threads[0]));

    snprintf(pool->name, sizeof(pool->name), "%s", name);
    pool->group_most = group_most;
    pool->thread_most = most;
    pool->levels = most + 1;
    pool->waiting = heap_new(pool->levels * sizeof(*pool->waiting));
    for (unsigned level = 0; level < pool->levels; level++)
        TAILQ_INIT(&pool->waiting[level]);
    STAILQ_INIT(&pool->delayed);
    pthread_mutex_init(&pool->lock, NULL);
    thread_cond_init(&pool->changed);
    add_thread(pool);
    if (pool->thread_count == 0) {
        fputs("cannot start a worker thread\n", stderr);
        abort();
    }
    return pool;
}

struct worker_pool *worker_pool_new(const char *name, unsigned threads) {
    return worker_pool_new_shared(name, threads, threads ? threads : 1);
}

/* With fewer threads a reserved one costs more than it gains. */
#define WORTH_SHARING 4

unsigned worker_share(unsigned threads) {
    return threads >= WORTH_SHARING ? threads - 1 : threads ? threads : 1;
}

struct worker_pool *worker_pool_new_fair(const char *name, unsigned threads) {
    return worker_pool_new_shared(name, threads, worker_share(threads));
}

/* ---- adding ---- */

/* The caller holds the lock. */
static struct task *task_new(struct worker_pool *pool, const struct work_item *item) {
    size_t length = item->key ? strlen(item->key) : 0;
    struct task *task = heap_new(sizeof(*task) + length + 1);

    task->group = group_hold(pool, item->group ? item->group : "");
    task->run = item->run;
    task->arg = item->arg;
    if (length > 0)
        memcpy(task->key, item->key, length);
    return task;
}

void worker_pool_put(struct worker_pool *pool, const struct work_item *item) {
    scoped_lock(&pool->lock);
    lane_append(pool, task_new(pool, item));
    call_thread(pool);
}

void worker_pool_put_later(struct worker_pool *pool, const struct work_item *item,
                           int64_t delay_ms) {
    int64_t due_us = clock_monotonic_us() + delay_ms * 1000;
    struct task *task, *before = NULL, *other;

    scoped_lock(&pool->lock);
    task = task_new(pool, item);
    task->due_us = due_us;
    /* after those due at the same instant */
    STAILQ_FOREACH(other, &pool->delayed, next) {
        if (other->due_us > task->due_us)
            break;
        before = other;
    }
    if (before)
        STAILQ_INSERT_AFTER(&pool->delayed, before, task, next);
    else
        STAILQ_INSERT_HEAD(&pool->delayed, task, next);
    call_thread(pool);
}

unsigned worker_pool_pending(struct worker_pool *pool) {
    scoped_lock(&pool->lock);
    return pool->pending;
}

/* ---- shutdown ---- */

void worker_pool_close(struct worker_pool *pool) {
    scoped_lock(&pool->lock);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->changed);
}

void worker_pool_stop(struct worker_pool *pool) {
    struct lane *lane;
    struct task *task;

    worker_pool_close(pool);
    for (unsigned i = 0; i < pool->thread_count; i++)
        pthread_join(pool->threads[i], NULL);
    while ((lane = lane_take(pool)))
        lane_advance(pool, lane);
    while ((task = STAILQ_FIRST(&pool->delayed))) {
        STAILQ_REMOVE_HEAD(&pool->delayed, next);
        group_release(task->group);
        free(task);
    }
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->changed);
    free(pool->waiting);
    free(pool);
}
