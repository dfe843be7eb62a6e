#include "http/unix_socket.h"

#include "common/cleanup.h"
#include "http/client.h"
#include "http/listen.h"
#include "http/server.h"
#include "tests/lib/check_main.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

/* A directory of its own, and in it the path of a socket. */
struct scene {
    struct arena *arena;
    char directory[32], path[64], address[80];
    struct unix_socket socket;
    struct error err;
};

static struct scene *scene_new(void) {
    struct scene *scene = calloc(1, sizeof(*scene));

    scene->arena = arena_new();
    scene->socket.lock = -1;
    strcpy(scene->directory, "/tmp/scoria-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(scene->directory));
    ck_assert_int_eq(chmod(scene->directory, 0755), 0);
    snprintf(scene->path, sizeof(scene->path), "%s/a b.sock", scene->directory);
    snprintf(scene->address, sizeof(scene->address), "unix:%s", scene->path);
    return scene;
}

static void scene_end(struct scene *scene) {
    char lock[80];

    snprintf(lock, sizeof(lock), "%s.lock", scene->path);
    unlink(lock);
    unlink(scene->path);
    ck_assert_int_eq(rmdir(scene->directory), 0); /* nothing else was left */
    arena_free(scene->arena);
    free(scene);
}

static int listen_as(struct scene *scene, struct unix_socket_access access) {
    return unix_socket_listen(scene->path, &access, &scene->socket, &scene->err);
}
#define LISTEN(scene, ...) listen_as(scene, (struct unix_socket_access){ __VA_ARGS__ })

static void expect_refusal(struct scene *scene, const char *why) {
    struct unix_socket other = { .lock = -1 };
    const struct unix_socket_access usual = { .mode = NULL };

    ck_assert_int_eq(unix_socket_listen(scene->path, &usual, &other, &scene->err), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_BAD_REQUEST);
    ck_assert_msg(strstr(scene->err.message, why) && strstr(scene->err.message, scene->path), "%s",
                  scene->err.message);
    ck_assert_int_eq(other.lock, -1);
}

static struct sockaddr_un address_of(const char *path) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    strcpy(address.sun_path, path);
    return address;
}

/* As another program would. */
static int bind_there(const struct scene *scene) {
    const struct sockaddr_un address = address_of(scene->path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static int dial(const struct scene *scene) {
    const struct sockaddr_un address = address_of(scene->path);
    struct timeval limit = { .tv_sec = 60 };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_eq(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    return fd;
}

/* ---- the file ---- */

START_TEST(the_file_has_its_mode_and_goes_at_the_end) {
    static const struct {
        const char *text;
        mode_t mode;
    } rows[] = { { NULL, 0660 }, { "0600", 0600 }, { "666", 0666 } };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct scene *scene = scene_new();
        autoclose int fd = LISTEN(scene, .mode = rows[i].text);
        struct stat info;

        ck_assert_msg(fd >= 0, "%s", scene->err.message);
        ck_assert_int_eq(stat(scene->path, &info), 0);
        ck_assert(S_ISSOCK(info.st_mode));
        ck_assert_uint_eq(info.st_mode & 0777, rows[i].mode);
        close(dial(scene));
        unix_socket_remove(&scene->socket);
        ck_assert_int_lt(stat(scene->path, &info), 0);
        unix_socket_remove(&scene->socket); /* once more does nothing */
        scene_end(scene);
    }
}
END_TEST

START_TEST(an_invalid_mode_or_group_is_refused) {
    static const struct unix_socket_access rows[] = {
        { .mode = "" },         { .mode = "0680" },  { .mode = "rw" },          { .mode = "-1" },
        { .mode = "01777" },    { .mode = "0660 " }, { .group = "" },           { .group = "-1" },
        { .group = "no such" }, { .group = "7x" },   { .group = "4294967295" },
    };
    struct scene *scene = scene_new();

    for (size_t i = 0; i < LENGTH(rows); i++) {
        ck_assert_int_eq(listen_as(scene, rows[i]), -1);
        ck_assert_int_eq(scene->err.kind, ERROR_BAD_REQUEST);
        ck_assert_int_lt(access(scene->path, F_OK), 0);
    }
    scene_end(scene);
}
END_TEST

START_TEST(a_path_is_absolute_and_short_enough) {
    char longest[109];
    const char *const paths[] = { "", "run/api.sock", "@abstract", longest };
    const struct unix_socket_access usual = { .mode = NULL };

    memset(longest, 'x', sizeof(longest) - 1);
    longest[0] = '/';
    longest[sizeof(longest) - 1] = '\0';
    for (size_t i = 0; i < LENGTH(paths); i++) {
        struct unix_socket socket = { .lock = -1 };
        struct error err;

        ck_assert_int_eq(unix_socket_listen(paths[i], &usual, &socket, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    }
}
END_TEST

/* ---- whose is the path ---- */

START_TEST(a_stale_socket_is_replaced) {
    struct scene *scene = scene_new();
    autoclose int fd = -1;

    close(bind_there(scene));
    fd = LISTEN(scene, .mode = NULL);
    ck_assert_msg(fd >= 0, "%s", scene->err.message);
    close(dial(scene));
    unix_socket_remove(&scene->socket);
    scene_end(scene);
}
END_TEST

/* Also between bind() and listen(), when a connection would be refused. */
START_TEST(a_listening_process_is_not_replaced) {
    struct scene *scene = scene_new();
    autoclose int fd = LISTEN(scene, .mode = NULL);

    ck_assert_int_ge(fd, 0);
    expect_refusal(scene, "another process listens there");
    ck_assert_int_eq(unlink(scene->path), 0);
    expect_refusal(scene, "another process listens there");
    unix_socket_remove(&scene->socket);
    scene_end(scene);
}
END_TEST

START_TEST(another_program_is_not_replaced) {
    struct scene *scene = scene_new();
    autoclose int fd = bind_there(scene);

    ck_assert_int_eq(listen(fd, 8), 0);
    expect_refusal(scene, "another process listens there");
    close(dial(scene));
    scene_end(scene);
}
END_TEST

START_TEST(other_files_are_not_replaced) {
    struct scene *scene = scene_new();

    close(open(scene->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    expect_refusal(scene, "not a socket");
    ck_assert_int_eq(access(scene->path, F_OK), 0);
    unlink(scene->path);
    ck_assert_int_eq(symlink("/tmp/nowhere", scene->path), 0);
    expect_refusal(scene, "not a socket");
    scene_end(scene);
}
END_TEST

START_TEST(a_socket_of_another_process_stays_at_the_end) {
    struct scene *scene = scene_new();
    autoclose int fd = LISTEN(scene, .mode = NULL), other = -1;

    ck_assert_int_ge(fd, 0);
    unlink(scene->path);
    other = bind_there(scene);
    unix_socket_remove(&scene->socket);
    ck_assert_int_eq(access(scene->path, F_OK), 0);
    scene_end(scene);
}
END_TEST

/* ---- server and client ---- */

static void send_peer(void *arg, struct http_exchange *exchange) {
    const char *host = http_header(exchange, "Host");

    (void)arg;
    exchange->status = 200;
    exchange->reply_body =
        arena_format(exchange->arena, "%s|%s|%s", exchange->peer, exchange->path, host);
    exchange->reply_size = strlen(exchange->reply_body);
    http_reply(exchange);
}

static struct http_server *start(struct scene *scene, unsigned most_of_address) {
    static const struct http_mount mounts[] = { { "", send_peer, NULL }, { NULL, NULL, NULL } };
    const struct http_server_settings settings = { .address = scene->address,
                                                   .address_connections = most_of_address,
                                                   .mounts = mounts };
    struct http_server *server = NULL;

    ck_assert_msg(http_server_start(&settings, &server, &scene->err) == 0, "%s",
                  scene->err.message);
    return server;
}

START_TEST(a_server_is_reached_through_the_file) {
    struct scene *scene = scene_new();
    struct http_call call = { .method = "GET" };
    struct http_answer answer;
    char expected[64];

    call.url = arena_join(scene->arena, unix_socket_url(scene->arena, scene->path, false),
                          "/v3/x?y=1", NULL);
    snprintf(expected, sizeof(expected), "unix:%u|/v3/x|localhost", getuid());
    for (unsigned i = 0; i < 2; i++) { /* the second finds nothing of the first */
        struct http_server *server = start(scene, 0), *other;
        const struct http_mount none[] = { { NULL, NULL, NULL } };
        const struct http_server_settings same = { .address = scene->address, .mounts = none };

        ck_assert_uint_eq(http_server_port(server), 0);
        ck_assert_msg(http_call(scene->arena, &call, &answer, &scene->err) == 0, "%s",
                      scene->err.message);
        ck_assert_str_eq(answer.body, expected);
        ck_assert_int_eq(http_server_start(&same, &other, &scene->err), -1);
        ck_assert_ptr_nonnull(strstr(scene->err.message, "another process listens there"));
        http_server_stop(server, 0);
        ck_assert_int_lt(access(scene->path, F_OK), 0);
        ck_assert_int_eq(http_call(scene->arena, &call, &answer, &scene->err), HTTP_NOT_SENT);
    }
    scene_end(scene);
}
END_TEST

START_TEST(urls_that_name_no_socket_reach_nothing) {
    static const char *const urls[] = {
        "http+unix:///v3",         "http+unix://%zz/v3", "http+unix://%00/v3",
        "file+unix://%2Ftmp%2Fx/", "unix:/tmp/x",        "http+unix://%2Ftmp%2Fno%2Fsuch/v3",
    };
    struct scene *scene = scene_new();

    for (size_t i = 0; i < LENGTH(urls); i++) {
        const struct http_call call = { .method = "GET", .url = urls[i] };
        struct http_answer answer;

        ck_assert_int_eq(http_call(scene->arena, &call, &answer, &scene->err), HTTP_NOT_SENT);
    }
    ck_assert_str_eq(unix_socket_url(scene->arena, "/a-B/1 %\xc3\xa9", true),
                     "https+unix://%2Fa-B%2F1%20%25%C3%A9");
    scene_end(scene);
}
END_TEST

/* Sends a request, and checks whether there is an answer. */
static bool is_served(int fd) {
    static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    char text[512];

    return send(fd, request, strlen(request), MSG_NOSIGNAL) == (ssize_t)strlen(request) &&
           recv(fd, text, sizeof(text), 0) > 0;
}

/* The idlest of a user goes for the newest of the same; of this thread's user, where it may change
 * that, and of this machine's TCP clients none. */
START_TEST(connections_are_counted_by_user) {
    struct scene *scene = scene_new();
    struct http_server *server = start(scene, 1);
    autoclose int first = dial(scene), second = -1, third = -1;
    bool may_change = geteuid() == 0;

    ck_assert(is_served(first));
    if (may_change) {
        ck_assert_int_eq(chmod(scene->path, 0666), 0);
        ck_assert_int_eq((int)syscall(SYS_setresuid, -1, 12345, -1), 0);
        second = dial(scene);
        ck_assert_int_eq((int)syscall(SYS_setresuid, -1, 0, -1), 0);
        ck_assert(is_served(second));
        ck_assert(is_served(first));
    }
    third = dial(scene);
    ck_assert(is_served(third));
    ck_assert(!is_served(first));
    ck_assert(!may_change || is_served(second));
    http_server_stop(server, 0);
    scene_end(scene);
}
END_TEST

/* It sends, and sending to it fails: the server finds that out in the midst of a response. */
static int dial_deaf(const struct scene *scene) {
    const struct sockaddr_un address = address_of(scene->path);
    const struct timeval limit = { .tv_sec = 60 };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_eq(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(shutdown(fd, SHUT_RD), 0);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    return fd;
}

static void send_all(int fd, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);

        if (sent <= 0)
            return; /* it has been closed meanwhile */
        bytes += sent;
        size -= (size_t)sent;
    }
}

/* libmicrohttpd answers each of these itself, before, in or after the part of a request that it
 * shows us. */
START_TEST(an_answer_that_fails_without_a_request_reaches_no_handler) {
    static const struct {
        const char *begin;
        bool filled;
        const char *end;
    } heads[] = {
        { "GET /", true, " HTTP/1.1\r\nHost: x\r\n\r\n" },
        { "GET / HTTP/1.1\r\nHost: x\r\nX-Long: ", true, "\r\n\r\n" },
        { "\r\n\r\n", true, "" },
        { "GET / HTTP/9.9\r\n\r\n", false, "" },
        { "GET / HTTP/0.9\r\n\r\n", false, "" },
        { "GET\r\n\r\n", false, "" },
        { "GET / HTTP/1.1\r\nno colon\r\n\r\n", false, "" },
        { "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n", false, "" },
        { "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n", false, "" },
        { "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", false, "" },
    };
    static const char before[] = "GET /before HTTP/1.1\r\nHost: x\r\n\r\n";
    static char filler[40000];
    struct scene *scene = scene_new();
    struct http_server *server = start(scene, 0);
    struct http_call call = { .method = "GET" };
    struct http_answer answer;

    memset(filler, 'x', sizeof(filler));
    call.url =
        arena_join(scene->arena, unix_socket_url(scene->arena, scene->path, false), "/after", NULL);
    for (size_t i = 0; i < 2 * LENGTH(heads); i++) {
        autoclose int fd = dial_deaf(scene);

        if (i % 2)
            send_all(fd, before, strlen(before));
        send_all(fd, heads[i / 2].begin, strlen(heads[i / 2].begin));
        if (heads[i / 2].filled)
            send_all(fd, filler, sizeof(filler));
        send_all(fd, heads[i / 2].end, strlen(heads[i / 2].end));
        ck_assert_int_eq(http_call(scene->arena, &call, &answer, &scene->err), 0);
        ck_assert_int_eq(answer.status, 200);
    }
    http_server_stop(server, 0);
    scene_end(scene);
}
END_TEST

START_TEST(a_socket_in_the_file_system_is_of_this_machine_alone) {
    ck_assert(listen_is_loopback("unix:/run/api.sock"));
    ck_assert_str_eq(unix_socket_path("unix:/run/api.sock"), "/run/api.sock");
    ck_assert_ptr_null(unix_socket_path("127.0.0.1"));
    ck_assert_ptr_null(unix_socket_path("unix"));
}
END_TEST

CHECK_MAIN("unix_socket", the_file_has_its_mode_and_goes_at_the_end,
           an_invalid_mode_or_group_is_refused, a_path_is_absolute_and_short_enough,
           a_stale_socket_is_replaced, a_listening_process_is_not_replaced,
           another_program_is_not_replaced, other_files_are_not_replaced,
           a_socket_of_another_process_stays_at_the_end, a_server_is_reached_through_the_file,
           urls_that_name_no_socket_reach_nothing, connections_are_counted_by_user,
           an_answer_that_fails_without_a_request_reaches_no_handler,
           a_socket_in_the_file_system_is_of_this_machine_alone)
