/*
 * Sends requests to 127.0.0.1 over kept connections, each exactly once, and checks every answer.
 *
 *     load PORT CONNECTIONS [ANSWERS [UNTIL-PATH UNTIL-TEXT]] < REQUESTS
 *
 * A line of REQUESTS is METHOD, PATH, status that must come, text that must be in the answer, body:
 * five fields with tabs between them, the last two may be empty.  The bodies of the answers go to
 * the file ANSWERS ("" for none), one a line.  With UNTIL-PATH the work counts as done when a GET
 * of it answers with UNTIL-TEXT.  A token in the environment's LOAD_TOKEN goes with each request,
 * and so does a microversion in LOAD_VERSION ("3.71").
 * Prints one line: requests, of them failed, seconds, median and 99th percentile of one request in
 * microseconds, CPU seconds of this program.  The first wrong answer is shown on stderr.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Since 3.31 a list can be filtered by volumes made after an instant. */
#define VERSION "OpenStack-API-Version: volume 3.71\r\n"

enum { METHOD, PATH, STATUS, EXPECTED, BODY, FIELDS };

struct request {
    char *text; /* as sent */
    size_t size;
    char status[4];
    char *expected;
};

struct answer {
    const char *body;
    size_t size;
};

struct connection {
    int fd;
    const struct request *request; /* NULL: nothing left to do */
    double begin;
    char *buffer;
    size_t size, space;
};

static struct {
    struct sockaddr_in address;
    FILE *answers;
    struct request *requests;
    size_t count, next, finished, failed;
    double *microseconds;
} load;

static void die(const char *what) {
    perror(what);
    exit(1);
}

static void *grown(void *memory, size_t size) {
    memory = realloc(memory, size);
    if (!memory)
        die("load");
    return memory;
}

static double now(clockid_t clock) {
    struct timespec time;

    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* ---- requests ---- */

static struct request make_request(const char *method, const char *path, const char *status,
                                   const char *expected, const char *body, const char *headers) {
    struct request request = { .expected = strdup(expected) };
    int size;

    if (*body)
        size = asprintf(&request.text,
                        "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n%s"
                        "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                        method, path, ntohs(load.address.sin_port), headers, strlen(body), body);
    else
        size = asprintf(&request.text, "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n%s\r\n", method,
                        path, ntohs(load.address.sin_port), headers);
    if (size < 0 || !request.expected || strlen(status) != 3)
        die("request");
    memcpy(request.status, status, sizeof request.status);
    request.size = (size_t)size;
    return request;
}

static void read_requests(void) {
    const char *token = getenv("LOAD_TOKEN"), *version = getenv("LOAD_VERSION");
    char *line = NULL, *headers;
    size_t space = 0, most = 0;

    if (asprintf(&headers, "%s%s%s%s%s%s", token && *token ? "X-Auth-Token: " : "",
                 token ? token : "", token && *token ? "\r\n" : "",
                 version ? "OpenStack-API-Version: volume " : "", version ? version : "",
                 version ? "\r\n" : "") < 0)
        die("load");
    while (getline(&line, &space, stdin) > 0) {
        char *fields[FIELDS], *rest = line;

        line[strcspn(line, "\n")] = '\0';
        for (unsigned i = 0; i < FIELDS; i++)
            if (!(fields[i] = strsep(&rest, "\t")))
                die("a line without five fields");
        if (load.count == most)
            load.requests = grown(load.requests, (most = 2 * most + 64) * sizeof(struct request));
        load.requests[load.count++] = make_request(fields[METHOD], fields[PATH], fields[STATUS],
                                                   fields[EXPECTED], fields[BODY], headers);
    }
    free(headers);
    free(line);
    load.microseconds = grown(NULL, (load.count + 1) * sizeof(double));
}

/* ---- a connection ---- */

static void connection_open(struct connection *connection) {
    int yes = 1;

    connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection->fd < 0 ||
        connect(connection->fd, (const struct sockaddr *)&load.address, sizeof load.address) < 0)
        die("connect");
    setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    connection->buffer = grown(NULL, connection->space = 1 << 14);
}

static void connection_send(struct connection *connection, const struct request *request) {
    connection->request = request;
    connection->size = 0;
    connection->begin = now(CLOCK_MONOTONIC);
    if (send(connection->fd, request->text, request->size, MSG_NOSIGNAL) != (ssize_t)request->size)
        die("send");
}

/* Takes the bytes that have come. True: the response is complete. */
static bool connection_receive(struct connection *connection, struct answer *ret) {
    const char *body, *length;
    ssize_t count;

    if (connection->space - connection->size < 4096)
        connection->buffer = grown(connection->buffer, connection->space *= 2);
    count = recv(connection->fd, connection->buffer + connection->size,
                 connection->space - connection->size - 1, 0);
    if (count <= 0)
        die("the server closed a connection");
    connection->size += (size_t)count;
    connection->buffer[connection->size] = '\0';
    body = strstr(connection->buffer, "\r\n\r\n");
    if (!body)
        return false;
    body += 4;
    length = strcasestr(connection->buffer, "\r\nContent-Length:");
    *ret = (struct answer){ body, length && length < body ? strtoul(length + 17, NULL, 10) : 0 };
    return (size_t)(connection->buffer + connection->size - body) >= ret->size;
}

static bool answer_fits(const struct connection *connection, const struct answer *answer) {
    const struct request *request = connection->request;

    return connection->size > 12 && memcmp(connection->buffer + 9, request->status, 3) == 0 &&
           memmem(answer->body, answer->size, request->expected, strlen(request->expected));
}

static void answer_take(const struct connection *connection, const struct answer *answer) {
    load.microseconds[load.finished++] = (now(CLOCK_MONOTONIC) - connection->begin) * 1e6;
    if (!answer_fits(connection, answer) && load.failed++ == 0)
        fprintf(stderr, "load: a wrong answer:\n%.*s\n%.2000s\n",
                (int)strcspn(connection->request->text, "\r"), connection->request->text,
                connection->buffer);
    if (load.answers) {
        fwrite(answer->body, 1, answer->size, load.answers);
        putc('\n', load.answers);
    }
}

/* ---- all of them ---- */

static void send_all(unsigned connection_count) {
    struct connection *connections = calloc(connection_count, sizeof *connections);
    struct epoll_event events[64];
    int poll = epoll_create1(EPOLL_CLOEXEC);

    if (!connections || poll < 0)
        die("load");
    for (unsigned i = 0; i < connection_count && load.next < load.count; i++) {
        struct epoll_event event = { .events = EPOLLIN, .data.ptr = &connections[i] };

        connection_open(&connections[i]);
        if (epoll_ctl(poll, EPOLL_CTL_ADD, connections[i].fd, &event) < 0)
            die("epoll_ctl");
        connection_send(&connections[i], &load.requests[load.next++]);
    }
    while (load.finished < load.count) {
        int ready = epoll_wait(poll, events, sizeof events / sizeof *events, -1);

        for (int i = 0; i < ready; i++) {
            struct connection *connection = events[i].data.ptr;
            struct answer answer;

            if (!connection_receive(connection, &answer))
                continue;
            answer_take(connection, &answer);
            if (load.next < load.count)
                connection_send(connection, &load.requests[load.next++]);
        }
    }
}

static void wait_until(const char *path, const char *text) {
    const struct request request = make_request("GET", path, "200", text, "", VERSION);
    struct connection connection = { 0 };
    struct answer answer;

    connection_open(&connection);
    do {
        connection_send(&connection, &request);
        while (!connection_receive(&connection, &answer))
            ;
    } while (!answer_fits(&connection, &answer));
}

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

int main(int count, char *words[]) {
    double begin, seconds;

    if (count < 3 || count == 5 || count > 6) {
        fputs("usage: load PORT CONNECTIONS [ANSWERS [UNTIL-PATH UNTIL-TEXT]] < REQUESTS\n",
              stderr);
        return 2;
    }
    load.address = (struct sockaddr_in){ .sin_family = AF_INET,
                                         .sin_port = htons((uint16_t)atoi(words[1])),
                                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    if (count > 3 && *words[3] && !(load.answers = fopen(words[3], "w")))
        die(words[3]);
    read_requests();
    begin = now(CLOCK_MONOTONIC);
    send_all((unsigned)atoi(words[2]));
    if (count > 4)
        wait_until(words[4], words[5]);
    seconds = now(CLOCK_MONOTONIC) - begin;
    if (load.answers && fclose(load.answers) != 0)
        die(words[3]);
    qsort(load.microseconds, load.finished, sizeof(double), compare);
    printf("%zu %zu %.6f %.1f %.1f %.6f\n", load.finished, load.failed, seconds,
           load.microseconds[load.finished / 2], load.microseconds[load.finished * 99 / 100],
           now(CLOCK_PROCESS_CPUTIME_ID));
    return load.failed > 0;
}
