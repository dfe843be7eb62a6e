/*
 * Who else is let in to a volume that is served here: gates (gates.h) for the hosts that its
 * document names.
 */
#include "replication/node/volume_controller.private.h"

static int64_t timeout_of(const struct volume_controller *controller) {
    return controller->settings->timeout_ms > 0 ? controller->settings->timeout_ms : 10000;
}

int volume_controller_stop_exports(struct volume_controller *controller, struct error *err) {
    return gates_shut(controller->run, timeout_of(controller), err);
}

int volume_controller_end_exports(struct volume_controller *controller, struct error *err) {
    return gates_end(controller->run, timeout_of(controller), err);
}

static int refuse(const struct assignment_volume *wanted, struct error *err) {
    return error_set(err, ERROR_BAD_REQUEST,
                     "This node lets no other host in, and %s is to be: [storage] listen says "
                     "where.",
                     wanted->clients[0].node);
}

int volume_controller_reconcile_exports(struct volume_controller *controller, struct error *err) {
    const struct assignment_volume *wanted = &controller->assignment->volume;
    const struct gates_request request = {
        .run = controller->run,
        .volume = controller->uid,
        .bytes = controller->status.size_bytes,
        .clients = wanted->clients,
        .count = wanted->client_count,
    };

    if (wanted->client_count == 0 || wanted->closed)
        return volume_controller_end_exports(controller, err);
    if (!controller->settings->gates)
        return volume_controller_end_exports(controller, err) < 0 ? -1 : refuse(wanted, err);
    return gates_keep(controller->settings->gates, &request, controller->export_ports, err);
}
