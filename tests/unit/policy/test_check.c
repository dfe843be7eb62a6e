#include "policy/check_parse.private.h"
#include "policy/rule.h"
#include "tests/lib/check_main.h"

#include <string.h>

static const char *const member_roles[] = { "member", "Reader", NULL };
static const struct context member = {
    .user_id = "u1", .project_id = "p1", .roles = member_roles, .is_admin_project = true
};
static const struct policy_target own = { .project_id = "p1", .user_id = "u1" };
static const struct policy_target other = { .project_id = "p2", .user_id = "u2" };
static const struct policy_target unowned = { .project_id = NULL };

static bool answer(const char *text, const struct context *context,
                   const struct policy_target *target) {
    autoarena struct arena *arena = arena_new();
    const struct check_question question = { context, target };
    struct error err = { .kind = ERROR_NONE };
    const struct check *check = check_parse(arena, text, &err);

    ck_assert_msg(check, "%s: %s", text, err.message);
    return check_is_true(check, &question);
}

static void expect(const char *text, bool wanted) {
    ck_assert_msg(answer(text, &member, &own) == wanted, "'%s' must be %d", text, wanted);
}

static void refused(const char *text, const char *why) {
    autoarena struct arena *arena = arena_new();
    struct error err = { .kind = ERROR_NONE };

    ck_assert_msg(!check_parse(arena, text, &err), "'%s' must be refused", text);
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    ck_assert_msg(strstr(err.message, why), "'%s': %s", text, err.message);
}

START_TEST(constants_and_empty_rules_answer_themselves) {
    expect("", true);
    expect("  \n\t", true);
    expect("@", true);
    expect("!", false);
    expect("not !", true);
    expect("NOT @", false);
}
END_TEST

START_TEST(and_binds_tighter_than_or_and_not_tightest) {
    expect("@ or @ and !", true);
    expect("(@ or @) and !", false);
    expect("! and ! or @", true);
    expect("not ! and !", false);
    expect("not (! and !)", true);
    expect("not not @", true);
    expect("@ AND @ Or !", true);
    expect("((@) and (not (!)))", true);
    expect("( @ )", true);
    expect("! or ! or @", true);
    expect("@ and @ and !", false);
}
END_TEST

START_TEST(only_roles_ignore_case) {
    expect("role:MEMBER", true);
    expect("role:reader", true);
    expect("role:admin", false);
    expect("role:memb", false);
    expect("role:members", false);
    expect("roles:member", true);
    expect("roles:Member", false);
    expect("user_id:u1", true);
    expect("user_id:U1", false);
    expect("role:", false);
}
END_TEST

START_TEST(only_the_first_colon_splits_a_check) {
    static const char *const roles[] = { "compute:admin", NULL };
    const struct context context = { .roles = roles };

    ck_assert(answer("role:compute:admin", &context, &own));
    ck_assert(!answer("role:compute", &context, &own));
}
END_TEST

START_TEST(a_match_takes_fields_of_the_target) {
    expect("project_id:%(project_id)s", true);
    expect("user_id:%(user_id)s and project_id:%(project_id)s", true);
    expect("(role:member and project_id:%(project_id)s)", true);
    ck_assert(!answer("project_id:%(project_id)s", &member, &other));
    expect("'p1-u1':%(project_id)s-%(user_id)s", true);
    expect("'x%y':x%%y", true);
    expect("project_id:%(project_id)sx", false);
    expect("tenant:%(project_id)s", true);
}
END_TEST

START_TEST(an_attribute_missing_in_the_target_matches_no_caller) {
    const struct context nowhere = { .user_id = "u1" };

    expect("project_id:%(volume_id)s", false);
    expect("not project_id:%(volume_id)s", true);
    ck_assert(!answer("project_id:%(project_id)s", &member, &unowned));
    ck_assert(!answer("project_id:%(project_id)s", &nowhere, &unowned));
    ck_assert(!answer("project_id:%(project_id)s", &nowhere,
                      &(struct policy_target){ .project_id = "None" }));
    ck_assert(answer("project_id:None", &nowhere, &own));
    ck_assert(!answer("role:member", &nowhere, &own));
}
END_TEST

START_TEST(attributes_and_literals_are_compared_as_text) {
    const struct context admin = { .user_id = "a",
                                   .is_admin = true,
                                   .system_scope = true,
                                   .domain_id = "d",
                                   .user_domain_id = "ud",
                                   .project_domain_id = "pd" };

    ck_assert(answer("is_admin:True and is_admin_project:False", &admin, &own));
    ck_assert(answer("system_scope:all and domain_id:d", &admin, &own));
    ck_assert(answer("user_domain_id:ud and project_domain_id:pd", &admin, &own));
    expect("is_admin:True", false);
    expect("is_admin:False and is_admin_project:True", true);
    expect("is_admin:true", false);
    expect("system_scope:None", true);
    expect("True:True", true);
    expect("True:False", false);
    expect("None:None", true);
    expect("12:12", true);
    expect("12:13", false);
    expect("\"p1\":%(project_id)s", true);
    expect("12a:12a", false);
}
END_TEST

START_TEST(missing_attributes_and_quoted_text_are_false) {
    expect("favourite_colour:blue", false);
    expect("target.role.name:x", false);
    expect("'quoted'", false);
    expect("\"quoted:word\"", false);
    expect("not 'quoted'", true);
}
END_TEST

START_TEST(syntax_errors_are_refused_with_the_reason) {
    refused("admin", "kind:match");
    refused(":x", "kind:match");
    refused("role:admin or", "missing");
    refused("or role:admin", "missing");
    refused("role:admin role:member", "role:member");
    refused("(role:admin", "closing bracket");
    refused("role:admin)", "belong");
    refused("()", "missing");
    refused(")", "missing");
    refused("not", "missing");
    refused("and", "missing");
    refused("role:a and (role:b or )", "missing");
    refused("project_id:%(project_id", "%(name)s");
    refused("project_id:%d", "%(name)s");
    refused("http://policy.example.org/check", "not supported");
    refused("role:a or https://policy.example.org/%(x)s", "not supported");
    refused("role:a%%b%%c%%d%%e", "parts");
}
END_TEST

START_TEST(size_and_depth_of_a_rule_are_bounded) {
    char text[20000] = "";

    for (int i = 0; i < 199; i++)
        strcat(text, "(");
    strcat(text, "@");
    for (int i = 0; i < 199; i++)
        strcat(text, ")");
    expect(text, true);
    memset(text, '(', 300);
    text[300] = '\0';
    refused(text, "too deeply");
    text[0] = '\0';
    for (int i = 0; i < 300; i++)
        strcat(text, "not ");
    refused(text, "too deeply");
    strcpy(text, "@");
    for (int i = 0; i < CHECK_TERMS_MOST; i++)
        strcat(text, " and @");
    refused(text, "too many");
}
END_TEST

static unsigned deepest; /* that a reference stood */

static const struct check *resolve_one(void *arg, const char *name, unsigned above,
                                       struct check_cost *ret, struct error *err) {
    const char *known = arg;

    deepest = above > deepest ? above : deepest;
    *ret = (struct check_cost){ .depth = 5, .checks = 50 };
    if (strcmp(name, known) == 0)
        return check_constant(true);
    error_set(err, ERROR_BAD_REQUEST, "no %s", name);
    return NULL;
}

START_TEST(references_are_resolved_everywhere_in_the_tree) {
    autoarena struct arena *arena = arena_new();
    const struct check_question question = { &member, &own };
    struct error err = { .kind = ERROR_NONE };
    char known[] = "known";
    const struct check *check = check_parse(arena, "! or (not ! and rule:known)", &err);
    struct check_cost weight;

    ck_assert_int_eq(check_resolve(check, 10, resolve_one, known, &weight, &err), 0);
    ck_assert_uint_eq(weight.depth, 8);
    ck_assert_int_eq(weight.checks, 56);
    ck_assert_uint_eq(deepest, 13);
    ck_assert(check_is_true(check, &question));
    check = check_parse(arena, "rule:known and (rule:unknown or @)", &err);
    ck_assert_int_eq(check_resolve(check, 0, resolve_one, known, &weight, &err), -1);
    ck_assert_str_eq(err.message, "no unknown");
    check = check_parse(arena, "rule:unknown and rule:known", &err);
    ck_assert_int_eq(check_resolve(check, 0, resolve_one, known, &weight, &err), -1);
}
END_TEST

CHECK_MAIN("check", constants_and_empty_rules_answer_themselves,
           and_binds_tighter_than_or_and_not_tightest, only_roles_ignore_case,
           only_the_first_colon_splits_a_check, a_match_takes_fields_of_the_target,
           an_attribute_missing_in_the_target_matches_no_caller,
           attributes_and_literals_are_compared_as_text,
           missing_attributes_and_quoted_text_are_false, syntax_errors_are_refused_with_the_reason,
           size_and_depth_of_a_rule_are_bounded, references_are_resolved_everywhere_in_the_tree)
