#include "rpc/amqp/inbox.h"

#include "common/heap.h"
#include "common/log.h"
#include "common/thread.h"
#include "common/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

LIST_HEAD(deliveries, delivery);
STAILQ_HEAD(done, delivery);

struct inbox {
    unsigned workers;
    int paused_most;
    int wake; /* eventfd */

    /* Guards the members below; held while pools are called, so that nothing is added to one after
     * its end. */
    pthread_mutex_t lock;
    unsigned generation; /* of the connection; 0: none */
    unsigned generations;
    struct deliveries deliveries;
    struct done done;
    int paused;
    bool draining;
};

struct inbox *inbox_new(unsigned workers, int paused_most) {
    struct inbox *inbox = heap_new(sizeof(*inbox));

    inbox->workers = workers;
    inbox->paused_most = paused_most;
    inbox->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&inbox->lock, NULL);
    STAILQ_INIT(&inbox->done);
    if (inbox->wake < 0)
        abort();
    return inbox;
}

void inbox_free(struct inbox *inbox) {
    close(inbox->wake);
    pthread_mutex_destroy(&inbox->lock);
    free(inbox);
}

/* ---- the receiver's side ---- */

int inbox_fd(const struct inbox *inbox) {
    return inbox->wake;
}

void inbox_wake(struct inbox *inbox) {
    while (eventfd_write(inbox->wake, 1) < 0 && errno == EINTR)
        ;
}

void inbox_quiet(struct inbox *inbox) {
    eventfd_t ignored;

    eventfd_read(inbox->wake, &ignored);
}

void inbox_connected(struct inbox *inbox, bool connected) {
    scoped_lock(&inbox->lock);
    inbox->generation = connected ? ++inbox->generations : 0;
}

void inbox_add(struct inbox *inbox, struct delivery *delivery) {
    scoped_lock(&inbox->lock);
    delivery->generation = inbox->generation;
    LIST_INSERT_HEAD(&inbox->deliveries, delivery, all);
}

struct delivery *inbox_done(struct inbox *inbox, bool *ret_lost) {
    struct delivery *delivery;

    scoped_lock(&inbox->lock);
    delivery = STAILQ_FIRST(&inbox->done);
    if (delivery) {
        STAILQ_REMOVE_HEAD(&inbox->done, done);
        LIST_REMOVE(delivery, all);
        *ret_lost = delivery->generation != inbox->generation;
    }
    return delivery;
}

struct delivery *inbox_rest(struct inbox *inbox) {
    struct delivery *delivery;

    scoped_lock(&inbox->lock);
    delivery = LIST_FIRST(&inbox->deliveries);
    if (delivery)
        LIST_REMOVE(delivery, all);
    return delivery;
}

void inbox_drain(struct inbox *inbox) {
    scoped_lock(&inbox->lock);
    inbox->draining = true;
}

/* ---- the delivery's side ---- */

static void run_step(void *arg) {
    struct delivery *delivery = arg;

    delivery->step(delivery);
}

void inbox_later(struct delivery *delivery, int64_t pause_ms) {
    struct inbox *inbox = delivery->means->inbox;
    struct worker_pool **pool = &delivery->subscription->pool;
    struct work_item item = { delivery->key, delivery->envelope.project, run_step, delivery };

    scoped_lock(&inbox->lock);
    if (!inbox->draining && !*pool)
        *pool = worker_pool_new_fair("rpc", inbox->workers);
    if (!inbox->draining && pause_ms == 0)
        worker_pool_put(*pool, &item);
    else if (!inbox->draining)
        worker_pool_put_later(*pool, &item, pause_ms);
}

bool inbox_lost(struct delivery *delivery) {
    struct inbox *inbox = delivery->means->inbox;

    scoped_lock(&inbox->lock);
    return delivery->generation != inbox->generation;
}

bool inbox_handled(struct delivery *delivery) {
    struct inbox *inbox = delivery->means->inbox;
    const char *id = delivery->envelope.unique_id;
    bool handled;

    pthread_mutex_lock(&inbox->lock);
    handled = recent_has(&delivery->subscription->handled, id, 0);
    pthread_mutex_unlock(&inbox->lock);
    if (handled)
        log_info(NULL, "duplicate message dropped", "queue", delivery->queue, "method",
                 delivery->envelope.method, "id", id, NULL);
    return handled;
}

void inbox_remember(struct delivery *delivery) {
    struct inbox *inbox = delivery->means->inbox;

    scoped_lock(&inbox->lock);
    recent_put(&delivery->subscription->handled, delivery->envelope.unique_id, INT64_MAX);
}

void inbox_finish(struct delivery *delivery) {
    struct inbox *inbox = delivery->means->inbox;

    pthread_mutex_lock(&inbox->lock);
    STAILQ_INSERT_TAIL(&inbox->done, delivery, done);
    pthread_mutex_unlock(&inbox->lock);
    inbox_wake(inbox);
}

bool inbox_may_pause(struct inbox *inbox) {
    scoped_lock(&inbox->lock);
    return inbox->paused < inbox->paused_most;
}

void inbox_paused(struct inbox *inbox, int change) {
    scoped_lock(&inbox->lock);
    inbox->paused += change;
}
