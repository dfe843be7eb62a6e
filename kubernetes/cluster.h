/*
 * Client of the API server of Kubernetes: objects by path, lists by page, and watches.
 *
 * A failure has the kind of the response's status, if it is the server's own: a Status with this
 * code.  ERROR_UNAVAILABLE: no complete response, a response of another service, or a temporary
 * failure (408, 425, 429, 500 and above); ERROR_TOO_LARGE: a response above the limit.
 * Thread-safe; calls block for some seconds at most, and end soon when *until_us is over.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "http/client.h"

#include <jansson.h>

struct cluster {
    const char *url;         /* "https://10.96.0.1:443" */
    const char *token_file;  /* read for each call, because it is renewed; NULL: none */
    struct http_peer peer;   /* trust and certificates */
    const int64_t *until_us; /* as in struct http_call */
};

/* A write applies to the version that was read: it is refused (ERROR_CONFLICT) when the object has
 * changed since.  `ret` (may be NULL) is in the arena. */
int cluster_call(const struct cluster *cluster, struct arena *arena, const char *method,
                 const char *path, const json_t *body, const json_t **ret, struct error *err);

#define CLUSTER_VERSION_SIZE 64

/* A resourceVersion, an opaque text. */
struct cluster_version {
    char text[CLUSTER_VERSION_SIZE]; /* empty: none */
};

/* Of the object: its metadata's namespace, name and resourceVersion. */
typedef void cluster_object(void *arg, const json_t *object);

/* All objects; *ret: the version from which a watch continues. */
int cluster_list(const struct cluster *cluster, const char *path, cluster_object *each, void *arg,
                 struct cluster_version *ret, struct error *err);

/*
 * Each change of an object after *version, including deletions, for `lasts_s` at most; *version is
 * advanced.  0: ended normally; 1: *version is too old: list; -1: failed.
 */
int cluster_watch(const struct cluster *cluster, const char *path, int64_t lasts_s,
                  cluster_object *each, void *arg, struct cluster_version *version,
                  struct error *err);
