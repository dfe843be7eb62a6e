/*
 * A server's disk is detached by a caller that does not act for servers: the compute service is
 * queried, and its response applies to the row that was queried.
 */
#include "api/confirm.h"
#include "model/attachment/attachment.h"
#include "rest/router.h"
#include "tests/lib/check_main.h"
#include "tests/lib/exchange.h"
#include "tests/lib/roles.h"

#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#define PATH(...) arena_format(world->arena, __VA_ARGS__)
#define READER    "reader:" WORLD_PROJECT
#define MEMBER    "member:" WORLD_PROJECT
#define STRANGER  "member:" WORLD_OTHER
#define SERVICE   "service:" WORLD_PROJECT
#define ADMIN     "admin:" WORLD_PROJECT

/* ---- a compute service ---- */

static struct nova {
    struct world *world;
    int result; /* 1 the server uses it, 0 not, -1 no answer */
    unsigned queried;
    char attachment_id[37];
    void (*meanwhile)(struct world *world, const char *attachment_id);
    const char *hangs; /* for this project, until `answer` is posted */
    sem_t begun, answer;
} nova;

static int server_uses(void *arg, struct arena *arena, const struct attachment *attachment,
                       const char *request_id, struct error *err) {
    (void)arg, (void)arena;
    ck_assert_ptr_nonnull(request_id);
    ck_assert_str_eq(attachment->instance_uuid, WORLD_INSTANCE);
    if (nova.hangs && strcmp(attachment->project_id, nova.hangs) == 0) {
        sem_post(&nova.begun);
        while (sem_wait(&nova.answer) < 0)
            ;
        return nova.result;
    }
    nova.queried++;
    strcpy(nova.attachment_id, attachment->id);
    if (nova.meanwhile)
        nova.meanwhile(nova.world, attachment->id);
    return nova.result < 0 ? error_set(err, ERROR_UNAVAILABLE, "not running") : nova.result;
}

/* Of an image service that does not respond until `answer` is posted. */
static const json_t *find_image(void *arg, const struct request *request, const char *reference,
                                struct error *err) {
    (void)arg, (void)request, (void)reference;
    sem_post(&nova.begun);
    while (sem_wait(&nova.answer) < 0)
        ;
    error_set(err, ERROR_BAD_REQUEST, "no such image");
    return NULL;
}

static struct api *api_with_nova(struct world *world, unsigned slots, bool threaded) {
    static struct confirm confirm = { .release = { .server_uses = server_uses },
                                      .images = { .find = find_image } };
    struct api_settings settings = world_api_settings(world);
    struct error err;
    struct api *api;

    settings.identity = &identity_roles;
    settings.confirm = api_confirm;
    settings.confirm_arg = &confirm;
    settings.slots = slots;
    settings.inline_transactions = !threaded;
    ck_assert_int_eq(api_new(&settings, &api, &err), 0);
    return api;
}

/* Queried by the world's own API from now on. */
static void nova_begin(struct world *world, int result) {
    nova = (struct nova){ .world = world, .result = result };
    world->settings.only_services_detach = true;
    api_free(world->api);
    world->api = api_with_nova(world, 0, false);
    world->token = MEMBER;
}

/* The attachment of a server's disk, complete. */
static const char *attach(struct world *world, const char *volume) {
    const char *token = world->token, *id;

    world->token = SERVICE;
    id = world_attach(world, volume, WORLD_INSTANCE);
    world->token = token;
    return id;
}

static int take_away(struct world *world, const char *id) {
    return world_call(world, "DELETE", PATH("/attachments/%s", id), NULL);
}

/* ---- the ways to take it ---- */

static int take_by_delete(struct world *world, const char *volume, const char *id) {
    (void)volume;
    return take_away(world, id) == 200 ? 0 : world->status;
}

static int take_by_detach(struct world *world, const char *volume, const char *id) {
    (void)id;
    return world_action(world, volume, "{\"os-detach\": {}}") == 202 ? 0 : world->status;
}

static int take_by_detach_of(struct world *world, const char *volume, const char *id) {
    world_action(world, volume, "{\"os-detach\": {\"attachment_id\": \"%s\"}}", id);
    return world->status == 202 ? 0 : world->status;
}

static int take_by_terminate(struct world *world, const char *volume, const char *id) {
    (void)id;
    world_action(world, volume, "{\"os-terminate_connection\": {\"connector\": null}}");
    return world->status == 202 ? 0 : world->status;
}

static int take_by_redirect(struct world *world, const char *volume, const char *id) {
    (void)volume;
    world_call(world, "PUT", PATH("/attachments/%s", id),
               "{\"attachment\": {\"connector\": {\"host\": \"elsewhere\"}}}");
    return world->status == 200 ? 0 : world->status;
}

typedef int taking(struct world *world, const char *volume, const char *id);
static taking *const ways[] = { take_by_delete, take_by_detach, take_by_detach_of,
                                take_by_terminate, take_by_redirect };

START_TEST(a_stale_attachment_is_deleted) {
    for (size_t i = 0; i < LENGTH(ways) * 2; i++) {
        autoworld struct world *world = world_new(NULL);
        const char *volume = world_volume(world, 1), *id;

        nova_begin(world, 0);
        id = attach(world, volume);
        world->token = i % 2 ? ADMIN : MEMBER;
        ck_assert_int_eq(ways[i / 2](world, volume, id), 0);
        ck_assert_uint_eq(nova.queried, 1);
        ck_assert_str_eq(nova.attachment_id, id);
        ck_assert_int_eq(world_check(world), 0);
    }
}
END_TEST

START_TEST(an_attachment_that_may_be_in_use_is_kept) {
    for (size_t i = 0; i < LENGTH(ways) * 2; i++) {
        autoworld struct world *world = world_new(NULL);
        const char *volume = world_volume(world, 1), *id;

        nova_begin(world, i % 2 ? 1 : -1);
        id = attach(world, volume);
        ck_assert_int_eq(ways[i / 2](world, volume, id), 409);
        ck_assert_ptr_nonnull(
            strstr(world->answer_text,
                   "ConflictNovaUsingAttachment: Detach volume from instance " WORLD_INSTANCE
                   " using the Compute API"));
        ck_assert_uint_eq(nova.queried, 1);
        world->token = ADMIN;
        ck_assert_str_eq(world_status(world, volume), "in-use");
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM attachments WHERE attached_host "
                                            "= '" WORLD_NODE "' AND attach_status = 'attached'"),
                         1);
    }
}
END_TEST

START_TEST(the_compute_service_is_not_queried_when_the_caller_decides) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1), *id;

    nova_begin(world, 0);
    id = attach(world, volume);
    world->token = READER;
    ck_assert_int_eq(take_away(world, id), 403);
    world->token = STRANGER;
    ck_assert_int_eq(take_away(world, id), 404);
    world->token = SERVICE;
    ck_assert_int_eq(take_away(world, id), 200);
    world->token = MEMBER;
    ck_assert_int_eq(take_away(world, id), 404);
    ck_assert_uint_eq(nova.queried, 0);
}
END_TEST

/* ---- changes while the query is open ---- */

static void as_service(struct world *world, const char *method, const char *id, const char *body) {
    const char *token = world->token;

    nova.meanwhile = NULL;
    world->now_us += 1000000;
    world->token = SERVICE;
    ck_assert_int_eq(world_call(world, method, PATH("/attachments/%s", id), body), 200);
    world->token = token;
}

static void goes(struct world *world, const char *id) {
    as_service(world, "DELETE", id, NULL);
}

static void moves(struct world *world, const char *id) {
    as_service(world, "PUT", id, "{\"attachment\": {\"connector\": {\"host\": \"there\"}}}");
}

static void is_taken_by_another(struct world *world, const char *id) {
    nova.meanwhile = NULL;
    ck_assert_int_eq(take_away(world, id), 200);
}

START_TEST(a_result_applies_to_the_queried_row_only) {
    static const struct {
        void (*meanwhile)(struct world *world, const char *id);
        int status;
        int64_t left;
        unsigned queried;
    } rows[] = {
        { goes, 404, 0, 1 },
        { moves, 409, 1, 1 },
        { is_taken_by_another, 404, 0, 2 },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *volume = world_volume(world, 1), *id;

        nova_begin(world, 0);
        id = attach(world, volume);
        nova.meanwhile = rows[i].meanwhile;
        ck_assert_int_eq(take_away(world, id), rows[i].status);
        ck_assert_uint_eq(nova.queried, rows[i].queried);
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM attachments"), rows[i].left);
        ck_assert_int_eq(world_check(world), 0);
    }
}
END_TEST

/* ---- a compute service that does not answer ---- */

#define HANGING 6

static struct test_exchange *send_to(struct world *world, struct api *api, const char *token,
                                     const char *method, const char *path, const char *body) {
    struct http_header *headers = arena_alloc(world->arena, 4 * sizeof(*headers));
    struct test_exchange *exchange;

    headers[0] = (struct http_header){ "X-Auth-Token", token };
    headers[1] = (struct http_header){ "OpenStack-API-Version", "volume 3.71" };
    headers[2] = (struct http_header){ "Content-Type", "application/json" };
    exchange = test_exchange_new(method, path, headers, body);
    api_handle(api, test_exchange_of(exchange));
    return exchange;
}

static struct test_exchange *send_take(struct world *world, struct api *api, const char *token,
                                       const char *id) {
    return send_to(world, api, token, "DELETE", PATH("/v3/attachments/%s", id), NULL);
}

static void *end_api(void *api) {
    api_free(api);
    return NULL;
}

/* It holds neither slots nor the shutdown, and each caller is answered once. */
START_TEST(an_unresponsive_query_delays_no_other) {
    autoworld struct world *world = world_new(NULL);
    struct test_exchange *queried[HANGING], *more;
    const char *ids[HANGING + 1], *others;
    struct api *api;
    pthread_t end;

    nova_begin(world, 0);
    for (unsigned i = 0; i <= HANGING; i++) {
        world->token = ADMIN;
        ids[i] = attach(world, world_volume(world, 1));
    }
    world->token = "service:" WORLD_OTHER;
    others = world_attach(world, world_volume(world, 1), WORLD_INSTANCE);
    nova.hangs = WORLD_PROJECT;
    sem_init(&nova.begun, 0, 0);
    sem_init(&nova.answer, 0, 0);
    api = api_with_nova(world, 2 * HANGING, true);
    for (unsigned i = 0; i < HANGING; i++)
        queried[i] = send_take(world, api, MEMBER, ids[i]);
    sem_wait(&nova.begun);
    more = send_take(world, api, MEMBER, ids[HANGING]);
    ck_assert_int_eq(test_exchange_await(more), 503);
    test_exchange_free(more);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM attachments"), HANGING + 2);

    more = send_take(world, api, STRANGER, others); /* for its servers there is an answer */
    ck_assert_int_eq(test_exchange_await(more), 200);
    test_exchange_free(more);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM attachments"), HANGING + 1);

    ck_assert_int_eq(pthread_create(&end, NULL, end_api, api), 0);
    for (unsigned i = 0; i < HANGING; i++)
        sem_post(&nova.answer);
    ck_assert_int_eq(pthread_join(end, NULL), 0);
    for (unsigned i = 0; i < HANGING; i++) {
        int status = test_exchange_await(queried[i]);

        ck_assert_msg(status == 200 || status == 503, "%d", status); /* the end came first */
        test_exchange_free(queried[i]);
    }
}
END_TEST

/* Each kind of query has threads of its own. */
START_TEST(an_unresponsive_image_service_delays_no_release) {
    enum { PROJECTS = 4 };
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1), *id;
    struct test_exchange *creates[PROJECTS], *take;
    struct api *api;

    nova_begin(world, 0);
    id = attach(world, volume);
    sem_init(&nova.begun, 0, 0);
    sem_init(&nova.answer, 0, 0);
    api = api_with_nova(world, 0, true);
    for (int i = 0; i < PROJECTS; i++) {
        creates[i] = send_to(world, api, PATH("member:%032d", i + 1), "POST", "/v3/volumes",
                             "{\"volume\": {\"size\": 1, \"imageRef\": \"x\"}}");
        sem_wait(&nova.begun);
    }
    take = send_take(world, api, MEMBER, id);
    ck_assert_int_eq(test_exchange_await(take), 200);
    test_exchange_free(take);
    for (int i = 0; i < PROJECTS; i++)
        sem_post(&nova.answer);
    for (int i = 0; i < PROJECTS; i++) {
        ck_assert_int_eq(test_exchange_await(creates[i]), 400);
        test_exchange_free(creates[i]);
    }
    api_free(api);
}
END_TEST

CHECK_MAIN("release", a_stale_attachment_is_deleted, an_attachment_that_may_be_in_use_is_kept,
           the_compute_service_is_not_queried_when_the_caller_decides,
           a_result_applies_to_the_queried_row_only, an_unresponsive_query_delays_no_other,
           an_unresponsive_image_service_delays_no_release)
