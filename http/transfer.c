#include "http/transfer.private.h"

#include "common/cleanup.h"
#include "common/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define BUFFER_SIZE ((long)1 << 18)

/* ---- the head ---- */

/* Each line, also of interim responses; the last head counts. */
static size_t receive_header(char *line, size_t one, size_t size, void *arg) {
    static const char range[] = "Content-Range:";
    struct http_transfer *transfer = arg;
    int64_t begin, end, total;
    char text[256];
    long status = 0;

    (void)one;
    if (transfer->is_headed) /* a trailer */
        return size;
    snprintf(text, sizeof(text), "%.*s", (int)(size < sizeof(text) ? size : sizeof(text) - 1),
             line);
    if (strncmp(text, "HTTP/", strlen("HTTP/")) == 0)
        transfer->begin = transfer->total = -1;
    else if (strncasecmp(text, range, strlen(range)) == 0) {
        int count = sscanf(text + strlen(range), " bytes %18" SCNd64 "-%18" SCNd64 "/%18" SCNd64,
                           &begin, &end, &total);

        if (count == 3 && total == end + 1)
            transfer->total = total;
        if (count == 2 || transfer->total >= 0)
            transfer->begin = begin;
    }
    if (strcspn(text, "\r\n") > 0)
        return size;
    curl_easy_getinfo(transfer->handle, CURLINFO_RESPONSE_CODE, &status);
    transfer->status = (int)status;
    transfer->is_headed = status >= 200;
    return size;
}

/* ---- failures ---- */

/* The query of the URL may contain a secret. */
int transfer_fail(const struct http_transfer *transfer, enum error_kind kind, const char *why,
                  struct error *err) {
    const char *url = transfer->call.url;

    return error_set(err, kind, "%s %.*s: %s", transfer->method, (int)strcspn(url, "?"), url, why);
}

static enum error_kind kind_of(int status) {
    static const enum error_kind kinds[] = { ERROR_UNAUTHORIZED, ERROR_FORBIDDEN,
                                             ERROR_NOT_FOUND,    ERROR_GONE,
                                             ERROR_OVER_QUOTA,   ERROR_BAD_MEDIA_TYPE };

    for (size_t i = 0; i < LENGTH(kinds); i++) {
        if (error_http_status(kinds[i]) == status)
            return kinds[i];
    }
    return status >= 500 || status == 408 || status == 429 ? ERROR_UNAVAILABLE : ERROR_BACKEND;
}

int transfer_check_status(const struct http_transfer *transfer, struct error *err) {
    int status = transfer->status;
    char why[64];

    if (!transfer->is_headed)
        return transfer_check_result(transfer, err) < 0
                   ? -1
                   : transfer_fail(transfer, ERROR_UNAVAILABLE, "no response", err);
    if (status >= 200 && status <= 299)
        return 0;
    snprintf(why, sizeof(why), "status %d%s", status,
             status >= 300 && status <= 399 ? ", redirects are not followed" : "");
    return transfer_fail(transfer, kind_of(status), why, err);
}

int transfer_check_result(const struct http_transfer *transfer, struct error *err) {
    if (transfer->result == CURLE_OK)
        return 0;
    return transfer_fail(
        transfer, ERROR_UNAVAILABLE,
        transfer->reason[0] ? transfer->reason : curl_easy_strerror(transfer->result), err);
}

/* ---- waiting ---- */

int transfer_await(struct http_transfer *transfer,
                   bool (*holds)(const struct http_transfer *transfer), struct error *err) {
    int64_t until_us = clock_monotonic_us() + transfer->call.timeout_ms * 1000, left_us, now_us;
    const CURLMsg *message;
    int running, queued;

    if (transfer->is_paused) {
        transfer->is_paused = false;
        curl_easy_pause(transfer->handle, CURLPAUSE_CONT);
    }
    for (;;) {
        if (curl_multi_perform(transfer->multi, &running) != CURLM_OK)
            return transfer_fail(transfer, ERROR_INTERNAL, "libcurl failed", err);
        while ((message = curl_multi_info_read(transfer->multi, &queued))) {
            if (message->msg != CURLMSG_DONE)
                continue;
            transfer->is_over = true;
            transfer->result = message->data.result;
        }
        if (transfer->is_over || holds(transfer))
            return 0;
        now_us = clock_monotonic_us();
        if (transfer->call.may && now_us - transfer->queried_us >= SECOND_US) {
            transfer->queried_us = now_us;
            if (transfer->call.may(transfer->call.arg, err) < 0)
                return -1;
        }
        left_us = until_us - clock_monotonic_us();
        if (left_us <= 0)
            return transfer_fail(transfer, ERROR_UNAVAILABLE, "the peer does not respond in time",
                                 err);
        if (left_us > SECOND_US)
            left_us = SECOND_US;
        curl_multi_poll(transfer->multi, NULL, 0, (int)(left_us / 1000) + 1, NULL);
    }
}

/* ---- begin and end ---- */

int transfer_start(struct http_transfer *transfer, const struct http_transfer_call *call,
                   const char *method, const char *const *lines, struct error *err) {
    CURL *handle;

    *transfer = (struct http_transfer){ .call = *call,
                                        .method = method,
                                        .begin = -1,
                                        .total = -1,
                                        .arena = arena_new(),
                                        .queried_us = clock_monotonic_us() };
    if (handle_is_ready()) {
        transfer->handle = curl_easy_init();
        transfer->multi = curl_multi_init();
    }
    if (!transfer->handle || !transfer->multi)
        return transfer_fail(transfer, ERROR_INTERNAL, "libcurl does not start", err);
    for (; *lines; lines++)
        handle_add_line(&transfer->headers, *lines);
    handle_add_headers(&transfer->headers, transfer->arena, call->headers);
    handle = transfer->handle;
    handle_set_peer(handle, transfer->arena, transfer->call.url, transfer->call.peer);
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS,
                     (long)handle_connect_ms(transfer->call.peer));
    curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, transfer->headers);
    curl_easy_setopt(handle, CURLOPT_BUFFERSIZE, BUFFER_SIZE);
    curl_easy_setopt(handle, CURLOPT_UPLOAD_BUFFERSIZE, BUFFER_SIZE);
    curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, receive_header);
    curl_easy_setopt(handle, CURLOPT_HEADERDATA, transfer);
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, transfer->reason);
    if (curl_multi_add_handle(transfer->multi, transfer->handle) != CURLM_OK)
        return transfer_fail(transfer, ERROR_INTERNAL, "libcurl does not start", err);
    return 0;
}

void transfer_end(struct http_transfer *transfer) {
    if (transfer->multi && transfer->handle)
        curl_multi_remove_handle(transfer->multi, transfer->handle);
    curl_easy_cleanup(transfer->handle);
    curl_multi_cleanup(transfer->multi);
    curl_slist_free_all(transfer->headers);
    arena_free(transfer->arena);
}
