/*
 * The rules of the policy that a route enforces: a file of rules gives each rule to a role of its
 * name, and a caller is granted them one by one.  So each is enforced, in the order of rights.h,
 * none else is, and each rule that there is has a route that enforces it.
 */
#include "common/cleanup.h"
#include "policy/rule.h"
#include "tests/lib/check_main.h"
#include "tests/lib/database_text.h"
#include "tests/unit/api/rights.h"

#include <stdio.h>

#define GRANTED    "granted:" WORLD_PROJECT
#define RULES_MOST 8   /* that one route enforces */
#define ALL_MOST   256 /* that there are */

/* Keys of a response that are shown only to callers with the rule. */
static const struct shown {
    const char *rule, *text, *path; /* GET */
    const char *before;
} shown[] = {
    { "volume_extension:volume_tenant_attribute", "os-vol-tenant-attr:tenant_id", "/volumes/%s",
      NULL },
    { "volume_extension:volume_tenant_attribute", "os-vol-tenant-attr:tenant_id", "/volumes/detail",
      NULL },
    { "volume_extension:volume_mig_status_attribute", "os-vol-mig-status-attr:migstat",
      "/volumes/%s", NULL },
    { "volume_extension:volume_host_attribute", "os-vol-host-attr:host", "/volumes/%s", NULL },
    { "volume_extension:volume_host_attribute", "os-vol-host-attr:host", "/volumes/detail", NULL },
    { "volume_extension:volume_image_metadata:show", "volume_image_metadata", "/volumes/%s",
      "INSERT INTO volume_glance_metadata (volume_id, key, value) VALUES ('%s', 'k', 'v')" },
    { "volume_extension:extended_snapshot_attributes", "os-extended-snapshot-attributes:progress",
      "/snapshots/%s", NULL },
    { "volume_extension:extended_snapshot_attributes", "os-extended-snapshot-attributes:progress",
      "/snapshots/detail", NULL },
    { "volume_extension:access_types_extra_specs", "\"extra_specs\"", "/types/%s", NULL },
    { "volume_extension:access_types_extra_specs", "\"extra_specs\"", "/types", NULL },
    { "volume_extension:access_types_qos_specs_id", "\"qos_specs_id\"", "/types/%s", NULL },
    { "volume_extension:volume_type_access", "os-volume-type-access:is_public", "/types/%s", NULL },
    { "volume_extension:types_extra_specs:read_sensitive", "\"k\"", "/types/%s/extra_specs", NULL },
    { "group:group_project_attribute", "\"project_id\"", "/groups/%s", NULL },
    { "group:group_project_attribute", "\"project_id\"", "/groups/detail", NULL },
    { "group:access_group_types_specs", "\"group_specs\"", "/group_types/%s", NULL },
    { "group:group_snapshot_project_attribute", "\"project_id\"", "/group_snapshots/%s", NULL },
    { "group:group_snapshot_project_attribute", "\"project_id\"", "/group_snapshots/detail", NULL },
    { "limits_extension:used_limits", "totalVolumesUsed", "/limits", NULL },
};

/* Rules of routes that are not served.  Those of a route that comes go from here into its row. */
static const char *const unserved[] = {
    "volume:update_volume_admin_metadata",
    "volume_extension:volume_admin_actions:migrate_volume",
    "volume_extension:volume_admin_actions:migrate_volume_completion",
    "volume_extension:volume_type_encryption",
    "backup:get_all",
    "backup:get",
    "backup:create",
    "backup:update",
    "backup:delete",
    "backup:restore",
    "backup:backup_project_attribute",
    "backup:backup-import",
    "backup:export-import",
    "volume_extension:backup_admin_actions:reset_status",
    "volume_extension:backup_admin_actions:force_delete",
    "clusters:get_all",
    "clusters:get",
    "clusters:update",
    "workers:cleanup",
};

/* ---- the rules that there are ---- */

struct names {
    const char *all[ALL_MOST];
    unsigned count;
    const char *file; /* that gives each to the role of its name */
};

/* The sample has each rule as `#"name": "text"`; those that others refer to have no colon. */
static struct names names_read(struct arena *arena) {
    autofree char *sample = NULL, *text = NULL;
    size_t size;
    FILE *out = open_memstream(&sample, &size);
    struct names names = { .count = 0 };
    char *rest, *line;

    policy_print_sample(out);
    fclose(out);
    out = open_memstream(&text, &size);
    for (line = strtok_r(sample, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        const char *name = arena_text_n(arena, line + 2, strcspn(line + 2, "\""));

        if (strncmp(line, "#\"", 2) != 0 || !strchr(name, ':'))
            continue;
        ck_assert_uint_lt(names.count, LENGTH(names.all) - 1);
        names.all[names.count++] = name;
        fprintf(out, "\"%s\": \"role:%s\"\n", name, name);
    }
    fclose(out);
    names.file = arena_text(arena, text);
    ck_assert_uint_gt(names.count, 100);
    return names;
}

/* The names of `rules` as roles; how many. */
static unsigned rules_split(struct arena *arena, const char *rules,
                            const char *ret[RULES_MOST + 1]) {
    char *rest, *text = arena_text(arena, rules);
    unsigned count = 0;

    for (char *name = strtok_r(text, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
        ck_assert_uint_lt(count, RULES_MOST);
        ret[count++] = name;
    }
    return count;
}

/* ---- one by one ---- */

/* Without the right to see a volume the response is a 404; each other refusal names its rule. */
static void expect_requested(struct world *world, const struct row *row, const char *id,
                             const char *rule) {
    bool hides = strcmp(rule, "volume:get") == 0;
    int status = rights_request(world, GRANTED, row, id);

    ck_assert_msg(status == (hides ? 404 : 403), "%s: %d %s, where %s is asked",
                  rights_name(world, row), status, world->answer_text, rule);
    if (!hides)
        ck_assert_str_eq(world->answer_text,
                         arena_format(world->arena,
                                      "{\"forbidden\":{\"code\":403,\"message\":\"The policy %s "
                                      "does not allow this.\"}}",
                                      rule));
}

static void expect_rules(const struct group *group, const struct row *row, const char *file) {
    const char *id, *rules[RULES_MOST + 1] = { NULL }, *roles[RULES_MOST + 1] = { NULL };
    autoworld struct world *world = rights_world(group, row, file, true, &id);
    const char *before = database_text(world->db, world->arena);
    unsigned count = rules_split(world->arena, row->rules, rules);

    roles_grant(roles);
    for (unsigned i = 0; i < count; i++) {
        expect_requested(world, row, id, rules[i]);
        roles[i] = rules[i];
    }
    ck_assert_str_eq(database_text(world->db, world->arena), before);
    ck_assert_msg(rights_request(world, GRANTED, row, id) == row->status,
                  "%s, with %s: %d %s, not %d", rights_name(world, row), row->rules, world->status,
                  world->answer_text, row->status);
}

START_TEST(each_route_enforces_its_rules_in_order_and_no_other) {
    unsigned step = WALK_STEP, number = WALK_FIRST;
    autoarena struct arena *arena = arena_new();
    const struct names names = names_read(arena);

    for (const struct group *group = rights_groups; group->rows; group++)
        for (size_t i = 0; i < group->count; i++)
            if (number++ % step == 0 && !(group->rows[i].right & HIDDEN))
                expect_rules(group, &group->rows[i], names.file);
}
END_TEST

/* ---- keys of responses ---- */

static const struct group *group_of(const struct shown *what, struct row *ret) {
    for (const struct group *group = rights_groups; group->rows; group++)
        for (size_t i = 0; i < group->count; i++)
            if (strcmp(group->rows[i].path, what->path) == 0 &&
                strcmp(group->rows[i].method, "GET") == 0) {
                *ret = group->rows[i];
                ret->before = what->before;
                return group;
            }
    ck_abort_msg("no row has GET %s", what->path);
    return NULL;
}

START_TEST(each_rule_shows_its_own_keys) {
    autoarena struct arena *arena = arena_new();
    const struct names names = names_read(arena);

    for (size_t i = 0; i < LENGTH(shown); i++) {
        struct row row;
        const struct group *group = group_of(&shown[i], &row);
        const char *id, *roles[RULES_MOST + 2] = { NULL };
        autoworld struct world *world = rights_world(group, &row, names.file, true, &id);
        unsigned count = rules_split(arena, row.rules, roles);

        roles_grant(roles);
        ck_assert_int_eq(rights_request(world, GRANTED, &row, id), 200);
        ck_assert_msg(!strstr(world->answer_text, shown[i].text), "%s without %s: %s",
                      shown[i].path, shown[i].rule, world->answer_text);
        roles[count] = shown[i].rule;
        ck_assert_int_eq(rights_request(world, GRANTED, &row, id), 200);
        ck_assert_msg(strstr(world->answer_text, shown[i].text), "%s with %s: %s", shown[i].path,
                      shown[i].rule, world->answer_text);
    }
}
END_TEST

/* ---- no rule is forgotten ---- */

static bool is_requested(struct arena *arena, const char *name) {
    for (const struct group *group = rights_groups; group->rows; group++)
        for (size_t i = 0; i < group->count; i++) {
            const char *rules[RULES_MOST + 1];
            unsigned count = rules_split(arena, group->rows[i].rules, rules);

            while (count > 0)
                if (strcmp(rules[--count], name) == 0)
                    return true;
        }
    for (size_t i = 0; i < LENGTH(shown); i++)
        if (strcmp(shown[i].rule, name) == 0)
            return true;
    return false;
}

static bool is_unserved(const char *name) {
    for (size_t i = 0; i < LENGTH(unserved); i++)
        if (strcmp(unserved[i], name) == 0)
            return true;
    return false;
}

START_TEST(each_rule_is_enforced_by_a_route) {
    autoarena struct arena *arena = arena_new();
    const struct names names = names_read(arena);
    size_t found = 0;

    for (unsigned i = 0; i < names.count; i++) {
        bool queried = is_requested(arena, names.all[i]), listed = is_unserved(names.all[i]);

        ck_assert_msg(
            queried || listed,
            "no route asks %s: name it in the row of its route in tests/unit/api/rights.c "
            "or, for what an answer shows, in `shown`",
            names.all[i]);
        ck_assert_msg(!queried || !listed, "%s is asked now: take it out of `unserved`",
                      names.all[i]);
        found += listed;
    }
    ck_assert_uint_eq(found, LENGTH(unserved));
}
END_TEST

/* ---- other projects ---- */

/* Whatever the rules give away, it is never an object of others. */
START_TEST(no_rule_opens_another_project) {
    autoarena struct arena *arena = arena_new();
    struct names names = names_read(arena);

    names.all[names.count] = NULL;
    roles_grant(names.all);
    for (const struct group *group = rights_groups; group->rows; group++)
        for (size_t i = 0; i < group->count; i++) {
            const char *id, *before;
            autoworld struct world *world = NULL;

            if (!(group->rows[i].right & OWNED))
                continue;
            world = rights_world(group, &group->rows[i], names.file, true, &id);
            before = database_text(world->db, world->arena);
            ck_assert_msg(rights_request(world, "granted:" WORLD_OTHER, &group->rows[i], id) == 404,
                          "%s: %d", rights_name(world, &group->rows[i]), world->status);
            ck_assert_str_eq(database_text(world->db, world->arena), before);
        }
}
END_TEST

CHECK_MAIN("rights_rules", each_route_enforces_its_rules_in_order_and_no_other,
           each_rule_shows_its_own_keys, each_rule_is_enforced_by_a_route,
           no_rule_opens_another_project)
