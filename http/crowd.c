#include "http/crowd.private.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define CROWDED_MOST (HTTP_CROWD_SPARE / 2)
#define SILENT_SHARE 8 /* so many of the places, one in 8, may be silent before others go */

/* ---- addresses ---- */

static struct http_neighbours *bucket_of(struct http_server *server,
                                         const struct http_address *address) {
    unsigned hash = 0;

    for (size_t i = 0; i < sizeof(address->bytes); i++)
        hash = hash * 31 + address->bytes[i];
    return &server->neighbours[hash % HTTP_NEIGHBOUR_BUCKETS];
}

static struct http_neighbour *neighbour_of(struct http_server *server,
                                           const struct http_address *address) {
    struct http_neighbours *bucket = bucket_of(server, address);
    struct http_neighbour *neighbour = LIST_FIRST(bucket);

    while (neighbour && memcmp(&neighbour->address, address, sizeof(*address)) != 0)
        neighbour = LIST_NEXT(neighbour, next);
    if (neighbour)
        return neighbour;
    neighbour = heap_new(sizeof(*neighbour));
    neighbour->address = *address;
    LIST_INSERT_HEAD(bucket, neighbour, next);
    return neighbour;
}

/* ---- places ---- */

static void take_place(struct http_server *server, struct http_connection *connection) {
    connection->place = HTTP_PLACE_OWN;
    server->seated++;
    connection->neighbour->seated++;
}

static void give_place(struct http_server *server, struct http_connection *connection) {
    if (connection->place == HTTP_PLACE_OWN) {
        server->seated--;
        connection->neighbour->seated--;
    } else if (connection->place == HTTP_PLACE_CROWDED) {
        server->crowded--;
    }
    connection->place = HTTP_PLACE_NONE;
}

/* The connection's thread finds its socket closed, and ends it. */
static void close_socket(struct http_connection *connection) {
    shutdown(
        MHD_get_connection_info(connection->mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
        SHUT_RDWR);
}

void http_crowd_end(struct http_server *server) {
    for (struct http_connection *connection = LIST_FIRST(&server->all); connection;
         connection = LIST_NEXT(connection, all))
        close_socket(connection);
}

static bool show_out(struct http_server *server, struct http_connection *connection,
                     enum http_turn turn) {
    if (!atomic_compare_exchange_strong(&connection->turn, &turn, HTTP_TURN_OVER))
        return false;
    give_place(server, connection);
    server->shown_out++;
    close_socket(connection);
    return true;
}

/* ---- who goes ---- */

struct choice {
    struct http_connection *idlest[HTTP_TURN_COUNT];
    unsigned silent;
};

static struct choice look_around(const struct http_server *server, enum http_place place,
                                 const struct http_neighbour *neighbour) {
    struct choice choice = { .silent = 0 };
    struct http_connection *connection = NULL;

    LIST_FOREACH(connection, &server->all, all) {
        enum http_turn turn = connection->turn;
        struct http_connection **idlest = &choice.idlest[turn];

        if (connection->place != place || (neighbour && connection->neighbour != neighbour))
            continue;
        choice.silent += turn == HTTP_TURN_REQUEST;
        if (!*idlest || connection->since_us < (*idlest)->since_us)
            *idlest = connection;
    }
    return choice;
}

/* False: all of them wait for us. */
static bool make_room(struct http_server *server, enum http_place place,
                      const struct http_neighbour *neighbour, unsigned places) {
    static const enum http_turn order[] = { HTTP_TURN_REQUEST, HTTP_TURN_IDLE, HTTP_TURN_ANSWER,
                                            HTTP_TURN_REQUEST };
    struct choice choice = look_around(server, place, neighbour);

    for (size_t i = choice.silent > places / SILENT_SHARE ? 0 : 1; i < LENGTH(order); i++) {
        struct http_connection *connection = choice.idlest[order[i]];

        if (connection && show_out(server, connection, order[i]))
            return true;
    }
    return false;
}

/* A place for one more, of this neighbour and of all. */
static bool find_place(struct http_server *server, const struct http_neighbour *neighbour) {
    unsigned most = server->most_connections, own = server->most_of_address;

    if (own > 0 && neighbour->seated >= own && !make_room(server, HTTP_PLACE_OWN, neighbour, own))
        return false;
    if (server->seated < most)
        return true;
    return make_room(server, HTTP_PLACE_OWN, NULL, most);
}

void http_crowd_join(struct http_server *server, struct http_connection *connection) {
    const struct http_address address = http_peer_address(connection->mhd);

    connection->neighbour = neighbour_of(server, &address);
    connection->neighbour->connections++;
    if (find_place(server, connection->neighbour)) {
        take_place(server, connection);
    } else {
        if (server->crowded >= CROWDED_MOST)
            make_room(server, HTTP_PLACE_CROWDED, NULL, 0);
        connection->place = HTTP_PLACE_CROWDED;
        server->crowded++;
    }
    LIST_INSERT_HEAD(&server->all, connection, all);
}

void http_crowd_leave(struct http_server *server, struct http_connection *connection) {
    struct http_neighbour *neighbour = connection->neighbour;

    LIST_REMOVE(connection, all);
    give_place(server, connection);
    if (--neighbour->connections > 0)
        return;
    LIST_REMOVE(neighbour, next);
    free(neighbour);
}

void http_crowd_settle(struct http_server *server, struct http_connection *connection) {
    if (connection->place != HTTP_PLACE_CROWDED || server->seated >= server->most_connections ||
        (server->most_of_address > 0 && connection->neighbour->seated >= server->most_of_address))
        return;
    give_place(server, connection);
    take_place(server, connection);
}

/* Of those who hold most room for answers the one that has been at its answer longest. */
static struct http_connection *slowest_taker(const struct http_server *server) {
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

struct http_connection *http_crowd_cut_taker(struct http_server *server, size_t least) {
    struct http_connection *slowest;

    while ((slowest = slowest_taker(server)) && slowest->neighbour->answer_bytes > least)
        if (show_out(server, slowest, HTTP_TURN_ANSWER))
            return slowest;
    return NULL;
}

/*
 * libmicrohttpd closes a connection that is silent; one that sends (or takes) a byte now and then
 * would keep its place for ever.
 */
void http_crowd_cut_slow(struct http_server *server) {
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
            show_out(server, connection, turn);
    }
}
