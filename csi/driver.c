#include "config.h"

#include "csi/driver.private.h"

#include "client/volumes.h"
#include "http/exchange.h"
#include "identity/own_user.h"

#include <ctype.h>
#include <string.h>

#define SECTION      "csi"
#define LONGEST_NAME 63
#define MICROVERSION "3.59" /* has all fields in use, and any Cinder since Stein supports it */

/* ---- the API ---- */

struct client csi_api(const struct grpc_call *call) {
    struct client api = csi_driver_of(call)->api;

    api.request_id = call->request_id;
    api.until_us = &call->until_us;
    return api;
}

/* "http://host:port" stands for its /v3. */
static const char *root_of(struct arena *arena, const char *url) {
    const char *host = url ? strstr(url, "://") : NULL;
    const char *path = host ? strchr(host + 3, '/') : NULL;

    if (!host || (path && path[1]))
        return url;
    return arena_format(arena, "%.*s/v3", (int)http_length(url), url);
}

/* ---- settings ---- */

static bool is_letter(char c) {
    return isalpha((unsigned char)c) && isascii((unsigned char)c);
}

static int check_name(const char *name, struct error *err) {
    size_t length = strlen(name);
    bool good =
        length >= 2 && length <= LONGEST_NAME && is_letter(name[0]) && is_letter(name[length - 1]);

    for (size_t i = 0; i < length; i++)
        good = good &&
               (is_letter(name[i]) || isdigit((unsigned char)name[i]) || strchr("-.", name[i]));
    return good ? 0
                : error_set(err, ERROR_BAD_REQUEST,
                            "[csi] driver_name: %s is not a valid driver name", name);
}

static int check_cluster(const char *name, struct error *err) {
    size_t length = strlen(name);
    bool good = length <= LONGEST_NAME;

    for (size_t i = 0; i < length; i++)
        good = good &&
               (is_letter(name[i]) || isdigit((unsigned char)name[i]) || strchr("-._", name[i]));
    return good
               ? 0
               : error_set(
                     err, ERROR_BAD_REQUEST,
                     "[csi] cluster: '%s' must consist of letters, digits, '-', '.' and '_', at most %d",
                     name, LONGEST_NAME);
}

static struct csi_driver *driver_new(const struct csi_settings *settings) {
    const struct config *config = settings->config;
    struct arena *arena = arena_new();
    struct csi_driver *driver = arena_alloc(arena, sizeof(*driver));
    bool controller = config_bool(config, SECTION, "controller");
    bool node = config_bool(config, SECTION, "node");

    driver->arena = arena;
    driver->lock = -1;
    driver->config = config;
    driver->name = config_text(config, SECTION, "driver_name");
    driver->cluster = config_text(config, SECTION, "cluster");
    driver->version = PACKAGE_VERSION;
    driver->controller = controller || !node;
    driver->node = node || !controller;
    csi_topology_read(driver, config);
    driver->api = volumes_client(root_of(arena, settings->volume_url),
                                 config_text(config, SECTION, "volume_token"), settings->user);
    driver->api.version = MICROVERSION;
    return driver;
}

/* ---- start and stop ---- */

static void driver_free(struct csi_driver *driver) {
    csi_node_stop(driver);
    arena_free(driver->arena);
}

static int serve(struct csi_driver *driver, const struct csi_settings *settings,
                 struct error *err) {
    static const struct grpc_method none[] = { { NULL, NULL } };
    const struct grpc_service services[] = {
        { &csi__v1__identity__descriptor, csi_identity_methods, driver },
        { &csi__v1__controller__descriptor, driver->controller ? csi_controller_methods : none,
          driver },
        { &csi__v1__node__descriptor, driver->node ? csi_node_methods : none, driver },
        { &csi__v1__group_controller__descriptor,
          driver->controller ? csi_group_controller_methods : none, driver },
        { &reclaimspace__reclaim_space_controller__descriptor,
          driver->controller ? csi_reclaim_methods : none, driver },
        { &reclaimspace__reclaim_space_node__descriptor,
          driver->node ? csi_node_reclaim_methods : none, driver },
        { &volumegroup__controller__descriptor,
          driver->controller ? csi_volume_group_methods : none, driver },
        { &csi__v1__snapshot_metadata__descriptor, none, driver },
        { &identity__identity__descriptor, csi_addons_identity_methods, driver },
        { NULL, NULL, NULL },
    };
    static const char *const quick[] = {
        "/csi.v1.Identity/GetPluginInfo",
        "/csi.v1.Identity/GetPluginCapabilities",
        "/csi.v1.Controller/ControllerGetCapabilities",
        "/csi.v1.Node/NodeGetCapabilities",
        "/identity.Identity/GetIdentity",
        "/identity.Identity/GetCapabilities",
        NULL,
    };
    static const char *const ahead[] = {
        "/csi.v1.Identity/Probe",
        "/identity.Identity/Probe",
        NULL,
    };
    const struct grpc_server_settings server = {
        .endpoint = settings->endpoint,
        .option = "--endpoint, endpoint of [csi], or CSI_ENDPOINT",
        .file = { .mode = config_text(settings->config, SECTION, "socket_mode"),
                  .group = config_text(settings->config, SECTION, "socket_group") },
        .services = services,
        .quick = quick,
        .ahead = ahead,
        .workers = (unsigned)config_int(settings->config, SECTION, "workers"),
    };

    return grpc_server_start(&server, &driver->server, err);
}

int csi_driver_start(const struct csi_settings *settings, struct csi_driver **ret,
                     struct error *err) {
    struct csi_driver *driver = driver_new(settings);

    if (check_name(driver->name, err) < 0 || check_cluster(driver->cluster, err) < 0 ||
        (driver->node && csi_node_start(driver, err) < 0) || serve(driver, settings, err) < 0) {
        driver_free(driver);
        return -1;
    }
    *ret = driver;
    return 0;
}

void csi_driver_stop(struct csi_driver *driver, int64_t grace_ms) {
    if (!driver)
        return;
    grpc_server_stop(driver->server, grace_ms);
    driver_free(driver);
}
