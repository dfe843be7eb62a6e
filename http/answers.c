#include "http/answers.private.h"

#include "common/thread.h"
#include "http/eviction.private.h"

#define SMALL ((size_t)64 * 1024)

static bool has_room(const struct http_server *server, size_t size) {
    return server->answer_bytes == 0 || server->answer_bytes + size <= server->most_answer_bytes;
}

/* The space is free at once; the memory is freed when the connection's thread sees that it is
 * closed. */
static void give_back(struct http_server *server, struct http_connection *connection) {
    size_t size = atomic_exchange(&connection->answer_bytes, 0);

    server->answer_bytes -= size;
    connection->neighbour->answer_bytes -= size;
}

/*
 * One address uses at most half of the space, and a single answer always fits an empty one.  When
 * it is full, the slowest reader of the largest address is closed in favour of an address that will
 * have less, so a client with several addresses cannot exhaust the space.
 */
bool http_answers_take(struct http_connection *connection, size_t size) {
    struct http_server *server = connection->server;
    struct http_neighbour *neighbour = connection->neighbour;
    struct http_connection *gone;
    size_t own;

    if (size <= SMALL)
        return true;
    scoped_lock(&server->lock);
    own = neighbour->answer_bytes + size;
    if (server->answer_bytes > 0 && own > server->most_answer_bytes / 2)
        return false;
    while (!has_room(server, size) && (gone = http_evict_reader(server, own)))
        give_back(server, gone);
    if (!has_room(server, size))
        return false;
    connection->answer_bytes = size;
    neighbour->answer_bytes += size;
    server->answer_bytes += size;
    return true;
}

void http_answers_give_back(struct http_connection *connection) {
    struct http_server *server = connection->server;

    if (connection->answer_bytes == 0)
        return;
    scoped_lock(&server->lock);
    give_back(server, connection);
}
