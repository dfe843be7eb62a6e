#include "compute/agent/event_authorization.h"

#include "compute/agent/reply.h"
#include "identity/authtoken.h"

#include <string.h>

struct authorization {
    const struct authtoken *authtoken;
    struct http_exchange *exchange;
    http_handler *pass;
    void *arg;
    bool from_service;
    struct token_waiter waiter;
};

static void authorization_refuse(const struct authorization *auth, const struct error *err) {
    if (err->kind == ERROR_UNAUTHORIZED)
        http_add_header(auth->exchange, "WWW-Authenticate", auth->authtoken->challenge);
    if (error_http_status(err->kind) == error_http_status(ERROR_UNAVAILABLE))
        http_add_header(auth->exchange, "Retry-After", "5");
    reply_fault(auth->exchange, err);
}

/* ---- the caller's token ---- */

static void finish_caller(void *arg, const struct token *token, const struct error *verdict) {
    const struct authorization *auth = arg;
    /* access rules restrict a token to another purpose; with a service token they do not apply */
    bool may = token && (auth->from_service || !token->restricted) &&
               (token_has_role(token, "service") || token_has_role(token, "admin"));
    struct error err = *verdict;

    if (token && !may)
        error_set(&err, ERROR_FORBIDDEN, "This needs the role service or admin.");
    token_release(token);
    if (may)
        auth->pass(auth->arg, auth->exchange);
    else
        authorization_refuse(auth, &err);
}

static void check_caller(struct authorization *auth) {
    const char *text = http_header(auth->exchange, "X-Auth-Token");
    const struct token *token = NULL;
    struct error err = { .kind = ERROR_NONE };

    auth->waiter =
        (struct token_waiter){ .peer = auth->exchange->peer, .done = finish_caller, .arg = auth };
    if (token_check(auth->authtoken->checker, text ? text : "", auth->from_service, &auth->waiter,
                    &token, &err) != TOKEN_LATER)
        finish_caller(auth, token, &err);
}

/* ---- the service token ---- */

/* A service may send a user's token that has expired meanwhile: its work began before. */
static void finish_service(void *arg, const struct token *token, const struct error *verdict) {
    struct authorization *auth = arg;
    struct error err = *verdict;

    if (!token) {
        authorization_refuse(auth, &err);
        return;
    }
    auth->from_service = authtoken_is_service(auth->authtoken, token);
    token_release(token);
    if (auth->from_service || !auth->authtoken->roles_required) {
        check_caller(auth);
        return;
    }
    token_refuse(&err);
    authorization_refuse(auth, &err);
}

void event_authorize(const struct authtoken *authtoken, struct http_exchange *exchange,
                     http_handler *pass, void *arg) {
    const char *service = http_header(exchange, "X-Service-Token");
    const struct token *token = NULL;
    struct error err = { .kind = ERROR_NONE };
    struct authorization *auth;

    if (!authtoken) {
        pass(arg, exchange);
        return;
    }
    auth = arena_alloc(exchange->arena, sizeof(*auth));
    *auth = (struct authorization){
        .authtoken = authtoken, .exchange = exchange, .pass = pass, .arg = arg
    };
    if (!service || !service[strspn(service, " \t")]) {
        check_caller(auth);
        return;
    }
    auth->waiter =
        (struct token_waiter){ .peer = exchange->peer, .done = finish_service, .arg = auth };
    if (token_check(authtoken->checker, service, false, &auth->waiter, &token, &err) != TOKEN_LATER)
        finish_service(auth, token, &err);
}
