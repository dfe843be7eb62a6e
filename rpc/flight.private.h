/*
 * The relay's rows in our hands, from their publication until they are deleted:
 *
 *     with the engine --confirm(true)--> confirmed --> deleting --committed--> finished
 *            |                               ^------------'  failed               ^
 *            '--confirm(false)----------------------------------------------------'
 *
 * In every state the row is not published again; a finished one is forgotten before the next look
 * at the table, which finds it deleted, or to be published again.
 */
#pragma once

#include "db/db.h"

#include <pthread.h>

struct flight;

struct flights {
    struct db *db;
    struct db_job delete_job;

    /* Of the scanning thread. */
    struct flight *buckets[1024];
    struct topic *topics;
    struct share *shares[256];

    pthread_mutex_t lock;   /* guards the members below, and two flags of the relay */
    pthread_cond_t changed; /* a deletion may be due, or has ended */
    struct flight *confirmed, *deleting, *finished;
    unsigned confirmed_count; /* since `confirmed` was empty */
    int64_t delete_us;        /* deadline for deleting `confirmed`; monotonic */
    struct error delete_error;
    unsigned with_engine;
    bool stopped; /* kept alive by outstanding confirmations only */
};

struct flights *flights_new(struct db *db);
/* Flights still in the engine are freed at their confirmation, and with the last one all. */
void flights_stop(struct flights *flights);

bool flights_have(struct flights *flights, int64_t id);
/* `bytes` of the message.  NULL: too many of this topic are in flight, or of this project in it, or
 * their bytes are.  Then those after it stay in the table as well, to keep their order, until a new
 * scan. */
struct flight *flight_begin(struct flights *flights, const char *topic, const char *project,
                            int64_t id, size_t bytes);
void flight_confirm(void *flight, bool taken); /* called by the engine, from any thread */
void flight_cancel(struct flight *flight);     /* the engine did not accept it */

void flights_look_anew(struct flights *flights);
void flights_forget_finished(struct flights *flights);

/* Passes the rows confirmed so far to the database's writer, unless a deletion is in progress. */
void flights_delete(struct flights *flights);
/* The same when it is time. */
void flights_delete_due(struct flights *flights);
void flights_delete_wait(struct flights *flights);
/* -1: a deletion failed since the last call. */
int flights_delete_result(struct flights *flights, struct error *err);
