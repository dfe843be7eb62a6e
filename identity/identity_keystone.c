#include "identity/identity.h"

#include "common/heap.h"
#include "identity/authtoken.h"

#include <stdlib.h>
#include <string.h>

#define SECTION "keystone_authtoken"

struct identity_keystone {
    struct identity identity; /* first: a pointer to it is a pointer to this */
    const struct authtoken *authtoken;
    const char *service_type;
};

/* One request with a pending authentication; in the exchange's arena. */
struct asking {
    const struct identity_keystone *keystone;
    struct http_exchange *exchange;
    struct context *context;
    const struct identity_later *later;
    const char *user_token;
    bool from_service;
    struct token_waiter waiter;
    /* The step after a valid token. */
    enum identity_outcome (*next)(struct asking *asking, const struct token *token,
                                  struct error *err);
};

static enum identity_outcome fail(const struct asking *asking, const struct error *err) {
    if (err->kind == ERROR_UNAUTHORIZED)
        http_add_header(asking->exchange, "WWW-Authenticate",
                        asking->keystone->authtoken->challenge);
    return IDENTITY_FAILED;
}

static enum identity_outcome identity_refuse(const struct asking *asking, struct error *err) {
    token_refuse(err);
    return fail(asking, err);
}

/* ---- one token ---- */

static void answered(void *arg, const struct token *token, const struct error *verdict) {
    struct asking *asking = arg;
    struct error err = *verdict;
    enum identity_outcome outcome = token ? asking->next(asking, token, &err) : fail(asking, &err);

    if (outcome != IDENTITY_LATER)
        asking->later->tell(asking->later->arg, outcome, &err);
}

static enum identity_outcome ask(struct asking *asking, const char *text, struct error *err) {
    const struct token *token;

    asking->waiter =
        (struct token_waiter){ .peer = asking->exchange->peer, .done = answered, .arg = asking };
    switch (token_check(asking->keystone->authtoken->checker, text, asking->from_service,
                        &asking->waiter, &token, err)) {
    case TOKEN_GOOD:
        return asking->next(asking, token, err);
    case TOKEN_LATER:
        return IDENTITY_LATER;
    default:
        return fail(asking, err);
    }
}

/* ---- the user's token ---- */

static void release(void *token) {
    token_release(token);
}

/* The context points into the token, which therefore lives as long as the exchange. */
static enum identity_outcome become(struct asking *asking, const struct token *token,
                                    struct error *err) {
    struct http_exchange *exchange = asking->exchange;
    struct context *context = asking->context;

    arena_defer(exchange->arena, release, (void *)(uintptr_t)token);
    if (!asking->from_service &&
        !token_allows(token, asking->keystone->service_type, exchange->method, exchange->path))
        return identity_refuse(asking, err);
    context->user_id = token->user_id;
    context->user_domain_id = token->user_domain_id;
    context->project_id = token->project_id;
    context->project_domain_id = token->project_domain_id;
    context->domain_id = token->domain_id;
    context->roles = token->roles;
    context->is_admin_project = token->is_admin_project;
    context->system_scope = token->system_scope;
    context->from_service = asking->from_service;
    return IDENTITY_KNOWN;
}

static enum identity_outcome ask_user(struct asking *asking, struct error *err) {
    asking->next = become;
    return ask(asking, asking->user_token, err);
}

/* ---- the service token beside it ---- */

/* A service may send a user's token that expired during its work. */
static enum identity_outcome judge_service(struct asking *asking, const struct token *token,
                                           struct error *err) {
    asking->from_service = authtoken_is_service(asking->keystone->authtoken, token);
    token_release(token);
    if (!asking->from_service && asking->keystone->authtoken->roles_required)
        return identity_refuse(asking, err);
    return ask_user(asking, err);
}

static const char *find_token(const struct http_exchange *exchange, const char *name) {
    const char *text = http_header(exchange, name);

    return text && text[strspn(text, " \t")] ? text : NULL;
}

static enum identity_outcome keystone_authenticate(const struct identity *identity,
                                                   struct http_exchange *exchange,
                                                   const char *path_project,
                                                   const struct identity_later *later,
                                                   struct context *context, struct error *err) {
    const char *service = find_token(exchange, "X-Service-Token");
    struct asking *asking = arena_alloc(exchange->arena, sizeof(*asking));

    (void)path_project;
    asking->keystone = (const struct identity_keystone *)identity;
    asking->exchange = exchange;
    asking->context = context;
    asking->later = later;
    asking->user_token = find_token(exchange, "X-Auth-Token");
    if (!asking->user_token)
        asking->user_token = find_token(exchange, "X-Storage-Token");
    if (!asking->user_token)
        return identity_refuse(asking, err);
    if (!service)
        return ask_user(asking, err);
    asking->next = judge_service;
    return ask(asking, service, err);
}

/* ---- start and end ---- */

struct identity *identity_keystone_new(const struct config *config,
                                       const struct authtoken *authtoken) {
    struct identity_keystone *keystone = heap_new(sizeof(*keystone));

    keystone->identity =
        (struct identity){ .name = "keystone", .authenticate = keystone_authenticate };
    keystone->authtoken = authtoken;
    keystone->service_type = config_text(config, SECTION, "service_type");
    return &keystone->identity;
}

void identity_keystone_free(struct identity *identity) {
    free(identity);
}
