#include "replication/node/assignment_informer.h"

#include "client/documents.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/thread.h"
#include "replication/node/assignment_watches.h"
#include "replication/node/reports.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_PERIOD_MS 1000
#define WATCHED_PERIODS   10
#define LOST_PERIOD_US    (5 * SECOND_US)
#define PAUSE_RATIO       3 /* ratio of the pause to the duration of the last list */
/* Lists may precede their pauses by that: a publish takes several short ones, each after a change
 * that this node's report has caused. */
#define BURST_US (50 * INT64_C(1000))

struct assignments {
    struct assignment **all; /* held; ordered by uid */
    unsigned count;
};

struct assignment_informer {
    struct assignment_informer_settings settings;
    pthread_t thread;
    struct assignment_watches *watches;
    pthread_mutex_t lock; /* guards the following */
    pthread_cond_t changed;
    bool ends, notified;
    /* Of its thread: */
    struct assignments replicas, volumes;
    int64_t paid_us;    /* all lists so far have had their pauses then */
    bool delivered;     /* all assignments were delivered once */
    bool outage_logged; /* the outage of the API is in the log */
    bool lost_logged;   /* and so are volumes unknown to it */
    int64_t lost_us;
};

/* ---- lists ---- */

static void release_all(struct assignments *assignments) {
    for (unsigned i = 0; i < assignments->count; i++)
        assignment_release(assignments->all[i]);
    free(assignments->all);
    *assignments = (struct assignments){ 0 };
}

static struct assignment *assignment_find(const struct assignments *assignments, const char *uid) {
    unsigned low = 0, high = assignments->count;

    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        int order = strcmp(assignments->all[middle]->uid, uid);

        if (order == 0)
            return assignments->all[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static int compare(const void *a, const void *b) {
    return strcmp((*(struct assignment *const *)a)->uid, (*(struct assignment *const *)b)->uid);
}

static const char *member_of(const json_t *document, const char *key) {
    const char *text = json_text_of(json_object_get(document, "metadata"), key);

    return text ? text : "";
}

/* The known one, if its version is the same. */
static void add(struct assignments *assignments, const struct assignments *before,
                enum assignment_kind kind, const json_t *document) {
    struct assignment *known = assignment_find(before, member_of(document, "uid")), *assignment;
    int64_t version = 0;
    struct error err;

    if (known && json_digits(member_of(document, "resourceVersion"), &version) &&
        version == known->version)
        assignments->all[assignments->count++] = assignment_hold(known);
    else if (assignment_read(kind, document, &assignment, &err) == 0)
        assignments->all[assignments->count++] = assignment;
    else if (known) /* kept until its document is valid again */
        assignments->all[assignments->count++] = assignment_hold(known);
    else
        log_warning(NULL, "invalid document ignored", "uid", member_of(document, "uid"), "reason",
                    err.message, NULL);
}

/* ---- queries ---- */

static int list(const struct assignment_informer *informer, struct arena *arena,
                enum assignment_kind kind, const struct assignments *before, unsigned more,
                struct assignments *ret, struct error *err) {
    struct remote_documents documents = *reports_kind(kind);
    const json_t *list;

    documents.node = informer->settings.node;
    list = documents_fetch(&informer->settings.api, arena, &documents, err);
    if (!list)
        return -1;
    *ret = (struct assignments){
        heap_new((json_array_size(list) + more + 1) * sizeof(struct assignment *)), 0
    };
    for (size_t i = 0; i < json_array_size(list); i++)
        add(ret, before, kind, json_array_get(list, i));
    qsort(ret->all, ret->count, sizeof(struct assignment *), compare);
    return 0;
}

static void add_lost(struct assignment_informer *informer, struct arena *arena,
                     const char **local_volumes, struct assignments *volumes) {
    const struct assignments named = *volumes;
    bool due = clock_monotonic_us() >= informer->lost_us;

    for (; *local_volumes; local_volumes++) {
        struct assignment *before = assignment_find(&informer->volumes, *local_volumes);
        const json_t *document;
        struct error err;

        if (assignment_find(&named, *local_volumes))
            continue;
        if (!due) {
            if (before)
                volumes->all[volumes->count++] = assignment_hold(before);
            continue;
        }
        document = document_fetch(&informer->settings.api, arena, reports_kind(ASSIGNMENT_VOLUME),
                                  *local_volumes, &err);
        if (document) {
            add(volumes, &informer->volumes, ASSIGNMENT_VOLUME, document);
        } else if (err.kind == ERROR_NOT_FOUND) {
            if (!informer->lost_logged)
                log_warning(NULL, "local volume unknown to the volume API", "volume_id",
                            *local_volumes, NULL);
            informer->lost_logged = true;
        }
    }
    if (due)
        informer->lost_us = clock_monotonic_us() + LOST_PERIOD_US;
    qsort(volumes->all, volumes->count, sizeof(struct assignment *), compare);
}

static void replace(struct assignments *old, struct assignments *new, bool delivered,
                    void (*set)(void *arg, struct assignment *const *assignments, unsigned count),
                    void *arg) {
    struct assignments before = *old;
    bool changed = !delivered || before.count != new->count;

    *old = *new;
    for (unsigned i = 0; !changed && i < before.count; i++)
        changed = before.all[i] != old->all[i];
    if (changed)
        set(arg, old->all, old->count);
    release_all(&before);
}

static int run_round(struct assignment_informer *informer, struct error *err) {
    const struct assignment_informer_settings *settings = &informer->settings;
    autoarena struct arena *arena = arena_new();
    const char **local_volumes = settings->local_volumes(settings->arg, arena);
    struct assignments replicas = { 0 }, volumes = { 0 };
    unsigned more = 0;

    while (local_volumes[more])
        more++;
    if (list(informer, arena, ASSIGNMENT_REPLICA, &informer->replicas, 0, &replicas, err) < 0)
        return -1;
    if (list(informer, arena, ASSIGNMENT_VOLUME, &informer->volumes, more, &volumes, err) < 0) {
        release_all(&replicas);
        return -1;
    }
    add_lost(informer, arena, local_volumes, &volumes);
    replace(&informer->replicas, &replicas, informer->delivered, settings->set_replicas,
            settings->arg);
    replace(&informer->volumes, &volumes, informer->delivered, settings->set_volumes,
            settings->arg);
    informer->delivered = true;
    return 0;
}

/* ---- the thread ---- */

static void notify(void *arg) {
    struct assignment_informer *informer = arg;

    pthread_mutex_lock(&informer->lock);
    informer->notified = true;
    pthread_cond_signal(&informer->changed);
    pthread_mutex_unlock(&informer->lock);
}

int64_t assignment_informer_pause_us(int64_t list_us, int64_t period_ms) {
    int64_t most_us = period_ms * 1000 * WATCHED_PERIODS;

    return list_us > most_us / PAUSE_RATIO ? most_us : PAUSE_RATIO * list_us;
}

int64_t assignment_informer_next_us(int64_t begun_us, int64_t now_us, int64_t period_ms,
                                    int64_t *paid_us) {
    if (*paid_us < begun_us)
        *paid_us = begun_us;
    *paid_us += now_us - begun_us + assignment_informer_pause_us(now_us - begun_us, period_ms);
    return *paid_us - BURST_US;
}

/* The lock is held.  Simultaneous changes are read by one list. */
static void pause_before_next(struct assignment_informer *informer, int64_t begun_us) {
    bool connected = assignment_watches_connected(informer->watches);
    int64_t period_us = informer->settings.period_ms * 1000 * (connected ? WATCHED_PERIODS : 1);
    int64_t next_us = begun_us + period_us;
    int64_t paused_us = assignment_informer_next_us(
        begun_us, clock_monotonic_us(), informer->settings.period_ms, &informer->paid_us);

    while (!informer->ends && thread_cond_wait(&informer->changed, &informer->lock, paused_us))
        ;
    while (!informer->ends && !informer->notified &&
           thread_cond_wait(&informer->changed, &informer->lock, next_us))
        ;
}

static void *run(void *arg) {
    struct assignment_informer *informer = arg;

    pthread_mutex_lock(&informer->lock);
    while (!informer->ends) {
        int64_t begun_us = clock_monotonic_us();
        struct error err = { 0 };
        int outcome;

        informer->notified = false;
        pthread_mutex_unlock(&informer->lock);
        outcome = run_round(informer, &err);
        if (outcome < 0 && !informer->outage_logged)
            log_warning(NULL, "cannot fetch this node's assignments from the volume API", "reason",
                        err.message, NULL);
        if (outcome == 0 && informer->outage_logged)
            log_info(NULL, "this node's assignments fetched again from the volume API", NULL);
        informer->outage_logged = outcome < 0;
        pthread_mutex_lock(&informer->lock);
        pause_before_next(informer, begun_us);
    }
    pthread_mutex_unlock(&informer->lock);
    return NULL;
}

int assignment_informer_start(const struct assignment_informer_settings *settings,
                              struct assignment_informer **ret, struct error *err) {
    struct assignment_informer *informer = heap_new(sizeof(*informer));
    const struct assignment_watches_settings watches = {
        .api = settings->api, .node = settings->node, .notify = notify, .arg = informer
    };
    int code;

    informer->settings = *settings;
    if (informer->settings.period_ms <= 0)
        informer->settings.period_ms = DEFAULT_PERIOD_MS;
    pthread_mutex_init(&informer->lock, NULL);
    thread_cond_init(&informer->changed);
    if (assignment_watches_start(&watches, &informer->watches, err) < 0) {
        free(informer);
        return -1;
    }
    code = thread_start(&informer->thread, "wanted", run, informer);
    if (code == 0) {
        *ret = informer;
        return 0;
    }
    assignment_watches_stop(informer->watches, INT64_MAX / 1000000);
    free(informer);
    return error_set(err, ERROR_INTERNAL, "cannot start a thread: %s", strerror(code));
}

bool assignment_informer_stop(struct assignment_informer *informer, int64_t ms) {
    if (!informer)
        return true;
    pthread_mutex_lock(&informer->lock);
    informer->ends = true;
    pthread_cond_signal(&informer->changed);
    pthread_mutex_unlock(&informer->lock);
    /* In this order, as the thread uses the watches, and these notify it. */
    if (!thread_join_within(informer->thread, ms) ||
        !assignment_watches_stop(informer->watches, ms))
        return false;
    release_all(&informer->replicas);
    release_all(&informer->volumes);
    pthread_mutex_destroy(&informer->lock);
    pthread_cond_destroy(&informer->changed);
    free(informer);
    return true;
}
