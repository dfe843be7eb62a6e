#include "rpc/amqp/amqp.h"

#include "common/cleanup.h"
#include "common/heap.h"
#include "rpc/amqp/receiver.h"
#include "rpc/envelope.h"

#include <string.h>

#define SECTION "oslo_messaging_rabbit"

struct amqp {
    struct rpc rpc;
    struct arena *arena;
    struct amqp_settings settings;
    struct amqp_url url;
    struct sender *sender;
    struct receiver *receiver;
};

static struct amqp *amqp_of(struct rpc *rpc) {
    return (struct amqp *)rpc; /* its first member */
}

static int amqp_subscribe(struct rpc *rpc, const char *topic, rpc_consumer *consumer, void *arg,
                          struct error *err) {
    return receiver_subscribe(amqp_of(rpc)->receiver, topic, consumer, arg, err);
}

static int amqp_publish(struct rpc *rpc, const struct rpc_message *message,
                        void (*confirm)(void *arg, bool taken), void *arg, struct error *err) {
    struct amqp *amqp = amqp_of(rpc);
    const struct amqp_settings *settings = &amqp->settings;
    autoarena struct arena *arena = arena_new();
    const char *body =
        !settings->notifications
            ? envelope_request(arena, message, envelope_unique_id(arena, settings->clock))
        : settings->bare ? message->payload
                         : envelope_wrap(arena, message->payload);
    const struct send_message send = {
        .where = settings->notifications ? SEND_NOTIFICATION : SEND_TOPIC,
        .routing_key = message->topic,
        .key = message->key,
        .content_type = "application/json",
        .body = body,
        .size = strlen(body),
    };

    if (strlen(message->topic) > 255)
        return error_set(err, ERROR_BAD_REQUEST, "Topic %s is too long for the broker.",
                         message->topic);
    sender_put(amqp->sender, &send, confirm, arg);
    return 0;
}

/* A consumer of a topic may subscribe later, and in another process. */
static enum rpc_reach amqp_reaches(struct rpc *rpc, const char *topic) {
    (void)rpc, (void)topic;
    return RPC_EVERYWHERE;
}

static const char *amqp_own_topic(struct rpc *rpc, struct arena *arena, const char *topic) {
    return arena_format(arena, "%s.%s", topic, amqp_of(rpc)->settings.server);
}

static void amqp_stop(struct rpc *rpc) {
    struct amqp *amqp = amqp_of(rpc);

    receiver_drain(amqp->receiver);
    sender_stop(
        amqp->sender); /* its last responses are for the receiver, which may use it until its end */
    receiver_free(amqp->receiver);
    sender_free(amqp->sender);
    arena_free(amqp->arena);
    free(amqp);
}

static const struct rpc_engine amqp_engine = {
    .name = "amqp",
    .subscribe = amqp_subscribe,
    .publish = amqp_publish,
    .reaches = amqp_reaches,
    .own_topic = amqp_own_topic,
    .stop = amqp_stop,
};

static int check_files(const struct config *config, struct error *err) {
    static const char *const keys[] = { "ssl_ca_file", "ssl_cert_file", "ssl_key_file" };

    for (unsigned i = 0; i < LENGTH(keys); i++) {
        const char *path = config_text(config, SECTION, keys[i]);

        if (path && access(path, R_OK) < 0)
            return error_errno(err, ERROR_BAD_REQUEST, "[" SECTION "] %s: %s cannot be read",
                               keys[i], path);
    }
    if (!config_text(config, SECTION, "ssl_cert_file") !=
        !config_text(config, SECTION, "ssl_key_file"))
        return error_set(err, ERROR_BAD_REQUEST,
                         "[" SECTION "] ssl_cert_file and ssl_key_file belong together");
    return 0;
}

int rpc_amqp_new(const struct amqp_settings *settings, struct rpc **ret, struct error *err) {
    struct amqp *amqp = heap_new(sizeof(*amqp));
    struct receiver_settings receiver;
    struct sender_settings sender;

    amqp->rpc.engine = &amqp_engine;
    amqp->settings = *settings;
    amqp->arena = arena_new();
    if (amqp_url_parse(amqp->arena, settings->url, config_bool(settings->config, SECTION, "ssl"),
                       &amqp->url, err) < 0 ||
        check_files(settings->config, err) < 0) {
        arena_free(amqp->arena);
        free(amqp);
        return -1;
    }
    receiver = (struct receiver_settings){
        .link = { .url = &amqp->url, .clock = settings->clock, .program = settings->program },
        .source = { .server = settings->server },
        .workers = settings->workers,
    };
    config_fill(settings->config, NULL, amqp_options, &receiver);
    if (receiver.source.quorum)
        receiver.source.durable = true;
    sender = (struct sender_settings){
        .link = receiver.link,
        .exchange = receiver.source.exchange,
        .durable = receiver.source.durable,
        .auto_delete = receiver.source.auto_delete,
        .quorum = receiver.source.quorum,
    };
    amqp->sender = sender_new(&sender);
    amqp->receiver = receiver_new(&receiver, amqp->sender);
    *ret = &amqp->rpc;
    return 0;
}

void rpc_amqp_start(struct rpc *rpc) {
    receiver_start(amqp_of(rpc)->receiver);
}
