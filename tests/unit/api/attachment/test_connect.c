#include "api/attachment/connect.h"

#include "api/routes.h"
#include "model/attachment/attachment.h"
#include "tests/lib/check_main.h"
#include "tests/lib/world.h"

#include <string.h>

#define PATH(...) arena_format(world->arena, __VA_ARGS__)
#define OPERATION "77777777-7777-4777-8777-777777777777"

static int read_body(struct db_tx *tx, void *arg, struct error *err) {
    struct request *request = arg;
    const json_t *answer;
    int answered;

    request->work.tx = tx;
    answered = connect_read_answer(request, &answer, err);
    if (answered > 0)
        out_value(&request->out, answer);
    return answered;
}

/* The record that the waiting request reads; the response is in request->out. */
static int look(struct world *world, struct request *request, struct error *err) {
    *request = (struct request){ .wait_operation = OPERATION };
    request->work.arena = world->arena;
    request->work.settings = &world->settings;
    request->work.context = &request->context;
    json_out_init(&request->out, world->arena, 64);
    return db_read(world->db, read_body, request, err);
}

static void put_operation(struct world *world, const char *phase, const char *arguments) {
    world_sql(world,
              PATH("INSERT INTO operations (id, kind, target_id, volume_id, host, phase, "
                   "project_id, user_id, request_id, attempts, arguments, created_at) VALUES "
                   "('" OPERATION "', 'connect', 't', 'v', 'h', '%s', 'p', 'u', 'r', 0, %s, 1)",
                   phase, arguments));
}

START_TEST(a_result_is_passed_on) {
    autoworld struct world *world = world_new(NULL);
    struct request request;
    struct error err;

    put_operation(world, "answered", "'{\"connection_info\": {\"a\": 1}}'");
    ck_assert_int_eq(look(world, &request, &err), 1);
    ck_assert_str_eq(json_out_text(&request.out), "{\"connection_info\":{\"a\":1}}");
}
END_TEST

START_TEST(a_failure_is_the_backends_with_its_text) {
    autoworld struct world *world = world_new(NULL);
    struct request request;
    struct error err;

    put_operation(world, "answered", "'{\"error\": \"no 100% way\"}'");
    ck_assert_int_eq(look(world, &request, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_BACKEND);
    ck_assert_str_eq(err.message, "no 100% way");
}
END_TEST

START_TEST(a_missing_record_is_reported) {
    autoworld struct world *world = world_new(NULL);
    struct request request;
    struct error err;

    ck_assert_int_eq(look(world, &request, &err), 0);
}
END_TEST

START_TEST(a_pending_result_is_unavailable) {
    static const struct {
        const char *phase, *arguments;
        enum error_kind kind;
    } cases[] = {
        { "running", "'{}'", ERROR_TRY_LATER },
        { "answered", "NULL", ERROR_TRY_LATER },
        { "answered", "'nonsense'", ERROR_INTERNAL },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        autoworld struct world *world = world_new(NULL);
        struct request request;
        struct error err;

        put_operation(world, cases[i].phase, cases[i].arguments);
        ck_assert_int_eq(look(world, &request, &err), -1);
        ck_assert_int_eq(err.kind, cases[i].kind);
        world_sql(world, "DELETE FROM operations");
    }
}
END_TEST

/* ---- the handlers that wait ---- */

struct after {
    struct request request;
    route_handler *handler;
};

static int after_body(struct db_tx *tx, void *arg, struct error *err) {
    struct after *after = arg;

    after->request.work.tx = tx;
    return after->handler(&after->request, err);
}

static int run_after(struct world *world, const struct route *route, const char *attachment_id,
                     struct error *err) {
    struct attachment attachment = { .id = attachment_id };
    struct after after = { .handler = route->after };

    after.request.route = route;
    after.request.wait_operation = OPERATION;
    after.request.work.arena = world->arena;
    after.request.work.settings = &world->settings;
    after.request.work.context = &after.request.context;
    after.request.context.is_admin = true;
    after.request.object = &attachment;
    json_out_init(&after.request.out, world->arena, 64);
    return db_read(world->db, after_body, &after, err);
}

START_TEST(a_lost_result_is_no_success) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1), *id;
    unsigned handlers = 0;
    struct error err;

    world_call(world, "POST", "/attachments",
               PATH("{\"attachment\": {\"volume_uuid\": \"%s\"}}", volume));
    id = world_answer_id(world, "attachment");
    for (const struct route *route = attach_action_routes; route->method; route++) {
        if (!route->after)
            continue;
        ck_assert_int_eq(run_after(world, route, NULL, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_TRY_LATER);
        handlers++;
    }
    for (const struct route *route = attachment_routes; route->method; route++) {
        if (!route->after)
            continue;
        ck_assert_int_eq(run_after(world, route, id, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_TRY_LATER);
        handlers++;
    }
    ck_assert_uint_eq(handlers, 3);
}
END_TEST

START_TEST(the_attachments_row_decides_a_success_without_its_record) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_attach(world, world_volume(world, 1), WORLD_INSTANCE);
    struct error err;

    for (const struct route *route = attachment_routes; route->method; route++)
        if (route->after)
            ck_assert_int_eq(run_after(world, route, id, &err), 0);
}
END_TEST

CHECK_MAIN("connect", a_result_is_passed_on, a_failure_is_the_backends_with_its_text,
           a_missing_record_is_reported, a_pending_result_is_unavailable,
           a_lost_result_is_no_success, the_attachments_row_decides_a_success_without_its_record)
