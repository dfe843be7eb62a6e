/*
 * A web server that does nothing else: every request gets the same bytes.
 *
 *     bare THREADS each|once [NAME: VALUE]... < BODY
 *
 * Prints "ready http://127.0.0.1:PORT" and runs until a signal ends it.  The event loop is that of
 * http/server.c.  "each": as there, each request gets a response of its own, because a
 * header of each differs (the request id); the rest of scoria's time is its own.  "once": all
 * requests share one response made beforehand, which is the least that libmicrohttpd can do.
 */
#include <arpa/inet.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct answer {
    size_t size;
    char *body;
    unsigned header_count;
    char **headers;             /* name, '\0', value */
    struct MHD_Response *ready; /* "once" */
};

static struct MHD_Response *response_new(const struct answer *answer) {
    struct MHD_Response *response =
        MHD_create_response_from_buffer(answer->size, answer->body, MHD_RESPMEM_PERSISTENT);

    for (unsigned i = 0; i < answer->header_count; i++) {
        const char *name = answer->headers[i];

        MHD_add_response_header(response, name, name + strlen(name) + 1);
    }
    return response;
}

static enum MHD_Result reply(struct MHD_Connection *connection, const struct answer *answer) {
    struct MHD_Response *response = answer->ready ? answer->ready : response_new(answer);
    enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_OK, response);

    if (!answer->ready)
        MHD_destroy_response(response);
    return result;
}

static enum MHD_Result serve(void *arg, struct MHD_Connection *connection, const char *url,
                             const char *method, const char *version, const char *upload,
                             size_t *upload_size, void **context) {
    (void)url, (void)method, (void)version, (void)upload, (void)upload_size;
    if (!*context) {
        *context = arg; /* an answer given before the request has ended closes the connection */
        return MHD_YES;
    }
    return reply(connection, arg);
}

static char *read_body(size_t *ret_size) {
    size_t space = 1 << 16, size = 0, count;
    char *body = malloc(space);

    while (body && (count = fread(body + size, 1, space - size, stdin)) > 0) {
        size += count;
        if (size == space)
            body = realloc(body, space *= 2);
    }
    *ret_size = size;
    return body;
}

/* "Name: value" becomes "Name\0value". */
static int split_header(char *header) {
    char *colon = strstr(header, ": ");

    if (!colon)
        return -1;
    *colon = '\0';
    memmove(colon + 1, colon + 2, strlen(colon + 2) + 1);
    return 0;
}

static struct MHD_Daemon *start(unsigned threads, struct answer *answer) {
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct MHD_OptionItem pool[] = { { MHD_OPTION_THREAD_POOL_SIZE, (intptr_t)threads, NULL },
                                     { MHD_OPTION_END, 0, NULL } };

    if (threads < 2)
        pool[0].option = MHD_OPTION_END;
    return MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, serve, answer,
                            MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_ARRAY, pool, MHD_OPTION_END);
}

int main(int count, char *words[]) {
    struct answer answer = { 0 };
    struct MHD_Daemon *daemon;

    if (count < 3 || (strcmp(words[2], "each") != 0 && strcmp(words[2], "once") != 0)) {
        fputs("usage: bare THREADS each|once [NAME: VALUE]... < BODY\n", stderr);
        return 2;
    }
    answer.header_count = (unsigned)count - 3;
    answer.headers = words + 3;
    for (unsigned i = 0; i < answer.header_count; i++)
        if (split_header(answer.headers[i]) < 0)
            return 2;
    answer.body = read_body(&answer.size);
    if (answer.body && strcmp(words[2], "once") == 0)
        answer.ready = response_new(&answer);
    daemon = answer.body ? start((unsigned)atoi(words[1]), &answer) : NULL;
    if (!daemon) {
        fputs("bare: cannot start\n", stderr);
        return 1;
    }
    printf("ready http://127.0.0.1:%u\n",
           (unsigned)MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    for (;;)
        pause();
}
