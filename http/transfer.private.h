/*
 * The common part of downloads and uploads: libcurl's handles, the wait with its limits, and the
 * head of the response.
 */
#pragma once

#include "http/handle.private.h"
#include "http/transfer.h"

/* The first member of a download or an upload. */
struct http_transfer {
    struct http_transfer_call call;
    const char *method;
    CURL *handle;
    /* The head of the response: */
    int status; /* of an interim response, too */
    bool is_headed;
    int64_t begin, total; /* of its range; -1: unknown, or none */
    /* A function of libcurl's has returned a pause, and it is to be called again. */
    bool is_paused;
    bool is_over; /* with this result: */
    CURLcode result;
    /* Internal: */
    CURLM *multi;
    struct arena *arena;
    struct curl_slist *headers;
    int64_t queried_us; /* call.may */
    char reason[CURL_ERROR_SIZE];
};

/* `lines` are further headers, ended with NULL.  transfer_end() is called also after a failure. */
int transfer_start(struct http_transfer *transfer, const struct http_transfer_call *call,
                   const char *method, const char *const *lines, struct error *err);
void transfer_end(struct http_transfer *transfer);

/* Runs the transfer until the condition holds, or until it is over (0). */
int transfer_await(struct http_transfer *transfer,
                   bool (*holds)(const struct http_transfer *transfer), struct error *err);

/* Always -1. */
int transfer_fail(const struct http_transfer *transfer, enum error_kind kind, const char *why,
                  struct error *err);
/* Has the response arrived, and is its status 2xx? */
int transfer_check_status(const struct http_transfer *transfer, struct error *err);
/* Is it over as HTTP requires? */
int transfer_check_result(const struct http_transfer *transfer, struct error *err);
