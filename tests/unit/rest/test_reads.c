#include "rest/router.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "identity/identity.h"
#include "policy/rule.h"
#include "rest/call.h"
#include "rest/route.h"
#include "tests/lib/check_main.h"
#include "tests/lib/exchange.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define READERS   3 /* of which a project has two */
#define SLOTS     8
#define PROJECT_A "aaaa"
#define PROJECT_B "bbbb"
#define PROJECT_C "cccc"
#define UNSCOPED  "d" /* a token without a project */

/* ---- a small API ---- */

static sem_t begun, gate; /* a read that takes much posts the one and waits for the other */
static atomic_uint lists; /* that ran to their end */

static int take_much(struct request *request, struct error *err) {
    int64_t count;

    return db_query_int(request->work.tx, &count, err,
                        "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM "
                        "numbers WHERE n < 50000) SELECT COUNT(*) FROM numbers") < 0
               ? -1
               : 0;
}

static void wait_for(sem_t *event) {
    while (sem_wait(event) < 0)
        ck_assert_int_eq(errno, EINTR);
}

static int list_things(struct request *request, struct error *err) {
    if (request_query(request, "few"))
        return 0;
    if (take_much(request, err) < 0)
        return -1;
    if (request_query(request, "held")) {
        sem_post(&begun);
        wait_for(&gate);
    }
    atomic_fetch_add(&lists, 1);
    return 0;
}

static int answer_nothing(struct request *request, struct error *err) {
    (void)request;
    (void)err;
    return 0;
}

/* Bodies of changes in their order, by the thread that writes; "held" waits there. */
static char changed[16];
static unsigned changes;

static int change_thing(struct request *request, struct error *err) {
    (void)err;
    if (strcmp(request->id, "held") == 0) {
        sem_post(&begun);
        wait_for(&gate);
    } else if (changes < sizeof(changed) - 1) {
        changed[changes++] = request->id[0];
    }
    return 0;
}

static const struct route_query things_queries[] = { { .name = "few" },
                                                     { .name = "held" },
                                                     { .name = NULL } };

static const struct route things[] = {
    { .method = "GET",
      .path = "/things",
      .queries = things_queries,
      .handler = list_things,
      .status = 200,
      .flags = ROUTE_MANY },
    { .method = "GET",
      .path = "/sums",
      .queries = things_queries,
      .handler = list_things,
      .status = 200,
      .flags = ROUTE_BROAD },
    { .method = "GET", .path = "/things/{id}", .handler = answer_nothing, .status = 200 },
    { .method = "PUT", .path = "/things/{id}", .handler = change_thing, .status = 200 },
    { .method = "POST",
      .path = "/things",
      .handler = answer_nothing,
      .status = 200,
      .flags = ROUTE_ANY_VALUE },
    ROUTES_END,
};

const struct route *const api_routes[] = { things, NULL };

/* ---- the service around it ---- */

static enum identity_outcome authenticate(const struct identity *identity,
                                          struct http_exchange *exchange, const char *path_project,
                                          const struct identity_later *later,
                                          struct context *context, struct error *err) {
    enum identity_outcome outcome =
        identity_none.authenticate(identity, exchange, path_project, later, context, err);

    if (context->project_id && strcmp(context->project_id, UNSCOPED) == 0)
        context->project_id = NULL;
    return outcome;
}

static const struct identity identity_of_tests = { .name = "tests", .authenticate = authenticate };

struct service {
    char directory[64];
    struct db *db;
    struct settings settings;
    struct policy *policy;
    struct api *api;
};

static int log_file = -1;

static void service_start(struct service *service) {
    char url[128];
    const struct db_settings db = { .url = url };
    const struct policy_settings policy = { .enforce_new_defaults = true };
    struct error err = { .kind = ERROR_NONE };

    *service = (struct service){ .directory = "/tmp/scoria-reads-XXXXXX",
                                 .settings = { .clock = &clock_system, .max_limit = 1000 } };
    log_open(log_file, LOG_ERROR, LOG_TEXT);
    ck_assert_ptr_nonnull(mkdtemp(service->directory));
    snprintf(url, sizeof(url), "sqlite://%s/db", service->directory);
    ck_assert_msg(db_open(&db, &service->db, &err) == 0, "%s", err.message);
    ck_assert_int_eq(policy_load(&policy, &service->policy, &err), 0);
    ck_assert_int_eq(api_new(&(struct api_settings){ .db = service->db,
                                                     .settings = &service->settings,
                                                     .policy = service->policy,
                                                     .identity = &identity_of_tests,
                                                     .readers = READERS,
                                                     .slots = SLOTS },
                             &service->api, &err),
                     0);
    sem_init(&begun, 0, 0);
    sem_init(&gate, 0, 0);
    atomic_store(&lists, 0);
}

static void service_end(struct service *service) {
    static const char *const names[] = { "db", "db-wal", "db-shm", "db-reserve" };

    api_free(service->api);
    db_close(service->db);
    policy_free(service->policy);
    for (size_t i = 0; i < LENGTH(names); i++) {
        char path[128];

        snprintf(path, sizeof(path), "%s/%s", service->directory, names[i]);
        unlink(path);
    }
    rmdir(service->directory);
}
#define autoservice __attribute__((cleanup(service_end)))

static const struct http_header *headers_of(const char *project) {
    static const struct http_header of[][3] = {
#define HEADERS(project_)                                                                \
    {                                                                                    \
        { "X-Auth-Token", "admin:" project_ }, { "Content-Type", "application/json" }, { \
            NULL, NULL                                                                   \
        }                                                                                \
    }
        HEADERS(PROJECT_A),
        HEADERS(PROJECT_B),
        HEADERS(PROJECT_C),
        HEADERS(UNSCOPED),
#undef HEADERS
    };

    return of[project[0] - 'a'];
}

static struct test_exchange *send_to(struct service *service, const char *project,
                                     const char *method, const char *path, const char *query) {
    struct test_exchange *test = test_exchange_new(method, path, headers_of(project), NULL);

    test_exchange_of(test)->query = query;
    api_handle(service->api, test_exchange_of(test));
    return test;
}

static struct test_exchange *send_body(struct service *service, const char *project,
                                       const char *path, const char *body) {
    struct test_exchange *test = test_exchange_new("POST", path, headers_of(project), body);

    api_handle(service->api, test_exchange_of(test));
    return test;
}

/* `count` elements in a list. */
static char *list_of(const char *element, size_t count) {
    char *text = calloc(1, count * (strlen(element) + 1) + 3), *end = text;

    *end++ = '[';
    for (size_t i = 0; i < count; i++)
        end += sprintf(end, "%s%s", i > 0 ? "," : "", element);
    *end = ']';
    return text;
}

static void end_with(struct test_exchange *test, int status) {
    ck_assert_int_eq(test_exchange_await(test), status);
    test_exchange_free(test);
}

/* Answered before it returns, in the calling thread. */
static void assert_at_once(struct service *service, const char *project, const char *path,
                           const char *query) {
    struct test_exchange *test = send_to(service, project, "GET", path, query);

    ck_assert(test_exchange_answered(test));
    end_with(test, 200);
}

/* The project's share of the threads, and then one more that waits for its turn. */
struct hoard {
    struct test_exchange *running[READERS - 1], *queued;
};

static struct hoard hoard_for(struct service *service, const char *project) {
    struct hoard hoard;

    for (size_t i = 0; i < LENGTH(hoard.running); i++) {
        hoard.running[i] = send_to(service, project, "GET", "/v3/things", "held=1");
        wait_for(&begun);
    }
    hoard.queued = send_to(service, project, "GET", "/v3/things", "");
    return hoard;
}

static void hoard_end(const struct hoard *hoard, int queued_status) {
    for (size_t i = 0; i < LENGTH(hoard->running); i++)
        sem_post(&gate);
    for (size_t i = 0; i < LENGTH(hoard->running); i++)
        end_with(hoard->running[i], 200);
    end_with(hoard->queued, queued_status);
}

/* ---- tests ---- */

START_TEST(small_requests_never_wait_for_large_reads) {
    autoservice struct service service;
    struct hoard a, b;

    service_start(&service);
    a = hoard_for(&service, PROJECT_A);
    b.running[0] = send_to(&service, PROJECT_B, "GET", "/v3/sums", "held=1");
    wait_for(&begun); /* no thread is free any more */
    assert_at_once(&service, PROJECT_A, "/healthcheck", "");
    assert_at_once(&service, PROJECT_A, "/v3/things/x", "");
    assert_at_once(&service, PROJECT_B, "/v3/things", "few=1");
    end_with(send_to(&service, PROJECT_C, "PUT", "/v3/things/x", ""), 200);
    sem_post(&gate);
    hoard_end(&a, 200);
    end_with(b.running[0], 200);
}
END_TEST

START_TEST(a_project_leaves_a_reader_to_the_others) {
    autoservice struct service service;
    struct hoard hoard;

    service_start(&service);
    hoard = hoard_for(&service, PROJECT_A);
    end_with(send_to(&service, PROJECT_B, "GET", "/v3/things", ""), 200);
    end_with(send_to(&service, PROJECT_C, "GET", "/v3/sums", ""), 200);
    ck_assert(!test_exchange_answered(hoard.queued));
    hoard_end(&hoard, 200);
    ck_assert_uint_eq(atomic_load(&lists), 5);
}
END_TEST

START_TEST(changes_of_projects_take_turns) {
    static const struct {
        const char *project, *path;
    } requests[] = {
        { PROJECT_A, "/v3/things/held" }, { PROJECT_A, "/v3/things/1" },
        { PROJECT_A, "/v3/things/2" },    { PROJECT_A, "/v3/things/3" },
        { PROJECT_B, "/v3/things/4" },    { PROJECT_B, "/v3/things/5" },
    };
    struct test_exchange *sent[LENGTH(requests)];
    autoservice struct service service;

    service_start(&service);
    for (size_t i = 0; i < LENGTH(requests); i++) {
        sent[i] = send_to(&service, requests[i].project, "PUT", requests[i].path, "");
        if (i == 0)
            wait_for(&begun);
    }
    sem_post(&gate);
    for (size_t i = 0; i < LENGTH(requests); i++)
        end_with(sent[i], 200);
    ck_assert_str_eq(changed, "14253");
}
END_TEST

static int change_of_the_service(struct db_tx *tx, void *arg, struct error *err) {
    (void)tx, (void)arg, (void)err;
    changed[changes++] = 's';
    return 0;
}

static void end_of_the_service(struct db_job *job, int result, struct error *err) {
    (void)job, (void)result, (void)err;
}

START_TEST(changes_of_callers_without_a_project_take_turns_with_the_services_own) {
    static const char *const paths[] = { "/v3/things/held", "/v3/things/1", "/v3/things/2",
                                         "/v3/things/3" };
    struct db_job job = { .body = change_of_the_service, .done = end_of_the_service };
    struct test_exchange *sent[LENGTH(paths)];
    autoservice struct service service;

    service_start(&service);
    for (size_t i = 0; i < LENGTH(paths); i++) {
        sent[i] = send_to(&service, UNSCOPED, "PUT", paths[i], "");
        if (i == 0)
            wait_for(&begun);
    }
    db_submit(service.db, &job);
    sem_post(&gate);
    for (size_t i = 0; i < LENGTH(paths); i++)
        end_with(sent[i], 200);
    ck_assert_str_eq(changed, "1s23");
}
END_TEST

START_TEST(a_read_that_became_small_is_served_at_once) {
    autoservice struct service service;

    service_start(&service);
    assert_at_once(&service, PROJECT_A, "/v3/things", "few=1");
    end_with(send_to(&service, PROJECT_A, "GET", "/v3/things", ""), 200);
    /* Not while the last one took much; the others' lists and the project's other routes are. */
    assert_at_once(&service, PROJECT_B, "/v3/things", "few=1");
    assert_at_once(&service, PROJECT_A, "/v3/sums", "few=1");
    for (int64_t until = clock_monotonic_us() + 40000000; clock_monotonic_us() < until;) {
        struct test_exchange *test = send_to(&service, PROJECT_A, "GET", "/v3/things", "few=1");
        bool at_once = test_exchange_answered(test);

        end_with(test, 200);
        if (at_once)
            return;
    }
    ck_abort_msg("still in line");
}
END_TEST

START_TEST(a_project_leaves_slots_for_waiting_reads) {
    autoservice struct service service;
    struct test_exchange *more[SLOTS / 2 - READERS], *other;
    struct hoard hoard;

    service_start(&service);
    hoard = hoard_for(&service, PROJECT_A);
    for (size_t i = 0; i < LENGTH(more); i++)
        more[i] = send_to(&service, PROJECT_A, "GET", "/v3/things", "");
    end_with(send_to(&service, PROJECT_A, "GET", "/v3/things", ""), 503);
    other = send_to(&service, PROJECT_B, "GET", "/v3/things", "");
    end_with(other, 200);
    hoard_end(&hoard, 200);
    for (size_t i = 0; i < LENGTH(more); i++)
        end_with(more[i], 200);
}
END_TEST

START_TEST(a_client_that_leaves_while_it_waits_costs_no_read) {
    const struct timespec moment = { .tv_nsec = 150000000 };
    autoservice struct service service;
    struct hoard hoard;

    service_start(&service);
    hoard = hoard_for(&service, PROJECT_A);
    test_exchange_leave(hoard.queued);
    nanosleep(&moment, NULL);
    hoard_end(&hoard, 503);
    ck_assert_uint_eq(atomic_load(&lists), READERS - 1);
}
END_TEST

START_TEST(large_bodies_delay_only_their_own_project) {
    autofree char *values = list_of("{}", 1000), *text = list_of("\"0123456789abcdef\"", 1000),
                  *small = list_of("{}", 100);
    const char *const large[] = { values, text };
    autoservice struct service service;

    service_start(&service);
    for (size_t i = 0; i < LENGTH(large); i++) {
        struct hoard hoard = hoard_for(&service, PROJECT_A);
        struct test_exchange *queued = send_body(&service, PROJECT_A, "/v3/things", large[i]);

        end_with(send_body(&service, PROJECT_B, "/v3/things", large[i]), 200);
        end_with(send_body(&service, PROJECT_A, "/v3/things", small), 200);
        assert_at_once(&service, PROJECT_A, "/healthcheck", "");
        ck_assert(!test_exchange_answered(queued));
        hoard_end(&hoard, 200);
        end_with(queued, 200);
    }
}
END_TEST

START_TEST(a_project_leaves_slots_for_large_bodies) {
    autofree char *values = list_of("{}", 1000), *small = list_of("{}", 100);
    autoservice struct service service;
    struct test_exchange *more[SLOTS / 2 - READERS], *waiting[SLOTS / 2], *held;
    struct hoard hoard;

    service_start(&service);
    hoard = hoard_for(&service, PROJECT_A);
    for (size_t i = 0; i < LENGTH(more); i++)
        more[i] = send_body(&service, PROJECT_A, "/v3/things", values);
    end_with(send_body(&service, PROJECT_A, "/v3/things", values), 503);
    end_with(send_body(&service, PROJECT_A, "/v3/things", small), 200);
    end_with(send_body(&service, PROJECT_B, "/v3/things", values), 200);
    hoard_end(&hoard, 200);
    for (size_t i = 0; i < LENGTH(more); i++)
        end_with(more[i], 200);
    /* the slot is the request's until its response: also while it waits for the writer */
    held = send_to(&service, PROJECT_A, "PUT", "/v3/things/held", "");
    wait_for(&begun);
    for (size_t i = 0; i < SLOTS / 2; i++)
        waiting[i] = send_body(&service, PROJECT_A, "/v3/things", values);
    end_with(send_body(&service, PROJECT_A, "/v3/things", values), 503);
    sem_post(&gate);
    end_with(held, 200);
    for (size_t i = 0; i < SLOTS / 2; i++)
        end_with(waiting[i], 200);
}
END_TEST

START_TEST(a_wrong_url_is_refused_before_the_body_is_parsed) {
    static const struct {
        const char *path;
        int status;
    } requests[] = {
        { "/v3/nothing", 404 },
        { "/v3/" PROJECT_B "/things", 400 },
    };
    autofree char *values = list_of("{}", 1000);
    autoservice struct service service;
    struct hoard hoard;

    service_start(&service);
    hoard = hoard_for(&service, PROJECT_A);
    for (size_t i = 0; i < LENGTH(requests); i++) {
        struct test_exchange *test = send_body(&service, PROJECT_A, requests[i].path, values);

        ck_assert(test_exchange_answered(test));
        end_with(test, requests[i].status);
    }
    hoard_end(&hoard, 200);
}
END_TEST

START_TEST(a_body_of_too_many_values_is_refused) {
    autofree char *most = list_of("1", JSON_BODY_VALUES_MOST - 1),
                  *more = list_of("1", JSON_BODY_VALUES_MOST);
    autoservice struct service service;
    struct test_exchange *test;

    service_start(&service);
    end_with(send_body(&service, PROJECT_A, "/v3/things", most), 200);
    test = send_body(&service, PROJECT_A, "/v3/things", more);
    ck_assert_int_eq(test_exchange_await(test), 400);
    ck_assert_str_eq(json_text_at(test_exchange_json(test), "badRequest.message"),
                     "The JSON text has more than 4096 values (lists and objects count twice).");
    test_exchange_free(test);
}
END_TEST

/* Lines of the log, and the refusals for which they and the next one stand. */
static unsigned logged_lines(const struct api *api, unsigned *ret_refusals) {
    static const char key[] = " others=";
    autofile FILE *file = fdopen(dup(log_file), "r");
    unsigned lines = 0;
    char line[4097];

    *ret_refusals = atomic_load(&api->refusals_unlogged);
    rewind(file);
    while (fgets(line, sizeof(line), file)) {
        const char *others = strstr(line, key);

        ck_assert_msg(strstr(line, "request failed") && others, "%s", line);
        *ret_refusals += 1 + (unsigned)strtoul(others + strlen(key), NULL, 10);
        lines++;
    }
    return lines;
}

/* However long they take: a second is enough for many of them. */
START_TEST(refusals_of_a_project_are_logged_once) {
    enum { REFUSALS = 2000 };
    autoservice struct service service;
    struct test_exchange *more[SLOTS / 2 - READERS];
    struct hoard hoard;
    unsigned refusals;

    log_file = memfd_create("log", MFD_CLOEXEC);
    service_start(&service);
    hoard = hoard_for(&service, PROJECT_A);
    for (size_t i = 0; i < LENGTH(more); i++)
        more[i] = send_to(&service, PROJECT_A, "GET", "/v3/things", "");
    for (unsigned i = 0; i < REFUSALS; i++)
        end_with(send_to(&service, PROJECT_A, "GET", "/v3/things", ""), 503);
    ck_assert_uint_lt(logged_lines(service.api, &refusals), REFUSALS / 2);
    ck_assert_uint_eq(refusals, REFUSALS);
    hoard_end(&hoard, 200);
    for (size_t i = 0; i < LENGTH(more); i++)
        end_with(more[i], 200);
}
END_TEST

static void *free_api(void *arg) {
    struct service *service = arg;

    api_free(service->api);
    service->api = NULL;
    return NULL;
}

START_TEST(waiting_reads_are_answered_at_shutdown) {
    autoservice struct service service;
    struct hoard hoard;
    pthread_t ending;

    service_start(&service);
    hoard = hoard_for(&service, PROJECT_A);
    ck_assert_int_eq(pthread_create(&ending, NULL, free_api, &service), 0);
    while (!atomic_load(&service.api->stops))
        sched_yield();
    for (size_t i = 0; i < LENGTH(hoard.running); i++)
        sem_post(&gate);
    pthread_join(ending, NULL);
    for (size_t i = 0; i < LENGTH(hoard.running); i++)
        end_with(hoard.running[i], 200);
    end_with(hoard.queued, 503);
}
END_TEST

CHECK_MAIN("reads", small_requests_never_wait_for_large_reads,
           a_project_leaves_a_reader_to_the_others, changes_of_projects_take_turns,
           changes_of_callers_without_a_project_take_turns_with_the_services_own,
           a_read_that_became_small_is_served_at_once, a_project_leaves_slots_for_waiting_reads,
           a_client_that_leaves_while_it_waits_costs_no_read, refusals_of_a_project_are_logged_once,
           large_bodies_delay_only_their_own_project, a_project_leaves_slots_for_large_bodies,
           a_wrong_url_is_refused_before_the_body_is_parsed, a_body_of_too_many_values_is_refused,
           waiting_reads_are_answered_at_shutdown)
