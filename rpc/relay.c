#include "rpc/relay.h"

#include "common/assert.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/thread.h"
#include "db/outbox.h"
#include "rpc/backlog.private.h"
#include "rpc/flight.private.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 128, LOOK_AFTER_MS = 1000, EMPTY_MS = 5000, LEAVE_MS = 3000 };

#define ROW_BYTES     ((size_t)256) /* beside the payload */
#define DROPS_EACH_US (60 * SECOND_US)
#define DROPS_FREE    8 /* a part of the limit, which a drop leaves free */

struct relay {
    struct db *db;
    struct rpc *rpc;
    struct flights *flights;
    enum relay_use use;
    pthread_t thread;

    /* Of the scanning thread. */
    int64_t seen; /* newest id scanned; 0: none */
    bool failing;
    struct backlog *backlog;
    uintmax_t dropped;     /* notifications since the last line about them */
    int64_t drops_next_us; /* monotonic: of the next line */

    _Atomic size_t notification_bytes;
    bool woken, stopping; /* flights->lock */
};

/* Publishes one row, with so many bytes of payload.  1: published, 0: left for another process or a
 * later scan. */
static int row_publish(struct relay *relay, const struct outbox_message *row, size_t payload) {
    const struct rpc_engine *engine = relay->rpc->engine;
    const struct rpc_message message = { .topic = row->topic,
                                         .method = row->method,
                                         .key = row->key,
                                         .project = row->project,
                                         .payload = row->payload,
                                         .own = row->own };
    enum rpc_reach reach = engine->reaches(relay->rpc, row->topic);
    struct flight *flight;

    if (reach == RPC_NOWHERE)
        return 0;
    /* The process that wrote it is sending it: another one that reaches the same subscriber takes
     * it over only when that process seems to be dead. */
    if (reach == RPC_EVERYWHERE && !row->own &&
        clock_shared_us(db_clock(relay->db)) - row->created_at < LEAVE_MS * 1000)
        return 0;
    if (flights_have(relay->flights, row->id))
        return 0;
    flight = flight_begin(relay->flights, row->topic, row->project, row->id, payload);
    if (!flight)
        return 0;
    if (engine->publish(relay->rpc, &message, flight_confirm, flight, NULL) == 0)
        return 1;
    flight_cancel(flight);
    return 0;
}

/* ---- notifications that wait too long ---- */

struct drop {
    const int64_t *ids;
    unsigned count;
    int deleted;
};

static int drop_body(struct db_tx *tx, void *arg, struct error *err) {
    struct drop *drop = arg;

    drop->deleted = outbox_delete(tx, drop->ids, drop->count, err);
    return drop->deleted < 0 ? -1 : 0;
}

/* The next notifications cost no scan of all: there is space for them. */
static int notifications_drop(struct relay *relay, struct error *err) {
    const size_t most = atomic_load(&relay->notification_bytes);
    const int64_t *ids = NULL;
    size_t count = 0;

    if (backlog_bytes(relay->backlog) > most)
        count = backlog_cut(relay->backlog, most - most / DROPS_FREE, &ids);
    for (size_t done = 0; done < count; done += BATCH) {
        struct drop drop = { .ids = ids + done,
                             .count = (unsigned)(count - done < BATCH ? count - done : BATCH) };

        if (db_transaction(relay->db, drop_body, &drop, err) < 0)
            return error_context(err, "dropping notifications");
        relay->dropped += (unsigned)drop.deleted;
    }
    return 0;
}

static void drops_log(struct relay *relay) {
    int64_t now_us = clock_monotonic_us();

    if (relay->dropped == 0 || now_us < relay->drops_next_us)
        return;
    log_warning(NULL, "notifications dropped, too many wait for the broker", "count",
                LOG_INT((intmax_t)relay->dropped), NULL);
    relay->dropped = 0;
    relay->drops_next_us = now_us + DROPS_EACH_US;
}

/* ---- the scan ---- */

struct batch {
    struct arena *arena;
    int64_t after;
    struct outbox_message *rows;
    int count;
    bool more; /* rows may follow */
};

static int batch_body(struct db_tx *tx, void *arg, struct error *err) {
    struct batch *batch = arg;

    batch->count = outbox_read(tx, batch->arena, batch->after, BATCH, &batch->rows, err);
    return batch->count;
}

/* Publishes the rows after `after`; returns their number, or -1. */
static int rows_publish(struct relay *relay, int64_t after, struct error *err) {
    autoarena struct arena *arena = arena_new();
    struct batch batch = { .arena = arena, .more = true };
    int published = 0;

    relay->seen = after;
    if (after == 0) {
        flights_look_anew(relay->flights);
        backlog_clear(relay->backlog);
    }
    while (batch.more) {
        size_t bytes = 0;

        arena_reset(arena);
        /* before the snapshot, in which their rows are deleted */
        flights_forget_finished(relay->flights);
        batch.after = relay->seen;
        if (db_read(relay->db, batch_body, &batch, err) < 0)
            return error_context(err, "reading messages");
        for (int i = 0; i < batch.count; i++) {
            const struct outbox_message *row = &batch.rows[i];
            const size_t payload = strlen(row->payload);

            published += row_publish(relay, row, payload);
            relay->seen = row->id;
            bytes += payload;
            /* the method of a notification is its event, "volume.create.end" */
            if (strchr(row->method, '.') && !flights_have(relay->flights, row->id))
                backlog_add(relay->backlog, row->id, row->project, payload + ROW_BYTES);
        }
        batch.more = batch.count == BATCH || bytes >= OUTBOX_READ_BYTES;
    }
    if (after == 0 && notifications_drop(relay, err) < 0)
        return -1;
    return published;
}

/* Does what is due; returns the time of the next periodic scan. */
static int64_t relay_round(struct relay *relay, bool woken, int64_t look_us) {
    int64_t now_us = clock_monotonic_us();
    struct error err;
    int result, more, published = 0;
    bool failed;

    flights_delete_due(relay->flights);
    result = flights_delete_result(relay->flights, &err);
    if (now_us >= look_us) {
        published = rows_publish(relay, 0, &err);
        look_us = now_us + LOOK_AFTER_MS * 1000;
        if (relay->use == RELAY_ALONE && published == 0 && relay->seen == 0)
            look_us = now_us + EMPTY_MS * 1000;
    } else if (woken) {
        published = rows_publish(relay, relay->seen, &err);
        /* all rows where the notifications among the new ones are too many */
        if (published >= 0 &&
            backlog_bytes(relay->backlog) > atomic_load(&relay->notification_bytes)) {
            more = rows_publish(relay, 0, &err);
            published = more < 0 ? -1 : published + more;
        }
        if (look_us > now_us + LOOK_AFTER_MS * 1000)
            look_us = now_us + LOOK_AFTER_MS * 1000; /* rows may be left */
    }
    drops_log(relay);
    failed = published < 0 || result < 0;
    if (failed && !relay->failing)
        log_warning(NULL, "relay failed, retrying", "error", err.message, NULL);
    else if (!failed && relay->failing)
        log_info(NULL, "relay recovered", NULL);
    relay->failing = failed;
    return look_us;
}

/* Called with the lock held: sleeps until there is work, or `look_us`. */
static void relay_sleep(struct relay *relay, int64_t look_us) {
    struct flights *flights = relay->flights;

    while (!relay->woken && !relay->stopping) {
        bool delete_next = flights->confirmed && !flights->deleting;
        int64_t until_us =
            delete_next && flights->delete_us < look_us ? flights->delete_us : look_us;

        if (clock_monotonic_us() >= until_us)
            return;
        thread_cond_wait(&flights->changed, &flights->lock, until_us);
    }
}

static void *relay_main(void *arg) {
    struct relay *relay = arg;
    int64_t look_us = 0;

    pthread_mutex_lock(&relay->flights->lock);
    while (relay_sleep(relay, look_us), !relay->stopping) {
        bool woken = relay->woken;

        relay->woken = false;
        pthread_mutex_unlock(&relay->flights->lock);
        look_us = relay_round(relay, woken, look_us);
        pthread_mutex_lock(&relay->flights->lock);
    }
    pthread_mutex_unlock(&relay->flights->lock);
    return NULL;
}

/* The database's hook. */
static void relay_wake(void *arg) {
    struct relay *relay = arg;

    scoped_lock(&relay->flights->lock);
    relay->woken = true;
    pthread_cond_signal(&relay->flights->changed);
}

struct relay *relay_new(struct db *db, struct rpc *rpc, enum relay_use use) {
    struct relay *relay = heap_new(sizeof(*relay));

    relay->db = db;
    relay->rpc = rpc;
    relay->use = use;
    relay->flights = flights_new(db);
    relay->backlog = backlog_new();
    atomic_init(&relay->notification_bytes, SIZE_MAX);
    if (use != RELAY_STEPS) {
        db_on_event(db, DB_OUTBOX, relay_wake, relay);
        if (pthread_create(&relay->thread, NULL, relay_main, relay) != 0)
            abort();
    }
    return relay;
}

void relay_limit(struct relay *relay, size_t notification_bytes) {
    atomic_store(&relay->notification_bytes, notification_bytes);
}

int relay_step(struct relay *relay, struct error *err) {
    int published;

    assert(relay->use == RELAY_STEPS);
    flights_delete(relay->flights);
    flights_delete_wait(relay->flights);
    if (flights_delete_result(relay->flights, err) < 0)
        return -1;
    published = rows_publish(relay, 0, err);
    drops_log(relay);
    return published;
}

void relay_stop(struct relay *relay) {
    if (!relay)
        return;
    if (relay->use != RELAY_STEPS) {
        db_on_event(relay->db, DB_OUTBOX, NULL, NULL);
        pthread_mutex_lock(&relay->flights->lock);
        relay->stopping = true;
        pthread_cond_broadcast(&relay->flights->changed);
        pthread_mutex_unlock(&relay->flights->lock);
        pthread_join(relay->thread, NULL);
        flights_delete_wait(relay->flights);
        flights_delete(relay->flights);
        flights_delete_wait(relay->flights);
    }
    relay->drops_next_us = 0;
    drops_log(relay);
    flights_stop(relay->flights);
    backlog_free(relay->backlog);
    free(relay);
}
