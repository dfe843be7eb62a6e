#include "drivers/file/shared_flush.h"

#include "common/assert.h"
#include "common/cleanup.h"

#include <errno.h>
#include <unistd.h>

void shared_flush_init(struct shared_flush *flush) {
    *flush = (struct shared_flush){ .begun = 0 };
    pthread_mutex_init(&flush->lock, NULL);
    for (unsigned i = 0; i < LENGTH(flush->changed); i++)
        pthread_cond_init(&flush->changed[i], NULL);
}

/* The threads that wait for the end of this flush: those of the one before have left, and those of
 * the one after the next have not come. */
static pthread_cond_t *condition_of(struct shared_flush *flush, uint64_t number) {
    return &flush->changed[number % LENGTH(flush->changed)];
}

/* Called with the lock held and none in progress. */
static void flush_now(struct shared_flush *flush, int fd) {
    int failed_errno;

    assert(flush->begun == flush->ended);
    flush->begun++;
    pthread_mutex_unlock(&flush->lock);
    failed_errno = fsync(fd) < 0 ? errno : 0;
    pthread_mutex_lock(&flush->lock);
    flush->ended++;
    if (failed_errno) {
        flush->failed = flush->ended;
        flush->failed_errno = failed_errno;
    }
    if (flush->waiting > 0) {
        pthread_cond_broadcast(condition_of(flush, flush->ended));
        pthread_cond_signal(condition_of(flush, flush->ended + 1));
    }
}

int shared_flush(struct shared_flush *flush, int fd) {
    uint64_t wanted;
    int failed_errno;

    pthread_mutex_lock(&flush->lock);
    wanted = flush->begun + 1;
    while (flush->ended < wanted) {
        if (flush->begun == flush->ended) {
            flush_now(flush, fd);
            continue;
        }
        flush->waiting++;
        pthread_cond_wait(condition_of(flush, wanted), &flush->lock);
        flush->waiting--;
    }
    failed_errno = flush->failed >= wanted ? flush->failed_errno : 0;
    pthread_mutex_unlock(&flush->lock);
    errno = failed_errno;
    return failed_errno ? -1 : 0;
}
