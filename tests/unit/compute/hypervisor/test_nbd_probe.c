#include "tests/lib/check_main.h"

#include "compute/hypervisor/nbd_probe.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define GREETING "NBDMAGICIHAVEOPT\0\1"
#define REPLY(type)              \
    "\0\3\xe8\x89\4\x55\x65\xa9" \
    "\0\0\0\6" type "\0\0\0\0"
#define REQUESTED                        \
    "\0\0\0\1"                           \
    "IHAVEOPT\0\0\0\6\0\0\0\x0c\0\0\0\6" \
    "volume\0\0"

/* Sends this to its only client, and reads its request. */
struct peer {
    char directory[32], path[64];
    int fd;
    const char *reply;
    size_t size;
    char received[128];
    ssize_t length;
    pthread_t thread;
};

static void *serve(void *arg) {
    struct peer *peer = arg;
    int client = accept(peer->fd, NULL, NULL);

    ck_assert_int_ge(send(client, peer->reply, peer->size, MSG_NOSIGNAL), 0);
    shutdown(client, SHUT_WR);
    peer->length = recv(client, peer->received, sizeof peer->received, 0);
    close(client);
    return NULL;
}

static void begin(struct peer *peer) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    strcpy(peer->directory, "/tmp/scoria-nbd-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(peer->directory));
    snprintf(peer->path, sizeof peer->path, "%s/nbd", peer->directory);
    strcpy(address.sun_path, peer->path);
    peer->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(peer->fd, (struct sockaddr *)&address, sizeof address), 0);
}

static void end(struct peer *peer) {
    close(peer->fd);
    unlink(peer->path);
    rmdir(peer->directory);
}

static bool looks(struct peer *peer, const char *reply, size_t size) {
    bool result;

    begin(peer);
    peer->reply = reply;
    peer->size = size;
    ck_assert_int_eq(listen(peer->fd, 1), 0);
    ck_assert_int_eq(pthread_create(&peer->thread, NULL, serve, peer), 0);
    result = nbd_probe(peer->path, "volume");
    pthread_join(peer->thread, NULL);
    end(peer);
    return result;
}
#define REPLIES(text) looks(&peer, text, sizeof(text) - 1)

START_TEST(an_existing_export_is_found) {
    struct peer peer = { 0 };

    ck_assert(REPLIES(GREETING REPLY("\0\0\0\3")));
    ck_assert_int_eq(peer.length, sizeof REQUESTED - 1);
    ck_assert_mem_eq(peer.received, REQUESTED, sizeof REQUESTED - 1);
    ck_assert(REPLIES(GREETING REPLY("\0\0\0\1")));
}
END_TEST

START_TEST(other_replies_are_rejected) {
    struct peer peer = { 0 };

    ck_assert(!REPLIES(GREETING REPLY("\x80\0\0\6"))); /* it knows no such export */
    ck_assert(!REPLIES(GREETING "\0\0\0\0\0\0\0\0"));
    ck_assert(!REPLIES(GREETING));
    ck_assert(!REPLIES("NBDMAGIC\0\0\x42\2\x81\x86\x12\x53\0\0")); /* of long ago */
    ck_assert(!REPLIES("SSH-2.0-nobody\r\n\r\n\r\n"));
    ck_assert(!REPLIES("NBD"));
}
END_TEST

START_TEST(a_socket_without_a_server_is_rejected) {
    struct peer peer = { 0 };
    char name[300], path[200];

    begin(&peer);
    ck_assert(!nbd_probe(peer.path, "volume"));
    end(&peer);
    ck_assert(!nbd_probe(peer.path, "volume"));
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    ck_assert(!nbd_probe(path, "volume"));
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    ck_assert(!nbd_probe(peer.path, name));
}
END_TEST

CHECK_MAIN("nbd_probe", an_existing_export_is_found, other_replies_are_rejected,
           a_socket_without_a_server_is_rejected)
