#include "http/refusal.private.h"

#include "http/head.private.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { UNREAD_LOOKS = 16 };

static const char too_large[] = "The head of the request is too large, or has too many cookies.";

/* libmicrohttpd's own parsing of the first Content-Length. */
static bool length_is_number(struct MHD_Connection *mhd) {
    const char *text = NULL, *end;
    size_t size = 0;

    MHD_lookup_connection_value_n(mhd, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH,
                                  strlen(MHD_HTTP_HEADER_CONTENT_LENGTH), &text, &size);
    if (!text)
        return true;
    errno = 0;
    end = text + strspn(text, "0123456789");
    return size > 0 && end == text + size && (strtoull(text, NULL, 10), errno == 0);
}

/*
 * libmicrohttpd may write its log at any moment, also about a connection without a request: before
 * http_connection_begin(), when it has refused the request line, or after the request.  The head is
 * being refused only between its end and its first response, whose status is known as soon as there
 * is one; no connection waits in that state.
 */
static bool is_refused(const struct http_connection *connection) {
    return pthread_equal(connection->thread, pthread_self()) && connection->in_request &&
           !connection->headers_seen &&
           MHD_get_connection_info(connection->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE) &&
           !MHD_get_connection_info(connection->mhd, MHD_CONNECTION_INFO_HTTP_STATUS);
}

/* NULL: the log line has another subject.  A thread of libmicrohttpd works on one connection at a
 * time. */
static struct http_connection *find_refused(struct http_server *server) {
    struct http_connection *connection = NULL, *found = NULL;

    if (pthread_mutex_lock(&server->lock) != 0) /* this thread holds it: not in a request's head */
        return NULL;
    LIST_FOREACH(connection, &server->all, all) {
        if (is_refused(connection))
            found = connection;
    }
    pthread_mutex_unlock(&server->lock);
    return found;
}

static const char *answer_text(const struct http_exchange *exchange) {
    struct arena *arena = exchange->arena;
    const char *headers = "";
    time_t now = time(NULL);
    struct tm tm;
    char date[40];

    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &tm));
    for (unsigned i = 0; i < exchange->reply_header_count; i++)
        if (!strpbrk(exchange->reply_headers[i].value, "\r\n"))
            headers = arena_format(arena, "%s%s: %s\r\n", headers, exchange->reply_headers[i].name,
                                   exchange->reply_headers[i].value);
    return arena_format(arena,
                        "HTTP/1.1 %d %s\r\nDate: %s\r\nConnection: close\r\n%sContent-Length: "
                        "%zu\r\n\r\n%.*s",
                        exchange->status, MHD_get_reason_phrase_for((unsigned)exchange->status),
                        date, headers, exchange->reply_size, (int)exchange->reply_size,
                        exchange->reply_size ? exchange->reply_body : "");
}

static int socket_of(const struct http_connection *connection) {
    return MHD_get_connection_info(connection->mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

static void send_at_once(struct http_exchange *exchange) {
    struct http_connection *connection = exchange->transport;
    int fd = socket_of(connection);
    const union MHD_ConnectionInfo *tls =
        MHD_get_connection_info(connection->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    const char *text = answer_text(exchange);

    if (tls && tls->tls_session) {
        gnutls_record_send(tls->tls_session, text, strlen(text));
        gnutls_bye(tls->tls_session, GNUTLS_SHUT_WR);
    } else {
        send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

static void refuse(struct http_connection *connection, const char *cause) {
    int fd = socket_of(connection);
    char unread[4096];

    connection->headers_seen = true; /* it logs that more than once */
    connection->exchange.method = "";
    connection->exchange.malformed = cause;
    connection->exchange.send = send_at_once;
    connection->server->refuse(connection);
    /* unread input would reset the connection before the client reads the response */
    shutdown(fd, SHUT_WR);
    for (unsigned i = 0; i < UNREAD_LOOKS && recv(fd, unread, sizeof unread, MSG_DONTWAIT) > 0; i++)
        ;
}

/* Each field and each cookie takes a record beside its text, and parsed cookies are a copy. */
bool http_refusal_for_memory(struct http_connection *connection) {
    enum { RECORD = 64, OF_RESPONSE = 1536 };
    const union MHD_ConnectionInfo *head =
        MHD_get_connection_info(connection->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    int count = MHD_get_connection_values(connection->mhd, MHD_HEADER_KIND, NULL, NULL) +
                MHD_get_connection_values(connection->mhd, MHD_COOKIE_KIND, NULL, NULL);
    const char *cookies = NULL;
    size_t copied = 0;

    MHD_lookup_connection_value_n(connection->mhd, MHD_HEADER_KIND, MHD_HTTP_HEADER_COOKIE,
                                  strlen(MHD_HTTP_HEADER_COOKIE), &cookies, &copied);
    if (!head ||
        head->header_size + (size_t)count * RECORD + copied <= HTTP_CONNECTION_MEMORY - OF_RESPONSE)
        return false;
    refuse(connection, too_large);
    return true;
}

void http_refusal_logged(void *arg, const char *format, va_list values) {
    struct http_connection *connection = http_head_lies_as_sent() ? find_refused(arg) : NULL;

    (void)values;
    if (connection && !length_is_number(connection->mhd))
        refuse(connection, "The Content-Length is malformed or too large.");
    /* Its own response to a head that leaves no memory for the parsed cookies is sent twice, or not
     * at all. */
    else if (connection && strstr(format, "enough memory in pool"))
        refuse(connection, too_large);
}
