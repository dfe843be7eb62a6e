#include "cmd/manage_talk.h"

#include "client/volumes.h"
#include "cmd/plain_text.h"
#include "cmd/role.h"
#include "identity/own_user.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DURATION_MOST_S (INT64_C(7) * 24 * 3600)

/* "90", "90s", "5m", "1h". */
static int read_duration(struct manage_talk *talk, const char *text) {
    static const char units[] = "smh";
    static const int64_t seconds[] = { 1, 60, 3600 };
    size_t digits = strspn(text, "0123456789");
    const char *unit = text[digits] ? strchr(units, text[digits]) : units;

    if (digits > 0 && digits < 8 && unit && (!text[digits] || !text[digits + 1])) {
        talk->timeout_s = strtoll(text, NULL, 10) * seconds[unit - units];
        if (talk->timeout_s > 0 && talk->timeout_s <= DURATION_MOST_S)
            return 0;
    }
    return error_set(&talk->err, ERROR_BAD_REQUEST,
                     "--timeout=%s: it is no time as 90s, 5m or 1h, of a week at most", text);
}

/* One argument. */
static int read_word(struct manage_talk *talk, const char *word) {
    if (strncmp(word, "--file=", strlen("--file=")) == 0) {
        talk->file = word + strlen("--file=");
    } else if (strncmp(word, "--api=", strlen("--api=")) == 0) {
        talk->api.url = word + strlen("--api=");
    } else if (strcmp(word, "--dry-run") == 0) {
        talk->dry_run = true;
    } else if (strcmp(word, "--watch") == 0) {
        talk->watches = true;
    } else if (strcmp(word, "--stop") == 0) {
        talk->stops = true;
    } else if (strncmp(word, "--for=", strlen("--for=")) == 0) {
        talk->wanted = word + strlen("--for=");
    } else if (strncmp(word, "--stopped=", strlen("--stopped=")) == 0) {
        talk->stopped = word + strlen("--stopped=");
    } else if (strncmp(word, "--timeout=", strlen("--timeout=")) == 0) {
        return read_duration(talk, word + strlen("--timeout="));
    } else if (*word == '-' || talk->words[1]) {
        return error_set(&talk->err, ERROR_BAD_REQUEST, "unexpected argument \"%s\"", word);
    } else {
        talk->words[talk->words[0] ? 1 : 0] = word;
    }
    return 0;
}

static int open_talk(struct manage_talk *talk, const struct config *config,
                     const char *const *words) {
    if (own_user_new(config, "service_user", &talk->user, &talk->err) < 0)
        return -1;
    talk->api = volumes_client(own_user_is_known(talk->user)
                                   ? NULL
                                   : listener_url(talk->arena, config, &listener_api, 0, "/v3"),
                               NULL, talk->user);
    for (; *words; words++)
        if (read_word(talk, *words) < 0)
            return -1;
    return 0;
}

struct remote_documents manage_place(const struct manage_talk *talk,
                                     const struct document_kind *kind) {
    return (struct remote_documents){ .collection = kind->collection,
                                      .word = kind->word,
                                      .dry_run = talk->dry_run };
}

const struct document_kind manage_pools = {
    .name = "ReplicaPool",
    .collection = "replica_pools",
    .word = "replica_pool",
    .short_name = "rp",
    .read_only = true,
};

static bool is_pools(const char *name) {
    return strcasecmp(name, manage_pools.name) == 0 || strcmp(name, manage_pools.collection) == 0 ||
           strcmp(name, manage_pools.word) == 0 || strcmp(name, manage_pools.short_name) == 0;
}

const struct document_kind *manage_kind(struct manage_talk *talk, const char *name) {
    const struct document_kind *kind = !name            ? NULL
                                       : is_pools(name) ? &manage_pools
                                                        : document_kind_called(name);
    const char *list = manage_pools.collection;

    for (const struct document_kind *const *each = document_kinds; *each; each++)
        list = arena_join(talk->arena, list, ", ", (*each)->collection, NULL);
    if (!name)
        error_set(&talk->err, ERROR_BAD_REQUEST, "no kind given; expected one of %s", list);
    else if (!kind)
        error_set(&talk->err, ERROR_BAD_REQUEST, "no such kind \"%s\"; expected one of %s", name,
                  list);
    return kind;
}

int manage_talk(const struct config *config, const char *const *words, bool json, const char *name,
                int (*body)(struct manage_talk *talk)) {
    autoarena struct arena *arena = arena_new();
    struct manage_talk talk = { .arena = arena, .json = json };
    int result = open_talk(&talk, config, words) < 0 ? -1 : body(&talk);

    if (result < 0) {
        fprintf(stderr, "scoria manage %s: ", name);
        plain_text_put(stderr, talk.err.message);
        putc('\n', stderr);
    }
    own_user_free(talk.user);
    return result < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
