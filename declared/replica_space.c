#include "declared/replica_space.h"

#include "common/quantity.h"
#include "declared/replica_pool.h"
#include "json/json.h"

#include <string.h>

static int64_t bytes_at(const json_t *tree, const char *path) {
    const char *text = json_text_at(tree, path);
    int64_t bytes;

    return text && quantity_read(text, &bytes) ? bytes : -1;
}

/* Bytes allocated for its file; -1: not reported yet. */
static int64_t used_bytes(const struct document *replica) {
    return bytes_at(replica->status, "capacity.used");
}

static int64_t growth_of(const struct document *replica, int64_t bytes) {
    int64_t used = used_bytes(replica);

    return bytes - (used >= 0 ? used : bytes_at(replica->body, "spec.capacity"));
}

static int64_t snapshot_of(const struct document *replica, int64_t ignored) {
    (void)ignored;
    return used_bytes(replica);
}

struct demand {
    const char *field, *what;
    int64_t bytes;
    int64_t (*of)(const struct document *replica, int64_t bytes);
};

static int check(struct work *work, const struct document *config, const struct demand *demand,
                 struct error *err) {
    struct document *volume = NULL, *replicas = NULL;
    int count = document_owned(work, config->id, &kind_replicated_volume, &volume, err);

    if (count > 0)
        count = document_owned(work, volume->id, &kind_volume_replica, &replicas, err);
    for (int i = 0; i < count; i++) {
        const char *name = json_text_at(replicas[i].body, "spec.poolName");
        int64_t needed = demand->of(&replicas[i], demand->bytes);
        struct replica_pool pool;
        int found;

        if (replicas[i].deleted_at)
            continue;
        found = replica_pool_find(work, name ? name : "", &pool, err);
        if (found < 0)
            return -1;
        if (found && pool.up && strcmp(pool.state, REPLICA_POOL_ONLINE) == 0 &&
            needed > pool.free_bytes)
            return error_set(err, ERROR_OVER_QUOTA,
                             "%s: the pool of replica %s has %s free, and %s needs %s there.",
                             demand->field, replicas[i].id,
                             quantity_text(work->arena, pool.free_bytes), demand->what,
                             quantity_text(work->arena, needed));
    }
    return count < 0 ? -1 : 0;
}

int replica_space_check_growth(struct work *work, const struct document *config, int64_t bytes,
                               struct error *err) {
    const struct demand demand = { "spec.capacity.storage",
                                   arena_format(work->arena, "a volume of %s",
                                                quantity_text(work->arena, bytes)),
                                   bytes, growth_of };

    return check(work, config, &demand, err);
}

int replica_space_check_snapshot(struct work *work, const struct document *config,
                                 struct error *err) {
    const struct demand demand = { "spec.volumeName", "a snapshot", 0, snapshot_of };

    return check(work, config, &demand, err);
}
