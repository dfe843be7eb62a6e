/*
 * csi.v1.Controller: what one driver of the cluster does.
 */
#include "csi/driver.private.h"

/* None yet whose methods are all here. */
csi_abilities csi_controller_abilities = { 0 };

static int get_capabilities(struct grpc_call *call, const void *request, void *response,
                            struct error *err) {
    Csi__V1__ControllerGetCapabilitiesResponse *all = response;
    size_t count = csi_count_abilities(csi_controller_abilities);

    (void)request, (void)err;
    all->capabilities = arena_alloc(call->arena, (count + 1) * sizeof(all->capabilities[0]));
    for (; all->n_capabilities < count; all->n_capabilities++) {
        Csi__V1__ControllerServiceCapability *one = CSI_NEW(
            call, Csi__V1__ControllerServiceCapability, csi__v1__controller_service_capability);

        one->type_case = CSI__V1__CONTROLLER_SERVICE_CAPABILITY__TYPE_RPC;
        one->rpc = CSI_NEW(call, Csi__V1__ControllerServiceCapability__RPC,
                           csi__v1__controller_service_capability__rpc);
        one->rpc->type = csi_controller_abilities[all->n_capabilities];
        all->capabilities[all->n_capabilities] = one;
    }
    return 0;
}

const struct grpc_method csi_controller_methods[] = {
    { "ControllerGetCapabilities", get_capabilities },
    { NULL, NULL },
};
