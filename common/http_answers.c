#include "common/http_answers.h"

#define SMALL ((size_t)64 * 1024)

/* One address gets half of the room at most, and a single answer always fits an empty one. */
static bool has_room(const struct http_server *server, const struct http_neighbour *neighbour,
                     size_t size) {
    size_t most = server->most_answer_bytes;

    if (server->answer_bytes == 0)
        return true;
    return server->answer_bytes + size <= most && neighbour->answer_bytes + size <= most / 2;
}

bool http_answers_take(struct http_connection *connection, size_t size) {
    struct http_server *server = connection->server;
    bool fits;

    if (size <= SMALL)
        return true;
    pthread_mutex_lock(&server->lock);
    fits = has_room(server, connection->neighbour, size);
    if (fits) {
        connection->answer_bytes = size;
        connection->neighbour->answer_bytes += size;
        server->answer_bytes += size;
    }
    pthread_mutex_unlock(&server->lock);
    return fits;
}

void http_answers_give_back(struct http_connection *connection) {
    struct http_server *server = connection->server;

    if (connection->answer_bytes == 0)
        return;
    pthread_mutex_lock(&server->lock);
    server->answer_bytes -= connection->answer_bytes;
    connection->neighbour->answer_bytes -= connection->answer_bytes;
    connection->answer_bytes = 0;
    pthread_mutex_unlock(&server->lock);
}
