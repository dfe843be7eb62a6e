/*
 * csi.v1.Identity: the name of the driver, its capabilities and its health.
 */
#include "csi/health.private.h"

#include "common/cleanup.h"

static int get_info(struct grpc_call *call, const void *request, void *response,
                    struct error *err) {
    const struct csi_driver *driver = csi_driver_of(call);
    Csi__V1__GetPluginInfoResponse *info = response;

    (void)request, (void)err;
    info->name = (char *)(uintptr_t)driver->name;
    info->vendor_version = (char *)(uintptr_t)driver->version;
    return 0;
}

static void add(struct grpc_call *call, Csi__V1__GetPluginCapabilitiesResponse *all,
                Csi__V1__PluginCapability__Service__Type type) {
    Csi__V1__PluginCapability *one =
        CSI_NEW(call->arena, Csi__V1__PluginCapability, csi__v1__plugin_capability);

    one->type_case = CSI__V1__PLUGIN_CAPABILITY__TYPE_SERVICE;
    one->service = CSI_NEW(call->arena, Csi__V1__PluginCapability__Service,
                           csi__v1__plugin_capability__service);
    one->service->type = type;
    all->capabilities[all->n_capabilities++] = one;
}

/* A controller without abilities is not announced. */
static int get_capabilities(struct grpc_call *call, const void *request, void *response,
                            struct error *err) {
    const struct csi_driver *driver = csi_driver_of(call);
    Csi__V1__GetPluginCapabilitiesResponse *all = response;
    Csi__V1__PluginCapability *one;

    (void)request, (void)err;
    if (!driver->controller || csi_controller_abilities[0] == 0)
        return 0;
    all->capabilities = arena_alloc(call->arena, 4 * sizeof(all->capabilities[0]));
    add(call, all, CSI__V1__PLUGIN_CAPABILITY__SERVICE__TYPE__CONTROLLER_SERVICE);
    add(call, all, CSI__V1__PLUGIN_CAPABILITY__SERVICE__TYPE__GROUP_CONTROLLER_SERVICE);
    if (driver->has_topology)
        add(call, all, CSI__V1__PLUGIN_CAPABILITY__SERVICE__TYPE__VOLUME_ACCESSIBILITY_CONSTRAINTS);
    /* Volumes grow while they are published. */
    one = CSI_NEW(call->arena, Csi__V1__PluginCapability, csi__v1__plugin_capability);
    one->type_case = CSI__V1__PLUGIN_CAPABILITY__TYPE_VOLUME_EXPANSION;
    one->volume_expansion = CSI_NEW(call->arena, Csi__V1__PluginCapability__VolumeExpansion,
                                    csi__v1__plugin_capability__volume_expansion);
    one->volume_expansion->type = CSI__V1__PLUGIN_CAPABILITY__VOLUME_EXPANSION__TYPE__ONLINE;
    all->capabilities[all->n_capabilities++] = one;
    return 0;
}

static int probe(struct grpc_call *call, const void *request, void *response, struct error *err) {
    Csi__V1__ProbeResponse *answer = response;

    (void)request;
    return csi_health(call, &answer->ready, err);
}

const struct grpc_method csi_identity_methods[] = {
    { "GetPluginInfo", get_info },
    { "GetPluginCapabilities", get_capabilities },
    { "Probe", probe },
    { NULL, NULL },
};
