/*
 * The common data of this driver's files: the backend, and one call of it.
 *
 * A volume is a config of the volume API: its label has the name_id of the service, and its own
 * name, which stays, is the provider_location.  No call of the driver is one request: each is a
 * step that reads the present documents and does the next change, repeated until nothing is left to
 * do.  A change names the version of the document that it is based on, and the fence is checked
 * after that read: a worker suspended in between is refused by the API.
 */
#pragma once

#include "client/documents.h"
#include "drivers/driver.h"

struct replicated {
    const struct driver_backend *backend;
    struct own_user *user;
    const char *policy;        /* of volumes whose type names none; NULL: none */
    const char *tls_directory; /* at hosts that are clients of others */
    const char *connection_type;
    int64_t replicas; /* of those without a number in type and policy */
    int64_t timeout_us;
};

struct replicated_call {
    const struct replicated *backend;
    struct arena *arena;
    struct client api;
    const char *name;    /* of the config */
    const char *name_id; /* by which the volume is known */
    const struct driver_fence *fence;
    const struct driver_progress *progress; /* NULL: no receiver */
    const char *const *hosts;               /* of the other connections, ended with NULL; or NULL */
    const json_t *config;                   /* as read last; NULL: it does not exist */
    int64_t moved;                          /* while this grows the call does not time out */
    int64_t done_bytes, all_bytes;          /* for the progress; 0 and 0: unknown */
    bool over;                              /* set after a failed fence */
    bool connects;                          /* or disconnects */
    const char *mark; /* of the publication that the call has begun; NULL: none */
};

/* "metadata.labels" of each config. */
#define LABEL_VOLUME   "scoria.io/volume"         /* the name_id */
#define LABEL_BACKEND  "scoria.io/backend"        /* the backend's section */
#define LABEL_SNAPSHOT "scoria.io/snapshot"       /* the same of a snapshot */
#define LABEL_CLONES   "scoria.io/clones"         /* of a snapshot made only for clones */
#define LABEL_SOURCE   "openebs.io/source-volume" /* the API's own */
/* Changed whenever a connection begins or ends, so that decisions based on an older version are
 * refused. */
#define ANNOTATION_CONNECTION "scoria.io/connection"

extern const struct remote_documents replicated_configs, replicated_policies;

/* The API is this process's own, and does not listen: not yet, or not any more. */
bool replicated_is_early(const struct replicated *backend);
int replicated_api(const struct replicated *backend, struct client *ret, struct error *err);
/* An array: the pools of the nodes. */
const json_t *replicated_pools(const struct client *api, struct arena *arena, struct error *err);
int replicated_begin(struct replicated *backend, struct arena *arena,
                     const struct driver_volume *volume, struct replicated_call *ret,
                     struct error *err);

/* 1 there is nothing left to do, 0 not yet, -1.  ERROR_CONFLICT: read again. */
typedef int replicated_step(struct replicated_call *call, void *arg, struct error *err);

/*
 * Steps until there is nothing left to do.  ERROR_BACKEND after the timeout, with the config's last
 * event; for an API that does not answer it is shorter, ERROR_UNAVAILABLE.
 */
int replicated_walk(struct replicated_call *call, replicated_step *step, void *arg,
                    struct error *err);

/* Reads the config into call->config: 1, 0 the volume has none.  Every step does so. */
int replicated_read(struct replicated_call *call, struct error *err);
/* Applies `patch` (a new reference, taken) to the version that was read. */
int replicated_change(struct replicated_call *call, json_t *patch, struct error *err);
/* Does the fence still hold?  Checked right before any other effect. */
int replicated_may(struct replicated_call *call, struct error *err);

/* Values of the config. */
const char *replicated_node(const struct replicated_call *call); /* "": it is not served */
/* publish.clients: an array, or NULL. */
const json_t *replicated_clients(const struct replicated_call *call);
int64_t replicated_size(const struct replicated_call *call); /* 0: it has none yet */
int64_t replicated_size_wanted(const struct replicated_call *call);
bool replicated_is_going(const struct replicated_call *call);
/* -1, ERROR_NOT_FOUND: the volume has no config. */
int replicated_none(const struct replicated_call *call, struct error *err);

/* Reports a document of the backend by its label, unless it is being deleted. */
void replicated_report(const struct replicated *backend, const json_t *document, const char *label,
                       void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg);

/* The spec of a new volume. */
struct replicated_making {
    const char *policy; /* NULL: none */
    int64_t replicas;
    bool replicas_given; /* a number by type or policy; otherwise none */
    int64_t bytes;
    const char *volume_id;
    const char *source; /* "config@snapshot"; NULL: it is empty */
};

/* From its type, else the policy, else the backend. */
int replicated_read_spec(const struct replicated_call *call, const struct driver_volume *volume,
                         struct replicated_making *ret, struct error *err);
/* In steps: call->config exists, and is complete (1).  A final ERROR_CONFLICT when it is another
 * volume's.  And creates it: 0. */
int replicated_read_made(struct replicated_call *call, struct error *err);
int replicated_make(struct replicated_call *call, const struct replicated_making *making,
                    struct error *err);
/* Steps until it is complete. */
int replicated_made(struct replicated_call *call, replicated_step *step, void *arg,
                    struct driver_created *ret, struct error *err);

/* ---- target.c ---- */

struct replicated_connecting {
    const char *host; /* NULL: where it is served already */
    bool known;       /* its agent is known: it can serve, or be a client */
    bool responds;    /* the agent that will serve it reports */
    bool requested;
    bool device;          /* as a block device, else at a socket: */
    const char *path;     /* of either */
    const json_t *export; /* its client export; NULL: at the path */
};

/* Decisions based on an older version are refused, even without a difference.  `device`: as a block
 * device, too.  `clients` is a new reference, taken. */
int replicated_publish(struct replicated_call *call, const char *node, bool device, json_t *clients,
                       struct error *err);
/* It is published as a device. */
bool replicated_is_device(const struct replicated_call *call);
/* 0: the host has an agent, which could serve the volume. */
int replicated_check_agent(struct replicated_call *call, const char *host, struct error *err);
/* In steps: it is served on `node`, and the host is admitted (1). */
int replicated_await_target(struct replicated_call *call, const char *node,
                            struct replicated_connecting *connecting, struct error *err);
/* The client of this host among publish.clients; NULL: none. */
const json_t *replicated_find_client(const json_t *clients, const char *host);
/* A final ERROR_CONFLICT: the volume is connected to another host, and nothing has changed. */
int replicated_refuse_host(struct replicated_call *call, struct error *err);
/* Passes on the failure of a call for a host. */
int replicated_fail_host(const struct replicated_call *call, struct error *failure,
                         struct error *err);

/* ---- snapshot.c ---- */

struct replicated_taking {
    const char *name;    /* of the snapshot */
    const char *name_id; /* the snapshot's id; NULL: it is for a clone */
    const char *config;  /* of its volume; NULL: the one in the snapshot */
    const json_t *found; /* as read last; NULL: it does not exist */
    bool begun;          /* its deletion */
};

struct replicated_taking replicated_taking_of(struct arena *arena,
                                              const struct driver_snapshot *snapshot);
/* Of the snapshot for a clone. */
const char *replicated_clone_name(struct arena *arena, const char *name_id);
/* Into `found`. */
int replicated_read_snapshot(const struct replicated_call *call, struct replicated_taking *taking,
                             struct error *err);
/* In steps: it is complete (1), or created: 0. */
int replicated_take_one(struct replicated_call *call, struct replicated_taking *taking,
                        struct error *err);
/* 1: it does not exist, 0 not yet. */
int replicated_drop_snapshot(struct replicated_call *call, struct replicated_taking *taking,
                             struct error *err);
/* Deletes the snapshot for the volume's clone: 1 its deletion has begun, 0 not yet. */
int replicated_delete_clone_snapshot(struct replicated_call *call, struct error *err);
/* Deletes the config's snapshots for clones. */
int replicated_delete_clone_snapshots(struct replicated_call *call, struct error *err);

/* Of its document. */
const char *replicated_snapshot_name(struct arena *arena, const struct driver_snapshot *snapshot);

/* Functions of driver.def. */
driver_create_volume_call replicated_create_volume;
driver_delete_volume_call replicated_delete_volume;
driver_rename_volume_call replicated_rename_volume;
driver_extend_volume_call replicated_extend_volume;
driver_get_size_call replicated_get_size;
driver_connect_call replicated_connect;
driver_disconnect_call replicated_disconnect;
driver_open_volume_data_call replicated_open_volume_data;
driver_open_snapshot_data_call replicated_open_snapshot_data;
driver_create_snapshot_call replicated_create_snapshot;
driver_delete_snapshot_call replicated_delete_snapshot;
driver_list_snapshots_call replicated_list_snapshots;
driver_revert_volume_call replicated_revert_volume;
driver_get_usage_call replicated_get_usage;
driver_reclaim_volume_call replicated_reclaim_volume;
driver_clone_volume_call replicated_clone_volume;
driver_clone_snapshot_call replicated_clone_snapshot;
