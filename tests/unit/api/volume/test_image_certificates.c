/*
 * Certificates of signed images at the API: requests do not wait for a key manager that others need
 * and that does not respond.
 */
#include "api/confirm.h"
#include "rest/router.h"
#include "tests/lib/check_main.h"
#include "tests/lib/exchange.h"
#include "tests/lib/roles.h"
#include "tests/lib/world.h"
#include "json/json.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

#define PATH(...)   arena_format(world->arena, __VA_ARGS__)
#define ID          "99999999-9999-4999-8999-999999999999"
#define CERTIFICATE "88888888-8888-4888-8888-888888888888"

#define IMAGE "{\"id\": \"" ID "\", \"status\": \"active\", \"size\": 512"
#define SIGNED                                                                                     \
    IMAGE ", \"img_signature_certificate_uuid\": \"" CERTIFICATE "\", \"img_signature\": \"c2ln\"" \
          ", \"img_signature_hash_method\": \"SHA-256\", \"img_signature_key_type\": \"DSA\""

static struct services {
    bool hangs;                       /* the key manager, until `answer` is posted */
    bool late;                        /* the queries to it wait too long for a thread */
    atomic_uint images, certificates; /* queried */
    sem_t begun, answer;
} services;

static const json_t *find(void *arg, const struct request *request, const char *reference,
                          struct error *err) {
    const char *image = strcmp(reference, "signed") == 0 ? SIGNED "}" : IMAGE "}";

    (void)arg;
    services.images++;
    return json_parse(request->http->arena, image, strlen(image), err);
}

static const char *find_certificate(void *arg, const struct request *request, const char *id,
                                    struct error *err) {
    (void)arg, (void)request;
    services.certificates++;
    ck_assert_str_eq(id, CERTIFICATE);
    if (services.hangs) {
        sem_post(&services.begun);
        while (sem_wait(&services.answer) < 0)
            ;
    }
    error_set(err, ERROR_UNAVAILABLE, "no certificate");
    return NULL;
}

static bool confirm(void *arg, const struct request *request, struct confirmation *confirmation,
                    bool late, struct error *refusal) {
    late |= services.late && confirmation->kind == CONFIRM_CERTIFICATE;
    return api_confirm(arg, request, confirmation, late, refusal);
}

static struct api *api_begin(struct world *world, bool threaded) {
    static struct confirm by = { .images = { .find = find, .find_certificate = find_certificate } };
    struct api_settings settings = world_api_settings(world);
    struct error err;
    struct api *api;

    world->settings.verify_image_signatures = true;
    settings.identity = &identity_roles;
    settings.confirm = confirm;
    settings.confirm_arg = &by;
    settings.inline_transactions = !threaded;
    ck_assert_int_eq(api_new(&settings, &api, &err), 0);
    return api;
}

static void begin(struct world *world) {
    services.images = services.certificates = 0;
    services.hangs = services.late = false;
    api_free(world->api);
    world->api = api_begin(world, false);
    world->token = "member:" WORLD_PROJECT;
}

/* The volume may need none: its failure is that of the download. */
START_TEST(a_certificate_that_comes_too_late_refuses_no_request) {
    autoworld struct world *world = world_new(NULL);

    begin(world);
    services.late = true;
    ck_assert_int_eq(world_call(world, "POST", "/volumes",
                                "{\"volume\": {\"imageRef\": \"signed\", \"size\": 1}}"),
                     202);
    ck_assert_uint_eq(services.images, 1);
    ck_assert_uint_eq(services.certificates, 0);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations WHERE arguments LIKE "
                                        "'%Too many pending queries to the key manager%'"),
                     1);
}
END_TEST

static struct test_exchange *send(struct world *world, struct api *api, int project,
                                  const char *reference) {
    struct http_header *headers = arena_alloc(world->arena, 3 * sizeof(*headers));
    struct test_exchange *exchange;

    headers[0] = (struct http_header){ "X-Auth-Token", PATH("member:%032d", project) };
    headers[1] = (struct http_header){ "Content-Type", "application/json" };
    exchange =
        test_exchange_new("POST", "/v3/volumes", headers,
                          PATH("{\"volume\": {\"size\": 1, \"imageRef\": \"%s\"}}", reference));
    api_handle(api, test_exchange_of(exchange));
    return exchange;
}

static void assert_made(struct test_exchange *exchange) {
    ck_assert_int_eq(test_exchange_await(exchange), 202);
    test_exchange_free(exchange);
}

/* Of the same project and of another one, however many wait for the key manager. */
START_TEST(an_unresponsive_key_manager_delays_no_unsigned_image) {
    enum { PROJECTS = 12, THREADS = 4 };
    autoworld struct world *world = world_new(NULL);
    struct test_exchange *creates[PROJECTS];
    struct api *api;

    begin(world);
    services.hangs = true;
    sem_init(&services.begun, 0, 0);
    sem_init(&services.answer, 0, 0);
    api = api_begin(world, true);
    for (int i = 0; i < PROJECTS; i++)
        creates[i] = send(world, api, i + 1, "signed");
    for (int i = 0; i < THREADS; i++)
        sem_wait(&services.begun);
    for (int i = 0; i <= PROJECTS; i++)
        assert_made(send(world, api, i + 1, "unsigned"));
    ck_assert_uint_eq(services.certificates, THREADS);
    for (int i = 0; i < PROJECTS; i++)
        sem_post(&services.answer);
    for (int i = 0; i < PROJECTS; i++)
        assert_made(creates[i]);
    ck_assert_uint_eq(services.certificates, PROJECTS);
    api_free(api);
}
END_TEST

CHECK_MAIN("image_certificates", a_certificate_that_comes_too_late_refuses_no_request,
           an_unresponsive_key_manager_delays_no_unsigned_image)
