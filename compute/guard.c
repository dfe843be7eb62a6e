#include "compute/guard.h"

#include "compute/reply.h"
#include "identity/authtoken.h"

#include <string.h>

struct visitor {
    const struct authtoken *authtoken;
    struct http_exchange *exchange;
    http_handler *pass;
    void *arg;
    bool from_service;
    struct token_waiter waiter;
};

static void refuse(const struct visitor *visitor, const struct error *err) {
    if (err->kind == ERROR_UNAUTHORIZED)
        http_add_header(visitor->exchange, "WWW-Authenticate", visitor->authtoken->challenge);
    if (error_http_status(err->kind) == error_http_status(ERROR_UNAVAILABLE))
        http_add_header(visitor->exchange, "Retry-After", "5");
    reply_fault(visitor->exchange, err);
}

/* A token with access rules was made for something else; they do not bind a service. */
static bool may_send(const struct visitor *visitor, const struct token *token) {
    return (visitor->from_service || !token->restricted) &&
           (token_has_role(token, "service") || token_has_role(token, "admin"));
}

/* ---- the caller's token ---- */

static void judge(void *arg, const struct token *token, const struct error *verdict) {
    const struct visitor *visitor = arg;
    bool may = token && may_send(visitor, token);
    struct error err = *verdict;

    if (token && !may)
        error_set(&err, ERROR_FORBIDDEN, "This needs the role service or admin.");
    token_release(token);
    if (may)
        visitor->pass(visitor->arg, visitor->exchange);
    else
        refuse(visitor, &err);
}

static void check_caller(struct visitor *visitor) {
    const char *text = http_header(visitor->exchange, "X-Auth-Token");
    const struct token *token = NULL;
    struct error err = { .kind = ERROR_NONE };

    visitor->waiter =
        (struct token_waiter){ .peer = visitor->exchange->peer, .done = judge, .arg = visitor };
    if (token_check(visitor->authtoken->checker, text ? text : "", visitor->from_service,
                    &visitor->waiter, &token, &err) != TOKEN_LATER)
        judge(visitor, token, &err);
}

/* ---- the service's beside it ---- */

/* A service may come with a user's token that has expired meanwhile: its work began before. */
static void judge_service(void *arg, const struct token *token, const struct error *verdict) {
    struct visitor *visitor = arg;
    struct error err = *verdict;

    if (!token) {
        refuse(visitor, &err);
        return;
    }
    visitor->from_service = authtoken_is_service(visitor->authtoken, token);
    token_release(token);
    if (visitor->from_service || !visitor->authtoken->roles_required) {
        check_caller(visitor);
        return;
    }
    token_refuse(&err);
    refuse(visitor, &err);
}

static void check_service(struct visitor *visitor, const char *text) {
    const struct token *token = NULL;
    struct error err = { .kind = ERROR_NONE };

    visitor->waiter = (struct token_waiter){ .peer = visitor->exchange->peer,
                                             .done = judge_service,
                                             .arg = visitor };
    if (token_check(visitor->authtoken->checker, text, false, &visitor->waiter, &token, &err) !=
        TOKEN_LATER)
        judge_service(visitor, token, &err);
}

void guard_pass(const struct authtoken *authtoken, struct http_exchange *exchange,
                http_handler *pass, void *arg) {
    const char *service = http_header(exchange, "X-Service-Token");
    struct visitor *visitor;

    if (!authtoken) {
        pass(arg, exchange);
        return;
    }
    visitor = arena_alloc(exchange->arena, sizeof(*visitor));
    *visitor =
        (struct visitor){ .authtoken = authtoken, .exchange = exchange, .pass = pass, .arg = arg };
    if (service && service[strspn(service, " \t")])
        check_service(visitor, service);
    else
        check_caller(visitor);
}
