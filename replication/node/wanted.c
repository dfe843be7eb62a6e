#include "replication/node/wanted.h"

#include "client/documents.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/thread.h"
#include "replication/node/reports.h"
#include "replication/node/watches.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_PERIOD_MS 1000
#define WATCHED_PERIODS   10
#define LOST_PERIOD_US    (5 * SECOND_US)
#define REST              3 /* rests so many times as long as the last list took */

struct assignments {
    struct assignment **all; /* held; in the order of their uids */
    unsigned count;
};

struct wanted {
    struct wanted_settings settings;
    pthread_t thread;
    struct watches *watches;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    bool ends, rung;
    /* The thread's own: */
    struct assignments replicas, volumes;
    bool told;      /* all of it was handed over once */
    bool silent;    /* the API's silence is in the log */
    bool lost_told; /* and volumes that it does not know */
    int64_t lost_us;
};

/* ---- lists ---- */

static void let_go(struct assignments *assignments) {
    for (unsigned i = 0; i < assignments->count; i++)
        assignment_release(assignments->all[i]);
    free(assignments->all);
    *assignments = (struct assignments){ 0 };
}

static struct assignment *find(const struct assignments *assignments, const char *uid) {
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

/* The one that is known already, if it has not changed. */
static void add(struct assignments *assignments, const struct assignments *before,
                enum assignment_kind kind, const json_t *document) {
    struct assignment *known = find(before, member_of(document, "uid")), *assignment;
    int64_t version = 0;
    struct error err;

    if (known && json_digits(member_of(document, "resourceVersion"), &version) &&
        version == known->version)
        assignments->all[assignments->count++] = assignment_hold(known);
    else if (assignment_read(kind, document, &assignment, &err) == 0)
        assignments->all[assignments->count++] = assignment;
    else if (known) /* as it was, until it makes sense again */
        assignments->all[assignments->count++] = assignment_hold(known);
    else
        log_warning(NULL, "a document is not understood", "uid", member_of(document, "uid"),
                    "reason", err.message, NULL);
}

static bool same(const struct assignments *a, const struct assignments *b) {
    if (a->count != b->count)
        return false;
    for (unsigned i = 0; i < a->count; i++) {
        if (a->all[i] != b->all[i])
            return false;
    }
    return true;
}

/* ---- asking ---- */

static int ask(const struct wanted *wanted, struct arena *arena, enum assignment_kind kind,
               const struct assignments *before, unsigned more, struct assignments *ret,
               struct error *err) {
    struct remote_documents documents = *reports_kind(kind);
    const json_t *list;

    documents.node = wanted->settings.node;
    list = documents_fetch(&wanted->settings.api, arena, &documents, err);
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

static void ask_for_lost(struct wanted *wanted, struct arena *arena, const char *uid,
                         struct assignments *volumes) {
    const json_t *document;
    struct error err;

    document =
        document_fetch(&wanted->settings.api, arena, reports_kind(ASSIGNMENT_VOLUME), uid, &err);
    if (document)
        add(volumes, &wanted->volumes, ASSIGNMENT_VOLUME, document);
    else if (err.kind == ERROR_NOT_FOUND && !wanted->lost_told)
        log_warning(NULL, "a volume is left here that the API does not know", "volume_id", uid,
                    NULL);
    if (!document && err.kind == ERROR_NOT_FOUND)
        wanted->lost_told = true;
}

static void add_lost(struct wanted *wanted, struct arena *arena, const char **held,
                     struct assignments *volumes) {
    const struct assignments named = *volumes;
    bool due = clock_monotonic_us() >= wanted->lost_us;

    for (; *held; held++) {
        struct assignment *before = find(&wanted->volumes, *held);

        if (find(&named, *held))
            continue;
        if (due)
            ask_for_lost(wanted, arena, *held, volumes);
        else if (before)
            volumes->all[volumes->count++] = assignment_hold(before);
    }
    if (due)
        wanted->lost_us = clock_monotonic_us() + LOST_PERIOD_US;
    qsort(volumes->all, volumes->count, sizeof(struct assignment *), compare);
}

static unsigned count_of(const char **held) {
    unsigned count = 0;

    while (held[count])
        count++;
    return count;
}

static void replace(struct assignments *old, struct assignments *new, bool told,
                    void (*set)(void *arg, struct assignment *const *assignments, unsigned count),
                    void *arg) {
    struct assignments before = *old;

    *old = *new;
    if (!told || !same(&before, old))
        set(arg, old->all, old->count);
    let_go(&before);
}

static int round_of(struct wanted *wanted, struct error *err) {
    const struct wanted_settings *settings = &wanted->settings;
    autoarena struct arena *arena = arena_new();
    const char **held = settings->held(settings->arg, arena);
    struct assignments replicas = { 0 }, volumes = { 0 };

    if (ask(wanted, arena, ASSIGNMENT_REPLICA, &wanted->replicas, 0, &replicas, err) < 0)
        return -1;
    if (ask(wanted, arena, ASSIGNMENT_VOLUME, &wanted->volumes, count_of(held), &volumes, err) <
        0) {
        let_go(&replicas);
        return -1;
    }
    add_lost(wanted, arena, held, &volumes);
    replace(&wanted->replicas, &replicas, wanted->told, settings->set_replicas, settings->arg);
    replace(&wanted->volumes, &volumes, wanted->told, settings->set_volumes, settings->arg);
    wanted->told = true;
    return 0;
}

/* ---- the thread ---- */

static void tell_outage(struct wanted *wanted, int outcome, const struct error *err) {
    if (outcome < 0 && !wanted->silent)
        log_warning(NULL, "the volume API does not say what this node is to have", "reason",
                    err->message, NULL);
    if (outcome == 0 && wanted->silent)
        log_info(NULL, "the volume API says again what this node is to have", NULL);
    wanted->silent = outcome < 0;
}

static void ring(void *arg) {
    struct wanted *wanted = arg;

    pthread_mutex_lock(&wanted->lock);
    wanted->rung = true;
    pthread_cond_signal(&wanted->changed);
    pthread_mutex_unlock(&wanted->lock);
}

static int64_t period_us(const struct wanted *wanted) {
    return wanted->settings.period_ms * 1000 * (watches_on(wanted->watches) ? WATCHED_PERIODS : 1);
}

/* The lock is held.  Many changes at once are one list. */
static void rest(struct wanted *wanted, int64_t begun_us) {
    int64_t now_us = clock_monotonic_us(), rested_us = now_us + REST * (now_us - begun_us);
    int64_t next_us = begun_us + period_us(wanted);

    while (!wanted->ends && thread_cond_wait(&wanted->changed, &wanted->lock, rested_us))
        ;
    while (!wanted->ends && !wanted->rung &&
           thread_cond_wait(&wanted->changed, &wanted->lock, next_us))
        ;
}

static void *run(void *arg) {
    struct wanted *wanted = arg;

    pthread_mutex_lock(&wanted->lock);
    while (!wanted->ends) {
        int64_t begun_us = clock_monotonic_us();
        struct error err = { 0 };

        wanted->rung = false;
        pthread_mutex_unlock(&wanted->lock);
        tell_outage(wanted, round_of(wanted, &err), &err);
        pthread_mutex_lock(&wanted->lock);
        rest(wanted, begun_us);
    }
    pthread_mutex_unlock(&wanted->lock);
    return NULL;
}

static int start_threads(struct wanted *wanted, struct error *err) {
    const struct watches_settings settings = {
        .api = wanted->settings.api, .node = wanted->settings.node, .ring = ring, .arg = wanted
    };
    int code;

    if (watches_start(&settings, &wanted->watches, err) < 0)
        return -1;
    code = thread_start(&wanted->thread, "wanted", run, wanted);
    if (code == 0)
        return 0;
    watches_stop(wanted->watches, INT64_MAX / 1000000);
    return error_set(err, ERROR_INTERNAL, "cannot start a thread: %s", strerror(code));
}

int wanted_start(const struct wanted_settings *settings, struct wanted **ret, struct error *err) {
    struct wanted *wanted = heap_new(sizeof(*wanted));

    wanted->settings = *settings;
    if (wanted->settings.period_ms <= 0)
        wanted->settings.period_ms = DEFAULT_PERIOD_MS;
    pthread_mutex_init(&wanted->lock, NULL);
    thread_cond_init(&wanted->changed);
    if (start_threads(wanted, err) < 0) {
        free(wanted);
        return -1;
    }
    *ret = wanted;
    return 0;
}

bool wanted_stop(struct wanted *wanted, int64_t ms) {
    if (!wanted)
        return true;
    pthread_mutex_lock(&wanted->lock);
    wanted->ends = true;
    pthread_cond_signal(&wanted->changed);
    pthread_mutex_unlock(&wanted->lock);
    /* The thread asks the watches, and these ring. */
    if (!thread_join_within(wanted->thread, ms) || !watches_stop(wanted->watches, ms))
        return false;
    let_go(&wanted->replicas);
    let_go(&wanted->volumes);
    pthread_mutex_destroy(&wanted->lock);
    pthread_cond_destroy(&wanted->changed);
    free(wanted);
    return true;
}
