/*
 * Exports of a volume that is served here: for the hosts in its document (client_exports.h), and as
 * a device (device_export.h).
 */
#include "replication/node/volume_controller.private.h"

#include "common/assert.h"

static int64_t timeout_of(const struct volume_controller *controller) {
    return controller->settings->timeout_ms > 0 ? controller->settings->timeout_ms : 10000;
}

int volume_controller_stop_exports(struct volume_controller *controller, struct error *err) {
    return client_exports_stop(controller->run, timeout_of(controller), err);
}

int volume_controller_end_device(struct volume_controller *controller, struct error *err) {
    controller->device = (struct device_export){ 0 };
    return device_export_exists(controller->uid) ? device_export_end(controller->uid, err) : 0;
}

int volume_controller_end_clients(const struct volume_controller *controller, struct error *err) {
    return client_exports_end(controller->run, timeout_of(controller), err);
}

static int reconcile_device(struct volume_controller *controller, struct error *err) {
    const struct target_status *status = &controller->status;

    if (!controller->assignment->volume.device)
        return volume_controller_end_device(controller, err);
    if (!status->has_file)
        return error_set(err, ERROR_UNAVAILABLE, "The volume %s has no file yet.", controller->uid);
    if (device_export_reconcile(&controller->device, controller->run, controller->uid,
                                status->size_bytes, err) < 0)
        return -1;
    controller->device_bytes = status->size_bytes;
    return 0;
}

int volume_controller_reconcile_exports(struct volume_controller *controller, struct error *err) {
    const struct assignment_volume *assigned = &controller->assignment->volume;
    const struct client_exports_request request = {
        .run = controller->run,
        .volume = controller->uid,
        .bytes = controller->status.size_bytes,
        .clients = assigned->clients,
        .count = assigned->client_count,
    };

    assert(assigned->client_count <= CLIENT_EXPORTS_MOST);
    assert(!controller->opened->volume.revert.snapshot); /* no client before its end */
    if (reconcile_device(controller, err) < 0)
        return -1;
    if (assigned->client_count == 0 || assigned->closed)
        return volume_controller_end_clients(controller, err);
    if (!controller->settings->exports) {
        if (volume_controller_end_clients(controller, err) < 0)
            return -1;
        return error_set(
            err, ERROR_BAD_REQUEST,
            "Host %s cannot be admitted: [storage] listen is not configured on this node.",
            assigned->clients[0].node);
    }
    return client_exports_reconcile(controller->settings->exports, &request,
                                    controller->export_ports, err);
}
