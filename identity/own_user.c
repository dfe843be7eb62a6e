#include "identity/own_user.h"

#include "common/assert.h"
#include "common/clock.h"
#include "common/heap.h"
#include "identity/keystone.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_TIMEOUT_MS 30000
#define NOVA               "nova"
#define GLANCE             "glance"
#define BARBICAN           "barbican_service_user"
#define SERVICE_USER       "service_user"

static const char *const interfaces[] = { "public", "internal", "admin", NULL };

/* clang-format off */
#define ADAPTER_OPTIONS(section_) \
    { .section = section_, .key = "interface", .type = OPTION_WORD, .fallback = "public", \
      .words = interfaces, .help = "Which endpoint of a catalog entry is used." }, \
    { .section = section_, .key = "endpoint_override", .type = OPTION_TEXT, \
      .help = "URL of the peer, instead of the catalog's." }

const struct option own_user_options[] = {
    KEYSTONE_OPTIONS(NOVA),
    ADAPTER_OPTIONS(NOVA),
    KEYSTONE_OPTIONS(GLANCE),
    ADAPTER_OPTIONS(GLANCE),
    KEYSTONE_OPTIONS(BARBICAN),
    ADAPTER_OPTIONS(BARBICAN),
    KEYSTONE_OPTIONS(SERVICE_USER),
    ADAPTER_OPTIONS(SERVICE_USER),
    { .section = SERVICE_USER, .key = "send_service_user_token", .type = OPTION_BOOL,
      .fallback = "false",
      .help = "Whether the token of this section's user is sent as X-Service-Token, which "
              "marks a call as a service's." },
    OPTIONS_END,
};
/* clang-format on */

struct own_user {
    struct keystone *user;    /* X-Auth-Token; NULL: none */
    struct keystone *service; /* X-Service-Token; NULL: none; may be the same */
    struct http_peer peer;
    const char *override;
};

static int open_user(const struct config *config, const char *section, struct keystone **ret,
                     struct error *err) {
    struct keystone_settings settings;
    int result = keystone_settings_read(config, section, &settings, err);

    if (result == 0)
        *ret = keystone_new(&settings);
    return result < 0 ? -1 : 0;
}

static int open_service(const struct config *config, const char *section, struct own_user *user,
                        struct error *err) {
    if (!config_bool(config, SERVICE_USER, "send_service_user_token") || !user->user)
        return 0;
    if (strcmp(section, SERVICE_USER) == 0) {
        user->service = user->user;
        return 0;
    }
    if (open_user(config, SERVICE_USER, &user->service, err) < 0)
        return -1;
    if (!user->service)
        return error_set(err, ERROR_BAD_REQUEST,
                         "[" SERVICE_USER "] auth_url must be set when send_service_user_token "
                         "is true.");
    return 0;
}

int own_user_new(const struct config *config, const char *section, struct own_user **ret,
                 struct error *err) {
    struct own_user *user = heap_new(sizeof(*user));

    user->peer = (struct http_peer){
        .ca_file = config_text(config, section, "cafile"),
        .cert_file = config_text(config, section, "certfile"),
        .key_file = config_text(config, section, "keyfile"),
        .insecure = config_bool(config, section, "insecure"),
    };
    user->override = config_text(config, section, "endpoint_override");
    if (open_user(config, section, &user->user, err) < 0 ||
        open_service(config, section, user, err) < 0) {
        own_user_free(user);
        return -1;
    }
    *ret = user;
    return 0;
}

void own_user_free(struct own_user *user) {
    if (!user)
        return;
    if (user->service != user->user)
        keystone_free(user->service);
    keystone_free(user->user);
    free(user);
}

bool own_user_is_known(const struct own_user *user) {
    return user && user->user;
}

static int64_t deadline_in(int64_t timeout_ms) {
    return clock_monotonic_us() + (timeout_ms > 0 ? timeout_ms : DEFAULT_TIMEOUT_MS) * 1000;
}

int own_user_endpoint(struct own_user *user, struct arena *arena, const char *const *types,
                      int64_t timeout_ms, const char **ret, struct error *err) {
    if (user->override) {
        *ret = arena_text_n(arena, user->override, http_length(user->override));
        return 0;
    }
    return keystone_endpoint(user->user, arena, deadline_in(timeout_ms), types, ret, err);
}

/* ---- calls ---- */

/* `headers` and the tokens after them; `token` of another user, NULL: its own. */
static int add_tokens(const struct own_user *user, struct arena *arena, const char *token,
                      int64_t timeout_ms, const struct http_header *headers,
                      const struct http_header **ret, struct error *err) {
    int64_t deadline_us = deadline_in(timeout_ms);
    const char *service = NULL;
    struct http_header *all;
    size_t count = 0;

    if (!token && user->user && keystone_token(user->user, arena, deadline_us, &token, err) < 0)
        return -1;
    if (user->service && keystone_token(user->service, arena, deadline_us, &service, err) < 0)
        return -1;
    while (headers && headers[count].name)
        count++;
    all = arena_alloc(arena, (count + 3) * sizeof(*all));
    if (count > 0)
        memcpy(all, headers, count * sizeof(*all));
    if (token)
        all[count++] = (struct http_header){ "X-Auth-Token", token };
    if (service)
        all[count++] = (struct http_header){ "X-Service-Token", service };
    *ret = all;
    return 0;
}

/* Stores the headers sent, with their tokens. */
static int call_once(const struct own_user *user, struct arena *arena, const char *token,
                     const struct http_call *call, const struct http_header **ret_headers,
                     struct http_answer *ret, struct error *err) {
    /* The duration of a streamed response is not granted to Keystone. */
    int64_t timeout_ms = call->lines ? 0 : call->timeout_ms;
    struct http_call sent = *call;

    if (add_tokens(user, arena, token, timeout_ms, call->headers, ret_headers, err) < 0)
        return HTTP_NOT_SENT;
    sent.headers = *ret_headers;
    sent.peer = &user->peer;
    return http_call(arena, &sent, ret, err);
}

void own_user_refused(struct own_user *user, const struct http_header *headers) {
    for (; headers && headers->name; headers++) {
        if (user->user && strcmp(headers->name, "X-Auth-Token") == 0)
            keystone_token_refused(user->user, headers->value);
        if (user->service && strcmp(headers->name, "X-Service-Token") == 0)
            keystone_token_refused(user->service, headers->value);
    }
}

/* A request answered 401 has had no effect. */
int own_user_call(struct own_user *user, struct arena *arena, const struct http_call *call,
                  struct http_answer *ret, struct error *err) {
    const struct http_header *sent;
    int outcome;

    if (!user)
        return http_call(arena, call, ret, err);
    outcome = call_once(user, arena, NULL, call, &sent, ret, err);
    if (outcome != 0 || ret->status != 401 || !user->user)
        return outcome;
    own_user_refused(user, sent);
    return call_once(user, arena, NULL, call, &sent, ret, err);
}

int own_user_call_as(struct own_user *user, struct arena *arena, const char *token,
                     const struct http_call *call, struct http_answer *ret, struct error *err) {
    const struct http_header *sent;

    assert(user && token);
    return call_once(user, arena, token, call, &sent, ret, err);
}

int own_user_prepare(struct own_user *user, struct arena *arena, const char *token,
                     struct http_transfer_call *call, struct error *err) {
    if (add_tokens(user, arena, token, call->timeout_ms, call->headers, &call->headers, err) < 0)
        return -1;
    call->peer = &user->peer;
    return 0;
}
