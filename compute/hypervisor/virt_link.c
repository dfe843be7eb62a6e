#include "compute/hypervisor/virt_link.h"

#include "common/heap.h"
#include "common/log.h"
#include "common/thread.h"
#include "compute/hypervisor/virt.h"

#include <stdbool.h>
#include <stdlib.h>

/* A daemon without a response for 3 × 3 s counts as gone: its pending calls fail. */
#define KEEPALIVE_SECONDS 3
#define KEEPALIVE_MISSES  3

struct virt_link {
    char *uri;
    pthread_mutex_t lock; /* guards the rest */
    virConnectPtr connection;
    bool unresponsive; /* the outage is logged */
    bool was_there;    /* it has responded before */
};

/* libvirt would write every error to stderr; they are logged instead. */
static void ignore_error(void *arg, virErrorPtr failure) {
    (void)arg;
    (void)failure;
}

static void *run_events(void *arg) {
    (void)arg;
    while (virt.virEventRunDefaultImpl() == 0)
        continue;
    return NULL;
}

/* libvirt has one event loop for a process; it serves keepalives only. */
static void start_events(void) {
    pthread_t thread;

    virt.virSetErrorFunc(NULL, ignore_error);
    virt.virInitialize();
    if (virt.virEventRegisterDefaultImpl() == 0 &&
        pthread_create(&thread, NULL, run_events, NULL) == 0)
        pthread_detach(thread);
}

struct virt_link *virt_link_new(const char *uri) {
    struct virt_link *link = heap_new(sizeof(*link));

    link->uri = heap_text(uri);
    pthread_mutex_init(&link->lock, NULL);
    return link;
}

void virt_link_free(struct virt_link *link) {
    if (link->connection)
        virt.virConnectClose(link->connection);
    pthread_mutex_destroy(&link->lock);
    free(link->uri);
    free(link);
}

/* `reason`: NULL while it responds. */
static void note_outage(struct virt_link *link, const char *reason) {
    bool changed, was_there, unresponsive = reason != NULL;

    pthread_mutex_lock(&link->lock);
    changed = link->unresponsive != unresponsive;
    link->unresponsive = unresponsive;
    was_there = link->was_there;
    link->was_there |= !unresponsive;
    pthread_mutex_unlock(&link->lock);
    if (changed && unresponsive && was_there)
        log_error(NULL, "libvirt does not respond", "uri", link->uri, "reason", reason, NULL);
    else if (changed && unresponsive) /* as on a host without guests */
        log_info(NULL, "no libvirt on this host: attached volumes cannot grow here", "uri",
                 link->uri, "reason", reason, NULL);
    if (changed && !unresponsive)
        log_info(NULL, was_there ? "libvirt responds again" : "libvirt responds", "uri", link->uri,
                 NULL);
}

virConnectPtr virt_link_open(struct virt_link *link, struct error *err) {
    static pthread_once_t started = PTHREAD_ONCE_INIT;
    bool loaded = virt_library_load(err) == 0;
    virConnectPtr connection = NULL;

    if (loaded) {
        pthread_once(&started, start_events);
        connection = virt.virConnectOpen(link->uri);
    }

    if (!connection) {
        if (loaded)
            virt_fail(NULL, link->uri, err);
        err->kind = ERROR_UNAVAILABLE;
        note_outage(link, err->message);
        return NULL;
    }
    /* Drivers without a daemon have no keepalive and need none. */
    virt.virConnectSetKeepAlive(connection, KEEPALIVE_SECONDS, KEEPALIVE_MISSES);
    note_outage(link, NULL);
    return connection;
}

/* NULL when there is none or it is not alive. */
static virConnectPtr refer(struct virt_link *link) {
    virConnectPtr connection, stale = NULL;

    pthread_mutex_lock(&link->lock);
    connection = link->connection;
    if (connection && virt.virConnectIsAlive(connection) != 1) {
        stale = connection;
        connection = link->connection = NULL;
    }
    if (connection)
        virt.virConnectRef(connection);
    pthread_mutex_unlock(&link->lock);
    if (stale)
        virt.virConnectClose(stale);
    return connection;
}

/* A daemon that accepts connections and never responds blocks the callers that open one, but not
 * the lock. */
virConnectPtr virt_link_share(struct virt_link *link, struct error *err) {
    virConnectPtr connection = refer(link);

    if (connection)
        return connection;
    connection = virt_link_open(link, err);
    scoped_lock(&link->lock);
    if (connection && !link->connection) {
        link->connection = connection;
        virt.virConnectRef(connection);
    }
    return connection;
}
