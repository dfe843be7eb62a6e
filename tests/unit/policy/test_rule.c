#include "common/log.h"
#include "policy/rule.h"
#include "policy/rules.private.h"
#include "tests/lib/check_main.h"

#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

static const char *const admin_roles[] = { "admin", NULL };
static const char *const member_roles[] = { "member", "reader", NULL };
static const char *const reader_roles[] = { "reader", NULL };
static const char *const other_roles[] = { "guest", NULL };

static const struct context admin = { .user_id = "a",
                                      .project_id = "p0",
                                      .roles = admin_roles,
                                      .is_admin = true,
                                      .is_admin_project = true };
static const struct context member = { .user_id = "m", .project_id = "p1", .roles = member_roles };
static const struct context reader = { .user_id = "r", .project_id = "p1", .roles = reader_roles };
static const struct context guest = { .user_id = "g", .project_id = "p1", .roles = other_roles };
static const struct policy_target p1 = { .project_id = "p1", .user_id = "x" };
static const struct policy_target p2 = { .project_id = "p2", .user_id = "x" };

struct files {
    char directory[64];
};

static void files_make(struct files *files) {
    strcpy(files->directory, "/tmp/scoria-policy-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(files->directory));
}

static const char *files_path(const struct files *files, const char *name) {
    static char paths[4][128];
    static unsigned next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof(paths[0]), "%s/%s", files->directory, name);
    return path;
}

static void files_put(const struct files *files, const char *name, const char *text) {
    FILE *file = fopen(files_path(files, name), "w");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static void files_remove(struct files *files) {
    static const char *const names[] = { "policy.yaml", "10.yaml", "20.json", ".30.yaml",
                                         "40.yaml.bak", "README",  NULL };

    for (const char *const *name = names; *name; name++)
        unlink(files_path(files, *name));
    rmdir(files->directory);
}
#define autofiles __attribute__((cleanup(files_remove)))

static struct policy *load(const struct policy_settings *settings) {
    struct error err = { .kind = ERROR_NONE };
    struct policy *policy = NULL;

    ck_assert_msg(policy_load(settings, &policy, &err) == 0, "%s", err.message);
    return policy;
}

static struct policy *load_text(const char *text, bool new_defaults) {
    autofiles struct files files;
    struct policy_settings settings = { .enforce_new_defaults = new_defaults };

    files_make(&files);
    files_put(&files, "policy.yaml", text);
    settings.file = files_path(&files, "policy.yaml");
    return load(&settings);
}

static void refused(const char *text, const char *why) {
    autofiles struct files files;
    struct policy_settings settings = { .enforce_new_defaults = true };
    struct error err = { .kind = ERROR_NONE };
    struct policy *policy = NULL;

    files_make(&files);
    files_put(&files, "policy.yaml", text);
    settings.file = files_path(&files, "policy.yaml");
    ck_assert_int_eq(policy_load(&settings, &policy, &err), -1);
    ck_assert_ptr_null(policy);
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    ck_assert_msg(strstr(err.message, why), "%s", err.message);
}

START_TEST(there_are_192_rules_of_three_kinds) {
    unsigned admins = 0, members = 0, readers = 0;

    for (const struct rule_default *row = rule_defaults; row->name; row++) {
        admins += strcmp(row->text, "rule:admin_api") == 0;
        members += strcmp(row->text, "rule:xena_system_admin_or_project_member") == 0;
        readers += strcmp(row->text, "rule:xena_system_admin_or_project_reader") == 0;
        ck_assert(row->description[0] && strlen(row->description) < 80);
        for (const struct rule_default *next = row + 1; next->name; next++)
            ck_assert_str_ne(row->name, next->name);
    }
    ck_assert_uint_eq(admins, 88);
    ck_assert_uint_eq(members, 66);
    ck_assert_uint_eq(readers, 38);
}
END_TEST

START_TEST(defaults_let_the_right_callers_in) {
    struct policy *policy = load(&(struct policy_settings){ .enforce_new_defaults = true });

    ck_assert(policy_allows(policy, "context_is_admin", &admin, NULL));
    ck_assert(!policy_allows(policy, "context_is_admin", &member, NULL));
    ck_assert(policy_allows(policy, "volume:get", &reader, &p1));
    ck_assert(policy_allows(policy, "volume:get", &admin, &p2));
    ck_assert(!policy_allows(policy, "volume:get", &reader, &p2));
    ck_assert(!policy_allows(policy, "volume:get", &guest, &p1));
    ck_assert(policy_allows(policy, "volume:extend", &member, &p1));
    ck_assert(!policy_allows(policy, "volume:extend", &reader, &p1));
    ck_assert(!policy_allows(policy, "volume:extend", &member, &p2));
    ck_assert(policy_allows(
        policy, "volume_extension:volume_admin_actions:extend_volume_completion", &admin, &p1));
    ck_assert(!policy_allows(
        policy, "volume_extension:volume_admin_actions:extend_volume_completion", &member, &p1));
    ck_assert(!policy_allows(policy, "no:such:rule", &admin, NULL));
    policy_free(policy);
    policy_free(NULL);
}
END_TEST

START_TEST(rules_of_one_moment_have_a_bit_each) {
    static const char *const rules[] = { "volume:extend", "volume:get", "no:such:rule",
                                         "context_is_admin" };
    struct policy *policy = load(&(struct policy_settings){ .enforce_new_defaults = true });

    ck_assert_uint_eq(policy_allows_each(policy, rules, 4, &admin, &p1), 0xb);
    ck_assert_uint_eq(policy_allows_each(policy, rules, 4, &member, &p1), 0x3);
    ck_assert_uint_eq(policy_allows_each(policy, rules, 4, &reader, &p1), 0x2);
    ck_assert_uint_eq(policy_allows_each(policy, rules, 4, &reader, &p2), 0);
    ck_assert_uint_eq(policy_allows_each(policy, rules, 0, &admin, &p1), 0);
    policy_free(policy);
}
END_TEST

START_TEST(without_a_target_the_callers_own_project_counts) {
    struct policy *policy = load(&(struct policy_settings){ .enforce_new_defaults = true });

    ck_assert(policy_allows(policy, "volume:create", &member, NULL));
    ck_assert(!policy_allows(policy, "volume:create", &reader, NULL));
    policy_free(policy);
}
END_TEST

START_TEST(enforce_names_the_rule_it_refuses_by) {
    struct policy *policy = load(&(struct policy_settings){ .enforce_new_defaults = true });
    struct error err = { .kind = ERROR_NONE };

    ck_assert_int_eq(policy_enforce(policy, "volume:extend", &member, &p1, &err), 0);
    ck_assert_int_eq(err.kind, ERROR_NONE);
    ck_assert_int_eq(policy_enforce(policy, "volume:extend", &reader, &p1, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_FORBIDDEN);
    ck_assert(strstr(err.message, "volume:extend"));
    policy_free(policy);
}
END_TEST

START_TEST(predecessors_count_only_for_unchanged_rules_and_when_enabled) {
    struct policy *policy = load_text("\"volume:delete\": \"role:member\"\n", false);

    ck_assert(policy_allows(policy, "volume:get", &guest, &p1));
    ck_assert(!policy_allows(policy, "volume:get", &guest, &p2));
    ck_assert(policy_allows(policy, "volume:create", &guest, &p2));
    ck_assert(!policy_allows(policy, "volume:delete", &guest, &p1));
    ck_assert(policy_allows(policy, "volume:delete", &member, &p2));
    ck_assert(!policy_allows(policy, "volume:force_delete", &guest, &p1));
    ck_assert(policy_allows(policy, "volume_extension:type_get", &guest, &p1));
    ck_assert(policy_allows(policy, "volume_extension:types_extra_specs:index", &guest, &p1));
    /* Former releases showed these to administrators alone, or did not have them at all. */
    ck_assert(!policy_allows(policy, "volume_extension:access_types_extra_specs", &guest, &p1));
    ck_assert(policy_allows(policy, "volume_extension:access_types_extra_specs", &reader, &p1));
    ck_assert(!policy_allows(policy, "volume:reimage", &guest, &p1));
    ck_assert(!policy_allows(policy, "volume:reimage_reserved", &guest, &p1));
    policy_free(policy);
}
END_TEST

START_TEST(a_file_replaces_rules_and_adds_names_to_refer_to) {
    struct policy *policy =
        load_text("volume:extend: rule:ours or role:service\nours: user_id:m\n", true);

    ck_assert(policy_allows(policy, "volume:extend", &member, &p2));
    ck_assert(!policy_allows(policy, "volume:extend", &admin, &p1));
    ck_assert(policy_allows(policy, "ours", &member, NULL));
    ck_assert(!policy_allows(policy, "volume:delete", &guest, &p1));
    policy_free(policy);
}
END_TEST

START_TEST(changing_a_base_rule_changes_rules_that_refer_to_it) {
    struct policy *policy = load_text("admin_api: role:guest\n", true);

    ck_assert(policy_allows(policy, "volume:force_delete", &guest, &p1));
    ck_assert(!policy_allows(policy, "volume:force_delete", &admin, &p1));
    policy_free(policy);
}
END_TEST

START_TEST(files_of_the_directory_win_in_alphabetical_order) {
    autofiles struct files files;
    struct policy_settings settings = { .enforce_new_defaults = true };
    struct policy *policy;

    files_make(&files);
    files_put(&files, "policy.yaml", "a: \"!\"\nb: \"!\"\n");
    files_put(&files, "20.json", "{\"b\": \"@\"}");
    files_put(&files, "10.yaml", "a: \"@\"\nb: \"!\"\n");
    files_put(&files, ".30.yaml", "a: \"!\"\n");
    files_put(&files, "40.yaml.bak", "a: \"!\"\n");
    files_put(&files, "README", "a: \"!\"\n");
    settings.file = files_path(&files, "policy.yaml");
    settings.directory = files.directory;
    unlink(settings.file);
    settings.optional = true;
    policy = load(&settings);
    ck_assert(policy_allows(policy, "a", &guest, NULL));
    ck_assert(policy_allows(policy, "b", &guest, NULL));
    policy_free(policy);
}
END_TEST

START_TEST(missing_files_are_fine_where_they_may_be) {
    struct policy_settings settings = { .file = "/nonexistent/policy.yaml",
                                        .optional = true,
                                        .directory = "/nonexistent/policy.d",
                                        .enforce_new_defaults = true };
    struct error err = { .kind = ERROR_NONE };
    struct policy *policy = load(&settings);

    policy_free(policy);
    settings.optional = false;
    policy = load(&settings);
    ck_assert(policy_allows(policy, "volume:extend", &member, &p1));
    ck_assert(!policy_allows(policy, "volume:extend", &reader, &p1));
    policy_free(policy);
    settings.file = "/dev/null";
    ck_assert_int_eq(policy_load(&settings, &policy, &err), -1);
    ck_assert(strstr(err.message, "/dev/null"));
    settings.file = NULL;
    settings.directory = "/dev/null";
    ck_assert_int_eq(policy_load(&settings, &policy, &err), -1);
    ck_assert(strstr(err.message, "/dev/null"));
}
END_TEST

START_TEST(a_bad_file_of_the_directory_is_refused) {
    autofiles struct files files;
    struct policy_settings settings = { .enforce_new_defaults = true };
    struct error err = { .kind = ERROR_NONE };
    struct policy *policy = NULL;

    files_make(&files);
    files_put(&files, "10.yaml", "a: b\n");
    files_put(&files, "20.json", "{}");
    settings.directory = files.directory;
    ck_assert_int_eq(policy_load(&settings, &policy, &err), -1);
    ck_assert(strstr(err.message, "10.yaml:1: rule a: "));
}
END_TEST

static bool soon(const struct policy *policy, const struct context *context, bool wanted) {
    for (int i = 0; i < 30000; i++) {
        if (policy_allows(policy, "volume:extend", context, &p1) == wanted)
            return true;
        usleep(1000);
    }
    return false;
}

START_TEST(files_that_change_are_read_again_and_wrong_ones_are_not_taken) {
    autofiles struct files files;
    struct policy_settings settings = { .optional = true, .look_ms = 1 };
    struct policy *policy;

    log_open(-1, LOG_ERROR, LOG_TEXT);
    files_make(&files);
    settings.file = files_path(&files, "README");
    settings.directory = files.directory;
    settings.enforce_new_defaults = true;
    policy = load(&settings);
    ck_assert(!policy_allows(policy, "volume:extend", &guest, &p1));
    files_put(&files, "README", "volume:extend: role:guest\n");
    ck_assert(soon(policy, &guest, true));
    ck_assert(!policy_allows(policy, "volume:extend", &member, &p1));
    files_put(&files, "10.yaml", "volume:extend: role:guest and rule:nowhere\n"); /* no such rule */
    usleep(20000);
    ck_assert(policy_allows(policy, "volume:extend", &guest, &p1));
    ck_assert(!policy_allows(policy, "volume:extend", &member, &p1));
    files_put(&files, "10.yaml", "x: rule:y or rule:y\ny: rule:x\n"); /* without end */
    usleep(20000);
    ck_assert(policy_allows(policy, "volume:extend", &guest, &p1));
    files_put(&files, "10.yaml", "volume:extend: role:reader\n");
    ck_assert(soon(policy, &guest, false));
    ck_assert(policy_allows(policy, "volume:extend", &reader, &p1));
    unlink(files_path(&files, "10.yaml"));
    ck_assert(soon(policy, &guest, true));
    unlink(files_path(&files, "README"));
    ck_assert(soon(policy, &member, true));
    ck_assert(!policy_allows(policy, "volume:extend", &guest, &p1));
    policy_free(policy);
}
END_TEST

static void *request_often(void *arg) {
    const struct policy *policy = arg;

    for (int i = 0; i < 20000; i++)
        ck_assert(policy_allows(policy, "volume:extend", &admin, &p1));
    return NULL;
}

/* As for want of descriptors: the files do not change once there are some again. */
START_TEST(files_that_cannot_be_read_for_a_while_are_read_later) {
    static const char *const changed[] = { "policy.yaml", "policy.yaml", "10.yaml" };

    log_open(-1, LOG_ERROR, LOG_TEXT);
    for (size_t i = 0; i < LENGTH(changed); i++) {
        autofiles struct files files;
        struct policy_settings settings = { .look_ms = 1, .enforce_new_defaults = true };
        struct rlimit before, none;
        struct policy *policy;

        files_make(&files);
        settings.file = files_path(&files, "policy.yaml");
        settings.directory = i > 0 ? files.directory : NULL;
        files_put(&files, changed[i], "volume:extend: '@'\n");
        policy = load(&settings);
        ck_assert(policy_allows(policy, "volume:extend", &reader, &p1));
        files_put(&files, changed[i], "volume:extend: role:admin\n");
        ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
        none = (struct rlimit){ .rlim_cur = 0, .rlim_max = before.rlim_max };
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
        for (int k = 0; k < 20; k++, usleep(2000))
            ck_assert(policy_allows(policy, "volume:extend", &reader, &p1));
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
        ck_assert(soon(policy, &reader, false));
        policy_free(policy);
    }
}
END_TEST

/* Rules that restrict do not end with their file, as they would if the built-in ones applied. */
START_TEST(a_named_file_that_goes_missing_leaves_its_rules_in_force) {
    autofiles struct files files;
    struct policy_settings settings = { .look_ms = 1, .enforce_new_defaults = true };
    struct policy *policy;

    files_make(&files);
    settings.file = files_path(&files, "policy.yaml");
    settings.directory = files.directory;
    policy = load(&settings);
    ck_assert(policy_allows(policy, "volume:extend", &member, &p1));
    files_put(&files, "10.yaml", "volume:extend: role:reader\n");
    ck_assert(soon(policy, &reader, true));
    unlink(files_path(&files, "10.yaml"));
    ck_assert(soon(policy, &reader, false));
    files_put(&files, "policy.yaml", "volume:extend: '!'\n");
    ck_assert(soon(policy, &member, false));
    unlink(files_path(&files, "policy.yaml"));
    for (int i = 0; i < 100; i++, usleep(1000))
        ck_assert(!policy_allows(policy, "volume:extend", &member, &p1));
    files_put(&files, "policy.yaml", "a: '@'\n");
    ck_assert(soon(policy, &member, true));
    policy_free(policy);
}
END_TEST

START_TEST(rules_are_enforced_while_files_change) {
    autofiles struct files files;
    struct policy_settings settings = { .look_ms = 1, .enforce_new_defaults = true };
    struct policy *policy;
    pthread_t threads[4];

    log_open(-1, LOG_ERROR, LOG_TEXT);
    files_make(&files);
    files_put(&files, "policy.yaml", "");
    settings.file = files_path(&files, "policy.yaml");
    policy = load(&settings);
    for (size_t i = 0; i < LENGTH(threads); i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, request_often, policy), 0);
    for (int i = 0; i < 20; i++) {
        files_put(&files, "policy.yaml",
                  i % 2 ? "volume:extend: role:admin\n" : "volume:extend: '@'\n");
        usleep(2000);
    }
    for (size_t i = 0; i < LENGTH(threads); i++)
        pthread_join(threads[i], NULL);
    policy_free(policy);
}
END_TEST

START_TEST(loops_and_unknown_references_are_refused_at_load) {
    refused("a: rule:b\nb: not rule:c\nc: role:x or rule:a\n", "leads back to itself");
    refused("a: rule:a\n", "leads back to itself through a");
    refused("a: role:x\nb: role:x or rule:zebra\n",
            "policy.yaml:2: rule b: there is no rule zebra");
    refused("admin_api: rule:volume:force_delete\n", "leads back to itself");
    refused("a: \"@\"\nb: \"@\"\na: \"!\"\n", "policy.yaml:3: rule a was defined in line 1");
}
END_TEST

START_TEST(chains_of_references_are_bounded) {
    static char text[200000];
    size_t size = 0;

    for (int i = 0; i < 3000; i++)
        size += (size_t)sprintf(text + size, "r%d: rule:r%d\n", i, i + 1);
    sprintf(text + size, "r3000: \"@\"\n");
    refused(text, "too many others");
}
END_TEST

/* Each rule is nested as deep as one may be, and leads to the next. */
START_TEST(deep_rules_behind_each_other_are_bounded) {
    static char text[20000];
    size_t size = 0;

    for (int i = 0; i < 10; i++) {
        size += (size_t)sprintf(text + size, "r%d: \"", i);
        for (int j = 0; j < 150; j++)
            size += (size_t)sprintf(text + size, "not ");
        size += (size_t)sprintf(text + size, "rule:r%d\"\n", i + 1);
    }
    sprintf(text + size, "r10: \"@\"\n");
    refused(text, "too many others");
}
END_TEST

/* Each rule has as many checks as one may have, and leads to the next: one level each. */
START_TEST(long_rules_behind_each_other_are_bounded) {
    static char text[1000000];
    size_t size = 0;

    for (int i = 0; i < 100; i++) {
        size += (size_t)sprintf(text + size, "r%d: \"rule:r%d", i, i + 1);
        for (int j = 0; j < 990; j++)
            size += (size_t)sprintf(text + size, " or @");
        size += (size_t)sprintf(text + size, "\"\n");
    }
    sprintf(text + size, "r100: \"@\"\n");
    refused(text, "too many checks");
}
END_TEST

/* One decision would evaluate 2^100 checks. */
START_TEST(rules_that_double_each_other_are_bounded) {
    static char text[20000];
    size_t size = 0;

    for (int i = 0; i < 100; i++)
        size += (size_t)sprintf(text + size, "r%d: rule:r%d or rule:r%d\n", i, i + 1, i + 1);
    sprintf(text + size, "r100: \"!\"\n");
    refused(text, "too many checks");
}
END_TEST

START_TEST(rules_above_the_limit_are_refused) {
    static char text[400000];
    size_t size = 0;

    for (int i = 0; i < 20000; i++)
        size += (size_t)sprintf(text + size, "r%d: \"@\"\n", i);
    refused(text, "there are more than 10000 rules");
}
END_TEST

START_TEST(many_rules_are_found) {
    static char text[200000];
    size_t size = 0;
    struct policy *policy;

    for (int i = 0; i < 3000; i++)
        size += (size_t)sprintf(text + size, "r%d: user_id:u%d\n", i, i);
    policy = load_text(text, true);
    for (int i = 0; i < 3000; i += 7) {
        char name[16], user_id[16];
        const struct context context = { .user_id = user_id };

        sprintf(name, "r%d", i);
        sprintf(user_id, "u%d", i);
        ck_assert(policy_allows(policy, name, &context, NULL));
        ck_assert(!policy_allows(policy, name, &member, NULL));
    }
    policy_free(policy);
}
END_TEST

START_TEST(the_sample_shows_every_rule_and_loads_as_the_defaults) {
    autofree char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct policy *policy;

    policy_print_sample(out);
    fclose(out);
    for (const struct rule_default *row = rule_defaults; row->name; row++)
        ck_assert_ptr_nonnull(strstr(text, row->name));
    policy = load_text(text, true);
    policy_free(policy);
    for (char *at = text; (at = strstr(at, "#\"")); at++)
        *at = ' ';
    policy = load_text(text, true);
    ck_assert(policy_allows(policy, "volume:get", &reader, &p1));
    ck_assert(!policy_allows(policy, "volume:get", &guest, &p1));
    policy_free(policy);
}
END_TEST

CHECK_MAIN("rule", there_are_192_rules_of_three_kinds, defaults_let_the_right_callers_in,
           rules_of_one_moment_have_a_bit_each, without_a_target_the_callers_own_project_counts,
           enforce_names_the_rule_it_refuses_by,
           predecessors_count_only_for_unchanged_rules_and_when_enabled,
           a_file_replaces_rules_and_adds_names_to_refer_to,
           changing_a_base_rule_changes_rules_that_refer_to_it,
           files_of_the_directory_win_in_alphabetical_order,
           missing_files_are_fine_where_they_may_be, a_bad_file_of_the_directory_is_refused,
           loops_and_unknown_references_are_refused_at_load, chains_of_references_are_bounded,
           deep_rules_behind_each_other_are_bounded, long_rules_behind_each_other_are_bounded,
           rules_that_double_each_other_are_bounded, rules_above_the_limit_are_refused,
           many_rules_are_found, the_sample_shows_every_rule_and_loads_as_the_defaults,
           files_that_change_are_read_again_and_wrong_ones_are_not_taken,
           files_that_cannot_be_read_for_a_while_are_read_later,
           a_named_file_that_goes_missing_leaves_its_rules_in_force,
           rules_are_enforced_while_files_change)
