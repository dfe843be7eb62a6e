#include "tests/lib/script_server.h"

#include "common/arena.h"
#include "common/error.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST_RULES        64
#define MOST_REQUESTS     65536
#define MOST_UNRESPONSIVE 64
#define REQUEST_SPACE     (256 * 1024)

struct script_server {
    char url[64];
    struct sockaddr_in address;
    int place;   /* has the port and does not listen: no other process gets it during a pause */
    int wake[2]; /* something written: look at `stops` and `listener` again */
    pthread_t thread;
    pthread_mutex_t lock; /* guards everything below */
    pthread_cond_t changed;
    int listener; /* -1: paused; closed by the thread, which may be looking at it */
    bool stops, pauses;
    struct script_rule rules[MOST_RULES];
    unsigned rule_count;
    struct arena *texts; /* of the rules */
    struct script_request *requests[MOST_REQUESTS];
    unsigned request_count;
    int silent[MOST_UNRESPONSIVE];
    unsigned unresponsive_count;
};

static bool path_fits(const char *pattern, const char *path) {
    size_t length = pattern ? strlen(pattern) : 0;

    if (!pattern)
        return true;
    if (length > 0 && pattern[length - 1] == '*')
        return strncmp(pattern, path, length - 1) == 0;
    return strcmp(pattern, path) == 0;
}

static bool fits(const char *method, const char *path, const struct script_request *request) {
    return (!method || strcmp(method, request->method) == 0) && path_fits(path, request->path);
}

static struct script_rule find_rule(struct script_server *server,
                                    const struct script_request *request) {
    for (unsigned i = 0; i < server->rule_count; i++) {
        struct script_rule *rule = &server->rules[i], found = *rule;

        if (!fits(rule->method, rule->path, request))
            continue;
        if (rule->times == 1) {
            server->rule_count--;
            memmove(rule, rule + 1, (server->rule_count - i) * sizeof(*rule));
        } else if (rule->times > 1) {
            rule->times--;
        }
        return found;
    }
    return (struct script_rule){ .status = 500 };
}

/* Reads until the head's end and the body that it announces, of a large one the beginning; NULL
 * when the peer leaves. */
static char *read_request(int fd) {
    char *text = calloc(1, REQUEST_SPACE);
    size_t size = 0, wanted = 0;

    assert(text);
    while (wanted == 0 || size < wanted) {
        ssize_t got = recv(fd, text + size, REQUEST_SPACE - 1 - size, 0);
        const char *end, *length;

        if (got <= 0) {
            free(text);
            return NULL;
        }
        size += (size_t)got;
        end = strstr(text, "\r\n\r\n");
        length = strcasestr(text, "\r\nContent-Length:");
        if (end)
            wanted =
                (size_t)(end + 4 - text) + (length && length < end ? (size_t)atol(length + 17) : 0);
        if (wanted > REQUEST_SPACE - 1)
            wanted = REQUEST_SPACE - 1;
    }
    return text;
}

static struct script_request *parse_request(char *text) {
    struct script_request *request = calloc(1, sizeof(*request));
    char *end = strstr(text, "\r\n\r\n"), *line = strstr(text, "\r\n");
    char *space = strchr(text, ' ');

    assert(request && end && line && space);
    request->body = strdup(end + 4);
    request->head = strndup(line, (size_t)(end + 2 - line));
    request->method = strndup(text, (size_t)(space - text));
    request->path = strndup(space + 1, strcspn(space + 1, " "));
    free(text);
    return request;
}

static void free_request(struct script_request *request) {
    free(request->body);
    free(request->head);
    free(request->method);
    free(request->path);
    free(request);
}

static void send_all(int fd, const char *text, size_t size) {
    while (size > 0) {
        ssize_t sent = send(fd, text, size, MSG_NOSIGNAL);

        if (sent <= 0)
            return;
        text += sent;
        size -= (size_t)sent;
    }
}

static const char *fault_of(int status) {
    for (enum error_kind kind = ERROR_NONE + 1; kind < ERROR_KINDS; kind++)
        if (error_http_status(kind) == status)
            return error_fault(kind);
    return "computeFault";
}

static void send_answer(int fd, const struct script_rule *rule) {
    char fault[128] = "", head[512];
    const char *body = rule->body ? rule->body : fault;
    size_t size;
    int length;

    if (rule->status >= 400 && rule->status <= 499)
        snprintf(fault, sizeof(fault), "{\"%s\": {\"code\": %d, \"message\": \"as told\"}}",
                 fault_of(rule->status), rule->status);
    size = strlen(body);
    length =
        snprintf(head, sizeof(head),
                 "HTTP/1.1 %d Scripted\r\nContent-Type: application/json\r\n"
                 "Connection: close\r\nContent-Length: %zu\r\n%s%s\r\n",
                 rule->status, size, rule->header ? rule->header : "", rule->header ? "\r\n" : "");

    send_all(fd, head, (size_t)length);
    send_all(fd, body, rule->manner == SCRIPT_HALF ? size / 2 : size);
}

/* Ends the connection so that the peer reads all that was sent. */
static void end_connection(int fd) {
    char rest[256];

    shutdown(fd, SHUT_WR);
    while (recv(fd, rest, sizeof(rest), MSG_DONTWAIT) > 0)
        continue;
    close(fd);
}

static void serve(struct script_server *server, int fd) {
    char *text = read_request(fd);
    struct script_request *request;
    struct script_rule rule;

    if (!text) {
        close(fd);
        return;
    }
    request = parse_request(text);
    pthread_mutex_lock(&server->lock);
    rule = find_rule(server, request);
    assert(server->request_count < MOST_REQUESTS);
    server->requests[server->request_count++] = request;
    if (rule.manner == SCRIPT_SILENT) {
        assert(server->unresponsive_count < MOST_UNRESPONSIVE);
        server->silent[server->unresponsive_count++] = fd;
    }
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
    if (rule.manner == SCRIPT_SILENT)
        return;
    if (rule.before)
        rule.before(rule.arg);
    if (rule.serve) {
        rule.status = rule.serve(rule.arg, request, &rule.body);
        rule.manner = rule.status == 0 ? SCRIPT_CLOSE : SCRIPT_WHOLE;
    }
    if (rule.manner == SCRIPT_CLOSE) {
        close(fd); /* a body of gigabytes is not read to its end */
        return;
    }
    send_answer(fd, &rule);
    end_connection(fd);
}

/* The listening socket now, -1 when paused, -2 to stop. */
static int look(struct script_server *server) {
    int listener;

    pthread_mutex_lock(&server->lock);
    if (server->pauses && server->listener >= 0) {
        close(server->listener);
        server->listener = -1;
        pthread_cond_broadcast(&server->changed);
    }
    listener = server->stops ? -2 : server->listener;
    pthread_mutex_unlock(&server->lock);
    return listener;
}

static void *run_server(void *arg) {
    struct script_server *server = arg;
    int listener;

    while ((listener = look(server)) != -2) {
        struct pollfd wait[2] = { { server->wake[0], POLLIN, 0 }, { listener, POLLIN, 0 } };
        char byte;
        int fd;

        if (poll(wait, listener < 0 ? 1 : 2, -1) < 0)
            continue;
        if (wait[0].revents && read(server->wake[0], &byte, 1) < 0)
            continue;
        if (listener < 0 || !wait[1].revents)
            continue;
        fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            continue;
        serve(server, fd);
    }
    return NULL;
}

/* Both sockets at one address set SO_REUSEADDR, and one of them never listens. */
static int open_socket(struct sockaddr_in *address) {
    socklen_t size = sizeof(*address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, result;

    assert(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    result = bind(fd, (struct sockaddr *)address, size);
    assert(result == 0);
    result = getsockname(fd, (struct sockaddr *)address, &size);
    assert(result == 0);
    return fd;
}

static int open_listener(struct sockaddr_in *address) {
    int fd = open_socket(address), result = listen(fd, 64);

    assert(result == 0);
    return fd;
}

static void wake(struct script_server *server) {
    ssize_t written = write(server->wake[1], "", 1);

    assert(written == 1);
}

struct script_server *script_server_new(void) {
    struct script_server *server = calloc(1, sizeof(*server));
    int result;

    assert(server);
    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->changed, NULL);
    server->texts = arena_new();
    server->address = (struct sockaddr_in){
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    server->place = open_socket(&server->address);
    server->listener = open_listener(&server->address);
    snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%u",
             ntohs(server->address.sin_port));
    result = pipe2(server->wake, O_CLOEXEC);
    assert(result == 0);
    result = pthread_create(&server->thread, NULL, run_server, server);
    assert(result == 0);
    return server;
}

void script_server_free(struct script_server *server) {
    pthread_mutex_lock(&server->lock);
    server->stops = true;
    pthread_mutex_unlock(&server->lock);
    wake(server);
    pthread_join(server->thread, NULL);
    if (server->listener >= 0)
        close(server->listener);
    close(server->place);
    for (unsigned i = 0; i < server->unresponsive_count; i++)
        close(server->silent[i]);
    for (unsigned i = 0; i < server->request_count; i++)
        free_request(server->requests[i]);
    arena_free(server->texts);
    close(server->wake[0]);
    close(server->wake[1]);
    pthread_cond_destroy(&server->changed);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

const char *script_server_url(const struct script_server *server) {
    return server->url;
}

void script_server_add(struct script_server *server, const struct script_rule *rule) {
    pthread_mutex_lock(&server->lock);
    assert(server->rule_count < MOST_RULES);
    server->rules[server->rule_count] = *rule;
    server->rules[server->rule_count].method = arena_text(server->texts, rule->method);
    server->rules[server->rule_count].path = arena_text(server->texts, rule->path);
    server->rules[server->rule_count].header = arena_text(server->texts, rule->header);
    server->rules[server->rule_count++].body = arena_text(server->texts, rule->body);
    pthread_mutex_unlock(&server->lock);
}

void script_server_clear(struct script_server *server) {
    pthread_mutex_lock(&server->lock);
    server->rule_count = 0;
    pthread_mutex_unlock(&server->lock);
}

void script_server_drop_silent(struct script_server *server) {
    pthread_mutex_lock(&server->lock);
    while (server->unresponsive_count > 0)
        close(server->silent[--server->unresponsive_count]);
    pthread_mutex_unlock(&server->lock);
}

void script_server_pause(struct script_server *server) {
    pthread_mutex_lock(&server->lock);
    server->pauses = true;
    wake(server);
    while (server->listener >= 0)
        pthread_cond_wait(&server->changed, &server->lock);
    pthread_mutex_unlock(&server->lock);
}

void script_server_resume(struct script_server *server) {
    pthread_mutex_lock(&server->lock);
    server->pauses = false;
    server->listener = open_listener(&server->address);
    wake(server);
    pthread_mutex_unlock(&server->lock);
}

static const struct script_request *find_request(const struct script_server *server,
                                                 const char *method, const char *path,
                                                 unsigned index) {
    for (unsigned i = 0; i < server->request_count; i++)
        if (fits(method, path, server->requests[i]) && index-- == 0)
            return server->requests[i];
    return NULL;
}

static unsigned count_requests(const struct script_server *server, const char *method,
                               const char *path) {
    unsigned count = 0;

    for (unsigned i = 0; i < server->request_count; i++)
        count += fits(method, path, server->requests[i]);
    return count;
}

unsigned script_server_count(struct script_server *server, const char *method, const char *path) {
    unsigned count;

    pthread_mutex_lock(&server->lock);
    count = count_requests(server, method, path);
    pthread_mutex_unlock(&server->lock);
    return count;
}

bool script_server_await(struct script_server *server, const char *method, const char *path,
                         unsigned count) {
    struct timespec until;
    bool came;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 120;
    pthread_mutex_lock(&server->lock);
    while (count_requests(server, method, path) < count)
        if (pthread_cond_timedwait(&server->changed, &server->lock, &until) == ETIMEDOUT)
            break;
    came = count_requests(server, method, path) >= count;
    pthread_mutex_unlock(&server->lock);
    return came;
}

const struct script_request *script_server_request(struct script_server *server, const char *method,
                                                   const char *path, unsigned index) {
    const struct script_request *request;

    pthread_mutex_lock(&server->lock);
    request = find_request(server, method, path, index);
    pthread_mutex_unlock(&server->lock);
    return request;
}

bool script_request_has(const struct script_request *request, const char *name, const char *value) {
    char line[1024];
    int length = snprintf(line, sizeof(line), "\r\n%s:", name);
    const char *found = strcasestr(request->head, line);
    size_t size = strlen(value);

    assert(length > 0 && (size_t)length < sizeof(line));
    if (!found)
        return false;
    found += length;
    found += strspn(found, " ");
    return strncmp(found, value, size) == 0 && strncmp(found + size, "\r\n", 2) == 0;
}
