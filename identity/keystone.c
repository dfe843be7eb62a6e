#include "identity/keystone.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/thread.h"
#include "identity/keystone_auth.private.h"
#include "json/json.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define RENEW_BEFORE_US (INT64_C(30) * 1000 * 1000)
#define TOKEN_HEADER    "X-Subject-Token"
#define SUBJECT_REFUSED 2                           /* the service's own token was refused */
#define UNKNOWN_LIFE_US (INT64_C(60) * 1000 * 1000) /* of a token without a lifetime */

/* The service's token and catalog; replaced as a whole. */
struct grant {
    struct arena *arena;
    const char *token;
    const json_t *catalog;
    int64_t renew_us; /* CLOCK_BOOTTIME: not used from then on */
};

struct keystone {
    struct keystone_settings settings;
    struct arena *arena; /* of values determined once */
    int64_t until_us;    /* atomic; 0: no shutdown */

    pthread_mutex_t lock; /* guards the members below; not held during calls */
    pthread_cond_t changed;
    const char *base; /* URL of version 3; NULL: not known yet */
    struct grant *grant;
    bool asking;          /* a thread is requesting a token */
    unsigned attempts;    /* finished */
    struct error failure; /* of the last attempt; kind ERROR_NONE: it succeeded */
};

static void grant_free(struct grant *grant) {
    if (grant)
        arena_free(grant->arena);
}

struct keystone *keystone_new(const struct keystone_settings *settings) {
    struct keystone *keystone = heap_new(sizeof(*keystone));

    keystone->settings = *settings;
    keystone->arena = arena_new();
    pthread_mutex_init(&keystone->lock, NULL);
    thread_cond_init(&keystone->changed);
    return keystone;
}

void keystone_set_deadline(struct keystone *keystone, int64_t until_us) {
    __atomic_store_n(&keystone->until_us, until_us, __ATOMIC_RELAXED);
}

void keystone_free(struct keystone *keystone) {
    if (!keystone)
        return;
    grant_free(keystone->grant);
    arena_free(keystone->arena);
    pthread_cond_destroy(&keystone->changed);
    pthread_mutex_destroy(&keystone->lock);
    free(keystone);
}

/* ---- one call ---- */

static int unavailable(struct error *err, const char *what, const struct http_answer *answer) {
    return error_set(err, ERROR_UNAVAILABLE, "Keystone answered %s with %d.", what, answer->status);
}

static int time_is_up(struct error *err) {
    return error_set(err, ERROR_UNAVAILABLE, "Keystone did not answer in time.");
}

static int call_keystone(struct keystone *keystone, struct arena *arena, struct http_call *call,
                         int64_t deadline_us, struct http_answer *ret, struct error *err) {
    int64_t until_us = __atomic_load_n(&keystone->until_us, __ATOMIC_RELAXED);
    struct error failure;

    if (until_us != 0 && until_us < deadline_us)
        deadline_us = until_us;
    call->peer = &keystone->settings.peer;
    call->until_us = &keystone->until_us;
    call->repeats = keystone->settings.retries;
    call->timeout_ms = (deadline_us - clock_monotonic_us()) / 1000;
    if (call->timeout_ms <= 0)
        return time_is_up(err);
    if (http_call(arena, call, ret, &failure) != 0)
        return error_set(err, ERROR_UNAVAILABLE, "Keystone: %s", failure.message);
    return 0;
}

/* ---- discovery ---- */

/* URLs from Keystone are valid for every machine: they never name local sockets. */
static bool is_on_network(const char *url) {
    return url && (strncasecmp(url, "http://", 7) == 0 || strncasecmp(url, "https://", 8) == 0);
}

static const char *self_of(const json_t *version) {
    const char *id = json_text_of(version, "id");
    const json_t *links = json_object_get(version, "links");

    for (size_t i = 0; id && strncmp(id, "v3", 2) == 0 && i < json_array_size(links); i++) {
        const json_t *link = json_array_get(links, i);

        if (json_text_is(link, "rel", "self"))
            return json_text_of(link, "href");
    }
    return NULL;
}

static int discover(struct keystone *keystone, struct arena *arena, int64_t deadline_us,
                    const char **ret, struct error *err) {
    struct http_call call = { .method = "GET", .url = keystone->settings.auth_url };
    const json_t *root, *list;
    struct http_answer answer;
    const char *self;

    if (call_keystone(keystone, arena, &call, deadline_us, &answer, err) < 0)
        return -1;
    if (answer.status != 200 && answer.status != 300)
        return unavailable(err, "the question for its versions", &answer);
    /* A list of versions, or a single one. */
    root = json_parse(arena, answer.body, answer.body_size, NULL);
    list = json_at(root, "versions.values");
    self = self_of(json_object_get(root, "version"));
    for (size_t i = 0; !self && i < json_array_size(list); i++)
        self = self_of(json_array_get(list, i));
    if (!is_on_network(self))
        return error_set(err, ERROR_UNAVAILABLE, "%s names no version 3 of the Identity API.",
                         keystone->settings.auth_url);
    *ret = arena_text_n(arena, self, http_length(self));
    return 0;
}

static int find_base(struct keystone *keystone, struct arena *arena, int64_t deadline_us,
                     const char **ret, struct error *err) {
    const char *base, *found = NULL;

    pthread_mutex_lock(&keystone->lock);
    base = keystone->base;
    pthread_mutex_unlock(&keystone->lock);
    if (!base) {
        if (discover(keystone, arena, deadline_us, &found, err) < 0)
            return -1;
        pthread_mutex_lock(&keystone->lock);
        if (!keystone->base)
            keystone->base = arena_text(keystone->arena, found);
        base = keystone->base;
        pthread_mutex_unlock(&keystone->lock);
    }
    *ret = base;
    return 0;
}

/* ---- own token ---- */

/* A token is renewed before it expires, so that none expires in flight; a short-lived one later. */
static int64_t renewal_of(const char *end) {
    int64_t now_us = clock_boottime_us(), end_us, left_us, margin_us;

    if (!end || clock_parse(end, &end_us) < 0)
        return now_us + UNKNOWN_LIFE_US;
    left_us = end_us - clock_now_us(&clock_system);
    margin_us = left_us / 2;
    return now_us + left_us - (margin_us < RENEW_BEFORE_US ? margin_us : RENEW_BEFORE_US);
}

static int read_grant(const struct http_answer *answer, struct grant *grant, struct error *err) {
    const json_t *root = json_parse(grant->arena, answer->body, answer->body_size, NULL);
    const json_t *token = json_object_get(root, "token");
    const char *end = json_text_of(token, "expires_at");

    if (answer->status == 401)
        return error_set(err, ERROR_UNAVAILABLE,
                         "Keystone refused the credentials of the service.");
    if (answer->status != 201 && answer->status != 200)
        return unavailable(err, "the request for a token", answer);
    if (!answer->header || !*answer->header || !json_is_object(token))
        return error_set(err, ERROR_UNAVAILABLE,
                         "Unexpected response of Keystone to the request for a token.");
    grant->token = answer->header;
    grant->catalog = json_object_get(token, "catalog");
    grant->renew_us = renewal_of(end);
    return 0;
}

static struct grant *ask_for_grant(struct keystone *keystone, int64_t deadline_us,
                                   struct error *err) {
    struct arena *arena = arena_new();
    struct grant *grant = arena_alloc(arena, sizeof(*grant));
    struct http_call call = { .method = "POST", .wanted_header = TOKEN_HEADER };
    struct http_answer answer;
    const char *base;

    grant->arena = arena;
    if (find_base(keystone, arena, deadline_us, &base, err) == 0) {
        call.url = arena_format(arena, "%s/auth/tokens", base);
        call.body = keystone_auth_write(arena, &keystone->settings);
        if (call_keystone(keystone, arena, &call, deadline_us, &answer, err) == 0 &&
            read_grant(&answer, grant, err) == 0)
            return grant;
    }
    arena_free(arena);
    return NULL;
}

static bool grant_is_good(const struct keystone *keystone) {
    return keystone->grant && clock_boottime_us() < keystone->grant->renew_us;
}

/* Called with the lock held, which is released meanwhile. */
static int renew_grant(struct keystone *keystone, int64_t deadline_us, struct error *err) {
    struct error failure = { .kind = ERROR_NONE };
    struct grant *grant;

    keystone->asking = true;
    pthread_mutex_unlock(&keystone->lock);
    grant = ask_for_grant(keystone, deadline_us, &failure);
    pthread_mutex_lock(&keystone->lock);
    keystone->asking = false;
    keystone->attempts++;
    keystone->failure = failure;
    pthread_cond_broadcast(&keystone->changed);
    if (!grant)
        return error_pass(err, &failure);
    grant_free(keystone->grant);
    keystone->grant = grant;
    return 0;
}

/* Another thread is requesting a token: its result is used, good or bad. */
static int await_grant(struct keystone *keystone, int64_t deadline_us, struct error *err) {
    unsigned attempt = keystone->attempts;

    while (keystone->attempts == attempt)
        if (!thread_cond_wait(&keystone->changed, &keystone->lock, deadline_us))
            return time_is_up(err);
    if (keystone->failure.kind == ERROR_NONE)
        return 0;
    return error_pass(err, &keystone->failure);
}

/* Called with the lock held; on 0 there is a valid grant. */
static int have_grant(struct keystone *keystone, int64_t deadline_us, struct error *err) {
    while (!grant_is_good(keystone)) {
        int result = keystone->asking ? await_grant(keystone, deadline_us, err)
                                      : renew_grant(keystone, deadline_us, err);

        if (result < 0)
            return -1;
        if (keystone->failure.kind == ERROR_NONE && keystone->grant && !grant_is_good(keystone))
            return error_set(err, ERROR_UNAVAILABLE,
                             "Keystone issued a token that has expired already; check the clocks.");
    }
    return 0;
}

int keystone_token(struct keystone *keystone, struct arena *arena, int64_t deadline_us,
                   const char **ret, struct error *err) {
    bool had;

    scoped_lock(&keystone->lock);
    had = have_grant(keystone, deadline_us, err) == 0;
    if (had)
        *ret = arena_text(arena, keystone->grant->token);
    return had ? 0 : -1;
}

void keystone_token_refused(struct keystone *keystone, const char *token) {
    struct grant *refused = NULL;

    pthread_mutex_lock(&keystone->lock);
    if (keystone->grant && strcmp(keystone->grant->token, token) == 0) {
        refused = keystone->grant;
        keystone->grant = NULL;
    }
    pthread_mutex_unlock(&keystone->lock);
    grant_free(refused);
}

/* ---- catalog ---- */

static const char *find_endpoint(const struct keystone *keystone, const char *type) {
    const struct keystone_settings *settings = &keystone->settings;
    const json_t *catalog = keystone->grant->catalog;

    for (size_t i = 0; i < json_array_size(catalog); i++) {
        const json_t *service = json_array_get(catalog, i);
        const json_t *endpoints = json_object_get(service, "endpoints");

        for (size_t j = 0; json_text_is(service, "type", type) && j < json_array_size(endpoints);
             j++) {
            const json_t *endpoint = json_array_get(endpoints, j);
            const char *url = json_text_of(endpoint, "url");

            if (is_on_network(url) && json_text_is(endpoint, "interface", settings->interface) &&
                (!settings->region || json_text_is(endpoint, "region_id", settings->region) ||
                 json_text_is(endpoint, "region", settings->region)))
                return url;
        }
    }
    return NULL;
}

int keystone_endpoint(struct keystone *keystone, struct arena *arena, int64_t deadline_us,
                      const char *const *types, const char **ret, struct error *err) {
    const char *url = NULL;
    int result;

    scoped_lock(&keystone->lock);
    result = have_grant(keystone, deadline_us, err);
    for (const char *const *type = types; result == 0 && !url && *type; type++)
        url = find_endpoint(keystone, *type);
    if (url)
        *ret = arena_text_n(arena, url, http_length(url));
    else if (result == 0)
        result = error_set(
            err, ERROR_UNAVAILABLE, "The catalog has no %s endpoint of a service of type %s%s%s.",
            keystone->settings.interface, types[0], keystone->settings.region ? " in region " : "",
            keystone->settings.region ? keystone->settings.region : "");
    return result;
}

/* ---- validation ---- */

/* SUBJECT_REFUSED: the service's own token was refused. */
static int validate_once(struct keystone *keystone, struct arena *arena,
                         const struct keystone_question *question, struct http_answer *ret,
                         struct error *err) {
    struct http_header headers[] = {
        { "X-Auth-Token", NULL },
        { TOKEN_HEADER, question->token },
        { "OpenStack-Identity-Access-Rules", "1" }, /* announces that access rules are checked */
        { NULL, NULL },
    };
    struct http_call call = { .method = "GET", .headers = headers };
    const char *base;

    if (find_base(keystone, arena, question->deadline_us, &base, err) < 0 ||
        keystone_token(keystone, arena, question->deadline_us, &headers[0].value, err) < 0)
        return -1;
    call.url = arena_format(arena, "%s/auth/tokens%s%s%s", base,
                            question->catalog && !question->allow_expired ? "" : "?",
                            question->catalog ? "" : "nocatalog",
                            !question->allow_expired ? ""
                            : question->catalog      ? "allow_expired=1"
                                                     : "&allow_expired=1");
    if (call_keystone(keystone, arena, &call, question->deadline_us, ret, err) < 0)
        return -1;
    if (ret->status != 401)
        return 0;
    keystone_token_refused(keystone, headers[0].value);
    return SUBJECT_REFUSED;
}

/* Keystone reports an unknown token in its own fault: another 404 is of a gateway or another
 * service, and must not reject valid tokens. */
static bool is_unknown(struct arena *arena, const struct http_answer *answer) {
    const json_t *root = json_parse(arena, answer->body, answer->body_size, NULL);
    const json_t *fault = json_object_get(root, "error");

    return answer->status == 404 && json_int_at(fault, "code") == answer->status;
}

int keystone_validate(struct keystone *keystone, struct arena *arena,
                      const struct keystone_question *question, struct http_answer *ret,
                      struct error *err) {
    int result = validate_once(keystone, arena, question, ret, err);

    if (result == SUBJECT_REFUSED)
        result = validate_once(keystone, arena, question, ret, err);
    if (result == SUBJECT_REFUSED)
        return error_set(err, ERROR_UNAVAILABLE, "Keystone refused the token of the service.");
    if (result == 0 && ret->status != 200 && !is_unknown(arena, ret))
        return unavailable(err, "the validation of a token", ret);
    return result;
}
