/*
 * The REST API of a peer, ours or another of OpenStack's, as we call it: where it is, who calls, at
 * which microversion, and what its answers mean.
 *
 * A call carries the token of our own user (own_user.h), which is new once when the peer refuses
 * it.  It is sent again `repeats` times at most, within its timeout and not before the peer's
 * Retry-After: what certainly never arrived, and of what may come twice (everything but POST and
 * PATCH) also what had no answer, or 408, 425, 429, 502, 503 or 504.
 *
 * A failure's kind is the one whose HTTP status the peer's own fault has (answer.h; ERROR_BACKEND
 * for one that error.def does not have), its message the fault's.  ERROR_UNAVAILABLE: no whole
 * answer came, it asks for another try (408, 425, 429, all from 500 on), or it is not the peer's:
 * then the message says what answered where.  Thread-safe; calls block for at most `timeout_ms`,
 * and as long again for each answer of Keystone that they need.
 */
#pragma once

#include "http/client.h"
#include "json/json.h"

struct own_user;

struct client {
    const char *name;         /* in messages: "the volume API" */
    const char *service;      /* in OpenStack-API-Version: "volume" */
    const char *version;      /* there, too; NULL: without the header */
    const char *const *types; /* in the catalog, ended with NULL */
    const char *url;          /* of its root; NULL: what the catalog says to `user` */
    const char *token;        /* when there is no `user`; NULL: none */
    struct own_user *user;    /* who calls; NULL: nobody in particular */
    int64_t timeout_ms;
    unsigned repeats;
    const char *instance;    /* of a storage agent, in INSTANCE_HEADER; NULL: it is none */
    const char *request_id;  /* of calls that have none of their own; NULL: none */
    const int64_t *until_us; /* ends each call, as that of struct http_call; NULL: nothing does */
};

struct client_call {
    const char *method, *path; /* below the root */
    const char *id;            /* of one of what is there, behind that; NULL: none.  ERROR_NOT_FOUND
                                * when it is no UUID: it could be the name of another route */
    const char *behind;        /* that; NULL: nothing */
    const char *body;          /* JSON; NULL: none */
    const char *request_id;    /* goes along as the global one; NULL: none */
    struct http_header header; /* one more; without a name: none */
    const char *wanted_header; /* of the answer; NULL: none */
    const struct http_lines *lines; /* of an answer that lasts; NULL: it is kept whole */
    int done[2];   /* statuses that say so, when there is nothing to read; 0: any 2xx */
    bool may_lack; /* a peer that has no such path has nothing there: ERROR_NOT_FOUND */
};

/* Metadata of what is made; a list ends with a NULL key. */
struct remote_pair {
    const char *key, *value;
};
struct json_out;
/* "metadata": {…}; `pairs` may be NULL. */
void client_put_metadata(struct json_out *out, const struct remote_pair *pairs);

/* The root's URL: its own, or the catalog's. */
int client_find(const struct client *client, struct arena *arena, const char **ret,
                struct error *err);

/* Any answer: outcomes as of http_call(). */
int client_send(const struct client *client, struct arena *arena, const struct client_call *call,
                struct http_answer *ret, struct error *err);

/* 0 when the answer says that it is done: a 2xx, of `done`, with JSON or nothing. */
int client_call(const struct client *client, struct arena *arena, const struct client_call *call,
                struct http_answer *ret, struct error *err);

/* client_call(), and what the body says; NULL: err says why. */
const json_t *client_ask(const struct client *client, struct arena *arena,
                         const struct client_call *call, struct http_answer *ret,
                         struct error *err);

/* client_ask(), and the member of this name in the answer's object, which it must have. */
const json_t *client_ask_for(const struct client *client, struct arena *arena,
                             const struct client_call *call, const char *name, struct error *err);

/* The same member of what client_ask() has given: it must have it, and of one of what is there
 * (`id`, and nothing but a query behind it) its id is that. */
const json_t *client_member(const struct client *client, struct arena *arena,
                            const struct client_call *call, const json_t *root, const char *name,
                            struct error *err);

/* client_ask_for() of a list: an array. */
const json_t *client_ask_list(const struct client *client, struct arena *arena,
                              const struct client_call *call, const char *name, struct error *err);

/* Reads what the API says of one thing, into a row. */
typedef int client_row(struct arena *arena, const json_t *object, void *ret, struct error *err);

/* GET of the path, and a row for each member of the list of this name in the answer: how many, or
 * -1.  The rows are in the arena. */
int client_list(const struct client *client, struct arena *arena, const char *path,
                const char *name, client_row *read, size_t row_size, void **ret, struct error *err);

/* "<path>?<query>&limit=…&marker=…"; `query` and `marker` may be NULL, limit 0 is the peer's. */
const char *client_page(struct arena *arena, const char *path, const char *query,
                        const char *marker, unsigned limit);

/* Is it a fault of configuration, which only an operator can end?  Then a repetition may be
 * slow. */
bool client_is_refusal(enum error_kind kind);
