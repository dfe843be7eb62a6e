#include "cmd/part.h"
#include "rpc/relay.h"

int part_messages_start(struct parts *parts, struct error *err) {
    return messaging_new(parts->config, &parts->messaging, err);
}

int part_messages_flow(struct parts *parts, struct error *err) {
    (void)err;
    messaging_start(&parts->messaging);
    parts->relay = relay_new(parts->db, parts->messaging.rpc,
                             parts->settings.one_process ? RELAY_ALONE : RELAY_SHARED);
    relay_limit(parts->relay,
                (size_t)config_int(parts->config, "oslo_messaging_notifications", "waiting_mb")
                    << 20);
    return 0;
}

void part_messages_stop(struct parts *parts) {
    relay_stop(parts->relay);
    messaging_stop(&parts->messaging);
}
