#include "rpc/amqp/source.h"

#include "common/heap.h"
#include "common/log.h"
#include "rpc/amqp/declare.h"

#include <stdio.h>
#include <stdlib.h>

enum { SILENT_MS = 15000, QUEUES = 3 /* of a topic */ };

/* ---- creation ---- */

static void source_add(struct sources *sources, struct subscription *subscription,
                       const char *exchange, const char *routing_key, const char *queue,
                       bool fanout) {
    struct source *source = heap_new(sizeof(*source));

    source->subscription = subscription;
    source->exchange = heap_text(exchange);
    source->routing_key = heap_text(routing_key);
    source->queue = heap_text(queue);
    source->fanout = fanout;
    source->channel = LINK_SOURCES + sources->count++;
    source->next = sources->first;
    sources->first = source;
}

int sources_add(struct sources *sources, struct subscription *subscription, struct error *err) {
    const struct source_settings *settings = sources->settings;
    const struct clock *clock = sources->link_settings->clock;
    const char *topic = subscription->topic;
    autoarena struct arena *arena = arena_new();
    const char *exchange = arena_format(arena, "%s_fanout", topic);
    const char *own = arena_format(arena, "%s.%s", topic, settings->server);
    unsigned char random[16];
    char hex[33];

    if (LINK_SOURCES + sources->count + QUEUES > LINK_CHANNELS)
        return error_set(err, ERROR_BAD_REQUEST, "There are too many topics for one connection.");
    clock->random(clock->arg, random, sizeof random);
    for (unsigned i = 0; i < sizeof random; i++)
        snprintf(hex + i * 2, 3, "%02x", random[i]);
    source_add(sources, subscription, settings->exchange, topic, topic, false);
    source_add(sources, subscription, settings->exchange, own, own, false);
    source_add(sources, subscription, exchange, topic, arena_format(arena, "%s_%s", exchange, hex),
               true);
    return 0;
}

void sources_free(struct sources *sources) {
    while (sources->first) {
        struct source *source = sources->first;

        sources->first = source->next;
        free(source->exchange);
        free(source->routing_key);
        free(source->queue);
        free(source);
    }
}

/* ---- deliveries ---- */

static int source_take(struct source *source, const struct source_settings *settings,
                       struct link *link, struct error *err) {
    const struct declare_source take = {
        .queue = {
            .name = source->queue,
            .exchange = source->exchange,
            .routing_key = source->routing_key,
            .durable = source->fanout ? settings->transient_quorum : settings->durable,
            .auto_delete = source->fanout ? false : settings->auto_delete,
            .quorum = source->fanout ? settings->transient_quorum : settings->quorum,
            .expires_ms = source->fanout ? settings->transient_ttl_s * 1000 : 0,
        },
        .exchange_type = source->fanout ? "fanout" : "topic",
        .exchange_auto_delete = source->fanout || settings->auto_delete,
        .prefetch = settings->prefetch,
    };

    source->state = SOURCE_ASKED;
    source->late_us = clock_monotonic_us() + SILENT_MS * 1000;
    return declare_source(link, source->channel, &take, err);
}

int sources_take(struct sources *sources, struct link *link, struct error *err) {
    int64_t now_us = clock_monotonic_us();

    for (struct source *source = sources->first; source; source = source->next) {
        if (source->state == SOURCE_ASKED && source->late_us != 0 && now_us >= source->late_us) {
            source->late_us = 0;
            log_warning(NULL, "broker does not respond for a queue", "queue", source->queue, NULL);
        }
        if (source->state == SOURCE_CLOSED && !backoff_waits(&source->backoff, now_us) &&
            source_take(source, sources->settings, link, err) < 0)
            return -1;
    }
    return 0;
}

int sources_cancel(struct sources *sources, struct link *link, struct error *err) {
    if (sources->cancelled)
        return 0;
    sources->cancelled = true;
    for (struct source *source = sources->first; source; source = source->next)
        if (source->state == SOURCE_OPEN && link_cancel(link, source->channel, err) < 0)
            return -1;
    return 0;
}

void sources_close(struct sources *sources) {
    for (struct source *source = sources->first; source; source = source->next) {
        source->state = SOURCE_CLOSED;
        source->backoff.due_us = 0;
    }
}

/* ---- events of the broker ---- */

struct source *source_of(const struct sources *sources, unsigned channel) {
    struct source *source = sources->first;

    while (source && source->channel != channel)
        source = source->next;
    return source;
}

void source_opened(struct source *source) {
    source->state = SOURCE_OPEN;
    backoff_reset(&source->backoff);
}

void source_refused(struct source *source, const struct sources *sources, const struct link *link,
                    const char *why) {
    const struct backoff_limits pauses = link_pauses(sources->link_settings);
    int64_t pause_us = backoff_fail(&source->backoff, &pauses, clock_monotonic_us());

    source->state = SOURCE_CLOSED;
    log_error(NULL,
              "queue cannot be used; do amqp_durable_queues, amqp_auto_delete and "
              "rabbit_quorum_queue have the values of the others?",
              "queue", source->queue, "broker", link_where(link), "error", why, "retry_ms",
              LOG_INT(pause_us / 1000), NULL);
}
