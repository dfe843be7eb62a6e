#include "replication/node/replica_service.h"

#include "http/client.h"
#include "replication/engine/replica_epoch.h"
#include "replication/node/replica_client.h"
#include "replication/node/replicas.h"
#include "replication/node/session_reaper.h"
#include "tests/lib/daemons.h"
#include "tests/lib/nbd.h"
#include "tests/lib/replica_requests.h"
#include "tests/unit/replication/node/storage_test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#define MAXIMUM (INT64_C(1) << 30)
#define OTHER   "00000000-0000-4000-8000-00000000f00f"

static struct replica_index *replica_index;
static struct sessions *sessions;
static struct replica_service *service;
static struct replica_client *client;
static const struct replica_access *remote;
static struct pool_settings pool_list[POOLS];
static struct replica replica;
static struct replica_data data;
static char run[96], address[64];

static void assert_done(int outcome) {
    ck_assert_msg(outcome == 0, "%s", err.message);
}

static void assert_refused(int outcome, enum error_kind kind) {
    ck_assert_int_eq(outcome, -1);
    ck_assert_msg(err.kind == kind, "%d: %s", err.kind, err.message);
}

static void set_replica_index(const json_t *document) {
    struct assignment *assignment = assignment_of(ASSIGNMENT_REPLICA, document);

    replica_index_set(replica_index, &assignment, 1);
    assignment_release(assignment);
}

static const char *host = "127.0.0.1";
static unsigned first_port = 9000, last_port = 9999;

static void make_sessions(void) {
    const struct sessions_settings settings = {
        .run_directory = run,
        .listener = { .host = host, .first_port = first_port, .last_port = last_port },
    };

    sessions = sessions_new(&settings);
}

static void make_service(void) {
    const struct replica_service_settings settings = {
        .replica_index = replica_index,
        .sessions = sessions,
        .pools = pool_list,
        .pool_count = 1,
        .address = "127.0.0.1",
    };

    assert_done(replica_service_start(&settings, &service, &err));
    snprintf(address, sizeof(address), "127.0.0.1:%u", replica_service_port(service));
}

static void make_replica(void) {
    struct replica here = { .pool = paths[0], .uid = uids[0] };
    struct generation first;

    generation_first(VOLUME, SIZE, uids, 3, &first);
    assert_done(replica_create(&here, VOLUME, MAXIMUM, &first, &err));
    replica = (struct replica){ .pool = "/nowhere", .uid = uids[0], .address = address };
}

static void begin(void) {
    begin_storage();
    snprintf(run, sizeof(run), "%s/run", top);
    ck_assert_int_eq(mkdir(run, 0700), 0);
    assert_done(pool_mark(paths[0], names[0], &err));
    pool_list[0] = (struct pool_settings){ .name = names[0], .path = paths[0] };
    replica_index = replica_index_new();
    make_sessions();
    make_service();
    client = replica_client_new(&(struct replica_client_settings){ .plain = true });
    remote = replica_client_access(client);
    make_replica();
    set_replica_index(replica_document(0, 1));
}

static void end(void) {
    ck_assert(replica_service_stop(service, 60000));
    sessions_end(sessions, uids[0], INT64_MAX, &err);
    sessions_free(sessions);
    replica_index_free(replica_index);
    replica_client_free(client);
    end_storage();
}

static int try_open(int64_t epoch) {
    return request_open(remote, &replica, VOLUME, epoch, &data, &err);
}

static struct replica_probe look_at(int64_t epoch) {
    struct replica_probe probe;

    ck_assert_int_eq(request_probe(remote, &replica, VOLUME, epoch, &probe, &err), 0);
    return probe;
}

/* -1: no connection is accepted there. */
static int connect_to(const struct replica_data *where) {
    int64_t bytes = 0;
    int fd = nbd_connect_port((unsigned)atoi(where->port), where->export, &bytes);

    ck_assert(fd < 0 || bytes == MAXIMUM);
    return fd;
}

static int write_block(int fd, char letter) {
    char block[512];

    memset(block, letter, sizeof(block));
    if (nbd_do(fd, NBD_WRITE, 0, block, sizeof(block)) != 0)
        return -1;
    return nbd_do(fd, NBD_FLUSH, 0, NULL, 0);
}

static char first_byte(void) {
    autoclose int fd = open(
        replica_data_path(arena, &(struct replica){ .pool = paths[0], .uid = uids[0] }), O_RDONLY);
    char byte = '?';

    ck_assert_int_eq(pread(fd, &byte, 1, 0), 1);
    return byte;
}

START_TEST(a_session_serves_the_file_until_it_is_closed) {
    autoclose int fd = -1;
    struct replica_data last;

    ck_assert(!look_at(1).held);
    assert_done(try_open(1));
    ck_assert_str_eq(data.host, "127.0.0.1");
    ck_assert(look_at(1).held);
    ck_assert_int_eq(look_at(1).epoch, 1);
    ck_assert_int_eq(look_at(1).bytes, MAXIMUM);
    fd = connect_to(&data);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write_block(fd, 'a'), 0);
    ck_assert_int_eq(first_byte(), 'a');
    assert_done(request_flush(remote, &replica, 1, &err));
    last = data;
    assert_done(request_close(remote, &replica, 1, &err));
    ck_assert_int_ne(write_block(fd, 'b'), 0);
    ck_assert_int_lt(connect_to(&last), 0);
    ck_assert(!look_at(1).held);
    ck_assert_int_eq(look_at(1).health, REPLICA_GOOD);
    assert_done(request_close(remote, &replica, 1, &err));
    ck_assert_int_eq(first_byte(), 'a');
}
END_TEST

/* Also in the same epoch: a request in flight of the old session is never written after the start
 * of the new one. */
START_TEST(a_new_session_ends_the_previous_one) {
    autoclose int old = -1, new = -1;
    struct replica_data last;

    assert_done(try_open(3));
    last = data;
    old = connect_to(&data);
    ck_assert_int_eq(write_block(old, 'a'), 0);
    assert_done(try_open(3));
    ck_assert_str_ne(last.export, data.export);
    ck_assert_int_ne(write_block(old, 'b'), 0);
    ck_assert_int_lt(connect_to(&last), 0);
    strcpy(last.port, data.port);
    ck_assert_int_lt(connect_to(&last), 0);
    new = connect_to(&data);
    ck_assert_int_eq(write_block(new, 'c'), 0);
    assert_done(try_open(4));
    ck_assert_int_ne(write_block(new, 'd'), 0);
    ck_assert_int_eq(first_byte(), 'c');
    ck_assert(look_at(4).held && !look_at(3).held);
}
END_TEST

START_TEST(a_lower_epoch_changes_nothing) {
    struct replica_state state;
    autoclose int fd = -1;

    assert_done(try_open(7));
    fd = connect_to(&data);
    state = look_at(7).state;
    assert_refused(try_open(6), ERROR_CONFLICT);
    state.mark = REPLICA_DISPUTED;
    assert_refused(request_write_state(remote, &replica, 6, &state, &err), ERROR_CONFLICT);
    assert_refused(request_reset(remote, &replica, VOLUME, MAXIMUM, 6, &err), ERROR_CONFLICT);
    assert_done(request_close(remote, &replica, 6, &err));
    ck_assert(look_at(7).held);
    ck_assert_int_eq(look_at(7).state.mark, REPLICA_CLEAN);
    ck_assert_int_eq(write_block(fd, 'a'), 0);
    assert_done(request_write_state(remote, &replica, 7, &state, &err));
    ck_assert_int_eq(look_at(7).state.mark, REPLICA_DISPUTED);

    /* It is durable: the end of the session and a new agent do not change it. */
    assert_done(request_close(remote, &replica, 7, &err));
    assert_refused(try_open(6), ERROR_CONFLICT);
    ck_assert_int_eq(look_at(6).epoch, 7);
}
END_TEST

START_TEST(a_reset_discards_the_data_after_the_session_ended) {
    autoclose int fd = -1;

    assert_done(try_open(1));
    fd = connect_to(&data);
    ck_assert_int_eq(write_block(fd, 'a'), 0);
    assert_done(request_reset(remote, &replica, VOLUME, MAXIMUM, 2, &err));
    ck_assert_int_ne(write_block(fd, 'b'), 0);
    ck_assert_int_eq(look_at(2).state.mark, REPLICA_EMPTY);
    ck_assert_int_eq(look_at(2).used_bytes, 0);
    assert_refused(try_open(1), ERROR_CONFLICT);
    assert_done(try_open(2));
}
END_TEST

START_TEST(a_session_outlives_the_agent) {
    autoclose int fd = -1;

    assert_done(try_open(1));
    fd = connect_to(&data);
    ck_assert(replica_service_stop(service, 60000));
    sessions_free(sessions);
    replica_index_free(replica_index);
    replica_index = replica_index_new();
    make_sessions();
    make_service();
    ck_assert_int_eq(write_block(fd, 'a'), 0);
    ck_assert(look_at(1).held); /* before the first response of the API */
    assert_done(request_close(remote, &replica, 1, &err));
    assert_refused(try_open(1), ERROR_UNAVAILABLE);
    set_replica_index(replica_document(0, 1));
    assert_done(try_open(1));
}
END_TEST

START_TEST(a_locked_replica_gets_no_session) {
    const struct replica here = { .pool = paths[0], .uid = uids[0] };
    autoclose int lock = -1;

    assert_done(replica_lock(&here, &lock, &err));
    assert_refused(try_open(1), ERROR_CONFLICT);
    ck_assert_int_eq(look_at(1).epoch, 1); /* and the owner of the lock finds it */
}
END_TEST

static const struct generation_id no_generation, third = { 3, "abc" }, fourth = { 4, "def" };

static const char *log_path(void) {
    return arena_join(arena, run, "/write-logs/", uids[0], NULL);
}

START_TEST(data_are_deleted_after_the_session_ended) {
    struct replicas *replicas;
    struct replicas_settings settings = { .pool = names[0],
                                          .path = paths[0],
                                          .sessions = sessions,
                                          .run_directory = run,
                                          .check_ms = 1000 };
    json_t *deleting = replica_document(0, 2);
    struct assignment *assignment;
    struct pool_status probe;
    autoclose int fd = -1;

    begin_reports(1);
    settings.reports = reports;
    replicas = replicas_new(&settings);
    assert_done(try_open(1));
    fd = connect_to(&data);
    assert_done(request_begin_log(remote, &replica, 1, &no_generation, &third, &err));
    ck_assert_int_eq(access(log_path(), F_OK), 0);
    set_deleting(deleting);
    assignment = assignment_of(ASSIGNMENT_REPLICA, deleting);
    replicas_set(replicas, &assignment, 1);
    assignment_release(assignment);
    pool_status_read(paths[0], names[0], &probe);
    replicas_work(replicas, &probe, true);
    ck_assert_int_ne(write_block(fd, 'a'), 0);
    ck_assert_int_ne(access(arena_join(arena, paths[0], "/", uids[0], NULL), F_OK), 0);
    ck_assert_int_ne(access(log_path(), F_OK), 0);
    replicas_free(replicas);
}
END_TEST

/* Its directory is named by the replica's uid without dashes. */
static const char *session_log(void) {
    return arena_join(arena, run, "/s0000000000004000800000000000000a/log", NULL);
}

START_TEST(the_log_of_a_session_is_truncated) {
    const struct pool_status probe = { .state = POOL_FAILING, /* whatever happens to the pool */
                                       .why = { ERROR_UNAVAILABLE, "it fails" } };
    struct replicas_settings settings = { .pool = names[0], .path = paths[0], .check_ms = 1000 };
    struct assignment *assignment = assignment_of(ASSIGNMENT_REPLICA, replica_document(0, 1));
    struct replicas *replicas;
    struct stat facts;
    autoclose int fd = -1;

    begin_reports(1);
    settings.reports = reports;
    settings.sessions = sessions;
    replicas = replicas_new(&settings);
    replicas_set(replicas, &assignment, 1);
    assignment_release(assignment);
    replicas_work(replicas, &probe, true);
    ck_assert_int_ne(access(session_log(), F_OK), 0); /* a missing log is not created */
    assert_done(try_open(1));
    fd = connect_to(&data);
    ck_assert_int_eq(truncate(session_log(), 100 * 1024), 0);
    assignment = assignment_of(ASSIGNMENT_REPLICA, replica_document(0, 2));
    replicas_set(replicas, &assignment, 1);
    assignment_release(assignment);
    replicas_work(replicas, &probe, true);
    ck_assert_int_eq(stat(session_log(), &facts), 0);
    ck_assert_int_eq(facts.st_size, 0);
    ck_assert_int_eq(write_block(fd, 'a'), 0);
    replicas_free(replicas);
}
END_TEST

/* ---- unused sessions ---- */

struct end_case {
    int epoch;
    const char *node, *target, *phase; /* target: the node in its status; NULL: none */
    int observed;                      /* of generation 3 */
};

static void answer_volume(const struct end_case *now) {
    json_t *document = volume_document(now->node, "64Mi", 3);

    json_object_set_new(json_object_get(document, "spec"), "epoch", json_integer(now->epoch));
    json_object_set_new(
        document, "status",
        json_pack("{s:s, s:i}", "phase", now->phase, "observedGeneration", now->observed));
    if (now->target)
        json_object_set_new(json_object_get(document, "status"), "target",
                            json_pack("{s:s}", "nodeId", now->target));
    script_server_clear(server);
    answer("GET", "/v3/replicated_volumes/" VOLUME, 200,
           json_text(arena, json_keep(arena, json_pack("{s:O}", "replicated_volume", document))));
}

static void look_for_ends(int64_t idle_ms, unsigned times) {
    struct session_reaper *ends = session_reaper_new(
        &(struct session_reaper_settings){ .sessions = sessions, .api = api, .idle_ms = idle_ms });

    for (unsigned i = 0; i < times; i++) {
        poll(NULL, 0, 2);
        session_reaper_scan(ends);
    }
    ck_assert(session_reaper_stop(ends, 60000));
}

START_TEST(a_session_stays_while_its_target_may_run) {
    static const struct end_case stay[] = {
        { 5, "host-b", "host-b", "Healthy", 3 }, { 5, "", "host-b", "Healthy", 2 },
        { 5, "", NULL, "Healthy", 2 },           { 4, "", NULL, "Healthy", 3 },
        { 4, "host-b", "host-b", "Healthy", 3 }, { 6, "host-c", NULL, "Offline", 2 },
        { 6, "host-c", "host-c", "Offline", 3 }, { 6, "host-c", NULL, "Healthy", 3 },
    };
    autoclose int fd = -1;

    assert_done(try_open(5));
    fd = connect_to(&data);
    for (size_t i = 0; i < LENGTH(stay); i++) {
        answer_volume(&stay[i]);
        look_for_ends(1, 3);
        ck_assert_msg(write_block(fd, 'a') == 0, "%zu", i);
    }
    script_server_clear(server);
    answer(NULL, NULL, 404, NULL); /* unknown to the API, or the API is unavailable */
    look_for_ends(1, 3);
    answer(NULL, NULL, 503, NULL);
    look_for_ends(1, 3);
    ck_assert_int_eq(write_block(fd, 'a'), 0);
    ck_assert(look_at(5).held);
}
END_TEST

/* A conflict would mean another target, and "not found" a lost replica. */
START_TEST(an_answer_of_a_gateway_reports_no_replica) {
    static const int statuses[] = { 200, 204, 302, 400, 404, 409, 503 };
    const char *url = script_server_url(server);

    replica.address = url + strlen("http://");
    for (size_t i = 0; i < LENGTH(statuses); i++) {
        script_server_clear(server);
        answer(NULL, NULL, statuses[i], "<html>");
        ck_assert_int_eq(try_open(5), -1);
        ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
        ck_assert_int_eq(look_at(5).health, REPLICA_FAILING);
        ck_assert_int_eq(look_at(5).why.kind, ERROR_UNAVAILABLE);
    }
}
END_TEST

START_TEST(a_session_of_an_ended_target_ends) {
    static const struct end_case ends[] = {
        { 5, "", NULL, "Healthy", 3 },
        { 6, "", NULL, "Offline", 2 },
        { 6, "host-c", "host-c", "Degraded", 3 },
    };

    for (size_t i = 0; i < LENGTH(ends); i++) {
        autoclose int fd = -1;

        assert_done(try_open(5));
        fd = connect_to(&data);
        ck_assert_int_eq(write_block(fd, 'a'), 0);
        answer_volume(&ends[i]);
        look_for_ends(0, 1);
        ck_assert_msg(write_block(fd, 'b') != 0, "%zu", i);
        ck_assert_int_ne(access(session_log(), F_OK), 0);
        ck_assert_int_eq(first_byte(), 'a');
    }
    assert_done(try_open(5));
}
END_TEST

START_TEST(a_session_without_connections_ends) {
    struct replica_session session;

    answer(NULL, NULL, 503, NULL);
    assert_done(try_open(5));
    look_for_ends(INT32_MAX, 3);
    ck_assert(look_at(5).held);
    look_for_ends(1, 1); /* seen once: for how long is unknown */
    ck_assert(look_at(5).held);
    look_for_ends(1, 2);
    ck_assert(!look_at(5).held);
    ck_assert_int_eq(look_at(5).health, REPLICA_GOOD);

    /* A session that started meanwhile is not the one found idle. */
    assert_done(try_open(5));
    ck_assert(sessions_find(sessions, arena, uids[0], &session));
    assert_done(try_open(5));
    assert_done(sessions_end_one(sessions, uids[0], &session, &err));
    ck_assert(look_at(5).held);
    ck_assert(sessions_find(sessions, arena, uids[0], &session));
    assert_done(sessions_end_one(sessions, uids[0], &session, &err));
    ck_assert(!look_at(5).held);
}
END_TEST

static int begin_session(const char *at) {
    const struct replica here = { .pool = paths[0], .uid = uids[0] };
    struct replica_session session;

    sessions_free(sessions);
    host = at;
    make_sessions();
    return sessions_begin(sessions, &here, &(struct session_request){ names[0], VOLUME, NULL, 1 },
                          &session, &err);
}

static unsigned take_port(int *ret_fd) {
    struct sockaddr_in taken = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t size = sizeof(taken);

    *ret_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(*ret_fd, (struct sockaddr *)&taken, size), 0);
    ck_assert_int_eq(listen(*ret_fd, 1), 0);
    ck_assert_int_eq(getsockname(*ret_fd, (struct sockaddr *)&taken, &size), 0);
    return ntohs(taken.sin_port);
}

/* Another port is tried if one is in use, and for no other reason. */
START_TEST(a_failure_of_every_port_is_reported_once) {
    autoclose int fd = -1;

    ck_assert(replica_service_stop(service, 60000));
    service = NULL;
    ck_assert_int_eq(begin_session("192.0.2.1"), -1);
    ck_assert_msg(strstr(err.message, "listening at 192.0.2.1 port 9"), "%s", err.message);
    ck_assert_ptr_null(strstr(err.message, "no port of"));
    first_port = last_port = take_port(&fd);
    ck_assert_int_eq(begin_session("127.0.0.1"), -1);
    ck_assert_msg(strstr(err.message, "is free"), "%s", err.message);
}
END_TEST

START_TEST(a_replica_without_a_document_is_not_found) {
    json_t *deleting = replica_document(0, 2);

    ck_assert_int_eq(request_open(remote, &replica, OTHER, 1, &data, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_NOT_FOUND);
    replica.uid = uids[1];
    assert_refused(try_open(1), ERROR_NOT_FOUND);
    replica.uid = uids[0];
    set_deleting(deleting);
    set_replica_index(deleting);
    assert_refused(try_open(1), ERROR_NOT_FOUND);
    set_replica_index(replica_document(1, 1)); /* of a pool without configuration */
    replica.uid = uids[1];
    assert_refused(try_open(1), ERROR_NOT_FOUND);
    replica.uid = uids[0];
    set_replica_index(replica_document(0, 1));
    ck_assert_int_eq(unlink(arena_join(arena, paths[0], "/" POOL_MARK, NULL)), 0);
    assert_refused(try_open(1), ERROR_UNAVAILABLE);
    ck_assert_int_eq(look_at(1).health, REPLICA_FAILING);
    ck_assert_int_eq(replica_epoch(&(struct replica){ .pool = paths[0], .uid = uids[0] }, &err), 0);
}
END_TEST

static int post(const char *method, const char *path, const char *body) {
    const struct http_call call = { .method = method,
                                    .url = arena_join(arena, "http://", address, path, NULL),
                                    .body = body,
                                    .timeout_ms = 30000 };
    struct http_answer answer;

    ck_assert_msg(http_call(arena, &call, &answer, &err) == 0, "%s", err.message);
    return answer.status;
}

static char *large(void) {
    char *text = arena_alloc(arena, 200000);

    memset(text, 'x', 199999);
    return text;
}

#define PLACE "/v1/replicas/00000000-0000-4000-8000-00000000000a/"
#define GOOD  "\"epoch\": 1, \"volume\": \"" VOLUME "\""

START_TEST(invalid_calls_are_refused) {
    static const struct {
        const char *path, *body;
        int status;
    } calls[] = {
        { "/", "{}", 404 },
        { "/v1/replicas", "{}", 404 },
        { "/v1/replicas/../../etc/passwd/open", "{" GOOD "}", 404 },
        { "/v1/replicas/%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e/open", "{}", 404 },
        { PLACE, "{" GOOD "}", 404 },
        { PLACE "remove", "{" GOOD "}", 404 },
        { PLACE "open/", "{" GOOD "}", 404 },
        { PLACE "open", "{}", 400 },
        { PLACE "open", "[]", 400 },
        { PLACE "open", "{" GOOD, 400 },
        { PLACE "open", "{" GOOD ", \"path\": \"/etc\"}", 400 },
        { PLACE "open", "{\"epoch\": 0, \"volume\": \"" VOLUME "\"}", 400 },
        { PLACE "open", "{\"epoch\": -1, \"volume\": \"" VOLUME "\"}", 400 },
        { PLACE "open", "{\"epoch\": \"1\", \"volume\": \"" VOLUME "\"}", 400 },
        { PLACE "open", "{\"epoch\": 9007199254740993, \"volume\": \"" VOLUME "\"}", 400 },
        { PLACE "open", "{\"epoch\": 1, \"volume\": \"../..\"}", 400 },
        { PLACE "write_state", "{\"epoch\": 1, \"state\": \"x\"}", 400 },
        { PLACE "reset", "{" GOOD ", \"maximum_bytes\": -1}", 400 },
        { PLACE "reset", "{" GOOD ", \"maximum_bytes\": 4611686018427387904}", 400 },
        { PLACE "begin_log",
          "{\"epoch\": 1, \"before_generation\": 0, \"before_nonce\": \"\","
          " \"generation\": -1, \"nonce\": \"\"}",
          400 },
        { PLACE "begin_log",
          "{\"epoch\": 1, \"before_generation\": 0, \"before_nonce\": \"\","
          " \"generation\": 1, \"nonce\": \"01234567890123456\"}",
          400 },
        { PLACE "read_log", "{}", 400 },
        { PLACE "sums", "{\"epoch\": 1, \"at\": 0, \"end\": 4096, \"count\": 65}", 400 },
    };

    for (size_t i = 0; i < LENGTH(calls); i++)
        ck_assert_msg(post("POST", calls[i].path, calls[i].body) == calls[i].status, "%s %s",
                      calls[i].path, calls[i].body);
    ck_assert_int_eq(post("GET", PLACE "open", NULL), 405);
    ck_assert_int_eq(post("POST", PLACE "open", large()), 413);
    ck_assert_int_eq(replica_epoch(&(struct replica){ .pool = paths[0], .uid = uids[0] }, &err), 0);
    ck_assert_int_eq(look_at(1).state.mark, REPLICA_CLEAN);
    assert_done(try_open(1));
}
END_TEST

static struct write_log read_log_of(int64_t epoch) {
    struct write_log log = { 0 };

    assert_done(request_read_log(remote, &replica, epoch, arena, &log, &err));
    return log;
}

START_TEST(a_write_log_is_read_from_another_host) {
    struct write_log log;
    autoclose int fd = -1;

    assert_done(try_open(1));
    fd = connect_to(&data);
    ck_assert_int_eq(write_block(fd, 'a'), 0);
    ck_assert_uint_eq(read_log_of(1).count, 0);
    assert_done(request_begin_log(remote, &replica, 1, &no_generation, &third, &err));
    ck_assert_int_eq(write_block(fd, 'b'), 0);
    log = read_log_of(1);
    ck_assert_uint_eq(log.count, 1);
    ck_assert_int_eq(log.generation.number, third.number);
    ck_assert_str_eq(log.generation.nonce, third.nonce);
    assert_done(try_open(2)); /* of another target, which continues it */
    log = read_log_of(2);
    ck_assert_uint_eq(log.count, 1);
    assert_refused(request_read_log(remote, &replica, 1, arena, &log, &err), ERROR_CONFLICT);
    assert_refused(request_begin_log(remote, &replica, 1, &no_generation, &fourth, &err),
                   ERROR_CONFLICT);
    assert_done(request_begin_log(remote, &replica, 2, &third, &fourth, &err));
    ck_assert_uint_eq(read_log_of(2).count, 1);
    assert_done(request_begin_log(remote, &replica, 2, &no_generation, &no_generation, &err));
    ck_assert_uint_eq(read_log_of(2).count, 0);
    assert_done(request_close(remote, &replica, 2, &err));
    ck_assert_int_eq(access(log_path(), F_OK), -1);
}
END_TEST

/* The state of another replica or volume is never written beside these data. */
START_TEST(a_state_of_another_replica_is_refused) {
    struct replica_state state = look_at(1).state;

    strcpy(state.replica, uids[1]);
    assert_refused(request_write_state(remote, &replica, 1, &state, &err), ERROR_BAD_REQUEST);
    strcpy(state.replica, uids[0]);
    strcpy(state.volume, OTHER);
    assert_refused(request_write_state(remote, &replica, 1, &state, &err), ERROR_BAD_REQUEST);
    ck_assert_str_eq(look_at(1).state.volume, VOLUME);
}
END_TEST

START_TEST(an_unresponsive_node_costs_the_timeout_of_one_call) {
    autoclose int hangs = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in where = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(where);
    struct replica_client *hasty =
        replica_client_new(&(struct replica_client_settings){ .plain = true, .timeout_ms = 50 });
    struct replica_probe probe;

    ck_assert_int_eq(bind(hangs, (struct sockaddr *)&where, size), 0);
    ck_assert_int_eq(listen(hangs, 8), 0);
    ck_assert_int_eq(getsockname(hangs, (struct sockaddr *)&where, &size), 0);
    snprintf(address, sizeof(address), "127.0.0.1:%u", ntohs(where.sin_port));
    remote = replica_client_access(hasty);
    assert_refused(try_open(1), ERROR_UNAVAILABLE);
    ck_assert_int_eq(request_probe(remote, &replica, VOLUME, 1, &probe, &err), 0);
    ck_assert_int_eq(probe.health, REPLICA_FAILING);
    ck_assert_int_eq(probe.epoch, -1);
    assert_refused(request_flush(remote, &replica, 1, &err), ERROR_UNAVAILABLE);
    replica_client_free(hasty);
}
END_TEST

CHECK_MAIN_WITH("replica_service", adopt_daemons(), begin, end,
                a_session_serves_the_file_until_it_is_closed, a_new_session_ends_the_previous_one,
                a_lower_epoch_changes_nothing, a_reset_discards_the_data_after_the_session_ended,
                a_session_outlives_the_agent, data_are_deleted_after_the_session_ended,
                the_log_of_a_session_is_truncated, a_locked_replica_gets_no_session,
                a_failure_of_every_port_is_reported_once, a_replica_without_a_document_is_not_found,
                invalid_calls_are_refused, a_write_log_is_read_from_another_host,
                a_state_of_another_replica_is_refused, a_session_stays_while_its_target_may_run,
                a_session_of_an_ended_target_ends, a_session_without_connections_ends,
                an_unresponsive_node_costs_the_timeout_of_one_call,
                an_answer_of_a_gateway_reports_no_replica)
