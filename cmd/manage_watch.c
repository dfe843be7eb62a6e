/*
 * What is declared, as it changes: shown, or waited for.  A watch that breaks off goes on where it
 * was, or from the beginning: what it was meanwhile does not matter to who waits for what it is.
 */
#include "cmd/manage.h"

#include "client/watch.h"
#include "cmd/document_print.h"
#include "cmd/manage_talk.h"
#include "common/clock.h"
#include "json/json.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define TIMEOUT_S     60
#define PAUSE_FIRST_S 1 /* before a service that is away is asked again */

static bool is_text(const char *one, const char *other) {
    return one && other && strcmp(one, other) == 0;
}

static const char *metadata_of(const json_t *object, const char *key) {
    return json_text_of(json_object_get(object, "metadata"), key);
}

static const char *path_of(struct manage_talk *talk, const struct document_kind *kind,
                           const char *name) {
    return name ? arena_join(talk->arena, "/", kind->collection,
                             "?name=", http_encode(talk->arena, name), NULL)
                : arena_join(talk->arena, "/", kind->collection, NULL);
}

/* It may be another time; false: the time is over. */
static bool pause_until(int64_t until_us) {
    struct timespec pause = { .tv_sec = PAUSE_FIRST_S };
    int64_t left_us = until_us - clock_monotonic_us();

    if (until_us != 0 && left_us < (int64_t)PAUSE_FIRST_S * SECOND_US)
        pause = clock_timespec(left_us > 0 ? left_us : 0);
    nanosleep(&pause, NULL);
    return until_us == 0 || clock_monotonic_us() < until_us;
}

/* Is the service away, or too busy?  Everything else is an answer. */
static bool is_away(const struct error *err) {
    return err->kind == ERROR_UNAVAILABLE || err->kind == ERROR_TRY_LATER;
}

struct round {
    const char *path;
    client_watch_event *each;
    void *arg;
    bool enough; /* whoever hears it says so */
    bool seen;   /* something, since the watch began from the beginning */
    bool heard;  /* anything at all: the service is one that can be watched */
};

static int hear(void *arg, const char *type, const json_t *object, struct error *err) {
    struct round *round = arg;

    round->heard = true;
    return round->each(round->arg, type, object, err);
}

/* Until somebody has enough, the time is over, or it is refused. */
static int watch_on(struct manage_talk *talk, struct round *round) {
    int64_t until_us = talk->timeout_s ? clock_monotonic_us() + talk->timeout_s * SECOND_US : 0;
    int64_t version = WATCH_FROM_THE_BEGINNING;

    for (;;) {
        int result;

        round->seen = round->seen && version >= 0;
        result = client_watch(&talk->api, talk->arena, round->path, &version, hear, round,
                              &until_us, &talk->err);
        if (round->enough || (result < 0 && !(round->heard && is_away(&talk->err))))
            return round->enough ? 0 : -1;
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

enum wanted { WANTED_PHASE, WANTED_CONDITION, WANTED_DELETE };

struct awaited {
    struct manage_talk *talk;
    const struct document_kind *kind;
    const char *name, *id;
    enum wanted wanted;
    const char *what, *status; /* a phase; or a condition and its status */
    struct round round;
    bool gone, met;
    json_t *last; /* as it was told last */
};

static int read_wanted(struct manage_talk *talk, struct awaited *ret) {
    const char *text = talk->wanted ? talk->wanted : "";
    char *kept = arena_text(talk->arena, text), *status;

    if (strcmp(text, "delete") == 0) {
        ret->wanted = WANTED_DELETE;
        return 0;
    }
    if (strncmp(text, "phase=", strlen("phase=")) == 0 && text[strlen("phase=")]) {
        ret->wanted = WANTED_PHASE;
        ret->what = kept + strlen("phase=");
        return 0;
    }
    if (strncmp(text, "condition=", strlen("condition=")) == 0 && text[strlen("condition=")]) {
        ret->wanted = WANTED_CONDITION;
        ret->what = kept + strlen("condition=");
        status = strchr(ret->what, '=');
        ret->status = status ? status + 1 : "True";
        if (status)
            *status = '\0';
        return 0;
    }
    return error_set(&talk->err, ERROR_BAD_REQUEST,
                     "it is not said for what: --for=phase=PHASE, --for=condition=TYPE[=STATUS] or "
                     "--for=delete");
}

static const json_t *last_condition(const struct awaited *awaited, const char *type) {
    const json_t *list = json_object_get(json_object_get(awaited->last, "status"), "conditions");
    const json_t *found = NULL;

    for (size_t i = 0; i < json_array_size(list); i++)
        if (!type || is_text(json_text_of(json_array_get(list, i), "type"), type))
            found = json_array_get(list, i);
    return found;
}

static bool is_met(const struct awaited *awaited) {
    const char *status;

    if (awaited->gone)
        return awaited->wanted == WANTED_DELETE;
    if (awaited->wanted == WANTED_PHASE)
        return is_text(json_text_of(json_object_get(awaited->last, "status"), "phase"),
                       awaited->what);
    if (awaited->wanted == WANTED_DELETE)
        return false;
    status = json_text_of(last_condition(awaited, awaited->what), "status");
    return status && strcasecmp(status, awaited->status) == 0;
}

/* One of the same name that is another one was made behind it. */
static int look(void *arg, const char *type, const json_t *object, struct error *err) {
    struct awaited *awaited = arg;
    bool is_it = is_text(metadata_of(object, "uid"), awaited->id);

    (void)err;
    if (strcmp(type, "BOOKMARK") == 0) {
        awaited->gone = !awaited->round.seen;
    } else if (strcmp(type, "DELETED") == 0) {
        awaited->gone = is_it;
    } else {
        awaited->gone = !is_it;
        awaited->round.seen |= is_it;
    }
    if (is_it && strcmp(type, "DELETED") != 0) {
        json_decref(awaited->last);
        awaited->last = json_deep_copy(object);
    }
    awaited->met = is_met(awaited);
    awaited->round.enough = awaited->met || awaited->gone;
    return awaited->round.enough;
}

/* It as it is; 0: it is not there, or -1. */
static int find(struct awaited *awaited) {
    struct manage_talk *talk = awaited->talk;
    const struct remote_documents place = manage_place(talk, awaited->kind);
    const json_t *document =
        document_fetch(&talk->api, talk->arena, &place, talk->words[1], &talk->err);

    if (!document)
        return talk->err.kind == ERROR_NOT_FOUND ? 0 : -1;
    awaited->name = metadata_of(document, "name");
    awaited->id = metadata_of(document, "uid");
    awaited->last = json_deep_copy(document);
    return 1;
}

static const char *described(const struct awaited *awaited) {
    struct arena *arena = awaited->talk->arena;

    return awaited->wanted == WANTED_DELETE ? "gone"
           : awaited->wanted == WANTED_PHASE
               ? awaited->what
               : arena_join(arena, awaited->what, "=", awaited->status, NULL);
}

static const char *text_or(const char *text, const char *otherwise) {
    return text && *text ? text : otherwise;
}

/* The newest of what happened to a config; NULL: nothing, or nobody can tell. */
static const json_t *last_event(const struct awaited *awaited) {
    struct manage_talk *talk = awaited->talk;
    const struct remote_documents place = manage_place(talk, awaited->kind);
    const json_t *events;
    struct error err;

    if (awaited->kind != &kind_volume_config)
        return NULL;
    events = document_fetch_below(&talk->api, talk->arena, &place, awaited->id, "events", "events",
                                  &err);
    return json_array_get(events, json_array_size(events) - 1);
}

/* What is known of why it did not come. */
static int tell_missed(struct awaited *awaited) {
    struct manage_talk *talk = awaited->talk;
    const json_t *status = json_object_get(awaited->last, "status");
    const json_t *condition = last_condition(awaited, NULL), *event = last_event(awaited);
    const char *text = arena_format(talk->arena, "%s is not %s after %jd s: its phase is %s",
                                    awaited->name, described(awaited), (intmax_t)talk->timeout_s,
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

static int judge(struct awaited *awaited, int result) {
    struct manage_talk *talk = awaited->talk;

    if (result < 0)
        return -1;
    if (awaited->gone && !awaited->met)
        return error_set(&talk->err, ERROR_NOT_FOUND, "%s was deleted", awaited->name);
    if (!awaited->met)
        return tell_missed(awaited);
    printf("%s/%s is %s\n", awaited->kind->name, awaited->name, described(awaited));
    return 0;
}

static int wait_for(struct awaited *awaited) {
    struct manage_talk *talk = awaited->talk;
    int found = find(awaited);

    if (found == 0 && awaited->wanted == WANTED_DELETE) {
        awaited->name = talk->words[1];
        awaited->gone = awaited->met = true;
        return judge(awaited, 0);
    }
    if (found <= 0)
        return -1;
    awaited->round = (struct round){ .path = path_of(talk, awaited->kind, awaited->name),
                                     .each = look,
                                     .arg = awaited };
    return judge(awaited, watch_on(talk, &awaited->round));
}

static int wait_body(struct manage_talk *talk) {
    struct awaited awaited = { .talk = talk, .kind = manage_kind(talk, talk->words[0]) };
    int result;

    if (!awaited.kind || read_wanted(talk, &awaited) < 0)
        return -1;
    if (!talk->words[1] || awaited.kind == &manage_pools)
        return error_set(&talk->err, ERROR_BAD_REQUEST,
                         talk->words[1] ? "pools cannot be waited for"
                                        : "it is not said for which one: its name");
    if (!talk->timeout_s)
        talk->timeout_s = TIMEOUT_S;
    result = wait_for(&awaited);
    json_decref(awaited.last);
    return result;
}

int manage_wait(const struct config *config, const char *const *words, bool json) {
    return manage_talk(config, words, json, "wait", wait_body);
}
