/*
 * csi.v1.Node: what the driver of every node does.
 */
#include "csi/driver.private.h"

/* None yet whose methods are all here. */
csi_abilities csi_node_abilities = { 0 };

static int get_capabilities(struct grpc_call *call, const void *request, void *response,
                            struct error *err) {
    Csi__V1__NodeGetCapabilitiesResponse *all = response;
    size_t count = csi_count_abilities(csi_node_abilities);

    (void)request, (void)err;
    all->capabilities = arena_alloc(call->arena, (count + 1) * sizeof(all->capabilities[0]));
    for (; all->n_capabilities < count; all->n_capabilities++) {
        Csi__V1__NodeServiceCapability *one =
            CSI_NEW(call, Csi__V1__NodeServiceCapability, csi__v1__node_service_capability);

        one->type_case = CSI__V1__NODE_SERVICE_CAPABILITY__TYPE_RPC;
        one->rpc = CSI_NEW(call, Csi__V1__NodeServiceCapability__RPC,
                           csi__v1__node_service_capability__rpc);
        one->rpc->type = csi_node_abilities[all->n_capabilities];
        all->capabilities[all->n_capabilities] = one;
    }
    return 0;
}

const struct grpc_method csi_node_methods[] = {
    { "NodeGetCapabilities", get_capabilities },
    { NULL, NULL },
};
