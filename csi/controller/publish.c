/*
 * ControllerPublishVolume: an attachment of a node, without an instance.
 *
 * A repeated call continues the attachment of the first one, whose connection may take longer than
 * either waits (RETRY_HEADER).  An incomplete attachment was not reported: a call that it prevents
 * from attaching the volume deletes it, but not once it is complete (INCOMPLETE_HEADER).  Of two
 * concurrent calls the one that loses its attachment is repeated.  Finally each call checks that
 * the volume is attached to its node.
 */
#include "csi/controller/controller.private.h"

#include "client/attachments.h"

#include <string.h>

/* Created by a call like this one, and incomplete. */
static bool is_begun(const struct remote_connection *connection) {
    return !connection->instance_uuid && strcmp(connection->status, "attached") != 0;
}

static int detach(const struct client *api, struct arena *arena, const char *id, bool incomplete,
                  struct error *err) {
    if (attachments_delete(api, arena, id, incomplete, err) == 0 || err->kind == ERROR_NOT_FOUND)
        return 0;
    return err->kind == ERROR_CONFLICT || err->kind == ERROR_BAD_REQUEST
               ? grpc_refuse(err, GRPC_ABORTED, "%s", err->message)
               : -1;
}

int controller_detach_begun(const struct client *api, struct arena *arena, const char *volume_id,
                            struct error *err) {
    struct remote_connection *connections = NULL;
    int count = attachments_list(api, arena, volume_id, &connections, err), result = 0;

    for (int i = 0; i < count && result == 0; i++)
        if (is_begun(&connections[i]))
            result = detach(api, arena, connections[i].id, true, err);
    return count < 0 ? -1 : result;
}

/* ---- the response ---- */

static char *text_of(struct arena *arena, const json_t *value) {
    if (json_is_string(value))
        return arena_text(arena, json_string_value(value));
    if (json_is_integer(value))
        return arena_format(arena, "%jd", (intmax_t)json_integer_value(value));
    if (json_is_boolean(value))
        return arena_text(arena, json_is_true(value) ? "true" : "false");
    return NULL;
}

void controller_put_context(struct arena *arena, Csi__V1__ControllerPublishVolumeResponse *answer,
                            const char *key, const char *value) {
    Csi__V1__ControllerPublishVolumeResponse__PublishContextEntry *entry =
        CSI_NEW(arena, Csi__V1__ControllerPublishVolumeResponse__PublishContextEntry,
                csi__v1__controller_publish_volume_response__publish_context_entry);

    entry->key = arena_text(arena, key);
    entry->value = arena_text(arena, value);
    answer->publish_context[answer->n_publish_context++] = entry;
}

/* A flat map: the attachment's id, and each string and number of the backend.  Cinder nests them
 * below "data" in older calls. */
static void put_context(struct arena *arena, const struct remote_connection *connection,
                        Csi__V1__ControllerPublishVolumeResponse *answer) {
    const json_t *nested = json_object_get(connection->info, "data");
    const json_t *data = json_is_object(nested) ? nested : connection->info;
    const char *type = json_text_of(connection->info, "driver_volume_type");
    const char *key;
    json_t *value;

    answer->publish_context =
        arena_alloc(arena, (json_object_size(data) + 2) * sizeof(*answer->publish_context));
    controller_put_context(arena, answer, "attachment_id", connection->id);
    if (type)
        controller_put_context(arena, answer, "driver_volume_type", type);
    json_object_foreach((json_t *)(uintptr_t)data, key, value) {
        const char *text = text_of(arena, value);

        if (text && strcmp(key, "attachment_id") != 0 && strcmp(key, "driver_volume_type") != 0)
            controller_put_context(arena, answer, key, text);
    }
}

/* ---- publish ---- */

int controller_check_node(const struct grpc_call *call, const char *node_id, struct error *err) {
    const struct config *config = csi_driver_of(call)->config;
    const char *node = config_item(config, "csi", "nodes", 0);

    for (size_t i = 1; node && strcmp(node, node_id) != 0; i++) {
        node = config_item(config, "csi", "nodes", i);
        if (!node)
            return grpc_refuse(err, GRPC_NOT_FOUND, "There is no node %s.", node_id);
    }
    return 0;
}

struct publish {
    const char *volume_id, *node_id;
    bool readonly, multi_node;
    int64_t most; /* volumes per node; 0: unlimited */
};

static int published(const struct client *api, struct arena *arena, const struct publish *publish,
                     const char *attachment_id, Csi__V1__ControllerPublishVolumeResponse *answer,
                     struct error *err) {
    struct remote_connection connection;
    bool readonly;

    if (attachments_read(api, arena, attachment_id, &connection, err) < 0)
        return err->kind == ERROR_NOT_FOUND
                   ? grpc_refuse(err, GRPC_ABORTED, "The attachment is being removed.")
                   : -1;
    readonly = connection.mode && strcmp(connection.mode, "ro") == 0;
    if (readonly != publish->readonly)
        return grpc_refuse(
            err, GRPC_ALREADY_EXISTS, "Volume %s is already published on node %s, and is %s there.",
            publish->volume_id, publish->node_id, readonly ? "read-only" : "writable");
    put_context(arena, &connection, answer);
    return 0;
}

/* May the volume be attached to another node? */
static int check_others(const struct publish *publish, const struct remote_volume *volume,
                        struct error *err) {
    const struct remote_attachment *other = volume->attachments;

    if (volume->attachment_count == 0 || (publish->multi_node && volume->multiattach))
        return 0;
    return grpc_refuse(err, GRPC_FAILED_PRECONDITION, "Volume %s is %s %s already.", volume->id,
                       controller_node(other) ? "published on node" : "attached to server",
                       controller_node(other) ? controller_node(other)
                       : other->instance_uuid ? other->instance_uuid
                                              : "unknown");
}

/* The API has refused: is the cause temporary? */
static int attach_refused(const struct client *api, struct arena *arena, const char *volume_id,
                          struct error *err) {
    struct remote_volume volume;

    if (err->kind == ERROR_OVER_QUOTA)
        return grpc_refuse(err, GRPC_RESOURCE_EXHAUSTED, "%s", err->message);
    if (err->kind == ERROR_NOT_FOUND) {
        struct error refusal = *err;
        int result = controller_read(api, arena, &volume_kind, volume_id, &volume, err);

        return result != 0 ? result : grpc_refuse(err, GRPC_ABORTED, "%s", refusal.message);
    }
    return err->kind == ERROR_BAD_REQUEST || err->kind == ERROR_CONFLICT
               ? controller_refused_volume(api, arena, volume_id, GRPC_ABORTED, err)
               : -1;
}

/* After a refusal: deletes incomplete attachments, if they are the reason. */
static int make_way(const struct client *api, struct arena *arena, const struct publish *publish,
                    struct error *err) {
    struct error refusal = *err;
    struct remote_volume volume;

    if (err->kind != ERROR_BAD_REQUEST && err->kind != ERROR_CONFLICT)
        return -1;
    if (err->kind == ERROR_BAD_REQUEST) {
        int result = controller_read(api, arena, &volume_kind, publish->volume_id, &volume, err);

        *err = result == 0 ? refusal : *err;
        if (result != 0 || !controller_is_being_attached(&volume))
            return result != 0 ? result : -1;
    }
    return controller_detach_begun(api, arena, publish->volume_id, err);
}

static int attach(const struct client *api, struct arena *arena, const struct publish *publish,
                  struct error *err) {
    const struct remote_connector connector = { publish->node_id, publish->readonly };
    struct remote_connection connection;
    int result = attachments_create(api, arena, publish->volume_id, &connector, &connection, err);

    if (result < 0) {
        result = make_way(api, arena, publish, err);
        if (result == 0)
            result =
                attachments_create(api, arena, publish->volume_id, &connector, &connection, err);
    }
    if (result == 0)
        result = attachments_complete(api, arena, connection.id, publish->most, err);
    return result < 0 ? attach_refused(api, arena, publish->volume_id, err) : result;
}

static int attach_here(const struct grpc_call *call, const struct client *api,
                       const struct publish *publish, struct remote_volume *volume,
                       const struct remote_attachment **ret, struct error *err) {
    int result = check_others(publish, volume, err);

    if (result == 0)
        result = controller_recover(call, api, volume, err);
    if (result == 0)
        result =
            controller_check_volume_limit(call, api, publish->node_id, publish->volume_id, err);
    if (result == 0)
        result = attach(api, call->arena, publish, err);
    if (result == 0)
        result = controller_read(api, call->arena, &volume_kind, publish->volume_id, volume, err);
    if (result != 0)
        return result;
    *ret = controller_attached_to(volume, publish->node_id);
    return *ret ? 0
                : grpc_refuse(err, GRPC_ABORTED, "Volume %s is being published on another node.",
                              volume->id);
}

int controller_publish(struct grpc_call *call, const void *message, void *response,
                       struct error *err) {
    const Csi__V1__ControllerPublishVolumeRequest *request = message;
    struct publish publish = { .volume_id = request->volume_id,
                               .node_id = request->node_id,
                               .readonly = request->readonly,
                               .most = controller_volume_limit(call) };
    int result = controller_require(request->volume_id, "volume_id", err);
    struct client api;
    const struct remote_attachment *attachment;
    struct remote_volume volume;

    if (result == 0)
        result = controller_require(request->node_id, "node_id", err);
    if (result == 0 && !request->volume_capability)
        result = grpc_refuse(err, GRPC_INVALID_ARGUMENT, "volume_capability is missing.");
    if (result == 0)
        result = controller_check_capability(request->volume_capability, true, err);
    if (result != 0)
        return result;
    publish.multi_node = controller_is_multi_node(request->volume_capability);
    api = csi_api(call);
    result = controller_read(&api, call->arena, &volume_kind, publish.volume_id, &volume, err);
    if (result == 0)
        result = controller_check_node(call, publish.node_id, err);
    if (result != 0)
        return result;
    attachment = controller_attached_to(&volume, publish.node_id);
    if (!attachment)
        result = attach_here(call, &api, &publish, &volume, &attachment, err);
    return result != 0 ? result
                       : published(&api, call->arena, &publish, attachment->id, response, err);
}

/* ---- unpublish ---- */

int controller_unpublish(struct grpc_call *call, const void *message, void *response,
                         struct error *err) {
    const Csi__V1__ControllerUnpublishVolumeRequest *request = message;
    struct client api = csi_api(call);
    struct remote_volume volume;
    int result = controller_require(request->volume_id, "volume_id", err);

    (void)response;
    if (result == 0)
        result = controller_read(&api, call->arena, &volume_kind, request->volume_id, &volume, err);
    if (result != 0)
        return result == GRPC_NOT_FOUND ? 0 : result;
    for (unsigned i = 0; i < volume.attachment_count && result == 0; i++) {
        const char *node = controller_node(&volume.attachments[i]);

        if (node && (!*request->node_id || strcmp(node, request->node_id) == 0))
            result = detach(&api, call->arena, volume.attachments[i].id, false, err);
    }
    return result != 0 ? result : controller_detach_begun(&api, call->arena, volume.id, err);
}
