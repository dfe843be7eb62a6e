#include "storage/looks.h"

#include "common/clock.h"
#include "common/heap.h"
#include "common/thread.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define MOMENT_US (5 * SECOND_US) /* a disk that is merely busy has answered by then */
#define SLICE_US  SECOND_US       /* who was stopped has seen no more of it than this */

/* Of the thread that makes it and of who waits for it; goes with the last of them. */
struct look {
    atomic_uint holders;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    bool has_ended;
    void (*run)(void *work);
    _Alignas(max_align_t) unsigned char work[]; /* the thread's until it has ended */
};

struct left {
    LIST_ENTRY(left) next;
    char *pool;
    struct look *look;
    /* Its silence, as far as somebody was there to see it: */
    int64_t looked_us, silence_us;
};

struct looks {
    LIST_HEAD(left_list, left) left;
};

/* ---- one look ---- */

static void let_go(struct look *look) {
    if (atomic_fetch_sub(&look->holders, 1) > 1)
        return;
    pthread_cond_destroy(&look->changed);
    pthread_mutex_destroy(&look->lock);
    free(look);
}

static void *run(void *arg) {
    struct look *look = arg;

    look->run(look->work);
    pthread_mutex_lock(&look->lock);
    look->has_ended = true;
    pthread_cond_signal(&look->changed);
    pthread_mutex_unlock(&look->lock);
    let_go(look);
    return NULL;
}

/* NULL: no thread is to be had. */
static struct look *begin(void (*work_run)(void *work), const void *work, size_t size,
                          pthread_t *ret) {
    struct look *look = heap_new(sizeof(*look) + size);

    atomic_init(&look->holders, 2);
    pthread_mutex_init(&look->lock, NULL);
    thread_cond_init(&look->changed);
    look->run = work_run;
    memcpy(look->work, work, size);
    if (thread_start(ret, "look", run, look) == 0)
        return look;
    let_go(look);
    let_go(look);
    return NULL;
}

static bool has_ended(struct look *look) {
    bool ended;

    pthread_mutex_lock(&look->lock);
    ended = look->has_ended;
    pthread_mutex_unlock(&look->lock);
    return ended;
}

static int64_t at_most(int64_t us, int64_t most_us) {
    return us < most_us ? us : most_us;
}

static bool await_end(struct look *look) {
    int64_t seen_us = 0, looked_us = clock_monotonic_us();
    bool ended;

    pthread_mutex_lock(&look->lock);
    while (!look->has_ended && seen_us < MOMENT_US) {
        int64_t before_us = looked_us;

        thread_cond_wait(&look->changed, &look->lock, before_us + SLICE_US);
        looked_us = clock_monotonic_us();
        seen_us += at_most(looked_us - before_us, SLICE_US);
    }
    ended = look->has_ended;
    pthread_mutex_unlock(&look->lock);
    return ended;
}

/* ---- those that were left ---- */

static struct left *find(struct looks *looks, const char *pool) {
    struct left *left;

    LIST_FOREACH(left, &looks->left, next) {
        if (strcmp(left->pool, pool) == 0)
            return left;
    }
    return NULL;
}

static void leave(struct looks *looks, const char *pool, struct look *look) {
    struct left *left = heap_new(sizeof(*left));

    left->pool = heap_text(pool);
    left->look = look;
    left->looked_us = clock_monotonic_us();
    left->silence_us = MOMENT_US;
    LIST_INSERT_HEAD(&looks->left, left, next);
}

static void drop(struct left *left) {
    LIST_REMOVE(left, next);
    let_go(left->look);
    free(left->pool);
    free(left);
}

int64_t looks_silence_ms(struct looks *looks, const char *pool) {
    struct left *left = find(looks, pool);
    int64_t now_us = clock_monotonic_us();

    if (left && has_ended(left->look)) {
        drop(left);
        left = NULL;
    }
    if (!left)
        return 0;
    left->silence_us += at_most(now_us - left->looked_us, MOMENT_US);
    left->looked_us = now_us;
    return left->silence_us / 1000;
}

bool looks_do(struct looks *looks, const char *pool, void (*work_run)(void *work), void *work,
              size_t size) {
    struct look *look;
    pthread_t thread;

    if (looks_silence_ms(looks, pool) > 0)
        return false;
    look = begin(work_run, work, size, &thread);
    if (!look) {
        work_run(work);
        return true;
    }
    if (!await_end(look)) {
        pthread_detach(thread);
        leave(looks, pool, look);
        return false;
    }
    pthread_join(thread, NULL);
    memcpy(work, look->work, size);
    let_go(look);
    return true;
}

/* ---- begin and end ---- */

struct looks *looks_new(void) {
    struct looks *looks = heap_new(sizeof(*looks));

    LIST_INIT(&looks->left);
    return looks;
}

void looks_free(struct looks *looks) {
    if (!looks)
        return;
    while (!LIST_EMPTY(&looks->left))
        drop(LIST_FIRST(&looks->left));
    free(looks);
}
