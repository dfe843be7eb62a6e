#include "tests/lib/exchange.h"

#include "http/stream.h"
#include "tests/lib/answers.h"
#include "json/json.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct test_stream {
    struct http_stream stream;
    struct test_exchange *test;
    char *text;
    size_t size;
    bool holds, left, ended;
    unsigned first, last; /* of all pieces; 0: there was none */
};

static atomic_uint pieces_put;

struct test_exchange {
    struct http_exchange exchange;
    struct test_stream pieces;
    const struct http_header *headers;
    pthread_mutex_t lock; /* guards `answered` */
    pthread_cond_t changed;
    bool answered;
};

static const char *find_header(const struct http_exchange *exchange, const char *name) {
    const struct test_exchange *test = exchange->transport;

    for (const struct http_header *header = test->headers; header && header->name; header++)
        if (strcasecmp(header->name, name) == 0)
            return header->value;
    return NULL;
}

static void keep_answer(struct http_exchange *exchange) {
    struct test_exchange *test = exchange->transport;

    if (!test->pieces.test)
        answer_check(exchange);
    pthread_mutex_lock(&test->lock);
    assert(!test->answered);
    test->answered = true;
    pthread_cond_broadcast(&test->changed);
    pthread_mutex_unlock(&test->lock);
}

/* ---- pieces ---- */

static enum http_stream_state put(struct http_stream *stream, const char *bytes, size_t size) {
    struct test_stream *pieces = (struct test_stream *)stream; /* its first member */

    assert(!pieces->ended);
    if (pieces->left)
        return HTTP_STREAM_OVER;
    if (pieces->holds)
        return HTTP_STREAM_FULL;
    if (size > 0) {
        pieces->last = ++pieces_put;
        if (!pieces->first)
            pieces->first = pieces->last;
    }
    pieces->text = realloc(pieces->text, pieces->size + size + 1);
    assert(pieces->text);
    memcpy(pieces->text + pieces->size, bytes, size);
    pieces->size += size;
    pieces->text[pieces->size] = '\0';
    return HTTP_STREAM_TAKEN;
}

static void end(struct http_stream *stream) {
    struct test_stream *pieces = (struct test_stream *)stream;

    assert(!pieces->ended);
    pieces->ended = true;
}

static struct http_stream *open_pieces(struct http_exchange *exchange) {
    struct test_exchange *test = exchange->transport;

    assert(!test->pieces.test);
    test->pieces = (struct test_stream){ .stream = { .put = put, .end = end }, .test = test };
    return &test->pieces.stream;
}

const char *test_exchange_pieces(struct test_exchange *test) {
    if (!test->pieces.test)
        return NULL;
    return test->pieces.text ? test->pieces.text : "";
}

void test_exchange_hold(struct test_exchange *test, bool holds) {
    test->pieces.holds = holds;
    if (!holds)
        test->pieces.first = test->pieces.last = 0;
}

unsigned test_exchange_first_piece(struct test_exchange *test) {
    return test->pieces.first;
}

unsigned test_exchange_last_piece(struct test_exchange *test) {
    return test->pieces.last;
}

void test_exchange_leave(struct test_exchange *test) {
    pthread_mutex_lock(&test->lock);
    test->pieces.left = true;
    pthread_mutex_unlock(&test->lock);
}

static bool client_left(const struct http_exchange *exchange) {
    struct test_exchange *test = exchange->transport;
    bool left;

    pthread_mutex_lock(&test->lock);
    left = test->pieces.left;
    pthread_mutex_unlock(&test->lock);
    return left;
}

bool test_exchange_ended(struct test_exchange *test) {
    return test->pieces.ended;
}

/* ---- exchanges ---- */

struct test_exchange *test_exchange_new(const char *method, const char *path,
                                        const struct http_header *headers, const char *body) {
    struct test_exchange *test = calloc(1, sizeof(*test));

    assert(test);
    test->headers = headers;
    pthread_mutex_init(&test->lock, NULL);
    pthread_cond_init(&test->changed, NULL);
    test->exchange = (struct http_exchange){
        .arena = arena_new(),
        .method = method,
        .path = path,
        .query = "",
        .peer = "test",
        .body = body ? body : "",
        .body_size = body ? strlen(body) : 0,
        .find_header = find_header,
        .send = keep_answer,
        .client_left = client_left,
        .open = open_pieces,
        .transport = test,
    };
    return test;
}

void test_exchange_free(struct test_exchange *test) {
    arena_free(test->exchange.arena);
    free(test->pieces.text);
    pthread_cond_destroy(&test->changed);
    pthread_mutex_destroy(&test->lock);
    free(test);
}

struct http_exchange *test_exchange_of(struct test_exchange *test) {
    return &test->exchange;
}

bool test_exchange_answered(struct test_exchange *test) {
    bool answered;

    pthread_mutex_lock(&test->lock);
    answered = test->answered;
    pthread_mutex_unlock(&test->lock);
    return answered;
}

int test_exchange_await(struct test_exchange *test) {
    pthread_mutex_lock(&test->lock);
    while (!test->answered)
        pthread_cond_wait(&test->changed, &test->lock);
    pthread_mutex_unlock(&test->lock);
    return test->exchange.status;
}

const char *test_exchange_header(struct test_exchange *test, const char *name) {
    for (unsigned i = 0; i < test->exchange.reply_header_count; i++)
        if (strcasecmp(test->exchange.reply_headers[i].name, name) == 0)
            return test->exchange.reply_headers[i].value;
    return NULL;
}

const json_t *test_exchange_json(struct test_exchange *test) {
    return json_parse(test->exchange.arena, test->exchange.reply_body, test->exchange.reply_size,
                      NULL);
}
