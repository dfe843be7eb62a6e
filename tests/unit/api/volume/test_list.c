#include "common/cleanup.h"
#include "tests/lib/check_main.h"
#include "tests/lib/roles.h"
#include "tests/lib/world.h"

#include <string.h>

#define PATH(...) arena_format(world->arena, __VA_ARGS__)

static const char *make(struct world *world, const char *members) {
    ck_assert_int_eq(
        world_call(world, "POST", "/volumes", PATH("{\"volume\": {\"size\": 1, %s}}", members)),
        202);
    world_settle(world);
    return world_answer_id(world, "volume");
}

/* The names of the listed volumes, in order, with blanks between. */
static const char *names(struct world *world, const char *query) {
    const char *text = "";
    size_t i;
    const json_t *volume;

    ck_assert_msg(world_call(world, "GET", PATH("/volumes%s", query), NULL) == 200, "%s: %s", query,
                  world->answer_text);
    json_array_foreach(json_object_get(world->answer, "volumes"), i, volume) {
        text =
            PATH("%s%s%s", text, i ? " " : "", json_string_value(json_object_get(volume, "name")));
    }
    return text;
}

static const char *next_link(const struct world *world) {
    const json_t *link = json_array_get(json_object_get(world->answer, "volumes_links"), 0);

    return json_string_value(json_object_get(link, "href"));
}

START_TEST(the_short_list_has_three_keys_and_the_newest_first) {
    autoworld struct world *world = world_new(NULL);
    const json_t *first;

    make(world, "\"name\": \"a\"");
    make(world, "\"name\": \"b\"");
    ck_assert_str_eq(names(world, ""), "b a");
    first = json_array_get(json_object_get(world->answer, "volumes"), 0);
    ck_assert_uint_eq(json_object_size(first), 3);
    ck_assert_uint_eq(json_object_size(world->answer), 1);
    ck_assert_ptr_nonnull(json_object_get(first, "links"));
}
END_TEST

START_TEST(the_detailed_list_has_the_full_view) {
    autoworld struct world *world = world_new(NULL);
    const json_t *first;

    make(world, "\"name\": \"a\", \"metadata\": {\"k\": \"v\"}");
    ck_assert_str_eq(names(world, "/detail"), "a");
    first = json_array_get(json_object_get(world->answer, "volumes"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(first, "os-vol-host-attr:host")),
                     "node@memory#pool");
    ck_assert_str_eq(json_string_value(json_object_get(json_object_get(first, "metadata"), "k")),
                     "v");
}
END_TEST

START_TEST(pages_follow_each_other_by_their_link) {
    autoworld struct world *world = world_new(NULL);
    const char *query;

    make(world, "\"name\": \"a\"");
    make(world, "\"name\": \"b\"");
    make(world, "\"name\": \"c\"");
    ck_assert_str_eq(names(world, "/detail?limit=2"), "c b");
    query = strstr(next_link(world), "/volumes/detail");
    ck_assert_ptr_nonnull(query);
    ck_assert_str_eq(names(world, arena_text(world->arena, query + strlen("/volumes"))), "a");
    ck_assert_ptr_null(next_link(world));
    ck_assert_str_eq(names(world, "?limit=0"), "");
    ck_assert_ptr_null(next_link(world));
    ck_assert_int_eq(world_call(world, "GET", "/volumes?limit=-1", NULL), 400);
    ck_assert_int_eq(world_call(world, "GET", "/volumes?marker=x", NULL), 404);
}
END_TEST

START_TEST(a_long_page_has_each_volume_with_its_own_details) {
    enum { VOLUMES = 260, LIMIT = 129 };
    autoworld struct world *world = world_new(NULL);
    const char *ids[VOLUMES];
    const json_t *volume;
    size_t i;

    for (unsigned made = VOLUMES; made-- > 0;)
        ids[made] = world_volume(world, 1);
    world_sql(world, "INSERT INTO volume_metadata "
                     "SELECT id, 'own', id, project_id, created_at FROM volumes");
    names(world, "/detail");
    ck_assert_uint_eq(json_array_size(json_object_get(world->answer, "volumes")), VOLUMES);
    json_array_foreach(json_object_get(world->answer, "volumes"), i, volume) {
        const json_t *metadata = json_object_get(volume, "metadata");

        ck_assert_str_eq(json_string_value(json_object_get(volume, "id")), ids[i]);
        ck_assert_str_eq(json_string_value(json_object_get(metadata, "own")), ids[i]);
    }
    ck_assert_ptr_null(next_link(world));
    names(world, PATH("/detail?limit=%d", LIMIT));
    ck_assert_uint_eq(json_array_size(json_object_get(world->answer, "volumes")), LIMIT);
    ck_assert_ptr_nonnull(strstr(next_link(world), ids[LIMIT - 1]));
}
END_TEST

START_TEST(the_count_is_sent_on_request_from_3_45_on) {
    autoworld struct world *world = world_new(NULL);

    make(world, "\"name\": \"a\"");
    make(world, "\"name\": \"b\"");
    names(world, "?limit=1&with_count=true");
    ck_assert_int_eq(json_integer_value(json_object_get(world->answer, "count")), 2);
    names(world, "?with_count=true&nothing=1");
    ck_assert(json_is_integer(json_object_get(world->answer, "count")));
    ck_assert_int_eq(json_integer_value(json_object_get(world->answer, "count")), 0);
    ck_assert_int_eq(world_call(world, "GET", "/volumes?with_count=x", NULL), 400);
}
END_TEST

START_TEST(callers_see_their_project_and_admins_all_when_they_ask) {
    autoworld struct world *world = world_new(NULL);

    make(world, "\"name\": \"mine\"");
    world->token = "admin:" WORLD_OTHER;
    make(world, "\"name\": \"theirs\"");
    ck_assert_str_eq(names(world, ""), "theirs");
    ck_assert_str_eq(names(world, "?all_tenants=1"), "theirs mine");
    ck_assert_str_eq(names(world, "?all_tenants=1&project_id=" WORLD_PROJECT), "mine");
    roles_enter(world, NULL);
    world->token = "member:" WORLD_PROJECT;
    ck_assert_str_eq(names(world, "?all_tenants=1"), "mine");
}
END_TEST

START_TEST(migration_targets_are_hidden_from_users) {
    autoworld struct world *world = world_new(NULL);

    make(world, "\"name\": \"source\"");
    make(world, "\"name\": \"target\"");
    world_sql(world, "UPDATE volumes SET migration_status = 'migrating'");
    world_sql(world,
              "UPDATE volumes SET migration_status = 'target:x' WHERE display_name = 'target'");
    ck_assert_str_eq(names(world, ""), "target source");
    roles_enter(world, NULL);
    world->token = "reader:" WORLD_PROJECT;
    ck_assert_str_eq(names(world, ""), "source");
    ck_assert_str_eq(names(world, "/detail"), "source");
}
END_TEST

START_TEST(plain_filters_compare_columns) {
    static const struct {
        const char *query, *names;
    } cases[] = {
        { "?name=a", "a" },
        { "?name=unknown", "" },
        { "?status=available", "b a" },
        { "?status=in-use", "" },
        { "?size=1", "b a" },
        { "?size=2", "" },
        { "?bootable=true", "b" },
        { "?bootable=no", "a" },
        { "?consumes_quota=true", "b a" },
        { "?availability_zone=nova", "b a" },
        { "?created_at=lt:2000-01-01", "" },
        { "?description~=THE", "a" },
        { "?no_such_column=1", "" },
        { "?sort=name:asc", "a b" },
    };
    autoworld struct world *world = world_new(NULL);

    make(world, "\"name\": \"a\", \"description\": \"the first\"");
    make(world, "\"name\": \"b\"");
    world_sql(world, "UPDATE volumes SET bootable = 1 WHERE display_name = 'b'");
    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_msg(strcmp(names(world, cases[i].query), cases[i].names) == 0, "%s",
                      cases[i].query);
}
END_TEST

START_TEST(metadata_matches_every_pair_of_user_and_shown_admin_metadata) {
    static const struct {
        const char *query, *all, *members;
    } cases[] = {
        { "?metadata={'k':'v'}", "b a", "b a" },
        { "?metadata=%7B%22k%22%3A%22v%22%7D", "b a", "b a" },
        { "?metadata={'k':'v','l':'w'}", "b", "b" },
        { "?metadata={'k':'w'}", "", "" },
        { "?metadata={}", "b a", "b a" },
        { "?metadata=nonsense", "", "" },
        { "?metadata={'readonly':'True'}", "a", "a" },
        { "?metadata={'extend_reservations':'s'}", "a", "" },
    };
    autoworld struct world *world = world_new(NULL);
    const char *id = make(world, "\"name\": \"a\", \"metadata\": {\"k\": \"v\"}");

    make(world, "\"name\": \"b\", \"metadata\": {\"k\": \"v\", \"l\": \"w\"}");
    world_sql(world, PATH("INSERT INTO volume_admin_metadata VALUES ('%s', 'readonly', 'True'), "
                          "('%s', 'extend_reservations', 's')",
                          id, id));
    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_msg(strcmp(names(world, cases[i].query), cases[i].all) == 0, "%s",
                      cases[i].query);
    roles_enter(world, NULL);
    world->token = "member:" WORLD_PROJECT;
    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_msg(strcmp(names(world, cases[i].query), cases[i].members) == 0, "%s",
                      cases[i].query);
}
END_TEST

START_TEST(a_pair_leads_through_the_pages_of_its_project) {
    static const struct {
        const char *more, *behind, *names;
    } cases[] = {
        { "", NULL, "e d b a" },
        { "&limit=2", NULL, "e d" },
        { "&limit=2", "d", "b a" },
        { "&sort=created_at:asc&limit=3", "a", "b d e" },
        { "&sort=id:asc,created_at:desc&name=d", NULL, "d" },
        { "&sort=name:asc", "b", "d e" },
        { "&sort=size:asc,created_at:desc", "d", "b a" },
        { "&status=error", NULL, "" },
        { "&offset=3", NULL, "a" },
        { "&all_tenants=1", NULL, "z e d b a" },
        { "&all_tenants=1&limit=2", "e", "d b" },
    };
    autoworld struct world *world = world_new(NULL);
    const char *ids[128] = { NULL }, *own = world->token;

    for (const char *name = "abcde"; *name; name++)
        ids[(int)*name] =
            make(world, PATH("\"name\": \"%c\", \"metadata\": {\"k\": \"%s\", \"l\": \"w\"}", *name,
                             *name == 'c' ? "x" : "v"));
    world->token = "admin:" WORLD_OTHER;
    make(world, "\"name\": \"z\", \"metadata\": {\"k\": \"v\"}");
    world->token = own;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const char *behind = cases[i].behind ? PATH("&marker=%s", ids[(int)*cases[i].behind]) : "";
        const char *query = PATH("?metadata={'k':'v'}%s%s", cases[i].more, behind);

        ck_assert_msg(strcmp(names(world, query), cases[i].names) == 0, "%s: %s", query,
                      world->answer_text);
    }
    ck_assert_str_eq(names(world, "?metadata={'k':'v','l':'w'}&limit=1&with_count=true"), "e");
    ck_assert_int_eq(json_integer_value(json_object_get(world->answer, "count")), 4);
    world_call(world, "PUT", PATH("/volumes/%s/metadata/k", ids['e']),
               "{\"meta\": {\"k\": \"x\"}}");
    world_call(world, "DELETE", PATH("/volumes/%s/metadata/k", ids['d']), NULL);
    ck_assert_str_eq(names(world, "?metadata={'k':'v'}"), "b a");
    ck_assert_str_eq(names(world, "?metadata={'k':'x'}"), "e c");
}
END_TEST

START_TEST(a_filter_of_too_many_pairs_is_refused) {
    autoworld struct world *world = world_new(NULL);
    const char *query = "{'a':'b'";

    for (int i = 0; i < 32; i++)
        query = PATH("%s,'k%d':'v'", query, i);
    ck_assert_int_eq(world_call(world, "GET", PATH("/volumes?metadata=%s}", query), NULL), 400);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "at most 32"));
}
END_TEST

START_TEST(image_metadata_filters_for_admins_from_3_4_on) {
    autoworld struct world *world = world_new(NULL);
    const char *id = make(world, "\"name\": \"a\"");

    make(world, "\"name\": \"b\"");
    world_sql(world, PATH("INSERT INTO volume_glance_metadata VALUES ('%s', 'os', 'linux')", id));
    ck_assert_str_eq(names(world, "?glance_metadata={'os':'linux'}"), "a");
    ck_assert_str_eq(names(world, "?glance_metadata={'os':'minix'}"), "");
    world->minor = 4;
    ck_assert_str_eq(names(world, "?glance_metadata={'os':'minix'}"), "");
    world->minor = 3;
    ck_assert_str_eq(names(world, "?glance_metadata={'os':'minix'}"), "b a");
    world->minor = 71;
    roles_enter(world, NULL);
    world->token = "member:" WORLD_PROJECT;
    ck_assert_int_eq(world_call(world, "GET", "/volumes?glance_metadata={}", NULL), 400);
    world->minor = 30;
    ck_assert_str_eq(names(world, "?glance_metadata={'os':'minix'}"), "b a");
}
END_TEST

START_TEST(a_host_filters_with_and_without_its_pool) {
    autoworld struct world *world = world_new(NULL);

    make(world, "\"name\": \"a\"");
    ck_assert_str_eq(names(world, "?host=node@memory%23pool"), "a");
    ck_assert_str_eq(names(world, "?host=node@memory"), "a");
    ck_assert_str_eq(names(world, "?host=node@mem"), "");
    ck_assert_str_eq(names(world, "?host=node"), "");
    roles_enter(world, NULL);
    world->token = "member:" WORLD_PROJECT;
    ck_assert_int_eq(world_call(world, "GET", "/volumes?host=node", NULL), 400);
}
END_TEST

/* ---- summary ---- */

static const json_t *summary(struct world *world, const char *query) {
    ck_assert_int_eq(world_call(world, "GET", PATH("/volumes/summary%s", query), NULL), 200);
    return json_object_get(world->answer, "volume-summary");
}

/* The order of a project's own volumes would compare the hosts that are not shown to it. */
START_TEST(columns_that_show_hosts_sort_for_admins_alone) {
    static const char *const keys[] = {
        "/volumes?sort=host",
        "/volumes/detail?sort_key=cluster_name",
        "/volumes?sort=name,provider_id",
        "/volumes?sort=provider_location:asc",
        "/volumes?sort=service_uuid",
        "/snapshots?sort=host",
        "/snapshots/detail?sort=provider_location",
        "/attachments?sort_key=attached_host",
        "/groups?sort=host",
        "/types?sort=qos_specs_id",
        "/volume_replicas?sort=node",
        "/volume_replicas?sort=name",
    };
    autoworld struct world *world = world_new(NULL);

    make(world, "\"name\": \"a\"");
    roles_enter(world, NULL);
    for (size_t i = 0; i < LENGTH(keys); i++) {
        world->token = "member:" WORLD_PROJECT;
        ck_assert_msg(world_call(world, "GET", keys[i], NULL) == 400, "%s", keys[i]);
        world->token = "admin:" WORLD_PROJECT;
        ck_assert_msg(world_call(world, "GET", keys[i], NULL) == 200, "%s", keys[i]);
    }
    world->token = "member:" WORLD_PROJECT;
    ck_assert_str_eq(names(world, "?sort=status,availability_zone,name,created_at"), "a");
}
END_TEST

START_TEST(the_summary_counts_and_collects_metadata) {
    autoworld struct world *world = world_new(NULL);
    const json_t *sums;
    autofree char *text = NULL;

    make(world, "\"metadata\": {\"k\": \"v\", \"l\": \"w\"}");
    make(world, "\"metadata\": {\"k\": \"v\"}");
    make(world, "\"metadata\": {\"k\": \"x\"}");
    sums = summary(world, "");
    ck_assert_int_eq(json_integer_value(json_object_get(sums, "total_count")), 3);
    ck_assert_int_eq(json_integer_value(json_object_get(sums, "total_size")), 3);
    text = json_dumps(json_object_get(sums, "metadata"), JSON_COMPACT | JSON_SORT_KEYS);
    ck_assert_str_eq(text, "{\"k\":[\"v\",\"x\"],\"l\":[\"w\"]}");
}
END_TEST

START_TEST(the_summary_grew_with_the_versions) {
    autoworld struct world *world = world_new(NULL);

    world->minor = 11;
    ck_assert_int_eq(world_call(world, "GET", "/volumes/summary", NULL), 404);
    world->minor = 12;
    ck_assert_uint_eq(json_object_size(summary(world, "")), 2);
    world->minor = 35;
    ck_assert_uint_eq(json_object_size(summary(world, "")), 2);
    world->minor = 36;
    ck_assert_uint_eq(json_object_size(summary(world, "")), 3);
    ck_assert_uint_eq(json_object_size(json_object_get(summary(world, ""), "metadata")), 0);
}
END_TEST

START_TEST(the_summary_of_all_projects_is_for_admins) {
    autoworld struct world *world = world_new(NULL);

    make(world, "\"metadata\": {\"k\": \"v\"}");
    world->token = "admin:" WORLD_OTHER;
    ck_assert_int_eq(json_integer_value(json_object_get(summary(world, ""), "total_count")), 0);
    ck_assert_int_eq(
        json_integer_value(json_object_get(summary(world, "?all_tenants=yes"), "total_count")), 1);
    ck_assert_uint_eq(
        json_object_size(json_object_get(summary(world, "?all_tenants=1"), "metadata")), 1);
    ck_assert_int_eq(world_call(world, "GET", "/volumes/summary?all_tenants=x", NULL), 400);
    roles_enter(world, NULL);
    world->token = "member:" WORLD_OTHER;
    ck_assert_int_eq(
        json_integer_value(json_object_get(summary(world, "?all_tenants=1"), "total_count")), 0);
    ck_assert_uint_eq(
        json_object_size(json_object_get(summary(world, "?all_tenants=1"), "metadata")), 0);
}
END_TEST

START_TEST(a_table_that_cannot_be_read_is_an_error) {
    autoworld struct world *world = world_new(NULL);

    make(world, "\"name\": \"a\"");
    world_sql(world, "ALTER TABLE volume_metadata RENAME TO elsewhere");
    ck_assert_int_eq(world_call(world, "GET", "/volumes/detail", NULL), 500);
    ck_assert_int_eq(world_call(world, "GET", "/volumes/summary", NULL), 500);
    world_sql(world, "ALTER TABLE elsewhere RENAME TO volume_metadata");
    ck_assert_str_eq(names(world, ""), "a");
}
END_TEST

CHECK_MAIN("volume_list", the_short_list_has_three_keys_and_the_newest_first,
           the_detailed_list_has_the_full_view, pages_follow_each_other_by_their_link,
           a_long_page_has_each_volume_with_its_own_details,
           the_count_is_sent_on_request_from_3_45_on,
           callers_see_their_project_and_admins_all_when_they_ask,
           migration_targets_are_hidden_from_users, plain_filters_compare_columns,
           metadata_matches_every_pair_of_user_and_shown_admin_metadata,
           a_pair_leads_through_the_pages_of_its_project, a_filter_of_too_many_pairs_is_refused,
           image_metadata_filters_for_admins_from_3_4_on, a_host_filters_with_and_without_its_pool,
           columns_that_show_hosts_sort_for_admins_alone, the_summary_counts_and_collects_metadata,
           the_summary_grew_with_the_versions, the_summary_of_all_projects_is_for_admins,
           a_table_that_cannot_be_read_is_an_error)
