#include "http/connection.private.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "http/acceptor.private.h"
#include "http/answers.private.h"
#include "http/eviction.private.h"
#include "http/head.private.h"
#include "http/refusal.private.h"
#include "http/reply.private.h"
#include "http/stream.private.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FIRST_BODY_ROOM ((size_t)16 * 1024)

/* Bytes read and dropped above the limit, so that the client gets the response instead of a
 * reset. */
#define EXCESS_READ ((uint64_t)1 << 20)

/* ---- memory of a request ---- */

/* The thread's arena between two requests: with one for each connection, every request would begin
 * with memory that has left the processor's caches. */
static pthread_key_t spare_arena;

static void free_spare(void *arena) {
    arena_free(arena);
}

static void make_spare_key(void) {
    if (pthread_key_create(&spare_arena, free_spare) != 0)
        abort();
}

static struct arena *take_arena(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct arena *arena;

    pthread_once(&once, make_spare_key);
    arena = pthread_getspecific(spare_arena);
    if (!arena)
        return arena_new();
    pthread_setspecific(spare_arena, NULL);
    return arena;
}

/* ---- one request ---- */

/* Proxies request "http://host:port/path": the path starts after the authority. */
static const char *skip_authority(const char *uri) {
    static const char *const schemes[] = { "http://", "https://" };

    for (size_t i = 0; i < LENGTH(schemes); i++) {
        size_t length = strlen(schemes[i]);

        if (strncasecmp(uri, schemes[i], length) == 0) {
            uri = strchr(uri + length, '/');
            return uri ? uri : "/";
        }
    }
    return uri;
}

/*
 * libmicrohttpd would use some 60 bytes of the connection's memory for each query parameter; with a
 * few hundred of them it runs out of memory and the client never gets a response.  The text is its
 * own buffer, in which it puts such terminators itself: it finds an empty query.  The scan ends at
 * the version, also after a NUL.
 */
static void hide_query(const char *uri) {
    char *text = (char *)(uintptr_t)uri, *query = strchr(text, '?');

    while (!query && http_head_lies_as_sent() &&
           strncmp(text + strlen(text) + 1, "HTTP/1.", 7) != 0) {
        text += strlen(text) + 1;
        query = strchr(text, '?');
    }
    if (query && query[1])
        query[1] = '\0';
}

/* Only this callback gets the whole request target, before libmicrohttpd splits and decodes it. */
void *http_connection_begin(void *arg, const char *uri, struct MHD_Connection *mhd) {
    struct http_connection *connection =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    struct arena *arena = connection->exchange.arena;
    char *text, *query;

    (void)arg;
    if (connection->state == REPLY_ABANDONED)
        return NULL;
    if (!arena)
        arena = take_arena();
    text = arena_text(arena, uri ? uri : "");
    connection->target = strlen(text);
    if (uri)
        hide_query(uri);
    query = strchr(text, '?');
    if (query)
        *query++ = '\0';
    connection->exchange = (struct http_exchange){
        .arena = arena,
        .path = skip_authority(text),
        .query = query ? query : "",
        .peer = connection->peer,
        .secure = connection->server->tls.cert != NULL,
        .body = "",
        .find_header = http_reply_find_header,
        .send = http_reply_take,
        .client_left = http_reply_client_left,
        .open = http_connection_stream,
        .transport = connection,
    };
    connection->state = REPLY_OPEN;
    connection->in_request = true;
    connection->headers_seen = connection->handed_over = false;
    connection->body_room = 0;
    connection->excess = 0;
    http_connection_take_turn(connection, HTTP_TURN_REQUEST);
    return connection;
}

void http_connection_end(void *arg, struct MHD_Connection *mhd, void **context,
                         enum MHD_RequestTerminationCode code) {
    struct http_server *server = arg;
    struct http_connection *connection = *context;
    struct arena *arena;

    (void)mhd, (void)code;
    if (!connection)
        return;
    *context = NULL;
    connection->in_request = false;
    http_connection_take_turn(connection, HTTP_TURN_IDLE);
    if (connection->slept)
        http_reply_own_timeout(connection, false);
    http_answers_give_back(connection);
    if (connection->handed_over && atomic_fetch_sub(&server->open, 1) == 1 &&
        atomic_load(&server->stopping)) {
        pthread_mutex_lock(&server->lock);
        pthread_cond_broadcast(&server->changed);
        pthread_mutex_unlock(&server->lock);
    }
    /* An abandoned exchange keeps its memory; no request follows on its connection. */
    if (connection->state == REPLY_ABANDONED)
        return;
    arena = take(connection->exchange.arena);
    arena_reset(arena);
    if (pthread_getspecific(spare_arena) || pthread_setspecific(spare_arena, arena) != 0)
        arena_free(arena);
    if (connection->stream)
        http_stream_over(take(connection->stream));
}

/*
 * A chunked body ends its connection: libmicrohttpd accepts a lone LF as the end of a chunk size
 * where a proxy may not, so the following bytes must not be read as a request.
 */
static void look_at_head(struct http_connection *connection, const char *method, const char *url,
                         const char *version) {
    const struct http_head head = { .mhd = connection->mhd,
                                    .method = method,
                                    .url = url,
                                    .version = version,
                                    .target = connection->target };
    struct http_exchange *exchange = &connection->exchange;
    bool chunked;

    exchange->malformed = http_head_fault(&head, &chunked);
    if (!exchange->malformed && exchange->path[0] != '/')
        exchange->malformed = "The request target is no path.";
    connection->last = exchange->malformed || chunked;
}

/* True: the body is read.  False: it is too large even to be dropped, or its length is unknown. */
static bool see_headers(struct http_connection *connection, const char *method) {
    struct http_exchange *exchange = &connection->exchange;
    const char *text = MHD_lookup_connection_value(connection->mhd, MHD_HEADER_KIND,
                                                   MHD_HTTP_HEADER_CONTENT_LENGTH);
    uint64_t size = 0;

    if (text && !MHD_lookup_connection_value(connection->mhd, MHD_HEADER_KIND,
                                             MHD_HTTP_HEADER_TRANSFER_ENCODING))
        size = strtoull(text, NULL, 10); /* validated by libmicrohttpd */
    connection->headers_seen = true;
    exchange->method = arena_text(exchange->arena, method);
    exchange->too_large = size > connection->server->body_limit;
    if (!exchange->too_large && size > 0) {
        connection->body_room = (size < FIRST_BODY_ROOM ? (size_t)size : FIRST_BODY_ROOM) + 1;
        exchange->body = arena_alloc(exchange->arena, connection->body_room);
    }
    return !exchange->malformed && size <= connection->server->body_limit + EXCESS_READ;
}

/* False: the client sends more than the limits allow. */
static bool add_to_body(struct http_connection *connection, const char *bytes, size_t size) {
    struct http_exchange *exchange = &connection->exchange;
    char *body = (char *)(uintptr_t)exchange->body;
    size_t least;

    if (size > connection->server->body_limit - exchange->body_size)
        exchange->too_large = true;
    if (exchange->too_large) {
        connection->excess += size;
        exchange->body = "";
        exchange->body_size = 0;
        return connection->excess <= connection->server->body_limit + EXCESS_READ;
    }
    least = exchange->body_size + size + 1;
    if (least > connection->body_room) {
        connection->body_room =
            least > 2 * connection->body_room ? least : 2 * connection->body_room;
        body = arena_alloc(exchange->arena, connection->body_room);
        memcpy(body, exchange->body, exchange->body_size);
        exchange->body = body;
    }
    memcpy(body + exchange->body_size, bytes, size);
    exchange->body_size += size;
    return true;
}

/* A prefix matches whole segments: "/compute" does not match "/computer". */
static const struct mount *find_mount(const struct http_server *server, const char *path) {
    for (size_t i = 0; i < server->mount_count; i++) {
        const struct mount *mount = &server->mounts[i];

        if (strncmp(path, mount->prefix, mount->length) == 0 &&
            (path[mount->length] == '/' || path[mount->length] == '\0'))
            return mount;
    }
    return NULL;
}

static enum MHD_Result hand_over(struct http_connection *connection) {
    struct http_server *server = connection->server;
    struct http_exchange *exchange = &connection->exchange;
    const struct mount *mount;

    mount = find_mount(server, exchange->malformed ? "/" : exchange->path);
    if (!mount)
        return http_reply_queue_plain(connection, exchange->malformed ? MHD_HTTP_BAD_REQUEST
                                                                      : MHD_HTTP_NOT_FOUND);
    if (!exchange->malformed)
        exchange->path += mount->length;
    if (exchange->path[0] == '\0')
        exchange->path = "/";
    if (!http_connection_take_turn(connection, HTTP_TURN_OURS))
        return MHD_NO;
    if (!connection->has_slot) {
        pthread_mutex_lock(&server->lock);
        http_slots_promote(server, connection);
        connection->has_slot = connection->slot == HTTP_SLOT_OWN;
        pthread_mutex_unlock(&server->lock);
        exchange->over_limit = !connection->has_slot;
        connection->last |= exchange->over_limit;
    }
    connection->handed_over = true;
    atomic_fetch_add(&server->open, 1);
    mount->handler(mount->arg, exchange);
    return MHD_YES;
}

/* Closes a client without the required certificate, or with one revoked between two requests,
 * without a response. */
static bool check_certificate(struct http_connection *connection) {
    const struct http_tls *tls = &connection->server->tls;

    if (tls->ca && !connection->client)
        connection->client = http_tls_client(connection->mhd);
    connection->exchange.client = connection->client;
    return !tls->ca ||
           (connection->client &&
            !(tls->revocations && http_tls_is_revoked(tls->revocations, connection->mhd)));
}

bool http_connection_refuse(struct http_connection *connection) {
    const struct mount *mount = find_mount(connection->server, "/");

    if (!mount || !check_certificate(connection))
        return false;
    mount->handler(mount->arg, &connection->exchange);
    return true;
}

/* Called with the headers, with each piece of the body, at its end, and after a resumption. */
enum MHD_Result http_connection_serve(void *arg, struct MHD_Connection *mhd, const char *url,
                                      const char *method, const char *version, const char *upload,
                                      size_t *upload_size, void **context) {
    struct http_connection *connection = *context;

    (void)arg, (void)mhd;
    if (!connection || !check_certificate(connection))
        return MHD_NO;
    if (!connection->headers_seen) {
        if (http_refusal_for_memory(connection))
            return MHD_NO;
        look_at_head(connection, method, url, version);
        if (see_headers(connection, method))
            return MHD_YES;
    }
    if (*upload_size > 0) {
        size_t size = *upload_size;

        *upload_size = 0;
        return add_to_body(connection, upload, size) ? MHD_YES : MHD_NO;
    }
    if (!connection->handed_over) {
        enum MHD_Result result = hand_over(connection);

        if (!connection->handed_over)
            return result;
    }
    if (connection->state == REPLY_OPEN && http_reply_await(connection))
        return MHD_YES;
    if (connection->state == REPLY_ABANDONED)
        return http_reply_queue_plain(connection, MHD_HTTP_SERVICE_UNAVAILABLE);
    return http_reply_queue(connection);
}

/* ---- connections ---- */

static struct http_connection *connection_new(struct http_server *server,
                                              struct MHD_Connection *mhd) {
    struct http_connection *connection = heap_new(sizeof(*connection));

    connection->server = server;
    connection->mhd = mhd;
    connection->thread = pthread_self();
    connection->owners = 1;
    connection->turn = HTTP_TURN_REQUEST;
    connection->since_us = clock_monotonic_us();
    pthread_mutex_init(&connection->lock, NULL);
    http_peer_write(mhd, connection->peer);
    return connection;
}

/* The socket is still open here: the acceptor never meets a reused descriptor. */
void http_connection_notice(void *arg, struct MHD_Connection *mhd, void **context,
                            enum MHD_ConnectionNotificationCode code) {
    struct http_server *server = arg;
    struct http_connection *connection = *context;

    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        *context = connection = connection_new(server, mhd);
    pthread_mutex_lock(&server->lock);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        http_slots_join(server, connection);
        http_acceptor_one_arrived(server);
    } else {
        http_slots_leave(server, connection);
        http_acceptor_one_left(server);
        pthread_cond_broadcast(&server->changed);
    }
    pthread_mutex_unlock(&server->lock);
    if (code != MHD_CONNECTION_NOTIFY_STARTED)
        http_connection_release(connection);
}
