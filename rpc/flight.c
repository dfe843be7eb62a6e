#include "rpc/flight.private.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/thread.h"
#include "common/words.h"
#include "db/outbox.h"

#include <stdlib.h>
#include <string.h>

/* Rows of a topic beyond TOPIC_MOST, or TOPIC_BYTES_MOST, wait in the database, not in memory, and
 * so do those of a project that would use more than its share; the periodic scan continues with
 * them, as with rows that the engine did not accept or failed.  A topic with an unresponsive
 * backend does not delay others, nor does a project with many requests. */
enum { TOPIC_MOST = 16384, TOPIC_BYTES_MOST = 8 << 20, DELETE_BATCH = 128, DELETE_AGAIN_MS = 1000 };

/* A deletion is a transaction, so confirmed rows are deleted together: after a while, or when there
 * are many.  A crash before it publishes them once more, which finds their work done. */
enum { DELETE_AFTER_MS = 500, DELETE_MANY = 64 };

struct flight {
    struct flights *flights;
    struct share *share;
    int64_t id;
    size_t bytes;
    bool with_engine;
    struct flight *next_in_bucket;
    struct flight *next; /* in one of the lists */
};

/* One for each topic of a row: there are as many as backends and kinds of notifications. */
struct topic {
    struct topic *next;
    size_t bytes; /* in flight */
    unsigned in_flight;
    bool full; /* one of its rows waits in the table for lack of a slot, and all after it do */
    char name[];
};

/* Rows of a project in a topic. */
struct share {
    struct share *next;
    struct topic *topic;
    size_t bytes;
    unsigned in_flight;
    bool full; /* one of its rows waits in the table, and all after it do */
    char project[];
};

struct flights *flights_new(struct db *db) {
    struct flights *flights = heap_new(sizeof(*flights));

    flights->db = db;
    pthread_mutex_init(&flights->lock, NULL);
    thread_cond_init(&flights->changed);
    return flights;
}

static void flights_free(struct flights *flights) {
    while (flights->topics) {
        struct topic *topic = flights->topics;

        flights->topics = topic->next;
        free(topic);
    }
    for (size_t i = 0; i < LENGTH(flights->shares); i++) {
        while (flights->shares[i]) {
            struct share *share = flights->shares[i];

            flights->shares[i] = share->next;
            free(share);
        }
    }
    pthread_cond_destroy(&flights->changed);
    pthread_mutex_destroy(&flights->lock);
    free(flights);
}

/* ---- publication ---- */

static struct flight **flight_place(struct flights *flights, int64_t id) {
    struct flight **place = &flights->buckets[(uint64_t)id % LENGTH(flights->buckets)];

    while (*place && (*place)->id != id)
        place = &(*place)->next_in_bucket;
    return place;
}

bool flights_have(struct flights *flights, int64_t id) {
    return *flight_place(flights, id);
}

static struct topic *topic_of(struct flights *flights, const char *name) {
    struct topic *topic = flights->topics;

    while (topic && strcmp(topic->name, name) != 0)
        topic = topic->next;
    if (topic)
        return topic;
    topic = heap_new(sizeof(*topic) + strlen(name) + 1);
    strcpy(topic->name, name);
    topic->next = flights->topics;
    flights->topics = topic;
    return topic;
}

static struct share **share_bucket(struct flights *flights, const char *project) {
    return &flights->shares[word_hash(project) % LENGTH(flights->shares)];
}

static struct share *share_of(struct flights *flights, struct topic *topic, const char *project) {
    struct share **bucket = share_bucket(flights, project);
    struct share *share = *bucket;

    while (share && (share->topic != topic || strcmp(share->project, project) != 0))
        share = share->next;
    if (share)
        return share;
    share = heap_new(sizeof(*share) + strlen(project) + 1);
    strcpy(share->project, project);
    share->topic = topic;
    share->next = *bucket;
    *bucket = share;
    return share;
}

/* Removes empty ones; the rest are not more than the flights. */
static void shares_tidy(struct share **place) {
    while (*place) {
        struct share *share = *place;

        if (share->in_flight == 0 && !share->full) {
            *place = share->next;
            free(share);
        } else {
            place = &share->next;
        }
    }
}

struct flight *flight_begin(struct flights *flights, const char *topic_name, const char *project,
                            int64_t id, size_t bytes) {
    struct topic *topic = topic_of(flights, topic_name);
    struct share *share;
    struct flight *flight;

    topic->full = topic->full || topic->in_flight >= TOPIC_MOST || topic->bytes >= TOPIC_BYTES_MOST;
    if (topic->full)
        return NULL;
    share = share_of(flights, topic, project);
    share->full = share->full || share->in_flight >= TOPIC_MOST - topic->in_flight ||
                  share->bytes >= TOPIC_BYTES_MOST - topic->bytes;
    if (share->full)
        return NULL;
    flight = heap_new(sizeof(*flight));
    *flight = (struct flight){
        .flights = flights, .share = share, .id = id, .bytes = bytes, .with_engine = true
    };
    *flight_place(flights, id) = flight;
    topic->in_flight++;
    topic->bytes += bytes;
    share->in_flight++;
    share->bytes += bytes;
    scoped_lock(&flights->lock);
    flights->with_engine++;
    return flight;
}

void flights_look_anew(struct flights *flights) {
    for (struct topic *topic = flights->topics; topic; topic = topic->next)
        topic->full = false;
    for (size_t i = 0; i < LENGTH(flights->shares); i++) {
        for (struct share *share = flights->shares[i]; share; share = share->next)
            share->full = false;
        shares_tidy(&flights->shares[i]);
    }
}

static void flight_end(struct flight *flight) {
    *flight_place(flight->flights, flight->id) = flight->next_in_bucket;
    flight->share->topic->in_flight--;
    flight->share->topic->bytes -= flight->bytes;
    flight->share->in_flight--;
    flight->share->bytes -= flight->bytes;
    shares_tidy(share_bucket(flight->flights, flight->share->project));
    free(flight);
}

void flight_cancel(struct flight *flight) {
    struct flights *flights = flight->flights;

    pthread_mutex_lock(&flights->lock);
    flights->with_engine--;
    pthread_mutex_unlock(&flights->lock);
    flight_end(flight);
}

/* ---- completion ---- */

static void list_put(struct flight **list, struct flight *flight) {
    flight->next = *list;
    *list = flight;
}

/* Called with the lock held. */
static void confirmed_put(struct flights *flights, struct flight *flight) {
    bool first = !flights->confirmed;

    list_put(&flights->confirmed, flight);
    if (first)
        flights->confirmed_count = 0;
    flights->confirmed_count++;
    if (!first && flights->confirmed_count != DELETE_MANY)
        return;
    flights->delete_us = clock_monotonic_us() + (first ? DELETE_AFTER_MS * 1000 : 0);
    pthread_cond_signal(&flights->changed);
}

void flight_confirm(void *arg, bool taken) {
    struct flight *flight = arg;
    struct flights *flights = flight->flights;
    bool last;

    pthread_mutex_lock(&flights->lock);
    flight->with_engine = false;
    flights->with_engine--;
    last = flights->stopped && flights->with_engine == 0;
    if (flights->stopped) {
        free(flight);
    } else if (taken) {
        confirmed_put(flights, flight);
    } else {
        list_put(&flights->finished, flight);
    }
    pthread_mutex_unlock(&flights->lock);
    if (last)
        flights_free(flights);
}

static int delete_body(struct db_tx *tx, void *arg, struct error *err) {
    const struct flights *flights = arg;
    int64_t ids[DELETE_BATCH];
    unsigned count = 0;

    for (const struct flight *flight = flights->deleting; flight; flight = flight->next) {
        ids[count++] = flight->id;
        if (count < DELETE_BATCH && flight->next)
            continue;
        if (outbox_delete(tx, ids, count, err) < 0)
            return -1;
        count = 0;
    }
    return 0;
}

static void list_move(struct flight **from, struct flight **to) {
    while (*from) {
        struct flight *flight = *from;

        *from = flight->next;
        list_put(to, flight);
    }
}

static void delete_done(struct db_job *job, int result, struct error *err) {
    struct flights *flights = job->arg;

    scoped_lock(&flights->lock);
    if (result < 0) {
        flights->delete_error = *err;
        flights->delete_us = clock_monotonic_us() + DELETE_AGAIN_MS * 1000;
        list_move(&flights->deleting, &flights->confirmed);
        flights->confirmed_count = DELETE_MANY; /* reached: only the time begins the next one */
    } else {
        list_move(&flights->deleting, &flights->finished);
    }
    pthread_cond_broadcast(&flights->changed);
}

void flights_delete(struct flights *flights) {
    bool start;

    pthread_mutex_lock(&flights->lock);
    start = flights->confirmed && !flights->deleting;
    if (start) {
        flights->deleting = flights->confirmed;
        flights->confirmed = NULL;
    }
    pthread_mutex_unlock(&flights->lock);
    if (start) {
        flights->delete_job = (struct db_job){
            .body = delete_body, .done = delete_done, .arg = flights, .unsynced = true
        };
        db_submit(flights->db, &flights->delete_job);
    }
}

void flights_delete_due(struct flights *flights) {
    bool due;

    pthread_mutex_lock(&flights->lock);
    due = clock_monotonic_us() >= flights->delete_us;
    pthread_mutex_unlock(&flights->lock);
    if (due)
        flights_delete(flights);
}

void flights_delete_wait(struct flights *flights) {
    scoped_lock(&flights->lock);
    while (flights->deleting)
        pthread_cond_wait(&flights->changed, &flights->lock);
}

int flights_delete_result(struct flights *flights, struct error *err) {
    struct error failure;

    pthread_mutex_lock(&flights->lock);
    failure = flights->delete_error;
    flights->delete_error.kind = ERROR_NONE;
    pthread_mutex_unlock(&flights->lock);
    if (failure.kind == ERROR_NONE)
        return 0;
    return error_set(err, failure.kind, "deleting messages: %s", failure.message);
}

void flights_forget_finished(struct flights *flights) {
    struct flight *flight;

    pthread_mutex_lock(&flights->lock);
    flight = flights->finished;
    flights->finished = NULL;
    pthread_mutex_unlock(&flights->lock);
    while (flight) {
        struct flight *next = flight->next;

        flight_end(flight);
        flight = next;
    }
}

/* ---- the end ---- */

void flights_stop(struct flights *flights) {
    bool last;

    pthread_mutex_lock(&flights->lock);
    for (size_t i = 0; i < LENGTH(flights->buckets); i++)
        for (struct flight *flight = flights->buckets[i], *next; flight; flight = next) {
            next = flight->next_in_bucket;
            if (!flight->with_engine)
                free(flight);
        }
    flights->stopped = true;
    last = flights->with_engine == 0;
    pthread_mutex_unlock(&flights->lock);
    if (last)
        flights_free(flights);
}
