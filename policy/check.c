#include "policy/check.private.h"

#include "common/cleanup.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define PIECES_MOST 8 /* of a match: text, %(name)s, text, … */

/* A part of a match: text, or a field of the target. */
struct piece {
    const char *text;
    const char *(*field)(const struct policy_target *target); /* NULL: text */
};

struct match {
    struct piece pieces[PIECES_MOST];
    unsigned count;
    bool has_field;
};

typedef bool check_test(const struct check *check, const struct check_question *question);

struct check {
    check_test *test;
    const struct check *left, *right; /* of and, or, not; left of rule, once resolved */
    const char *name;                 /* rule: its name; otherwise the text before the colon */
    const char *(*attribute)(const struct context *context);
    const struct match *match;
};

/* ---- operands of a match; NULL when the caller or the target has none ---- */

static const char *context_user(const struct context *context) {
    return context->user_id;
}

static const char *context_project(const struct context *context) {
    return context->project_id;
}

static const char *context_domain(const struct context *context) {
    return context->domain_id;
}

static const char *context_user_domain(const struct context *context) {
    return context->user_domain_id;
}

static const char *context_project_domain(const struct context *context) {
    return context->project_domain_id;
}

static const char *context_system_scope(const struct context *context) {
    return context->system_scope ? "all" : NULL;
}

static const char *context_is_admin(const struct context *context) {
    return context->is_admin ? "True" : "False";
}

static const char *context_is_admin_project(const struct context *context) {
    return context->is_admin_project ? "True" : "False";
}

static const struct {
    const char *name;
    const char *(*text)(const struct context *context);
} attributes[] = {
    { "user_id", context_user },
    { "user", context_user },
    { "project_id", context_project },
    { "tenant", context_project },
    { "tenant_id", context_project },
    { "domain_id", context_domain },
    { "user_domain_id", context_user_domain },
    { "project_domain_id", context_project_domain },
    { "system_scope", context_system_scope },
    { "is_admin", context_is_admin },
    { "is_admin_project", context_is_admin_project },
};

static const char *target_project(const struct policy_target *target) {
    return target->project_id;
}

static const char *target_user(const struct policy_target *target) {
    return target->user_id;
}

static const char *target_nothing(const struct policy_target *target) {
    (void)target;
    return NULL;
}

static const struct {
    const char *name;
    const char *(*text)(const struct policy_target *target);
} fields[] = {
    { "project_id", target_project },
    { "user_id", target_user },
};

/* ---- evaluation ---- */

/* Does `text` equal the match with the target's fields inserted? */
static bool match_equals(const struct match *match, const struct policy_target *target,
                         const char *text, int (*compare)(const char *, const char *, size_t)) {
    for (unsigned i = 0; i < match->count; i++) {
        const struct piece *piece = &match->pieces[i];
        const char *part = piece->field ? piece->field(target) : piece->text;
        size_t length;

        if (!part)
            return false;
        length = strlen(part);
        if (compare(text, part, length) != 0)
            return false;
        text += length;
    }
    return *text == '\0';
}

static bool test_true(const struct check *check, const struct check_question *question) {
    (void)check, (void)question;
    return true;
}

static bool test_false(const struct check *check, const struct check_question *question) {
    (void)check, (void)question;
    return false;
}

/* "a and b and c" nests to the left without limit: a loop, as the order makes no difference. */
static bool test_all(const struct check *check, const struct check_question *question) {
    for (; check->test == test_all; check = check->left)
        if (!check_is_true(check->right, question))
            return false;
    return check_is_true(check, question);
}

static bool test_any(const struct check *check, const struct check_question *question) {
    for (; check->test == test_any; check = check->left)
        if (check_is_true(check->right, question))
            return true;
    return check_is_true(check, question);
}

static bool test_not(const struct check *check, const struct check_question *question) {
    return !check_is_true(check->left, question);
}

static bool test_rule(const struct check *check, const struct check_question *question) {
    return check_is_true(check->left, question);
}

static bool roles_have(const struct check *check, const struct check_question *question,
                       int (*compare)(const char *, const char *, size_t)) {
    const char *const *role = question->context->roles;

    for (; role && *role; role++)
        if (match_equals(check->match, question->target, *role, compare))
            return true;
    return false;
}

static bool test_role(const struct check *check, const struct check_question *question) {
    return roles_have(check, question, strncasecmp);
}

static bool test_roles(const struct check *check, const struct check_question *question) {
    return roles_have(check, question, strncmp);
}

/* A caller without the attribute matches the literal None of a rule, but never a missing attribute
 * of the target. */
static bool test_attribute(const struct check *check, const struct check_question *question) {
    const char *text = check->attribute(question->context);

    if (!text && check->match->has_field)
        return false;
    return match_equals(check->match, question->target, text ? text : "None", strncmp);
}

static bool test_text(const struct check *check, const struct check_question *question) {
    return match_equals(check->match, question->target, check->name, strncmp);
}

bool check_is_true(const struct check *check, const struct check_question *question) {
    return check->test(check, question);
}

/* ---- building ---- */

const struct check *check_constant(bool value) {
    static const struct check yes = { .test = test_true }, no = { .test = test_false };

    return value ? &yes : &no;
}

static const struct check *check_of(struct arena *arena, struct check check) {
    return arena_copy(arena, &check, sizeof(check));
}

const struct check *check_any(struct arena *arena, const struct check *left,
                              const struct check *right) {
    if (!left)
        return right;
    return check_of(arena, (struct check){ .test = test_any, .left = left, .right = right });
}

const struct check *check_all(struct arena *arena, const struct check *left,
                              const struct check *right) {
    if (!left)
        return right;
    return check_of(arena, (struct check){ .test = test_all, .left = left, .right = right });
}

const struct check *check_not(struct arena *arena, const struct check *left) {
    return check_of(arena, (struct check){ .test = test_not, .left = left });
}

static const char *(*field_find(const char *name, size_t length))(const struct policy_target *) {
    for (size_t i = 0; i < LENGTH(fields); i++)
        if (strncmp(fields[i].name, name, length) == 0 && fields[i].name[length] == '\0')
            return fields[i].text;
    return target_nothing;
}

/* Parses the next piece of `text`: up to the next '%', "%%", or %(name)s. */
static const char *piece_parse(struct arena *arena, const char *text, struct piece *ret,
                               struct error *err) {
    size_t length = strcspn(text, "%");
    const char *end;

    *ret = (struct piece){ .text = "%" };
    if (length > 0) {
        ret->text = arena_text_n(arena, text, length);
        return text + length;
    }
    if (text[1] == '%')
        return text + 2;
    end = text[1] == '(' ? strstr(text, ")s") : NULL;
    if (!end) {
        error_set(err, ERROR_BAD_REQUEST, "'%s' is neither %%(name)s nor %%%%", text);
        return NULL;
    }
    ret->field = field_find(text + 2, (size_t)(end - text - 2));
    return end + 2;
}

static const struct match *match_parse(struct arena *arena, const char *text, struct error *err) {
    struct match *match = arena_alloc(arena, sizeof(*match));

    while (*text) {
        if (match->count == PIECES_MOST) {
            error_set(err, ERROR_BAD_REQUEST, "more than %d parts in '%s'", PIECES_MOST, text);
            return NULL;
        }
        text = piece_parse(arena, text, &match->pieces[match->count], err);
        if (!text)
            return NULL;
        match->has_field |= match->pieces[match->count++].field != NULL;
    }
    return match;
}

/* The value of a literal: 'quoted', a number, True, False, None; otherwise NULL. */
static const char *literal_text(struct arena *arena, const char *kind) {
    size_t length = strlen(kind);

    if (length >= 2 && strchr("'\"", kind[0]) && kind[length - 1] == kind[0])
        return arena_text_n(arena, kind + 1, length - 2);
    if (strcmp(kind, "True") == 0 || strcmp(kind, "False") == 0 || strcmp(kind, "None") == 0)
        return kind;
    return isdigit((unsigned char)kind[0]) && kind[strspn(kind, "0123456789.")] == '\0' ? kind
                                                                                        : NULL;
}

/* Other kinds compare an attribute of the caller, or a literal. */
static struct check check_comparison(struct arena *arena, const char *kind) {
    const char *literal = literal_text(arena, kind);

    if (literal)
        return (struct check){ .test = test_text, .name = literal };
    if (strcmp(kind, "role") == 0)
        return (struct check){ .test = test_role };
    if (strcmp(kind, "roles") == 0)
        return (struct check){ .test = test_roles };
    for (size_t i = 0; i < LENGTH(attributes); i++)
        if (strcmp(attributes[i].name, kind) == 0)
            return (struct check){ .test = test_attribute, .attribute = attributes[i].text };
    log_warning(NULL, "policy refers to an unknown attribute of the caller", "attribute", kind,
                NULL);
    return (struct check){ .test = test_false };
}

const struct check *check_refuse(struct error *err, const char *reason, const char *what) {
    error_set(err, ERROR_BAD_REQUEST, "%s: '%s'", reason, what);
    return NULL;
}

const struct check *check_word(struct arena *arena, const char *word, struct error *err) {
    const char *colon = strchr(word, ':');
    const char *kind;
    struct check check;

    if (strcmp(word, "@") == 0 || strcmp(word, "!") == 0)
        return check_constant(word[0] == '@');
    if (!colon || colon == word)
        return check_refuse(err, "a check must be kind:match", word);
    kind = arena_text_n(arena, word, (size_t)(colon - word));
    if (strcmp(kind, "http") == 0 || strcmp(kind, "https") == 0)
        return check_refuse(err, "checks that ask another service are not supported", word);
    if (strcmp(kind, "rule") == 0)
        return check_of(arena,
                        (struct check){ .test = test_rule, .name = arena_text(arena, colon + 1) });
    check = check_comparison(arena, kind);
    check.match = match_parse(arena, colon + 1, err);
    return check.match ? check_of(arena, check) : NULL;
}

/* ---- references ---- */

static void cost_add(struct check_cost *cost, struct check_cost below) {
    cost->depth = below.depth > cost->depth ? below.depth : cost->depth;
    cost->checks += below.checks;
}

/* A chain of "and" or of "or" is one level, as in the evaluation. */
static int chain_resolve(const struct check *check, unsigned above, check_resolver *resolve,
                         void *arg, struct check_cost *ret, struct error *err) {
    check_test *test = check->test;
    struct check_cost below;

    for (; check->test == test; check = check->left) {
        if (check_resolve(check->right, above, resolve, arg, &below, err) < 0)
            return -1;
        cost_add(ret, below);
        ret->checks++;
    }
    if (check_resolve(check, above, resolve, arg, &below, err) < 0)
        return -1;
    cost_add(ret, below);
    ret->checks--; /* check_resolve() counts one level */
    return 0;
}

int check_resolve(const struct check *check, unsigned above, check_resolver *resolve, void *arg,
                  struct check_cost *ret, struct error *err) {
    struct check_cost below = { 0 };
    struct check *reference;
    int result = 0;

    if (check->right)
        result = chain_resolve(check, above + 1, resolve, arg, &below, err);
    else if (check->test == test_rule) {
        /* the only change of a tree after it was built, before its first evaluation */
        reference = (struct check *)(uintptr_t)check;
        reference->left = resolve(arg, check->name, above + 1, &below, err);
        result = reference->left ? 0 : -1;
    } else if (check->left)
        result = check_resolve(check->left, above + 1, resolve, arg, &below, err);
    if (result < 0)
        return -1;
    *ret = (struct check_cost){ .depth = below.depth + 1, .checks = below.checks + 1 };
    return 0;
}
