#include "config.h"

#include "cmd/messaging.h"

#include "cmd/parts.h"
#include "operation/settings.h"
#include "rpc/amqp/amqp.h"
#include "rpc/switch.h"

#include <string.h>

#define NOTIFICATIONS "oslo_messaging_notifications"

static unsigned workers(const struct config *config) {
    return (unsigned)config_int(config, "DEFAULT", "manager_workers");
}

#ifdef HAVE_RABBITMQ
static int broker_new(const struct config *config, const char *url, bool notifications,
                      struct rpc **ret, struct error *err) {
    const struct amqp_settings settings = {
        .config = config,
        .clock = &clock_system,
        .url = url,
        .program = "scoria",
        .server = parts_node(config),
        .workers = workers(config),
        .notifications = notifications,
        .bare = strcmp(config_text(config, NOTIFICATIONS, "driver"), "messaging") == 0,
    };

    return rpc_amqp_new(&settings, ret, err);
}
#else
static int broker_new(const struct config *config, const char *url, bool notifications,
                      struct rpc **ret, struct error *err) {
    (void)config, (void)url, (void)notifications, (void)ret;
    return error_set(err, ERROR_BAD_REQUEST,
                     "transport_url: this scoria was built without the broker's library");
}

void rpc_amqp_start(struct rpc *rpc) {
    (void)rpc;
}
#endif

/* Engine for notifications; NULL when it is the one for all messages. */
static int notifications_new(const struct config *config, const char *main_url, struct rpc **ret,
                             struct error *err) {
    const char *driver = config_text(config, NOTIFICATIONS, "driver");
    const char *url = config_text(config, NOTIFICATIONS, "transport_url");

    *ret = NULL;
    if (strcmp(driver, "noop") == 0)
        return 0;
    if (strcmp(driver, "log") == 0) {
        *ret = main_url ? rpc_local_new(1) : NULL;
        return 0;
    }
    if (!config_item(config, NOTIFICATIONS, "topics", 0))
        return error_set(err, ERROR_BAD_REQUEST, "[" NOTIFICATIONS "] topics names none");
    if (config_item(config, NOTIFICATIONS, "topics", NOTIFICATION_TOPICS_MOST))
        return error_set(err, ERROR_BAD_REQUEST, "[" NOTIFICATIONS "] topics names more than %d",
                         NOTIFICATION_TOPICS_MOST);
    if (!url)
        url = main_url;
    if (!url)
        return error_set(err, ERROR_BAD_REQUEST,
                         "[" NOTIFICATIONS "] driver is %s, but there is no transport_url", driver);
    return broker_new(config, url, true, ret, err) < 0 ? error_context(err, "[" NOTIFICATIONS "]")
                                                       : 0;
}

static struct rpc *split(const struct config *config, struct rpc *messages,
                         struct rpc *notifications) {
    autoarena struct arena *arena = arena_new();
    const char *prefixes[NOTIFICATION_TOPICS_MOST + 2] = { "notifications." };
    bool log = strcmp(config_text(config, NOTIFICATIONS, "driver"), "log") == 0;

    for (unsigned i = 0; !log && i < NOTIFICATION_TOPICS_MOST; i++) {
        const char *topic = config_item(config, NOTIFICATIONS, "topics", i);

        prefixes[i] = topic ? arena_format(arena, "%s.", topic) : NULL;
    }
    return rpc_switch_new(messages, notifications, prefixes);
}

int messaging_new(const struct config *config, struct messaging *ret, struct error *err) {
    const char *url = config_text(config, "DEFAULT", "transport_url");
    struct rpc *notifications, *messages = NULL;

    if (notifications_new(config, url, &notifications, err) < 0)
        return -1;
    if (!url) {
        messages = rpc_local_new(workers(config));
    } else if (broker_new(config, url, false, &messages, err) < 0) {
        if (notifications)
            notifications->engine->stop(notifications);
        return -1;
    }
    ret->broker = url ? messages : NULL;
    ret->rpc = notifications ? split(config, messages, notifications) : messages;
    return 0;
}

void messaging_start(const struct messaging *messaging) {
    if (messaging->broker)
        rpc_amqp_start(messaging->broker);
}

void messaging_stop(const struct messaging *messaging) {
    if (messaging->rpc)
        messaging->rpc->engine->stop(messaging->rpc);
}
