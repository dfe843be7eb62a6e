#include "replication/node/knocks.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/thread.h"
#include "replication/node/pool_look.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOMENT_US (5 * SECOND_US) /* a disk that is merely busy has answered by then */
#define BLOCK     4096
#define WRITE_US  (2 * SECOND_US) /* between two writes at least */

struct door {
    LIST_ENTRY(door) next;
    struct knocks *all;
    char *directory;
    pthread_t thread;
    pthread_cond_t changed;
    uint64_t asked, answered; /* knocks, by their numbers */
    int64_t begun_us;         /* of the one that is under way; 0: none is */
    int64_t written_us;       /* the thread's own: when a probe wrote last */
    /* Its silence, as far as somebody was there to see it: */
    int64_t looked_us, silence_us;
};

struct knocks {
    pthread_mutex_t lock; /* guards the doors and all that is theirs */
    bool ends;
    LIST_HEAD(door_list, door) doors;
};

/* ---- the thread ---- */

/* A plain file with no other name, which a write can harm nowhere else: a link, a device, a pipe or
 * a second name of another file is left alone. */
static int open_probe(int directory) {
    autoclose int fd =
        openat(directory, POOL_PROBE, O_RDWR | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0600);
    struct stat facts;

    if (fd < 0 || fstat(fd, &facts) < 0 || !S_ISREG(facts.st_mode) || facts.st_nlink != 1)
        return -1;
    return take_fd(fd);
}

/* One block, onto the disk, in a file that is there only meanwhile.  An error answers as well as a
 * success: a full or read-only file system is no silence. */
static void write_probe(int directory) {
    static const char block[BLOCK];
    autoclose int fd = open_probe(directory);

    if (fd < 0)
        return;
    if (pwrite(fd, block, sizeof(block), 0) > 0)
        (void)fdatasync(fd);
    (void)unlinkat(directory, POOL_PROBE, 0);
}

/* Past the kernel's memory, where the file system can do that; and nothing is written to what is no
 * pool. */
static void knock(struct door *door) {
    _Alignas(BLOCK) char block[BLOCK];
    autoclose int fd = open(door->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    autoclose int mark =
        fd < 0 ? -1 : openat(fd, POOL_MARK, O_RDONLY | O_NOFOLLOW | O_DIRECT | O_CLOEXEC);
    int64_t now_us = clock_monotonic_us();

    if (mark < 0)
        return;
    (void)!read(mark, block, sizeof(block));
    if (door->written_us > 0 && now_us < door->written_us + WRITE_US)
        return;
    door->written_us = now_us;
    write_probe(fd);
}

static void *run(void *arg) {
    struct door *door = arg;
    pthread_mutex_t *lock = &door->all->lock;

    pthread_mutex_lock(lock);
    while (!door->all->ends) {
        uint64_t number = door->asked;

        if (number == door->answered) {
            pthread_cond_wait(&door->changed, lock);
            continue;
        }
        door->begun_us = door->looked_us = clock_monotonic_us();
        pthread_mutex_unlock(lock);
        knock(door);
        pthread_mutex_lock(lock);
        door->begun_us = door->silence_us = 0;
        door->answered = number;
        pthread_cond_broadcast(&door->changed);
    }
    pthread_mutex_unlock(lock);
    return NULL;
}

/* ---- who asks ---- */

static struct door *find(struct knocks *knocks, const char *directory) {
    struct door *door;

    LIST_FOREACH(door, &knocks->doors, next) {
        if (strcmp(door->directory, directory) == 0)
            return door;
    }
    door = heap_new(sizeof(*door));
    door->all = knocks;
    door->directory = heap_text(directory);
    thread_cond_init(&door->changed);
    if (thread_start(&door->thread, "knock", run, door) == 0) {
        LIST_INSERT_HEAD(&knocks->doors, door, next);
        return door;
    }
    pthread_cond_destroy(&door->changed);
    free(door->directory);
    free(door);
    return NULL;
}

/* Who was stopped has seen nothing meanwhile. */
static void see_silence(struct door *door) {
    int64_t now_us = clock_monotonic_us(), passed_us = now_us - door->looked_us;

    door->silence_us += passed_us < MOMENT_US ? passed_us : MOMENT_US;
    door->looked_us = now_us;
}

static int64_t silence_of(struct door *door) {
    int64_t asked_us = clock_monotonic_us();
    uint64_t number = ++door->asked;
    bool waits = true;

    pthread_cond_broadcast(&door->changed);
    while (door->answered < number && waits) {
        int64_t since_us = door->begun_us > 0 ? door->begun_us : asked_us;

        waits = thread_cond_wait(&door->changed, &door->all->lock, since_us + MOMENT_US);
        see_silence(door);
    }
    return door->answered >= number ? 0 : door->silence_us / 1000 + 1;
}

int64_t knocks_silence_ms(struct knocks *knocks, const char *directory) {
    struct door *door;
    int64_t ms;

    pthread_mutex_lock(&knocks->lock);
    door = find(knocks, directory);
    ms = door ? silence_of(door) : 0; /* no thread is to be had: that says nothing */
    pthread_mutex_unlock(&knocks->lock);
    return ms;
}

/* ---- begin and end ---- */

struct knocks *knocks_new(void) {
    struct knocks *knocks = heap_new(sizeof(*knocks));

    pthread_mutex_init(&knocks->lock, NULL);
    LIST_INIT(&knocks->doors);
    return knocks;
}

static void free_doors(struct knocks *knocks) {
    while (!LIST_EMPTY(&knocks->doors)) {
        struct door *door = LIST_FIRST(&knocks->doors);

        LIST_REMOVE(door, next);
        pthread_cond_destroy(&door->changed);
        free(door->directory);
        free(door);
    }
    pthread_mutex_destroy(&knocks->lock);
    free(knocks);
}

bool knocks_stop(struct knocks *knocks, int64_t ms) {
    int64_t until_us = clock_monotonic_us() + ms * 1000;
    struct door *door;
    bool all = true;

    if (!knocks)
        return true;
    pthread_mutex_lock(&knocks->lock);
    knocks->ends = true;
    LIST_FOREACH(door, &knocks->doors, next) {
        pthread_cond_broadcast(&door->changed);
    }
    pthread_mutex_unlock(&knocks->lock);
    LIST_FOREACH(door, &knocks->doors, next) {
        all = thread_join_within(door->thread, (until_us - clock_monotonic_us()) / 1000) && all;
    }
    if (all)
        free_doors(knocks);
    return all;
}
