#include "manager/runtime/overtake.h"

#include "common/thread.h"
#include "operation/operation.h"

#define LOOK_US   (5 * SECOND_US)
#define WAITED_US (15 * SECOND_US)
#define AGAIN_US  (60 * SECOND_US) /* by then the previous message has arrived, or is lost */
#define AT_ONCE   32

struct look {
    const struct manager_lane *lane;
    int64_t now_us;
    struct operation *found;
    int count;
    bool told[AT_ONCE];
};

static int look_body(struct work *work, void *arg, struct error *err) {
    struct look *look = arg;

    look->count = operation_unserved(work, look->lane->host->host, look->lane->is_long,
                                     look->now_us - WAITED_US, look->now_us - AGAIN_US, AT_ONCE,
                                     &look->found, err);
    return look->count;
}

static int note_body(struct work *work, void *arg, struct error *err) {
    struct look *look = arg;

    for (int i = 0; i < look->count; i++) {
        int noted = operation_note_announced(work, &look->found[i], err);

        if (noted < 0)
            return -1;
        look->told[i] = noted > 0;
    }
    return 0;
}

/* One that does not arrive is announced again, or comes in its turn. */
static void arrived(void *arg, bool taken) {
    struct manager_lane *lane = arg;

    (void)taken;
    scoped_lock(&lane->host->manager->lock);
    lane->overtaking--;
}

static void tell(struct manager_lane *lane, const struct work *base, const char *topic,
                 const struct operation *operation) {
    const struct outbox_message message = operation_message(base->arena, operation, NULL);
    const struct rpc_message past = { .topic = topic,
                                      .method = message.method,
                                      .key = message.key,
                                      .project = message.project,
                                      .payload = message.payload };
    struct manager *manager = lane->host->manager;
    struct rpc *rpc = manager->settings.rpc;

    pthread_mutex_lock(&manager->sending);
    if (!manager_is_draining(manager)) {
        pthread_mutex_lock(&manager->lock);
        lane->overtaking++;
        pthread_mutex_unlock(&manager->lock);
        if (rpc->engine->publish(rpc, &past, arrived, lane, NULL) < 0)
            arrived(lane, false);
    }
    pthread_mutex_unlock(&manager->sending);
}

static const char *own_topic(struct manager_lane *lane, struct arena *arena) {
    struct rpc *rpc = lane->host->manager->settings.rpc;
    const char *topic = NULL;

    scoped_lock(&lane->host->manager->sending);
    if (!manager_is_draining(lane->host->manager) && rpc->engine->own_topic)
        topic = rpc->engine->own_topic(rpc, arena, lane->topic);
    return topic;
}

int overtake(struct manager_lane *lane, const struct work *base, struct error *err) {
    const struct manager_settings *settings = &lane->host->manager->settings;
    const char *topic = own_topic(lane, base->arena);
    struct look look = { .lane = lane, .now_us = clock_shared_us(settings->settings->clock) };
    int64_t steady_us = clock_steady_us(settings->settings->clock);
    bool on_their_way;

    pthread_mutex_lock(&lane->host->manager->lock);
    on_their_way = lane->overtaking > 0;
    pthread_mutex_unlock(&lane->host->manager->lock);
    /* While the broker has not accepted the previous ones, more would accumulate in memory. */
    if (!topic || on_their_way || steady_us - lane->overtook_at < LOOK_US)
        return 0;
    lane->overtook_at = steady_us;
    if (work_read(settings->db, base, look_body, &look, err) < 0)
        return -1;
    if (look.count > 0 && work_transaction(settings->db, base, note_body, &look, err) < 0)
        return -1;
    for (int i = 0; i < look.count; i++)
        if (look.told[i])
            tell(lane, base, topic, &look.found[i]);
    return 0;
}
