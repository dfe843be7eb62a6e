#include "replication/node/health_probes.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/thread.h"
#include "replication/node/pool_status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOMENT_US (5 * SECOND_US) /* sufficient for a busy disk */
#define BLOCK     4096
#define WRITE_US  (2 * SECOND_US) /* least pause between two writes */

struct probed {
    LIST_ENTRY(probed) next;
    struct health_probes *all;
    char *directory;
    pthread_t thread;
    pthread_cond_t changed;
    uint64_t requested, answered; /* numbers of probes */
    int64_t begun_us;             /* of the running probe; 0: none */
    int64_t written_us;           /* last write of a probe; its thread's */
    int refusal;                  /* errno of that write; 0: it was done, or not refused for good */
    /* Observed by callers: */
    int64_t observed_us, unresponsive_us;
};

struct health_probes {
    pthread_mutex_t lock; /* guards the directories and their fields */
    bool ends;
    LIST_HEAD(probed_list, probed) directories;
};

/* ---- the thread ---- */

/* Writes one block to the disk, in a temporary file: only to a regular file with one name; not to a
 * link, a device, a pipe or another name of a file.  An error is a response, too: a full or
 * read-only file system is responsive.  The errno of a refusal, or 0. */
static int write_probe(int directory) {
    static const char block[BLOCK];
    autoclose int fd =
        openat(directory, POOL_PROBE, O_RDWR | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0600);
    struct stat facts;
    int code;

    if (fd >= 0 && (fstat(fd, &facts) < 0 || !S_ISREG(facts.st_mode) || facts.st_nlink != 1))
        return 0;
    code = fd < 0 || pwrite(fd, block, sizeof(block), 0) < 0 || fdatasync(fd) < 0 ? errno : 0;
    if (fd >= 0)
        (void)unlinkat(directory, POOL_PROBE, 0);
    /* No write of this file system can be done; one that is full has space again when files go. */
    return code == EIO || code == EROFS || code == EUCLEAN || code == ESHUTDOWN ? code : 0;
}

/* Bypasses the page cache where the file system supports that.  Only a pool is written to.
 * *refusal follows a write. */
static void probe(struct probed *probed, int *refusal) {
    _Alignas(BLOCK) char block[BLOCK];
    autoclose int fd = open(probed->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    autoclose int mark =
        fd < 0 ? -1 : openat(fd, POOL_MARK, O_RDONLY | O_NOFOLLOW | O_DIRECT | O_CLOEXEC);
    int64_t now_us = clock_monotonic_us();

    if (mark < 0)
        return;
    (void)!read(mark, block, sizeof(block));
    if (probed->written_us > 0 && now_us < probed->written_us + WRITE_US)
        return;
    probed->written_us = now_us;
    *refusal = write_probe(fd);
}

static void *run(void *arg) {
    struct probed *probed = arg;
    pthread_mutex_t *lock = &probed->all->lock;

    pthread_mutex_lock(lock);
    while (!probed->all->ends) {
        uint64_t number = probed->requested;
        int refusal = probed->refusal;

        if (number == probed->answered) {
            pthread_cond_wait(&probed->changed, lock);
            continue;
        }
        probed->begun_us = probed->observed_us = clock_monotonic_us();
        pthread_mutex_unlock(lock);
        probe(probed, &refusal);
        pthread_mutex_lock(lock);
        probed->refusal = refusal;
        probed->begun_us = probed->unresponsive_us = 0;
        probed->answered = number;
        pthread_cond_broadcast(&probed->changed);
    }
    pthread_mutex_unlock(lock);
    return NULL;
}

/* ---- callers ---- */

static struct probed *probed_find(struct health_probes *health_probes, const char *directory) {
    struct probed *probed;

    LIST_FOREACH(probed, &health_probes->directories, next) {
        if (strcmp(probed->directory, directory) == 0)
            return probed;
    }
    probed = heap_new(sizeof(*probed));
    probed->all = health_probes;
    probed->directory = heap_text(directory);
    thread_cond_init(&probed->changed);
    if (thread_start(&probed->thread, "probe", run, probed) == 0) {
        LIST_INSERT_HEAD(&health_probes->directories, probed, next);
        return probed;
    }
    pthread_cond_destroy(&probed->changed);
    free(probed->directory);
    free(probed);
    return NULL;
}

static int64_t probe_and_wait(struct probed *probed) {
    int64_t asked_us = clock_monotonic_us();
    uint64_t number = ++probed->requested;
    bool waits = true;

    pthread_cond_broadcast(&probed->changed);
    while (probed->answered < number && waits) {
        int64_t since_us = probed->begun_us > 0 ? probed->begun_us : asked_us;
        int64_t now_us, passed_us;

        waits = thread_cond_wait(&probed->changed, &probed->all->lock, since_us + MOMENT_US);
        now_us = clock_monotonic_us();
        passed_us = now_us - probed->observed_us;
        /* Time during which this process was suspended does not count as unresponsiveness of the
         * disk. */
        probed->unresponsive_us += passed_us < MOMENT_US ? passed_us : MOMENT_US;
        probed->observed_us = now_us;
    }
    return probed->answered >= number ? 0 : probed->unresponsive_us / 1000 + 1;
}

int64_t health_probes_unresponsive_ms(struct health_probes *health_probes, const char *directory) {
    struct probed *probed;
    int64_t ms;

    pthread_mutex_lock(&health_probes->lock);
    probed = probed_find(health_probes, directory);
    ms = probed ? probe_and_wait(probed) : 0; /* no thread can be started: unknown */
    pthread_mutex_unlock(&health_probes->lock);
    return ms;
}

int health_probes_refusal(struct health_probes *health_probes, const char *directory) {
    const struct probed *probed;
    int code;

    pthread_mutex_lock(&health_probes->lock);
    probed = probed_find(health_probes, directory);
    code = probed ? probed->refusal : 0;
    pthread_mutex_unlock(&health_probes->lock);
    return code;
}

/* ---- begin and end ---- */

struct health_probes *health_probes_new(void) {
    struct health_probes *health_probes = heap_new(sizeof(*health_probes));

    pthread_mutex_init(&health_probes->lock, NULL);
    LIST_INIT(&health_probes->directories);
    return health_probes;
}

bool health_probes_stop(struct health_probes *health_probes, int64_t ms) {
    int64_t until_us = clock_monotonic_us() + ms * 1000;
    struct probed *probed;
    bool all = true;

    if (!health_probes)
        return true;
    pthread_mutex_lock(&health_probes->lock);
    health_probes->ends = true;
    LIST_FOREACH(probed, &health_probes->directories, next) {
        pthread_cond_broadcast(&probed->changed);
    }
    pthread_mutex_unlock(&health_probes->lock);
    LIST_FOREACH(probed, &health_probes->directories, next) {
        all = thread_join_within(probed->thread, (until_us - clock_monotonic_us()) / 1000) && all;
    }
    if (!all)
        return false;
    while (!LIST_EMPTY(&health_probes->directories)) {
        probed = LIST_FIRST(&health_probes->directories);
        LIST_REMOVE(probed, next);
        pthread_cond_destroy(&probed->changed);
        free(probed->directory);
        free(probed);
    }
    pthread_mutex_destroy(&health_probes->lock);
    free(health_probes);
    return true;
}
