/*
 * What the handlers of all services share.
 *
 * A service is a file: its methods, and what it announces.  Each is a row of the table in driver.c;
 * its handlers find the driver in call->service.  csi/controller has what one driver of the cluster
 * does, csi/node what the driver of every node does; what both are is here beside them.
 */
#pragma once

#include "client/client.h"
#include "csi/driver.h"
#include "csi/proto/proto.h"
#include "grpc/server.h"

enum segment { SEGMENT_HOST, SEGMENT_ZONE, SEGMENTS };

struct csi_driver {
    struct arena *arena; /* of this struct and what never changes */
    const char *name, *version;
    const char *cluster;                      /* whose volumes are made; "": of no name */
    bool controller, node;                    /* which services are served */
    bool has_topology, has_segment[SEGMENTS]; /* which of them count (topology.private.h) */
    const char *segments;                     /* what their keys begin with */
    const struct config *config;
    struct client api; /* not used as it is: csi_api() */
    struct grpc_server *server;

    /* Of the node alone: */
    const struct node *places;
    int lock;              /* of the kubelet's directory; -1: none */
    struct holder *holder; /* NULL: nobody is held to anything */
};

/* Which segments count. */
void csi_topology_read(struct csi_driver *driver, const struct config *config);
/* What a node has of the machine: of two drivers of one name the second is refused
 * (ERROR_CONFLICT). */
int csi_node_start(struct csi_driver *driver, struct error *err);
/* Also when it has not started, or only in part. */
void csi_node_stop(struct csi_driver *driver);

static inline const struct csi_driver *csi_driver_of(const struct grpc_call *call) {
    return call->service;
}

/* The volume API as it is called for this call: under its request id, and until its end. */
struct client csi_api(const struct grpc_call *call);

/* What is wrong with a volume that is made from a policy, as far as the API says so; NULL: nothing
 * is known. */
bool config_is_id(const char *id);
const char *config_find_fault(struct grpc_call *call, const struct client *api, const char *id);

/* What a service can do, for its own answer and for Identity's: one enum's values, 0 behind the
 * last. A value stands here when every method that it promises has its row, and not before. */
typedef const int csi_abilities[];

extern csi_abilities csi_controller_abilities, csi_node_abilities;

static inline size_t csi_count_abilities(const int *abilities) {
    size_t count = 0;

    while (abilities[count])
        count++;
    return count;
}

extern const struct grpc_method csi_identity_methods[], csi_controller_methods[],
    csi_node_methods[], csi_addons_identity_methods[], csi_group_controller_methods[],
    csi_reclaim_methods[], csi_volume_group_methods[], csi_node_reclaim_methods[];

/* A message of this type in the arena: CSI_NEW(arena, Csi__V1__Volume, csi__v1__volume). */
#define CSI_NEW(arena, type, name)                               \
    __extension__({                                              \
        type *new_message_ = arena_alloc((arena), sizeof(type)); \
        name##__init(new_message_);                              \
        new_message_;                                            \
    })
