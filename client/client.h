/*
 * REST client of OpenStack services: endpoint, credentials, microversion, and the meaning of
 * responses.
 *
 * A call has the token of the service's own user (own_user.h), renewed once when the peer refuses
 * it.  It is retried `repeats` times at most, within its timeout and respecting the peer's
 * Retry-After: a request that certainly did not arrive, and an idempotent one (all but POST and
 * PATCH) also without a response, or after 408, 425, 429, 502, 503 or 504.
 *
 * A failure has the kind for the HTTP status of the peer's own fault (answer.h; ERROR_BACKEND for
 * one unknown to error.def), and the fault's message.  ERROR_UNAVAILABLE: no complete response, a
 * temporary failure (408, 425, 429, 500 and above), or a response of an intermediary: then the
 * message has its origin and text.  Thread-safe; calls block for at most `timeout_ms`, and as long
 * again for each response of Keystone that they need.
 */
#pragma once

#include "http/client.h"
#include "json/json.h"

struct own_user;

struct client {
    const char *name;         /* in messages: "the volume API" */
    const char *service;      /* in OpenStack-API-Version: "volume" */
    const char *version;      /* of the same header; NULL: no header */
    const char *const *types; /* in the catalog, ended with NULL */
    const char *url;          /* of its root; NULL: from the catalog of `user` */
    const char *token;        /* when there is no `user`; NULL: none */
    struct own_user *user;    /* of the calls; NULL: none */
    int64_t timeout_ms;
    unsigned repeats;
    const char *instance;    /* of a storage agent, in INSTANCE_HEADER; NULL: another client */
    const char *request_id;  /* of calls without one; NULL: none */
    const int64_t *until_us; /* deadline of each call, as in struct http_call; NULL: none */
};

struct client_call {
    const char *method, *path; /* below the root */
    const char *id;            /* of an object, appended to the path; NULL: none.  ERROR_NOT_FOUND
                                * when it is not a UUID: it could be the name of another route */
    const char *behind;        /* appended to the id; NULL: nothing */
    const char *body;          /* JSON; NULL: none */
    const char *request_id;    /* sent as the global request id; NULL: none */
    const char *token;         /* of another user than the client's; NULL: the client's */
    struct http_header header; /* an additional one; without a name: none */
    const char *former;        /* name of the same header for older peers; NULL: none */
    const char *wanted_header; /* of the response; NULL: none */
    const struct http_lines *lines; /* of a streamed response; NULL: it is read whole */
    size_t answer_most;             /* bytes of it; 0: as in struct http_call */
    int done[2];                    /* success statuses of responses without a body; 0: any 2xx */
    bool may_lack; /* a peer without this path has no such objects: ERROR_NOT_FOUND */
};

/* Metadata of a new object; a list ends with a NULL key. */
struct remote_pair {
    const char *key, *value;
};
struct json_out;
/* "metadata": {…}; `pairs` may be NULL. */
void client_put_metadata(struct json_out *out, const struct remote_pair *pairs);

/* The root URL: configured, or from the catalog. */
int client_find(const struct client *client, struct arena *arena, const char **ret,
                struct error *err);

/* May a request of this method arrive twice? */
bool client_is_repeatable(const char *method);

/* Any response: results as of http_call(). */
int client_send(const struct client *client, struct arena *arena, const struct client_call *call,
                struct http_answer *ret, struct error *err);

/* 0 on success: a 2xx, or one of `done`, with JSON or without a body. */
int client_call(const struct client *client, struct arena *arena, const struct client_call *call,
                struct http_answer *ret, struct error *err);

/* client_call(), and the parsed body; NULL: see err. */
const json_t *client_ask(const struct client *client, struct arena *arena,
                         const struct client_call *call, struct http_answer *ret,
                         struct error *err);

/* client_ask(), and the member of this name, which the response must have. */
const json_t *client_ask_for(const struct client *client, struct arena *arena,
                             const struct client_call *call, const char *name, struct error *err);

/* The same member of a response of client_ask(): it must exist, and for a request of one object
 * (`id`, followed by nothing but a query) its id must be the requested one. */
const json_t *client_member(const struct client *client, struct arena *arena,
                            const struct client_call *call, const json_t *root, const char *name,
                            struct error *err);

/* client_member() and client_ask_for() of a list: an array. */
const json_t *client_list_member(const struct client *client, struct arena *arena,
                                 const struct client_call *call, const json_t *root,
                                 const char *name, struct error *err);
const json_t *client_ask_list(const struct client *client, struct arena *arena,
                              const struct client_call *call, const char *name, struct error *err);

/* Reads an object of the API into a row. */
typedef int client_row(struct arena *arena, const json_t *object, void *ret, struct error *err);

/* GET of the path, and a row for each member of the list of this name: their number, or -1. The
 * rows are in the arena. */
int client_list(const struct client *client, struct arena *arena, const char *path,
                const char *name, client_row *read, size_t row_size, void **ret, struct error *err);

/* "<path>?<query>&limit=…&marker=…"; `query` and `marker` may be NULL, limit 0 is the peer's. */
const char *client_page(struct arena *arena, const char *path, const char *query,
                        const char *marker, unsigned limit);

/* Is it an error of configuration, which needs an operator?  Then retries may be slow. */
bool client_is_refusal(enum error_kind kind);
