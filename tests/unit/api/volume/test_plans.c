/* How SQLite finds the rows of a query: the plan of the very statement that ran, and its steps. */
#include "common/cleanup.h"
#include "model/snapshot/snapshot.h"
#include "model/volume/volume.h"
#include "tests/lib/check_main.h"
#include "tests/lib/postgresql.h"
#include "tests/lib/roles.h"
#include "tests/lib/snapshots.h"
#include "tests/lib/world.h"

#include <sqlite3.h>
#include <string.h>

/* The last list, and the last read of one volume; the texts are SQLite's own, so they are copied
 * while they run. */
static struct {
    sqlite3 *handle;
    char sql[4096], one[4096];
} ran;

static int64_t steps_done; /* of statements about operations, as SQLite counts them */

static int statement_seen(unsigned kind, void *arg, void *statement, void *text) {
    const char *sql = sqlite3_sql(statement);

    (void)arg, (void)text;
    if (kind == SQLITE_TRACE_PROFILE) {
        if (strstr(sql, " operations "))
            steps_done += sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1);
    } else if ((strstr(sql, " FROM volumes v ") || strstr(sql, " FROM attachments a ") ||
                strstr(sql, " FROM messages m ") || strstr(sql, " FROM snapshots s ") ||
                strstr(sql, " FROM volume_groups g ") || strstr(sql, " FROM group_snapshots gs ") ||
                strstr(sql, " FROM group_types t ") || strstr(sql, " FROM qos_specs q ")) &&
               strstr(sql, " LIMIT ")) {
        ran.handle = sqlite3_db_handle(statement);
        ck_assert_uint_lt(strlen(sql), sizeof(ran.sql));
        strcpy(ran.sql, sql);
    } else if (strstr(sql, " FROM volumes v ") && strstr(sql, " WHERE v.id = ")) {
        ran.handle = sqlite3_db_handle(statement);
        ck_assert_uint_lt(strlen(sql), sizeof(ran.one));
        strcpy(ran.one, sql);
    }
    return 0;
}

static int database_opened(sqlite3 *handle, const char **message, const void *routines) {
    (void)message, (void)routines;
    return sqlite3_trace_v2(handle, SQLITE_TRACE_STMT | SQLITE_TRACE_PROFILE, statement_seen, NULL);
}

static struct world *watched_world(void) {
    ran.handle = NULL;
    ck_assert_int_eq(sqlite3_auto_extension((void (*)(void))database_opened), SQLITE_OK);
    world_open_anew();
    return world_new(NULL);
}

static sqlite3_stmt *explained(struct world *world, const char *sql) {
    sqlite3_stmt *statement = NULL;

    sql = arena_format(world->arena, "EXPLAIN QUERY PLAN %s", sql);
    ck_assert_int_eq(sqlite3_prepare_v2(ran.handle, sql, -1, &statement, NULL), SQLITE_OK);
    return statement;
}

/* The steps of the plan that find and order the volumes themselves, with '\n' behind each. */
static const char *plan_of_list(struct world *world, const char *path) {
    sqlite3_stmt *statement;
    const char *plan = "";

    ran.handle = NULL;
    ck_assert_msg(world_call(world, "GET", path, NULL) == 200, "%s: %s", path, world->answer_text);
    ck_assert_ptr_nonnull(ran.handle);
    statement = explained(world, ran.sql);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const char *step = (const char *)sqlite3_column_text(statement, 3);

        if (strstr(step, " v ") || strstr(step, " a ") || strstr(step, " m ") ||
            strstr(step, " g ") || strstr(step, " s ") || strstr(step, " gs ") ||
            strstr(step, "SCAN t ") || strstr(step, "SCAN q ") ||
            strstr(step, " group_types_by_") || strstr(step, " pair ") || strstr(step, "ORDER BY"))
            plan = arena_format(world->arena, "%s%s\n", plan, step);
    }
    sqlite3_finalize(statement);
    return plan;
}

static const char *plan_of(struct world *world, const char *query) {
    return plan_of_list(world, arena_format(world->arena, "/volumes%s", query));
}

#define SORTED "USE TEMP B-TREE FOR ORDER BY\n"

START_TEST(volumes_are_looked_up_by_an_index) {
    static const struct {
        const char *query, *plan;
        bool is_member; /* the caller; else the administrator */
    } lists[] = {
        { "/detail?limit=100", "SEARCH v USING INDEX volumes_by_project (project_id=?)\n", false },
        { "?limit=100&sort=created_at:asc",
          "SEARCH v USING INDEX volumes_by_project (project_id=?)\n", false },
        { "/detail?status=error&limit=100",
          "SEARCH v USING INDEX volumes_by_status (status=? AND project_id=?)\n", false },
        { "?status=available",
          "SEARCH v USING INDEX volumes_by_status (status=? AND project_id=?)\n", false },
        /* as a compute agent queries: few have the status, sorting them costs nothing */
        { "/detail?all_tenants=1&status=extending&limit=1000",
          "SEARCH v USING INDEX volumes_by_status (status=?)\n" SORTED, false },
        { "/detail?name=a",
          "SEARCH v USING INDEX volumes_by_name (display_name=? AND project_id=?)\n", false },
        { "?all_tenants=1&name=a", "SEARCH v USING INDEX volumes_by_name (display_name=?)\n" SORTED,
          false },
        { "/detail?all_tenants=1&limit=100", "SCAN v USING INDEX volumes_by_time\n", false },
        { "/detail", "SEARCH v USING INDEX volumes_by_project (project_id=?)\n", true },
        { "/detail?status=error",
          "SEARCH v USING INDEX volumes_by_status (status=? AND project_id=?)\n", true },
        { "/detail?name=a",
          "SEARCH v USING INDEX volumes_by_name (display_name=? AND project_id=?)\n", true },
    };

    if (postgresql_given())
        return; /* it has plans of its own */

    autoworld struct world *world = watched_world();
    const char *administrator = world->token;

    roles_enter(world, NULL);
    for (size_t i = 0; i < LENGTH(lists); i++) {
        world->token = lists[i].is_member ? "reader:" WORLD_PROJECT : administrator;
        ck_assert_str_eq(plan_of(world, lists[i].query), lists[i].plan);
    }
}
END_TEST

START_TEST(a_page_of_a_list_is_read_in_its_order) {
    static const struct {
        const char *path, *step; /* the first; nothing is sorted */
    } lists[] = {
        { "/snapshots/detail?limit=100",
          "SEARCH s USING INDEX snapshots_by_project (project_id=?)\n" },
        { "/snapshots/detail?sort=created_at:asc",
          "SEARCH s USING INDEX snapshots_by_project (project_id=?)\n" },
        { "/snapshots/detail?status=error",
          "SEARCH s USING INDEX snapshots_by_status (status=? AND project_id=?)\n" },
        { "/snapshots/detail?name=a",
          "SEARCH s USING INDEX snapshots_by_name (display_name=? AND project_id=?)\n" },
        { "/snapshots/detail?description=a",
          "SEARCH s USING INDEX snapshots_by_description (display_description=? AND project_id=?)\n" },
        { "/snapshots/detail?volume_id=a",
          "SEARCH s USING INDEX snapshots_in_order_of_volume (project_id=? AND volume_id=?)\n" },
        { "/snapshots/detail?sort=volume_id",
          "SEARCH s USING INDEX snapshots_in_order_of_volume (project_id=?)\n" },
        { "/snapshots/detail?sort=volume_id:asc",
          "SEARCH s USING INDEX snapshots_in_order_of_volume (project_id=?)\n" },
        { "/snapshots/detail?sort=name",
          "SEARCH s USING INDEX snapshots_in_order_of_name (project_id=?)\n" },
        { "/snapshots/detail?sort=name:asc",
          "SEARCH s USING INDEX snapshots_in_order_of_name (project_id=?)\n" },
        { "/snapshots/detail?sort=size",
          "SEARCH s USING INDEX snapshots_in_order_of_size (project_id=?)\n" },
        { "/snapshots/detail?sort=status",
          "SEARCH s USING INDEX snapshots_in_order_of_status (project_id=?)\n" },
        { "/snapshots/detail?sort=id",
          "SEARCH s USING INDEX snapshots_in_order_of_id (project_id=?)\n" },
        { "/snapshots/detail?availability_zone=a",
          "SEARCH s USING INDEX snapshots_in_order_of_zone (project_id=? AND availability_zone=?)\n" },
        { "/snapshots/detail?sort=availability_zone",
          "SEARCH s USING INDEX snapshots_in_order_of_zone (project_id=?)\n" },
        { "/volumes/detail?availability_zone=a",
          "SEARCH v USING INDEX volumes_in_order_of_zone (project_id=? AND availability_zone=?)\n" },
        { "/volumes/detail?sort=availability_zone",
          "SEARCH v USING INDEX volumes_in_order_of_zone (project_id=?)\n" },
        { "/groups/detail", "SEARCH g USING INDEX volume_groups_by_project (project_id=?)\n" },
        { "/groups/detail?name=a",
          "SEARCH g USING INDEX volume_groups_by_name (display_name=? AND project_id=?)\n" },
        { "/groups/detail?description=a",
          "SEARCH g USING INDEX volume_groups_by_description (display_description=? AND project_id=?)\n" },
        { "/groups/detail?status=error",
          "SEARCH g USING INDEX volume_groups_by_status (status=? AND project_id=?)\n" },
        { "/groups/detail?availability_zone=a",
          "SEARCH g USING INDEX volume_groups_in_order_of_zone (project_id=? AND availability_zone=?)\n" },
        { "/groups/detail?group_type_id=a",
          "SEARCH g USING INDEX volume_groups_by_type (group_type_id=? AND project_id=?)\n" },
        { "/groups/detail?sort=availability_zone",
          "SEARCH g USING INDEX volume_groups_in_order_of_zone (project_id=?)\n" },
        { "/groups/detail?sort=name",
          "SEARCH g USING INDEX volume_groups_in_order_of_name (project_id=?)\n" },
        { "/groups/detail?sort=name:asc",
          "SEARCH g USING INDEX volume_groups_in_order_of_name (project_id=?)\n" },
        { "/groups/detail?sort=status",
          "SEARCH g USING INDEX volume_groups_in_order_of_status (project_id=?)\n" },
        { "/groups/detail?sort=updated_at",
          "SEARCH g USING INDEX volume_groups_in_order_of_change (project_id=?)\n" },
        { "/groups/detail?sort=id",
          "SEARCH g USING INDEX volume_groups_in_order_of_id (project_id=?)\n" },
        { "/group_snapshots/detail",
          "SEARCH gs USING INDEX group_snapshots_by_project (project_id=?)\n" },
        { "/group_snapshots/detail?name=a",
          "SEARCH gs USING INDEX group_snapshots_by_name (display_name=? AND project_id=?)\n" },
        { "/group_snapshots/detail?description=a",
          "SEARCH gs USING INDEX group_snapshots_by_description (display_description=? AND project_id=?)\n" },
        { "/group_snapshots/detail?status=error",
          "SEARCH gs USING INDEX group_snapshots_by_status (status=? AND project_id=?)\n" },
        { "/group_snapshots/detail?group_id=a",
          "SEARCH gs USING INDEX group_snapshots_by_group (group_id=? AND project_id=?)\n" },
        { "/group_snapshots/detail?sort=name",
          "SEARCH gs USING INDEX group_snapshots_in_order_of_name (project_id=?)\n" },
        { "/group_snapshots/detail?sort=status",
          "SEARCH gs USING INDEX group_snapshots_in_order_of_status (project_id=?)\n" },
        { "/group_snapshots/detail?sort=updated_at",
          "SEARCH gs USING INDEX group_snapshots_in_order_of_change (project_id=?)\n" },
        { "/group_snapshots/detail?sort=id",
          "SEARCH gs USING INDEX group_snapshots_in_order_of_id (project_id=?)\n" },
        { "/groups?all_tenants=1&limit=100", "SCAN g USING INDEX volume_groups_by_time\n" },
        /* They belong to no project: the page ends the walk. */
        { "/group_types", "SCAN t USING INDEX group_types_by_time\n" },
        { "/group_types?sort=created_at:asc", "SCAN t USING INDEX group_types_by_time\n" },
        { "/group_types?is_public=none", "SCAN t USING INDEX group_types_by_time\n" },
        { "/group_types?is_public=false",
          "SEARCH t USING INDEX group_types_by_privacy (is_public=?)\n" },
        { "/group_types?sort=name", "SCAN t USING INDEX sqlite_autoindex_group_types_2\n" },
        { "/group_types?sort=id", "SCAN t USING INDEX sqlite_autoindex_group_types_1\n" },
        { "/qos-specs", "SCAN q USING INDEX qos_specs_by_time\n" },
        { "/qos-specs?sort=name", "SCAN q USING INDEX sqlite_autoindex_qos_specs_2\n" },
        { "/qos-specs?sort=id", "SCAN q USING INDEX sqlite_autoindex_qos_specs_1\n" },
    };

    if (postgresql_given())
        return; /* it has plans of its own */

    autoworld struct world *world = watched_world();

    for (size_t i = 0; i < LENGTH(lists); i++) {
        const char *plan = plan_of_list(world, lists[i].path);
        /* a part of an order behind a unique key sorts nothing */
        const char *sorted = strstr(lists[i].step, "autoindex") ? "FOR ORDER BY" : "ORDER BY";

        ck_assert_msg(strncmp(plan, lists[i].step, strlen(lists[i].step)) == 0 &&
                          !strstr(plan, sorted),
                      "%s: %s", lists[i].path, plan);
        /* the volume of a snapshot is not read */
        if (strncmp(lists[i].path, "/groups?", 8) == 0)
            ck_assert_str_eq(plan, lists[i].step);
        ck_assert_msg(strncmp(lists[i].path, "/snapshots", 10) != 0 || !strstr(plan, " v "),
                      "%s: %s", lists[i].path, plan);
    }
}
END_TEST

/* The caller's view of the other pairs is evaluated for each row that the first one leads to. */
START_TEST(a_pair_leads_to_its_page) {
    static const char *const queries[] = {
        "?metadata={'a':'b'}",
        "?metadata={'a':'b'}&sort=created_at:asc",
        "?metadata={'a':'b','c':'d'}&status=error&limit=1",
    };
    static const struct {
        const char *path, *table, *row;
    } lists[] = { { "/volumes/detail", "volume_metadata", "v" },
                  { "/snapshots/detail", "snapshot_metadata", "s" } };

    if (postgresql_given())
        return; /* it has plans of its own */

    autoworld struct world *world = watched_world();

    for (size_t i = 0; i < LENGTH(lists) * LENGTH(queries); i++) {
        const char *query = queries[i / 2], *table = lists[i % 2].table;
        const char *plan = plan_of_list(world, PATH("%s%s", lists[i % 2].path, query));
        const char *first = PATH("SEARCH pair USING COVERING INDEX %s_by_pair "
                                 "(key=? AND value=? AND project_id=?)\nSEARCH %s USING INDEX ",
                                 table, lists[i % 2].row);

        ck_assert_msg(strncmp(plan, first, strlen(first)) == 0 && !strstr(plan, "ORDER BY") &&
                          !strstr(plan, "SCAN"),
                      "%s: %s", query, plan);
    }
}
END_TEST

START_TEST(a_unique_object_is_searched_by_the_index) {
    static const struct pair_rows *const rows[] = { &metadata_rows, &snapshot_metadata_rows };

    if (postgresql_given())
        return; /* it has plans of its own */

    autoworld struct world *world = watched_world();

    plan_of(world, "");
    for (size_t i = 0; i < LENGTH(rows); i++) {
        sqlite3_stmt *statement = explained(world, rows[i]->sought);

        ck_assert_int_eq(sqlite3_step(statement), SQLITE_ROW);
        ck_assert_str_eq((const char *)sqlite3_column_text(statement, 3),
                         PATH("SEARCH %s USING COVERING INDEX %s_by_pair (key=? AND value=? AND "
                              "project_id=?)",
                              rows[i]->table, rows[i]->table));
        ck_assert_int_eq(sqlite3_step(statement), SQLITE_DONE);
        sqlite3_finalize(statement);
    }
}
END_TEST

/* Correlated is the id of its consistency group alone: other subqueries would copy the volume's id
 * from its row once more each. */
START_TEST(details_of_a_shown_volume_are_searched_by_the_requested_id) {
    unsigned searched = 0, correlated = 0;

    if (postgresql_given())
        return; /* it has plans of its own */

    autoworld struct world *world = watched_world();
    const char *id = world_volume(world, 1);
    sqlite3_stmt *statement;

    ck_assert_int_eq(world_call(world, "GET", PATH("/volumes/%s", id), NULL), 200);
    statement = explained(world, ran.one);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const char *step = (const char *)sqlite3_column_text(statement, 3);

        searched += strstr(step, "SEARCH d USING COVERING INDEX ") != NULL;
        correlated += strstr(step, "CORRELATED") != NULL;
    }
    sqlite3_finalize(statement);
    ck_assert_uint_eq(searched, 4);
    ck_assert_uint_eq(correlated, 1);
}
END_TEST

struct cost {
    int64_t request, job; /* steps for each */
};

/* Of the last of so many snapshots that are requested before the first is made. */
static struct cost cost_behind(struct world *world, const char *volume, int64_t count) {
    struct cost cost;

    for (int64_t i = 1; i < count; i++)
        new_snapshot(world, volume);
    steps_done = 0;
    new_snapshot(world, volume);
    cost.request = steps_done;
    steps_done = 0;
    world_settle(world);
    cost.job = steps_done / count;
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    return cost;
}

/* Queries of requests and jobs about operations, however many of them wait on the volume. */
START_TEST(a_snapshot_costs_the_same_behind_many) {
    enum { FEW = 10, MANY = 300 };

    if (postgresql_given())
        return; /* it has plans of its own */

    autoworld struct world *world = watched_world();
    const char *volume = world_volume(world, 1);
    struct cost few, many;

    ck_assert_int_eq(world_call(world, "PUT", "/os-quota-sets/" WORLD_PROJECT,
                                "{\"quota_set\": {\"snapshots\": -1}}"),
                     200);
    few = cost_behind(world, volume, FEW);
    many = cost_behind(world, volume, MANY);
    ck_assert_msg(many.request <= few.request * 6 / 5 && many.job <= few.job * 6 / 5,
                  "%jd steps and %jd behind few, %jd and %jd behind many", (intmax_t)few.request,
                  (intmax_t)few.job, (intmax_t)many.request, (intmax_t)many.job);
}
END_TEST

/* Whatever is queried of the own project, no row of another one is read. */
START_TEST(no_query_of_a_member_reads_other_projects) {
    static const char *const paths[] = {
        "/volumes/detail?bootable=true",
        "/volumes/detail?size=1",
        "/volumes/detail?availability_zone=nova",
        "/volumes/detail?migration_status=None",
        "/volumes/detail?group_id=x",
        "/volumes/detail?created_at=gt:2026-01-01",
        "/volumes/detail?updated_at=lt:2026-01-01",
        "/volumes/detail?consumes_quota=true",
        "/volumes/detail?metadata={'a':'b'}",
        "/volumes/detail?sort=name",
        "/volumes/detail?sort=size:asc,status:desc",
        "/volumes?offset=1000000",
        "/volumes/summary",
        "/attachments/detail",
        "/attachments?volume_id=x",
        "/attachments?instance_id=x",
        "/attachments?attach_status=attached",
        "/attachments?sort=mountpoint",
        "/messages?resource_uuid=x",
        "/messages?event_id=x",
        "/messages?request_id=x",
        "/messages?sort=expires_at",
        "/groups/detail",
        "/groups/detail?list_volume=true",
        "/groups?name=a",
        "/groups?sort=name",
    };

    if (postgresql_given())
        return; /* it has plans of its own */

    autoworld struct world *world = watched_world();

    roles_enter(world, NULL);
    world->token = "reader:" WORLD_PROJECT;
    for (size_t i = 0; i < LENGTH(paths); i++) {
        const char *plan = plan_of_list(world, paths[i]);

        ck_assert_msg(strstr(plan, "SEARCH ") && !strstr(plan, "SCAN "), "%s: %s", paths[i], plan);
        ck_assert_msg(strstr(plan, "project_id=?") || strstr(plan, "volume_id=?") ||
                          strstr(plan, "instance_uuid=?"),
                      "%s: %s", paths[i], plan);
    }
}
END_TEST

CHECK_MAIN("api/volume_plans", no_query_of_a_member_reads_other_projects,
           volumes_are_looked_up_by_an_index, a_page_of_a_list_is_read_in_its_order,
           a_pair_leads_to_its_page, a_unique_object_is_searched_by_the_index,
           a_snapshot_costs_the_same_behind_many,
           details_of_a_shown_volume_are_searched_by_the_requested_id)
