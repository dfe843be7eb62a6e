#include "db/sqlite/writer.h"

#include "common/assert.h"
#include "common/heap.h"
#include "common/thread.h"
#include "db/job_queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* A checkpoint stalls the writer, so it is made while idle.  But most commits write the same pages,
 * and a reader that looks for one passes every frame of it in the WAL: 4 MB of that are deferred
 * only while checkpoints follow each other closely, and 16 MB never. */
enum { FRAMES_FULL = 25, FRAMES_WORTH_IDLE = 200, FRAMES_MANY = 1000, FRAMES_MOST = 4000 };
enum { IDLE_MS = 100, CHECKPOINT_MS = 250, GROUP_MOST = 64, DIVIDED_NEXT = 16 };
/* Processor time after which a group takes no further body: those behind it wait for its commit. */
#define GROUP_NS INT64_C(10000000)

struct outcome {
    int result;
    struct error err;
};

struct group {
    struct db_job *first, *last;
    unsigned count;
    unsigned most;    /* it grows to so many bodies */
    int64_t begun_ns; /* of the thread's processor time, which takes a system call, */
    int64_t begun_us; /* and by the clock, which is never behind */
    bool divided;     /* a savepoint for each body */
    bool has_undone;  /* a body failed after a change */
    struct outcome *outcomes;
    struct sqlite_tx tx;
};

struct writer {
    pthread_mutex_t using_connection;
    struct connection *connection;
    int64_t checkpoint_us; /* of the last one by space_limit(); guarded as the connection */
    unsigned divided_next; /* groups of several; guarded as the connection */
    db_fault *fault;
    void *fault_arg;

    bool threaded;
    pthread_t thread;
    unsigned group_most;
    struct outcome *outcomes; /* of the thread's group */

    pthread_mutex_t hook_lock; /* held while a hook runs */
    struct {
        void (*run)(void *arg);
        void *arg;
    } hooks[DB_EVENTS];

    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t wake;
    struct job_queue queue;
    bool stopping;
};

static int fault_check(const struct writer *writer, const char *point, struct error *err) {
    return writer->fault ? writer->fault(writer->fault_arg, point, err) : 0;
}

/* Those behind `rest` have no commit. */
static void sequels_drop(struct db_tx *tx, const struct db_sequel *rest) {
    while (tx->sequels != rest) {
        struct db_sequel *sequel = tx->sequels;

        tx->sequels = sequel->before;
        sequel->run(sequel, false);
    }
}

static void sequels_run(struct db_tx *tx) {
    struct db_sequel *first = NULL;

    while (tx->sequels) { /* the last one is at hand */
        struct db_sequel *sequel = tx->sequels;

        tx->sequels = sequel->before;
        sequel->before = first;
        first = sequel;
    }
    while (first) {
        struct db_sequel *sequel = first;

        first = sequel->before;
        sequel->run(sequel, true);
    }
}

/* -1: SQLite rolled back the whole transaction. */
static int body_run(struct group *group, const struct db_job *job, struct outcome *outcome) {
    struct sqlite_tx *tx = &group->tx;
    const struct db_sequel *sequels = tx->base.sequels;
    unsigned events = tx->base.events;

    assert(tx->base.writes);
    outcome->result = sqlite_tx_run(tx, job->body, job->arg, &outcome->err);
    if (sqlite_tx_gave_up(tx->connection)) {
        if (outcome->result >= 0)
            error_set(&outcome->err, ERROR_UNAVAILABLE,
                      "The database rolled back the transaction.");
        return -1;
    }
    if (outcome->result < 0) {
        tx->base.events = events;
        sequels_drop(&tx->base, sequels);
    }
    return 0;
}

/* -1: as body_run(). */
static int divided_run(struct group *group, const struct db_job *job, struct outcome *outcome) {
    struct connection *connection = group->tx.connection;

    if (sqlite_tx_control(connection, "SAVEPOINT body", &outcome->err) < 0 ||
        body_run(group, job, outcome) < 0)
        return -1;
    if (outcome->result < 0 && sqlite_tx_control(connection, "ROLLBACK TO body", &outcome->err) < 0)
        return -1;
    return sqlite_tx_control(connection, "RELEASE body", &outcome->err);
}

static int64_t thread_ns(void) {
    struct timespec used;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return used.tv_sec * INT64_C(1000000000) + used.tv_nsec;
}

static void group_add(struct writer *writer, struct group *group) {
    pthread_mutex_lock(&writer->lock);
    group->last->next = job_queue_take(&writer->queue);
    pthread_mutex_unlock(&writer->lock);
    group->last = group->last->next;
    group->count++;
}

/* -1: as body_run().  UNDIVIDED: a body failed after a change, and the others need a savepoint each
 * to remain without it. */
enum { UNDIVIDED = 1 };

static int jobs_run(struct writer *writer, struct group *group, struct error *err) {
    sqlite3 *handle = group->tx.connection->handle;
    const struct db_job *job = group->first;

    assert(group->count > 0);
    for (unsigned i = 0; i < group->count; i++, job = job->next) {
        struct outcome *outcome = &group->outcomes[i];
        int changes = sqlite3_total_changes(handle);

        outcome->err.kind = ERROR_NONE;
        outcome->err.message[0] = '\0';
        if ((group->divided ? divided_run(group, job, outcome) : body_run(group, job, outcome)) <
            0) {
            *err = outcome->err;
            return -1;
        }
        if (outcome->result < 0 && sqlite3_total_changes(handle) != changes) {
            group->has_undone = true;
            if (!group->divided && group->most > 1)
                return UNDIVIDED;
        }
        if (i + 1 == group->count && group->count < group->most &&
            (clock_monotonic_us() - group->begun_us <= GROUP_NS / 1000 ||
             thread_ns() - group->begun_ns <= GROUP_NS))
            group_add(writer, group);
    }
    return 0;
}

static bool group_is_unsynced(const struct group *group) {
    const struct db_job *job = group->first;

    for (unsigned i = 0; i < group->count; i++, job = job->next)
        if (!job->unsynced)
            return false;
    return true;
}

/* -1: nothing of the group took effect, or a fault simulates that.  UNDIVIDED: as jobs_run(). */
static int group_commit(struct writer *writer, struct group *group, struct error *err) {
    struct connection *connection = group->tx.connection;
    int result;

    assert(group->count > 0 && group->tx.connection == writer->connection);
    if (sqlite_check_place(connection, err) < 0 || sqlite_renew(connection, err) < 0 ||
        sqlite_tx_control(connection, "BEGIN IMMEDIATE", err) < 0) {
        while (group->count < group->most) /* a lock is not waited for once for each of them */
            group_add(writer, group);
        return -1;
    }
    result = jobs_run(writer, group, err);
    if (result != 0) {
        sqlite_tx_rollback(connection);
        return result;
    }
    if (group->count == 1 && group->outcomes[0].result < 0) {
        sqlite_tx_rollback(connection);
        return 0;
    }
    assert(!sqlite_tx_gave_up(connection));
    if (fault_check(writer, "before_commit", err) != 0 ||
        sqlite_tx_commit(connection, group_is_unsynced(group), err) < 0) {
        sqlite_tx_rollback(connection);
        return -1;
    }
    return fault_check(writer, "after_commit", err) != 0 ? -1 : 0;
}

static int group_begin(struct writer *writer, struct group *group, struct error *err) {
    int result;

    group->tx = (struct sqlite_tx){ .base = { .engine = &sqlite_engine, .writes = true },
                                    .connection = writer->connection };
    result = group_commit(writer, group, err);
    if (result != 0)
        sequels_drop(&group->tx.base, NULL);
    return result;
}

/* A savepoint costs a copy of each page that is changed after it, so there is none as long as no
 * body needs one: most succeed, or fail before their first change.  Requests that are refused
 * later, one after the other, do not make every group run twice. */
static int group_try(struct writer *writer, struct group *group, struct error *err) {
    bool several = group->most > 1;
    int result;

    group->divided = several && writer->divided_next > 0;
    group->has_undone = false;
    result = group_begin(writer, group, err);
    if (result == UNDIVIDED) {
        group->divided = true;
        result = group_begin(writer, group, err);
    }
    if (group->has_undone)
        writer->divided_next = DIVIDED_NEXT;
    else if (group->divided)
        writer->divided_next--;
    return result;
}

static void group_run(struct writer *writer, struct group *group) {
    struct error err = { .kind = ERROR_NONE };
    int result;

    scoped_lock(&writer->using_connection);
    result = group_try(writer, group, &err);
    if (result < 0 && sqlite_make_space(writer->connection))
        result = group_try(writer, group, &err);
    if (result < 0) {
        /* what was reported as failed must not reappear with the next process */
        sqlite_renew(writer->connection, &(struct error){ .kind = ERROR_NONE });
        group->tx.base.events = 0;
        for (unsigned i = 0; i < group->count; i++)
            group->outcomes[i] = (struct outcome){ -1, err };
    }
}

static void hooks_run(struct writer *writer, unsigned events) {
    assert(events < 1U << DB_EVENTS);
    scoped_lock(&writer->hook_lock);
    for (unsigned i = 0; i < DB_EVENTS; i++)
        if (events & 1U << i && writer->hooks[i].run)
            writer->hooks[i].run(writer->hooks[i].arg);
}

static void group_tell(struct writer *writer, struct group *group) {
    struct db_job *job = group->first;

    assert(group->count > 0);
    for (unsigned i = 0; i < group->count; i++) {
        struct db_job *next = job->next; /* the job is its owner's again once done() is called */

        job->done(job, group->outcomes[i].result, &group->outcomes[i].err);
        job = next;
    }
    sequels_run(&group->tx.base);
    if (group->tx.base.events)
        hooks_run(writer, group->tx.base.events);
}

/* After each group: the reserve gets the space that a delete has freed, before guests fill it. */
static void space_limit(struct writer *writer) {
    int64_t now_us = clock_monotonic_us();
    int frames;

    scoped_lock(&writer->using_connection);
    frames = writer->connection->wal_frames;
    /* On a full file system the log would soon take all space of the reserve, of which little may
     * be left, and which a checkpoint needs, too. */
    if (frames >= (writer->connection->no_reserve ? FRAMES_FULL : FRAMES_MOST) ||
        (frames >= FRAMES_MANY && now_us - writer->checkpoint_us >= CHECKPOINT_MS * 1000)) {
        sqlite_checkpoint(writer->connection);
        writer->checkpoint_us = now_us;
    }
    sqlite_renew_reserve(writer->connection);
}

/* Of the first job; up to group_most of those that are queued now may join it.  Called with the
 * lock held. */
static void group_take(struct writer *writer, struct group *group) {
    unsigned queued = writer->queue.count;

    *group = (struct group){ .first = job_queue_take(&writer->queue),
                             .count = 1,
                             .most = queued < writer->group_most ? queued : writer->group_most,
                             .begun_ns = queued > 1 ? thread_ns() : 0,
                             .begun_us = queued > 1 ? clock_monotonic_us() : 0,
                             .outcomes = writer->outcomes };
    group->last = group->first;
}

/* One idle moment: false when work arrived or at the end.  Called with the lock held. */
static bool writer_rests(struct writer *writer) {
    int64_t until_us = clock_monotonic_us() + IDLE_MS * 1000;

    while (writer->queue.count == 0 && !writer->stopping)
        if (!thread_cond_wait(&writer->wake, &writer->lock, until_us))
            return writer->queue.count == 0 && !writer->stopping;
    return false;
}

/* Called with the lock held.  false: nothing is queued and nothing will be. */
static bool writer_waits(struct writer *writer) {
    while (writer->queue.count == 0 && !writer->stopping) {
        if (writer->connection->wal_frames < FRAMES_WORTH_IDLE) {
            pthread_cond_wait(&writer->wake, &writer->lock);
        } else if (writer_rests(writer)) {
            pthread_mutex_unlock(&writer->lock);
            sqlite_checkpoint(writer->connection);
            writer->connection->wal_frames = 0; /* no reader is waited for */
            pthread_mutex_lock(&writer->lock);
        }
    }
    return writer->queue.count > 0;
}

static void *writer_main(void *arg) {
    struct writer *writer = arg;
    struct group group;

    pthread_mutex_lock(&writer->lock);
    while (writer_waits(writer)) {
        group_take(writer, &group);
        pthread_mutex_unlock(&writer->lock);
        group_run(writer, &group);
        group_tell(writer, &group);
        space_limit(writer);
        pthread_mutex_lock(&writer->lock);
    }
    pthread_mutex_unlock(&writer->lock);
    return NULL;
}

struct writer *writer_new(struct connection *connection, unsigned group_most) {
    struct writer *writer = heap_new(sizeof(*writer));

    writer->connection = connection;
    writer->group_most = group_most ? group_most : GROUP_MOST;
    pthread_mutex_init(&writer->using_connection, NULL);
    pthread_mutex_init(&writer->hook_lock, NULL);
    pthread_mutex_init(&writer->lock, NULL);
    thread_cond_init(&writer->wake);
    return writer;
}

void writer_start(struct writer *writer) {
    assert(!writer->threaded && writer->group_most > 0);
    writer->outcomes = heap_new(writer->group_most * sizeof(*writer->outcomes));
    if (pthread_create(&writer->thread, NULL, writer_main, writer) != 0)
        abort();
    writer->threaded = true;
}

void writer_stop(struct writer *writer) {
    assert(!writer->stopping);
    pthread_mutex_lock(&writer->lock);
    writer->stopping = true;
    pthread_cond_signal(&writer->wake);
    pthread_mutex_unlock(&writer->lock);
    if (writer->threaded)
        pthread_join(writer->thread, NULL);
    assert(writer->queue.count == 0); /* each queued body has run */
    sqlite_close(writer->connection);
    pthread_cond_destroy(&writer->wake);
    pthread_mutex_destroy(&writer->lock);
    pthread_mutex_destroy(&writer->hook_lock);
    pthread_mutex_destroy(&writer->using_connection);
    free(writer->outcomes);
    free(writer);
}

static void job_run_here(struct writer *writer, struct db_job *job) {
    struct outcome outcome;
    struct group group = { .first = job, .count = 1, .outcomes = &outcome };

    assert(!writer->threaded);
    group_run(writer, &group);
    group_tell(writer, &group);
    space_limit(writer);
}

void writer_submit(struct writer *writer, struct db_job *job) {
    assert(job->body && job->done);
    assert(!sqlite_tx_inside());
    job->next = NULL;
    if (!writer->threaded) {
        job_run_here(writer, job);
        return;
    }
    /* the writer's thread would wait for itself */
    assert(!job->awaited || !pthread_equal(writer->thread, pthread_self()));
    scoped_lock(&writer->lock);
    assert(!writer->stopping);
    job_queue_put(&writer->queue, job);
    pthread_cond_signal(&writer->wake);
}

int writer_read(struct writer *writer, db_body *body, void *arg, struct error *err) {
    assert(!sqlite_tx_inside());
    scoped_lock(&writer->using_connection);
    return sqlite_tx_read(writer->connection, body, arg, err);
}

struct connection *writer_connection(struct writer *writer) {
    return writer->connection;
}

void writer_on_event(struct writer *writer, enum db_event event, void (*hook)(void *arg),
                     void *arg) {
    assert(event < DB_EVENTS);
    scoped_lock(&writer->hook_lock);
    writer->hooks[event].run = hook;
    writer->hooks[event].arg = arg;
}

void writer_set_fault(struct writer *writer, db_fault *fault, void *arg) {
    writer->fault = fault;
    writer->fault_arg = arg;
}
