/*
 * Any bytes behind HTTP/2's preface, from one client after the other: the server answers them or
 * closes the connection, and lives.
 */
#include "common/cleanup.h"
#include "common/log.h"
#include "csi/proto.h"
#include "grpc/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct sockaddr_un address = { .sun_family = AF_UNIX };

static int probe(struct grpc_call *call, const void *request, void *response, struct error *err) {
    (void)call, (void)request, (void)response, (void)err;
    return 0;
}

static void remove_socket(void) {
    unlink(address.sun_path);
}

static void start(void) {
    static const struct grpc_method methods[] = { { "Probe", probe }, { NULL, NULL } };
    static const struct grpc_service services[] = {
        { &csi__v1__identity__descriptor, methods, NULL },
        { NULL, NULL, NULL },
    };
    struct grpc_server_settings settings = { .services = services, .workers = 1 };
    struct grpc_server *server;
    struct error err;

    log_open(-1, LOG_ERROR, LOG_TEXT);
    snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/scoria-fuzz-%d.sock", getpid());
    settings.endpoint = address.sun_path;
    if (grpc_server_start(&settings, &server, &err) < 0)
        abort();
    atexit(remove_socket);
}

static void send_all(int fd, const void *bytes, size_t size) {
    ssize_t sent = 1;

    for (size_t at = 0; at < size && sent > 0; at += (size_t)sent) {
        sent = send(fd, (const char *)bytes + at, size - at, MSG_NOSIGNAL);
        if (sent < 0)
            return;
    }
}

/* All that comes, until the server closes: it does when it has read the end. */
static void read_all(int fd) {
    char space[4096];

    while (recv(fd, space, sizeof(space), 0) > 0)
        ;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0";
    autoclose int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    if (!address.sun_path[0])
        start();
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        abort();
    send_all(fd, preface, sizeof(preface));
    send_all(fd, bytes, size);
    shutdown(fd, SHUT_WR);
    read_all(fd);
    return 0;
}
