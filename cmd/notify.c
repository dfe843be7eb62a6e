#include "cmd/notify.h"

#include "common/clock.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct notify {
    int fd; /* -1: no receiver */
    struct sockaddr_un address;
    socklen_t address_size;
    int64_t watchdog_us; /* 0: disabled */
    bool (*alive)(void *arg);
    void *arg;

    bool watching;
    pthread_t thread;
    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t changed;
    bool stopping, closing;
};

static void send_text(const struct notify *notify, const char *text) {
    if (notify->fd < 0)
        return;
    if (sendto(notify->fd, text, strlen(text), MSG_NOSIGNAL,
               (const struct sockaddr *)&notify->address, notify->address_size) < 0)
        log_warning(NULL, "cannot send to the notification socket", "reason", strerror(errno),
                    NULL);
}

static int read_address(struct notify *notify, const char *name, struct error *err) {
    struct sockaddr_un *address = &notify->address;
    size_t length = strlen(name);

    if ((*name != '/' && *name != '@') || length < 2 || length >= sizeof address->sun_path)
        return error_set(err, ERROR_BAD_REQUEST,
                         "NOTIFY_SOCKET: \"%s\" is neither a path nor an abstract name", name);
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, name, length);
    if (*name == '@')
        address->sun_path[0] = '\0';
    /* A path ends with a zero byte; an abstract name by its length. */
    notify->address_size =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (*name == '/'));
    notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (notify->fd < 0)
        return error_errno(err, ERROR_INTERNAL, "making a socket for notifications");
    return 0;
}

static int read_number(const char *name, int64_t *ret, struct error *err) {
    const char *text = getenv(name);
    char *end = NULL;

    *ret = 0;
    if (!text)
        return 0;
    errno = 0;
    *ret = strtoll(text, &end, 10);
    if (errno || end == text || *end || *ret <= 0)
        return error_set(err, ERROR_BAD_REQUEST, "%s: \"%s\" is not a positive number", name, text);
    return 0;
}

static int read_environment(struct notify *notify, struct error *err) {
    const char *name = getenv("NOTIFY_SOCKET");
    int64_t pid;

    if (name && read_address(notify, name, err) < 0)
        return -1;
    if (read_number("WATCHDOG_USEC", &notify->watchdog_us, err) < 0 ||
        read_number("WATCHDOG_PID", &pid, err) < 0)
        return -1;
    if (pid && pid != getpid())
        notify->watchdog_us = 0; /* meant for another process */
    return 0;
}

int notify_open(struct notify **ret, struct error *err) {
    struct notify *notify = heap_new(sizeof(*notify));

    notify->fd = -1;
    if (read_environment(notify, err) < 0) {
        if (notify->fd >= 0)
            close(notify->fd);
        free(notify);
        return -1;
    }
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    pthread_mutex_init(&notify->lock, NULL);
    thread_cond_init(&notify->changed);
    *ret = notify;
    return 0;
}

static void *watch(void *arg) {
    struct notify *notify = arg;
    int64_t until_us;

    pthread_setname_np(pthread_self(), "watchdog");
    pthread_mutex_lock(&notify->lock);
    while (!notify->closing) {
        bool stopping = notify->stopping;

        pthread_mutex_unlock(&notify->lock);
        if (stopping || notify->alive(notify->arg))
            send_text(notify, "WATCHDOG=1");
        pthread_mutex_lock(&notify->lock);
        /* Sleeps for half the timeout of the watchdog. */
        until_us = clock_monotonic_us() + notify->watchdog_us / 2;
        while (!notify->closing && thread_cond_wait(&notify->changed, &notify->lock, until_us))
            ;
    }
    pthread_mutex_unlock(&notify->lock);
    return NULL;
}

void notify_ready(struct notify *notify, const char *status, bool (*alive)(void *arg), void *arg) {
    char text[512];

    snprintf(text, sizeof text, "READY=1\nSTATUS=%s", status);
    send_text(notify, text);
    notify->alive = alive;
    notify->arg = arg;
    if (notify->fd < 0 || notify->watchdog_us == 0)
        return;
    notify->watching = pthread_create(&notify->thread, NULL, watch, notify) == 0;
    if (!notify->watching)
        log_error(NULL, "cannot start the watchdog thread", NULL);
}

void notify_stopping(struct notify *notify) {
    pthread_mutex_lock(&notify->lock);
    notify->stopping = true;
    pthread_mutex_unlock(&notify->lock);
    send_text(notify, "STOPPING=1\nSTATUS=ending: finishing running operations");
}

void notify_close(struct notify *notify) {
    if (!notify)
        return;
    pthread_mutex_lock(&notify->lock);
    notify->closing = true;
    pthread_cond_signal(&notify->changed);
    pthread_mutex_unlock(&notify->lock);
    if (notify->watching)
        pthread_join(notify->thread, NULL);
    if (notify->fd >= 0)
        close(notify->fd);
    pthread_cond_destroy(&notify->changed);
    pthread_mutex_destroy(&notify->lock);
    free(notify);
}
