/*
 * Every route of the API (rights.h) with invalid ids, queries, headers and bodies, by an
 * administrator and a member: refused in JSON, 4xx, and no table has changed.
 */
#include "common/cleanup.h"
#include "common/scoria_headers.h"
#include "tests/lib/check_main.h"
#include "tests/lib/database_text.h"
#include "tests/lib/postgresql.h"
#include "tests/unit/api/rights.h"

#include <stdlib.h>

#define UNKNOWN_KEY "no such key"

static const char *const tokens[] = { "admin:" WORLD_PROJECT, "member:" WORLD_PROJECT };

struct place { /* a route, the row that shows how it is called, and where that is possible */
    const struct route *route;
    const struct group *group;
    const struct row *row;
    struct arena *arena; /* until the next place: worlds come and go */
    struct world *world;
    const char *id;
    const char *before;                /* the database */
    const char *header, *header_value; /* of each request; NULL: none */
};

/* PostgreSQL counts transactions, this file's own ones too. */
static const char *without_marks(char *text) {
    char *mark;

    while ((mark = strstr(text, "commit_marks (")) != NULL) {
        const char *next = strchr(mark, '\n');

        memmove(mark, next ? next + 1 : mark + strlen(mark), next ? strlen(next + 1) + 1 : 1);
    }
    return text;
}

/* A query that a backend got is forgotten by itself, and SQLite counts messages. */
static const char *text_now(struct world *world) {
    world_settle(world);
    world_sql(world, "DELETE FROM operations WHERE phase = 'answered'");
    if (!postgresql_given())
        world_sql(world, "DELETE FROM sqlite_sequence WHERE name = 'outbox'");
    return without_marks(arena_text(world->arena, database_text(world->db, world->arena)));
}

static void place_enter(struct place *place) {
    world_free(place->world);
    place->world = rights_world(place->group, place->row, NULL, true, &place->id);
    place->id = arena_text(place->arena, place->id);
    place->before = text_now(place->world);
    place->world->header = place->header;
    place->world->header_value = place->header_value;
}

static bool place_find(struct place *place) {
    for (place->group = rights_groups; place->group->rows; place->group++)
        for (size_t i = 0; i < place->group->count; i++) {
            place->row = &place->group->rows[i];
            if (rights_row_is_of(place->row, place->route))
                return true;
        }
    return false;
}

/* Calls `visit` at each route that is served. */
static void walk(void (*visit)(struct place *place)) {
    unsigned step = WALK_STEP, number = WALK_FIRST;

    for (const struct route *const *routes = api_routes; *routes; routes++)
        for (const struct route *route = *routes; route->method; route++) {
            autoarena struct arena *arena = arena_new();
            struct place place = { .route = route, .arena = arena };

            if (!(route->flags & ROUTE_ABSENT) && number++ % step == 0 && place_find(&place))
                visit(&place);
            world_free(place.world);
        }
}

/* ---- one request ---- */

static const char *shortened(struct world *world, const char *text) {
    return arena_text_n(world->arena, text, strnlen(text, 300));
}

/* An answer in JSON is JSON, and a fault in JSON has the status as its code. */
static void expect_sound(struct world *world, const char *what) {
    bool json = strstr(world->answer_headers, "application/json") && world->answer_text[0];
    void *fault = world->answer ? json_object_iter(world->answer) : NULL;

    if (json && world->status != 200)
        ck_assert_msg(world->answer != NULL, "%s: %s", what, world->answer_text);
    if (json && fault && world->status >= 400)
        ck_assert_msg(json_integer_value(json_object_get(json_object_iter_value(fault), "code")) ==
                          world->status,
                      "%s: %s", what, world->answer_text);
}

/* An accepted request had better be allowed; the next request finds all as it was. */
static void send(struct place *place, const char *path, const char *body, bool allowed) {
    struct world *world = place->world;
    int status = world_call(world, place->row->method, path, body);
    const char *what = arena_format(world->arena, "%s: %s %s %s", world->token, place->row->method,
                                    shortened(world, path), body ? shortened(world, body) : "");

    ck_assert_msg(status < 500, "%s: %d %s", what, status, world->answer_text);
    ck_assert_msg(status == 400 || status == 403 || status == 404 ||
                      (allowed && (status < 300 || status == 409 || status == 413)),
                  "%s: %d %s", what, status, world->answer_text);
    expect_sound(world, what);
    /* Of QoS specs some a GET changes, too. */
    if (status == 202 || (status < 300 && strcmp(place->row->method, "GET") != 0))
        place_enter(place);
}

/* A refused request changes nothing. */
static void send_by_all(struct place *place, const char *path, const char *body, bool allowed) {
    for (size_t i = 0; i < LENGTH(tokens); i++) {
        place->world->token = tokens[i];
        send(place, path, body, allowed);
    }
    ck_assert_msg(strcmp(place->before, text_now(place->world)) == 0,
                  "%s %s %s changes the database", place->row->method, path, body ? body : "");
}

/* ---- ids ---- */

static const char *hostile_id(struct arena *arena, size_t number, const char *id) {
    static const char *const ids[] = {
        "not-a-uuid",
        "0",
        "-1",
        "99999999999999999999",
        "null",
        "None",
        "*",
        "%",
        "%25",
        "%zz",
        "%00",
        "a%00b",
        "%ff%fe",
        "%c0%af",
        "%ed%a0%80",
        "%F0%9F%92%A9",
        "\xc3\xbc",
        "\xff",
        "%0d%0aX-Header:%20yes",
        "a%2fb",
        "..%2f..",
        "%2e%2e",
        "..",
        "{id}",
        "%25s%25n",
        "'%20OR%20'1'='1",
        "%27;DROP%20TABLE%20volumes;--",
        "%22",
        "%5c",
        "<script>",
        "a;b",
        "%7f",
        "a%20",
        "%20",
    };
    /* almost an existing one */
    static const char *const near[] = { "%s%00", "%s%20", "%20%s", "%s;", "%sx", "%s%2f", "{%s}" };

    if (number < LENGTH(ids))
        return ids[number];
    number -= LENGTH(ids);
    if (number < LENGTH(near))
        return rights_put_id(arena, near[number], id);
    number -= LENGTH(near);
    if (number < 3) {
        size_t size = number == 0 ? 256 : number == 1 ? 4096 : 100000;
        char *text = arena_alloc(arena, size + 1);

        memset(text, 'a', size);
        return text;
    }
    return NULL;
}

/* The pattern of the route with these in its places. */
static const char *path_of(struct arena *arena, const char *pattern, const char *id,
                           const char *key) {
    const char *place = strchr(pattern, '{');
    bool is_id = place && strncmp(place, "{id}", 4) == 0;

    return place ? arena_format(arena, "%.*s%s%s", (int)(place - pattern), pattern,
                                is_id ? id : key, path_of(arena, strchr(place, '}') + 1, id, key))
                 : pattern;
}

static void visit_ids(struct place *place) {
    const char *pattern = place->route->path, *hostile;
    bool has_id = strstr(pattern, "{id}"), has_key = strstr(pattern, "{key}");

    if (!has_id && !has_key)
        return;
    place_enter(place);
    for (size_t i = 0; (hostile = hostile_id(place->arena, i, place->id)); i++) {
        const char *body = rights_put_id(place->arena, place->row->body, place->id);

        if (has_id)
            send_by_all(place, path_of(place->arena, pattern, hostile, "k"), body,
                        !place->route->resource);
        if (has_key)
            send_by_all(place, path_of(place->arena, pattern, place->id, hostile), body,
                        strcmp(place->route->method, "GET") != 0);
    }
}

START_TEST(invalid_ids_are_not_found) {
    walk(visit_ids);
}
END_TEST

/* ---- queries ---- */

static const char *long_text(struct arena *arena, size_t size) {
    char *text = arena_alloc(arena, size + 3);

    memset(text, 'a', size + 2);
    text[0] = text[size + 1] = '"';
    return text;
}

static const char *row_path(struct place *place) {
    return rights_put_id(place->arena, place->row->path, place->id);
}

static const char *const queries[] = {
    "limit=-1",
    "limit=",
    "limit=x",
    "limit=99999999999999999999",
    "limit=1.5",
    "offset=-1",
    "offset=99999999999999999999",
    "offset=x",
    "marker=",
    "marker=%00",
    "marker=%ff",
    "marker='--",
    "marker=99999999-9999-4999-8999-999999999999",
    "sort=",
    "sort=:",
    "sort=no:such",
    "sort=id:up",
    "sort=id;DROP%20TABLE%20volumes",
    "sort=id,id,id:desc,",
    "sort_key=",
    "sort_key=no_such_key",
    "sort_key=id%27",
    "sort_dir=up",
    "sort=id&sort_key=id",
    "sort_key=created_at,id&sort_dir=asc",
    "all_tenants=maybe",
    "all_tenants=%00",
    "with_count=maybe",
    "is_public=maybe",
    "usage=maybe",
    "detail=maybe",
    "list_volume=maybe",
    "cascade=maybe",
    "force=maybe",
    "metadata=%7b",
    "metadata=[]",
    "metadata=%7b%27a%27:%7b%7d%7d",
    "extra_specs=%7b%27k%27:1%7d",
    "extra_specs=%00",
    "created_at=x",
    "created_at=gt:x",
    "created_at=gt:9999999-99-99",
    "updated_at=in:",
    "size=x",
    "size=99999999999999999999",
    "size=-1",
    "bootable=maybe",
    "name=%ff",
    "name=%00",
    "name=%27--",
    "name~=%25%25",
    "status=%f0%9f%92%a9",
    "id=%27%20OR%20%271%27=%271",
    "group_id=x",
    "volume_id=x",
    "host=%00",
    "binary=%27",
    "project_id=%27",
    "no_such_filter=1",
    "%00=1",
    "%zz",
    "%",
    "=",
    "&&&",
    "a[]=1",
    "limit=1&limit=x",
    "name[$ne]=1",
};

static void visit_queries(struct place *place) {
    if (strcmp(place->row->method, "GET") != 0)
        return;
    place_enter(place);
    for (size_t i = 0; i < LENGTH(queries); i++)
        send_by_all(place, arena_format(place->arena, "%s?%s", row_path(place), queries[i]), NULL,
                    true);
    send_by_all(
        place,
        arena_format(place->arena, "%s?name=%s", row_path(place), long_text(place->arena, 100000)),
        NULL, true);
}

START_TEST(invalid_queries_are_refused_or_ignored) {
    walk(visit_queries);
}
END_TEST

/* ---- headers ---- */

static const char *const header_values[] = {
    "",    " ",   "-1",       "0",    "1",
    "1.5", "+1",  "1e3",      "0x10", "99999999999999999999",
    "x",   "nan", "k",        "name", "-9223372036854775809",
    "%00", "'--", "\xff\xfe", "\x01", "99999999-9999-4999-8999-999999999999",
};

static void send_header(struct place *place, const char *name, const char *value) {
    const char *body = rights_put_id(place->arena, place->row->body, place->id);

    place->header = place->world->header = name;
    place->header_value = place->world->header_value = value;
    send_by_all(place, row_path(place), body, true);
}

static void send_header_values(struct place *place, const char *name) {
    for (size_t i = 0; i < LENGTH(header_values); i++)
        send_header(place, name, header_values[i]);
    send_header(place, name, long_text(place->arena, 5000));
}

static void visit_headers(struct place *place) {
    const struct route_query *given = place->route->queries;

    if (!given || given->place != IN_HEADER)
        return;
    place_enter(place);
    send_header_values(place, given->name);
    if (strcmp(given->name, VOLUME_LIMIT_HEADER) == 0)
        send_header_values(place, VOLUME_LIMIT_HEADER_FORMER);
    if (strcmp(given->name, UNIQUE_HEADER) == 0)
        send_header_values(place, UNIQUE_HEADER_FORMER);
}

START_TEST(invalid_headers_are_refused_or_ignored) {
    walk(visit_headers);
}
END_TEST

/* ---- bodies ---- */

/* No body of any route. */
static const char *const broken[] = {
    "",
    " ",
    "{",
    "}",
    "{}}",
    "{\"a\": 1,}",
    "{'a': 1}",
    "{\"a\": NaN}",
    "{\"a\": 1e999}",
    "nul",
    "{\"a\": 1, \"a\": 2}",
    "{\"\xff\": 1}",
    "{\"a\": \"\\u0000\"}",
    "{\"a\": \"\\ud800\"}",
};

/* JSON, but neither a key of ours nor an action. */
static const char *const foreign[] = {
    "null",
    "true",
    "1",
    "-1",
    "\"text\"",
    "[]",
    "[{}]",
    "{\"no such word\": {}}",
    "{\"no such word\": null, \"nor this\": 1}",
    "{\"\": {}}",
    "[[[[[[[[[[1]]]]]]]]]]",
};

/* Values where something else is wanted. */
static const char *const values[] = {
    "null",
    "true",
    "false",
    "0",
    "-1",
    "1.5",
    "1e308",
    "123456789012345678901234567890",
    "1e999",
    "-0",
    "-9223372036854775809",
    "\"\"",
    "\" \"",
    "\"text\"",
    "\"\\u0001\"",
    "\"\\ud83d\\udca9\"",
    "\"-1\"",
    "[]",
    "[null]",
    "[[]]",
    "{}",
    "{\"no such key\": 1}",
    "{\"\": null}",
    "{\"k\": {}}",
};

static const char *nested(struct arena *arena, char opening, unsigned depth, char closing) {
    char *text = arena_alloc(arena, 2 * depth + 1);

    memset(text, opening, depth);
    memset(text + depth, closing, depth);
    return text;
}

static bool takes_any_body(const struct route *route) {
    return route->flags & ROUTE_ANY_VALUE && !route->action;
}

static void visit_broken(struct place *place) {
    if (!place->row->body)
        return;
    place_enter(place);
    for (size_t i = 0; i < LENGTH(broken); i++)
        send_by_all(place, row_path(place), broken[i], false);
    for (size_t i = 0; i < LENGTH(foreign); i++)
        send_by_all(place, row_path(place), foreign[i], takes_any_body(place->route));
    send_by_all(place, row_path(place), nested(place->arena, '[', 5000, ']'), false);
    send_by_all(place, row_path(place), long_text(place->arena, 100000), false);
}

START_TEST(invalid_bodies_are_refused) {
    walk(visit_broken);
}
END_TEST

static bool is_wrapped(const struct route *route) {
    return !(route->flags & (ROUTE_NO_WRAPPER | ROUTE_ONE_FIELD));
}

/* The row's body with `value` in its outermost key, or as `key` of that.  As text: a number that is
 * none of ours is written as it stands. */
static const char *body_with(struct place *place, const char *key, const char *value) {
    struct arena *arena = place->arena;
    const char *text = rights_put_id(arena, place->row->body, place->id), *at;
    json_t *outer = json_keep(arena, json_loads(text, 0, NULL)), *inner = outer;
    const char *word = json_object_iter_key(json_object_iter(outer));

    if (is_wrapped(place->route))
        inner = json_object_get(outer, word);
    if (!key)
        json_object_set_new(outer, word, json_string("@"));
    else if (json_is_object(inner))
        json_object_set_new(inner, key, json_string("@"));
    else
        json_object_set_new(outer, word, json_pack("{s:s}", key, "@"));
    text = json_text(arena, outer);
    at = strstr(text, "\"@\"");
    return arena_format(arena, "%.*s%s%s", (int)(at - text), text, value, at + strlen("\"@\""));
}

/* May this be right?  An invalid object is not, nor an unknown key. */
static bool may_be_right(const struct route *route, const char *key, const char *value) {
    bool whole = !key && is_wrapped(route);

    if (route->flags & (ROUTE_ANY_VALUE | ROUTE_OPEN))
        return true;
    if (key && strcmp(key, UNKNOWN_KEY) == 0)
        return false;
    return !whole || value[0] == '{' ||
           (strcmp(value, "null") == 0 && route->flags & ROUTE_NULL_VALUE);
}

static void send_value(struct place *place, const char *key, const char *value) {
    send_by_all(place, row_path(place), body_with(place, key, value),
                may_be_right(place->route, key, value));
}

static void send_values(struct place *place, const char *key) {
    for (size_t i = 0; i < LENGTH(values); i++)
        send_value(place, key, values[i]);
    send_value(place, key, long_text(place->arena, 100000));
    send_value(place, key, nested(place->arena, '[', 30, ']'));
}

/* Each value in place of each other, and of the one that stands there alone. */
static void visit_values(struct place *place) {
    if (!place->row->body || strcmp(place->row->body, "{}") == 0)
        return;
    place_enter(place);
    send_values(place, NULL);
    if (!(place->route->flags & ROUTE_ANY_VALUE))
        send_values(place, UNKNOWN_KEY);
    for (const struct field *field = place->route->fields; field && field->type; field++)
        send_values(place, field->name);
}

START_TEST(invalid_values_change_nothing) {
    walk(visit_values);
}
END_TEST

CHECK_MAIN("hostile_requests", invalid_ids_are_not_found, invalid_queries_are_refused_or_ignored,
           invalid_headers_are_refused_or_ignored, invalid_bodies_are_refused,
           invalid_values_change_nothing)
