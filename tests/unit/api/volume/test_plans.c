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

/* The last list; its text is SQLite's own, so it is copied while it runs. */
static struct {
    sqlite3 *handle;
    char sql[4096];
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

#define assert_plan(world, query, plan) ck_assert_str_eq(plan_of(world, query), plan)

START_TEST(a_page_of_a_project_is_read_in_its_order) {
    if (postgresql_given())
        return; /* it has plans of its own */

    autoworld struct world *world = watched_world();

    assert_plan(world, "/detail?limit=100",
                "SEARCH v USING INDEX volumes_by_project (project_id=?)\n");
    assert_plan(world, "?limit=100&sort=created_at:asc",
                "SEARCH v USING INDEX volumes_by_project (project_id=?)\n");
}
END_TEST

START_TEST(a_status_is_looked_up_and_its_page_is_in_order) {
    if (postgresql_given())
        return; /* it has plans of its own */

    autoworld struct world *world = watched_world();

    assert_plan(world, "/detail?status=error&limit=100",
                "SEARCH v USING INDEX volumes_by_status (status=? AND project_id=?)\n");
    assert_plan(world, "?status=available",
                "SEARCH v USING INDEX volumes_by_status (status=? AND project_id=?)\n");
}
END_TEST

/* As a compute agent queries: few have the status, so that they are sorted costs nothing. */
START_TEST(a_status_is_looked_up_over_all_projects_too) {
    if (postgresql_given())
        return; /* it has plans of its own */

    autoworld struct world *world = watched_world();

    assert_plan(world, "/detail?all_tenants=1&status=extending&limit=1000",
                "SEARCH v USING INDEX volumes_by_status (status=?)\n"
                "USE TEMP B-TREE FOR ORDER BY\n");
}
END_TEST

START_TEST(a_name_is_looked_up) {
    if (postgresql_given())
        return; /* it has plans of its own */

    autoworld struct world *world = watched_world();

    assert_plan(world, "/detail?name=a",
                "SEARCH v USING INDEX volumes_by_name (display_name=? AND project_id=?)\n");
    assert_plan(world, "?all_tenants=1&name=a",
                "SEARCH v USING INDEX volumes_by_name (display_name=?)\n"
                "USE TEMP B-TREE FOR ORDER BY\n");
}
END_TEST

START_TEST(others_than_admins_have_the_same_plans) {
    if (postgresql_given())
        return; /* it has plans of its own */

    autoworld struct world *world = watched_world();

    roles_enter(world, NULL);
    world->token = "reader:" WORLD_PROJECT;
    assert_plan(world, "/detail", "SEARCH v USING INDEX volumes_by_project (project_id=?)\n");
    assert_plan(world, "/detail?status=error",
                "SEARCH v USING INDEX volumes_by_status (status=? AND project_id=?)\n");
    assert_plan(world, "/detail?name=a",
                "SEARCH v USING INDEX volumes_by_name (display_name=? AND project_id=?)\n");
}
END_TEST

START_TEST(no_list_of_all_projects_is_sorted_as_a_whole) {
    if (postgresql_given())
        return; /* it has plans of its own */

    autoworld struct world *world = watched_world();

    assert_plan(world, "/detail?all_tenants=1&limit=100", "SCAN v USING INDEX volumes_by_time\n");
    ck_assert_str_eq(plan_of_list(world, "/groups?all_tenants=1&limit=100"),
                     "SCAN g USING INDEX volume_groups_by_time\n");
}
END_TEST

struct list {
    const char *query, *index;
};

/* Each list finds its rows, which the plan calls `alias`, by the index, and sorts nothing. */
static void assert_indexes(struct world *world, const char *path, const char *alias,
                           const struct list *lists, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const char *plan = plan_of_list(world, PATH("%s%s", path, lists[i].query));
        const char *wanted = PATH("SEARCH %s USING INDEX %s\n", alias, lists[i].index);

        ck_assert_msg(strstr(plan, wanted) && !strstr(plan, "ORDER BY"), "%s: %s", lists[i].query,
                      plan);
    }
}

START_TEST(a_page_of_snapshots_is_read_in_its_order) {
    static const struct list lists[] = {
        { "?limit=100", "snapshots_by_project (project_id=?)" },
        { "?sort=created_at:asc", "snapshots_by_project (project_id=?)" },
        { "?status=error", "snapshots_by_status (status=? AND project_id=?)" },
        { "?name=a", "snapshots_by_name (display_name=? AND project_id=?)" },
        { "?description=a", "snapshots_by_description (display_description=? AND project_id=?)" },
        { "?volume_id=a", "snapshots_in_order_of_volume (project_id=? AND volume_id=?)" },
        { "?sort=volume_id", "snapshots_in_order_of_volume (project_id=?)" },
        { "?sort=volume_id:asc", "snapshots_in_order_of_volume (project_id=?)" },
        { "?sort=name", "snapshots_in_order_of_name (project_id=?)" },
        { "?sort=name:asc", "snapshots_in_order_of_name (project_id=?)" },
        { "?sort=size", "snapshots_in_order_of_size (project_id=?)" },
        { "?sort=status", "snapshots_in_order_of_status (project_id=?)" },
        { "?sort=id", "snapshots_in_order_of_id (project_id=?)" },
        { "?availability_zone=a",
          "snapshots_in_order_of_zone (project_id=? AND availability_zone=?)" },
        { "?sort=availability_zone", "snapshots_in_order_of_zone (project_id=?)" },
    };

    if (postgresql_given())
        return; /* it has plans of its own */

    autoworld struct world *world = watched_world();

    assert_indexes(world, "/snapshots/detail", "s", lists, LENGTH(lists));
    for (size_t i = 0; i < LENGTH(lists); i++) { /* the objects of the volume are invisible */
        const char *plan = plan_of_list(world, PATH("/snapshots/detail%s", lists[i].query));

        ck_assert_msg(!strstr(plan, " v "), "%s: %s", lists[i].query, plan);
    }
}
END_TEST

START_TEST(a_page_by_zone_is_read_in_its_order) {
    static const struct list lists[] = {
        { "?availability_zone=a",
          "volumes_in_order_of_zone (project_id=? AND availability_zone=?)" },
        { "?sort=availability_zone", "volumes_in_order_of_zone (project_id=?)" },
    };

    if (postgresql_given())
        return; /* it has plans of its own */

    autoworld struct world *world = watched_world();

    assert_indexes(world, "/volumes/detail", "v", lists, LENGTH(lists));
}
END_TEST

START_TEST(a_page_of_groups_is_read_in_its_order) {
    static const struct list lists[] = {
        { "", "volume_groups_by_project (project_id=?)" },
        { "?name=a", "volume_groups_by_name (display_name=? AND project_id=?)" },
        { "?description=a",
          "volume_groups_by_description (display_description=? AND project_id=?)" },
        { "?status=error", "volume_groups_by_status (status=? AND project_id=?)" },
        { "?availability_zone=a",
          "volume_groups_in_order_of_zone (project_id=? AND availability_zone=?)" },
        { "?group_type_id=a", "volume_groups_by_type (group_type_id=? AND project_id=?)" },
        { "?sort=availability_zone", "volume_groups_in_order_of_zone (project_id=?)" },
        { "?sort=name", "volume_groups_in_order_of_name (project_id=?)" },
        { "?sort=name:asc", "volume_groups_in_order_of_name (project_id=?)" },
        { "?sort=status", "volume_groups_in_order_of_status (project_id=?)" },
        { "?sort=updated_at", "volume_groups_in_order_of_change (project_id=?)" },
        { "?sort=id", "volume_groups_in_order_of_id (project_id=?)" },
    };

    if (postgresql_given())
        return; /* it has plans of its own */

    autoworld struct world *world = watched_world();

    assert_indexes(world, "/groups/detail", "g", lists, LENGTH(lists));
}
END_TEST

START_TEST(a_page_of_group_snapshots_is_read_in_its_order) {
    static const struct list lists[] = {
        { "", "group_snapshots_by_project (project_id=?)" },
        { "?name=a", "group_snapshots_by_name (display_name=? AND project_id=?)" },
        { "?description=a",
          "group_snapshots_by_description (display_description=? AND project_id=?)" },
        { "?status=error", "group_snapshots_by_status (status=? AND project_id=?)" },
        { "?group_id=a", "group_snapshots_by_group (group_id=? AND project_id=?)" },
        { "?sort=name", "group_snapshots_in_order_of_name (project_id=?)" },
        { "?sort=status", "group_snapshots_in_order_of_status (project_id=?)" },
        { "?sort=updated_at", "group_snapshots_in_order_of_change (project_id=?)" },
        { "?sort=id", "group_snapshots_in_order_of_id (project_id=?)" },
    };

    if (postgresql_given())
        return; /* it has plans of its own */

    autoworld struct world *world = watched_world();

    assert_indexes(world, "/group_snapshots/detail", "gs", lists, LENGTH(lists));
}
END_TEST

/* They belong to no project: the page ends the walk. */
START_TEST(a_page_of_group_types_is_read_in_its_order) {
    static const struct list lists[] = {
        { "", "SCAN t USING INDEX group_types_by_time\n" },
        { "?sort=created_at:asc", "SCAN t USING INDEX group_types_by_time\n" },
        { "?is_public=none", "SCAN t USING INDEX group_types_by_time\n" },
        { "?is_public=false", "SEARCH t USING INDEX group_types_by_privacy (is_public=?)\n" },
        { "?sort=name", "SCAN t USING INDEX sqlite_autoindex_group_types_2\n" },
        { "?sort=id", "SCAN t USING INDEX sqlite_autoindex_group_types_1\n" },
    };

    if (postgresql_given())
        return; /* it has plans of its own */

    autoworld struct world *world = watched_world();

    for (size_t i = 0; i < LENGTH(lists); i++) {
        const char *plan = plan_of_list(world, PATH("/group_types%s", lists[i].query));

        ck_assert_msg(strstr(plan, lists[i].index) == plan && !strstr(plan, "FOR ORDER BY"),
                      "%s: %s", lists[i].query, plan);
    }
}
END_TEST

START_TEST(a_page_of_qos_specs_is_read_in_its_order) {
    static const struct list lists[] = {
        { "", "SCAN q USING INDEX qos_specs_by_time\n" },
        { "?sort=name", "SCAN q USING INDEX sqlite_autoindex_qos_specs_2\n" },
        { "?sort=id", "SCAN q USING INDEX sqlite_autoindex_qos_specs_1\n" },
    };

    if (postgresql_given())
        return; /* it has plans of its own */

    autoworld struct world *world = watched_world();

    for (size_t i = 0; i < LENGTH(lists); i++) {
        const char *plan = plan_of_list(world, PATH("/qos-specs%s", lists[i].query));

        ck_assert_msg(strstr(plan, lists[i].index) == plan && !strstr(plan, "FOR ORDER BY"),
                      "%s: %s", lists[i].query, plan);
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
           a_page_of_a_project_is_read_in_its_order, a_status_is_looked_up_and_its_page_is_in_order,
           a_status_is_looked_up_over_all_projects_too, a_name_is_looked_up,
           a_page_of_snapshots_is_read_in_its_order, a_page_by_zone_is_read_in_its_order,
           a_page_of_groups_is_read_in_its_order, a_page_of_group_snapshots_is_read_in_its_order,
           a_page_of_group_types_is_read_in_its_order, a_page_of_qos_specs_is_read_in_its_order,
           a_pair_leads_to_its_page, a_unique_object_is_searched_by_the_index,
           a_snapshot_costs_the_same_behind_many, others_than_admins_have_the_same_plans,
           no_list_of_all_projects_is_sorted_as_a_whole)
