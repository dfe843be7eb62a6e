/*
 * The API server of Kubernetes, as we call it: objects by their paths, lists page by page, and what
 * happens to them as it happens.
 *
 * A failure's kind is the one of the answer's status, when it is the server's own: a Status of this
 * code.  ERROR_UNAVAILABLE: no whole answer came, it is somebody else's, or it asks for another try
 * (408, 425, 429, all from 500 on); ERROR_TOO_LARGE when it has more than is read of any.
 * Thread-safe; calls block for some seconds at most, and end soon when *until_us is over.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "http/client.h"

#include <jansson.h>

struct cluster {
    const char *url;         /* "https://10.96.0.1:443" */
    const char *token_file;  /* read for each call: it is written anew now and then; NULL: none */
    struct http_peer peer;   /* how it is trusted */
    const int64_t *until_us; /* as of struct http_call */
};

/* Of an object as it was read: what it writes is refused (ERROR_CONFLICT) when the object has
 * changed since.  `ret` (may be NULL) is the arena's. */
int cluster_call(const struct cluster *cluster, struct arena *arena, const char *method,
                 const char *path, const json_t *body, const json_t **ret, struct error *err);

#define CLUSTER_VERSION_SIZE 64

/* What the server's numbers of changes are to us: a text. */
struct cluster_version {
    char text[CLUSTER_VERSION_SIZE]; /* empty: none */
};

/* Of the object: its metadata's namespace, name and resourceVersion. */
typedef void cluster_object(void *arg, const json_t *object);

/* Every object that is there; *ret: the version from which a watch goes on. */
int cluster_list(const struct cluster *cluster, const char *path, cluster_object *each, void *arg,
                 struct cluster_version *ret, struct error *err);

/*
 * Every object that has changed behind *version, also one that has gone, for `lasts_s` at most;
 * *version follows.
 * 0: it has ended in good order; 1: *version is too old: list; -1: failed.
 */
int cluster_watch(const struct cluster *cluster, const char *path, int64_t lasts_s,
                  cluster_object *each, void *arg, struct cluster_version *version,
                  struct error *err);
