#include "drivers/file/shared_flush.h"

#include "common/assert.h"

#include <errno.h>
#include <unistd.h>

void shared_flush_init(struct shared_flush *flush) {
    *flush = (struct shared_flush){ .begun = 0 };
    pthread_mutex_init(&flush->lock, NULL);
    pthread_cond_init(&flush->changed, NULL);
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
    if (flush->waiting > 0)
        pthread_cond_broadcast(&flush->changed);
}

/* Called with the lock held. */
static void wait_for_end(struct shared_flush *flush) {
    flush->waiting++;
    pthread_cond_wait(&flush->changed, &flush->lock);
    flush->waiting--;
}

int shared_flush(struct shared_flush *flush, int fd) {
    uint64_t wanted;
    int failed_errno;

    pthread_mutex_lock(&flush->lock);
    wanted = flush->begun + 1;
    while (flush->ended < wanted) {
        if (flush->begun == flush->ended)
            flush_now(flush, fd);
        else
            wait_for_end(flush);
    }
    failed_errno = flush->failed >= wanted ? flush->failed_errno : 0;
    pthread_mutex_unlock(&flush->lock);
    errno = failed_errno;
    return failed_errno ? -1 : 0;
}
