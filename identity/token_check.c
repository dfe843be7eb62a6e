#include "identity/token_check.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/thread.h"
#include "identity/token_queue.private.h"

#include <nettle/hmac.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define DEADLINE_MS   10000
#define THREADS       8
#define QUEUE         250
#define GOOD_TOKENS   10000
#define BAD_TOKENS    1000
#define BAD_LIFE_US   (INT64_C(5) * 1000 * 1000)
#define LEAST_CALL_US 1000                        /* minimum remaining time for a validation */
#define TELL_EACH_US  (INT64_C(10) * 1000 * 1000) /* interval of log lines during one outage */

struct token_checker {
    struct token_checker_settings settings;
    struct hmac_sha256_ctx key; /* random for each process, so that digests cannot be chosen by a
                                 * client */

    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t changed;
    struct token_cache *cache;
    struct token_queue queue; /* closed when the checker stops */
    int64_t told_us;          /* when an outage was last logged */
    pthread_t threads[];
};

/* ---- results ---- */

/* An expired token is valid only for a request that allows one. */
static enum token_outcome judge(const struct token *token, bool allow_expired,
                                const struct token **ret, struct error *err) {
    if (!allow_expired && clock_boottime_us() >= token->expires_us) {
        token_release(token);
        return token_refuse(err);
    }
    *ret = token;
    return TOKEN_GOOD;
}

/* ---- validation ---- */

/* 0 and the token; -1: ERROR_UNAUTHORIZED is Keystone's answer, other errors its failure. */
static int ask(const struct token_checker *checker, const struct question *question,
               const struct token **ret, struct error *err) {
    const struct token_checker_settings *settings = &checker->settings;
    autoarena struct arena *arena = arena_new();
    const struct keystone_question asked = {
        .token = question->text,
        .allow_expired = question->asked.allow_expired,
        .catalog = settings->catalog,
        .deadline_us = question->asked.deadline_us,
    };
    struct http_answer answer;

    if (clock_monotonic_us() + LEAST_CALL_US >= question->asked.deadline_us)
        return error_set(err, ERROR_UNAVAILABLE,
                         "Too many tokens wait for validation by Keystone.");
    if (keystone_validate(settings->keystone, arena, &asked, &answer, err) < 0)
        return -1;
    if (answer.status == 404)
        return token_refuse(err);
    *ret = token_read(answer.body, answer.body_size, settings->service_type, err);
    return *ret ? 0 : -1;
}

static void answer_waiters(struct question *question, const struct token *token,
                           const struct error *err) {
    struct token_waiter *waiter;

    while ((waiter = STAILQ_FIRST(&question->waiters))) {
        const struct token *held = NULL;
        struct error failure = *err;

        STAILQ_REMOVE_HEAD(&question->waiters, next);
        if (token && judge(token_hold(token), question->asked.allow_expired, &held, &failure) < 0)
            held = NULL;
        waiter->done(waiter->arg, held, &failure); /* its memory may be freed by now */
    }
}

static void finish(struct token_checker *checker, struct question *question,
                   const struct token *token, struct error *err) {
    int64_t now_us = clock_boottime_us(), life_us = checker->settings.cache_ms * 1000;
    int64_t bad_life_us = life_us < BAD_LIFE_US ? life_us : BAD_LIFE_US;
    int64_t told_us = clock_monotonic_us();
    bool outage = !token && err->kind != ERROR_UNAUTHORIZED, tell;

    pthread_mutex_lock(&checker->lock);
    token_queue_end(&checker->queue, question);
    if (life_us > 0 && token)
        token_cache_put(checker->cache, &question->asked.digest, token, now_us + life_us);
    else if (life_us > 0 && err->kind == ERROR_UNAUTHORIZED)
        token_cache_put_bad(checker->cache, &question->asked.digest, question->asked.allow_expired,
                            now_us + bad_life_us);
    tell = outage && (checker->told_us == 0 || told_us - checker->told_us >= TELL_EACH_US);
    if (tell)
        checker->told_us = told_us;
    pthread_mutex_unlock(&checker->lock);
    if (tell)
        log_error(NULL, "tokens cannot be validated", "reason", err->message, NULL);
    if (outage) /* clients get a general error; the log has the reason */
        error_set(err, ERROR_TRY_LATER, "The identity service is not available; try again.");
    answer_waiters(question, token, err);
    token_release(token);
    question_free(question);
}

static void *validate(void *arg) {
    struct token_checker *checker = arg;

    for (;;) {
        struct question *question = NULL;
        const struct token *token = NULL;
        struct error err = { .kind = ERROR_NONE };

        pthread_mutex_lock(&checker->lock);
        while (!checker->queue.closed && !(question = token_queue_take(&checker->queue)))
            pthread_cond_wait(&checker->changed, &checker->lock);
        pthread_mutex_unlock(&checker->lock);
        if (!question) /* the checker stops */
            return NULL;

        if (ask(checker, question, &token, &err) < 0)
            token = NULL;
        finish(checker, question, token, &err);
    }
}

/* ---- requests ---- */

/* Without blanks around it.  A text that is not allowed in a header is not a token. */
static bool read_token(const char *text, struct token_asked *ret) {
    text += strspn(text, " \t");
    ret->text = text;
    ret->size = strlen(text);
    while (ret->size > 0 && strchr(" \t", text[ret->size - 1]))
        ret->size--;
    for (size_t i = 0; i < ret->size; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return false;
    return ret->size > 0;
}

static void turn_away(struct question *question, const char *why) {
    struct error err;

    error_set(&err, ERROR_TRY_LATER, "%s", why);
    answer_waiters(question, NULL, &err);
    question_free(question);
}

enum token_outcome token_check(struct token_checker *checker, const char *text, bool allow_expired,
                               struct token_waiter *waiter, const struct token **ret,
                               struct error *err) {
    static const char too_many[] = "Too many tokens wait to be validated; try again.";
    struct token_asked asked = { .allow_expired = allow_expired };
    const struct token *token;
    struct question *gone = NULL;
    struct hmac_sha256_ctx state;
    bool bad, waits = false;

    if (!read_token(text, &asked))
        return token_refuse(err);
    state = checker->key;
    hmac_sha256_update(&state, asked.size, (const unsigned char *)asked.text);
    hmac_sha256_digest(&state, sizeof(asked.digest.bytes), asked.digest.bytes);
    explicit_bzero(&state, sizeof(state));
    pthread_mutex_lock(&checker->lock);
    token =
        token_cache_find(checker->cache, &asked.digest, allow_expired, clock_boottime_us(), &bad);
    if (!token && !bad) {
        asked.deadline_us = clock_monotonic_us() + checker->settings.deadline_ms * 1000;
        waits = token_queue_enter(&checker->queue, &asked, waiter, &gone);
        if (waits)
            pthread_cond_signal(&checker->changed);
    }
    pthread_mutex_unlock(&checker->lock);
    if (gone)
        turn_away(gone, too_many);
    if (token)
        return judge(token, allow_expired, ret, err);
    if (bad)
        return token_refuse(err);
    return waits ? TOKEN_LATER : error_set(err, ERROR_TRY_LATER, too_many);
}

/* ---- start and end ---- */

struct token_checker *token_checker_new(const struct token_checker_settings *settings) {
    struct token_checker_settings settled = *settings;
    unsigned char secret[SHA256_DIGEST_SIZE];
    struct token_checker *checker;

    if (settled.deadline_ms <= 0)
        settled.deadline_ms = DEADLINE_MS;
    settled.threads = settled.threads ? settled.threads : THREADS;
    settled.queue = settled.queue ? settled.queue : QUEUE;
    settled.tokens = settled.tokens ? settled.tokens : GOOD_TOKENS;
    checker = heap_new(sizeof(*checker) + settled.threads * sizeof(checker->threads[0]));
    checker->settings = settled;
    clock_system.random(clock_system.arg, secret, sizeof(secret));
    hmac_sha256_set_key(&checker->key, sizeof(secret), secret);
    explicit_bzero(secret, sizeof(secret));
    checker->cache = token_cache_new(settled.tokens, BAD_TOKENS);
    token_queue_init(&checker->queue, settled.queue);
    pthread_mutex_init(&checker->lock, NULL);
    pthread_cond_init(&checker->changed, NULL);
    for (pthread_t *thread = checker->threads; thread < checker->threads + settled.threads;
         thread++)
        if (thread_start(thread, "tokens", validate, checker) != 0)
            abort();
    return checker;
}

void token_checker_free(struct token_checker *checker) {
    struct question *question;

    if (!checker)
        return;
    pthread_mutex_lock(&checker->lock);
    checker->queue.closed = true;
    pthread_cond_broadcast(&checker->changed);
    pthread_mutex_unlock(&checker->lock);
    for (unsigned i = 0; i < checker->settings.threads; i++)
        pthread_join(checker->threads[i], NULL);
    while ((question = token_queue_take(&checker->queue)))
        turn_away(question, "The service is stopping.");
    token_cache_free(checker->cache);
    pthread_cond_destroy(&checker->changed);
    pthread_mutex_destroy(&checker->lock);
    explicit_bzero(&checker->key, sizeof(checker->key));
    free(checker);
}
