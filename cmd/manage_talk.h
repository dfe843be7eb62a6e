/*
 * What the commands about documents share: the API that they talk to, and the words that they
 * understand.
 */
#pragma once

#include "client/documents.h"
#include "config/config.h"
#include "declared/kind.h"

struct own_user;

struct manage_talk {
    struct arena *arena;
    struct own_user *user;
    struct client api;
    const char *file;
    const char *words[2]; /* a kind and a name; NULL: not said */
    const char *wanted;   /* --for */
    const char *stopped;  /* --stopped */
    int64_t timeout_s;    /* 0: not said */
    bool dry_run, json, watches, stops;
    struct error err;
};

/* Pools of replicas: no documents, but for looking at them they are alike. */
extern const struct document_kind manage_pools;

/* Runs the body of the command `name` with its words; the exit status. */
int manage_talk(const struct config *config, const char *const *words, bool json, const char *name,
                int (*body)(struct manage_talk *talk));

/* The kind that is called so, by any of its names; NULL: talk->err says which there are. */
const struct document_kind *manage_kind(struct manage_talk *talk, const char *name);
struct remote_documents manage_place(const struct manage_talk *talk,
                                     const struct document_kind *kind);

/* The rest of get --watch. */
int manage_watch(struct manage_talk *talk, const struct document_kind *kind);
