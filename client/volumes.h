/*
 * The volume API as the agent calls it, at microversion 3.71.
 *
 * A failure's kind is the one whose HTTP status the API answered (error.def; ERROR_BACKEND for any
 * other); ERROR_UNAVAILABLE also when no whole answer came or it made no sense.  Thread-safe; calls
 * block for at most 10 s, and 10 more for each answer of Keystone that they need.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "http/client.h"

#include <stdbool.h>
#include <stdint.h>

struct own_user;

struct volume_api {
    const char *url;       /* …/v3, no slash at the end; NULL: what the catalog says to `user` */
    const char *token;     /* when there is no `user`; NULL: none */
    struct own_user *user; /* who calls; NULL: nobody in particular */
};

struct remote_attachment {
    const char *instance_uuid, *host; /* each may be NULL */
};

struct remote_volume {
    const char *id, *status;
    int64_t size_gb;
    bool has_target;    /* metadata has the key extend_new_size */
    int64_t target_gb;  /* its value; 0 when it is absent or no plain number of a volume's size */
    const char *extend; /* what the API calls the extend; NULL: it does not say (or in a list) */
    const struct remote_attachment *attachments;
    unsigned attachment_count;
};

/* One call; `body` NULL: none. `request_id` goes along as the global request id, `extend` as the
 * name of the extend that the call is about; NULL: none. */
int volume_api_call(const struct volume_api *api, struct arena *arena, const char *method,
                    const char *path, const char *body, const char *request_id, const char *extend,
                    struct http_answer *ret, struct error *err);

int volume_api_read(const struct volume_api *api, struct arena *arena, const char *volume_id,
                    const char *request_id, struct remote_volume *ret, struct error *err);

/*
 * One page of the volumes of all projects that are extending, behind `marker` (NULL: the first).
 * Returns how many; 0 is the end.
 */
int volume_api_extending(const struct volume_api *api, struct arena *arena, const char *marker,
                         struct remote_volume **ret, struct error *err);

/* Heartbeat: this host's agent is alive and takes events at `endpoint`. */
int volume_api_report(const struct volume_api *api, struct arena *arena, const char *host,
                      const char *endpoint, struct error *err);
