/*
 * Connections that end anywhere: between the engine and the server stands a proxy that counts the
 * protocol's messages and ends a connection at the n-th of a direction, before it has passed or
 * when half of it has.  The server agrees with every reported outcome of a transaction.  Without
 * SCORIA_TEST_POSTGRESQL nothing is tested.
 */
#include "tests/unit/db/scratch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { PAIRS_MOST = 8, SPACE = 1 << 16, WAIT_S = 60 };

/* ---- the passage ---- */

enum direction { TO_SERVER, TO_CLIENT, DIRECTIONS };

struct flow {
    unsigned char bytes[SPACE]; /* of a message that is not whole yet */
    size_t size;
    bool started; /* the client's first message has no type */
};

struct pair {
    int fds[DIRECTIONS]; /* where the messages of a direction come from; -1: unused */
    struct flow flows[DIRECTIONS];
};

static struct passage {
    int listener, wake[2];
    struct sockaddr_in server;
    pthread_t thread;
    struct pair pairs[PAIRS_MOST];

    pthread_mutex_t lock; /* guards the members below */
    enum direction direction;
    unsigned countdown; /* the message that ends its connection; 0: none */
    bool half, cut;
} passage = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void send_all(int fd, const void *bytes, size_t size) {
    for (const char *at = bytes; size > 0;) {
        ssize_t sent = send(fd, at, size, MSG_NOSIGNAL);

        if (sent <= 0)
            return; /* the reader of that side has gone: its own end shows it */
        at += sent;
        size -= (size_t)sent;
    }
}

static void pair_close(struct pair *pair) {
    for (unsigned i = 0; i < DIRECTIONS; i++) {
        close(pair->fds[i]);
        pair->fds[i] = -1;
    }
}

/* How long the first message is; 0: that cannot be seen yet. */
static size_t message_size(const struct flow *flow) {
    size_t type = flow->started ? 1 : 0;
    uint32_t length;

    if (flow->size < type + sizeof(length))
        return 0;
    memcpy(&length, flow->bytes + type, sizeof(length));
    return type + ntohl(length);
}

/* 0 not this one; else the connection ends, after so many bytes of the message and one. */
static size_t is_the_last(enum direction direction, size_t size) {
    size_t last = 0;

    pthread_mutex_lock(&passage.lock);
    if (passage.countdown > 0 && passage.direction == direction && --passage.countdown == 0) {
        passage.cut = true;
        last = 1 + (passage.half ? size / 2 : 0);
    }
    pthread_mutex_unlock(&passage.lock);
    return last;
}

/* false: it has ended. */
static bool pair_pass(struct pair *pair, enum direction direction) {
    struct flow *flow = &pair->flows[direction];
    int to = pair->fds[!direction];
    ssize_t got =
        recv(pair->fds[direction], flow->bytes + flow->size, sizeof(flow->bytes) - flow->size, 0);
    size_t size, last;

    if (got <= 0)
        return false;
    flow->size += (size_t)got;
    while ((size = message_size(flow)) > 0 && flow->size >= size) {
        last = is_the_last(direction, size);
        send_all(to, flow->bytes, last ? last - 1 : size);
        if (last)
            return false;
        flow->started = true;
        flow->size -= size;
        memmove(flow->bytes, flow->bytes + size, flow->size);
    }
    return true;
}

static void pair_open(void) {
    static const int one = 1;
    struct pair *pair = passage.pairs;

    while (pair < passage.pairs + PAIRS_MOST && pair->fds[0] >= 0)
        pair++;
    ck_assert(pair < passage.pairs + PAIRS_MOST);
    pair->fds[TO_SERVER] = accept4(passage.listener, NULL, NULL, SOCK_CLOEXEC);
    pair->fds[TO_CLIENT] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(
        connect(pair->fds[TO_CLIENT], (struct sockaddr *)&passage.server, sizeof(passage.server)),
        0);
    for (unsigned i = 0; i < DIRECTIONS; i++)
        setsockopt(pair->fds[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    pair->flows[TO_SERVER].size = pair->flows[TO_CLIENT].size = 0;
    pair->flows[TO_SERVER].started = false;
    pair->flows[TO_CLIENT].started = true;
}

static void *passage_main(void *arg) {
    struct pollfd files[2 + PAIRS_MOST * DIRECTIONS];

    (void)arg;
    for (;;) {
        files[0] = (struct pollfd){ .fd = passage.wake[0], .events = POLLIN };
        files[1] = (struct pollfd){ .fd = passage.listener, .events = POLLIN };
        for (unsigned i = 0; i < PAIRS_MOST * DIRECTIONS; i++)
            files[2 + i] =
                (struct pollfd){ .fd = passage.pairs[i / 2].fds[i % 2], .events = POLLIN };
        poll(files, LENGTH(files), -1);
        if (files[0].revents)
            return NULL;
        for (unsigned i = 0; i < PAIRS_MOST * DIRECTIONS; i++) {
            struct pair *pair = &passage.pairs[i / 2];

            if (files[2 + i].revents && pair->fds[0] >= 0 && !pair_pass(pair, i % 2))
                pair_close(pair);
        }
        if (files[1].revents)
            pair_open();
    }
}

/* The same database, through the passage. */
static const char *passage_begin(const char *url) {
    static char through[640];
    struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof(here);
    const char *port = strchr(strchr(url, '@'), ':');

    ck_assert_ptr_nonnull(strstr(url, "@127.0.0.1:"));
    passage.server = here;
    passage.server.sin_port = htons((uint16_t)atoi(port + 1));
    memset(passage.pairs, -1, sizeof(passage.pairs));
    passage.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(passage.listener, (struct sockaddr *)&here, sizeof(here)), 0);
    ck_assert_int_eq(listen(passage.listener, 16), 0);
    getsockname(passage.listener, (struct sockaddr *)&here, &length);
    ck_assert_int_eq(pipe(passage.wake), 0);
    ck_assert_int_eq(pthread_create(&passage.thread, NULL, passage_main, NULL), 0);
    snprintf(through, sizeof(through), "%s&port=%d&sslmode=disable&gssencmode=disable", url,
             ntohs(here.sin_port));
    return through;
}

static void passage_end(void) {
    ck_assert_int_eq(write(passage.wake[1], "", 1), 1);
    pthread_join(passage.thread, NULL);
    for (struct pair *pair = passage.pairs; pair < passage.pairs + PAIRS_MOST; pair++)
        if (pair->fds[0] >= 0)
            pair_close(pair);
    close(passage.listener);
    close(passage.wake[0]);
    close(passage.wake[1]);
}

static void passage_cut(enum direction direction, unsigned n, bool half) {
    pthread_mutex_lock(&passage.lock);
    passage.direction = direction;
    passage.countdown = n;
    passage.half = half;
    passage.cut = false;
    pthread_mutex_unlock(&passage.lock);
}

/* Is the state as reported?  No more from now on. */
static bool passage_has_cut(void) {
    bool cut;

    pthread_mutex_lock(&passage.lock);
    cut = passage.cut;
    passage.countdown = 0;
    pthread_mutex_unlock(&passage.lock);
    return cut;
}

/* ---- statements through it ---- */

static int insert_body(struct db_tx *tx, void *arg, struct error *err) {
    const int64_t *id = arg;
    int64_t count;

    if (db_query_int(tx, &count, err, "SELECT COUNT(*) FROM item WHERE id = $1", DB_INT(*id)) < 0)
        return -1;
    ck_assert_int_eq(count, 0); /* an attempt without a reported outcome has not happened */
    return db_run(tx, err, "INSERT INTO item (id) VALUES ($1)", DB_INT(*id));
}

static int sum_body(struct db_tx *tx, void *arg, struct error *err) {
    autorows struct db_rows *rows = db_query(tx, err, "SELECT id FROM item ORDER BY id");
    int64_t *sum = arg;
    int more;

    if (!rows)
        return -1;
    *sum = 0;
    while ((more = db_next(rows, err)) > 0)
        *sum += db_int(rows, 0);
    return more;
}

static int64_t rows_of(struct db *db, int64_t id) {
    char sql[80];

    snprintf(sql, sizeof(sql), "SELECT COUNT(*) FROM item WHERE id = %jd", (intmax_t)id);
    return sql_int(db, sql);
}

/* One that found no server there leaves it alone for a while. */
static void until_it_works(struct db *db) {
    int64_t until_us = clock_monotonic_us() + WAIT_S * INT64_C(1000000), sum;
    struct error err = { 0 };

    while (db_read(db, sum_body, &sum, &err) < 0 || db_transaction(db, sum_body, &sum, &err) < 0) {
        ck_assert_int_lt(clock_monotonic_us(), until_us);
        usleep(1000);
    }
}

/* Its sessions have to be opened again. */
static void end_sessions(void) {
    char sql[200];

    snprintf(sql, sizeof(sql),
             "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
             "WHERE application_name = 'lost%jd'",
             (intmax_t)getpid());
    postgresql_sql(sql);
}

struct scene {
    struct db *db, *direct; /* through the passage, and beside it */
    int64_t id, sum;
};

/* The reported rows are there. */
static bool write_one(struct scene *scene) {
    struct error err = { 0 };
    int result;

    scene->sum += ++scene->id;
    result = db_transaction(scene->db, insert_body, &scene->id, &err);
    ck_assert_msg(rows_of(scene->direct, scene->id) == (result >= 0), "%d %s", result, err.message);
    if (result >= 0)
        return true;
    scene->sum -= scene->id;
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    return false;
}

static bool read_one(struct scene *scene) {
    struct error err = { 0 };
    int64_t sum = 0;
    int result = db_read(scene->db, sum_body, &sum, &err);

    if (result < 0)
        ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    else
        ck_assert_int_eq(sum, scene->sum);
    return result >= 0;
}

static const struct {
    bool (*send_request)(struct scene *scene); /* false: it was refused */
    enum direction direction;
    bool half, anew;
    unsigned least; /* messages that there are for certain */
} walks[] = {
    { write_one, TO_SERVER, false, false, 10 }, { write_one, TO_CLIENT, true, false, 10 },
    { write_one, TO_SERVER, true, true, 12 },   { write_one, TO_CLIENT, false, true, 25 },
    { read_one, TO_SERVER, true, false, 3 },    { read_one, TO_CLIENT, true, false, 3 },
};

/* The n-th message is the last one of its connection, for each n that there is. */
START_TEST(a_lost_connection_leaves_the_reported_outcome) {
    const char *base = database_url();
    struct scene scene = { 0 };
    char url[512];

    if (!postgresql_given())
        return;
    snprintf(url, sizeof(url), "%s&application_name=lost%jd", base, (intmax_t)getpid());
    scene.direct = scratch_open(base, true);
    sql_run(scene.direct, "CREATE TABLE item (id BIGINT PRIMARY KEY)");
    scene.db = scratch_open(passage_begin(url), true);
    for (size_t i = 0; i < LENGTH(walks); i++) {
        unsigned n = 1 + WALK_FIRST;

        for (; n == 1 + WALK_FIRST || passage_has_cut(); n += WALK_STEP) {
            if (walks[i].anew)
                end_sessions();
            passage_cut(walks[i].direction, n, walks[i].half);
            if (!walks[i].send_request(&scene))
                until_it_works(scene.db);
        }
        ck_assert_msg(n > walks[i].least, "walk %zu: %u messages", i, n);
    }
    db_close(scene.db);
    passage_end();
    db_close(scene.direct);
}
END_TEST

/* ---- sessions that have changed ---- */

/* A server, or a proxy in front of it, that has forgotten prepared statements. */
START_TEST(statements_unknown_to_the_server_are_prepared_again) {
    struct db *db;

    if (!postgresql_given())
        return;
    db = scratch_open(database_url(), true);
    sql_run(db, "CREATE TABLE item (id BIGINT PRIMARY KEY)");
    for (int64_t id = 1; id <= 3; id++) {
        struct error err = { 0 };

        ck_assert_msg(db_transaction(db, insert_body, &id, &err) >= 0, "%s", err.message);
        sql_run(db, "DEALLOCATE ALL");
    }
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM item"), 3);
    db_close(db);
}
END_TEST

/* Another process brings the schema up to date while this one has its statements. */
START_TEST(statements_of_an_older_schema_are_prepared_again) {
    const char *url = database_url();
    struct db *db, *other;

    if (!postgresql_given())
        return;
    db = scratch_open(url, true);
    other = scratch_open(url, true);
    sql_run(db, "CREATE TABLE item (id BIGINT PRIMARY KEY)");
    sql_run(db, "INSERT INTO item (id) VALUES (7)");
    ck_assert_int_eq(sql_int(db, "SELECT * FROM item"), 7);
    sql_run(other, "ALTER TABLE item ADD COLUMN more TEXT");
    ck_assert_int_eq(sql_int(db, "SELECT * FROM item"), 7);
    sql_run(other, "ALTER TABLE item ALTER COLUMN id TYPE NUMERIC");
    ck_assert_int_eq(sql_int(db, "SELECT * FROM item"), 7);
    db_close(other);
    db_close(db);
}
END_TEST

CHECK_MAIN("lost", a_lost_connection_leaves_the_reported_outcome,
           statements_unknown_to_the_server_are_prepared_again,
           statements_of_an_older_schema_are_prepared_again)
