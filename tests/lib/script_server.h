/*
 * An HTTP server for tests that answers by a script, also badly: half a response, none, later. It
 * works on plain sockets, so that a test controls each byte that arrives and leaves. One
 * connection, one request.
 */
#pragma once

#include <stdbool.h>

struct script_server;

enum script_manner {
    SCRIPT_WHOLE,
    SCRIPT_HALF,   /* the body ends early and the connection closes */
    SCRIPT_CLOSE,  /* the request is read, the connection closes */
    SCRIPT_SILENT, /* the request is read, nothing comes until the server stops */
};

struct script_request {
    char *method, *path; /* with the query */
    char *head;          /* the header lines */
    char *body;
};

struct script_rule {
    const char *method; /* NULL: any */
    const char *path;   /* with the query; NULL: any. One '*' at its end stands for anything */
    int status;
    const char *body;   /* NULL: none, or of a 4xx the volume API's own fault */
    const char *header; /* one more, "Name: value"; NULL: none */
    enum script_manner manner;
    unsigned times;            /* 0: for ever */
    void (*before)(void *arg); /* called by the server's thread before it answers; NULL: none */
    /* Called by it for the response: the status, 0 to close the connection instead, and the body,
     * which is sent before the next call of this server; NULL: none. */
    int (*serve)(void *arg, const struct script_request *request, const char **ret_body);
    void *arg;
};

/* On a free port of the loopback. */
struct script_server *script_server_new(void);
void script_server_free(struct script_server *server);
const char *script_server_url(const struct script_server *server); /* http://127.0.0.1:<port> */

/* Rules are looked at in order, the first that fits and has times left answers; none: 500. */
void script_server_add(struct script_server *server, const struct script_rule *rule);

/* Forgets all rules. */
void script_server_clear(struct script_server *server);

/* Closes the connections that got no response. */
void script_server_drop_silent(struct script_server *server);

/* Takes no connections for a while (they are refused), and again. */
void script_server_pause(struct script_server *server);
void script_server_resume(struct script_server *server);

/* Requests so far whose method (NULL: any) and path fit; path as in a rule. */
unsigned script_server_count(struct script_server *server, const char *method, const char *path);
/* Waits until there were so many, up to 120 s; false when they did not come. */
bool script_server_await(struct script_server *server, const char *method, const char *path,
                         unsigned count);
/* The `index`-th request that fits; NULL when there is none. Lives as long as the server. */
const struct script_request *script_server_request(struct script_server *server, const char *method,
                                                   const char *path, unsigned index);
/* Does the head have this line ("Name: value", name case-blind)? */
bool script_request_has(const struct script_request *request, const char *name, const char *value);
