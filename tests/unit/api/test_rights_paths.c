/*
 * How a route (rights.h) is reached, by any caller: with the caller's own project in the path, or
 * with none; from its first microversion on; and unserved paths.
 */
#include "common/cleanup.h"
#include "tests/lib/check_main.h"
#include "tests/lib/database_text.h"
#include "tests/unit/api/rights.h"

#define ABSENT_FAULT \
    "{\"itemNotFound\":{\"code\":404,\"message\":\"The resource could not be found.\"}}"

static const char *const tokens[] = { "admin:" WORLD_PROJECT,  "member:" WORLD_PROJECT,
                                      "reader:" WORLD_PROJECT, "stranger:" WORLD_PROJECT,
                                      "admin:" WORLD_OTHER,    "member:" WORLD_OTHER };

/* Calls `visit` with each row, where its call has its place. */
static void walk(void (*visit)(struct world *world, const struct row *row, const char *id)) {
    unsigned step = WALK_STEP, number = WALK_FIRST;

    for (const struct group *group = rights_groups; group->rows; group++)
        for (size_t i = 0; i < group->count; i++) {
            const char *id, *before;
            autoworld struct world *world = NULL;

            if (number++ % step != 0)
                continue;
            world = rights_world(group, &group->rows[i], NULL, true, &id);
            before = database_text(world->db, world->arena);
            visit(world, &group->rows[i], id);
            ck_assert_msg(strcmp(before, database_text(world->db, world->arena)) == 0,
                          "%s changes the database", rights_name(world, &group->rows[i]));
        }
}

static void expect_fault(struct world *world, const char *token, const struct row *row,
                         const char *id, const char *fault) {
    rights_request(world, token, row, id);
    ck_assert_msg(strcmp(world->answer_text, fault) == 0, "%s: %d %s", rights_name(world, row),
                  world->status, world->answer_text);
}

static void visit_foreign_project(struct world *world, const struct row *row, const char *id) {
    for (size_t i = 0; i < LENGTH(tokens); i++) {
        world->path_project = strstr(tokens[i], WORLD_OTHER) ? WORLD_PROJECT : WORLD_OTHER;
        expect_fault(world, tokens[i], row, id,
                     "{\"badRequest\":{\"code\":400,\"message\":\"Malformed request url\"}}");
    }
}

START_TEST(the_project_in_the_path_is_the_callers) {
    walk(visit_foreign_project);
}
END_TEST

/* A transaction that the database refuses and that runs again draws another id. */
static const char *without_new_id(const struct row *row, const char *text, struct arena *arena) {
    static const char key[] = "\"id\":\"";
    const char *id = strcmp(row->method, "POST") == 0 ? strstr(text, key) : NULL;

    if (!id)
        return text;
    id += strlen(key);
    return rights_put_instead(arena, text, arena_text_n(arena, id, strcspn(id, "\"")), "NEW");
}

/* The response to this token, in a world of its own. */
static const char *answer(const struct group *group, const struct row *row, const char *token,
                          const char *path_project, struct arena *arena) {
    const char *id;
    autoworld struct world *world = rights_world(group, row, NULL, true, &id);

    world->path_project = path_project;
    rights_request(world, token, row, id);
    return arena_format(arena, "%d %s %s", world->status, world->answer_headers,
                        without_new_id(row, world->answer_text, arena));
}

/* But for the links, which are as the request. */
START_TEST(without_a_project_in_the_path_the_answer_is_the_same) {
    unsigned step = WALK_STEP, number = WALK_FIRST;

    world_free(world_new(NULL)); /* the first draws other ids: it makes the schema */
    for (const struct group *group = rights_groups; group->rows; group++)
        for (size_t i = 0; i < group->count; i++)
            for (size_t j = 0; number++ % step == 0 && j < LENGTH(tokens); j++) {
                autoarena struct arena *arena = arena_new();
                const struct row *row = &group->rows[i];
                const char *with = answer(group, row, tokens[j], NULL, arena);
                const char *project = strchr(tokens[j], ':') + 1;
                const char *in_link = arena_format(arena, "/%s/", project);

                ck_assert_str_eq(rights_put_instead(arena, with, in_link, "/"),
                                 rights_put_instead(arena, answer(group, row, tokens[j], "", arena),
                                                    in_link, "/"));
            }
}
END_TEST

static unsigned since_of(const struct row *row) {
    for (const struct route *const *routes = api_routes; *routes; routes++)
        for (const struct route *route = *routes; route->method; route++)
            if (rights_row_is_of(row, route))
                return route->since;
    return 0;
}

static void visit_too_early(struct world *world, const struct row *row, const char *id) {
    unsigned since = since_of(row);

    if (since == 0)
        return;
    world->minor = since - 1;
    for (size_t i = 0; i < LENGTH(tokens); i++)
        expect_fault(world, tokens[i], row, id, ABSENT_FAULT);
}

START_TEST(before_its_microversion_a_route_is_not_there) {
    walk(visit_too_early);
}
END_TEST

START_TEST(unserved_paths_are_not_found_for_any_caller) {
    autoworld struct world *world = world_new(NULL);
    const char *before = database_text(world->db, world->arena);
    unsigned count = 0;

    roles_enter(world, NULL);
    for (const struct route *const *routes = api_routes; *routes; routes++)
        for (const struct route *route = *routes; route->method; route++) {
            const char *path = rights_put_instead(world->arena, route->path, "{id}", "x");
            const struct row row = { PUBLIC, route->method, path, "{}", 404, "", NULL };

            if (!(route->flags & ROUTE_ABSENT))
                continue;
            ck_assert_int_eq(rights_request(world, ":" WORLD_PROJECT, &row, ""), 401);
            for (size_t i = 0; i < LENGTH(tokens); i++)
                expect_fault(world, tokens[i], &row, "", ABSENT_FAULT);
            count++;
        }
    ck_assert_uint_gt(count, 30);
    ck_assert_str_eq(database_text(world->db, world->arena), before);
}
END_TEST

CHECK_MAIN("rights_paths", the_project_in_the_path_is_the_callers,
           without_a_project_in_the_path_the_answer_is_the_same,
           before_its_microversion_a_route_is_not_there,
           unserved_paths_are_not_found_for_any_caller)
