/*
 * The manager of this process, for operations that the transaction of their request claims: it
 * begins each behind the commit, without a message.  In the database such an operation is as any
 * that a worker has claimed; when its process dies it is recovered as they are.  One that must wait
 * for a worker has no attempt before that begins it (operation_begin()).
 */
#pragma once

#include "operation/work.h"

#include <pthread.h>

struct operation;

/* Claims `operation` for a manager, and has it handed over behind the commit of work->tx: sets its
 * owner, which lives as the process does, and with a free worker its attempt; without an owner it
 * gets a message.  Called in the transaction. */
typedef void operation_accept(void *arg, struct work *work, struct operation *operation);

struct operation_taker {
    pthread_mutex_t lock;     /* held while `accept` runs, and the query before it */
    operation_accept *accept; /* NULL: none is accepted */
    void *arg;
};

#define OPERATION_TAKER_INIT \
    { .lock = PTHREAD_MUTEX_INITIALIZER }

/* From any thread.  The previous one does not run any more when this returns. */
void operation_taker_set(struct operation_taker *taker, operation_accept *accept, void *arg);
