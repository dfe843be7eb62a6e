#include "cmd/notify.h"

#include "common/cleanup.h"
#include "tests/lib/check_main.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* The starter's end of the socket; `name` begins with '/' or '@'. */
static int listen_to(const char *name) {
    const struct timeval timeout = { .tv_sec = 40 };
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    size_t length = strlen(name);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    memcpy(address.sun_path, name, length);
    if (*name == '@')
        address.sun_path[0] = '\0';
    ck_assert_int_eq(
        bind(fd, (struct sockaddr *)&address,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (*name == '/'))),
        0);
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout), 0);
    setenv("NOTIFY_SOCKET", name, 1);
    return fd;
}

#define assert_received(fd, wanted)                                \
    do {                                                           \
        char text_[1024] = "";                                     \
        ck_assert_int_gt(recv(fd, text_, sizeof text_ - 1, 0), 0); \
        ck_assert_str_eq(text_, wanted);                           \
    } while (0)

struct life {
    atomic_bool alive;
    atomic_int denied; /* the number of checks that found it missing */
};

static bool is_alive(void *arg) {
    struct life *life = arg;
    bool alive = atomic_load(&life->alive);

    if (!alive)
        atomic_fetch_add(&life->denied, 1);
    return alive;
}

/* Takes messages until the liveness check failed `times` times; returns their number. */
static unsigned count_until_denied(int fd, struct life *life, int times) {
    unsigned count = 0;
    bool enough = false;
    char text[64];

    for (int i = 0; i < 40000 && !enough; i++) {
        enough = atomic_load(&life->denied) >= times;
        while (recv(fd, text, sizeof text, MSG_DONTWAIT) > 0)
            count++;
        usleep(1000);
    }
    ck_assert(enough);
    return count;
}

static void expect_a_life(const char *name) {
    autoclose int fd = listen_to(name);
    struct life life = { .alive = true };
    struct notify *notify;
    struct error err;

    unsetenv("WATCHDOG_USEC");
    ck_assert_int_eq(notify_open(&notify, &err), 0);
    ck_assert_ptr_null(getenv("NOTIFY_SOCKET"));
    notify_ready(notify, "ready http://h:1/v3", is_alive, &life);
    assert_received(fd, "READY=1\nSTATUS=ready http://h:1/v3");
    notify_stopping(notify);
    assert_received(fd, "STOPPING=1\nSTATUS=ending: finishing running operations");
    notify_close(notify);
}

START_TEST(states_are_sent_by_path_and_by_abstract_name) {
    char directory[] = "/tmp/scoria-notify-XXXXXX", name[64];

    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(name, sizeof name, "%s/socket", directory);
    expect_a_life(name);
    unlink(name);
    rmdir(directory);
    snprintf(name, sizeof name, "@scoria-notify-%d", (int)getpid());
    expect_a_life(name);
}
END_TEST

/* The next that is no sign of life: these come when they like. */
static const char *receive_other(int fd, char *text, size_t space) {
    do {
        ssize_t size = recv(fd, text, space - 1, 0);

        ck_assert_int_gt(size, 0);
        text[size] = '\0';
    } while (strcmp(text, "WATCHDOG=1") == 0);
    return text;
}

START_TEST(watchdog_messages_end_with_the_process) {
    struct life life = { .alive = true };
    char name[64], text[64];
    struct notify *notify;
    struct error err;
    autoclose int fd = -1;

    snprintf(name, sizeof name, "@scoria-watchdog-%d", (int)getpid());
    fd = listen_to(name);
    setenv("WATCHDOG_USEC", "20000", 1);
    snprintf(text, sizeof text, "%d", (int)getpid());
    setenv("WATCHDOG_PID", text, 1);
    ck_assert_int_eq(notify_open(&notify, &err), 0);
    ck_assert_ptr_null(getenv("WATCHDOG_USEC"));
    notify_ready(notify, "ready", is_alive, &life);
    assert_received(fd, "READY=1\nSTATUS=ready");
    for (int i = 0; i < 3; i++)
        assert_received(fd, "WATCHDOG=1");
    atomic_store(&life.alive, false);
    count_until_denied(fd, &life, 1); /* messages on their way */
    ck_assert_uint_eq(count_until_denied(fd, &life, atomic_load(&life.denied) + 5), 0);
    notify_stopping(notify); /* takes its time, with the starter's patience */
    ck_assert_ptr_nonnull(strstr(receive_other(fd, text, sizeof text), "STOPPING=1\n"));
    assert_received(fd, "WATCHDOG=1");
    notify_close(notify);
}
END_TEST

START_TEST(without_a_notify_socket_nothing_is_sent) {
    struct notify *notify;
    struct error err;

    unsetenv("NOTIFY_SOCKET");
    setenv("WATCHDOG_USEC", "1000", 1);
    setenv("WATCHDOG_PID", "1", 1); /* of another process */
    ck_assert_int_eq(notify_open(&notify, &err), 0);
    notify_ready(notify, "ready", NULL, NULL);
    notify_stopping(notify);
    notify_close(notify);
    notify_close(NULL);
}
END_TEST

START_TEST(invalid_notify_settings_are_refused) {
    static const struct {
        const char *name, *value;
    } bad[] = { { "NOTIFY_SOCKET", "relative" },
                { "NOTIFY_SOCKET", "@" },
                { "WATCHDOG_USEC", "soon" },
                { "WATCHDOG_USEC", "0" },
                { "WATCHDOG_PID", "99999999999999999999" } };

    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct notify *notify;
        struct error err;

        unsetenv("NOTIFY_SOCKET");
        unsetenv("WATCHDOG_USEC");
        unsetenv("WATCHDOG_PID");
        setenv(bad[i].name, bad[i].value, 1);
        ck_assert_int_eq(notify_open(&notify, &err), -1);
        ck_assert_ptr_nonnull(strstr(err.message, bad[i].name));
    }
}
END_TEST

CHECK_MAIN("notify", states_are_sent_by_path_and_by_abstract_name,
           watchdog_messages_end_with_the_process, without_a_notify_socket_nothing_is_sent,
           invalid_notify_settings_are_refused)
