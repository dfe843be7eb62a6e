#include "rpc/amqp/delivery.h"

#include "common/backoff.h"
#include "common/log.h"
#include "rpc/amqp/answers.h"

#include <stdlib.h>
#include <string.h>

enum { PAUSE_FIRST_MS = 100, PAUSE_MOST_MS = 10000, ATTEMPTS_MOST = 1000000 };

static const struct backoff_limits pauses = { .first_us = PAUSE_FIRST_MS * 1000,
                                              .most_us = PAUSE_MOST_MS * 1000 };

#define JSON_TYPE "application/json"

static void answer(struct delivery *delivery, const struct rpc_answer *answer, int refusal) {
    const struct delivery_means *means = delivery->means;
    const char *queue = delivery->envelope.reply_queue;

    if (!queue)
        return;
    answers_leave(means->answers, &delivery->monitored);
    answers_send(means->answers, queue,
                 envelope_reply(delivery->arena, &delivery->envelope, answer, refusal,
                                envelope_unique_id(delivery->arena, means->clock)));
}

/* ---- dead letters ---- */

static void put_aside(struct delivery *delivery);

/* Called by the sender. */
static void aside_confirm(void *arg, bool taken) {
    struct delivery *delivery = arg;

    if (taken) {
        inbox_finish(delivery);
        return;
    }
    delivery->step = put_aside;
    inbox_later(delivery, PAUSE_MOST_MS);
}

static void put_aside(struct delivery *delivery) {
    const struct send_message message = {
        .where = SEND_DEAD,
        .routing_key = SENDER_DEAD_QUEUE,
        .key = "",
        .content_type =
            *delivery->content_type ? delivery->content_type : "application/octet-stream",
        .body = delivery->body,
        .size = delivery->body ? delivery->size : 0,
        .reason = delivery->reason,
    };

    sender_put(delivery->means->sender, &message, aside_confirm, delivery);
}

/* A caller gets the error; a message without a reply queue is kept for the operator. */
static void delivery_refuse(struct delivery *delivery, int refusal, const struct error *why) {
    const struct rpc_answer failure = { .arena = delivery->arena, .failure = *why };
    const struct envelope *envelope = &delivery->envelope;

    log_error(NULL, envelope->reply_queue ? "call refused" : "message moved to dead letters",
              "queue", delivery->queue, "method", envelope->method, "version", envelope->version,
              "reason", why->message, NULL);
    if (envelope->reply_queue) {
        answer(delivery, &failure, refusal);
        inbox_finish(delivery);
        return;
    }
    delivery->reason = arena_text(delivery->arena, why->message);
    put_aside(delivery);
}

static void refuse_method(struct delivery *delivery, int refusal, struct error *err) {
    if (refusal == RPC_NO_METHOD)
        error_set(err, ERROR_BAD_REQUEST, "unknown method");
    else if (refusal == RPC_NO_VERSION)
        error_set(err, ERROR_BAD_REQUEST, "unsupported version of the method");
    delivery_refuse(delivery, refusal, err);
}

/* ---- delivery ---- */

static void deliver(struct delivery *delivery);

static void again_confirm(void *arg, bool taken);

/* To the end of its queue, so that other messages get its slot here. */
static void send_again(struct delivery *delivery) {
    const struct send_message message = {
        .where = SEND_QUEUE,
        .routing_key = delivery->queue,
        .key = "",
        .content_type = delivery->content_type,
        .body = delivery->body,
        .size = delivery->size,
        .attempts = delivery->attempts,
    };

    if (inbox_lost(delivery))
        inbox_finish(delivery);
    else
        sender_put(delivery->means->sender, &message, again_confirm, delivery);
}

static void again_confirm(void *arg, bool taken) {
    struct delivery *delivery = arg;

    if (taken) {
        inbox_finish(delivery);
        return;
    }
    delivery->step = send_again;
    inbox_later(delivery, PAUSE_MOST_MS);
}

static void end_pause(struct delivery *delivery) {
    inbox_paused(delivery->means->inbox, -1);
    deliver(delivery);
}

static void try_later(struct delivery *delivery, const struct error *err) {
    log_warning(NULL, "message failed, redelivering", "queue", delivery->queue, "method",
                delivery->envelope.method, "key", delivery->key, "error", err->message, NULL);
    if (delivery->attempts < ATTEMPTS_MOST)
        delivery->attempts++;
    if (inbox_may_pause(delivery->means->inbox)) {
        inbox_paused(delivery->means->inbox, 1);
        delivery->step = end_pause;
        inbox_later(delivery, backoff_pause_us(&pauses, (unsigned)delivery->attempts) / 1000);
    } else {
        delivery->step = send_again;
        inbox_later(delivery, PAUSE_FIRST_MS);
    }
}

static void deliver(struct delivery *delivery) {
    const struct envelope *envelope = &delivery->envelope;
    bool own = envelope->namespace != NULL;
    struct rpc_answer result = { .arena = delivery->arena };
    const struct rpc_message message = {
        .topic = delivery->subscription->topic,
        .method = envelope->method,
        .key = delivery->key,
        .project = envelope->project,
        .payload = envelope->arguments,
        .version = own ? NULL : envelope->version,
        .answer = envelope->reply_queue ? &result : NULL,
    };
    struct error err = { .kind = ERROR_NONE };
    int outcome;

    if (inbox_lost(delivery) || inbox_handled(delivery)) {
        inbox_finish(delivery);
        return;
    }
    outcome = delivery->subscription->consumer(delivery->subscription->arg, &message, &err);
    if (outcome < 0) {
        try_later(delivery, &err);
    } else if (outcome > 0) {
        refuse_method(delivery, outcome, &err);
    } else {
        inbox_remember(delivery);
        answer(delivery, &result, 0);
        inbox_finish(delivery);
    }
}

/* ---- arrival ---- */

/* Scoria's own namespace in a supported version, or none. */
static int check_namespace(const struct envelope *envelope) {
    unsigned major, minor;

    if (!envelope->namespace)
        return 0;
    if (strcmp(envelope->namespace, ENVELOPE_NAMESPACE) != 0)
        return RPC_NO_METHOD;
    return envelope_version(envelope->version, &major, &minor) && major == 1 && minor == 0
               ? 0
               : RPC_NO_VERSION;
}

static int read_body(struct delivery *delivery, struct error *err) {
    if (!delivery->body)
        return error_set(err, ERROR_BAD_REQUEST, "the body is longer than %zu bytes",
                         LINK_BODY_MOST);
    if (strcmp(delivery->content_type, JSON_TYPE) != 0)
        return error_set(err, ERROR_BAD_REQUEST, "the content type is not " JSON_TYPE);
    return envelope_read(delivery->arena, delivery->body, delivery->size, &delivery->envelope, err);
}

void delivery_begin(struct delivery *delivery, struct link_event *event) {
    struct error err = { .kind = ERROR_NONE };
    int refusal;

    delivery->body = event->body;
    delivery->size = event->size;
    delivery->attempts = event->attempts;
    delivery->key = "";
    memcpy(delivery->content_type, event->content_type, sizeof delivery->content_type);
    event->body = NULL;
    if (read_body(delivery, &err) < 0) {
        delivery_refuse(delivery, RPC_BAD_ARGUMENTS, &err);
        return;
    }
    delivery->key = delivery->envelope.key;
    refusal = check_namespace(&delivery->envelope);
    if (refusal) {
        refuse_method(delivery, refusal, &err);
        return;
    }
    answers_watch(delivery->means->answers, &delivery->monitored, &delivery->envelope);
    inbox_wake(delivery->means->inbox);
    delivery->step = deliver;
    inbox_later(delivery, 0);
}

void delivery_free(struct delivery *delivery) {
    answers_leave(delivery->means->answers, &delivery->monitored);
    arena_free(delivery->arena);
    free(delivery->body);
    free(delivery);
}
