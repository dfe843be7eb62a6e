/*
 * Documents in a world: requests of clients, and their effect in the service.
 */
#pragma once

#include "declared/document_own.h"
#include "tests/lib/world.h"
#include "json/json.h"

#include <check.h>
#include <string.h>

#define DOCUMENTS_CONFIG(metadata, size, replicas)                                  \
    "{\"volume_config\": {\"metadata\": {" metadata "}, \"spec\": {\"capacity\": {" \
    "\"storage\": \"" size "\"}, \"provision\": {\"replicaCount\": " replicas "}}}}"
#define DOCUMENTS_VOLUME                                                                  \
    "{\"spec\": {\"capacity\": \"1Gi\", \"maximum\": \"1Ti\", \"replicationFactor\": 1, " \
    "\"consistencyFactor\": 1, \"replicas\": []}}"
#define DOCUMENTS_REPLICA                                                                 \
    "{\"spec\": {\"volumeId\": \"v\", \"poolName\": \"pool-a\", \"nodeId\": \"host-a\", " \
    "\"path\": \"/p\", \"capacity\": \"1Gi\", \"maximum\": \"1Ti\", "                     \
    "\"replicationFactor\": 1}}"

/* The uid of the document that a request creates. */
static inline const char *documents_make(struct world *world, const char *collection,
                                         const char *word, const char *body) {
    int status = world_call(world, "POST", arena_join(world->arena, "/", collection, NULL), body);

    ck_assert_msg(status == 201, "%s: %d %s", collection, status, world->answer_text);
    return arena_text(
        world->arena,
        json_text_of(json_object_get(json_object_get(world->answer, word), "metadata"), "uid"));
}

struct documents_own {
    const struct document_kind *owner_kind, *kind;
    const char *owner_id, *name, *body, *node;
    const char *id; /* of the created document */
};

static inline int documents_own_body(struct work *work, void *arg, struct error *err) {
    struct documents_own *own = arg;
    struct document owner, made;

    if (document_find(work, own->owner_kind, own->owner_id, &owner, err) < 0 ||
        document_own_create(work, own->kind, &owner, own->name, NULL,
                            json_parse(work->arena, own->body, strlen(own->body), err), NULL,
                            own->node, &made, err) < 0)
        return -1;
    own->id = made.id;
    return 0;
}

/* The uid of one that belongs to another, as the service makes it. */
static inline const char *documents_own(struct world *world, struct documents_own own) {
    struct work base = work_own(&world->settings, world->arena);
    struct error err;

    ck_assert_msg(work_transaction(world->db, &base, documents_own_body, &own, &err) == 0, "%s",
                  err.message);
    return own.id;
}

/* The volume of a config, at "host-a". */
static inline const char *documents_volume(struct world *world, const char *config_id) {
    return documents_own(world, (struct documents_own){ &kind_volume_config,
                                                        &kind_replicated_volume, config_id, "v",
                                                        DOCUMENTS_VOLUME, "host-a", NULL });
}

/* A replica of a volume, at "host-a". */
static inline const char *documents_replica(struct world *world, const char *volume_id) {
    return documents_own(world, (struct documents_own){ &kind_replicated_volume,
                                                        &kind_volume_replica, volume_id, "v-pool-a",
                                                        DOCUMENTS_REPLICA, "host-a", NULL });
}
