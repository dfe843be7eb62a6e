/*
 * The turn of a connection, and its owners.
 */
#include "http/connection.private.h"

#include "common/clock.h"

#include <stdlib.h>

bool http_connection_take_turn(struct http_connection *connection, enum http_turn turn) {
    enum http_turn now = connection->turn;

    if (turn != HTTP_TURN_OURS) /* nothing of ours has a limit */
        connection->since_us = clock_monotonic_us();
    while (now != HTTP_TURN_OVER)
        if (atomic_compare_exchange_weak(&connection->turn, &now, turn))
            return true;
    return false;
}

void http_connection_release(struct http_connection *connection) {
    if (atomic_fetch_sub(&connection->owners, 1) != 1)
        return;
    arena_free(connection->exchange.arena);
    pthread_mutex_destroy(&connection->lock);
    free(connection->client);
    free(connection);
}
