/*
 * Shared by the subcommands on documents: the client of the API, and their arguments.
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
    const char *words[2]; /* a kind and a name; NULL: absent */
    const char *wanted;   /* --for */
    const char *stopped;  /* --stopped */
    int64_t timeout_s;    /* 0: absent */
    bool dry_run, json, watches, stops;
    struct error err;
};

/* Pools of replicas: not documents, but shown like them. */
extern const struct document_kind manage_pools;

/* Runs the body of the subcommand `name` with its arguments; the exit status. */
int manage_talk(const struct config *config, const char *const *words, bool json, const char *name,
                int (*body)(struct manage_talk *talk));

/* The kind with this name, or an alias; NULL: talk->err lists the kinds. */
const struct document_kind *manage_kind(struct manage_talk *talk, const char *name);
struct remote_documents manage_place(const struct manage_talk *talk,
                                     const struct document_kind *kind);

/* Continues get --watch. */
int manage_watch(struct manage_talk *talk, const struct document_kind *kind);
