/*
 * csi.v1.Controller: the service of the cluster.
 */
#include "csi/controller/controller.private.h"

/* clang-format off */
#define CAN(name_) CSI__V1__CONTROLLER_SERVICE_CAPABILITY__RPC__TYPE__##name_
csi_abilities csi_controller_abilities = {
    CAN(CREATE_DELETE_VOLUME),
    CAN(PUBLISH_UNPUBLISH_VOLUME),
    CAN(LIST_VOLUMES),
    CAN(GET_CAPACITY),
    CAN(CREATE_DELETE_SNAPSHOT),
    CAN(LIST_SNAPSHOTS),
    CAN(CLONE_VOLUME),
    CAN(PUBLISH_READONLY),
    CAN(EXPAND_VOLUME),
    CAN(LIST_VOLUMES_PUBLISHED_NODES),
    CAN(VOLUME_CONDITION),
    CAN(GET_VOLUME),
    CAN(SINGLE_NODE_MULTI_WRITER),
    CAN(GET_SNAPSHOT),
    CAN(MODIFY_VOLUME),
    0,
};
/* clang-format on */

static int get_capabilities(struct grpc_call *call, const void *request, void *response,
                            struct error *err) {
    Csi__V1__ControllerGetCapabilitiesResponse *all = response;
    size_t count = csi_count_abilities(csi_controller_abilities);

    (void)request, (void)err;
    all->capabilities = arena_alloc(call->arena, (count + 1) * sizeof(all->capabilities[0]));
    for (; all->n_capabilities < count; all->n_capabilities++) {
        Csi__V1__ControllerServiceCapability *one =
            CSI_NEW(call->arena, Csi__V1__ControllerServiceCapability,
                    csi__v1__controller_service_capability);

        one->type_case = CSI__V1__CONTROLLER_SERVICE_CAPABILITY__TYPE_RPC;
        one->rpc = CSI_NEW(call->arena, Csi__V1__ControllerServiceCapability__RPC,
                           csi__v1__controller_service_capability__rpc);
        one->rpc->type = (Csi__V1__ControllerServiceCapability__RPC__Type)
            csi_controller_abilities[all->n_capabilities];
        all->capabilities[all->n_capabilities] = one;
    }
    return 0;
}

/* Volumes with a policy are another kind served by the same calls. `is_`: the condition for a
 * request that concerns such a volume, or a snapshot of one. */
#define EITHER(name_, type_, is_, config_, other_)                                \
    static int name_(struct grpc_call *call, const void *message, void *response, \
                     struct error *err) {                                         \
        const type_ *request = message;                                           \
                                                                                  \
        return (is_) ? config_(call, message, response, err)                      \
                     : other_(call, message, response, err);                      \
    }
EITHER(create_volume, Csi__V1__CreateVolumeRequest,
       config_is_requested(CONTROLLER_PARAMETERS(request)), config_create, controller_create_volume)
EITHER(get_capacity, Csi__V1__GetCapacityRequest,
       config_is_requested(CONTROLLER_PARAMETERS(request)), config_get_capacity,
       controller_get_capacity)
#define EITHER_VOLUME(name_, type_, config_, other_) \
    EITHER(name_, type_, config_is_id(request->volume_id), config_, other_)
EITHER_VOLUME(delete_volume, Csi__V1__DeleteVolumeRequest, config_delete, controller_delete_volume)
EITHER_VOLUME(get_volume, Csi__V1__ControllerGetVolumeRequest, config_get, controller_get_volume)
EITHER_VOLUME(validate, Csi__V1__ValidateVolumeCapabilitiesRequest, config_validate,
              controller_validate)
EITHER_VOLUME(publish, Csi__V1__ControllerPublishVolumeRequest, config_publish, controller_publish)
EITHER_VOLUME(unpublish, Csi__V1__ControllerUnpublishVolumeRequest, config_unpublish,
              controller_unpublish)
EITHER_VOLUME(expand, Csi__V1__ControllerExpandVolumeRequest, config_expand, controller_expand)
EITHER_VOLUME(modify, Csi__V1__ControllerModifyVolumeRequest, config_modify, controller_modify)
EITHER(create_snapshot, Csi__V1__CreateSnapshotRequest, config_is_id(request->source_volume_id),
       config_create_snapshot, controller_create_snapshot)
EITHER(delete_snapshot, Csi__V1__DeleteSnapshotRequest, config_is_snapshot_id(request->snapshot_id),
       config_delete_snapshot, controller_delete_snapshot)
EITHER(get_snapshot, Csi__V1__GetSnapshotRequest, config_is_snapshot_id(request->snapshot_id),
       config_get_snapshot, controller_get_snapshot)

const struct grpc_method csi_controller_methods[] = {
    { "ControllerGetCapabilities", get_capabilities },
    { "CreateVolume", create_volume },
    { "DeleteVolume", delete_volume },
    { "ControllerGetVolume", get_volume },
    { "ListVolumes", controller_list_volumes },
    { "ValidateVolumeCapabilities", validate },
    { "GetCapacity", get_capacity },
    { "ControllerPublishVolume", publish },
    { "ControllerUnpublishVolume", unpublish },
    { "ControllerExpandVolume", expand },
    { "ControllerModifyVolume", modify },
    { "CreateSnapshot", create_snapshot },
    { "DeleteSnapshot", delete_snapshot },
    { "ListSnapshots", controller_list_snapshots },
    { "GetSnapshot", get_snapshot },
    { NULL, NULL },
};
