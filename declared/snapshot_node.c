#include "declared/snapshot_node.h"

#include "json/json.h"

#include <stdint.h>
#include <string.h>

static unsigned count_files(const json_t *volume, const char *node) {
    const json_t *replicas = json_object_get(volume, "replicas");
    unsigned count = 0;

    for (size_t i = 0; i < json_array_size(replicas); i++) {
        const json_t *replica = json_array_get(replicas, i);

        count += !json_text_of(replica, "address") || json_text_is(replica, "nodeId", node);
    }
    return count;
}

bool snapshot_node_can(const json_t *volume, const char *node) {
    return count_files(volume, node) >= json_int_at(volume, "consistencyFactor");
}

const char *snapshot_node_obstacle(struct arena *arena, const json_t *volume,
                                   const char *published) {
    const json_t *replicas = json_object_get(volume, "replicas");
    intmax_t needed = json_int_at(volume, "consistencyFactor");

    if (*published)
        return snapshot_node_can(volume, published)
                   ? NULL
                   : arena_format(
                         arena,
                         "node %s, where the volume is published, has %u of its replicas, and a "
                         "snapshot is taken by a node that has %jd",
                         published, count_files(volume, published), needed);
    for (size_t i = 0; i < json_array_size(replicas); i++) {
        const char *node = json_text_of(json_array_get(replicas, i), "nodeId");

        if (node && snapshot_node_can(volume, node))
            return NULL;
    }
    return arena_format(arena,
                        "no node has %jd of the volume's replicas, as one that takes a "
                        "snapshot needs",
                        needed);
}
