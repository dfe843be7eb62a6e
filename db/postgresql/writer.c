#include "db/postgresql/writer.h"

#include "common/assert.h"
#include "common/heap.h"
#include "common/thread.h"
#include "db/job_queue.h"
#include "db/postgresql/transaction.h"

#include <stdlib.h>

struct postgresql_writer {
    struct postgresql_db *db;
    unsigned thread_count, group_most;
    pthread_t *threads;

    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t wake;
    struct job_queue queue;
    bool stopping;
};

/* Called with the lock held. */
static unsigned group_take(struct postgresql_writer *writer, struct db_job **ret) {
    struct db_job **end = ret;
    unsigned count = 0;

    assert(writer->queue.count > 0);
    for (; writer->queue.count > 0 && count < writer->group_most; count++) {
        *end = job_queue_take(&writer->queue);
        end = &(*end)->next;
    }
    return count;
}

static void *writer_main(void *arg) {
    struct postgresql_writer *writer = arg;
    struct db_job *first;
    unsigned count;

    pthread_mutex_lock(&writer->lock);
    for (;;) {
        while (writer->queue.count == 0 && !writer->stopping)
            pthread_cond_wait(&writer->wake, &writer->lock);
        if (writer->queue.count == 0)
            break;
        count = group_take(writer, &first);
        pthread_mutex_unlock(&writer->lock);
        transaction_run(writer->db, first, count);
        pthread_mutex_lock(&writer->lock);
    }
    pthread_mutex_unlock(&writer->lock);
    return NULL;
}

struct postgresql_writer *postgresql_writer_new(struct postgresql_db *db, unsigned threads,
                                                unsigned group_most) {
    struct postgresql_writer *writer = heap_new(sizeof(*writer));

    writer->threads = heap_new((threads + 1) * sizeof(*writer->threads));
    writer->db = db;
    writer->thread_count = threads;
    writer->group_most = group_most;
    pthread_mutex_init(&writer->lock, NULL);
    pthread_cond_init(&writer->wake, NULL);
    for (unsigned i = 0; i < threads; i++)
        if (pthread_create(&writer->threads[i], NULL, writer_main, writer) != 0)
            abort();
    return writer;
}

void postgresql_writer_stop(struct postgresql_writer *writer) {
    assert(!writer->stopping);
    pthread_mutex_lock(&writer->lock);
    writer->stopping = true;
    pthread_cond_broadcast(&writer->wake);
    pthread_mutex_unlock(&writer->lock);
    for (unsigned i = 0; i < writer->thread_count; i++)
        pthread_join(writer->threads[i], NULL);
    assert(writer->queue.count == 0); /* each queued body has run */
    pthread_cond_destroy(&writer->wake);
    pthread_mutex_destroy(&writer->lock);
    free(writer->threads);
    free(writer);
}

void postgresql_writer_submit(struct postgresql_writer *writer, struct db_job *job) {
    assert(job->body && job->done);
    assert(!session_inside_body());
    job->next = NULL;
    if (writer->thread_count == 0) {
        transaction_run(writer->db, job, 1);
        return;
    }
    scoped_lock(&writer->lock);
    assert(!writer->stopping);
    job_queue_put(&writer->queue, job);
    pthread_cond_signal(&writer->wake);
}
