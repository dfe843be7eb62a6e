/*
 * The volume API as we call it: volumes, and what the agent of a hypervisor host tells.  Failures
 * are client.h's; a volume that is not as the API describes one counts as no answer.
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
    const char *project_id; /* NULL: the caller may not know */
    const char *host;       /* its pool; NULL: it is in none, or the caller may not know */
    const char *created_at; /* as the API writes it; NULL: it does not say */
    const json_t *metadata;
    int64_t size_gb;
    bool multiattach;
    bool has_target;    /* metadata has the key extend_new_size */
    int64_t target_gb;  /* its value; 0 when it is absent or no plain number of a volume's size */
    const char *extend; /* what the API calls the extend; NULL: it does not say (or in a list) */
    const struct remote_attachment *attachments;
    unsigned attachment_count;
};

/* Is it attached on another host than this one (too)? */
bool volumes_is_elsewhere(const struct remote_volume *volume, const char *host);

/* What struct client says of them, at microversion 3.71; calls have 10 s. */
struct client volumes_client(const char *url, const char *token, struct own_user *user);

int volumes_read(const struct client *api, struct arena *arena, const char *volume_id,
                 const char *request_id, struct remote_volume *ret, struct error *err);

/* One page of those that the query (NULL: none) filters, behind `marker` (NULL: the first), at most
 * `limit` (0: as many as the API gives).  Returns how many. */
int volumes_list(const struct client *api, struct arena *arena, const char *query,
                 const char *marker, unsigned limit, struct remote_volume **ret, struct error *err);

/* What is asked for; NULL and 0 are not said. */
struct remote_volume_new {
    const char *name, *type, *availability_zone, *snapshot_id, *source_volid;
    int64_t size_gb;
    const struct remote_pair *metadata;
    const char *alone; /* key of metadata that nothing else may have with this value */
    const char *query; /* scheduler hint: a term, in JSON, that must be true of the pool */
};

int volumes_create(const struct client *api, struct arena *arena,
                   const struct remote_volume_new *wanted, struct remote_volume *ret,
                   struct error *err);
/* Both as the retry of what may have failed before (common/retry_header.h). */
int volumes_delete(const struct client *api, struct arena *arena, const char *volume_id,
                   struct error *err);
int volumes_extend(const struct client *api, struct arena *arena, const char *volume_id,
                   int64_t new_gb, struct error *err);
/* To another type, name or id, without moving. */
int volumes_retype(const struct client *api, struct arena *arena, const char *volume_id,
                   const char *type, struct error *err);
/* Adds these to its metadata, all or none of them. */
int volumes_set_metadata(const struct client *api, struct arena *arena, const char *volume_id,
                         const struct remote_pair *pairs, struct error *err);

/* What came of giving back room (os-reclaim_space) the last time. */
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
 * One page of the volumes of all projects that are extending, behind `marker` (NULL: the first).
 * Returns how many; 0 is the end.
 */
int volumes_extending(const struct client *api, struct arena *arena, const char *marker,
                      struct remote_volume **ret, struct error *err);

/* Heartbeat: this host's agent is alive and takes events at `endpoint`. */
int volumes_report(const struct client *api, struct arena *arena, const char *host,
                   const char *endpoint, struct error *err);

enum complete_outcome {
    /* the API does not let us (401, 403, 406): repeat slowly; err says why */
    COMPLETE_REFUSED = -2,
    COMPLETE_FAILED = -1,  /* no answer, or one that settles nothing: repeat; err says why */
    COMPLETE_TAKEN = 0,    /* 202 */
    COMPLETE_UNWANTED = 1, /* 400 or 404: nobody waits for it any more, or for another extend's */
};

/* The report that an extend has ended on the hypervisor (os-extend_volume_completion).  `extend` is
 * what the API has called it; NULL: nothing. */
enum complete_outcome volumes_complete(const struct client *api, struct arena *arena,
                                       const char *volume_id, const char *request_id,
                                       const char *extend, bool failed, struct error *err);

/* How far a snapshot is that is made or deleted on the hypervisor (os-update_snapshot_status).
 * COMPLETE_UNWANTED: it is not being made, or deleted, any more. */
enum complete_outcome volumes_report_snapshot(const struct client *api, struct arena *arena,
                                              const char *snapshot_id, const char *request_id,
                                              const char *status, unsigned percent,
                                              struct error *err);

/* How far a guest is that gives back room; what is not said is NULL. */
struct reclaim_said {
    const char *status;           /* running, done, error */
    unsigned progress;            /* percent, of what is running */
    const char *reason, *message; /* of an error */
};
/* The report of that (os-update_reclaim_space), with the id that the host was asked with. */
enum complete_outcome volumes_report_reclaim(const struct client *api, struct arena *arena,
                                             const char *volume_id, const char *id,
                                             const char *request_id,
                                             const struct reclaim_said *said, struct error *err);
