#include "rpc/relay.h"

#include "common/clock.h"
#include "common/log.h"
#include "db/outbox.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Rows above TOPIC_MOST of one topic wait in the database, not in memory; the regular look goes on
 * with them, as it does with rows that the engine did not take or gave back.  A topic whose backend
 * does not answer keeps nobody else's back. */
enum {
    BATCH = 128,
    TOPIC_MOST = 16384,
    BUCKETS = 1024,
    DELETE_AFTER_MS = 50,
    LOOK_AFTER_MS = 1000,
    LEAVE_MS = 3000
};

/*
 * A row in our hands:
 *
 *     with the engine --confirm(true)--> confirmed --> deleting --committed--> finished
 *            |                               ^------------'  failed               ^
 *            '--confirm(false)----------------------------------------------------'
 *
 * In every state the row is not published again; a finished one is forgotten before the next look
 * at the table, which finds it deleted, or to be published again.
 */
struct flight {
    struct relay *relay;
    struct topic *topic;
    int64_t id;
    bool with_engine;
    struct flight *next_in_bucket;
    struct flight *next; /* in one of the lists below */
};

/* One for each that a row was for: there are as many as backends and kinds of news. */
struct topic {
    struct topic *next;
    unsigned in_flight;
    bool full; /* one of its rows waits in the table: so do those behind it, to keep their order */
    char name[];
};

struct relay {
    struct db *db;
    struct rpc *rpc;
    bool threaded;
    pthread_t thread;

    /* Of the thread that looks at the table. */
    struct flight *buckets[BUCKETS];
    struct topic *topics;
    int64_t seen; /* newest id looked at */
    bool failing;

    struct db_job delete_job;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    struct flight *confirmed, *deleting, *finished;
    int64_t delete_us; /* when `confirmed` shall be deleted at the latest; monotonic */
    struct error delete_error;
    bool woken, stopping;
    bool stopped;         /* only confirmations to come keep the relay alive */
    unsigned with_engine; /* how many those are */
};

static struct flight **flight_place(struct relay *relay, int64_t id) {
    struct flight **place = &relay->buckets[(uint64_t)id % BUCKETS];

    while (*place && (*place)->id != id)
        place = &(*place)->next_in_bucket;
    return place;
}

static void flight_unlink(struct relay *relay, const struct flight *flight) {
    *flight_place(relay, flight->id) = flight->next_in_bucket;
    flight->topic->in_flight--;
}

static struct topic *topic_of(struct relay *relay, const char *name) {
    struct topic *topic = relay->topics;

    while (topic && strcmp(topic->name, name) != 0)
        topic = topic->next;
    if (topic)
        return topic;
    topic = calloc(1, sizeof(*topic) + strlen(name) + 1);
    if (!topic)
        abort();
    strcpy(topic->name, name);
    topic->next = relay->topics;
    relay->topics = topic;
    return topic;
}

static void flights_put(struct flight **list, struct flight *flight) {
    flight->next = *list;
    *list = flight;
}

/* Takes a whole list out of a struct under its lock. */
static struct flight *flights_take(struct relay *relay, struct flight **list) {
    struct flight *taken;

    pthread_mutex_lock(&relay->lock);
    taken = *list;
    *list = NULL;
    pthread_mutex_unlock(&relay->lock);
    return taken;
}

static void finished_forget(struct relay *relay) {
    struct flight *flight = flights_take(relay, &relay->finished);

    while (flight) {
        struct flight *next = flight->next;

        flight_unlink(relay, flight);
        free(flight);
        flight = next;
    }
}

static void relay_free(struct relay *relay) {
    while (relay->topics) {
        struct topic *topic = relay->topics;

        relay->topics = topic->next;
        free(topic);
    }
    pthread_cond_destroy(&relay->changed);
    pthread_mutex_destroy(&relay->lock);
    free(relay);
}

/* Called by the engine, from any thread. */
static void flight_confirm(void *arg, bool taken) {
    struct flight *flight = arg;
    struct relay *relay = flight->relay;
    bool last;

    pthread_mutex_lock(&relay->lock);
    flight->with_engine = false;
    relay->with_engine--;
    last = relay->stopped && relay->with_engine == 0;
    if (relay->stopped) {
        free(flight);
    } else if (taken) {
        if (!relay->confirmed) {
            relay->delete_us = clock_monotonic_us() + DELETE_AFTER_MS * 1000;
            pthread_cond_signal(&relay->changed);
        }
        flights_put(&relay->confirmed, flight);
    } else {
        flights_put(&relay->finished, flight);
    }
    pthread_mutex_unlock(&relay->lock);
    if (last)
        relay_free(relay);
}

static int delete_body(struct db_tx *tx, void *arg, struct error *err) {
    const struct relay *relay = arg;
    int64_t ids[BATCH];
    unsigned count = 0;

    for (const struct flight *flight = relay->deleting; flight; flight = flight->next) {
        ids[count++] = flight->id;
        if (count < BATCH && flight->next)
            continue;
        if (outbox_delete(tx, ids, count, err) < 0)
            return -1;
        count = 0;
    }
    return 0;
}

static void flights_move(struct flight **from, struct flight **to) {
    while (*from) {
        struct flight *flight = *from;

        *from = flight->next;
        flights_put(to, flight);
    }
}

static void delete_done(struct db_job *job, int result, struct error *err) {
    struct relay *relay = job->arg;

    pthread_mutex_lock(&relay->lock);
    if (result < 0) {
        relay->delete_error = *err;
        relay->delete_us = clock_monotonic_us() + LOOK_AFTER_MS * 1000;
        flights_move(&relay->deleting, &relay->confirmed);
    } else {
        flights_move(&relay->deleting, &relay->finished);
    }
    pthread_cond_broadcast(&relay->changed);
    pthread_mutex_unlock(&relay->lock);
}

/* Hands the rows confirmed so far to the database's writer, unless it has some of ours already. */
static void delete_start(struct relay *relay) {
    bool start;

    pthread_mutex_lock(&relay->lock);
    start = relay->confirmed && !relay->deleting;
    if (start) {
        relay->deleting = relay->confirmed;
        relay->confirmed = NULL;
    }
    pthread_mutex_unlock(&relay->lock);
    if (start) {
        relay->delete_job = (struct db_job){
            .body = delete_body, .done = delete_done, .arg = relay, .unsynced = true
        };
        db_submit(relay->db, &relay->delete_job);
    }
}

static void delete_wait(struct relay *relay) {
    pthread_mutex_lock(&relay->lock);
    while (relay->deleting)
        pthread_cond_wait(&relay->changed, &relay->lock);
    pthread_mutex_unlock(&relay->lock);
}

/* -1: a deletion failed since the last call. */
static int delete_result(struct relay *relay, struct error *err) {
    struct error failure;

    pthread_mutex_lock(&relay->lock);
    failure = relay->delete_error;
    relay->delete_error.kind = ERROR_NONE;
    pthread_mutex_unlock(&relay->lock);
    if (failure.kind == ERROR_NONE)
        return 0;
    return error_set(err, failure.kind, "deleting messages: %s", failure.message);
}

/* Is it on its way by the process that wrote it?  Whoever else can bring it to the same place does
 * so only when that seems to be dead. */
static bool row_of_another(const struct relay *relay, const struct outbox_message *row,
                           enum rpc_reach reach) {
    return reach == RPC_EVERYWHERE && !row->own &&
           clock_shared_us(db_clock(relay->db)) - row->created_at < LEAVE_MS * 1000;
}

/* Publishes one row. 1: published, 0: left where it is, for another process or a later look. */
static int row_publish(struct relay *relay, const struct outbox_message *row) {
    const struct rpc_engine *engine = relay->rpc->engine;
    const struct rpc_message message = {
        .topic = row->topic, .method = row->method, .key = row->key, .payload = row->payload
    };
    struct flight **place = flight_place(relay, row->id);
    enum rpc_reach reach = engine->reaches(relay->rpc, row->topic);
    struct flight *flight;
    struct topic *topic;

    if (*place || reach == RPC_NOWHERE || row_of_another(relay, row, reach))
        return 0;
    topic = topic_of(relay, row->topic);
    topic->full = topic->full || topic->in_flight >= TOPIC_MOST;
    if (topic->full)
        return 0;
    flight = calloc(1, sizeof(*flight));
    if (!flight)
        abort();
    *flight = (struct flight){ .relay = relay, .topic = topic, .id = row->id, .with_engine = true };
    *place = flight;
    topic->in_flight++;
    pthread_mutex_lock(&relay->lock);
    relay->with_engine++;
    pthread_mutex_unlock(&relay->lock);
    if (engine->publish(relay->rpc, &message, flight_confirm, flight, NULL) == 0)
        return 1;
    pthread_mutex_lock(&relay->lock);
    relay->with_engine--;
    pthread_mutex_unlock(&relay->lock);
    flight_unlink(relay, flight);
    free(flight);
    return 0;
}

struct batch {
    struct arena *arena;
    int64_t after;
    struct outbox_message *rows;
    int count;
};

static int batch_body(struct db_tx *tx, void *arg, struct error *err) {
    struct batch *batch = arg;

    batch->count = outbox_read(tx, batch->arena, batch->after, BATCH, &batch->rows, err);
    return batch->count;
}

/* Publishes the rows behind `after`; returns how many, or -1. */
static int rows_publish(struct relay *relay, int64_t after, struct error *err) {
    autoarena struct arena *arena = arena_new();
    struct batch batch = { .arena = arena, .count = BATCH };
    int published = 0;

    relay->seen = after;
    for (struct topic *topic = relay->topics; topic && after == 0; topic = topic->next)
        topic->full = false;
    while (batch.count == BATCH) {
        arena_reset(arena);
        finished_forget(relay); /* before the snapshot, which then shows their rows deleted */
        batch.after = relay->seen;
        if (db_read(relay->db, batch_body, &batch, err) < 0)
            return error_context(err, "reading messages");
        for (int i = 0; i < batch.count; i++) {
            published += row_publish(relay, &batch.rows[i]);
            relay->seen = batch.rows[i].id;
        }
    }
    return published;
}

static void failure_tell(struct relay *relay, int result, const struct error *err) {
    if (result < 0 && !relay->failing)
        log_warning(NULL, "relay fails, tries again", "error", err->message, NULL);
    else if (result >= 0 && relay->failing)
        log_info(NULL, "relay works again", NULL);
    relay->failing = result < 0;
}

/* Does what is due; returns when the next regular look is. */
static int64_t relay_round(struct relay *relay, bool woken, int64_t look_us) {
    int64_t now_us = clock_monotonic_us();
    struct error err;
    int result;
    int published = 0;

    /* A commit that woke us is likely followed by another, which these can join. */
    delete_start(relay);
    result = delete_result(relay, &err);
    if (now_us >= look_us) {
        published = rows_publish(relay, 0, &err);
        look_us = now_us + LOOK_AFTER_MS * 1000;
    } else if (woken) {
        published = rows_publish(relay, relay->seen, &err);
    }
    failure_tell(relay, published < 0 ? published : result, &err);
    return look_us;
}

/* Called with the lock held: sleeps until there is something to do, at the latest at `look_us`. */
static void relay_sleep(struct relay *relay, int64_t look_us) {
    while (!relay->woken && !relay->stopping) {
        bool delete_next = relay->confirmed && !relay->deleting;
        int64_t until_us = delete_next && relay->delete_us < look_us ? relay->delete_us : look_us;
        struct timespec until = clock_timespec(until_us);

        if (clock_monotonic_us() >= until_us)
            return;
        pthread_cond_timedwait(&relay->changed, &relay->lock, &until);
    }
}

static void *relay_main(void *arg) {
    struct relay *relay = arg;
    int64_t look_us = 0;

    pthread_mutex_lock(&relay->lock);
    while (relay_sleep(relay, look_us), !relay->stopping) {
        bool woken = relay->woken;

        relay->woken = false;
        pthread_mutex_unlock(&relay->lock);
        look_us = relay_round(relay, woken, look_us);
        pthread_mutex_lock(&relay->lock);
    }
    pthread_mutex_unlock(&relay->lock);
    return NULL;
}

/* The database's hook. */
static void relay_wake(void *arg) {
    struct relay *relay = arg;

    pthread_mutex_lock(&relay->lock);
    relay->woken = true;
    pthread_cond_signal(&relay->changed);
    pthread_mutex_unlock(&relay->lock);
}

struct relay *relay_new(struct db *db, struct rpc *rpc, bool threaded) {
    struct relay *relay = calloc(1, sizeof(*relay));
    pthread_condattr_t attributes;

    if (!relay)
        abort();
    relay->db = db;
    relay->rpc = rpc;
    relay->threaded = threaded;
    pthread_mutex_init(&relay->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&relay->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    if (threaded) {
        db_on_outbox(db, relay_wake, relay);
        if (pthread_create(&relay->thread, NULL, relay_main, relay) != 0)
            abort();
    }
    return relay;
}

int relay_step(struct relay *relay, struct error *err) {
    assert(!relay->threaded);
    delete_start(relay);
    delete_wait(relay);
    if (delete_result(relay, err) < 0)
        return -1;
    return rows_publish(relay, 0, err);
}

static void thread_stop(struct relay *relay) {
    db_on_outbox(relay->db, NULL, NULL);
    pthread_mutex_lock(&relay->lock);
    relay->stopping = true;
    pthread_cond_broadcast(&relay->changed);
    pthread_mutex_unlock(&relay->lock);
    pthread_join(relay->thread, NULL);
}

/* Called with the lock held. Those still with the engine are freed when it confirms. */
static void flights_release(struct relay *relay) {
    for (unsigned i = 0; i < BUCKETS; i++)
        while (relay->buckets[i]) {
            struct flight *flight = relay->buckets[i];

            relay->buckets[i] = flight->next_in_bucket;
            if (!flight->with_engine)
                free(flight);
        }
}

void relay_stop(struct relay *relay) {
    bool last;

    if (!relay)
        return;
    if (relay->threaded) {
        thread_stop(relay);
        delete_wait(relay);
        delete_start(relay);
        delete_wait(relay);
    }
    pthread_mutex_lock(&relay->lock);
    flights_release(relay);
    relay->stopped = true;
    last = relay->with_engine == 0;
    pthread_mutex_unlock(&relay->lock);
    if (last)
        relay_free(relay);
}
