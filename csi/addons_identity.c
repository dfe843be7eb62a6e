/*
 * identity.Identity of CSI-Addons: the same driver, and what it offers of the addons.
 */
#include "csi/health.private.h"

static int get_identity(struct grpc_call *call, const void *request, void *response,
                        struct error *err) {
    const struct csi_driver *driver = csi_driver_of(call);
    Identity__GetIdentityResponse *identity = response;

    (void)request, (void)err;
    identity->name = (char *)(uintptr_t)driver->name;
    identity->vendor_version = (char *)(uintptr_t)driver->version;
    return 0;
}

/* No addon is offered yet, so none is named: an empty list. */
static int get_capabilities(struct grpc_call *call, const void *request, void *response,
                            struct error *err) {
    (void)call, (void)request, (void)response, (void)err;
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
