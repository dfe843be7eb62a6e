/*
 * Declarations shared by the handlers of all services.
 *
 * A service is a file with its methods and its capabilities.  Each is a row of the table in
 * driver.c; its handlers find the driver in call->service. csi/controller serves the cluster,
 * csi/node one node; parts of both are in this folder.
 */
#pragma once

#include "client/client.h"
#include "csi/driver.h"
#include "csi/proto.h"
#include "grpc/server.h"

enum segment { SEGMENT_HOST, SEGMENT_ZONE, SEGMENTS };

struct csi_driver {
    struct arena *arena; /* of this struct and other constant data */
    const char *name, *version;
    const char *cluster;                      /* name in the volumes' metadata; "": none */
    bool controller, node;                    /* the enabled services */
    bool has_topology, has_segment[SEGMENTS]; /* the configured segments (topology.private.h) */
    const char *segments;                     /* prefix of their keys */
    const struct config *config;
    struct client api; /* a template: use csi_api() */
    struct grpc_server *server;

    /* Of the node service only: */
    const struct node *places;
    int lock;                    /* of the kubelet's directory; -1: none */
    struct pod_limiter *limiter; /* NULL: limits are not applied */
};

/* Reads the configured segments. */
void csi_topology_read(struct csi_driver *driver, const struct config *config);
/* Acquires the node's resources: of two drivers with one name the second is refused
 * (ERROR_CONFLICT). */
int csi_node_start(struct csi_driver *driver, struct error *err);
/* Also when it has not started, or only in part. */
void csi_node_stop(struct csi_driver *driver);

static inline const struct csi_driver *csi_driver_of(const struct grpc_call *call) {
    return call->service;
}

/* The client of the volume API for this call: with its request id and its deadline. */
struct client csi_api(const struct grpc_call *call);

/* Capabilities of a service, for its own response and for Identity's: values of one enum, ended by
 * 0.  A value is listed only when every method that it promises is implemented. */
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
