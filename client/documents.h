/*
 * Documents of declared volumes in the volume API, as JSON trees.
 */
#pragma once

#include "client/client.h"

/* Path of the kind, "volume_policies", and wrapper of one document, "volume_policy". */
struct remote_documents {
    const char *collection, *word;
    bool dry_run;     /* changes are validated only */
    bool may_lack;    /* as in struct client_call, for a fetch */
    const char *node; /* lists are of this node, in all projects; NULL: of the project */
};

/* By name.  Trees are in the arena.  ERROR_NOT_FOUND. */
const json_t *document_fetch(const struct client *client, struct arena *arena,
                             const struct remote_documents *kind, const char *name,
                             struct error *err);
/* A list below a document, "events", with the key `key`. */
const json_t *document_fetch_below(const struct client *client, struct arena *arena,
                                   const struct remote_documents *kind, const char *name,
                                   const char *below, const char *key, struct error *err);
/* An array of them. */
const json_t *documents_fetch(const struct client *client, struct arena *arena,
                              const struct remote_documents *kind, struct error *err);
/* Creates a document, or patches the one with this name (a merge patch); returns the result. */
const json_t *document_send(const struct client *client, struct arena *arena,
                            const struct remote_documents *kind, const json_t *document,
                            struct error *err);
const json_t *document_change(const struct client *client, struct arena *arena,
                              const struct remote_documents *kind, const char *name,
                              const json_t *document, struct error *err);
/* Replaces the whole document. */
const json_t *document_change_whole(const struct client *client, struct arena *arena,
                                    const struct remote_documents *kind, const char *name,
                                    const json_t *document, struct error *err);
int document_drop(const struct client *client, struct arena *arena,
                  const struct remote_documents *kind, const char *name, struct error *err);
/* The same, unless it has changed since this resourceVersion (ERROR_CONFLICT). */
int document_drop_version(const struct client *client, struct arena *arena,
                          const struct remote_documents *kind, const char *name,
                          const char *version, struct error *err);
/* Posts to `action` below a document; returns the member `key` of the response. */
const json_t *document_act(const struct client *client, struct arena *arena,
                           const struct remote_documents *kind, const char *name,
                           const char *action, const json_t *body, const char *key,
                           struct error *err);
/* Reports the node's status, replacing its previous one.  ERROR_CONFLICT: another node is
 * responsible. */
int document_report_status(const struct client *client, struct arena *arena,
                           const struct remote_documents *kind, const char *uid,
                           const json_t *status, struct error *err);
