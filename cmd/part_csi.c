#include "config.h"

#include "cmd/part.h"
#include "csi/driver.h"
#include "identity/own_user.h"

#define GRACE_MS 12000 /* a call to the API has ten seconds */

int part_csi_start(struct parts *parts, struct error *err) {
#ifdef HAVE_CSI
    struct csi_settings settings = {
        .config = parts->config,
        .endpoint = part_csi_endpoint(parts->config),
    };

    if (!settings.endpoint)
        return error_set(err, ERROR_BAD_REQUEST,
                         "no address of the driver given: --endpoint unix:///PATH, "
                         "[csi] endpoint, or CSI_ENDPOINT");
    if (own_user_new(parts->config, "service_user", &parts->csi_user, err) < 0)
        return -1;
    settings.user = parts->csi_user;
    settings.volume_url = part_volume_url(parts, "csi", parts->csi_user);
    return csi_driver_start(&settings, &parts->csi, err);
#else
    (void)parts;
    return error_set(err, ERROR_BAD_REQUEST, "this scoria was built without the CSI driver");
#endif
}

void part_csi_stop(struct parts *parts) {
#ifdef HAVE_CSI
    csi_driver_stop(parts->csi, GRACE_MS);
#endif
    own_user_free(parts->csi_user);
}
