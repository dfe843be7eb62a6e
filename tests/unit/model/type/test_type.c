#include "model/type/type.h"

#include "model/type/access.h"
#include "tests/lib/work_test.h"

#include <stdio.h>

static struct pairs specs_of(const struct pair *items, unsigned count) {
    return (struct pairs){ .items = items, .count = count };
}
#define SPECS(...)                                 \
    specs_of((const struct pair[]){ __VA_ARGS__ }, \
             sizeof((const struct pair[]){ __VA_ARGS__ }) / sizeof(struct pair))

static struct volume_type make(struct work *work, const char *name, bool is_public,
                               struct pairs specs) {
    struct volume_type type;
    struct error err = { 0 };

    ck_assert_msg(volume_type_create(work, name, "words", is_public, &specs, &type, &err) == 0,
                  "%s", err.message);
    return type;
}

static struct volume_type plain(struct work *work, const char *name, bool is_public) {
    return make(work, name, is_public, (struct pairs){ 0 });
}

/* ---- reading ---- */

WORK_TEST(a_type_is_read_back_as_it_was_made) {
    struct volume_type made = make(work, "gold", true, SPECS({ "b", "2" }, { "a", NULL })), read;

    OK(volume_type_get(work, made.id, &read, err));
    ck_assert_str_eq(read.name, "gold");
    ck_assert_str_eq(read.description, "words");
    ck_assert(read.is_public);
    ck_assert_int_eq(read.created_at, NOW_US);
    ck_assert_int_eq(read.updated_at, 0);
    ck_assert_uint_eq(read.extra_specs.count, 2);
    ck_assert_str_eq(read.extra_specs.items[0].key, "a");
    ck_assert_ptr_null(read.extra_specs.items[0].value);
    ck_assert_str_eq(pairs_get(&read.extra_specs, "b"), "2");
}

WORK_TEST(a_private_type_is_seen_by_admins_and_by_the_projects_of_its_list) {
    struct volume_type hidden = plain(work, "hidden", false), read;

    REFUSED(volume_type_get(work, hidden.id, &read, err), NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(err->message, hidden.id));
    REFUSED(volume_type_find(work, "hidden", &read, err), NOT_FOUND);
    OK(volume_type_row(work, hidden.id, &read, err));
    OK(type_access_add(work, &hidden, PROJECT, err));
    OK(volume_type_get(work, hidden.id, &read, err));
    OK(volume_type_find(work, "hidden", &read, err));
    OK(type_access_remove(work, &hidden, PROJECT, err));
    REFUSED(volume_type_get(work, hidden.id, &read, err), NOT_FOUND);
    context_of(work)->is_admin = true;
    OK(volume_type_get(work, hidden.id, &read, err));
}

WORK_TEST(a_type_is_found_by_name_but_an_id_goes_first) {
    struct volume_type gold = plain(work, "gold", true), read;

    plain(work, gold.id, true); /* its name is the other one's id */
    OK(volume_type_find(work, "gold", &read, err));
    ck_assert_str_eq(read.id, gold.id);
    OK(volume_type_find(work, gold.id, &read, err));
    ck_assert_str_eq(read.name, "gold");
    REFUSED(volume_type_get(work, "gold", &read, err), NOT_FOUND);
}

WORK_TEST(the_default_type_is_the_configured_one) {
    struct volume_type read;

    REFUSED(volume_type_default(work, &read, err), INTERNAL);
    OK(volume_type_bootstrap(work, err));
    OK(volume_type_default(work, &read, err));
    ck_assert_str_eq(read.name, "__DEFAULT__");
    plain(work, "gold", true);
    settings_of(work)->default_volume_type = "gold";
    OK(volume_type_default(work, &read, err));
    ck_assert_str_eq(read.name, "gold");
    settings_of(work)->default_volume_type = NULL;
    REFUSED(volume_type_default(work, &read, err), INTERNAL);
}

WORK_TEST(a_list_gives_each_type_its_own_extra_specs) {
    struct query query = { .where = "t.name <> $1",
                           .values = DB_VALUES(DB_TEXT("none")) + 1,
                           .value_count = 1,
                           .order = "t.name",
                           .limit = -1 };
    struct volume_type *types;

    make(work, "a", true, SPECS({ "k", "1" }, { "l", "2" }, { "m", "3" }));
    plain(work, "b", true);
    make(work, "c", true, SPECS({ "k", "4" }));
    ck_assert_int_eq(volume_type_list(work, &query, &types, err), 3);
    ck_assert_uint_eq(types[0].extra_specs.count, 3);
    ck_assert_str_eq(pairs_get(&types[0].extra_specs, "m"), "3");
    ck_assert_uint_eq(types[1].extra_specs.count, 0);
    ck_assert_str_eq(pairs_get(&types[2].extra_specs, "k"), "4");
    query.limit = 1;
    query.offset = 2;
    ck_assert_int_eq(volume_type_list(work, &query, &types, err), 1);
    ck_assert_str_eq(types[0].name, "c");
    query.offset = 3;
    ck_assert_int_eq(volume_type_list(work, &query, &types, err), 0);
}

/* ---- meaning of extra specs ---- */

WORK_TEST(is_true_needs_an_operator) {
    struct volume_type type = { .extra_specs = SPECS({ "a", "<is> True" }, { "b", "<is>  yes" },
                                                     { "c", "True" }, { "d", "<is> False" },
                                                     { "e", "<is>" }, { "f", NULL }) };

    (void)work, (void)err;
    ck_assert(volume_type_is(&type, "a"));
    ck_assert(volume_type_is(&type, "b"));
    ck_assert(!volume_type_is(&type, "c"));
    ck_assert(!volume_type_is(&type, "d"));
    ck_assert(!volume_type_is(&type, "e"));
    ck_assert(!volume_type_is(&type, "f"));
    ck_assert(!volume_type_is(&type, "g"));
}

WORK_TEST(a_type_bounds_the_size_of_its_volumes) {
    struct volume_type type = { .name = "gold",
                                .extra_specs = SPECS({ "provisioning:min_vol_size", "2" },
                                                     { "provisioning:max_vol_size", "4" }) };
    struct volume_type free = { .extra_specs = SPECS({ "provisioning:max_vol_size", "many" }) };

    (void)work;
    REFUSED(volume_type_check_size(&type, 1, err), BAD_REQUEST);
    OK(volume_type_check_size(&type, 2, err));
    OK(volume_type_check_size(&type, 4, err));
    REFUSED(volume_type_check_size(&type, 5, err), BAD_REQUEST);
    ck_assert_ptr_nonnull(strstr(err->message, "gold"));
    OK(volume_type_check_size(&free, 5, err));
}

/* ---- changing ---- */

WORK_TEST(a_taken_name_is_refused_and_nothing_is_made) {
    struct volume_type gold = plain(work, "gold", true), other = plain(work, "tin", true), type;

    REFUSED(volume_type_create(work, "gold", NULL, true, NULL, &type, err), CONFLICT);
    REFUSED(volume_type_update(work, &other, "gold", false, NULL, -1, err), CONFLICT);
    ck_assert_int_eq(rows_of(work, "volume_types"), 2);
    OK(volume_type_update(work, &gold, "gold", false, NULL, -1, err));
}

WORK_TEST(multiattach_and_cacheable_exclude_each_other) {
    struct pairs both = SPECS({ "multiattach", "<is> True" }, { "cacheable", "<is> True" });
    struct pairs cacheable = SPECS({ "cacheable", "<is> True" });
    struct pairs neither = SPECS({ "multiattach", "<is> False" }, { "cacheable", "<is> True" });
    struct volume_type type,
        multi = make(work, "multi", true, SPECS({ "multiattach", "<is> True" }));

    REFUSED(volume_type_create(work, "both", NULL, true, &both, &type, err), BAD_REQUEST);
    REFUSED(volume_type_specs_set(work, &multi, &cacheable, err), BAD_REQUEST);
    ck_assert_int_eq(rows_of(work, "volume_type_extra_specs"), 1);
    OK(volume_type_specs_set(work, &multi, &neither, err));
}

WORK_TEST(an_update_changes_only_the_named_fields) {
    struct volume_type gold = plain(work, "gold", true), read;

    OK(volume_type_update(work, &gold, NULL, true, "other", -1, err));
    OK(volume_type_row(work, gold.id, &read, err));
    ck_assert_str_eq(read.name, "gold");
    ck_assert_str_eq(read.description, "other");
    ck_assert(read.is_public);
    ck_assert_int_eq(read.updated_at, NOW_US);
    OK(volume_type_update(work, &read, "silver", false, NULL, 0, err));
    OK(volume_type_row(work, gold.id, &read, err));
    ck_assert_str_eq(read.name, "silver");
    ck_assert_str_eq(read.description, "other");
    ck_assert(!read.is_public);
}

WORK_TEST(a_rename_takes_the_quotas_along) {
    struct volume_type gold = plain(work, "gold", true);

    sql(work, "INSERT INTO quotas VALUES ('" PROJECT "', 'volumes_gold', 3)");
    OK(volume_type_update(work, &gold, "silver", false, NULL, -1, err));
    ck_assert_int_eq(sql_int(work, "SELECT hard_limit FROM quotas "
                                   "WHERE resource = 'volumes_silver'"),
                     3);
}

WORK_TEST(a_type_can_be_deleted_when_nothing_needs_it) {
    struct volume_type standard, gold;

    OK(volume_type_bootstrap(work, err));
    OK(volume_type_default(work, &standard, err));
    gold = make(work, "gold", false, SPECS({ "k", "v" }));
    OK(type_access_add(work, &gold, PROJECT, err));
    REFUSED(volume_type_delete(work, &standard, err), BAD_REQUEST);
    put_volume(work, "v1", PROJECT, gold.id, 1, true, NULL);
    REFUSED(volume_type_delete(work, &gold, err), BAD_REQUEST);
    ck_assert_int_eq(rows_of(work, "volume_types"), 2);
    sql(work, "DELETE FROM volumes");
    OK(volume_type_delete(work, &gold, err));
    ck_assert_int_eq(rows_of(work, "volume_types"), 1);
    ck_assert_int_eq(rows_of(work, "volume_type_extra_specs"), 0);
    ck_assert_int_eq(rows_of(work, "volume_type_projects"), 0);
}

WORK_TEST(the_last_type_stays_and_without_a_default_none_goes) {
    struct volume_type only = plain(work, "only", true);

    REFUSED(volume_type_delete(work, &only, err), INTERNAL);
    settings_of(work)->default_volume_type = "only";
    REFUSED(volume_type_delete(work, &only, err), BAD_REQUEST);
    ck_assert_int_eq(rows_of(work, "volume_types"), 1);
}

WORK_TEST(specs_change_only_while_no_volume_has_the_type) {
    struct volume_type gold = make(work, "gold", true, SPECS({ "k", "1" })), read;
    struct pairs more = SPECS({ "k", "2" }, { "l", "3" });

    OK(volume_type_specs_set(work, &gold, &more, err));
    OK(volume_type_row(work, gold.id, &read, err));
    ck_assert_str_eq(pairs_get(&read.extra_specs, "k"), "2");
    OK(volume_type_spec_delete(work, &gold, "l", err));
    REFUSED(volume_type_spec_delete(work, &gold, "l", err), NOT_FOUND);
    put_volume(work, "v1", PROJECT, gold.id, 1, true, NULL);
    REFUSED(volume_type_specs_set(work, &gold, &more, err), BAD_REQUEST);
    REFUSED(volume_type_spec_delete(work, &gold, "k", err), BAD_REQUEST);
    ck_assert_int_eq(rows_of(work, "volume_type_extra_specs"), 1);
}

WORK_TEST(access_lists_belong_to_private_types) {
    struct volume_type gold = plain(work, "gold", true), hidden = plain(work, "hidden", false);
    const char **projects;

    REFUSED(type_access_add(work, &gold, PROJECT, err), BAD_REQUEST);
    REFUSED(type_access_remove(work, &gold, PROJECT, err), BAD_REQUEST);
    OK(type_access_add(work, &hidden, PROJECT, err));
    OK(type_access_add(work, &hidden, OTHER, err));
    REFUSED(type_access_add(work, &hidden, OTHER, err), CONFLICT);
    ck_assert_int_eq(type_access_list(work, &hidden, &projects, err), 2);
    ck_assert_str_eq(projects[0], PROJECT);
    ck_assert_str_eq(projects[1], OTHER);
    OK(type_access_remove(work, &hidden, OTHER, err));
    REFUSED(type_access_remove(work, &hidden, OTHER, err), NOT_FOUND);
    ck_assert_int_eq(type_access_list(work, &hidden, &projects, err), 1);
}

WORK_TEST(the_default_type_is_made_in_a_fresh_database_only) {
    struct volume_type gold;

    OK(volume_type_bootstrap(work, err));
    OK(volume_type_bootstrap(work, err));
    ck_assert_int_eq(rows_of(work, "volume_types"), 1);
    ck_assert_int_eq(sql_int(work, "SELECT is_public FROM volume_types WHERE name = '__DEFAULT__' "
                                   "AND description = 'Default Volume Type'"),
                     1);
    gold = plain(work, "gold", true);
    settings_of(work)->default_volume_type = gold.name;
    sql(work, "DELETE FROM volume_types WHERE name = '__DEFAULT__'");
    OK(volume_type_bootstrap(work, err));
    ck_assert_int_eq(rows_of(work, "volume_types"), 1);
}

WORK_TEST(a_failing_database_is_reported) {
    if (postgresql_given())
        return; /* there a failed statement ends the transaction */
    struct query all = { .where = "1=1", .order = "t.name", .limit = -1 };
    struct volume_type gold, *types, type;
    struct pairs specs = SPECS({ "k", "v" });
    const char **projects;

    OK(volume_type_bootstrap(work, err));
    gold = make(work, "gold", false, specs);
    FAILS_WITHOUT("volume_types", volume_type_get(work, gold.id, &type, err));
    FAILS_WITHOUT("volume_type_extra_specs", volume_type_row(work, gold.id, &type, err));
    FAILS_WITHOUT("volume_types", volume_type_default(work, &type, err));
    FAILS_WITHOUT("volume_types", volume_type_list(work, &all, &types, err));
    FAILS_WITHOUT("volume_type_extra_specs", volume_type_list(work, &all, &types, err));
    FAILS_WITHOUT("volume_types", volume_type_create(work, "x", NULL, true, NULL, &type, err));
    FAILS_WITHOUT("volume_type_extra_specs",
                  volume_type_create(work, "y", NULL, true, &specs, &type, err));
    FAILS_WITHOUT("volume_types", volume_type_update(work, &gold, NULL, true, "d", -1, err));
    FAILS_WITHOUT("quotas", volume_type_update(work, &gold, "z", false, NULL, -1, err));
    FAILS_WITHOUT("volumes", volume_type_specs_set(work, &gold, &specs, err));
    FAILS_WITHOUT("volumes", volume_type_spec_delete(work, &gold, "k", err));
    FAILS_WITHOUT("volume_type_extra_specs", volume_type_spec_delete(work, &gold, "k", err));
    sql(work, "CREATE TRIGGER refuse BEFORE DELETE ON volume_types "
              "BEGIN SELECT RAISE(ABORT, 'no'); END");
    REFUSED(volume_type_delete(work, &gold, err), INTERNAL);
    FAILS_WITHOUT("volumes", volume_type_delete(work, &gold, err));
    FAILS_WITHOUT("volume_type_projects", type_access_list(work, &gold, &projects, err));
    FAILS_READING("volume_type_projects", type_access_list(work, &gold, &projects, err));
    FAILS_READING("volume_types", volume_type_list(work, &all, &types, err));
    FAILS_READING("volume_type_extra_specs", volume_type_list(work, &all, &types, err));
    FAILS_WITHOUT("volume_type_projects", type_access_add(work, &gold, PROJECT, err));
    FAILS_WITHOUT("volume_type_projects", type_access_remove(work, &gold, PROJECT, err));
    FAILS_WITHOUT("volume_types", volume_type_bootstrap(work, err));
}

CHECK_MAIN("type", a_type_is_read_back_as_it_was_made,
           a_private_type_is_seen_by_admins_and_by_the_projects_of_its_list,
           a_type_is_found_by_name_but_an_id_goes_first, the_default_type_is_the_configured_one,
           a_list_gives_each_type_its_own_extra_specs, is_true_needs_an_operator,
           a_type_bounds_the_size_of_its_volumes, a_taken_name_is_refused_and_nothing_is_made,
           multiattach_and_cacheable_exclude_each_other, an_update_changes_only_the_named_fields,
           a_rename_takes_the_quotas_along, a_type_can_be_deleted_when_nothing_needs_it,
           the_last_type_stays_and_without_a_default_none_goes,
           specs_change_only_while_no_volume_has_the_type, access_lists_belong_to_private_types,
           the_default_type_is_made_in_a_fresh_database_only, a_failing_database_is_reported)
