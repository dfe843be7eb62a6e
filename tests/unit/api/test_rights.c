/*
 * Rights: every route of the API (rights.h) called by every caller: without a token, with an
 * unknown role, as a reader, a member, a service and an administrator, of the project that the
 * object belongs to and of another one.
 */
#include "common/cleanup.h"
#include "tests/lib/check_main.h"
#include "tests/lib/database_text.h"
#include "tests/lib/postgresql.h"
#include "tests/unit/api/rights.h"
#include "json/json.h"

#include <sqlite3.h>

#define UNKNOWN      "99999999-9999-4999-8999-999999999999"
#define NO_TOKEN     ":" WORLD_PROJECT
#define MEMBER_TOKEN "member:" WORLD_PROJECT
#define OTHER_TOKEN  "member:" WORLD_OTHER

struct caller {
    const char *token;
    enum right role; /* PUBLIC: an unknown one */
    bool other;      /* of the other project */
};

static const struct caller callers[] = {
    { "stranger:" WORLD_PROJECT, PUBLIC, false }, { "stranger:" WORLD_OTHER, PUBLIC, true },
    { "reader:" WORLD_PROJECT, READER, false },   { "reader:" WORLD_OTHER, READER, true },
    { "member:" WORLD_PROJECT, MEMBER, false },   { "member:" WORLD_OTHER, MEMBER, true },
    { "service:" WORLD_PROJECT, MEMBER, false },  { "service:" WORLD_OTHER, MEMBER, true },
    { "admin:" WORLD_PROJECT, ADMIN, false },     { "admin:" WORLD_OTHER, ADMIN, true },
};

/* ---- refusals ---- */

/* The statements that SQLite ran, and the number of rows that it found. */
static struct { unsigned statements, rows; } looked;

static int database_looked(unsigned kind, void *arg, void *statement, void *text) {
    (void)arg, (void)statement;
    if (kind == SQLITE_TRACE_ROW)
        looked.rows++;
    else if (strncmp(text, "PRAGMA", 6) != 0) /* how to flush, after a statement that needed it
                                               * otherwise */
        looked.statements++;
    return 0;
}

static int database_opened(sqlite3 *handle, const char **message, const void *routines) {
    (void)message, (void)routines;
    return sqlite3_trace_v2(handle, SQLITE_TRACE_STMT | SQLITE_TRACE_ROW, database_looked, NULL);
}

static void watch_databases(void) {
    ck_assert_int_eq(sqlite3_auto_extension((void (*)(void))database_opened), SQLITE_OK);
    world_open_anew();
}

/* The status of a refusal of `role`, 0 when it is permitted. */
static int refusal_of(enum right right, enum right role, bool other) {
    if (role == ADMIN)
        return 0;
    if (right & HIDDEN)
        return right & LATE && role < BARE(right) ? 403 : 404;
    if (other && right & NAMED)
        return 403;
    if (role < BARE(right))
        return right & OWNED && !(right & LATE) && (other || (role < READER && !(right & KNOWN)))
                   ? 404
                   : 403;
    return other && right & OWNED ? 404 : 0;
}

/* 403 names a rule of the row, and each refusal is a fault of its status. */
static void expect_refusal(struct world *world, const char *token, const struct row *row,
                           const char *id, int refusal) {
    static const char forbidden[] = "{\"forbidden\":{\"code\":403,\"message\":\"The policy ";
    static const char absent[] = "{\"itemNotFound\":{\"code\":404,\"message\":\"";
    int status = rights_request(world, token, row, id);
    const char *text = world->answer_text, *rule = text + strlen(forbidden);

    ck_assert_msg(status == refusal, "%s: %d %s, not %d", rights_name(world, row), status, text,
                  refusal);
    if (refusal == 403)
        ck_assert_msg(strncmp(text, forbidden, strlen(forbidden)) == 0 &&
                          strstr(row->rules, arena_text_n(world->arena, rule, strcspn(rule, " "))),
                      "%s: %s", rights_name(world, row), text);
    else if (refusal == 404)
        ck_assert_msg(strncmp(text, absent, strlen(absent)) == 0, "%s: %s", rights_name(world, row),
                      text);
    else
        ck_assert_str_eq(text, "{\"error\":{\"code\":401,\"title\":\"Unauthorized\","
                               "\"message\":\"no such role\"}}");
}

/* An invisible object is answered as a missing one, and for another project's no more is read. */
static void expect_no_difference(struct world *world, const struct caller *caller,
                                 const struct row *row, const char *id) {
    const char *token = caller->token;
    const char *text, *headers;
    unsigned statements, rows;

    looked.statements = looked.rows = 0;
    expect_refusal(world, token, row, UNKNOWN, 404);
    text =
        rights_put_instead(world->arena, arena_text(world->arena, world->answer_text), UNKNOWN, id);
    headers = arena_text(world->arena, world->answer_headers);
    statements = looked.statements;
    rows = looked.rows;
    ck_assert(statements > 0 || postgresql_given());
    looked.statements = looked.rows = 0;
    expect_refusal(world, token, row, id, 404);
    ck_assert_msg(!caller->other || (looked.statements == statements && looked.rows == rows),
                  "%s: %u statements and %u rows, %u and %u for none", rights_name(world, row),
                  looked.statements, looked.rows, statements, rows);
    ck_assert_str_eq(world->answer_text, text);
    ck_assert_str_eq(world->answer_headers, headers);
}

static void expect_no_change(struct world *world, const struct row *row, const char *before) {
    const char *after = database_text(world->db, world->arena);

    ck_assert_msg(strcmp(before, after) == 0, "%s changes the database:\n%s\n%s",
                  rights_name(world, row), before, after);
}

/* ---- every caller calls every route ---- */

enum rules { BUILT_IN, FORMER }; /* FORMER: any role in the project is as good as a member's */

/* The refusal of `caller`; under FORMER any role has the rights of a member. */
static int refusal_under(enum rules rules, const struct row *row, const struct caller *caller) {
    bool recent = row->right & RECENT, better = rules == FORMER && caller->role < MEMBER;

    /* The object is seen by its former rule. */
    if (recent && better)
        return refusal_of(row->right | KNOWN, caller->role, caller->other);
    return refusal_of(row->right, better ? MEMBER : caller->role, caller->other);
}

static bool is_requested(enum rules rules, const struct caller *caller) {
    return rules == BUILT_IN || caller->role < MEMBER;
}

/* All of them in one world: that changes nothing. */
static void expect_refusals(const struct group *group, const struct row *row, enum rules rules) {
    const char *id;
    autoworld struct world *world = rights_world(group, row, NULL, rules == BUILT_IN, &id);
    const char *before = database_text(world->db, world->arena);

    expect_refusal(world, NO_TOKEN, row, id, 401);
    for (size_t i = 0; i < LENGTH(callers); i++) {
        int refusal = refusal_under(rules, row, &callers[i]);

        if (refusal == 404)
            expect_no_difference(world, &callers[i], row, id);
        else if (refusal)
            expect_refusal(world, callers[i].token, row, id, refusal);
        if (refusal == 403 && (callers[i].other || !(row->right & OWNED) || row->right & HIDDEN))
            expect_refusal(world, callers[i].token, row, UNKNOWN, refusal);
    }
    expect_no_change(world, row, before);
}

static void expect_answer(const struct group *group, const struct row *row,
                          const struct caller *caller, enum rules rules) {
    const char *id;
    autoworld struct world *world = rights_world(group, row, NULL, rules == BUILT_IN, &id);
    int status = rights_request(world, caller->token, row, id);

    ck_assert_msg(status == row->status, "%s: %d %s, not %d", rights_name(world, row), status,
                  world->answer_text, row->status);
}

static void expect_rights(const struct group *group, const struct row *row, enum rules rules) {
    expect_refusals(group, row, rules);
    for (size_t i = 0; i < LENGTH(callers); i++)
        if (is_requested(rules, &callers[i]) && !refusal_under(rules, row, &callers[i]))
            expect_answer(group, row, &callers[i], rules);
}

static void expect_all_rights(enum rules rules) {
    unsigned step = WALK_STEP, first = WALK_FIRST, number = 0;

    watch_databases();
    for (const struct group *group = rights_groups; group->rows; group++)
        for (size_t i = 0; i < group->count; i++)
            if (number++ % step == first % step)
                expect_rights(group, &group->rows[i], rules);
}

START_TEST(every_caller_gets_the_response_of_the_table) {
    expect_all_rights(BUILT_IN);
}
END_TEST

START_TEST(former_rules_let_every_role_of_the_project_in) {
    expect_all_rights(FORMER);
}
END_TEST

/* ---- lists ---- */

static const char *id_of(const json_t *item) {
    const json_t *uid = json_object_get(json_object_get(item, "metadata"), "uid");

    return json_string_value(uid ? uid : json_object_get(item, "id"));
}

/* The first value of the answer that is an object with this id, or a list that has one; or NULL. */
static json_t *answered(struct world *world, const char *id) {
    const char *key;
    json_t *value;

    json_object_foreach(world->answer, key, value) {
        json_t *item = json_is_object(value) ? value : NULL;

        for (size_t i = 0; !item && i < json_array_size(value); i++)
            if (id_of(json_array_get(value, i)) && strcmp(id_of(json_array_get(value, i)), id) == 0)
                item = json_array_get(value, i);
        if (item && id_of(item) && strcmp(id_of(item), id) == 0)
            return json_keep(world->arena, json_incref(item));
    }
    return NULL;
}

static void expect_no_more_than(struct world *world, const struct row *row, const json_t *listed,
                                const json_t *shown) {
    const char *key;
    json_t *value;

    ck_assert_msg(!listed || shown, "%s lists what it does not show", rights_name(world, row));
    json_object_foreach((json_t *)(uintptr_t)listed, key, value) {
        ck_assert_msg(json_equal(value, json_object_get(shown, key)), "%s: %s is %s, shown as %s",
                      rights_name(world, row), key, json_text(world->arena, value),
                      json_text(world->arena, json_object_get(shown, key)));
    }
}

/* Is it GET of `path`, or that with something behind? */
static bool gets(const struct row *row, const char *path, size_t length, const char *behind) {
    return strcmp(row->method, "GET") == 0 && strncmp(row->path, path, length) == 0 &&
           strcmp(row->path + length, behind) == 0;
}

/* How often a list beside this row, which shows one, had the object: each is called by every
 * caller. */
static unsigned expect_lists(const struct group *group, const struct row *show) {
    size_t length = strcspn(show->path + 1, "/?") + 1;
    unsigned found = 0;
    const char *id;
    autoworld struct world *world = NULL;

    if (!gets(show, show->path, length, "/%s"))
        return 0;
    world = rights_world(group, show, NULL, true, &id);
    for (size_t i = 0; i < group->count; i++) {
        const struct row *row = &group->rows[i];

        if (!gets(row, show->path, length, "") && !gets(row, show->path, length, "/detail"))
            continue;
        for (size_t c = 0; c < LENGTH(callers); c++) {
            json_t *shown = NULL, *listed = NULL;

            if (rights_request(world, callers[c].token, show, id) == 200)
                shown = answered(world, id);
            if (rights_request(world, callers[c].token, row, id) == 200)
                listed = answered(world, id);
            expect_no_more_than(world, row, listed, shown);
            found += listed != NULL;
        }
    }
    return found;
}

START_TEST(a_list_shows_a_caller_no_more_than_the_object_itself) {
    unsigned found = 0;

    for (const struct group *group = rights_groups; group->rows; group++)
        for (size_t i = 0; i < group->count; i++)
            found += expect_lists(group, &group->rows[i]);
    ck_assert_uint_ge(found, 100);
}
END_TEST

/* Callers without the right to it, and an object that is not there: the body is first. */
START_TEST(a_bad_body_is_refused_before_rights_and_objects) {
#define NONE "99999999-9999-4999-8999-999999999999"
    static const struct {
        const char *method, *path, *body;
    } cases[] = {
        { "PUT", "/volumes/" NONE, "{\"volume\": {}}" },
        { "POST", "/volumes", "{\"volume\": {\"size\": 1}, \"more\": 1}" },
        { "POST", "/volumes",
          "{\"volume\": {\"size\": 1}, "
          "\"OS-SCH-HNT:scheduler_hints\": {\"same_host\": \"x\"}}" },
        { "POST", "/volumes/" NONE "/action", "{\"os-reset_status\": {\"status\": \"\"}}" },
        { "POST", "/volumes/" NONE "/action",
          "{\"os-extend_volume_completion\": {\"error\": \"maybe\"}}" },
        { "POST", "/volumes/" NONE "/action", "{\"os-attach\": {\"mountpoint\": \"/dev/vdb\"}}" },
        { "PUT", "/attachments/" NONE, "{\"attachment\": {\"connector\": {}}}" },
        { "PUT", "/os-quota-sets/x", "{\"quota_set\": {}}" },
        { "PUT", "/os-quota-sets/x", "{\"quota_set\": {\"volumes\": -2}}" },
        { "PUT", "/os-quota-class-sets/x", "{\"quota_class_set\": {\"volumes\": null}}" },
    };
    autoworld struct world *world = world_new(NULL);

    roles_enter(world, NULL);
    world->token = "reader:" WORLD_PROJECT;
    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_msg(world_call(world, cases[i].method, cases[i].path, cases[i].body) == 400,
                      "%s: %d", cases[i].body, world->status);
}
END_TEST

/* Else nothing of the above is printed. */
START_TEST(a_change_shows_in_the_text_of_the_database) {
    autoworld struct world *world = world_new(NULL);
    const char *before = database_text(world->db, world->arena);

    ck_assert_str_eq(database_text(world->db, world->arena), before);
    world_sql(world, "UPDATE services SET disabled_reason = 'r'");
    ck_assert_str_ne(database_text(world->db, world->arena), before);
}
END_TEST

/* ---- no route is forgotten ---- */

static bool has_row(const struct route *route) {
    for (const struct group *group = rights_groups; group->rows; group++)
        for (size_t i = 0; i < group->count; i++)
            if (rights_row_is_of(&group->rows[i], route))
                return true;
    return false;
}

static bool has_route(const struct row *row) {
    for (const struct route *const *routes = api_routes; *routes; routes++)
        for (const struct route *route = *routes; route->method; route++)
            if (rights_row_is_of(row, route))
                return true;
    return false;
}

START_TEST(every_route_has_its_row) {
    unsigned count = 0;

    for (const struct route *const *routes = api_routes; *routes; routes++)
        for (const struct route *route = *routes; route->method; route++, count++)
            ck_assert_msg(
                route->flags & ROUTE_ABSENT || has_row(route),
                "%s %s %s has no row: write one into tests/unit/api/rights.c, with the callers, "
                "the status and the rules that the reference gives it",
                route->method, route->path, route->action ? route->action : "");
    ck_assert_uint_gt(count, 100);
    for (const struct group *group = rights_groups; group->rows; group++)
        for (size_t i = 0; i < group->count; i++) {
            const struct row *row = &group->rows[i];

            ck_assert_msg(has_route(row), "no route is that of %s %s", row->method, row->path);
            ck_assert_msg(row->status && row->rules, "%s %s: status or rules are missing",
                          row->method, row->path);
        }
}
END_TEST

static bool is_below(const char *path, const struct resource *resource) {
    size_t length = resource ? strlen(resource->collection) : 0;

    return resource && strncmp(path + 1, resource->collection, length) == 0 &&
           strncmp(path + 1 + length, "/{id}", strlen("/{id}")) == 0;
}

/* A route below an object loads it, and with that checks the right to see it. */
START_TEST(every_route_below_an_object_loads_it) {
    unsigned found = 0;

    for (const struct route *const *routes = api_routes; *routes; routes++)
        for (const struct route *route = *routes; route->method; route++)
            for (const struct route *const *at = api_routes; *at; at++)
                for (const struct route *other = *at; other->method; other++) {
                    if (!is_below(other->path, route->resource) || other->flags & ROUTE_ABSENT)
                        continue;
                    ck_assert_msg(other->resource == route->resource, "%s %s", other->method,
                                  other->path);
                    found += other == route;
                }
    ck_assert_uint_gt(found, 40);
}
END_TEST

/* The rule of showing a volume is enforced wherever one is named, and nothing happens to it. */
START_TEST(objects_of_an_invisible_volume_are_not_reached) {
    unsigned count = 0;

    for (const struct group *group = rights_groups; group->rows; group++)
        for (size_t i = 0; i < group->count; i++) {
            const struct row *row = &group->rows[i];
            const char *id, *before;
            autoworld struct world *world = NULL;

            if (!strstr(row->rules, "volume:get ") && strcmp(row->rules, "volume:get") != 0)
                continue;
            world = rights_world(group, row, "volume:get: '!'\n", true, &id);
            before = database_text(world->db, world->arena);
            expect_refusal(world, MEMBER_TOKEN, row, id, 404);
            expect_no_change(world, row, before);
            count++;
        }
    ck_assert_uint_gt(count, 30);
}
END_TEST

/* Objects of one project. */
struct property {
    const char *volume, *snapshot, *attachment, *group;
};

static struct property property_of(struct world *world, const char *token) {
    struct property made;

    world->token = token;
    made.volume = world_volume(world, 1);
    made.snapshot = rights_make(
        world, token, "snapshot", "/snapshots",
        rights_put_id(world->arena, "{\"snapshot\": {\"volume_id\": \"%s\"}}", made.volume));
    made.attachment = rights_make(
        world, token, "attachment", "/attachments",
        rights_put_id(world->arena, "{\"attachment\": {\"volume_uuid\": \"%s\"}}", made.volume));
    made.group = rights_make(world, token, "group", "/groups",
                             "{\"group\": {\"group_type\": \"t\", \"volume_types\": "
                             "[\"__DEFAULT__\"]}}");
    return made;
}

/* In a body about one's own objects, too. */
START_TEST(objects_of_others_in_a_body_are_not_found) {
    autoworld struct world *world = world_new(NULL);
    struct property own, theirs;
    const char *before;

    rights_make(world, "admin:" WORLD_PROJECT, "group_type", "/group_types",
                "{\"group_type\": {\"name\": \"t\"}}");
    theirs = property_of(world, "admin:" WORLD_PROJECT);
    own = property_of(world, "admin:" WORLD_OTHER);
    /* clang-format off */
    const struct {
        const char *method, *path, *own, *body, *theirs;
    } cases[] = {
        { "POST", "/volumes/%s/action", own.volume, "{\"revert\": {\"snapshot_id\": \"%s\"}}",
          theirs.snapshot },
        { "POST", "/volumes/%s/action", own.volume, "{\"os-detach\": {\"attachment_id\": \"%s\"}}",
          theirs.attachment },
        { "PUT", "/groups/%s", own.group, "{\"group\": {\"add_volumes\": \"%s\"}}", theirs.volume },
        { "PUT", "/groups/%s", own.group, "{\"group\": {\"remove_volumes\": \"%s\"}}", theirs.volume },
        { "POST", "/volumes", "", "{\"volume\": {\"size\": 1, \"group_id\": \"%s\"}}", theirs.group },
    };
    /* clang-format on */

    roles_enter(world, NULL);
    world->token = OTHER_TOKEN;
    before = database_text(world->db, world->arena);
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const char *path = rights_put_id(world->arena, cases[i].path, cases[i].own);
        const char *none, *headers, *body = cases[i].body;

        world_call(world, cases[i].method, path, rights_put_id(world->arena, body, UNKNOWN));
        none = rights_put_instead(world->arena, arena_text(world->arena, world->answer_text),
                                  UNKNOWN, cases[i].theirs);
        headers = arena_text(world->arena, world->answer_headers);
        ck_assert_msg(world->status >= 400, "%s: %d", body, world->status);
        world_call(world, cases[i].method, path,
                   rights_put_id(world->arena, body, cases[i].theirs));
        ck_assert_str_eq(world->answer_text, none);
        ck_assert_str_eq(world->answer_headers, headers);
        ck_assert_str_eq(database_text(world->db, world->arena), before);
    }
}
END_TEST

START_TEST(lists_show_nothing_of_others) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);
    static const char *const paths[] = { "/volumes",
                                         "/volumes/detail",
                                         "/volumes?all_tenants=1",
                                         ("/volumes?project_id=" WORLD_PROJECT),
                                         "/attachments?all_tenants=1",
                                         "/messages?all_tenants=1" };

    world_call(world, "POST", "/attachments",
               arena_format(world->arena, "{\"attachment\": {\"volume_uuid\": \"%s\"}}", id));
    ck_assert_int_eq(world->status, 200);
    roles_enter(world, NULL);
    world->token = OTHER_TOKEN;
    for (size_t i = 0; i < LENGTH(paths); i++) {
        world_call(world, "GET", paths[i], NULL);
        ck_assert_ptr_null(strstr(world->answer_text, id));
    }
    ck_assert_int_eq(
        world_call(world, "GET", arena_format(world->arena, "/volumes?marker=%s", id), NULL), 404);
    ck_assert_int_eq(world_call(world, "GET", "/volumes/summary?all_tenants=1", NULL), 200);
    ck_assert_str_eq(world->answer_text, "{\"volume-summary\":{\"total_count\":0,\"total_size\":0,"
                                         "\"metadata\":{}}}");
}
END_TEST

CHECK_MAIN("rights", every_caller_gets_the_response_of_the_table,
           a_list_shows_a_caller_no_more_than_the_object_itself,
           former_rules_let_every_role_of_the_project_in,
           a_change_shows_in_the_text_of_the_database,
           a_bad_body_is_refused_before_rights_and_objects, every_route_has_its_row,
           every_route_below_an_object_loads_it, objects_of_an_invisible_volume_are_not_reached,
           objects_of_others_in_a_body_are_not_found, lists_show_nothing_of_others)
