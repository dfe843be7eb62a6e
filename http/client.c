#include "http/client.h"

#include "common/backoff.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "http/handle.private.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define DEFAULT_TIMEOUT_MS 30000
#define ANSWER_MOST        ((size_t)16 * 1024 * 1024)
#define ANSWER_FIRST       ((size_t)4096)
#define PAUSE_FIRST_MS     100 /* pause before the first retry */

/* libcurl's handle keeps the connections of its thread; both end with the thread. */
static pthread_key_t handle_key;
static bool ready;

static void make_ready(void) {
    ready = handle_is_ready() && pthread_key_create(&handle_key, curl_easy_cleanup) == 0;
}

static CURL *thread_handle(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    CURL *handle;

    pthread_once(&once, make_ready);
    if (!ready)
        return NULL;
    handle = pthread_getspecific(handle_key);
    if (!handle) {
        handle = curl_easy_init();
        if (handle)
            pthread_setspecific(handle_key, handle);
    }
    return handle;
}

struct receipt {
    struct arena *arena;
    char *text;
    size_t size, room, most;
    bool overflow, enough;
    const struct http_lines *lines;
    CURL *handle;
    const char *wanted; /* name of a header */
    const char *header; /* its value */
};

/* libcurl passes each line with its end; lines of a 1xx response precede, the last value counts. */
static size_t receive_header(char *line, size_t one, size_t size, void *arg) {
    struct receipt *receipt = arg;
    size_t name = strlen(receipt->wanted), start = name + 1, end = size;

    (void)one;
    if (size <= name || line[name] != ':' || strncasecmp(line, receipt->wanted, name) != 0)
        return size;
    while (start < end && (line[start] == ' ' || line[start] == '\t'))
        start++;
    while (end > start && strchr(" \t\r\n", line[end - 1]))
        end--;
    receipt->header = arena_text_n(receipt->arena, line + start, end - start);
    return size;
}

/* Passes on whole lines and keeps the rest. */
static bool give_lines(struct receipt *receipt) {
    char *line = receipt->text, *rest = line + receipt->size, *end;

    while (!receipt->enough && (end = memchr(line, '\n', (size_t)(rest - line)))) {
        *end = '\0';
        receipt->enough = !receipt->lines->each(receipt->lines->arg, line, (size_t)(end - line));
        line = end + 1;
    }
    receipt->size = (size_t)(rest - line);
    memmove(receipt->text, line, receipt->size + 1);
    receipt->overflow = receipt->size > receipt->lines->most;
    return !receipt->enough && !receipt->overflow;
}

/* Reserves a byte for the terminating NUL. */
static size_t receive(char *bytes, size_t one, size_t size, void *arg) {
    struct receipt *receipt = arg;
    long status = 0;

    (void)one;
    if (size > receipt->most - receipt->size) {
        receipt->overflow = true;
        return 0;
    }
    if (receipt->size + size + 1 > receipt->room) {
        char *text;

        while (receipt->size + size + 1 > receipt->room)
            receipt->room *= 2;
        text = arena_alloc(receipt->arena, receipt->room);
        memcpy(text, receipt->text, receipt->size);
        receipt->text = text;
    }
    memcpy(receipt->text + receipt->size, bytes, size);
    receipt->size += size;
    receipt->text[receipt->size] = '\0';
    if (receipt->lines)
        curl_easy_getinfo(receipt->handle, CURLINFO_RESPONSE_CODE, &status);
    return status >= 200 && status <= 299 && !give_lines(receipt) ? 0 : size;
}

static void cleanup_slist(struct curl_slist *const *list) {
    curl_slist_free_all(*list);
}

static bool has_header(const struct http_call *call, const char *name) {
    for (const struct http_header *header = call->headers; header && header->name; header++)
        if (strcasecmp(header->name, name) == 0)
            return true;
    return false;
}

/* "Expect" would cost a round trip for bodies that are always small. */
static struct curl_slist *make_headers(struct arena *arena, const struct http_call *call) {
    struct curl_slist *list = NULL;

    handle_add_line(&list, "Expect:");
    if (!has_header(call, "Accept"))
        handle_add_line(&list, "Accept: application/json");
    if (call->body && !has_header(call, "Content-Type"))
        handle_add_line(&list, "Content-Type: application/json");
    handle_add_headers(&list, arena, call->headers);
    return list;
}

/* libcurl calls this about once a second. */
static int look_at_end(void *arg, curl_off_t down_all, curl_off_t down, curl_off_t up_all,
                       curl_off_t up) {
    const int64_t *until_us = arg;
    int64_t end_us = __atomic_load_n(until_us, __ATOMIC_RELAXED);

    (void)down_all, (void)down, (void)up_all, (void)up;
    return end_us != 0 && clock_monotonic_us() >= end_us;
}

static void set_options(CURL *handle, const struct http_call *call, int64_t timeout_ms,
                        struct curl_slist *headers, struct receipt *receipt,
                        char reason[CURL_ERROR_SIZE]) {
    int64_t connect_ms = handle_connect_ms(call->peer);

    handle_set_peer(handle, receipt->arena, call->url, call->peer);
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS,
                     (long)(timeout_ms < connect_ms ? timeout_ms : connect_ms));
    if (call->until_us) {
        curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
        curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, look_at_end);
        curl_easy_setopt(handle, CURLOPT_XFERINFODATA, call->until_us);
    }
    if (call->lines) {
        curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, (long)(call->lines->quiet_ms / 1000));
    }
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, receipt);
    if (receipt->wanted) {
        curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, receive_header);
        curl_easy_setopt(handle, CURLOPT_HEADERDATA, receipt);
    }
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, reason);
    if (call->body) {
        curl_easy_setopt(handle, CURLOPT_POSTFIELDS, call->body);
        curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(call->body));
    }
    if (strcmp(call->method, "HEAD") == 0)
        curl_easy_setopt(handle, CURLOPT_NOBODY, 1L);
    else
        curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, call->method);
}

/* Was anything of the request sent?  libcurl counts its bytes from the connection on. */
static int judge_failure(CURL *handle, const struct http_call *call, const char *reason,
                         const struct receipt *receipt, struct error *err) {
    long sent = 0;

    if (receipt->overflow) {
        error_set(err, ERROR_UNAVAILABLE, "%s %s: %s is larger than %zu bytes", call->method,
                  call->url, call->lines ? "a line of the answer" : "the answer",
                  call->lines ? call->lines->most : receipt->most);
        return HTTP_TOO_LARGE;
    }
    error_set(err, ERROR_UNAVAILABLE, "%s %s: %s", call->method, call->url, reason);
    curl_easy_getinfo(handle, CURLINFO_REQUEST_SIZE, &sent);
    return sent > 0 ? HTTP_NO_ANSWER : HTTP_NOT_SENT;
}

static void read_answer(CURL *handle, const struct http_call *call, const struct receipt *receipt,
                        struct http_answer *ret) {
    curl_off_t retry_after_s = 0;
    long status = 0;

    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(handle, CURLINFO_RETRY_AFTER, &retry_after_s);
    *ret = (struct http_answer){ .url = call->url,
                                 .status = (int)status,
                                 .body = receipt->text,
                                 .body_size = receipt->size,
                                 .header = receipt->header,
                                 .retry_after_s = retry_after_s };
}

/* The handle outlives the call and closes connections later: it keeps no pointer to the call. */
static int call_once(struct arena *arena, const struct http_call *call, int64_t timeout_ms,
                     struct http_answer *ret, struct error *err) {
    CURL *handle = thread_handle();
    __attribute__((cleanup(cleanup_slist))) struct curl_slist *headers = make_headers(arena, call);
    struct receipt receipt = { .arena = arena,
                               .room = ANSWER_FIRST,
                               .most = call->answer_most ? call->answer_most : ANSWER_MOST,
                               .lines = call->lines,
                               .handle = handle,
                               .wanted = call->wanted_header };
    char reason[CURL_ERROR_SIZE] = "";
    int outcome = 0;
    CURLcode code;

    if (!handle) {
        error_set(err, ERROR_INTERNAL, "%s %s: libcurl does not start", call->method, call->url);
        return HTTP_NOT_SENT;
    }
    receipt.text = arena_alloc(arena, receipt.room);
    set_options(handle, call, timeout_ms, headers, &receipt, reason);
    code = curl_easy_perform(handle);
    if (code != CURLE_OK && !receipt.enough)
        outcome = judge_failure(handle, call, reason[0] ? reason : curl_easy_strerror(code),
                                &receipt, err);
    else
        read_answer(handle, call, &receipt, ret);
    curl_easy_reset(handle); /* keeps its connections */
    return outcome;
}

/* ---- retries ---- */

static bool is_busy(int status) {
    return status == 408 || status == 425 || status == 429 || status == 502 || status == 503 ||
           status == 504;
}

static int64_t until_end_ms(const struct http_call *call, int64_t end_us) {
    int64_t until_us = call->until_us ? __atomic_load_n(call->until_us, __ATOMIC_RELAXED) : 0;

    return ((until_us != 0 && until_us < end_us ? until_us : end_us) - clock_monotonic_us()) / 1000;
}

/* Waits before the next attempt; false when the deadline does not allow it. */
static bool pause_before(const struct http_call *call, unsigned tries, int64_t wanted_s,
                         int64_t end_us) {
    static const struct backoff_limits pauses = { .first_us = PAUSE_FIRST_MS * 1000,
                                                  .most_us = 3600 * SECOND_US };
    int64_t pause_ms = backoff_pause_us(&pauses, tries + 1) / 1000, step_ms;

    if (wanted_s >= until_end_ms(call, end_us) / 1000)
        return false;
    if (wanted_s * 1000 > pause_ms)
        pause_ms = wanted_s * 1000;
    for (; pause_ms > 0; pause_ms -= step_ms) {
        struct timespec pause;

        if (pause_ms >= until_end_ms(call, end_us))
            return false;
        step_ms = pause_ms < PAUSE_FIRST_MS ? pause_ms : PAUSE_FIRST_MS;
        pause = clock_timespec(step_ms * 1000);
        nanosleep(&pause, NULL);
    }
    return true;
}

int http_call(struct arena *arena, const struct http_call *call, struct http_answer *ret,
              struct error *err) {
    int64_t timeout_ms = call->timeout_ms > 0 ? call->timeout_ms : DEFAULT_TIMEOUT_MS;
    int64_t end_us = clock_monotonic_us() + timeout_ms * 1000;
    bool arrived = false; /* may have arrived */

    for (unsigned tries = 0;; tries++) {
        int outcome = call_once(arena, call, timeout_ms, ret, err);
        bool worth = outcome == HTTP_NOT_SENT ||
                     (call->safe && (outcome == HTTP_NO_ANSWER || is_busy(ret->status)));

        arrived |= outcome != HTTP_NOT_SENT;
        if (outcome == HTTP_NOT_SENT && arrived)
            outcome = HTTP_NO_ANSWER;
        if (!worth || tries >= call->repeats ||
            !pause_before(call, tries, outcome == 0 ? ret->retry_after_s : 0, end_us))
            return outcome;
        timeout_ms = until_end_ms(call, end_us);
        if (timeout_ms <= 0)
            return outcome;
    }
}
