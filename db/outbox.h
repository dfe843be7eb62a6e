/*
 * Messages stored with the change that causes them, in the same transaction: a broker may lose,
 * repeat or reorder messages, and no work is lost or done twice (rpc/relay.h publishes them).
 */
#pragma once

#include "db/db.h"

struct outbox_message {
    int64_t id;
    const char *topic;   /* the receiver: "cinder-volume.<host@backend>", … */
    const char *method;  /* "create_volume", "extend_volume", … */
    const char *key;     /* messages with the same key keep their order (the volume's id) */
    const char *project; /* project of the work; "": none, or unknown */
    const char *payload; /* JSON object */
    int64_t created_at;
    bool own; /* written by this process */
};

/* Of the message: topic, method, key, project (NULL: none), payload, created_at. */
int outbox_put(struct db_tx *tx, const struct outbox_message *message, struct error *err);

/* Payloads after which outbox_read() ends, so that a scan has a bounded part of the table in
 * memory. */
#define OUTBOX_READ_BYTES ((size_t)4 * 1024 * 1024)

/* Up to `most` messages with id > after, in order, into the arena; fewer also where their payloads
 * have OUTBOX_READ_BYTES.  Returns their number, or -1. */
int outbox_read(struct db_tx *tx, struct arena *arena, int64_t after, unsigned most,
                struct outbox_message **ret, struct error *err);
/* Returns the number of those that were there, or -1. */
int outbox_delete(struct db_tx *tx, const int64_t *ids, unsigned count, struct error *err);
