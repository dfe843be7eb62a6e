/*
 * The contents of a handle, for the driver and for the guests' functions.
 */
#pragma once

#include "common/thread.h"
#include "drivers/memory.h"

/* Each kind has a name space of its own. */
enum memory_kind {
    MEMORY_VOLUME,
    MEMORY_SNAPSHOT,
    MEMORY_FOREIGN,
    MEMORY_REQUEST /* snapshot work of a guest's host; its `made_as` is the volume */
};

struct memory_volume {
    enum memory_kind kind;
    int64_t bytes;
    int64_t content;
    int64_t waste; /* bytes of unused space */
    bool locked;
    bool busy;           /* an extend, or a reclaim, holds the lock */
    int readers;         /* of its data; -1: a writer */
    bool deletes;        /* the requested work */
    char host[64];       /* that it is connected to; "": none */
    char other[64];      /* the destination of its instance's migration */
    const char *made_as; /* its first name, after the present one */
    char name_id[];      /* the key of the tree */
};

struct memory {
    pthread_mutex_t mutex; /* guards everything below but the pool */
    void *volumes;         /* search tree */
    size_t count;
    int64_t used_bytes; /* of volumes; a snapshot takes no space */
    bool defers_snapshots, holds_connections, shares_connections;
    const char *failing_call;
    enum error_kind failure;
    bool is_full; /* the failure is lack of space */
    memory_between *between;
    void *between_arg;
    int64_t capacity_gb;
    char pool[];
};

/* All with the mutex held. */
struct memory_volume *memory_find(const struct memory *memory, const char *name_id);
struct memory_volume *memory_add(struct memory *memory, const char *name_id, const char *made_as,
                                 int64_t bytes);
void memory_resize(struct memory *memory, struct memory_volume *volume, int64_t bytes);
bool memory_take_out(struct memory *memory, const char *name_id);
struct memory_volume *memory_find_snapshot(const struct memory *memory, const char *name_id);
struct memory_volume *memory_add_snapshot(struct memory *memory, const char *name_id,
                                          const struct memory_volume *volume);
void memory_take_out_snapshot(struct memory *memory, const char *name_id);
/* All of the volume. */
void memory_take_out_snapshots(struct memory *memory, const struct memory_volume *volume);
/* An existing object outside the service. */
struct memory_volume *memory_find_foreign(const struct memory *memory, const char *name);
struct memory_volume *memory_add_foreign(struct memory *memory, const char *name, int64_t bytes);
void memory_remove_foreign(struct memory *memory, const char *name);
/* The work requested from a guest's host, by the snapshot's name. */
struct memory_volume *memory_find_request(const struct memory *memory, const char *name_id);
void memory_add_request(struct memory *memory, const char *name_id, const char *volume,
                        bool deletes);
void memory_remove_request(struct memory *memory, const char *name_id);
/* -1 when there is no such volume, or snapshot. */
int memory_demand(const struct memory *memory, const char *name_id, bool snapshot,
                  struct memory_volume **ret, struct error *err);

/* -1 when this call was set to fail. */
int memory_check_order(struct memory *memory, const char *call, struct error *err);
/* The pause between check and effect; without the mutex, as it may be long. */
int memory_act(struct memory *memory, const char *call, const char *name_id,
               const struct driver_fence *fence, struct error *err);
/* Reports all objects of a kind. */
void memory_visit(const struct memory *memory, enum memory_kind kind,
                  void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg);

/* Functions of driver.def in memory_snapshot.c, */
driver_create_snapshot_call memory_create_snapshot;
driver_delete_snapshot_call memory_delete_snapshot;
driver_prepare_assist_call memory_prepare_assist;
driver_complete_assist_call memory_complete_assist;
driver_list_snapshots_call memory_list_snapshots;
driver_clone_volume_call memory_clone_volume;
driver_clone_snapshot_call memory_clone_snapshot;
driver_revert_volume_call memory_revert_volume;
driver_get_usage_call memory_get_usage;
driver_reclaim_volume_call memory_reclaim_volume;
/* in memory_data.c, */
driver_open_volume_data_call memory_open_volume_data;
driver_open_snapshot_data_call memory_open_snapshot_data;
/* and in memory_manage.c. */
driver_get_manageable_call memory_get_manageable;
driver_manage_volume_call memory_manage_volume;
driver_unmanage_volume_call memory_unmanage_volume;
driver_list_manageable_call memory_list_manageable;
driver_get_manageable_snapshot_call memory_get_manageable_snapshot;
driver_manage_snapshot_call memory_manage_snapshot;
driver_unmanage_snapshot_call memory_unmanage_snapshot;
driver_list_manageable_snapshots_call memory_list_manageable_snapshots;
