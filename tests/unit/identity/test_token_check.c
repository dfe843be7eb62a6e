#include "identity/token_check.h"

#include "common/clock.h"
#include "tests/lib/check_main.h"
#include "tests/lib/script_keystone.h"
#include "tests/lib/wall.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct scene {
    struct script_server *server;
    struct keystone_settings keystone_settings;
    struct keystone *keystone;
    struct token_checker_settings settings;
    struct token_checker *checker;
    char url[80];
    struct error err;
};

static struct scene *scene_with(struct token_checker_settings settings) {
    struct scene *scene = calloc(1, sizeof(*scene));

    scene->server = script_server_new();
    snprintf(scene->url, sizeof(scene->url), "%s/v3", script_server_url(scene->server));
    script_keystone_begin(scene->server);
    scene->keystone_settings = (struct keystone_settings){
        .auth_url = scene->url,
        .username = "scoria",
        .password = "secret",
        .user_domain_id = "default",
        .project_name = "service",
        .project_domain_id = "default",
        .interface = "public",
    };
    scene->keystone = keystone_new(&scene->keystone_settings);
    settings.keystone = scene->keystone;
    scene->checker = token_checker_new(&settings);
    return scene;
}

static struct scene *scene_new(void) {
    return scene_with((struct token_checker_settings){ .cache_ms = 300000 });
}

static void scene_end(struct scene *scene) {
    token_checker_free(scene->checker);
    keystone_free(scene->keystone);
    script_server_free(scene->server);
    free(scene);
}

/* A caller with a token. */
struct caller {
    struct token_waiter waiter;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t changed;
    bool answered;
    const struct token *token;
    struct error err;
};

static void note_answer(void *arg, const struct token *token, const struct error *err) {
    struct caller *caller = arg;

    pthread_mutex_lock(&caller->lock);
    ck_assert(!caller->answered);
    caller->answered = true;
    caller->token = token;
    caller->err = *err;
    pthread_cond_broadcast(&caller->changed);
    pthread_mutex_unlock(&caller->lock);
}

static void caller_init(struct caller *caller) {
    *caller = (struct caller){ .waiter = { .done = note_answer, .arg = caller } };
    pthread_mutex_init(&caller->lock, NULL);
    pthread_cond_init(&caller->changed, NULL);
}

static void await(struct caller *caller) {
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 40;
    pthread_mutex_lock(&caller->lock);
    while (!caller->answered)
        ck_assert_int_ne(pthread_cond_timedwait(&caller->changed, &caller->lock, &until),
                         ETIMEDOUT);
    pthread_mutex_unlock(&caller->lock);
}

/* GOOD or the kind of the error, however the answer came; *ret_asked: it came later. */
static enum error_kind check(struct scene *scene, const char *text, bool allow_expired,
                             bool *ret_requested) {
    const struct token *token = NULL;
    struct caller caller;
    struct error err = { 0 };
    enum token_outcome outcome;

    caller_init(&caller);
    outcome = token_check(scene->checker, text, allow_expired, &caller.waiter, &token, &err);
    if (outcome == TOKEN_LATER) {
        await(&caller);
        token = caller.token;
        err = caller.err;
    }
    if (ret_requested)
        *ret_requested = outcome == TOKEN_LATER;
    scene->err = err;
    ck_assert(outcome == TOKEN_LATER || (outcome == TOKEN_GOOD) == (token != NULL));
    token_release(token);
    return token ? ERROR_NONE : err.kind;
}

static unsigned queried(struct scene *scene) {
    return script_server_count(scene->server, "GET", KEYSTONE_TOKENS "*");
}

START_TEST(a_valid_token_is_queried_once) {
    struct scene *scene = scene_new();
    bool later;

    script_keystone_answer(scene->server, 200, script_keystone_token("\"member\"", 100, ""), 0);
    ck_assert_int_eq(check(scene, "t1", false, &later), ERROR_NONE);
    ck_assert(later);
    ck_assert_int_eq(check(scene, " \tt1 ", false, &later), ERROR_NONE);
    ck_assert(!later);
    ck_assert_int_eq(check(scene, "t1", true, &later), ERROR_NONE);
    ck_assert(!later);
    ck_assert_uint_eq(queried(scene), 1);
    ck_assert_int_eq(check(scene, "t2", false, &later), ERROR_NONE);
    ck_assert_uint_eq(queried(scene), 2);
    scene_end(scene);
}
END_TEST

/* The wall's clock is set: a known token is as good as before, and no better. */
START_TEST(a_known_token_ignores_changes_of_the_wall_clock) {
    static const int64_t steps[] = { 3600, 31536000, -31536000, -3600 };
    struct scene *scene = scene_new();
    bool later;

    script_keystone_answer(scene->server, 200, script_keystone_token("\"member\"", 100, ""), 0);
    ck_assert_int_eq(check(scene, "t1", false, NULL), ERROR_NONE);
    for (size_t i = 0; i < LENGTH(steps); i++) {
        wall_step(steps[i]);
        ck_assert_int_eq(check(scene, "t1", false, &later), ERROR_NONE);
        ck_assert(!later);
        wall_step(-steps[i]);
    }
    scene_end(scene);
}
END_TEST

START_TEST(an_expired_token_is_invalid_whatever_the_wall_clock) {
    struct scene *scene = scene_new();

    script_keystone_answer(scene->server, 200, script_keystone_token("\"member\"", -100, ""), 0);
    ck_assert_int_eq(check(scene, "t1", true, NULL), ERROR_NONE);
    ck_assert_int_eq(check(scene, "t1", false, NULL), ERROR_UNAUTHORIZED);
    wall_step(-3600);
    ck_assert_int_eq(check(scene, "t1", false, NULL), ERROR_UNAUTHORIZED);
    wall_step(3600);
    scene_end(scene);
}
END_TEST

START_TEST(without_a_cache_each_token_is_queried) {
    struct scene *scene = scene_with((struct token_checker_settings){ .cache_ms = 0 });

    script_keystone_answer(scene->server, 200, script_keystone_token("", 100, ""), 2);
    script_keystone_answer(scene->server, 404, KEYSTONE_UNKNOWN, 0);
    ck_assert_int_eq(check(scene, "t1", false, NULL), ERROR_NONE);
    ck_assert_int_eq(check(scene, "t1", false, NULL), ERROR_NONE);
    ck_assert_int_eq(check(scene, "t1", false, NULL), ERROR_UNAUTHORIZED);
    ck_assert_int_eq(check(scene, "t1", false, NULL), ERROR_UNAUTHORIZED);
    ck_assert_uint_eq(queried(scene), 4);
    scene_end(scene);
}
END_TEST

START_TEST(an_invalid_token_is_remembered_briefly) {
    struct scene *scene = scene_new();
    bool later;

    script_keystone_answer(scene->server, 404, KEYSTONE_UNKNOWN, 0);
    ck_assert_int_eq(check(scene, "t1", false, &later), ERROR_UNAUTHORIZED);
    ck_assert_int_eq(check(scene, "t1", false, &later), ERROR_UNAUTHORIZED);
    ck_assert(!later);
    ck_assert_int_eq(check(scene, "t1", true, &later), ERROR_UNAUTHORIZED); /* another question */
    ck_assert(later);
    ck_assert_uint_eq(queried(scene), 2);
    scene_end(scene);
}
END_TEST

START_TEST(a_malformed_token_is_refused_without_a_query) {
    static const char *const texts[] = { "", "   ", "a b", "a\x01", "\xc3\xa4", "a\tb" };
    struct scene *scene = scene_new();
    bool later;

    for (size_t i = 0; i < LENGTH(texts); i++) {
        ck_assert_int_eq(check(scene, texts[i], false, &later), ERROR_UNAUTHORIZED);
        ck_assert(!later);
    }
    ck_assert_uint_eq(script_server_count(scene->server, NULL, NULL), 0);
    scene_end(scene);
}
END_TEST

START_TEST(an_expired_token_is_valid_only_where_allowed) {
    struct scene *scene = scene_new();
    bool later;

    script_keystone_answer(scene->server, 200, script_keystone_token("", -10, ""), 0);
    ck_assert_int_eq(check(scene, "t1", true, NULL), ERROR_NONE);
    ck_assert_int_eq(check(scene, "t1", false, &later), ERROR_UNAUTHORIZED);
    ck_assert(!later);
    ck_assert_int_eq(check(scene, "t1", true, &later), ERROR_NONE);
    ck_assert(!later);
    ck_assert_int_eq(check(scene, "t2", false, &later), ERROR_UNAUTHORIZED);
    scene_end(scene);
}
END_TEST

START_TEST(an_unresponsive_keystone_neither_accepts_nor_refuses) {
    static const struct script_rule rules[] = {
        { .method = "GET", .path = KEYSTONE_TOKENS "*", .status = 500, .times = 1 },
        { .method = "GET", .path = KEYSTONE_TOKENS "*", .status = 403, .times = 1 },
        { .method = "GET", .path = KEYSTONE_TOKENS "*", .status = 200, .body = "{}", .times = 1 },
        { .method = "GET", .path = KEYSTONE_TOKENS "*", .manner = SCRIPT_CLOSE, .times = 1 },
        { .method = "GET",
          .path = KEYSTONE_TOKENS "*",
          .status = 200,
          .body = "{\"token\": {}}",
          .manner = SCRIPT_HALF,
          .times = 1 },
    };
    struct scene *scene =
        scene_with((struct token_checker_settings){ .cache_ms = 300000, .deadline_ms = 30000 });

    for (size_t i = 0; i < LENGTH(rules); i++)
        script_server_add(scene->server, &rules[i]);
    script_keystone_answer(scene->server, 200, script_keystone_token("", 100, ""), 0);
    for (size_t i = 0; i < LENGTH(rules); i++) {
        ck_assert_int_eq(check(scene, "t1", false, NULL), ERROR_TRY_LATER);
        ck_assert_ptr_null(strstr(scene->err.message, "t1"));
    }
    ck_assert_int_eq(check(scene, "t1", false, NULL), ERROR_NONE); /* nothing of it sticks */
    scene_end(scene);
}
END_TEST

START_TEST(a_hanging_keystone_neither_accepts_nor_refuses) {
    struct scene *scene =
        scene_with((struct token_checker_settings){ .cache_ms = 300000, .deadline_ms = 400 });
    enum error_kind kind = ERROR_TRY_LATER;

    script_server_add(scene->server, &(struct script_rule){ .method = "GET",
                                                            .path = KEYSTONE_TOKENS "*",
                                                            .manner = SCRIPT_SILENT });
    while (queried(scene) == 0)
        ck_assert_int_eq(check(scene, "t1", false, NULL), ERROR_TRY_LATER);
    script_server_clear(scene->server);
    script_keystone_answer(scene->server, 200, script_keystone_token("", 100, ""), 0);
    while (kind == ERROR_TRY_LATER) /* the time is short for an answer, too */
        kind = check(scene, "t1", false, NULL);
    ck_assert_int_eq(kind, ERROR_NONE);
    scene_end(scene);
}
END_TEST

#define CALLERS 32

static void expect_all(struct caller *callers, unsigned count, enum error_kind kind) {
    for (unsigned i = 0; i < count; i++) {
        await(&callers[i]);
        ck_assert_int_eq(callers[i].token ? ERROR_NONE : callers[i].err.kind, kind);
        token_release(callers[i].token);
    }
}

static enum token_outcome put_from(struct scene *scene, struct caller *caller, const char *peer,
                                   const char *text) {
    const struct token *token;

    caller_init(caller);
    caller->waiter.peer = peer;
    return token_check(scene->checker, text, false, &caller->waiter, &token, &scene->err);
}

static enum token_outcome put(struct scene *scene, struct caller *caller, const char *text) {
    return put_from(scene, caller, NULL, text);
}

/* One thread, which is busy with a first question, and a queue full of others of the same peer. */
START_TEST(tokens_of_one_address_delay_no_other_address) {
    struct scene *scene = scene_with((struct token_checker_settings){
        .cache_ms = 300000, .threads = 1, .queue = 4, .deadline_ms = 60000 });
    static const char *const many[] = { "2001:db8::1", "2001:db8::2", "2001:db8::ffff:1",
                                        "2001:db8::3", "2001:db8::4" };
    const struct script_rule silent = {
        .method = "GET", .path = KEYSTONE_TOKENS "*", .manner = SCRIPT_SILENT, .times = 1
    };
    struct caller callers[5], refused, other;
    char text[8];

    script_server_add(scene->server, &silent);
    script_keystone_answer(scene->server, 200, script_keystone_token("", 100, ""), 2);
    script_server_add(scene->server, &silent);
    for (unsigned i = 0; i < LENGTH(callers); i++) {
        snprintf(text, sizeof(text), "t%u", i);
        ck_assert_int_eq(put_from(scene, &callers[i], many[i], text), TOKEN_LATER);
        if (i == 0)
            ck_assert(script_server_await(scene->server, "GET", KEYSTONE_TOKENS "*", 1));
    }
    ck_assert_int_eq(put_from(scene, &refused, many[0], "t9"), TOKEN_REFUSED);
    ck_assert_int_eq(put_from(scene, &other, "192.0.2.1", "u"), TOKEN_LATER);
    expect_all(&callers[4], 1, ERROR_TRY_LATER); /* the last one freed a slot */

    script_server_drop_silent(scene->server);
    expect_all(&other, 1, ERROR_NONE); /* behind one of the many, in front of the rest */
    expect_all(&callers[0], 1, ERROR_TRY_LATER);
    expect_all(&callers[1], 1, ERROR_NONE);
    ck_assert(script_server_await(scene->server, "GET", KEYSTONE_TOKENS "*", 4));
    script_server_clear(scene->server);
    script_server_drop_silent(scene->server);
    expect_all(&callers[2], 2, ERROR_TRY_LATER);
    scene_end(scene);
}
END_TEST

START_TEST(callers_with_one_token_share_one_query) {
    struct scene *scene = scene_with(
        (struct token_checker_settings){ .cache_ms = 300000, .threads = 1, .deadline_ms = 20000 });
    struct caller callers[CALLERS], first;

    script_server_add(scene->server, &(struct script_rule){ .path = KEYSTONE_TOKENS "*",
                                                            .method = "GET",
                                                            .manner = SCRIPT_SILENT,
                                                            .times = 1 });
    script_keystone_answer(scene->server, 200, script_keystone_token("", 100, ""), 0);
    ck_assert_int_eq(put(scene, &first, "slow"), TOKEN_LATER);
    ck_assert(script_server_await(scene->server, "GET", KEYSTONE_TOKENS "*", 1));
    for (size_t i = 0; i < LENGTH(callers); i++)
        ck_assert_int_eq(put(scene, &callers[i], "same"), TOKEN_LATER);
    script_server_drop_silent(scene->server);
    expect_all(&first, 1, ERROR_TRY_LATER);
    expect_all(callers, CALLERS, ERROR_NONE);
    ck_assert_uint_eq(queried(scene), 2);
    scene_end(scene);
}
END_TEST

START_TEST(the_queue_is_bounded_and_known_tokens_bypass_it) {
    struct scene *scene = scene_with((struct token_checker_settings){
        .cache_ms = 300000, .threads = 2, .queue = 3, .deadline_ms = 60000 });
    struct caller callers[5], one_more;
    bool later;
    char text[8];

    script_keystone_answer(scene->server, 200, script_keystone_token("", 100, ""), 1);
    script_server_add(scene->server, &(struct script_rule){ .manner = SCRIPT_SILENT });
    ck_assert_int_eq(check(scene, "known", false, NULL), ERROR_NONE);
    for (unsigned i = 0; i < LENGTH(callers); i++) {
        snprintf(text, sizeof(text), "t%u", i);
        ck_assert_int_eq(put(scene, &callers[i], text), TOKEN_LATER);
        if (i < 2) /* the threads are busy with these */
            ck_assert(script_server_await(scene->server, "GET", KEYSTONE_TOKENS "*", i + 2));
    }
    ck_assert_int_eq(put(scene, &one_more, "t9"), TOKEN_REFUSED);
    ck_assert_int_eq(scene->err.kind, ERROR_TRY_LATER);
    ck_assert_int_eq(put(scene, &one_more, "t4"), TOKEN_LATER); /* that question is there */
    ck_assert_int_eq(check(scene, "known", false, &later), ERROR_NONE);
    ck_assert(!later);
    script_server_clear(scene->server);
    script_server_drop_silent(scene->server);
    expect_all(callers, LENGTH(callers), ERROR_TRY_LATER);
    expect_all(&one_more, 1, ERROR_TRY_LATER);
    scene_end(scene);
}
END_TEST

START_TEST(requests_that_share_a_validation_are_bounded) {
    struct scene *scene = scene_with((struct token_checker_settings){
        .cache_ms = 300000, .threads = 1, .queue = 2, .deadline_ms = 60000 });
    static const char *const others[] = { "one", "two" };
    struct caller callers[4], one_more;

    for (unsigned round = 1; round <= 2; round++) { /* their slots are released */
        script_server_add(scene->server, &(struct script_rule){ .method = "GET",
                                                                .path = KEYSTONE_TOKENS "*",
                                                                .manner = SCRIPT_SILENT });
        ck_assert_int_eq(put(scene, &callers[0], "same"), TOKEN_LATER);
        ck_assert(script_server_await(scene->server, "GET", KEYSTONE_TOKENS "*", 2 * round - 1));
        ck_assert_int_eq(put(scene, &callers[1], "same"), TOKEN_LATER);
        ck_assert_int_eq(put(scene, &callers[2], "same"), TOKEN_LATER);
        ck_assert_int_eq(put(scene, &one_more, "same"), TOKEN_REFUSED);
        ck_assert_int_eq(scene->err.kind, ERROR_TRY_LATER);
        ck_assert_int_eq(put(scene, &callers[3], others[round - 1]), TOKEN_LATER);
        ck_assert_int_eq(put(scene, &one_more, others[round - 1]), TOKEN_REFUSED);
        script_server_clear(scene->server);
        script_keystone_answer(scene->server, 404, KEYSTONE_UNKNOWN, 0);
        script_server_drop_silent(scene->server);
        for (size_t i = 0; i < LENGTH(callers); i++) {
            await(&callers[i]);
            ck_assert_ptr_null(callers[i].token);
        }
        script_server_clear(scene->server); /* else the next round would be answered at once */
    }
    scene_end(scene);
}
END_TEST

/* Keystone does not respond; each queries a token of its own. */
static void put_unheard(struct scene *scene, struct caller *callers, size_t count) {
    char text[8];

    script_server_add(scene->server, &(struct script_rule){ .method = "GET",
                                                            .path = KEYSTONE_TOKENS "*",
                                                            .manner = SCRIPT_SILENT });
    for (unsigned i = 0; i < count; i++) {
        snprintf(text, sizeof(text), "t%u", i);
        ck_assert_int_eq(put(scene, &callers[i], text), TOKEN_LATER);
    }
}

START_TEST(a_request_that_waits_too_long_in_the_queue_is_answered) {
    struct scene *scene = scene_with(
        (struct token_checker_settings){ .cache_ms = 300000, .threads = 1, .deadline_ms = 400 });
    struct caller callers[4];

    put_unheard(scene, callers, LENGTH(callers));
    expect_all(callers, LENGTH(callers), ERROR_TRY_LATER);
    scene_end(scene);
}
END_TEST

START_TEST(pending_requests_are_answered_at_shutdown) {
    struct scene *scene = scene_with(
        (struct token_checker_settings){ .cache_ms = 300000, .threads = 1, .deadline_ms = 500 });
    struct caller callers[4];

    put_unheard(scene, callers, LENGTH(callers));
    token_checker_free(scene->checker);
    scene->checker = NULL;
    for (unsigned i = 0; i < LENGTH(callers); i++)
        ck_assert(callers[i].answered);
    expect_all(callers, LENGTH(callers), ERROR_TRY_LATER);
    scene_end(scene);
}
END_TEST

START_TEST(a_shutdown_does_not_wait_for_keystone) {
    struct scene *scene = scene_with(
        (struct token_checker_settings){ .cache_ms = 300000, .threads = 2, .deadline_ms = 60000 });
    struct caller callers[4];
    int64_t begin_us;

    put_unheard(scene, callers, LENGTH(callers));
    ck_assert(script_server_await(scene->server, "GET", KEYSTONE_TOKENS "*", 2));
    begin_us = clock_monotonic_us();
    keystone_set_deadline(scene->keystone, begin_us + 100000);
    expect_all(callers, LENGTH(callers), ERROR_TRY_LATER);
    token_checker_free(scene->checker);
    scene->checker = NULL;
    ck_assert_int_lt(clock_monotonic_us() - begin_us, 40000000);
    scene_end(scene);
}
END_TEST

CHECK_MAIN("token_check", a_valid_token_is_queried_once,
           a_known_token_ignores_changes_of_the_wall_clock,
           an_expired_token_is_invalid_whatever_the_wall_clock,
           without_a_cache_each_token_is_queried, an_invalid_token_is_remembered_briefly,
           a_malformed_token_is_refused_without_a_query,
           an_expired_token_is_valid_only_where_allowed,
           an_unresponsive_keystone_neither_accepts_nor_refuses,
           a_hanging_keystone_neither_accepts_nor_refuses,
           tokens_of_one_address_delay_no_other_address, callers_with_one_token_share_one_query,
           the_queue_is_bounded_and_known_tokens_bypass_it,
           requests_that_share_a_validation_are_bounded,
           a_request_that_waits_too_long_in_the_queue_is_answered,
           pending_requests_are_answered_at_shutdown, a_shutdown_does_not_wait_for_keystone)
