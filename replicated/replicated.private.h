/*
 * What the files of this driver share: the backend, and one call of it.
 *
 * A volume is a config of the volume API: its label says by which name_id the service knows it, and
 * its own name, which stays, is the provider_location.  No call of the driver is one request: each
 * is a step that looks at the documents as they are and does the next thing, and that comes again
 * until nothing is left to do.  A change names the document's version that it was decided by, and
 * the fence is asked behind that look: whoever slept in between is refused by the API.
 */
#pragma once

#include "client/documents.h"
#include "drivers/driver.h"

struct replicated {
    const struct driver_backend *backend;
    struct own_user *user;
    const char *policy;        /* of volumes whose type names none; NULL: none */
    const char *tls_directory; /* at hosts that reach volumes of others */
    int64_t replicas;          /* of those whose type and policy say no number */
    int64_t patience_us;
};

struct replicated_call {
    const struct replicated *backend;
    struct arena *arena;
    struct client api;
    const char *name;    /* of the config */
    const char *name_id; /* by which the volume is known */
    const struct driver_fence *fence;
    const struct driver_progress *progress; /* who waits; NULL: nobody */
    const char *const *hosts;      /* that are connected otherwise, ended with NULL; or NULL */
    const json_t *config;          /* at the last look; NULL: it is not there */
    int64_t moved;                 /* while this grows nothing is given up */
    int64_t done_bytes, all_bytes; /* for who waits; 0 and 0: nobody knows */
    bool over;                     /* the fence has said so */
    bool connects;                 /* a host, or it ends that */
};

/* "metadata.labels" of each config. */
#define LABEL_VOLUME   "scoria.io/volume"         /* the name_id */
#define LABEL_BACKEND  "scoria.io/backend"        /* the backend's section */
#define LABEL_SNAPSHOT "scoria.io/snapshot"       /* the same of a snapshot */
#define LABEL_CLONES   "scoria.io/clones"         /* of a snapshot that is there to clone by */
#define LABEL_SOURCE   "openebs.io/source-volume" /* as the API puts it */
/* Written anew whenever a connection begins or ends, so that whoever decided before is refused. */
#define ANNOTATION_CONNECTION "scoria.io/connection"

extern const struct remote_documents replicated_configs, replicated_policies;

/* The API is this process's own, and does not listen: not yet, or nevermore. */
bool replicated_is_early(const struct replicated *backend);
int replicated_api(const struct replicated *backend, struct client *ret, struct error *err);
/* An array: what nodes keep replicas in. */
const json_t *replicated_pools(const struct client *api, struct arena *arena, struct error *err);
int replicated_begin(struct replicated *backend, struct arena *arena,
                     const struct driver_volume *volume, struct replicated_call *ret,
                     struct error *err);

/* 1 there is nothing left to do, 0 not yet, -1.  ERROR_CONFLICT: look again. */
typedef int replicated_step(struct replicated_call *call, void *arg, struct error *err);

/*
 * Steps until there is nothing left to do.  ERROR_BACKEND when the patience is over, with what the
 * config's last event says; an API that does not answer is waited for shorter, ERROR_UNAVAILABLE.
 */
int replicated_walk(struct replicated_call *call, replicated_step *step, void *arg,
                    struct error *err);

/* The config into call->config: 1, 0 there is none of this volume.  A step has it read anew. */
int replicated_look(struct replicated_call *call, struct error *err);
/* Changes what `patch` says (a new reference, taken) of the config as it was looked at. */
int replicated_change(struct replicated_call *call, json_t *patch, struct error *err);
/* Is the work still ours?  Right before any other effect. */
int replicated_may(struct replicated_call *call, struct error *err);

/* What the config says. */
const char *replicated_node(const struct replicated_call *call); /* "": it is served nowhere */
/* publish.clients: an array, or NULL. */
const json_t *replicated_clients(const struct replicated_call *call);
int64_t replicated_size(const struct replicated_call *call); /* 0: it has none yet */
int64_t replicated_size_wanted(const struct replicated_call *call);
bool replicated_is_going(const struct replicated_call *call);
/* -1, ERROR_NOT_FOUND: the volume has no config. */
int replicated_none(const struct replicated_call *call, struct error *err);

/* Tells of a document of the backend by its label, unless it is on its way out. */
void replicated_tell(const struct replicated *backend, const json_t *document, const char *label,
                     void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg);

/* What a volume is to be. */
struct replicated_making {
    const char *policy; /* NULL: none */
    int64_t replicas;
    bool replicas_said; /* by type or policy: so many, or none */
    int64_t bytes;
    const char *volume_id;
    const char *source; /* "config@snapshot"; NULL: it is empty */
};

/* What its type says, else the policy, else the backend. */
int replicated_read_wish(const struct replicated_call *call, const struct driver_volume *volume,
                         struct replicated_making *ret, struct error *err);
/* In steps: call->config is there, and whole (1).  ERROR_CONFLICT for good when that is not this
 * volume's.  And sends it: 0. */
int replicated_look_made(struct replicated_call *call, struct error *err);
int replicated_make(struct replicated_call *call, const struct replicated_making *making,
                    struct error *err);
/* Walks until it is made. */
int replicated_made(struct replicated_call *call, replicated_step *step, void *arg,
                    struct driver_created *ret, struct error *err);
/* The snapshot that the volume was to be cloned by goes: 1 it is on its way, 0 not yet. */
int replicated_drop_clone(struct replicated_call *call, struct error *err);
/* Snapshots of the config that were there to clone by go. */
int replicated_drop_clones(struct replicated_call *call, struct error *err);

/* Of its document. */
const char *replicated_snapshot_name(struct arena *arena, const struct driver_snapshot *snapshot);

/* Members of the struct driver. */
int replicated_create_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                             struct driver_created *ret, struct error *err);
int replicated_delete_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                             struct error *err);
int replicated_rename_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                             const char *new_name_id, struct error *err);
enum driver_outcome replicated_extend_volume(void *handle, struct arena *arena,
                                             const struct driver_volume *volume, int64_t new_gb,
                                             struct error *err);
int replicated_get_size(void *handle, struct arena *arena, const struct driver_volume *volume,
                        int64_t *ret_bytes, struct error *err);
int replicated_connect(void *handle, struct arena *arena, const struct driver_volume *volume,
                       const json_t *connector, json_t **ret, struct error *err);
int replicated_disconnect(void *handle, struct arena *arena, const struct driver_volume *volume,
                          struct error *err);
enum driver_outcome replicated_create_snapshot(void *handle, struct arena *arena,
                                               const struct driver_volume *volume,
                                               const struct driver_snapshot *snapshot,
                                               const struct driver_progress *progress,
                                               struct driver_created *ret, struct error *err);
enum driver_outcome replicated_delete_snapshot(void *handle, struct arena *arena,
                                               const struct driver_volume *volume,
                                               const struct driver_snapshot *snapshot,
                                               const struct driver_progress *progress,
                                               struct error *err);
int replicated_list_snapshots(void *handle, struct arena *arena,
                              void (*found)(void *arg, const char *name_id, int64_t bytes),
                              void *arg, struct error *err);
int replicated_revert_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                             const struct driver_snapshot *snapshot,
                             const struct driver_progress *progress, struct error *err);
int replicated_get_usage(void *handle, struct arena *arena, const struct driver_volume *volume,
                         int64_t *ret_bytes, struct error *err);
int replicated_reclaim_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                              const struct driver_progress *progress, int64_t *ret_before,
                              struct error *err);
int replicated_clone_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                            const struct driver_volume *source,
                            const struct driver_progress *progress, struct driver_created *ret,
                            struct error *err);
int replicated_clone_snapshot(void *handle, struct arena *arena, const struct driver_volume *volume,
                              const struct driver_snapshot *source,
                              const struct driver_progress *progress, struct driver_created *ret,
                              struct error *err);
