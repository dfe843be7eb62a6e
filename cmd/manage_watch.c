/*
 * Shows or awaits changes of documents.  An interrupted watch continues, or starts again: a wait
 * depends on the current state only.
 */
#include "cmd/manage.h"

#include "client/watch.h"
#include "cmd/awaited.h"
#include "cmd/document_print.h"
#include "cmd/manage_talk.h"
#include "common/clock.h"
#include "json/json.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define TIMEOUT_S     60
#define PAUSE_FIRST_S 1 /* before an unreachable service is called again */

static const char *metadata_of(const json_t *object, const char *key) {
    return json_text_of(json_object_get(object, "metadata"), key);
}

static const char *path_of(struct manage_talk *talk, const struct document_kind *kind,
                           const char *name) {
    return name ? arena_join(talk->arena, "/", kind->collection,
                             "?name=", http_encode(talk->arena, name), NULL)
                : arena_join(talk->arena, "/", kind->collection, NULL);
}

/* Pauses before a retry; false: timed out. */
static bool pause_until(int64_t until_us) {
    struct timespec pause = { .tv_sec = PAUSE_FIRST_S };
    int64_t left_us = until_us - clock_monotonic_us();

    if (until_us != 0 && left_us < (int64_t)PAUSE_FIRST_S * SECOND_US)
        pause = clock_timespec(left_us > 0 ? left_us : 0);
    nanosleep(&pause, NULL);
    return until_us == 0 || clock_monotonic_us() < until_us;
}

struct round {
    const char *path;
    client_watch_event *each;
    void *arg;
    bool enough; /* printed by the caller */
    bool seen;   /* a change since the watch started */
    bool heard;  /* any change: the service supports watches */
};

static int hear(void *arg, const char *type, const json_t *object, struct error *err) {
    struct round *round = arg;

    round->heard = true;
    return round->each(round->arg, type, object, err);
}

/* Until `each` stops it, a timeout, or a refusal. */
static int watch_on(struct manage_talk *talk, struct round *round) {
    int64_t until_us = talk->timeout_s ? clock_monotonic_us() + talk->timeout_s * SECOND_US : 0;
    int64_t version = WATCH_FROM_THE_BEGINNING;

    for (;;) {
        int result;

        round->seen = round->seen && version >= 0;
        result = client_watch(&talk->api, talk->arena, round->path, &version, hear, round,
                              &until_us, &talk->err);
        if (round->enough)
            return 0;
        /* an unreachable or overloaded service is called again; any other error is final */
        if (result < 0 && !(round->heard && (talk->err.kind == ERROR_UNAVAILABLE ||
                                             talk->err.kind == ERROR_TRY_LATER)))
            return -1;
        if (until_us != 0 && clock_monotonic_us() >= until_us)
            return 0;
        if (result > 0)
            version = WATCH_FROM_THE_BEGINNING;
        if (result < 0 && !pause_until(until_us))
            return 0;
    }
}

/* ---- get --watch ---- */

static int show(void *arg, const char *type, const json_t *object, struct error *err) {
    const struct manage_talk *talk = arg;

    (void)err;
    if (strcmp(type, "BOOKMARK") == 0)
        return 0;
    if (talk->json)
        json_dumpf(object, stdout, JSON_COMPACT), putchar('\n');
    else
        document_print_event(type, object);
    fflush(stdout);
    return ferror(stdout);
}

int manage_watch(struct manage_talk *talk, const struct document_kind *kind) {
    struct round round = { .path = path_of(talk, kind, talk->words[1]), .each = show, .arg = talk };

    if (kind == &manage_pools)
        return error_set(&talk->err, ERROR_BAD_REQUEST, "%s cannot be watched", kind->collection);
    if (!talk->json)
        document_print_event(NULL, NULL);
    return watch_on(talk, &round);
}

/* ---- wait ---- */

struct waiting {
    struct manage_talk *talk;
    const struct document_kind *kind;
    const char *name, *id;
    struct awaited wanted;
    struct round round;
    bool gone, met;
    json_t *last; /* as of the last event */
};

/* A new object with the same name does not match. */
static int look(void *arg, const char *type, const json_t *object, struct error *err) {
    struct waiting *waiting = arg;
    const char *id = metadata_of(object, "uid");
    bool is_it = id && waiting->id && strcmp(id, waiting->id) == 0;

    (void)err;
    if (strcmp(type, "BOOKMARK") == 0) {
        waiting->gone = !waiting->round.seen;
    } else if (strcmp(type, "DELETED") == 0) {
        waiting->gone = is_it;
    } else {
        waiting->gone = !is_it;
        waiting->round.seen |= is_it;
    }
    if (is_it && strcmp(type, "DELETED") != 0) {
        json_decref(waiting->last);
        waiting->last = json_deep_copy(object);
    }
    waiting->met = awaited_is_met(&waiting->wanted, waiting->gone ? NULL : waiting->last);
    waiting->round.enough = waiting->met || waiting->gone;
    return waiting->round.enough;
}

/* Its current state; 0: it does not exist, or -1. */
static int watched_find(struct waiting *waiting) {
    struct manage_talk *talk = waiting->talk;
    const struct remote_documents place = manage_place(talk, waiting->kind);
    const json_t *document =
        document_fetch(&talk->api, talk->arena, &place, talk->words[1], &talk->err);

    if (!document)
        return talk->err.kind == ERROR_NOT_FOUND ? 0 : -1;
    waiting->name = metadata_of(document, "name");
    waiting->id = metadata_of(document, "uid");
    waiting->last = json_deep_copy(document);
    return 1;
}

static const char *text_or(const char *text, const char *otherwise) {
    return text && *text ? text : otherwise;
}

/* The newest event of a config; NULL: none, or unknown. */
static const json_t *last_event(const struct waiting *waiting) {
    struct manage_talk *talk = waiting->talk;
    const struct remote_documents place = manage_place(talk, waiting->kind);
    const json_t *events;
    struct error err;

    if (waiting->kind != &kind_volume_config)
        return NULL;
    events = document_fetch_below(&talk->api, talk->arena, &place, waiting->id, "events", "events",
                                  &err);
    return json_array_get(events, json_array_size(events) - 1);
}

/* Prints the known reasons of a timeout. */
static int tell_missed(struct waiting *waiting) {
    struct manage_talk *talk = waiting->talk;
    const json_t *status = json_object_get(waiting->last, "status");
    const json_t *condition = awaited_condition(waiting->last, NULL), *event = last_event(waiting);
    const char *text =
        arena_format(talk->arena, "%s is not %s after %jd s: its phase is %s", waiting->name,
                     awaited_text(talk->arena, &waiting->wanted), (intmax_t)talk->timeout_s,
                     text_or(json_text_of(status, "phase"), "none"));

    if (condition)
        text = arena_format(talk->arena, "%s; condition %s=%s: %s", text,
                            text_or(json_text_of(condition, "type"), "-"),
                            text_or(json_text_of(condition, "status"), "-"),
                            text_or(json_text_of(condition, "message"), "-"));
    if (event)
        text = arena_format(talk->arena, "%s; last event %s: %s", text,
                            text_or(json_text_of(event, "reason"), "-"),
                            text_or(json_text_of(event, "message"), "-"));
    return error_set(&talk->err, ERROR_CONFLICT, "%s", text);
}

static int judge(struct waiting *waiting, int result) {
    struct manage_talk *talk = waiting->talk;

    if (result < 0)
        return -1;
    if (waiting->gone && !waiting->met)
        return error_set(&talk->err, ERROR_NOT_FOUND, "%s was deleted", waiting->name);
    if (!waiting->met)
        return tell_missed(waiting);
    printf("%s/%s is %s\n", waiting->kind->name, waiting->name,
           awaited_text(talk->arena, &waiting->wanted));
    return 0;
}

static int wait_for(struct waiting *waiting) {
    struct manage_talk *talk = waiting->talk;
    int found = watched_find(waiting);

    if (found == 0 && waiting->wanted.kind == AWAITED_DELETE) {
        waiting->name = talk->words[1];
        waiting->gone = waiting->met = true;
        return judge(waiting, 0);
    }
    if (found <= 0)
        return -1;
    waiting->round = (struct round){ .path = path_of(talk, waiting->kind, waiting->name),
                                     .each = look,
                                     .arg = waiting };
    return judge(waiting, watch_on(talk, &waiting->round));
}

static int wait_body(struct manage_talk *talk) {
    struct waiting waiting = { .talk = talk, .kind = manage_kind(talk, talk->words[0]) };
    int result;

    if (!waiting.kind || awaited_read(talk->arena, talk->wanted ? talk->wanted : "",
                                      &waiting.wanted, &talk->err) < 0)
        return -1;
    if (!talk->words[1] || waiting.kind == &manage_pools)
        return error_set(&talk->err, ERROR_BAD_REQUEST,
                         talk->words[1] ? "pools cannot be waited for" : "no name given");
    if (!talk->timeout_s)
        talk->timeout_s = TIMEOUT_S;
    result = wait_for(&waiting);
    json_decref(waiting.last);
    return result;
}

int manage_wait(const struct config *config, const char *const *words, bool json) {
    return manage_talk(config, words, json, "wait", wait_body);
}
