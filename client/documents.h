/*
 * Documents that the API keeps: what is declared, in the form in which it travels.
 */
#pragma once

#include "client/client.h"

/* Where those of a kind are: "volume_policies", and what stands around one: "volume_policy". */
struct remote_documents {
    const char *collection, *word;
    bool dry_run;     /* changes are checked, and nothing is changed */
    bool may_lack;    /* as of struct client_call, when one is fetched */
    const char *node; /* lists have its, of all projects; NULL: those of the project */
};

/* By name.  Trees are the arena's.  ERROR_NOT_FOUND. */
const json_t *document_fetch(const struct client *client, struct arena *arena,
                             const struct remote_documents *kind, const char *name,
                             struct error *err);
/* What the API tells below one, "events", under the key `key`. */
const json_t *document_fetch_below(const struct client *client, struct arena *arena,
                                   const struct remote_documents *kind, const char *name,
                                   const char *below, const char *key, struct error *err);
/* An array of them. */
const json_t *documents_fetch(const struct client *client, struct arena *arena,
                              const struct remote_documents *kind, struct error *err);
/* Makes one, or changes what `document` says of the one with this name (a merge patch); as it is
 * then. */
const json_t *document_send(const struct client *client, struct arena *arena,
                            const struct remote_documents *kind, const json_t *document,
                            struct error *err);
const json_t *document_change(const struct client *client, struct arena *arena,
                              const struct remote_documents *kind, const char *name,
                              const json_t *document, struct error *err);
/* Makes it the whole `document`. */
const json_t *document_change_whole(const struct client *client, struct arena *arena,
                                    const struct remote_documents *kind, const char *name,
                                    const json_t *document, struct error *err);
int document_drop(const struct client *client, struct arena *arena,
                  const struct remote_documents *kind, const char *name, struct error *err);
/* The same, unless it was changed since it had this resourceVersion (ERROR_CONFLICT). */
int document_drop_version(const struct client *client, struct arena *arena,
                          const struct remote_documents *kind, const char *name,
                          const char *version, struct error *err);
/* Has done with one what `action` names below it; what the answer has under `key`. */
const json_t *document_act(const struct client *client, struct arena *arena,
                           const struct remote_documents *kind, const char *name,
                           const char *action, const json_t *body, const char *key,
                           struct error *err);
/* What is, as the node sees it, in place of what it has said before.  ERROR_CONFLICT: another node
 * is the one to say. */
int document_tell(const struct client *client, struct arena *arena,
                  const struct remote_documents *kind, const char *uid, const json_t *status,
                  struct error *err);
