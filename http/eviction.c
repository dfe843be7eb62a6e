#include "http/eviction.private.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define SPARE_MOST   (HTTP_SPARE_SLOTS / 2)
#define SILENT_SHARE 8 /* one in 8 slots may have a silent client before others are evicted */

/* ---- addresses ---- */

static struct http_neighbour *neighbour_of(struct http_server *server,
                                           const struct http_address *address) {
    struct http_neighbours *bucket;
    struct http_neighbour *neighbour;
    unsigned hash = 0;

    for (size_t i = 0; i < sizeof(address->bytes); i++)
        hash = hash * 31 + address->bytes[i];
    bucket = &server->neighbours[hash % HTTP_NEIGHBOUR_BUCKETS];
    neighbour = LIST_FIRST(bucket);
    while (neighbour && memcmp(&neighbour->address, address, sizeof(*address)) != 0)
        neighbour = LIST_NEXT(neighbour, next);
    if (neighbour)
        return neighbour;
    neighbour = heap_new(sizeof(*neighbour));
    neighbour->address = *address;
    LIST_INSERT_HEAD(bucket, neighbour, next);
    return neighbour;
}

/* ---- slots ---- */

static void take_slot(struct http_server *server, struct http_connection *connection) {
    connection->slot = HTTP_SLOT_OWN;
    server->with_slot++;
    connection->neighbour->with_slot++;
}

static void release_slot(struct http_server *server, struct http_connection *connection) {
    if (connection->slot == HTTP_SLOT_OWN) {
        server->with_slot--;
        connection->neighbour->with_slot--;
    } else if (connection->slot == HTTP_SLOT_SPARE) {
        server->spare--;
    }
    connection->slot = HTTP_SLOT_NONE;
}

/* The connection's thread finds its socket closed, and ends it. */
static void close_socket(struct http_connection *connection) {
    shutdown(
        MHD_get_connection_info(connection->mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
        SHUT_RDWR);
}

void http_evict_all(struct http_server *server) {
    for (struct http_connection *connection = LIST_FIRST(&server->all); connection;
         connection = LIST_NEXT(connection, all))
        close_socket(connection);
}

static bool evict(struct http_server *server, struct http_connection *connection,
                  enum http_turn turn) {
    if (!atomic_compare_exchange_strong(&connection->turn, &turn, HTTP_TURN_OVER))
        return false;
    release_slot(server, connection);
    server->evicted++;
    close_socket(connection);
    return true;
}

/* ---- evictions ---- */

/* False: all connections wait for the server. */
static bool evict_idlest(struct http_server *server, enum http_slot slot,
                         const struct http_neighbour *neighbour, unsigned slots) {
    static const enum http_turn order[] = { HTTP_TURN_REQUEST, HTTP_TURN_IDLE, HTTP_TURN_ANSWER,
                                            HTTP_TURN_REQUEST };
    struct http_connection *idlest[HTTP_TURN_COUNT] = { NULL }, *connection = NULL;
    unsigned silent = 0;

    LIST_FOREACH(connection, &server->all, all) {
        enum http_turn turn = connection->turn;

        if (connection->slot != slot || (neighbour && connection->neighbour != neighbour))
            continue;
        silent += turn == HTTP_TURN_REQUEST;
        if (!idlest[turn] || connection->since_us < idlest[turn]->since_us)
            idlest[turn] = connection;
    }
    for (size_t i = silent > slots / SILENT_SHARE ? 0 : 1; i < LENGTH(order); i++) {
        connection = idlest[order[i]];
        if (connection && evict(server, connection, order[i]))
            return true;
    }
    return false;
}

void http_slots_join(struct http_server *server, struct http_connection *connection) {
    const struct http_address address = http_peer_address(connection->mhd);
    const unsigned most = server->most_connections, own = server->most_of_address;
    struct http_neighbour *neighbour = neighbour_of(server, &address);

    connection->neighbour = neighbour;
    neighbour->connections++;
    /* by address and in total */
    if ((own == 0 || neighbour->with_slot < own ||
         evict_idlest(server, HTTP_SLOT_OWN, neighbour, own)) &&
        (server->with_slot < most || evict_idlest(server, HTTP_SLOT_OWN, NULL, most))) {
        take_slot(server, connection);
    } else {
        if (server->spare >= SPARE_MOST)
            evict_idlest(server, HTTP_SLOT_SPARE, NULL, 0);
        connection->slot = HTTP_SLOT_SPARE;
        server->spare++;
    }
    LIST_INSERT_HEAD(&server->all, connection, all);
}

void http_slots_leave(struct http_server *server, struct http_connection *connection) {
    struct http_neighbour *neighbour = connection->neighbour;

    LIST_REMOVE(connection, all);
    release_slot(server, connection);
    if (--neighbour->connections > 0)
        return;
    LIST_REMOVE(neighbour, next);
    free(neighbour);
}

void http_slots_promote(struct http_server *server, struct http_connection *connection) {
    if (connection->slot != HTTP_SLOT_SPARE || server->with_slot >= server->most_connections ||
        (server->most_of_address > 0 &&
         connection->neighbour->with_slot >= server->most_of_address))
        return;
    release_slot(server, connection);
    take_slot(server, connection);
}

/* The longest-reading connection of the address with most response bytes. */
static struct http_connection *slowest_reader(const struct http_server *server) {
    struct http_connection *slowest = NULL;

    for (struct http_connection *connection = LIST_FIRST(&server->all); connection;
         connection = LIST_NEXT(connection, all)) {
        size_t held = connection->neighbour->answer_bytes;
        size_t most = slowest ? slowest->neighbour->answer_bytes : 0;

        if (connection->turn != HTTP_TURN_ANSWER || connection->answer_bytes == 0)
            continue;
        if (held > most || (held == most && connection->since_us < slowest->since_us))
            slowest = connection;
    }
    return slowest;
}

struct http_connection *http_evict_reader(struct http_server *server, size_t least) {
    struct http_connection *slowest;

    while ((slowest = slowest_reader(server)) && slowest->neighbour->answer_bytes > least)
        if (evict(server, slowest, HTTP_TURN_ANSWER))
            return slowest;
    return NULL;
}

/*
 * libmicrohttpd closes silent connections; one that sends or reads a byte now and then would keep
 * its slot for ever.
 */
void http_evict_slow(struct http_server *server) {
    const int64_t idle_us = (int64_t)server->idle_seconds * SECOND_US;
    const int64_t most_us[HTTP_TURN_COUNT] = {
        [HTTP_TURN_REQUEST] = (int64_t)server->request_seconds * SECOND_US,
        [HTTP_TURN_ANSWER] = 2 * idle_us,
        [HTTP_TURN_IDLE] = 2 * idle_us,
    };
    int64_t now_us = clock_monotonic_us();
    struct http_connection *connection = NULL;

    LIST_FOREACH(connection, &server->all, all) {
        enum http_turn turn = connection->turn;

        if (most_us[turn] > 0 && now_us - connection->since_us > most_us[turn])
            evict(server, connection, turn);
    }
}
