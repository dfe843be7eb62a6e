#include "replication/node/reports.h"

#include "client/documents.h"
#include "common/backoff.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/thread.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define DEFAULT_COUNTERS_MS 30000
#define DEFAULT_RUNNING_MS  2000
#define DEFAULT_RETRY_MS    1000
#define DEFAULT_AGAIN_MS    600000
#define DEFAULT_DIFFERS_MS  5000
#define RETRY_GROWTH        32 /* most growth of a pause */

struct report {
    LIST_ENTRY(report) next;
    enum assignment_kind kind;
    char uid[UUID_SIZE];
    char *status, *summary;
    char *sent_status, *sent_summary; /* last answered ones; NULL: none */
    bool last, taken, differs, runs;
    struct backoff backoff;
    int64_t sent_us;
};

struct reports {
    struct reports_settings settings;
    pthread_t thread;
    pthread_mutex_t lock; /* guards the following */
    pthread_cond_t changed;
    bool ends;
    bool outage_logged; /* the outage of the API is in the log */
    LIST_HEAD(report_list, report) all;
};

const struct remote_documents *reports_kind(enum assignment_kind kind) {
    static const struct remote_documents kinds[] = {
        [ASSIGNMENT_VOLUME] = { .collection = "replicated_volumes", .word = "replicated_volume" },
        [ASSIGNMENT_REPLICA] = { .collection = "volume_replicas", .word = "volume_replica" },
    };

    return &kinds[kind];
}

/* ---- selection ---- */

static bool same(const char *a, const char *b) {
    return a && b && strcmp(a, b) == 0;
}

/* Of the monotonic clock; INT64_MAX: never. */
static int64_t due_us(const struct reports *reports, const struct report *report) {
    int64_t due = 0;

    if (same(report->status, report->sent_status) && !report->taken)
        return INT64_MAX;
    if (same(report->status, report->sent_status))
        due = report->sent_us +
              (report->differs ? reports->settings.differs_ms : reports->settings.again_ms) * 1000;
    else if (same(report->summary, report->sent_summary))
        due = report->sent_us +
              (report->runs ? reports->settings.running_ms : reports->settings.counters_ms) * 1000;
    return report->backoff.due_us > due ? report->backoff.due_us : due;
}

static struct report *next_due(const struct reports *reports, int64_t *ret_us) {
    struct report *report, *first = NULL;

    *ret_us = INT64_MAX;
    LIST_FOREACH(report, &reports->all, next) {
        int64_t due = due_us(reports, report);

        if (due < *ret_us) {
            *ret_us = due;
            first = report;
        }
    }
    return first;
}

static struct report *report_find(const struct reports *reports, enum assignment_kind kind,
                                  const char *uid) {
    struct report *report;

    LIST_FOREACH(report, &reports->all, next) {
        if (report->kind == kind && strcmp(report->uid, uid) == 0)
            return report;
    }
    return NULL;
}

static void drop(struct report *report) {
    LIST_REMOVE(report, next);
    free(report->status);
    free(report->summary);
    free(report->sent_status);
    free(report->sent_summary);
    free(report);
}

/* ---- sending ---- */

struct sending {
    enum assignment_kind kind;
    char uid[UUID_SIZE];
    char *status, *summary;
};

static void note_outcome(struct reports *reports, const struct sending *sending, int outcome,
                         const struct error *err) {
    struct report *report = report_find(reports, sending->kind, sending->uid);
    int64_t now_us = clock_monotonic_us(), first_us = reports->settings.retry_ms * 1000;
    const struct backoff_limits pauses = { .first_us = first_us,
                                           .most_us = first_us * RETRY_GROWTH,
                                           .jitter_percent = BACKOFF_JITTER };

    if (!report)
        return;
    /* When the document does not exist, or is not this node's, the report is not repeated until it
     * changes. */
    if (outcome < 0 && err->kind != ERROR_NOT_FOUND && err->kind != ERROR_CONFLICT &&
        err->kind != ERROR_BAD_REQUEST) {
        backoff_fail(&report->backoff, &pauses, now_us);
        return;
    }
    reports->outage_logged = false;
    report->taken = outcome == 0;
    report->differs = false;
    backoff_reset(&report->backoff);
    report->sent_us = now_us;
    free(report->sent_status);
    free(report->sent_summary);
    report->sent_status = heap_text(sending->status);
    report->sent_summary = heap_text(sending->summary);
    if (report->last && same(report->status, report->sent_status))
        drop(report);
}

/* The lock is held, and released while the report is sent. */
static void send_report(struct reports *reports, const struct report *report) {
    struct remote_documents kind = *reports_kind(report->kind);
    struct error err = { 0 };
    struct sending sending = { .kind = report->kind };
    struct arena *arena;
    const json_t *status;
    int outcome;

    strcpy(sending.uid, report->uid);
    sending.status = heap_text(report->status);
    sending.summary = heap_text(report->summary);
    kind.node = reports->settings.node;
    pthread_mutex_unlock(&reports->lock);
    arena = arena_new();
    status = json_parse(arena, sending.status, strlen(sending.status), &err);
    outcome = status ? document_report_status(&reports->settings.api, arena, &kind, sending.uid,
                                              status, &err)
                     : -1;
    arena_free(arena);
    pthread_mutex_lock(&reports->lock);
    if (outcome < 0 && (err.kind != ERROR_UNAVAILABLE || !reports->outage_logged)) {
        reports->outage_logged |= err.kind == ERROR_UNAVAILABLE;
        log_warning(NULL, "status report failed", "kind", kind.word, "uid", sending.uid, "reason",
                    err.message, NULL);
    }
    note_outcome(reports, &sending, outcome, &err);
    free(sending.status);
    free(sending.summary);
}

static void *run(void *arg) {
    struct reports *reports = arg;

    pthread_mutex_lock(&reports->lock);
    while (!reports->ends) {
        int64_t due;
        const struct report *report = next_due(reports, &due);

        if (report && due <= clock_monotonic_us())
            send_report(reports, report);
        else if (report)
            thread_cond_wait(&reports->changed, &reports->lock, due);
        else
            pthread_cond_wait(&reports->changed, &reports->lock);
    }
    pthread_mutex_unlock(&reports->lock);
    return NULL;
}

/* ---- other threads ---- */

static void put(struct reports *reports, const struct report *given) {
    struct report *report;

    pthread_mutex_lock(&reports->lock);
    report = report_find(reports, given->kind, given->uid);
    if (!report) {
        report = heap_new(sizeof(*report));
        report->kind = given->kind;
        strcpy(report->uid, given->uid);
        LIST_INSERT_HEAD(&reports->all, report, next);
    }
    if (!same(report->summary, given->summary))
        report->backoff.due_us = 0;
    free(report->status);
    free(report->summary);
    report->status = heap_text(given->status);
    report->summary = heap_text(given->summary);
    report->last = given->last;
    report->runs = given->runs;
    if (report->last && same(report->status, report->sent_status))
        drop(report);
    pthread_cond_signal(&reports->changed);
    pthread_mutex_unlock(&reports->lock);
}

void reports_put(struct reports *reports, enum assignment_kind kind, const char *uid,
                 const char *status, const char *summary, bool runs) {
    struct report report = { .kind = kind,
                             .status = (char *)(uintptr_t)status,
                             .summary = (char *)(uintptr_t)summary,
                             .runs = runs };

    snprintf(report.uid, sizeof(report.uid), "%s", uid);
    put(reports, &report);
}

void reports_put_last(struct reports *reports, enum assignment_kind kind, const char *uid,
                      const char *status) {
    struct report report = { .kind = kind,
                             .status = (char *)(uintptr_t)status,
                             .summary = (char *)(uintptr_t)status,
                             .last = true };

    snprintf(report.uid, sizeof(report.uid), "%s", uid);
    put(reports, &report);
}

void reports_forget(struct reports *reports, enum assignment_kind kind, const char *uid) {
    struct report *report;

    pthread_mutex_lock(&reports->lock);
    report = report_find(reports, kind, uid);
    if (report)
        drop(report);
    pthread_mutex_unlock(&reports->lock);
}

void reports_differs(struct reports *reports, enum assignment_kind kind, const char *uid,
                     bool differs) {
    struct report *report;

    pthread_mutex_lock(&reports->lock);
    report = report_find(reports, kind, uid);
    if (report && report->differs != differs) {
        report->differs = differs;
        pthread_cond_signal(&reports->changed);
    }
    pthread_mutex_unlock(&reports->lock);
}

unsigned reports_open(struct reports *reports) {
    struct report *report;
    unsigned count = 0;

    pthread_mutex_lock(&reports->lock);
    LIST_FOREACH(report, &reports->all, next) {
        count += !same(report->status, report->sent_status);
    }
    pthread_mutex_unlock(&reports->lock);
    return count;
}

struct reports *reports_new(const struct reports_settings *settings, struct error *err) {
    struct reports *reports = heap_new(sizeof(*reports));
    int code;

    reports->settings = *settings;
    if (reports->settings.running_ms <= 0)
        reports->settings.running_ms = DEFAULT_RUNNING_MS;
    if (reports->settings.counters_ms <= 0)
        reports->settings.counters_ms = DEFAULT_COUNTERS_MS;
    if (reports->settings.retry_ms <= 0)
        reports->settings.retry_ms = DEFAULT_RETRY_MS;
    if (reports->settings.again_ms <= 0)
        reports->settings.again_ms = DEFAULT_AGAIN_MS;
    if (reports->settings.differs_ms <= 0)
        reports->settings.differs_ms = DEFAULT_DIFFERS_MS;
    LIST_INIT(&reports->all);
    pthread_mutex_init(&reports->lock, NULL);
    thread_cond_init(&reports->changed);
    code = thread_start(&reports->thread, "reports", run, reports);
    if (code == 0)
        return reports;
    free(reports);
    error_set(err, ERROR_INTERNAL, "cannot start a thread: %s", strerror(code));
    return NULL;
}

void reports_free(struct reports *reports) {
    if (!reports)
        return;
    pthread_mutex_lock(&reports->lock);
    reports->ends = true;
    pthread_cond_signal(&reports->changed);
    pthread_mutex_unlock(&reports->lock);
    pthread_join(reports->thread, NULL);
    while (!LIST_EMPTY(&reports->all))
        drop(LIST_FIRST(&reports->all));
    pthread_mutex_destroy(&reports->lock);
    pthread_cond_destroy(&reports->changed);
    free(reports);
}
