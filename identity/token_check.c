#include "identity/token_check.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "identity/token_cache.private.h"

#include <arpa/inet.h>
#include <assert.h>
#include <nettle/hmac.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEADLINE_MS   10000
#define THREADS       8
#define QUEUE         250
#define GOOD_TOKENS   10000
#define BAD_TOKENS    1000
#define BAD_LIFE_US   (INT64_C(5) * 1000 * 1000)
#define LEAST_CALL_US 1000 /* so much must be left for a question to be worth it */
#define STACK_SIZE    ((size_t)256 * 1024)
#define TELL_EACH_US  (INT64_C(10) * 1000 * 1000) /* how often the log hears of one outage */

STAILQ_HEAD(token_waiters, token_waiter);

/* A token that Keystone is asked about, and all who wait for the answer. */
struct question {
    TAILQ_ENTRY(question) queue;
    struct asker *asker; /* while it is queued */
    LIST_ENTRY(question) open;
    struct token_waiters waiters;
    unsigned joined; /* those behind the first */
    struct token_digest digest;
    bool allow_expired;
    int64_t deadline_us;
    size_t size;
    char text[]; /* the token; wiped with the question */
};

TAILQ_HEAD(question_queue, question);
LIST_HEAD(question_list, question);

/* A client's address, or network of 64 bits, as long as questions of it are queued. */
struct asker {
    TAILQ_ENTRY(asker) next;
    char name[INET6_ADDRSTRLEN];
    struct question_queue queue; /* by deadline */
    unsigned count;
};

TAILQ_HEAD(askers, asker);

struct token_checker {
    struct token_checker_settings settings;
    struct hmac_sha256_ctx key; /* of this process alone: so that nobody chooses digests */

    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t changed;
    struct token_cache *cache;
    struct askers askers;      /* the next one in turn first; each has a question at least */
    struct question_list open; /* queued and asked: at most queue + threads */
    unsigned queued, joined;   /* the latter: callers behind the first of each that is open */
    bool stops;
    int64_t told_us; /* when an outage was last logged */
    unsigned thread_count;
    pthread_t threads[];
};

static const struct log_context no_request;

/* ---- verdicts ---- */

static int refuse(struct error *err) {
    return error_set(err, ERROR_UNAUTHORIZED, "The request you have made requires authentication.");
}

static bool token_is_over(const struct token *token) {
    return clock_boottime_us() >= token->expires_us;
}

/* An expired token is good only for a caller who may come with one. */
static enum token_outcome judge(const struct token *token, bool allow_expired,
                                const struct token **ret, struct error *err) {
    if (!allow_expired && token_is_over(token)) {
        token_release(token);
        return refuse(err);
    }
    *ret = token;
    return TOKEN_GOOD;
}

/* ---- asking ---- */

/* 0 and the token, -1: ERROR_UNAUTHORIZED is Keystone's own word, the rest is its silence. */
static int ask(const struct token_checker *checker, const struct question *question,
               const struct token **ret, struct error *err) {
    const struct token_checker_settings *settings = &checker->settings;
    autoarena struct arena *arena = arena_new();
    const struct keystone_question asked = {
        .token = question->text,
        .allow_expired = question->allow_expired,
        .catalog = settings->catalog,
        .deadline_us = question->deadline_us,
    };
    struct http_answer answer;

    if (clock_monotonic_us() + LEAST_CALL_US >= question->deadline_us)
        return error_set(err, ERROR_UNAVAILABLE, "Keystone is too slow for all who ask.");
    if (keystone_validate(settings->keystone, arena, &asked, &answer, err) < 0)
        return -1;
    if (answer.status == 404)
        return refuse(err);
    *ret = token_read(answer.body, answer.body_size, settings->service_type, err);
    return *ret ? 0 : -1;
}

/* Called with the lock held. */
static void keep_verdict(struct token_checker *checker, const struct question *question,
                         const struct token *token, const struct error *err) {
    int64_t now_us = clock_boottime_us(), life_us = checker->settings.cache_ms * 1000;
    int64_t bad_life_us = life_us < BAD_LIFE_US ? life_us : BAD_LIFE_US;

    if (life_us <= 0)
        return;
    if (token)
        token_cache_put(checker->cache, &question->digest, token, now_us + life_us);
    else if (err->kind == ERROR_UNAUTHORIZED)
        token_cache_put_bad(checker->cache, &question->digest, question->allow_expired,
                            now_us + bad_life_us);
}

/* The clients hear that the service cannot say who they are; why, the log says. */
static void tell_outage(struct token_checker *checker, struct error *err) {
    int64_t now_us = clock_monotonic_us();
    bool tell;

    pthread_mutex_lock(&checker->lock);
    tell = checker->told_us == 0 || now_us - checker->told_us >= TELL_EACH_US;
    if (tell)
        checker->told_us = now_us;
    pthread_mutex_unlock(&checker->lock);
    if (tell)
        log_error(&no_request, "tokens cannot be validated", "reason", err->message, NULL);
    error_set(err, ERROR_TRY_LATER, "The identity service is not available; try again.");
}

static void answer_waiters(struct question *question, const struct token *token,
                           const struct error *err) {
    struct token_waiter *waiter;

    while ((waiter = STAILQ_FIRST(&question->waiters))) {
        const struct token *held = NULL;
        struct error failure = *err;

        STAILQ_REMOVE_HEAD(&question->waiters, next);
        if (token && judge(token_hold(token), question->allow_expired, &held, &failure) < 0)
            held = NULL;
        waiter->done(waiter->arg, held, &failure); /* its memory may be gone behind this */
    }
}

static void question_free(struct question *question) {
    explicit_bzero(question->text, question->size);
    free(question);
}

/* Nobody joins the question from here on: its waiters are the caller's own. */
static void unlist(struct token_checker *checker, struct question *question) {
    LIST_REMOVE(question, open);
    checker->joined -= question->joined;
}

static void finish(struct token_checker *checker, struct question *question,
                   const struct token *token, struct error *err) {
    pthread_mutex_lock(&checker->lock);
    unlist(checker, question);
    keep_verdict(checker, question, token, err);
    pthread_mutex_unlock(&checker->lock);
    if (!token && err->kind != ERROR_UNAUTHORIZED)
        tell_outage(checker, err);
    answer_waiters(question, token, err);
    token_release(token);
    question_free(question);
}

/* The asker's turn comes again behind all others, if it has more. */
static void unqueue(struct token_checker *checker, struct question *question) {
    struct asker *asker = question->asker;

    question->asker = NULL;
    TAILQ_REMOVE(&asker->queue, question, queue);
    checker->queued--;
    TAILQ_REMOVE(&checker->askers, asker, next);
    if (--asker->count > 0)
        TAILQ_INSERT_TAIL(&checker->askers, asker, next);
    else
        free(asker);
}

static struct question *take_question(struct token_checker *checker) {
    struct question *question = NULL;

    pthread_mutex_lock(&checker->lock);
    while (!checker->stops && TAILQ_EMPTY(&checker->askers))
        pthread_cond_wait(&checker->changed, &checker->lock);
    if (!checker->stops) {
        question = TAILQ_FIRST(&TAILQ_FIRST(&checker->askers)->queue);
        unqueue(checker, question);
    }
    pthread_mutex_unlock(&checker->lock);
    return question;
}

static void *validate(void *arg) {
    struct token_checker *checker = arg;
    struct question *question;

    while ((question = take_question(checker))) {
        const struct token *token = NULL;
        struct error err = { .kind = ERROR_NONE };

        if (ask(checker, question, &token, &err) < 0)
            token = NULL;
        finish(checker, question, token, &err);
    }
    return NULL;
}

/* ---- who asks ---- */

static struct token_digest digest_of(const struct token_checker *checker, const char *text,
                                     size_t size) {
    struct hmac_sha256_ctx state = checker->key;
    struct token_digest digest;

    hmac_sha256_update(&state, size, (const unsigned char *)text);
    hmac_sha256_digest(&state, sizeof(digest.bytes), digest.bytes);
    explicit_bzero(&state, sizeof(state));
    return digest;
}

static struct question *find_question(const struct token_checker *checker,
                                      const struct token_digest *digest, bool allow_expired) {
    struct question *question = LIST_FIRST(&checker->open);

    while (question && (question->allow_expired != allow_expired ||
                        memcmp(&question->digest, digest, sizeof(*digest)) != 0))
        question = LIST_NEXT(question, open);
    return question;
}

static struct question *question_new(const struct token_checker *checker, const char *text,
                                     size_t size, const struct token_digest *digest,
                                     bool allow_expired) {
    struct question *question = calloc(1, sizeof(*question) + size + 1);

    assert(question);
    STAILQ_INIT(&question->waiters);
    question->digest = *digest;
    question->allow_expired = allow_expired;
    question->deadline_us = clock_monotonic_us() + checker->settings.deadline_ms * 1000;
    question->size = size;
    memcpy(question->text, text, size);
    return question;
}

/* Of IPv6 a client has a whole network of 64 bits to choose addresses from. */
static void name_asker(const char *peer, char ret[INET6_ADDRSTRLEN]) {
    struct in6_addr address;

    if (peer && inet_pton(AF_INET6, peer, &address) == 1) {
        memset(&address.s6_addr[8], 0, 8);
        inet_ntop(AF_INET6, &address, ret, INET6_ADDRSTRLEN);
    } else {
        snprintf(ret, INET6_ADDRSTRLEN, "%s", peer ? peer : "");
    }
}

static struct asker *find_asker(const struct token_checker *checker, const char *name) {
    struct asker *asker;

    TAILQ_FOREACH(asker, &checker->askers, next)
    if (strcmp(asker->name, name) == 0)
        return asker;
    return NULL;
}

/* The question that goes when the queue is full and somebody asks who has so many; NULL: nobody
 * has more. */
static struct question *find_least_due(const struct token_checker *checker, unsigned count) {
    struct asker *most = NULL, *asker;

    TAILQ_FOREACH(asker, &checker->askers, next)
    if (!most || asker->count > most->count)
        most = asker;
    return most && most->count > count + 1 ? TAILQ_LAST(&most->queue, question_queue) : NULL;
}

static void queue_question(struct token_checker *checker, struct question *question,
                           const char *name) {
    struct asker *asker = find_asker(checker, name);

    if (!asker) {
        asker = calloc(1, sizeof(*asker));
        assert(asker);
        strcpy(asker->name, name);
        TAILQ_INIT(&asker->queue);
        TAILQ_INSERT_TAIL(&checker->askers, asker, next);
    }
    question->asker = asker;
    asker->count++;
    TAILQ_INSERT_TAIL(&asker->queue, question, queue);
    LIST_INSERT_HEAD(&checker->open, question, open);
    checker->queued++;
    pthread_cond_signal(&checker->changed);
}

/* False: there is no place, and nobody who should go for this one. */
static bool make_place(struct token_checker *checker, const char *name,
                       struct question **ret_gone) {
    const struct asker *asker;
    struct question *gone;

    if (checker->stops)
        return false;
    if (checker->queued < checker->settings.queue)
        return true;
    asker = find_asker(checker, name);
    gone = find_least_due(checker, asker ? asker->count : 0);
    if (!gone)
        return false;
    unqueue(checker, gone);
    unlist(checker, gone);
    *ret_gone = gone;
    return true;
}

/* Nobody knows yet who they are, so they must not hold all places that the server has for clients:
 * neither by many tokens nor by one that all of them bring. */
static int join(struct token_checker *checker, struct question *question,
                struct token_waiter *waiter) {
    if (checker->joined >= checker->settings.queue)
        return -1;
    checker->joined++;
    question->joined++;
    STAILQ_INSERT_TAIL(&question->waiters, waiter, next);
    return 0;
}

/* Called with the lock held: joins a question that is open, or puts one. *ret_gone: had to go for
 * it; its waiters must hear of that without the lock. */
static int wait_for_verdict(struct token_checker *checker, const char *text, size_t size,
                            const struct token_digest *digest, bool allow_expired,
                            struct token_waiter *waiter, struct question **ret_gone) {
    struct question *question = find_question(checker, digest, allow_expired);
    char name[INET6_ADDRSTRLEN];

    if (question)
        return join(checker, question, waiter);
    name_asker(waiter->peer, name);
    if (!make_place(checker, name, ret_gone))
        return -1;
    question = question_new(checker, text, size, digest, allow_expired);
    queue_question(checker, question, name);
    STAILQ_INSERT_TAIL(&question->waiters, waiter, next);
    return 0;
}

/* What cannot stand in a header of ours is no token. */
static bool text_is_token(const char *text, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return false;
    return size > 0;
}

static const char *trim(const char *text, size_t *ret_size) {
    size_t size;

    text += strspn(text, " \t");
    size = strlen(text);
    while (size > 0 && strchr(" \t", text[size - 1]))
        size--;
    *ret_size = size;
    return text;
}

static int too_many(struct error *err) {
    return error_set(err, ERROR_TRY_LATER, "Too many tokens wait to be validated; try again.");
}

static void turn_away(struct question *question) {
    struct error err;

    too_many(&err);
    answer_waiters(question, NULL, &err);
    question_free(question);
}

enum token_outcome token_check(struct token_checker *checker, const char *text, bool allow_expired,
                               struct token_waiter *waiter, const struct token **ret,
                               struct error *err) {
    struct token_digest digest;
    const struct token *token;
    struct question *gone = NULL;
    bool bad, waits = false;
    size_t size;

    text = trim(text, &size);
    if (!text_is_token(text, size))
        return refuse(err);
    digest = digest_of(checker, text, size);
    pthread_mutex_lock(&checker->lock);
    token = token_cache_find(checker->cache, &digest, allow_expired, clock_boottime_us(), &bad);
    if (!token && !bad)
        waits = wait_for_verdict(checker, text, size, &digest, allow_expired, waiter, &gone) == 0;
    pthread_mutex_unlock(&checker->lock);
    if (gone)
        turn_away(gone);
    if (token)
        return judge(token, allow_expired, ret, err);
    if (bad)
        return refuse(err);
    if (waits)
        return TOKEN_LATER;
    return too_many(err);
}

/* ---- start and end ---- */

static void settle(struct token_checker_settings *settings) {
    if (settings->deadline_ms <= 0)
        settings->deadline_ms = DEADLINE_MS;
    settings->threads = settings->threads ? settings->threads : THREADS;
    settings->queue = settings->queue ? settings->queue : QUEUE;
    settings->tokens = settings->tokens ? settings->tokens : GOOD_TOKENS;
}

static void start_threads(struct token_checker *checker) {
    pthread_attr_t attributes;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    while (checker->thread_count < checker->settings.threads) {
        pthread_t *thread = &checker->threads[checker->thread_count];

        if (pthread_create(thread, &attributes, validate, checker) != 0)
            abort();
        pthread_setname_np(*thread, "tokens");
        checker->thread_count++;
    }
    pthread_attr_destroy(&attributes);
}

static void make_key(struct hmac_sha256_ctx *ret) {
    unsigned char secret[SHA256_DIGEST_SIZE];

    clock_system.random(clock_system.arg, secret, sizeof(secret));
    hmac_sha256_set_key(ret, sizeof(secret), secret);
    explicit_bzero(secret, sizeof(secret));
}

struct token_checker *token_checker_new(const struct token_checker_settings *settings) {
    struct token_checker_settings settled = *settings;
    struct token_checker *checker;

    settle(&settled);
    checker = calloc(1, sizeof(*checker) + settled.threads * sizeof(checker->threads[0]));
    assert(checker);
    checker->settings = settled;
    make_key(&checker->key);
    checker->cache = token_cache_new(settled.tokens, BAD_TOKENS);
    TAILQ_INIT(&checker->askers);
    LIST_INIT(&checker->open);
    pthread_mutex_init(&checker->lock, NULL);
    pthread_cond_init(&checker->changed, NULL);
    start_threads(checker);
    return checker;
}

static void refuse_queued(struct token_checker *checker) {
    struct asker *asker;
    struct error err;

    error_set(&err, ERROR_TRY_LATER, "The service is stopping.");
    while ((asker = TAILQ_FIRST(&checker->askers))) {
        struct question *question = TAILQ_FIRST(&asker->queue);

        unqueue(checker, question);
        answer_waiters(question, NULL, &err);
        question_free(question);
    }
}

void token_checker_free(struct token_checker *checker) {
    if (!checker)
        return;
    pthread_mutex_lock(&checker->lock);
    checker->stops = true;
    pthread_cond_broadcast(&checker->changed);
    pthread_mutex_unlock(&checker->lock);
    for (unsigned i = 0; i < checker->thread_count; i++)
        pthread_join(checker->threads[i], NULL);
    refuse_queued(checker);
    token_cache_free(checker->cache);
    pthread_cond_destroy(&checker->changed);
    pthread_mutex_destroy(&checker->lock);
    explicit_bzero(&checker->key, sizeof(checker->key));
    free(checker);
}
