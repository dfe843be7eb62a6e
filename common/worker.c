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
    void (*run)(void *arg);
    void *arg;
    int64_t due_us;
    char key[]; /* "" : no ordering */
};

STAILQ_HEAD(tasks, task);

/*
 * The tasks of one key, oldest first; a task without a key has a lane of its own.  A lane stands in
 * `ready`, or a thread runs its first task; it lives as long as it has a task.
 */
struct lane {
    STAILQ_ENTRY(lane) ready;
    LIST_ENTRY(lane) bucket; /* lanes with a key */
    struct tasks tasks;
};

STAILQ_HEAD(lanes, lane);
LIST_HEAD(bucket, lane);

struct worker_pool {
    pthread_mutex_t lock;   /* guards the rest */
    pthread_cond_t changed; /* something to do or to wait for, or the end */
    struct lanes ready;
    struct bucket buckets[BUCKETS];
    struct tasks delayed; /* the one due first is first */
    unsigned pending;     /* tasks in lanes */
    bool stopping;
    unsigned thread_count;
    pthread_t threads[];
};

static struct bucket *find_bucket(struct worker_pool *pool, const char *key) {
    return &pool->buckets[word_hash(key) % BUCKETS];
}

static struct lane *find_lane(struct bucket *bucket, const char *key) {
    struct lane *lane;

    LIST_FOREACH(lane, bucket, bucket) {
        if (strcmp(STAILQ_FIRST(&lane->tasks)->key, key) == 0)
            return lane;
    }
    return NULL;
}

static void lane_append(struct worker_pool *pool, struct task *task) {
    struct bucket *bucket = find_bucket(pool, task->key);
    struct lane *lane = task->key[0] ? find_lane(bucket, task->key) : NULL;

    pool->pending++;
    if (lane) {
        STAILQ_INSERT_TAIL(&lane->tasks, task, next);
        return;
    }
    lane = heap_new(sizeof(*lane));
    STAILQ_INIT(&lane->tasks);
    STAILQ_INSERT_TAIL(&lane->tasks, task, next);
    if (task->key[0])
        LIST_INSERT_HEAD(bucket, lane, bucket);
    STAILQ_INSERT_TAIL(&pool->ready, lane, ready);
}

/* Ends the first task of a lane that is not in `ready`; the next one of its key becomes ready. */
static void lane_advance(struct worker_pool *pool, struct lane *lane) {
    autofree struct task *task = STAILQ_FIRST(&lane->tasks);

    pool->pending--;
    STAILQ_REMOVE_HEAD(&lane->tasks, next);
    if (!STAILQ_EMPTY(&lane->tasks)) {
        STAILQ_INSERT_TAIL(&pool->ready, lane, ready);
        return;
    }
    if (task->key[0])
        LIST_REMOVE(lane, bucket);
    free(lane);
}

static void move_due_tasks(struct worker_pool *pool) {
    int64_t now_us = STAILQ_EMPTY(&pool->delayed) ? 0 : clock_monotonic_us();
    struct task *task;

    while ((task = STAILQ_FIRST(&pool->delayed)) && task->due_us <= now_us) {
        STAILQ_REMOVE_HEAD(&pool->delayed, next);
        lane_append(pool, task);
        pthread_cond_signal(&pool->changed);
    }
}

static void wait_for_change(struct worker_pool *pool) {
    const struct task *task = STAILQ_FIRST(&pool->delayed);

    if (task)
        thread_cond_wait(&pool->changed, &pool->lock, task->due_us);
    else
        pthread_cond_wait(&pool->changed, &pool->lock);
}

static void *run_tasks(void *arg) {
    struct worker_pool *pool = arg;

    pthread_mutex_lock(&pool->lock);
    while (!pool->stopping) {
        struct lane *lane;
        const struct task *task;

        move_due_tasks(pool);
        lane = STAILQ_FIRST(&pool->ready);
        if (!lane) {
            wait_for_change(pool);
            continue;
        }
        STAILQ_REMOVE_HEAD(&pool->ready, ready);
        task = STAILQ_FIRST(&lane->tasks);
        if (!STAILQ_EMPTY(&pool->delayed))
            pthread_cond_signal(&pool->changed); /* somebody else watches the clock now */
        pthread_mutex_unlock(&pool->lock);
        task->run(task->arg);
        pthread_mutex_lock(&pool->lock);
        lane_advance(pool, lane);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static void add_thread(struct worker_pool *pool, const char *name) {
    unsigned i = pool->thread_count++;
    char numbered[16];

    snprintf(numbered, sizeof(numbered), "%.11s-%u", name, i % 1000);
    if (thread_start(&pool->threads[i], numbered, run_tasks, pool) != 0) {
        fputs("cannot start a worker thread\n", stderr);
        abort();
    }
}

struct worker_pool *worker_pool_new(const char *name, unsigned threads) {
    struct worker_pool *pool =
        heap_new(sizeof(*pool) + (threads ? threads : 1) * sizeof(pool->threads[0]));

    STAILQ_INIT(&pool->ready);
    STAILQ_INIT(&pool->delayed);
    pthread_mutex_init(&pool->lock, NULL);
    thread_cond_init(&pool->changed);
    do {
        add_thread(pool, name);
    } while (pool->thread_count < threads);
    return pool;
}

static struct task *task_new(const struct work_item *item) {
    size_t length = item->key ? strlen(item->key) : 0;
    struct task *task = heap_new(sizeof(*task) + length + 1);

    task->run = item->run;
    task->arg = item->arg;
    if (length > 0)
        memcpy(task->key, item->key, length);
    return task;
}

void worker_pool_put(struct worker_pool *pool, const struct work_item *item) {
    struct task *task = task_new(item);

    pthread_mutex_lock(&pool->lock);
    lane_append(pool, task);
    pthread_cond_signal(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
}

/* Behind those that are due at the same instant. */
static void insert_delayed(struct worker_pool *pool, struct task *task) {
    struct task *before = NULL, *other;

    STAILQ_FOREACH(other, &pool->delayed, next) {
        if (other->due_us > task->due_us)
            break;
        before = other;
    }
    if (before)
        STAILQ_INSERT_AFTER(&pool->delayed, before, task, next);
    else
        STAILQ_INSERT_HEAD(&pool->delayed, task, next);
}

void worker_pool_put_later(struct worker_pool *pool, const struct work_item *item,
                           int64_t delay_ms) {
    struct task *task = task_new(item);

    task->due_us = clock_monotonic_us() + delay_ms * 1000;
    pthread_mutex_lock(&pool->lock);
    insert_delayed(pool, task);
    pthread_cond_signal(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
}

unsigned worker_pool_pending(struct worker_pool *pool) {
    unsigned pending;

    pthread_mutex_lock(&pool->lock);
    pending = pool->pending;
    pthread_mutex_unlock(&pool->lock);
    return pending;
}

static void drop_all(struct worker_pool *pool) {
    struct lane *lane;
    struct task *task;

    while ((lane = STAILQ_FIRST(&pool->ready))) {
        STAILQ_REMOVE_HEAD(&pool->ready, ready);
        lane_advance(pool, lane);
    }
    while ((task = STAILQ_FIRST(&pool->delayed))) {
        STAILQ_REMOVE_HEAD(&pool->delayed, next);
        free(task);
    }
}

void worker_pool_close(struct worker_pool *pool) {
    pthread_mutex_lock(&pool->lock);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
}

void worker_pool_stop(struct worker_pool *pool) {
    worker_pool_close(pool);
    for (unsigned i = 0; i < pool->thread_count; i++)
        pthread_join(pool->threads[i], NULL);
    drop_all(pool);
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->changed);
    free(pool);
}
