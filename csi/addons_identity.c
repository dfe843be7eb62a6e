/*
 * identity.Identity of CSI-Addons: the name and the capabilities of the driver.
 */
#include "csi/health.private.h"

#include "common/cleanup.h"

static int get_identity(struct grpc_call *call, const void *request, void *response,
                        struct error *err) {
    const struct csi_driver *driver = csi_driver_of(call);
    Identity__GetIdentityResponse *identity = response;

    (void)request, (void)err;
    identity->name = (char *)(uintptr_t)driver->name;
    identity->vendor_version = (char *)(uintptr_t)driver->version;
    return 0;
}

static Identity__Capability *service_of(struct grpc_call *call,
                                        Identity__Capability__Service__Type type) {
    Identity__Capability *one = CSI_NEW(call->arena, Identity__Capability, identity__capability);

    one->type_case = IDENTITY__CAPABILITY__TYPE_SERVICE;
    one->service =
        CSI_NEW(call->arena, Identity__Capability__Service, identity__capability__service);
    one->service->type = type;
    return one;
}

static Identity__Capability *reclaim_of(struct grpc_call *call,
                                        Identity__Capability__ReclaimSpace__Type type) {
    Identity__Capability *one = CSI_NEW(call->arena, Identity__Capability, identity__capability);

    one->type_case = IDENTITY__CAPABILITY__TYPE_RECLAIM_SPACE;
    one->reclaim_space = CSI_NEW(call->arena, Identity__Capability__ReclaimSpace,
                                 identity__capability__reclaim_space);
    one->reclaim_space->type = type;
    return one;
}

#define SERVICE(name_) IDENTITY__CAPABILITY__SERVICE__TYPE__##name_
#define RECLAIM(name_) IDENTITY__CAPABILITY__RECLAIM_SPACE__TYPE__##name_
#define GROUPS(name_)  IDENTITY__CAPABILITY__VOLUME_GROUP__TYPE__##name_

static int get_capabilities(struct grpc_call *call, const void *request, void *response,
                            struct error *err) {
    static const Identity__Capability__VolumeGroup__Type groups[] = {
        GROUPS(VOLUME_GROUP), GROUPS(LIMIT_VOLUME_TO_ONE_VOLUME_GROUP), GROUPS(MODIFY_VOLUME_GROUP),
        GROUPS(GET_VOLUME_GROUP), GROUPS(LIST_VOLUME_GROUPS)
    };
    const struct csi_driver *driver = csi_driver_of(call);
    Identity__GetCapabilitiesResponse *all = response;

    (void)request, (void)err;
    all->capabilities = arena_alloc(call->arena, (4 + LENGTH(groups)) * sizeof(*all->capabilities));
    if (driver->node) {
        all->capabilities[all->n_capabilities++] = service_of(call, SERVICE(NODE_SERVICE));
        all->capabilities[all->n_capabilities++] = reclaim_of(call, RECLAIM(ONLINE));
    }
    if (!driver->controller)
        return 0;
    all->capabilities[all->n_capabilities++] = service_of(call, SERVICE(CONTROLLER_SERVICE));
    all->capabilities[all->n_capabilities++] = reclaim_of(call, RECLAIM(OFFLINE));
    for (size_t i = 0; i < LENGTH(groups); i++) {
        Identity__Capability *one =
            CSI_NEW(call->arena, Identity__Capability, identity__capability);

        one->type_case = IDENTITY__CAPABILITY__TYPE_VOLUME_GROUP;
        one->volume_group = CSI_NEW(call->arena, Identity__Capability__VolumeGroup,
                                    identity__capability__volume_group);
        one->volume_group->type = groups[i];
        all->capabilities[all->n_capabilities++] = one;
    }
    return 0;
}

static int probe(struct grpc_call *call, const void *request, void *response, struct error *err) {
    Identity__ProbeResponse *answer = response;

    (void)request;
    return csi_health(call, &answer->ready, err);
}

const struct grpc_method csi_addons_identity_methods[] = {
    { "GetIdentity", get_identity },
    { "GetCapabilities", get_capabilities },
    { "Probe", probe },
    { NULL, NULL },
};
