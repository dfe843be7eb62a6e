/*
 * Sessions with TLS: admission at the port of a storage daemon.
 */
#include "replication/node/replica_client.h"
#include "replication/node/replica_service.h"
#include "replication/node/tls_directory.h"
#include "tests/lib/daemons.h"
#include "tests/lib/remote_certificates.h"
#include "tests/lib/replica_requests.h"
#include "tests/unit/replication/node/storage_test.h"

#include <arpa/inet.h>
#include <endian.h>
#include <gnutls/gnutls.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define MAXIMUM (INT64_C(1) << 30)
#define MODERN  "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"
#define OLD     "NORMAL:-VERS-ALL:+VERS-TLS1.1:+VERS-TLS1.0"

static char certificates[96], run[96], address[64];
static struct replica_index *replica_index;
static struct sessions *sessions;
static struct replica_service *service;
static struct replica_client *client;
static struct replica replica;

static const char *path_of(const char *name) {
    return arena_join(arena, certificates, "/", name, NULL);
}

static void assert_done(int outcome) {
    ck_assert_msg(outcome == 0, "%s", err.message);
}

/* `crl` NULL: the service has no revocation lists; storage daemons have. */
static void make_service(const char *crl) {
    static struct pool_settings pool;
    const char *tls = arena_join(arena, run, "/tls", NULL);
    const struct sessions_settings session_settings = { .run_directory = run,
                                                        .listener = { .tls_directory = tls,
                                                                      .host = "127.0.0.1",
                                                                      .first_port = 9000,
                                                                      .last_port = 9999 } };
    struct assignment *assignment = assignment_of(ASSIGNMENT_REPLICA, replica_document(0, 1));

    pool = (struct pool_settings){ .name = names[0], .path = paths[0] };
    assert_done(tls_directory_make(tls,
                                   &(struct tls_files){ .cert = path_of("server-cert.pem"),
                                                        .key = path_of("server-key.pem"),
                                                        .ca = path_of("ca-cert.pem"),
                                                        .crl = path_of("crl.pem") },
                                   &err));
    replica_index = replica_index_new();
    replica_index_set(replica_index, &assignment, 1);
    assignment_release(assignment);
    sessions = sessions_new(&session_settings);
    assert_done(replica_service_start(
        &(struct replica_service_settings){ .replica_index = replica_index,
                                            .sessions = sessions,
                                            .pools = &pool,
                                            .pool_count = 1,
                                            .address = "127.0.0.1",
                                            .cert_file = path_of("server-cert.pem"),
                                            .key_file = path_of("server-key.pem"),
                                            .ca_file = path_of("ca-cert.pem"),
                                            .crl_file = crl },
        &service, &err));
    snprintf(address, sizeof(address), "127.0.0.1:%u", replica_service_port(service));
}

static void make_client(const char *name) {
    replica_client_free(client);
    client = replica_client_new(&(struct replica_client_settings){
        .ca_file = path_of("ca-cert.pem"),
        .cert_file = path_of(arena_join(arena, name, "-cert.pem", NULL)),
        .key_file = path_of(arena_join(arena, name, "-key.pem", NULL)),
    });
}

static void begin(void) {
    struct replica here = { .pool = paths[0], .uid = uids[0] };
    struct generation first;

    begin_storage();
    snprintf(run, sizeof(run), "%s/run", top);
    snprintf(certificates, sizeof(certificates), "%s/certificates", top);
    ck_assert_int_eq(mkdir(run, 0700), 0);
    ck_assert_int_eq(mkdir(certificates, 0700), 0);
    ck_assert(make_certificates(certificates));
    ck_assert(revoke_certificates(certificates, ""));
    assert_done(pool_mark(paths[0], names[0], &err));
    generation_first(VOLUME, SIZE, uids, 3, &first);
    assert_done(replica_create(&here, VOLUME, MAXIMUM, &first, &err));
    make_service(path_of("crl.pem"));
    replica = (struct replica){ .pool = "/nowhere", .uid = uids[0], .address = address };
    make_client("client");
}

static void end_service(void) {
    ck_assert(replica_service_stop(service, 60000));
    sessions_end(sessions, uids[0], INT64_MAX, &err);
    sessions_free(sessions);
    replica_index_free(replica_index);
}

static void end(void) {
    end_service();
    replica_client_free(client);
    client = NULL;
    end_storage();
}

static int try_open(struct replica_data *ret) {
    const struct replica_access *access = replica_client_access(client);

    return request_open(access, &replica, VOLUME, 1, ret, &err);
}

/* ---- other clients at the port ---- */

struct hello {
    uint32_t flags;
    char magic[8];
    uint32_t option, length;
} __attribute__((packed));

/* As far as the TLS handshake. */
static int probe(unsigned port) {
    const struct sockaddr_in at = { .sin_family = AF_INET,
                                    .sin_port = htons((uint16_t)port),
                                    .sin_addr = { htonl(INADDR_LOOPBACK) } };
    const struct hello hello = { htobe32(3), "IHAVEOPT", htobe32(5), 0 };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char answer[20];

    ck_assert_int_eq(connect(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    ck_assert_int_eq(recv(fd, answer, 18, MSG_WAITALL), 18);
    ck_assert_int_eq(send(fd, &hello, sizeof(hello), MSG_NOSIGNAL), sizeof(hello));
    ck_assert_int_eq(recv(fd, answer, 20, MSG_WAITALL), 20);
    return fd;
}

static gnutls_certificate_credentials_t credentials_of(const char *name) {
    gnutls_certificate_credentials_t ret;

    ck_assert_int_eq(gnutls_certificate_allocate_credentials(&ret), 0);
    ck_assert_int_eq(gnutls_certificate_set_x509_key_file(
                         ret, path_of(arena_join(arena, name, "-cert.pem", NULL)),
                         path_of(arena_join(arena, name, "-key.pem", NULL)), GNUTLS_X509_FMT_PEM),
                     0);
    return ret;
}

/* Does a client with this certificate get the list of exports? */
static bool is_reported(unsigned port, const char *name, const char *priorities) {
    static const char list[] = "IHAVEOPT\0\0\0\3\0\0\0"; /* and its terminating zero */
    gnutls_certificate_credentials_t credentials = credentials_of(name);
    gnutls_session_t session;
    char answer[20];
    bool reported;
    int fd = probe(port);

    ck_assert_int_eq(gnutls_init(&session, GNUTLS_CLIENT | GNUTLS_NO_SIGNAL), 0);
    ck_assert_int_eq(gnutls_priority_set_direct(session, priorities, NULL), 0);
    gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials);
    gnutls_transport_set_int(session, fd);
    reported = gnutls_handshake(session) == 0 &&
               gnutls_record_send(session, list, sizeof(list)) == sizeof(list) &&
               gnutls_record_recv(session, answer, sizeof(answer)) > 0;
    gnutls_deinit(session);
    gnutls_certificate_free_credentials(credentials);
    close(fd);
    return reported;
}

START_TEST(a_session_admits_its_opener_alone) {
    struct replica_data data;

    assert_done(try_open(&data));
    ck_assert(is_reported((unsigned)atoi(data.port), "client", MODERN));
    ck_assert(!is_reported((unsigned)atoi(data.port), "server", MODERN));
    ck_assert(is_reported((unsigned)atoi(data.port), "client", MODERN));
}
END_TEST

START_TEST(a_server_certificate_opens_no_session) {
    struct replica_data data;

    make_client("server");
    ck_assert_int_eq(try_open(&data), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    make_client("client");
    assert_done(try_open(&data));
}
END_TEST

START_TEST(old_tls_versions_are_refused) {
    struct replica_data data;

    assert_done(try_open(&data));
    ck_assert(!is_reported((unsigned)atoi(data.port), "client", OLD));
    ck_assert(is_reported((unsigned)atoi(data.port), "client", MODERN));
}
END_TEST

/* Also over an existing connection. */
START_TEST(a_revoked_certificate_opens_no_session_from_the_next_call_on) {
    struct replica_data data;

    assert_done(try_open(&data));
    ck_assert(revoke_certificates(certificates, "client"));
    ck_assert_int_eq(try_open(&data), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    make_client("client");
    ck_assert_int_eq(try_open(&data), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
}
END_TEST

/* The storage daemon has revocation lists of its own. */
START_TEST(a_revoked_certificate_is_refused_at_the_port_too) {
    struct replica_data data;

    end_service();
    make_service(NULL);
    assert_done(try_open(&data));
    ck_assert(is_reported((unsigned)atoi(data.port), "client", MODERN));
    ck_assert(revoke_certificates(certificates, "client"));
    assert_done(try_open(&data));
    ck_assert(!is_reported((unsigned)atoi(data.port), "client", MODERN));
}
END_TEST

START_TEST(nothing_is_served_without_the_revocation_lists) {
    struct replica_data data;

    end_service();
    make_service(NULL);
    ck_assert_int_eq(unlink(path_of("crl.pem")), 0);
    ck_assert_int_eq(try_open(&data), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert_msg(strstr(err.message, "ca-crl.pem"), "%s", err.message);
    ck_assert(revoke_certificates(certificates, ""));
    assert_done(try_open(&data));
}
END_TEST

static void begin_for(const char *name) {
    const struct replica here = { .pool = paths[0], .uid = uids[0] };
    const struct session_request request = { names[0], VOLUME, name, 1 };
    struct replica_session session;

    assert_done(sessions_begin(sessions, &here, &request, &session, &err));
}

/* Another node with a valid certificate may open a replica repeatedly. */
START_TEST(each_client_of_a_replica_is_logged) {
    static char lines[16384];
    autoclose int log = memfd_create("log", MFD_CLOEXEC);

    log_open(log, LOG_INFO, LOG_TEXT);
    for (int i = 0; i < 3; i++)
        begin_for("first");
    begin_for("second");
    log_open(-1, LOG_ERROR, LOG_TEXT);
    ck_assert_int_gt(pread(log, lines, sizeof lines - 1, 0), 0);
    ck_assert_ptr_nonnull(strstr(lines, "client=second others=0"));
    ck_assert_ptr_nonnull(strstr(lines, "client=first others=0"));
    ck_assert_ptr_null(strstr(strstr(lines, "client=first") + 1, "client=first"));
}
END_TEST

CHECK_MAIN_WITH("session_tls", adopt_daemons(), begin, end, a_session_admits_its_opener_alone,
                a_server_certificate_opens_no_session, old_tls_versions_are_refused,
                a_revoked_certificate_opens_no_session_from_the_next_call_on,
                a_revoked_certificate_is_refused_at_the_port_too,
                nothing_is_served_without_the_revocation_lists, each_client_of_a_replica_is_logged)
