#include "csi/node/loop_ask.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/queue.h>

#define PATIENCE_US  (5 * SECOND_US) /* a server that is merely busy has answered by then */
#define IMPATIENT_US SECOND_US       /* while another one says nothing already */

/* Of who waits and of the thread that asks: who is the last with it frees it. */
struct question {
    LIST_ENTRY(question) next; /* of those that nobody waits for any more */
    int fd;
    unsigned number;
    uint64_t seal;
    pthread_cond_t changed;
    bool answered, left;
    int reason; /* errno; 0: info is there */
    struct loop_info64 info;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the rest */
static LIST_HEAD(question_list, question) silent = LIST_HEAD_INITIALIZER(silent);

static void question_free(struct question *question) {
    pthread_cond_destroy(&question->changed);
    close(question->fd);
    free(question);
}

static void *ask(void *arg) {
    struct question *question = arg;
    int reason = ioctl(question->fd, LOOP_GET_STATUS64, &question->info) < 0 ? errno : 0;

    pthread_mutex_lock(&lock);
    question->reason = reason;
    question->answered = true;
    if (question->left) {
        LIST_REMOVE(question, next);
        question_free(question);
    } else {
        pthread_cond_signal(&question->changed);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* NULL: no descriptor or no thread is to be had. */
static struct question *begin(int fd, unsigned number, uint64_t seal) {
    struct question *question = heap_new(sizeof(*question));
    pthread_t thread;

    *question = (struct question){ .number = number, .seal = seal };
    question->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    thread_cond_init(&question->changed);
    if (question->fd >= 0 && thread_start(&thread, "loop", ask, question) == 0) {
        pthread_detach(thread);
        return question;
    }
    question_free(question);
    return NULL;
}

static bool is_silent(unsigned number, uint64_t seal) {
    const struct question *question = LIST_FIRST(&silent);

    while (question && (question->number != number || question->seal != seal))
        question = LIST_NEXT(question, next);
    return question != NULL;
}

/* With the lock. */
static int wait_for(struct question *question, struct loop_info64 *ret) {
    int64_t until_us = clock_monotonic_us() + (LIST_EMPTY(&silent) ? PATIENCE_US : IMPATIENT_US);
    int reason;

    while (!question->answered && thread_cond_wait(&question->changed, &lock, until_us))
        ;
    if (!question->answered) {
        question->left = true;
        LIST_INSERT_HEAD(&silent, question, next);
        return ETIMEDOUT;
    }
    reason = question->reason;
    *ret = question->info;
    question_free(question);
    return reason;
}

int loop_ask(int fd, unsigned number, uint64_t seal, struct loop_info64 *ret) {
    struct question *question;
    int reason = ETIMEDOUT;

    pthread_mutex_lock(&lock);
    if (!is_silent(number, seal)) {
        question = begin(fd, number, seal);
        reason = question ? wait_for(question, ret) : EAGAIN;
    }
    pthread_mutex_unlock(&lock);
    errno = reason;
    return reason ? -1 : 0;
}
