/*
 * Classification of responses: is it the service's own, or that of an intermediary (a gateway
 * without this path, a login page, another service)?
 *
 * The service's refusals have OpenStack's fault, {"itemNotFound": {"code": 404, "message": …}},
 * with the key of their status in error.def and that status as code.  Only these are accepted as
 * not found, forbidden or invalid.
 */
#pragma once

#include "http/client.h"

enum answer_form {
    ANSWER_FAULT, /* the service's own, about the request */
    ANSWER_PATH,  /* of its front end, about the path or the request's size, before processing */
    ANSWER_STRANGE,
};

struct answer {
    enum answer_form form;
    enum error_kind kind; /* ERROR_UNAVAILABLE for ANSWER_STRANGE, and for an unrouted path */
    const char *message;  /* the fault's, or the whole response */
};

/* Classifies a failure. */
struct answer answer_read(struct arena *arena, const struct http_answer *answer);

/* The kind of error for a failure status, of any sender: ERROR_UNAVAILABLE for 500 and above, and
 * for temporary failures. */
enum error_kind answer_kind_of(int status);
