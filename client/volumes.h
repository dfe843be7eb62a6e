/*
 * Volumes in the volume API, and the reports of a hypervisor host's agent.  Failures as in
 * client.h; a malformed volume counts as no response.
 */
#pragma once

#include "client/client.h"

struct remote_attachment {
    const char *instance_uuid, *host; /* each may be NULL */
    const char *id, *device;          /* these, too */
};

struct remote_volume {
    const char *id, *status;
    const char *name, *type, *availability_zone; /* each may be NULL */
    const char *snapshot_id, *source_volid, *group_id;
    const char *project_id; /* NULL: hidden from the caller */
    const char *host;       /* its pool; NULL: none, or hidden from the caller */
    const char *created_at; /* in the API's form; NULL: unknown */
    const json_t *metadata;
    int64_t size_gb;
    bool multiattach;
    bool has_target;    /* metadata has the key extend_new_size */
    int64_t target_gb;  /* its value; 0 when it is absent or not a volume size */
    const char *extend; /* the API's id of the extend; NULL: none (or in a list) */
    const struct remote_attachment *attachments;
    unsigned attachment_count;
};

/* Is it attached to another host than this one (too)? */
bool volumes_is_elsewhere(const struct remote_volume *volume, const char *host);

/* The client for these functions, at microversion 3.71; calls have 10 s. */
struct client volumes_client(const char *url, const char *token, struct own_user *user);

int volumes_read(const struct client *api, struct arena *arena, const char *volume_id,
                 const char *request_id, struct remote_volume *ret, struct error *err);

/* One page of those that match the query (NULL: all), after `marker` (NULL: the first), at most
 * `limit` (0: the API's). Returns their number. */
int volumes_list(const struct client *api, struct arena *arena, const char *query,
                 const char *marker, unsigned limit, struct remote_volume **ret, struct error *err);

/* A new volume; NULL and 0 are omitted. */
struct remote_volume_new {
    const char *name, *type, *availability_zone, *snapshot_id, *source_volid;
    int64_t size_gb;
    const struct remote_pair *metadata;
    const char *unique; /* metadata key that must have a unique value */
    const char *query;  /* scheduler hint: an expression, in JSON, that the pool must satisfy */
};

int volumes_create(const struct client *api, struct arena *arena,
                   const struct remote_volume_new *wanted, struct remote_volume *ret,
                   struct error *err);
/* Both as the retry of a request that may have failed (common/scoria_headers.h).  `unreported`: a
 * key that the volume's metadata must still have, ERROR_CONFLICT; NULL: none. */
int volumes_delete(const struct client *api, struct arena *arena, const char *volume_id,
                   const char *unreported, struct error *err);
int volumes_extend(const struct client *api, struct arena *arena, const char *volume_id,
                   int64_t new_gb, struct error *err);
/* To another type, name or id, without migration. */
int volumes_retype(const struct client *api, struct arena *arena, const char *volume_id,
                   const char *type, struct error *err);
/* Adds these to its metadata, all or none of them. */
int volumes_set_metadata(const struct client *api, struct arena *arena, const char *volume_id,
                         const struct remote_pair *pairs, struct error *err);

/* Result of the last space reclamation (os-reclaim_space). */
struct remote_reclaim {
    const char *status;            /* none, running, done, error */
    const char *reason, *message;  /* of an error: busy, unsupported, cancelled, failed; or NULL */
    int64_t pre_usage, post_usage; /* bytes; -1: not counted */
};

int volumes_reclaim(const struct client *api, struct arena *arena, const char *volume_id,
                    struct error *err);
int volumes_read_reclaim(const struct client *api, struct arena *arena, const char *volume_id,
                         struct remote_reclaim *ret, struct error *err);

/*
 * One page of the extending volumes of all projects, after `marker` (NULL: the first). Returns
 * their number; 0 is the end.
 */
int volumes_extending(const struct client *api, struct arena *arena, const char *marker,
                      struct remote_volume **ret, struct error *err);

/* Heartbeat: this host's agent accepts events at `endpoint`. */
int volumes_report(const struct client *api, struct arena *arena, const char *host,
                   const char *endpoint, struct error *err);

enum complete_outcome {
    /* the API does not permit it (401, 403, 406): retry slowly; see err */
    COMPLETE_REFUSED = -2,
    COMPLETE_FAILED = -1,  /* no response, or a temporary failure: retry; see err */
    COMPLETE_TAKEN = 0,    /* 202 */
    COMPLETE_UNWANTED = 1, /* 400 or 404: not pending any more, or of another extend */
};

/* Reports the end of an extend on the hypervisor (os-extend_volume_completion). `extend` is the
 * API's id of it; NULL: none. */
enum complete_outcome volumes_complete(const struct client *api, struct arena *arena,
                                       const char *volume_id, const char *request_id,
                                       const char *extend, bool failed, struct error *err);

/* Reports the progress of a snapshot created or deleted on the hypervisor
 * (os-update_snapshot_status). COMPLETE_UNWANTED: it is not being created or deleted any more. */
enum complete_outcome volumes_report_snapshot(const struct client *api, struct arena *arena,
                                              const char *snapshot_id, const char *request_id,
                                              const char *status, unsigned percent,
                                              struct error *err);

/* Progress of trimming by a guest; NULL: omitted. */
struct reclaim_said {
    const char *status;           /* running, done, error */
    unsigned progress;            /* percent, while running */
    const char *reason, *message; /* of an error */
};
/* Reports it (os-update_reclaim_space), with the id of the request. */
enum complete_outcome volumes_report_reclaim(const struct client *api, struct arena *arena,
                                             const char *volume_id, const char *id,
                                             const char *request_id,
                                             const struct reclaim_said *said, struct error *err);
