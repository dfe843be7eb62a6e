/*
 * The nodes that a volume without policy is attached to.
 */
#include "csi/controller/controller.private.h"

#include "common/cleanup.h"
#include "common/words.h"

#include <string.h>

const char *controller_node(const struct remote_attachment *attachment) {
    if (attachment->instance_uuid)
        return NULL;
    return attachment->host ? attachment->host : attachment->device;
}

char **controller_nodes(struct arena *arena, const struct remote_volume *volume,
                        size_t *ret_count) {
    char **nodes = arena_alloc(arena, (volume->attachment_count + 1) * sizeof(*nodes));
    size_t count = 0;

    for (unsigned i = 0; i < volume->attachment_count; i++) {
        const char *node = controller_node(&volume->attachments[i]);

        if (node)
            nodes[count++] = arena_text(arena, node);
    }
    *ret_count = count;
    return nodes;
}

const struct remote_attachment *controller_attached_to(const struct remote_volume *volume,
                                                       const char *node_id) {
    for (unsigned i = 0; i < volume->attachment_count; i++) {
        const char *node = controller_node(&volume->attachments[i]);

        if (node && strcmp(node, node_id) == 0)
            return &volume->attachments[i];
    }
    return NULL;
}

bool controller_is_being_attached(const struct remote_volume *volume) {
    static const char *const begun[] = { "attaching", "detaching", "reserved" };

    return words_have(begun, LENGTH(begun), volume->status);
}
