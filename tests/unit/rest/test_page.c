#include "rest/page.h"

#include "common/cleanup.h"
#include "identity/identity.h"
#include "policy/rule.h"
#include "rest/literal.h"
#include "rest/page_read.h"
#include "rest/route.h"
#include "rest/router.h"
#include "tests/lib/check_main.h"
#include "tests/lib/exchange.h"
#include "tests/lib/postgresql.h"

#include <stdio.h>
#include <string.h>

#define MINE   "0123456789abcdef"
#define THEIRS "ffff"

/* ---- a list of volumes ---- */

/* clang-format off */
static const struct resource_column columns[] = {
    { "id",          "v.id",                  COLUMN_TEXT,   false, 0 },
    { "name",        "v.display_name",        COLUMN_TEXT,   true,  0 },
    { "description", "v.display_description", COLUMN_TEXT,   false, 0 },
    { "status",      "v.status",              COLUMN_STATUS, true,  0 },
    { "size",        "v.size_gb",             COLUMN_INT,    true,  0 },
    { "bootable",    "v.bootable",            COLUMN_BOOL,   true,  0 },
    { "group_id",    "v.group_id",            COLUMN_TEXT,   true,  10 },
    { "created_at",  "v.created_at",          COLUMN_TIME,   true,  60 },
    { "updated_at",  "v.updated_at",          COLUMN_TIME,   true,  60 },
    { "project_id",  "v.project_id",          COLUMN_TEXT,   false, 0 },
    { "user_id",     "v.user_id",             COLUMN_TEXT,   false, 0 },
    { "host",        "v.host",                COLUMN_TEXT,   false, 0 },
    { "zone",        "v.availability_zone",   COLUMN_TEXT,   false, 0 },
    { "snapshot",    "v.snapshot_id",         COLUMN_TEXT,   false, 0 },
    { "source",      "v.source_volid",        COLUMN_TEXT,   false, 0 },
    { "format",      "v.format",              COLUMN_TEXT,   false, 0 },
    { "provider",    "v.provider_id",         COLUMN_TEXT,   false, 0 },
    { .name = NULL },
};
/* clang-format on */

static int own_filter(struct request *request, struct page *page, const char *key,
                      const char *value, struct error *err) {
    if (strcmp(key, "own") != 0)
        return 0;
    if (strcmp(value, "bad") == 0)
        return error_set(err, ERROR_BAD_REQUEST, "own is bad");
    page_and(request, page, "v.id <> ? OR v.id = ?",
             DB_VALUES(DB_TEXT(value), DB_TEXT("never")) + 1, 2);
    return 1;
}

static const struct resource rules = {
    .alias = "v",
    .collection = "volumes",
    .links_word = "volumes_links",
    .table = "volumes",
    .columns = columns,
    .default_sort = "created_at",
    .by_project = true,
    .filter = own_filter,
};

static const struct resource all_rules = {
    .alias = "v",
    .collection = "volumes",
    .links_word = "volumes_links",
    .table = "volumes",
    .columns = columns,
    .default_sort = "created_at",
    .filter = own_filter,
};

static const struct resource present_rules = {
    .alias = "v",
    .collection = "volumes",
    .links_word = "volumes_links",
    .table = "volumes",
    .columns = columns,
    .default_sort = "name",
    .by_project = true,
    .all_tenants_by_presence = true,
};

/* Writes the first column of every row, all in one text. */
static int put_rows(struct request *request, const char *sql, const struct page *page,
                    const char **ret_last, unsigned *ret_count, struct error *err) {
    autorows struct db_rows *rows =
        db_query_values(request->work.tx, err, sql, page->query.values, page->query.value_count);
    int more;

    if (!rows)
        return -1;
    while ((more = db_next(rows, err)) > 0) {
        *ret_last = db_copy(rows, 0, request->work.arena);
        *ret_count += 1;
        out_text(&request->out, *ret_last);
    }
    return more;
}

static int list_by(struct request *request, const struct resource *resource, struct error *err) {
    unsigned shown = 0;
    int64_t count = 0;
    struct page page;

    if (page_read(request, resource, &page, err) < 0 ||
        (page.with_count && page_count(request, &page, &count, err) < 0))
        return -1;
    page_and(request, &page, "v.id <> ?", DB_VALUES(DB_TEXT("hidden")) + 1, 1);
    out_begin_object(&request->out);
    out_key(&request->out, "ids");
    out_begin_array(&request->out);
    if (put_rows(
            request,
            arena_format(request->work.arena,
                         "SELECT v.id FROM volumes v WHERE %s ORDER BY %s LIMIT %jd OFFSET %jd",
                         page.query.where, page.query.order, (intmax_t)page.query.limit,
                         (intmax_t)page.query.offset),
            &page, &page.last_id, &shown, err) < 0)
        return -1;
    out_end_array(&request->out);
    page_put_links(request, &page, shown, count, true);
    if (page.with_count)
        out_put_int(&request->out, "count", count);
    out_put_bool(&request->out, "empty", page.empty);
    out_end_object(&request->out);
    return 0;
}

static int list(struct request *request, struct error *err) {
    return list_by(request, &rules, err);
}

static int list_all(struct request *request, struct error *err) {
    return list_by(request, &all_rules, err);
}

static int list_present(struct request *request, struct error *err) {
    return list_by(request, &present_rules, err);
}

/* How SQLite goes about it. */
static int plan(struct request *request, struct error *err) {
    struct page page;
    int more;

    if (page_read(request, &rules, &page, err) < 0)
        return -1;
    autorows struct db_rows *rows = db_query_values(
        request->work.tx, err,
        arena_format(request->work.arena,
                     "EXPLAIN QUERY PLAN SELECT v.id FROM volumes v WHERE %s ORDER BY %s",
                     page.query.where, page.query.order),
        page.query.values, page.query.value_count);
    if (!rows)
        return -1;
    out_begin_array(&request->out);
    while ((more = db_next(rows, err)) > 0)
        out_text(&request->out, db_text(rows, 3));
    out_end_array(&request->out);
    return more;
}

static const struct route page_routes[] = {
    { .method = "GET", .path = "/list", .handler = list, .status = 200, .flags = ROUTE_TEXT },
    { .method = "GET", .path = "/all", .handler = list_all, .status = 200, .flags = ROUTE_TEXT },
    { .method = "GET",
      .path = "/present",
      .handler = list_present,
      .status = 200,
      .flags = ROUTE_TEXT },
    { .method = "GET", .path = "/plan", .handler = plan, .status = 200, .flags = ROUTE_TEXT },
    ROUTES_END,
};

const struct route *const api_routes[] = { page_routes, NULL };

/* ---- the service around it ---- */

static const char *const member_roles[] = { "member", NULL };

static enum identity_outcome authenticate(const struct identity *identity,
                                          struct http_exchange *exchange, const char *path_project,
                                          const struct identity_later *later,
                                          struct context *context, struct error *err) {
    const char *token = http_header(exchange, "X-Auth-Token");

    if (strcmp(token, "member") != 0)
        return identity_none.authenticate(identity, exchange, path_project, later, context, err);
    context->user_id = "u";
    context->project_id = MINE;
    context->roles = member_roles;
    return IDENTITY_KNOWN;
}

struct service {
    struct db *db;
    struct settings settings;
    struct policy *policy;
    struct api *api;
};

static int insert_volumes(struct db_tx *tx, void *arg, struct error *err) {
    static const struct {
        const char *id, *project, *name, *description, *status;
        int size;
        bool bootable;
        int64_t created_day, updated_day;
    } rows[] = {
        { "a", MINE, "alpha", NULL, "available", 1, false, 1, 0 },
        { "b", MINE, "beta", "50% off", "in-use", 2, true, 2, 5 },
        { "c", MINE, "['x']", "a_b", "available", 3, false, 3, 6 },
        { "d", MINE, NULL, "AxB", "error", 3, true, 4, 0 },
        { "e", MINE, "alpha", "off", "creating", 5, false, 4, 7 },
        { "x", THEIRS, "xi", NULL, "available", 9, false, 5, 0 },
        { "hidden", "0000", "h", NULL, "error", 1, false, 0, 0 },
    };

    (void)arg;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const int64_t day_us = 86400000000;
        const int64_t updated_us = rows[i].updated_day * day_us;

        if (db_run(
                tx, err,
                "INSERT INTO volumes (id, project_id, user_id, availability_zone, display_name, "
                "display_description, size_gb, largest_gb, status, status_by_reset, "
                "attach_status, bootable, multiattach, use_quota, created_at, updated_at) VALUES "
                "($1, $2, 'u', 'nova', $3, $4, $5, 1, $6, 0, 'detached', $7, 0, 1, $8, $9)",
                DB_TEXT(rows[i].id), DB_TEXT(rows[i].project), DB_TEXT(rows[i].name),
                DB_TEXT(rows[i].description), DB_INT(rows[i].size), DB_TEXT(rows[i].status),
                DB_BOOL(rows[i].bootable), DB_INT(rows[i].created_day * day_us),
                DB_TIME(updated_us)) < 0)
            return -1;
    }
    return 0;
}

static void service_start(struct service *service, int64_t max_limit) {
    static const struct identity identity = { .name = "test", .authenticate = authenticate };
    struct api_settings api = { .identity = &identity,
                                .inline_transactions = true,
                                .public_endpoint = "http://h" };
    struct error err = { .kind = ERROR_NONE };

    *service = (struct service){ .settings = { .clock = &clock_system, .max_limit = max_limit } };
    log_open(-1, LOG_ERROR, LOG_TEXT);
    ck_assert_int_eq(db_open(&(struct db_settings){ .url = database_url(), .inline_writes = true },
                             &service->db, &err),
                     0);
    ck_assert_msg(db_transaction(service->db, insert_volumes, NULL, &err) == 0, "%s", err.message);
    ck_assert_int_eq(policy_load(&(struct policy_settings){ .enforce_new_defaults = true },
                                 &service->policy, &err),
                     0);
    api.db = service->db;
    api.settings = &service->settings;
    api.policy = service->policy;
    ck_assert_int_eq(api_new(&api, &service->api, &err), 0);
}

static void service_end(struct service *service) {
    api_free(service->api);
    db_close(service->db);
    policy_free(service->policy);
}
#define autoservice __attribute__((cleanup(service_end)))
#define SERVICE                         \
    autoservice struct service service; \
    service_start(&service, 1000)

#define MEMBER "member"
#define ADMIN  "root:" MINE

static struct test_exchange *send_request(struct service *service, const char *token,
                                          unsigned minor, const char *path, const char *query,
                                          int status) {
    char version[32];
    const struct http_header headers[] = { { "X-Auth-Token", token },
                                           { "OpenStack-API-Version", version },
                                           { NULL, NULL } };
    struct test_exchange *test = test_exchange_new("GET", path, headers, NULL);

    snprintf(version, sizeof(version), "volume 3.%u", minor);
    test_exchange_of(test)->query = query;
    api_handle(service->api, test_exchange_of(test));
    ck_assert_msg(test_exchange_await(test) == status, "%s?%s: %d: %.*s", path, query,
                  test_exchange_of(test)->status, (int)test_exchange_of(test)->reply_size,
                  test_exchange_of(test)->reply_body);
    return test;
}

static void expect_at(struct service *service, const char *token, unsigned minor, const char *path,
                      const char *query, const char *ids) {
    struct test_exchange *test = send_request(service, token, minor, path, query, 200);
    const json_t *list_of_ids = json_object_get(test_exchange_json(test), "ids");
    char got[100] = "";

    for (size_t i = 0; i < json_array_size(list_of_ids); i++)
        strcat(got, json_string_value(json_array_get(list_of_ids, i)));
    ck_assert_msg(strcmp(got, ids) == 0, "%s at 3.%u: '%s' instead of '%s'", query, minor, got,
                  ids);
    test_exchange_free(test);
}

static void expect(struct service *service, const char *query, const char *ids) {
    expect_at(service, MEMBER, 71, "/v3/list", query, ids);
    expect_at(service, ADMIN, 71, "/v3/list", query, ids);
}

static void admin(struct service *service, const char *query, const char *ids) {
    expect_at(service, ADMIN, 71, "/v3/list", query, ids);
}

static void refused_at(struct service *service, const char *token, unsigned minor,
                       const char *query, int status) {
    test_exchange_free(send_request(service, token, minor, "/v3/list", query, status));
}

static void refused(struct service *service, const char *query) {
    refused_at(service, MEMBER, 71, query, 400);
    refused_at(service, ADMIN, 0, query, 400);
}

/* ---- paging ---- */

START_TEST(the_newest_come_first_and_only_ones_own) {
    SERVICE;

    expect(&service, "", "edcba");
    expect_at(&service, MEMBER, 71, "/v3/all", "", "xedcba");
}
END_TEST

START_TEST(limit_offset_and_marker_cut_the_list) {
    SERVICE;

    expect(&service, "limit=2", "ed");
    expect(&service, "limit=0", "");
    expect(&service, "limit=2&marker=d", "cb");
    expect(&service, "marker=a", "");
    expect(&service, "offset=3", "ba");
    expect(&service, "limit=1&offset=1&marker=e", "c");
    expect(&service, "limit=99999999999", "edcba");
    expect(&service, "limit=99999999999999999999", "edcba");
    expect(&service, "limit=1&limit=3", "edc");
}
END_TEST

START_TEST(pages_cover_every_row_once_in_every_order) {
    static const char *const orders[] = {
        "",
        "sort=name",
        "sort=name:asc",
        "sort=size:asc,name:desc",
        "sort=size:desc,name:asc",
        "sort=updated_at:asc",
        "sort=updated_at",
        "sort=bootable:asc,size",
        "sort=id:asc",
        "sort=created_at:asc",
        "sort=description:asc,status:asc,created_at:desc",
    };
    SERVICE;

    for (size_t i = 0; i < LENGTH(orders); i++) {
        char whole[100] = "", pages[100] = "", marker[20] = "";

        for (int page = -1; page < 6; page++) {
            char query[200];
            struct test_exchange *test;
            const json_t *ids;

            snprintf(query, sizeof(query), "%s%s%s%s", orders[i], page < 0 ? "" : "&limit=1",
                     *marker ? "&marker=" : "", marker);
            test = send_request(&service, ADMIN, 71, "/v3/list", query, 200);
            ids = json_object_get(test_exchange_json(test), "ids");
            for (size_t j = 0; j < json_array_size(ids); j++) {
                strcat(page < 0 ? whole : pages, json_string_value(json_array_get(ids, j)));
                if (page >= 0)
                    strcpy(marker, json_string_value(json_array_get(ids, j)));
            }
            test_exchange_free(test);
        }
        ck_assert_uint_eq(strlen(whole), 5);
        ck_assert_msg(strcmp(whole, pages) == 0, "%s: '%s' but '%s'", orders[i], whole, pages);
    }
}
END_TEST

START_TEST(bad_numbers_and_unknown_markers_are_refused) {
    SERVICE;

    refused(&service, "limit=-1");
    refused(&service, "limit=x");
    refused(&service, "limit=9999999999999999999x");
    refused(&service, "limit=");
    refused(&service, "limit=1.0");
    refused(&service, "offset=-1");
    refused(&service, "offset=2147483648");
    refused_at(&service, MEMBER, 71, "marker=nothing", 404);
    refused_at(&service, MEMBER, 71, "marker=x", 404);
    refused_at(&service, ADMIN, 71, "marker=x", 404);
    expect_at(&service, ADMIN, 71, "/v3/list", "marker=x&all_tenants=1", "edcba");
}
END_TEST

START_TEST(a_page_behind_a_marker_is_found_by_the_index) {
    if (postgresql_given())
        return; /* the plan is compared in SQLite's wording */
    SERVICE;
    struct test_exchange *test = send_request(&service, MEMBER, 71, "/v3/plan", "marker=d", 200);
    const char *text = json_string_value(json_array_get(test_exchange_json(test), 0));

    ck_assert_uint_eq(json_array_size(test_exchange_json(test)), 1);
    ck_assert_msg(strstr(text, "volumes_by_project (project_id=? AND (created_at,id)<(?,?))"), "%s",
                  text);
    test_exchange_free(test);
    test = send_request(&service, ADMIN, 71, "/v3/plan", "marker=d&all_tenants=1", 200);
    text = json_string_value(json_array_get(test_exchange_json(test), 0));
    ck_assert_uint_eq(json_array_size(test_exchange_json(test)), 1);
    ck_assert_msg(strstr(text, "volumes_by_time ((created_at,id)<(?,?))"), "%s", text);
    test_exchange_free(test);
}
END_TEST

/* ---- sorting ---- */

START_TEST(both_forms_of_sorting_are_read) {
    SERVICE;

    expect(&service, "sort=name:asc", "dcaeb");
    expect(&service, "sort=name", "beacd");
    expect(&service, "sort_key=name&sort_dir=asc", "dcaeb");
    expect(&service, "sort_key=name", "beacd");
    expect(&service, "sort_dir=asc", "abcde");
    expect(&service, "sort=size:asc,name:desc", "abcde");
    expect(&service, "sort=%20size%20:%20asc%20,%20name", "abcde");
    expect(&service, "sort=size:", "edcba");
    expect(&service, "sort=size:desc,name:asc&marker=e&limit=2", "dc");
    expect_at(&service, MEMBER, 71, "/v3/present", "sort_dir=asc", "dcaeb");
}
END_TEST

START_TEST(rows_without_a_value_are_sorted) {
    SERVICE;

    expect(&service, "sort=updated_at:asc", "adbce");
    expect(&service, "sort=updated_at:asc&marker=a", "dbce");
    expect(&service, "sort=updated_at:asc&marker=d&limit=2", "bc");
    expect(&service, "sort=name:asc&marker=d", "caeb");
}
END_TEST

START_TEST(bad_sorting_is_refused) {
    SERVICE;

    refused(&service, "sort=nothing");
    refused(&service, "sort=name:up");
    refused(&service, "sort=");
    refused(&service, "sort=name,");
    refused(&service, "sort=name&sort_dir=asc");
    refused(&service, "sort=name&sort_key=name");
    refused(&service, "sort_key=v.id");
    refused(&service, "sort_dir=ASC");
    expect(&service,
           "sort=id,name,description,status,size,bootable,group_id,created_at,updated_at,"
           "project_id,user_id,host,zone,snapshot,source,format",
           "edcba");
    refused(&service,
            "sort=id,name,description,status,size,bootable,group_id,created_at,updated_at,"
            "project_id,user_id,host,zone,snapshot,source,format,provider");
}
END_TEST

/* ---- filters ---- */

START_TEST(values_are_read_as_literals_but_names_are_not) {
    SERVICE;

    expect(&service, "status=available", "ca");
    expect(&service, "status='available'", "ca");
    expect(&service, "status=[%27available%27,%22error%22]", "dca");
    expect(&service, "status=('in-use',)", "b");
    expect(&service, "status=[]", "");
    expect(&service, "name=alpha", "ea");
    expect(&service, "name='alpha'", "");
    expect(&service, "name=['x']", "c");
    expect(&service, "size=3", "dc");
    expect(&service, "size=3.0", "dc");
    expect(&service, "size=[3,5,'1']", "edca");
    expect(&service, "size=3.5", "");
    expect(&service, "size=big", "");
    expect(&service, "size=nan", "");
    expect(&service, "size=", "");
    expect(&service, "size=99999999999999999999", "");
    expect(&service, "status=available&size=1", "a");
    expect(&service, "status=error&status=available", "ca");
    admin(&service, "description=None", "a");
    admin(&service, "description=[None,'off']", "ea");
    admin(&service, "id=a", "a");
}
END_TEST

START_TEST(too_many_values_are_refused) {
    static char query[8000] = "size=[1";
    SERVICE;

    for (int i = 0; i < 1000; i++)
        strcat(query, ",1");
    strcat(query, "]");
    refused_at(&service, MEMBER, 71, query, 400);
}
END_TEST

START_TEST(booleans_are_loose_below_3_2_and_strict_from_there_on) {
    SERVICE;

    expect(&service, "bootable=true", "db");
    expect(&service, "bootable=N", "eca");
    refused_at(&service, MEMBER, 2, "bootable=maybe", 400);
    expect_at(&service, MEMBER, 1, "/v3/list", "bootable=maybe", "db");
    expect_at(&service, MEMBER, 1, "/v3/list", "bootable=FALSE", "eca");
    expect_at(&service, MEMBER, 1, "/v3/list", "bootable=", "eca");
}
END_TEST

START_TEST(times_are_compared_and_joined_with_or) {
    SERVICE;

    expect(&service, "created_at=gt:1970-01-04", "ed");
    expect(&service, "created_at=gte:1970-01-04T00:00:00", "edc");
    expect(&service, "created_at=eq:1970-01-02T00:00:00Z", "a");
    expect(&service, "created_at=lt:1970-01-03,eq:1970-01-04", "ca");
    expect(&service, "created_at=lte:1970-01-02", "a");
    expect(&service, "updated_at=neq:1970-01-06", "ec");
    refused_at(&service, MEMBER, 71, "created_at=1970-01-02", 400);
    refused_at(&service, MEMBER, 71, "created_at=like:1970-01-02", 400);
    refused_at(&service, MEMBER, 71, "created_at=gt:soon", 400);
    refused_at(&service, MEMBER, 71, "created_at=gt:1970-01-02,", 400);
    refused_at(&service, MEMBER, 71, "created_at=", 400);
    refused_at(&service, MEMBER, 71,
               "created_at=gt:2000,gt:2000,gt:2000,gt:2000,gt:2000,gt:2000,gt:2000,gt:2000,gt:2000,"
               "gt:2000,gt:2000,gt:2000,gt:2000,gt:2000,gt:2000,gt:2000,gt:2000,gt:2000",
               400);
    expect_at(&service, MEMBER, 30, "/v3/list", "created_at=nonsense", "edcba");
    expect_at(&service, ADMIN, 30, "/v3/list", "created_at=gt:1970-01-04", "edcba");
    expect_at(&service, ADMIN, 31, "/v3/list", "created_at=gt:1970-01-04", "ed");
}
END_TEST

START_TEST(contains_is_literal_and_for_admins) {
    SERVICE;

    admin(&service, "name~=ALPH", "ea");
    admin(&service, "description~=off", "eb");
    admin(&service, "description~=%25", "b");
    admin(&service, "description~=a_b", "c");
    admin(&service, "description~=!", "");
    admin(&service, "size~=3", "dc");
    refused_at(&service, MEMBER, 71, "name~=a", 400);
    expect_at(&service, ADMIN, 33, "/v3/list", "name~=alp", "");
    expect_at(&service, MEMBER, 30, "/v3/list", "name~=alp", "edcba");
    admin(&service, "~=x", "");
}
END_TEST

START_TEST(permitted_filters_depend_on_caller_and_version) {
    SERVICE;

    refused_at(&service, MEMBER, 31, "description=off", 400);
    refused_at(&service, MEMBER, 31, "nothing=1", 400);
    refused_at(&service, MEMBER, 31, "with_count=1", 400);
    expect_at(&service, MEMBER, 30, "/v3/list", "description=off", "edcba");
    expect_at(&service, MEMBER, 30, "/v3/list", "nothing=1", "edcba");
    expect_at(&service, ADMIN, 30, "/v3/list", "description=off", "e");
    expect_at(&service, ADMIN, 71, "/v3/list", "nothing=1", "");
    expect_at(&service, ADMIN, 44, "/v3/list", "with_count=1", "");
    expect_at(&service, ADMIN, 9, "/v3/list", "group_id=1", "edcba");
    expect_at(&service, MEMBER, 9, "/v3/list", "group_id=1", "edcba");
    expect_at(&service, MEMBER, 10, "/v3/list", "group_id=1", "");
    refused_at(&service, ADMIN, 31, "%C3%A4=1", 400);
    expect_at(&service, MEMBER, 30, "/v3/list", "%C3%A4=1", "edcba");
    expect_at(&service, ADMIN, 71, "/v3/list", "project_id=" THEIRS "&all_tenants=1", "x");
}
END_TEST

START_TEST(a_lists_own_filters_come_first) {
    SERVICE;

    expect(&service, "own=a", "edcb");
    expect(&service, "own=a&status=available&size=3&marker=d", "c");
    refused_at(&service, MEMBER, 0, "own=bad", 400);
    expect_at(&service, ADMIN, 71, "/v3/present", "own=a", "");
}
END_TEST

START_TEST(all_tenants_is_for_admins) {
    SERVICE;

    expect_at(&service, ADMIN, 71, "/v3/list", "all_tenants=1", "xedcba");
    expect_at(&service, ADMIN, 71, "/v3/list", "all_tenants=0", "edcba");
    expect_at(&service, MEMBER, 71, "/v3/list", "all_tenants=1", "edcba");
    expect_at(&service, MEMBER, 0, "/v3/list", "all_tenants=x", "edcba");
    refused_at(&service, ADMIN, 71, "all_tenants=x", 400);
    expect_at(&service, ADMIN, 71, "/v3/present", "all_tenants=0", "xbeacd");
}
END_TEST

/* ---- links and count ---- */

static const char *next_of(struct test_exchange *test) {
    const json_t *links = json_object_get(test_exchange_json(test), "volumes_links");

    ck_assert_uint_le(json_array_size(links), 1);
    return json_string_value(json_object_get(json_array_get(links, 0), "href"));
}

START_TEST(a_full_page_links_to_the_next) {
    SERVICE;
    struct test_exchange *test = send_request(&service, MEMBER, 71, "/v3/" MINE "/list",
                                              "limit=2&marker=e&name=alpha%26&x", 400);

    test_exchange_free(test);
    test = send_request(&service, MEMBER, 30, "/v3/" MINE "/list",
                        "limit=1&marker=e&y=%C3%A4%26&x&name=alpha", 200);
    ck_assert_str_eq(next_of(test), "http://h/v3/" MINE
                                    "/volumes/detail?limit=1&y=%C3%A4%26&x=&name=alpha&marker=a");
    test_exchange_free(test);
    test = send_request(&service, MEMBER, 71, "/v3/list", "limit=6", 200);
    ck_assert_ptr_null(next_of(test));
    test_exchange_free(test);
    test = send_request(&service, MEMBER, 71, "/v3/list", "limit=0", 200);
    ck_assert_ptr_null(next_of(test));
    test_exchange_free(test);
}
END_TEST

START_TEST(without_a_limit_the_maximum_counts) {
    autoservice struct service service;
    struct test_exchange *test;

    service_start(&service, 3);
    test = send_request(&service, MEMBER, 71, "/v3/list", "", 200);
    ck_assert_str_eq(next_of(test), "http://h/v3/volumes/detail?marker=c");
    test_exchange_free(test);
    expect(&service, "limit=50", "edc");
}
END_TEST

START_TEST(the_count_is_of_all_matches) {
    SERVICE;
    struct test_exchange *test = send_request(
        &service, MEMBER, 45, "/v3/list", "with_count=true&limit=1&marker=d&status=available", 200);

    ck_assert_int_eq(json_integer_value(json_object_get(test_exchange_json(test), "count")), 2);
    ck_assert_ptr_nonnull(next_of(test));
    test_exchange_free(test);
    test = send_request(&service, MEMBER, 45, "/v3/list", "with_count=0&limit=1", 200);
    ck_assert_ptr_null(json_object_get(test_exchange_json(test), "count"));
    test_exchange_free(test);
    refused_at(&service, MEMBER, 45, "with_count=x", 400);
}
END_TEST

/* ---- literals ---- */

static void literal(const char *text, const char *joined) {
    autoarena struct arena *arena = arena_new();
    struct literal read;
    char got[200] = "";

    literal_read(arena, text, &read);
    for (unsigned i = 0; i < read.count; i++) {
        strcat(got, i ? "|" : "");
        strcat(got, read.texts[i] ? read.texts[i] : "<none>");
    }
    ck_assert_msg(strcmp(got, joined) == 0, "%s: %s instead of %s", text, got, joined);
}

START_TEST(literals_are_numbers_texts_names_and_lists_of_them) {
    literal("5", "5");
    literal("-5.5e3", "-5.5e3");
    literal(" 'a b' ", "a b");
    literal("\"a'b\"", "a'b");
    literal("'a\\'b'", "a'b");
    literal("['a\\nb\\t']", "a\nb\t");
    literal("None", "<none>");
    literal("True", "True");
    literal("[1, 'b',None ]", "1|b|<none>");
    literal("(1,)", "1");
    literal("[ ]", "");
    literal("plain text", "plain text");
    literal("'open", "'open");
    literal("'a' b", "'a' b");
    literal("[1, b]", "[1, b]");
    literal("[1 2]", "[1 2]");
    literal("[1", "[1");
    literal("[1,", "[1,");
    literal("[[1]]", "[[1]]");
    literal("[1] x", "[1] x");
    literal("{'a': 'b'}", "{'a': 'b'}");
    literal("", "");
    literal("'\\", "'\\");
}
END_TEST

CHECK_MAIN("page", the_newest_come_first_and_only_ones_own, limit_offset_and_marker_cut_the_list,
           pages_cover_every_row_once_in_every_order, bad_numbers_and_unknown_markers_are_refused,
           a_page_behind_a_marker_is_found_by_the_index, both_forms_of_sorting_are_read,
           rows_without_a_value_are_sorted, bad_sorting_is_refused,
           values_are_read_as_literals_but_names_are_not, too_many_values_are_refused,
           booleans_are_loose_below_3_2_and_strict_from_there_on,
           times_are_compared_and_joined_with_or, contains_is_literal_and_for_admins,
           permitted_filters_depend_on_caller_and_version, a_lists_own_filters_come_first,
           all_tenants_is_for_admins, a_full_page_links_to_the_next,
           without_a_limit_the_maximum_counts, the_count_is_of_all_matches,
           literals_are_numbers_texts_names_and_lists_of_them)
