/*
 * Declared volumes: each is a config of the volume API, so the service keeps as many replicas of it
 * as its type's policy requires.
 */
#include "replicated/driver.h"

#include "common/cleanup.h"
#include "common/gib.h"
#include "common/heap.h"
#include "identity/own_user.h"
#include "replicated/replicated.private.h"
#include "json/json.h"

#include <string.h>

#define FILLS(member_) OPTION_FILLS(struct replicated, member_)

static const char *const connection_types[] = { "nbd", "local", NULL };

/* clang-format off */
static const struct option own_options[] = {
    { .section = OPTION_BACKEND, .key = "replicated_policy", .type = OPTION_TEXT, FILLS(policy),
      .help = "Volume policy of volumes whose type names none by its extra spec " DRIVER_SPEC_POLICY "." },
    { .section = OPTION_BACKEND, .key = "replicated_replicas", .type = OPTION_INT, FILLS(replicas), .fallback = "3", .min = 1, .max = 99,
      .help = "Number of replicas of volumes whose type has no extra spec " DRIVER_SPEC_REPLICAS
              " and whose policy names no pools." },
    { .section = OPTION_BACKEND, .key = "replicated_timeout", .type = OPTION_SECONDS, FILLS(timeout_us), .unit = 1000000, .fallback = "120",
      .min = 1, .max = 3600,
      .help = "Seconds that the controller and the nodes have to create a volume, to grow it or to serve it to a "
              "host." },
    { .section = OPTION_BACKEND, .key = "replicated_tls_directory", .type = OPTION_TEXT, FILLS(tls_directory), .fallback = "/etc/pki/libvirt-nbd",
      .help = "Directory with ca-cert.pem, client-cert.pem and client-key.pem on hosts that use a volume which "
              "another host serves; connections contain its path." },
    { .section = OPTION_BACKEND, .key = "replicated_connection_type", .type = OPTION_WORD, FILLS(connection_type), .fallback = "nbd", .words = connection_types,
      .help = "driver_volume_type of connections to a volume. nbd: the socket of its storage daemon. local: a block "
              "device of the host, as Nova needs it; one host at a time." },
    { .section = OPTION_BACKEND, .key = "volume_endpoint", .type = OPTION_TEXT, .fallback = "http://127.0.0.1:8776/v3",
      .help = "Root of the volume API that keeps the configs of replicated volumes, with /v3. Not given: the API of "
              "this process, or with a user in section service_user the catalog's endpoint of volumev3 or "
              "block-storage." },
    { .section = OPTION_BACKEND, .key = "volume_token", .type = OPTION_TEXT, .secret = true,
      .help = "Sent to it as X-Auth-Token, when section service_user has no user. Unset: none." },
    OPTIONS_END
};
/* clang-format on */

static const struct option *const options[] = { own_options, NULL };

/* It is a label's value. */
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

static bool is_label(const char *name) {
    size_t length = strlen(name);

    return length > 0 && length <= 63 && strspn(name, LETTERS "-_.") == length &&
           strchr(LETTERS, name[0]) && strchr(LETTERS, name[length - 1]);
}

static int replicated_open(const struct driver_backend *backend, void **ret_handle,
                           struct error *err) {
    struct replicated *opened;

    if (!is_label(backend->name))
        return error_set(
            err, ERROR_BAD_REQUEST,
            "[%s]: the name of a backend of replicated volumes has at most 63 letters, "
            "digits, '-', '_' and '.', with a letter or digit at both ends.",
            backend->name);
    opened = heap_new(sizeof *opened);
    opened->backend = backend;
    config_fill(backend->config, backend->name, own_options, opened);
    if (own_user_new(backend->config, "service_user", &opened->user, err) < 0) {
        free(opened);
        return -1;
    }
    *ret_handle = opened;
    return 0;
}

static void replicated_close(void *handle) {
    struct replicated *opened = handle;

    own_user_free(opened->user);
    free(opened);
}

/* ---- pools ---- */

#define LARGEST_GB 1024 /* the API's limit of the capacity of a config */

struct space {
    int64_t total, free;
    unsigned count;
    bool listens; /* one of their nodes: others can reach targets there */
};

const json_t *replicated_pools(const struct client *api, struct arena *arena, struct error *err) {
    const struct client_call call = { .method = "GET", .path = "/replica_pools" };

    return client_ask_list(api, arena, &call, "replica_pools", err);
}

static struct space space_of(const json_t *pools) {
    struct space space = { 0 };

    for (size_t i = 0; i < json_array_size(pools); i++) {
        const json_t *pool = json_array_get(pools, i);
        const char *state = json_text_of(pool, "state");

        if (!json_true_at(pool, "up") || json_true_at(pool, "read_only") || !state ||
            strcmp(state, "Online") != 0)
            continue;
        space.total += json_int_at(pool, "total_bytes");
        space.free += json_int_at(pool, "free_bytes");
        space.count++;
        space.listens |= json_text_of(pool, "address") != NULL;
    }
    return space;
}

/* One pool for all: the controller chooses pools for the replicas. */
static int replicated_get_pools(void *handle, struct arena *arena, struct driver_pool **ret,
                                struct error *err) {
    const struct replicated *opened = handle;
    const char *name =
        config_text(opened->backend->config, opened->backend->name, "volume_backend_name");
    struct driver_pool *pool = arena_alloc(arena, sizeof *pool);
    double copies = (double)opened->replicas * (double)GIB;
    const json_t *pools;
    struct client api;
    struct space space;

    if (replicated_is_early(opened))
        return 0;
    if (replicated_api(opened, &api, err) < 0 || !(pools = replicated_pools(&api, arena, err)))
        return -1;
    space = space_of(pools);
    *pool = (struct driver_pool){
        .name = name ? name : opened->backend->name,
        .total_gb = (double)space.total / copies,
        .free_gb = space.count < (unsigned)opened->replicas ? 0 : (double)space.free / copies,
        .capabilities = json_pack("{s:b, s:b, s:b, s:i, s:[s, s]}", POOL_ENDS_CONNECTIONS, 1,
                                  POOL_MOVES_INSTANCES,
                                  space.listens && strcmp(opened->connection_type, "local") != 0,
                                  POOL_KEEPS_DISCARDS, 1, POOL_LARGEST_GB, LARGEST_GB,
                                  POOL_EXTRA_SPECS, DRIVER_SPEC_POLICY, DRIVER_SPEC_REPLICAS),
    };
    *ret = pool;
    return 1;
}

/* ---- the list ---- */

void replicated_report(const struct replicated *backend, const json_t *document, const char *label,
                       void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg) {
    const json_t *metadata = json_object_get(document, "metadata");
    const json_t *labels = json_object_get(metadata, "labels");
    const char *whose = json_text_of(labels, LABEL_BACKEND), *name_id = json_text_of(labels, label);
    int64_t bytes = json_bytes_at(document, "status.capacity.storage");

    if (name_id && whose && strcmp(whose, backend->backend->name) == 0 &&
        !json_text_of(metadata, "deletionTimestamp"))
        found(arg, name_id, bytes > 0 ? bytes : -1);
}

static int replicated_list_volumes(void *handle, struct arena *arena,
                                   void (*found)(void *arg, const char *name_id, int64_t bytes),
                                   void *arg, struct error *err) {
    const struct replicated *opened = handle;
    const json_t *configs;
    struct client api;

    if (replicated_api(opened, &api, err) < 0)
        return -1;
    configs = documents_fetch(&api, arena, &replicated_configs, err);
    for (size_t i = 0; i < json_array_size(configs); i++)
        replicated_report(opened, json_array_get(configs, i), LABEL_VOLUME, found, arg);
    return configs ? 0 : -1;
}

const struct driver replicated_driver = {
    .name = "replicated",
    .vendor_name = "Open Source",
    .storage_protocol = "nbd",
    .properties = DRIVER_ONLINE_EXTEND | DRIVER_THIN,
    .reads_extra_specs = true,
    .options = options,
    .open = replicated_open,
    .close = replicated_close,
    .get_pools = replicated_get_pools,
    .create_volume = replicated_create_volume,
    .delete_volume = replicated_delete_volume,
    .rename_volume = replicated_rename_volume,
    .extend_volume = replicated_extend_volume,
    .get_size = replicated_get_size,
    .connect = replicated_connect,
    .disconnect = replicated_disconnect,
    .list_volumes = replicated_list_volumes,
    .create_snapshot = replicated_create_snapshot,
    .delete_snapshot = replicated_delete_snapshot,
    .list_snapshots = replicated_list_snapshots,
    .revert_volume = replicated_revert_volume,
    .clone_volume = replicated_clone_volume,
    .clone_snapshot = replicated_clone_snapshot,
    .get_usage = replicated_get_usage,
    .reclaim_volume = replicated_reclaim_volume,
    .open_volume_data = replicated_open_volume_data,
    .open_snapshot_data = replicated_open_snapshot_data,
};
