#include "policy/check.private.h"

#include "common/cleanup.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define DEPTH_MOST  200 /* of brackets and "not" in one text */
#define PIECES_MOST 8   /* of a match: text, %(name)s, text, … */

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
    const char *name;                 /* rule: which; else the text that stands left of the colon */
    const char *(*attribute)(const struct context *context);
    const struct match *match;
};

/* ---- what a match can be compared with; NULL when the caller or the target has none ---- */

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

/* ---- answering ---- */

/* Does `text` equal the match with the target's fields in their places? */
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

static bool test_all(const struct check *check, const struct check_question *question) {
    return check_is_true(check->left, question) && check_is_true(check->right, question);
}

static bool test_any(const struct check *check, const struct check_question *question) {
    return check_is_true(check->left, question) || check_is_true(check->right, question);
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

/* A caller without the attribute matches the literal None of a rule, but never a target's attribute
 * that is missing too. */
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

static const char *(*field_find(const char *name, size_t length))(const struct policy_target *) {
    for (size_t i = 0; i < LENGTH(fields); i++)
        if (strncmp(fields[i].name, name, length) == 0 && fields[i].name[length] == '\0')
            return fields[i].text;
    return target_nothing;
}

/* Cuts the next piece off `text`: up to the next '%', "%%", or %(name)s. */
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

/* The text that a literal stands for: 'quoted', a number, True, False, None; else NULL. */
static const char *literal_text(struct arena *arena, const char *kind) {
    size_t length = strlen(kind);

    if (length >= 2 && strchr("'\"", kind[0]) && kind[length - 1] == kind[0])
        return arena_text_n(arena, kind + 1, length - 2);
    if (strcmp(kind, "True") == 0 || strcmp(kind, "False") == 0 || strcmp(kind, "None") == 0)
        return kind;
    return isdigit((unsigned char)kind[0]) && kind[strspn(kind, "0123456789.")] == '\0' ? kind
                                                                                        : NULL;
}

/* Whatever is no kind of its own compares an attribute of the caller, or a literal. */
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
    log_warning(NULL, "policy asks for an attribute that no caller has", "attribute", kind, NULL);
    return (struct check){ .test = test_false };
}

static const struct check *refuse(struct error *err, const char *reason, const char *what) {
    error_set(err, ERROR_BAD_REQUEST, "%s: '%s'", reason, what);
    return NULL;
}

const struct check *check_parse_word(struct arena *arena, const char *word, struct error *err) {
    const char *colon = strchr(word, ':');
    const char *kind;
    struct check check;

    if (strcmp(word, "@") == 0 || strcmp(word, "!") == 0)
        return check_constant(word[0] == '@');
    if (!colon || colon == word)
        return refuse(err, "a check must be kind:match", word);
    kind = arena_text_n(arena, word, (size_t)(colon - word));
    if (strcmp(kind, "http") == 0 || strcmp(kind, "https") == 0)
        return refuse(err, "checks that ask another service are not supported", word);
    if (strcmp(kind, "rule") == 0)
        return check_of(arena,
                        (struct check){ .test = test_rule, .name = arena_text(arena, colon + 1) });
    check = check_comparison(arena, kind);
    check.match = match_parse(arena, colon + 1, err);
    return check.match ? check_of(arena, check) : NULL;
}

/* ---- the text form ---- */

enum token { TOKEN_END, TOKEN_OPEN, TOKEN_CLOSE, TOKEN_AND, TOKEN_OR, TOKEN_NOT, TOKEN_CHECK };

struct parser {
    struct arena *arena;
    struct error *err;
    const char *at;
    unsigned closing; /* brackets at the end of the last word, still to come */
    enum token token;
    const char *word; /* of a TOKEN_CHECK */
    unsigned depth, terms;
};

static enum token word_token(const char *word) {
    static const struct {
        const char *word;
        enum token token;
    } words[] = { { "and", TOKEN_AND }, { "or", TOKEN_OR }, { "not", TOKEN_NOT } };

    for (size_t i = 0; i < LENGTH(words); i++)
        if (strcasecmp(words[i].word, word) == 0)
            return words[i].token;
    return TOKEN_CHECK;
}

static void parser_next(struct parser *parser) {
    size_t length;

    parser->token = TOKEN_CLOSE;
    if (parser->closing > 0) {
        parser->closing--;
        return;
    }
    parser->at += strspn(parser->at, " \t\r\n");
    if (*parser->at == '(') {
        parser->at++;
        parser->token = TOKEN_OPEN;
        return;
    }
    length = strcspn(parser->at, " \t\r\n");
    parser->at += length;
    if (length == 0) {
        parser->token = TOKEN_END;
        return;
    }
    parser->word = parser->at - length;
    for (; length > 0 && parser->word[length - 1] == ')'; length--)
        parser->closing++;
    if (length == 0) {
        parser->closing--;
        return;
    }
    parser->word = arena_text_n(parser->arena, parser->word, length);
    parser->token = word_token(parser->word);
}

/* A quoted word fits no rule: it is false, as it always was. */
static const struct check *parse_word(struct parser *parser) {
    const char *word = parser->word;
    size_t length = strlen(word);

    if (length >= 2 && strchr("'\"", word[0]) && word[length - 1] == word[0]) {
        log_warning(NULL, "policy has a quoted word, which is always false", "word", word, NULL);
        return check_constant(false);
    }
    return check_parse_word(parser->arena, word, parser->err);
}

static const struct check *parse_any(struct parser *parser);

static const struct check *parse_term(struct parser *parser) {
    enum token token = parser->token;
    const struct check *check = NULL;

    if (++parser->depth > DEPTH_MOST)
        return refuse(parser->err, "brackets are nested too deeply at", parser->at);
    if (++parser->terms > CHECK_TERMS_MOST)
        return refuse(parser->err, "there are too many checks before", parser->at);
    if (token == TOKEN_CHECK)
        check = parse_word(parser);
    else if (token != TOKEN_OPEN && token != TOKEN_NOT)
        return refuse(parser->err, "a check is missing before", parser->at);
    parser_next(parser);
    if (token == TOKEN_NOT) {
        check = parse_term(parser);
        if (check)
            check = check_of(parser->arena, (struct check){ .test = test_not, .left = check });
    } else if (token == TOKEN_OPEN) {
        check = parse_any(parser);
        if (check && parser->token != TOKEN_CLOSE)
            return refuse(parser->err, "a closing bracket is missing before", parser->at);
        parser_next(parser);
    }
    parser->depth--;
    return check;
}

static const struct check *parse_all(struct parser *parser) {
    const struct check *checks = parse_term(parser);

    while (checks && parser->token == TOKEN_AND) {
        const struct check *right;

        parser_next(parser);
        right = parse_term(parser);
        checks = right ? check_all(parser->arena, checks, right) : NULL;
    }
    return checks;
}

static const struct check *parse_any(struct parser *parser) {
    const struct check *checks = parse_all(parser);

    while (checks && parser->token == TOKEN_OR) {
        const struct check *right;

        parser_next(parser);
        right = parse_all(parser);
        checks = right ? check_any(parser->arena, checks, right) : NULL;
    }
    return checks;
}

const struct check *check_parse(struct arena *arena, const char *text, struct error *err) {
    struct parser parser = { .arena = arena, .err = err, .at = text };
    const struct check *check;

    parser_next(&parser);
    if (parser.token == TOKEN_END)
        return check_constant(true);
    check = parse_any(&parser);
    if (check && parser.token != TOKEN_END)
        return refuse(err, "this does not belong here",
                      parser.token == TOKEN_CHECK ? parser.word : ")");
    return check;
}

/* ---- references ---- */

static int reference_resolve(const struct check *check, unsigned above, check_resolver *resolve,
                             void *arg, struct check_weight *ret, struct error *err) {
    /* The one change that a tree sees after it was built, before anybody asks it. */
    struct check *reference = (struct check *)(uintptr_t)check;

    reference->left = resolve(arg, check->name, above + 1, ret, err);
    return reference->left ? 0 : -1;
}

int check_resolve(const struct check *check, unsigned above, check_resolver *resolve, void *arg,
                  struct check_weight *ret, struct error *err) {
    struct check_weight left = { 0 }, right = { 0 };

    if (check->test == test_rule) {
        if (reference_resolve(check, above, resolve, arg, &left, err) < 0)
            return -1;
    } else {
        if (check->left && check_resolve(check->left, above + 1, resolve, arg, &left, err) < 0)
            return -1;
        if (check->right && check_resolve(check->right, above + 1, resolve, arg, &right, err) < 0)
            return -1;
    }
    ret->depth = 1 + (left.depth > right.depth ? left.depth : right.depth);
    ret->checks = 1 + left.checks + right.checks;
    return 0;
}
