/*
 * Whose an answer is: the service's own, or that of somebody on the way to it (a gateway that knows
 * no such path, a page to log in, another service).
 *
 * Its own refusals have the fault that OpenStack's have, {"itemNotFound": {"code": 404, "message":
 * …}}, under the key that error.def has for their status and with that status as code.  Nothing
 * else says that something is not there, is not allowed or makes no sense.
 */
#pragma once

#include "http/client.h"

enum answer_form {
    ANSWER_FAULT, /* the service's own, about what was asked for */
    ANSWER_PATH,  /* of its front, about the path or the request's size, before it has looked */
    ANSWER_STRANGE,
};

struct answer {
    enum answer_form form;
    enum error_kind kind; /* ERROR_UNAVAILABLE of ANSWER_STRANGE, and of a path that is none */
    const char *message;  /* the fault's, or all of the answer */
};

/* Of one that is no success. */
struct answer answer_read(struct arena *arena, const struct http_answer *answer);

/* What a status is to us, of whomever it is, when it is no success: ERROR_UNAVAILABLE for all from
 * 500 on and for those that ask for another try. */
enum error_kind answer_kind_of(int status);
