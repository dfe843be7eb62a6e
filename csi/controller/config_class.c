/*
 * The parameters of a StorageClass with a policy: the policy and the number of replicas; and the
 * capacity for such volumes.
 */
#include "csi/controller/configs.private.h"

#include "client/replica_pools.h"
#include "common/cleanup.h"
#include "common/replicas.h"
#include "json/json.h"

#include <stdlib.h>
#include <string.h>

#define REPLICAS_USUAL 3
#define COUNT_KEY      "replicaCount"

bool config_is_requested(const controller_parameter *const *parameters, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(parameters[i]->key, POLICY_KEY) == 0)
            return true;
    return false;
}

/* ---- parameters ---- */

static int read_parameter(const controller_parameter *parameter, struct config_class *class,
                          struct error *err) {
    static const char *const known[] = { POLICY_KEY, COUNT_KEY };
    const char *key = parameter->key, *value = parameter->value;

    if (controller_is_informational(key))
        return 0;
    if (strcmp(key, COUNT_KEY) == 0) {
        char *end;
        long count = strtol(value, &end, 10);

        if (!*value || *end || count < 1 || count > REPLICAS_MOST)
            return grpc_refuse(err, GRPC_INVALID_ARGUMENT,
                               COUNT_KEY " is %.20s, and must be 1 to %d.", value, REPLICAS_MOST);
        class->replicas = count;
        return 0;
    }
    if (strcmp(key, POLICY_KEY) != 0)
        return controller_unknown(key, "parameter", " of a volume with a policy", known,
                                  LENGTH(known), err);
    if (*value && !config_is_name(value))
        return grpc_refuse(err, GRPC_INVALID_ARGUMENT, "%.64s is not a valid policy name.", value);
    class->policy = value;
    return 0;
}

int config_class_read(const controller_parameter *const *parameters, size_t count,
                      struct config_class *ret, struct error *err) {
    int result = 0;

    *ret = (struct config_class){ .policy = "" };
    for (size_t i = 0; i < count && result == 0; i++)
        result = read_parameter(parameters[i], ret, err);
    return result;
}

/* ---- the policy ---- */

/* P36, P41: as many as the policy has pools, if it exists already. */
int config_class_resolve(const struct client *api, struct arena *arena, struct config_class *class,
                         struct error *err) {
    static const struct remote_documents policies = { .collection = "volume_policies",
                                                      .word = "volume_policy" };
    const json_t *policy = NULL;
    size_t pools;

    class->count = class->replicas > 0 ? class->replicas : REPLICAS_USUAL;
    class->is_there = true;
    if (!*class->policy)
        return 0;
    policy = document_fetch(api, arena, &policies, class->policy, err);
    if (!policy && err->kind != ERROR_NOT_FOUND)
        return -1;
    class->is_there = policy != NULL;
    class->pools = json_at(policy, "spec.replicaPoolInfo");
    pools = json_array_size(class->pools);
    if (class->replicas == 0 && pools > 0)
        class->count = (int64_t)pools;
    return 0;
}

/* ---- capacity ---- */

static bool is_named(const struct config_class *class, const char *name) {
    for (size_t i = 0; i < json_array_size(class->pools); i++)
        if (strcmp(config_text_of(json_array_get(class->pools, i), "poolName"), name) == 0)
            return true;
    return json_array_size(class->pools) == 0;
}

static int by_capacity(const void *left, const void *right) {
    int64_t one = *(const int64_t *)left, other = *(const int64_t *)right;

    return (one < other) - (one > other);
}

/* Each replica is in a pool of its own: the pool with the least space limits the size. */
static int64_t capacity_in(struct arena *arena, const struct config_class *class,
                           const struct remote_replica_pool *pools, unsigned count) {
    int64_t *capacities = arena_alloc(arena, (count + 1) * sizeof(*capacities));
    size_t named = json_array_size(class->pools), usable = 0;

    for (unsigned i = 0; i < count; i++)
        if (pools[i].up && !pools[i].read_only && is_named(class, pools[i].name))
            capacities[usable++] = pools[i].free_bytes;
    if (usable < (size_t) class->count || (named > 0 && named != (size_t) class->count))
        return 0;
    qsort(capacities, usable, sizeof(*capacities), by_capacity);
    return capacities[class->count - 1];
}

int config_get_capacity(struct grpc_call *call, const void *message, void *response,
                        struct error *err) {
    const Csi__V1__GetCapacityRequest *request = message;
    Csi__V1__GetCapacityResponse *answer = response;
    struct client api = csi_api(call);
    struct remote_replica_pool *pools = NULL;
    struct config_class class;
    int64_t capacity = 0;
    int count = 0;
    int result = config_class_read(CONTROLLER_PARAMETERS(request), &class, err);

    if (result == 0)
        result = config_class_resolve(&api, call->arena, &class, err);
    if (result == 0 && (count = replica_pools_list(&api, call->arena, &pools, err)) < 0)
        result = -1;
    if (result != 0)
        return result;
    if (class.is_there)
        capacity = capacity_in(call->arena, &class, pools, (unsigned)count) / GIB;
    answer->available_capacity = (capacity < CONFIG_GIB_MOST ? capacity : CONFIG_GIB_MOST) * GIB;
    answer->maximum_volume_size = CSI_NEW(call->arena, Csi__V1__Int64Value, csi__v1__int64_value);
    answer->maximum_volume_size->value = answer->available_capacity;
    return 0;
}
