#include "identity/token.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "json/json.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The token is at the start of one allocation, followed by its texts. */
struct held_token {
    struct token token; /* first: a pointer to it is a pointer to this */
    atomic_uint holders;
};

/* ---- parsing ---- */

/* A first pass with `at` NULL counts the size, a second one fills it. */
struct packer {
    char *at;
    size_t size;
};

static const char *pack_text(struct packer *packer, const json_t *value) {
    const char *text = json_string_value(value);
    size_t size = text ? strlen(text) + 1 : 0;
    char *copy = packer->at ? packer->at + packer->size : NULL;

    if (copy && text)
        memcpy(copy, text, size);
    packer->size += size;
    return text ? copy : NULL;
}

static void *pack_array(struct packer *packer, size_t count, size_t each) {
    size_t start = (packer->size + sizeof(void *) - 1) / sizeof(void *) * sizeof(void *);

    packer->size = start + count * each;
    return packer->at ? packer->at + start : NULL;
}

static void pack_rules(struct packer *packer, const json_t *list, struct token *token) {
    size_t count = json_array_size(list);
    struct access_rule *rules = pack_array(packer, count, sizeof(*rules));

    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(list, i);
        const struct access_rule rule = {
            .service = pack_text(packer, json_object_get(item, "service")),
            .method = pack_text(packer, json_object_get(item, "method")),
            .path = pack_text(packer, json_object_get(item, "path")),
        };

        if (rules)
            rules[i] = rule;
    }
    token->rules = rules;
    token->rule_count = count;
}

static void pack_token(struct packer *packer, const json_t *object, struct token *token) {
    const json_t *user = json_object_get(object, "user");
    const json_t *project = json_object_get(object, "project");
    const json_t *credential = json_object_get(object, "application_credential");
    const json_t *rules = json_object_get(credential, "access_rules");
    const json_t *list = json_object_get(object, "roles");
    size_t count = json_array_size(list);
    const char **roles;

    pack_array(packer, 1, sizeof(struct held_token));
    roles = pack_array(packer, count + 1, sizeof(*roles));
    for (size_t i = 0; i < count; i++) {
        const char *role = pack_text(packer, json_object_get(json_array_get(list, i), "name"));

        if (roles)
            roles[i] = role;
    }
    if (roles)
        roles[count] = NULL;
    token->roles = roles;
    pack_rules(packer, rules, token);
    token->restricted = rules && !json_is_null(rules);
    token->user_id = pack_text(packer, json_object_get(user, "id"));
    token->user_domain_id = pack_text(packer, json_at(user, "domain.id"));
    token->project_id = pack_text(packer, json_object_get(project, "id"));
    token->project_domain_id = pack_text(packer, json_at(project, "domain.id"));
    token->domain_id = pack_text(packer, json_at(object, "domain.id"));
}

static int check_token(const json_t *object, int64_t *ret_expires_us, struct error *err) {
    const json_t *roles = json_object_get(object, "roles");
    const char *end = json_text_of(object, "expires_at");
    int64_t end_us = 0;
    bool is_known =
        json_is_string(json_at(object, "user.id")) && end && clock_parse(end, &end_us) == 0;

    for (size_t i = 0; i < json_array_size(roles); i++)
        is_known &= json_is_string(json_object_get(json_array_get(roles, i), "name"));
    if (!is_known)
        return error_set(err, ERROR_UNAVAILABLE,
                         "Keystone described a token in a way that cannot be read.");
    *ret_expires_us = clock_boottime_us() + end_us - clock_now_us(&clock_system);
    return 0;
}

const struct token *token_read(const char *body, size_t size, const char *service_type,
                               struct error *err) {
    autoarena struct arena *arena = arena_new();
    const json_t *object = json_object_get(json_parse(arena, body, size, NULL), "token");
    const json_t *admin_project = json_object_get(object, "is_admin_project");
    const json_t *catalog = json_object_get(object, "catalog");
    struct token token = {
        .system_scope = json_is_true(json_at(object, "system.all")),
        .is_admin_project = !admin_project || json_is_true(admin_project),
    };
    struct packer packer = { 0 };
    struct held_token *held;

    if (check_token(object, &token.expires_us, err) < 0)
        return NULL;
    for (size_t i = 0; service_type && i < json_array_size(catalog); i++)
        token.in_catalog |= json_text_is(json_array_get(catalog, i), "type", service_type);
    pack_token(&packer, object, &token);
    held = heap_new(packer.size);
    packer = (struct packer){ .at = (char *)held };
    pack_token(&packer, object, &token);
    held->token = token;
    held->holders = 1;
    return &held->token;
}

/* ---- references ---- */

static struct held_token *held_of(const struct token *token) {
    return (struct held_token *)(uintptr_t)token;
}

const struct token *token_hold(const struct token *token) {
    atomic_fetch_add(&held_of(token)->holders, 1);
    return token;
}

void token_release(const struct token *token) {
    if (token && atomic_fetch_sub(&held_of(token)->holders, 1) == 1)
        free(held_of(token));
}

int token_refuse(struct error *err) {
    return error_set(err, ERROR_UNAUTHORIZED, "The request you have made requires authentication.");
}

bool token_has_role(const struct token *token, const char *role) {
    for (const char *const *own = token->roles; *own; own++)
        if (strcasecmp(*own, role) == 0)
            return true;
    return false;
}

/* ---- access rules ---- */

#define PATH_MOST 255 /* of a pattern; Keystone stores 128 characters */

/* One step of a pattern. */
enum piece { PIECE_LITERAL, PIECE_SEGMENT, PIECE_ANY };

static enum piece read_piece(const char *pattern, size_t *ret_length) {
    const char *end = *pattern == '{' ? strchr(pattern, '}') : NULL;

    if (end) {
        *ret_length = (size_t)(end - pattern) + 1;
        return PIECE_SEGMENT;
    }
    if (*pattern == '*' && pattern[1] == '*') {
        *ret_length = 2;
        return PIECE_ANY;
    }
    *ret_length = 1;
    return *pattern == '*' ? PIECE_SEGMENT : PIECE_LITERAL;
}

/* reached[i]: the pattern so far matches the first i characters.  Each piece is one pass over the
 * path, so the cost is bounded by the product of both lengths. */
static void take_piece(enum piece piece, char literal, const char *path, size_t length,
                       bool *reached) {
    bool before = reached[0]; /* for the previous character, before this piece */

    if (piece != PIECE_ANY)
        reached[0] = false;
    for (size_t i = 1; i <= length; i++) {
        bool now = reached[i];
        bool inside = path[i - 1] != '/';

        switch (piece) {
        case PIECE_LITERAL:
            reached[i] = before && path[i - 1] == literal;
            break;
        case PIECE_SEGMENT: /* at least one character */
            reached[i] = inside && (before || reached[i - 1]);
            break;
        case PIECE_ANY:
            reached[i] = now || reached[i - 1];
            break;
        }
        before = now;
    }
}

static bool path_matches(const char *pattern, const char *path) {
    size_t length = strlen(path), step;
    autofree bool *reached = heap_new(length + 1);

    reached[0] = true;
    for (; *pattern; pattern += step) {
        enum piece piece = read_piece(pattern, &step);

        take_piece(piece, *pattern, path, length, reached);
    }
    return reached[length];
}

bool token_allows(const struct token *token, const char *service_type, const char *method,
                  const char *path) {
    if (!token->restricted)
        return true;
    if (!service_type || !token->in_catalog)
        return false;
    for (size_t i = 0; i < token->rule_count; i++) {
        const struct access_rule *rule = &token->rules[i];

        if (rule->service && rule->method && rule->path &&
            strcmp(rule->service, service_type) == 0 && strcmp(rule->method, method) == 0 &&
            strlen(rule->path) <= PATH_MOST && path_matches(rule->path, path))
            return true;
    }
    return false;
}
