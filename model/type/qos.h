/*
 * QoS specs: the limits of volumes of their types, and the component that enforces them.
 *
 * The consumer names it: the host that has the volume attached gets those for the front-end, with
 * the connection info (model/type/qos_front_end.h); those for the back-end are enforced by the
 * service itself.  A type belongs to one of them at most.
 */
#pragma once

#include "model/type/type.h"
#include "operation/query.h"

struct qos_specs {
    const char *id, *name;
    const char *consumer; /* front-end, back-end, both */
    struct pairs specs;   /* values may be NULL */
    int64_t created_at, updated_at;
};

#define QOS_CONSUMER  "consumer" /* a key that no spec has: it changes the consumer */
#define QOS_BACK_END  "back-end"
#define QOS_FRONT_END "front-end"
#define QOS_BOTH      "both"

extern const char *const qos_consumers[]; /* ended with NULL */

/* ERROR_NOT_FOUND. */
int qos_specs_get(struct work *work, const char *id, struct qos_specs *ret, struct error *err);
/* 1, or 0 when the type belongs to none; NULL: no type. */
int qos_specs_of_type(struct work *work, const char *type_id, struct qos_specs *ret,
                      struct error *err);
/* As volume_list(), alias q. */
int qos_specs_list(struct work *work, const struct query *query, struct qos_specs **ret,
                   struct error *err);

/* A taken name is ERROR_CONFLICT. */
int qos_specs_create(struct work *work, const char *name, const char *consumer,
                     const struct pairs *specs, struct qos_specs *ret, struct error *err);
/* Adds or overwrites; another consumer is one of the pairs. */
int qos_specs_set(struct work *work, const struct qos_specs *qos, const struct pairs *specs,
                  struct error *err);
/* All of the keys, or none of them: ERROR_NOT_FOUND. */
int qos_specs_unset(struct work *work, const struct qos_specs *qos, const char *const *keys,
                    unsigned count, struct error *err);
/* While types belong to them ERROR_BAD_REQUEST; with `force` those belong to none then. */
int qos_specs_delete(struct work *work, const struct qos_specs *qos, bool force, struct error *err);

/* The types that belong to them, by name. */
struct qos_type {
    const char *id, *name;
};
int qos_specs_types(struct work *work, const struct qos_specs *qos, struct qos_type **ret,
                    struct error *err);
/* ERROR_BAD_REQUEST when it belongs to others. */
int qos_specs_associate(struct work *work, const struct qos_specs *qos,
                        const struct volume_type *type, struct error *err);
/* A type that does not belong to these stays as it is; NULL: every one. */
int qos_specs_disassociate(struct work *work, const struct qos_specs *qos,
                           const struct volume_type *type, struct error *err);
