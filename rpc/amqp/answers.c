#include "rpc/amqp/answers.h"

#include "common/heap.h"
#include "common/log.h"
#include "common/thread.h"
#include "common/worker.h"
#include "rpc/amqp/recent.h"

#include <stdlib.h>
#include <string.h>

/* Responses that wait for their queue to reappear, and all in flight. */
enum { REPLIES_AGAIN = 256, REPLIES_MOST = 4096 };

enum { REPLY_AGAIN_MS = 250, REPLY_LIFE_MS = 60000 };

/* A response whose queue does not exist. */
struct reply {
    LIST_ENTRY(reply) all;
    struct answers *answers;
    int64_t until_us;
    const char *body; /* after the name of the queue */
    char queue[];
};

LIST_HEAD(replies, reply);

struct answers {
    struct sender *sender;
    const struct clock *clock;
    struct monitor *monitor;

    /* Guards the members below; held while the pool is called, so that nothing is added to it after
     * its end. */
    pthread_mutex_t lock;
    struct worker_pool *pool; /* of those that wait for a retry */
    struct replies replies;
    unsigned reply_count, beat_count;
    struct recent absent; /* queues without a reader */
    bool draining;
};

static void reply_send(void *arg);

static void reply_end(struct reply *reply) {
    struct answers *answers = reply->answers;

    pthread_mutex_lock(&answers->lock);
    LIST_REMOVE(reply, all);
    answers->reply_count--;
    pthread_mutex_unlock(&answers->lock);
    free(reply);
}

static bool is_absent(struct answers *answers, const char *queue) {
    scoped_lock(&answers->lock);
    return recent_has(&answers->absent, queue, clock_monotonic_us());
}

/* Called by the sender. */
static void reply_confirm(void *arg, bool taken) {
    struct reply *reply = arg;
    struct answers *answers = reply->answers;
    bool again = false;

    if (!taken && clock_monotonic_us() < reply->until_us && !is_absent(answers, reply->queue)) {
        pthread_mutex_lock(&answers->lock);
        again = !answers->draining && answers->reply_count <= REPLIES_AGAIN;
        if (again)
            worker_pool_put_later(answers->pool,
                                  &(struct work_item){ .run = reply_send, .arg = reply },
                                  REPLY_AGAIN_MS);
        pthread_mutex_unlock(&answers->lock);
    }
    if (again)
        return;
    if (!taken && !is_absent(answers, reply->queue)) { /* the caller is gone */
        pthread_mutex_lock(&answers->lock);
        recent_put(&answers->absent, reply->queue, clock_monotonic_us() + REPLY_LIFE_MS * 1000);
        pthread_mutex_unlock(&answers->lock);
        log_warning(NULL, "response dropped, no reply queue", "queue", reply->queue, NULL);
    }
    reply_end(reply);
}

static struct send_message message_to(const char *queue, const char *body) {
    return (struct send_message){
        .where = SEND_QUEUE,
        .routing_key = queue,
        .key = "",
        .content_type = "application/json",
        .body = body,
        .size = strlen(body),
    };
}

static void reply_send(void *arg) {
    struct reply *reply = arg;
    const struct send_message message = message_to(reply->queue, reply->body);

    sender_put(reply->answers->sender, &message, reply_confirm, reply);
}

void answers_send(struct answers *answers, const char *queue, const char *body) {
    size_t length = strlen(queue) + 1;
    struct reply *reply;
    bool too_many;

    if (is_absent(answers, queue))
        return;
    reply = heap_new(sizeof *reply + length + strlen(body) + 1);
    reply->answers = answers;
    reply->until_us = clock_monotonic_us() + REPLY_LIFE_MS * 1000;
    memcpy(reply->queue, queue, length);
    reply->body = strcpy(reply->queue + length, body);
    pthread_mutex_lock(&answers->lock);
    LIST_INSERT_HEAD(&answers->replies, reply, all);
    too_many = ++answers->reply_count > REPLIES_MOST;
    pthread_mutex_unlock(&answers->lock);
    if (too_many) {
        log_warning(NULL, "response dropped, too many pending responses", "queue", queue, NULL);
        reply_end(reply);
    } else {
        reply_send(reply);
    }
}

/* ---- heartbeats ---- */

/* Called by the sender.  A lost one is not repeated: another follows. */
static void beat_confirm(void *arg, bool taken) {
    struct answers *answers = arg;

    (void)taken;
    scoped_lock(&answers->lock);
    answers->beat_count--;
}

/* Called by the monitor.  They do not pile up while the broker accepts none. */
static void send_beat(void *arg, const struct envelope *called) {
    struct answers *answers = arg;
    autoarena struct arena *arena = arena_new();
    const char *body = envelope_heartbeat(arena, called, envelope_unique_id(arena, answers->clock));
    const struct send_message message = message_to(called->reply_queue, body);
    bool too_many;

    pthread_mutex_lock(&answers->lock);
    too_many = answers->beat_count >= REPLIES_AGAIN;
    answers->beat_count += !too_many;
    pthread_mutex_unlock(&answers->lock);
    if (!too_many)
        sender_put(answers->sender, &message, beat_confirm, answers);
}

void answers_watch(struct answers *answers, struct monitored *call, const struct envelope *called) {
    monitor_watch(answers->monitor, call, called, clock_monotonic_us());
}

void answers_leave(struct answers *answers, struct monitored *call) {
    monitor_leave(answers->monitor, call);
}

int64_t answers_beat(struct answers *answers, int64_t now_us) {
    return monitor_beat(answers->monitor, now_us);
}

/* ---- start and end ---- */

struct answers *answers_new(struct sender *sender, const struct clock *clock) {
    struct answers *answers = heap_new(sizeof *answers);

    answers->sender = sender;
    answers->clock = clock;
    answers->monitor = monitor_new(send_beat, answers);
    pthread_mutex_init(&answers->lock, NULL);
    return answers;
}

void answers_start(struct answers *answers) {
    answers->pool = worker_pool_new("answers", 1);
}

void answers_drain(struct answers *answers) {
    scoped_lock(&answers->lock);
    answers->draining = true;
}

void answers_stop(struct answers *answers) {
    if (answers->pool)
        worker_pool_stop(answers->pool);
    monitor_end(
        answers->monitor); /* the next process that handles the calls sends their heartbeats */
}

void answers_free(struct answers *answers) {
    struct reply *reply;

    while ((reply = LIST_FIRST(&answers->replies))) {
        LIST_REMOVE(reply, all);
        free(reply);
    }
    monitor_free(answers->monitor);
    pthread_mutex_destroy(&answers->lock);
    free(answers);
}
