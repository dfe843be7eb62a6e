#include "csi/controller/configs.private.h"

#include "common/md5.h"
#include "json/json.h"

#include <string.h>

#define NAME_MOST    200
#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-."

bool config_is_snapshot_id(const char *id) {
    return strncmp(id, SNAPSHOT_PREFIX, strlen(SNAPSHOT_PREFIX)) == 0;
}

/* ---- names ---- */

bool config_is_name(const char *text) {
    size_t length = strlen(text);

    return length > 0 && length <= NAME_MOST && strspn(text, NAME_LETTERS) == length &&
           !strchr("-.", text[0]) && !strchr("-.", text[length - 1]) && !strstr(text, "..") &&
           !strstr(text, ".-") && !strstr(text, "-.");
}

const char *config_name_of(struct arena *arena, const char *mark) {
    size_t length;
    const char *cluster, *name = controller_name_in(mark, &cluster, &length);
    char hex[MD5_HEX_SIZE];

    if (config_is_name(name))
        return name;
    md5_hex(mark, strlen(mark), hex);
    return arena_join(arena, "csi-", hex, NULL);
}

/* ---- rows ---- */

int config_refused(struct error *err) {
    if (err->kind == ERROR_CONFLICT)
        return grpc_refuse(err, GRPC_ABORTED, "%s", err->message);
    if (err->kind == ERROR_BAD_REQUEST)
        return grpc_refuse(err, GRPC_INVALID_ARGUMENT, "%s", err->message);
    if (err->kind == ERROR_OVER_QUOTA)
        return grpc_refuse(err, GRPC_RESOURCE_EXHAUSTED, "%s", err->message);
    return -1;
}

int config_change(const struct client *api, struct arena *arena, struct volume_config *config,
                  json_t *patch, struct error *err) {
    const json_t *document;

    json_keep(arena, patch);
    document = document_change(api, arena, &config_documents, config->uid, patch, err);
    if (!document)
        return err->kind == ERROR_NOT_FOUND ? config_none(config->id, err) : config_refused(err);
    return config_decode(arena, document, config, err);
}

int config_publish_on(const struct grpc_call *call, const struct client *api,
                      struct volume_config *config, const char *node_id, struct error *err) {
    json_t *publish = *node_id ? json_pack("{s:s, s:s}", "nodeId", node_id, "export", "file")
                               : json_pack("{s:s, s:n}", "nodeId", node_id, "export");
    struct poll_wait wait = poll_wait_of(call);
    const char *had = config->node;
    int result;

    json_keep(call->arena, publish);
    do {
        result = config_change(api, call->arena, config,
                               json_pack("{s:{s:s}, s:O}", "metadata", "resourceVersion",
                                         config->version, "publish", publish),
                               err);
        if (result != GRPC_ABORTED)
            return result;
        result = config_read(api, call->arena, config->id, config, err);
        if (result != 0)
            return result;
    } while (strcmp(config->node, had) == 0 && poll_again(call, &wait));
    return grpc_refuse(err, GRPC_ABORTED, "Volume %s is being modified concurrently; try again.",
                       config->id);
}

/* ---- descriptions ---- */

Csi__V1__Volume *config_shown(struct arena *arena, const struct volume_config *config) {
    Csi__V1__Volume *shown = CSI_NEW(arena, Csi__V1__Volume, csi__v1__volume);

    shown->volume_id = arena_text(arena, config->id);
    shown->capacity_bytes = config->has_bytes > 0 ? config->has_bytes : config->bytes;
    return shown;
}

int config_check_capabilities(Csi__V1__VolumeCapability *const *capabilities, size_t count,
                              struct error *err) {
    int result =
        count > 0 ? 0 : grpc_refuse(err, GRPC_INVALID_ARGUMENT, "volume_capabilities is missing.");

    for (size_t i = 0; i < count && result == 0; i++) {
        result = controller_check_capability(capabilities[i], true, err);
        if (result == 0 && controller_is_multi_node(capabilities[i]))
            result = grpc_refuse(err, GRPC_INVALID_ARGUMENT,
                                 "A volume with a policy can be published on one node at a time.");
    }
    return result;
}

/* ---- the kind ---- */

int config_get(struct grpc_call *call, const void *message, void *response, struct error *err) {
    const Csi__V1__ControllerGetVolumeRequest *request = message;
    Csi__V1__ControllerGetVolumeResponse *answer = response;
    struct client api = csi_api(call);
    struct volume_config config;
    int result = config_read(&api, call->arena, request->volume_id, &config, err);

    if (result != 0)
        return result;
    answer->volume = config_shown(call->arena, &config);
    answer->status = CSI_NEW(call->arena, Csi__V1__ControllerGetVolumeResponse__VolumeStatus,
                             csi__v1__controller_get_volume_response__volume_status);
    answer->status->published_node_ids = arena_alloc(call->arena, sizeof(char *));
    if (*config.node)
        answer->status->published_node_ids[answer->status->n_published_node_ids++] =
            arena_text(call->arena, config.node);
    answer->status->volume_condition = config_condition(call->arena, &config);
    return 0;
}

static int read_one(const struct client *api, struct arena *arena, const char *id, void *ret,
                    struct error *err) {
    return config_read(api, arena, id, ret, err);
}

/* An API without configs has an empty list. */
static int read_page(const struct client *api, struct arena *arena, const char *query,
                     const char *marker, unsigned limit, void **ret, struct error *err) {
    const char *after = marker && config_is_id(marker) ? marker + strlen(CONFIG_PREFIX) : "";
    const struct client_call call = {
        .method = "GET",
        .path = client_page(arena, "/volume_configs", query ? query : "sort=id:asc",
                            *after ? after : NULL, limit),
        .may_lack = true,
    };
    const json_t *list = client_ask_list(api, arena, &call, "volume_configs", err), *one;
    size_t count = json_array_size(list), i;
    struct volume_config *rows = arena_alloc(arena, (count + 1) * sizeof(*rows));

    *ret = rows;
    if (!list)
        return err->kind == ERROR_NOT_FOUND && !*after ? 0 : -1;
    json_array_foreach(list, i, one) {
        if (config_decode(arena, one, &rows[i], err) < 0)
            return -1;
    }
    return (int)count;
}

const struct controller_kind config_kind = {
    .label = "volume",
    .row_size = sizeof(struct volume_config),
    .read = read_one,
    .page = read_page,
};
