#include "compute/guard.h"

#include "common/token_gate.h"
#include "compute/reply.h"

struct visitor {
    const struct token_gate *gate;
    struct http_exchange *exchange;
    http_handler *pass;
    void *arg;
    struct token_waiter waiter;
};

static void refuse(const struct visitor *visitor, const struct error *err) {
    if (err->kind == ERROR_UNAUTHORIZED)
        http_add_header(visitor->exchange, "WWW-Authenticate", visitor->gate->challenge);
    if (err->kind == ERROR_UNAVAILABLE)
        http_add_header(visitor->exchange, "Retry-After", "5");
    reply_fault(visitor->exchange, err);
}

/* A token with access rules was made for something else. */
static bool may_send(const struct token *token) {
    return !token->restricted &&
           (token_has_role(token, "service") || token_has_role(token, "admin"));
}

static void judge(void *arg, const struct token *token, const struct error *verdict) {
    const struct visitor *visitor = arg;
    bool may = token && may_send(token);
    struct error err = *verdict;

    if (token && !may)
        error_set(&err, ERROR_FORBIDDEN, "Events need the role service or admin.");
    token_release(token);
    if (may)
        visitor->pass(visitor->arg, visitor->exchange);
    else
        refuse(visitor, &err);
}

void guard_pass(const struct token_gate *gate, struct http_exchange *exchange, http_handler *pass,
                void *arg) {
    const char *text = http_header(exchange, "X-Auth-Token");
    const struct token *token = NULL;
    struct error err = { .kind = ERROR_NONE };
    struct visitor *visitor;

    if (!gate) {
        pass(arg, exchange);
        return;
    }
    visitor = arena_alloc(exchange->arena, sizeof(*visitor));
    *visitor = (struct visitor){ .gate = gate, .exchange = exchange, .pass = pass, .arg = arg };
    visitor->waiter = (struct token_waiter){ .done = judge, .arg = visitor };
    if (token_check(gate->checker, text ? text : "", false, &visitor->waiter, &token, &err) !=
        TOKEN_LATER)
        judge(visitor, token, &err);
}
