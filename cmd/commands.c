/*
 * The subcommands: the roles of the service, and the tools.
 */
#include "cmd/command.h"

#include "cmd/manage.h"
#include "common/cleanup.h"
#include "http/unix_socket.h"

#include <string.h>

const struct listener listener_api = {
    .section = "DEFAULT",
    .address = "osapi_volume_listen",
    .port = "osapi_volume_listen_port",
    .told = "/v3",
    .agent = "/compute",
};

static const struct listener agent_listener = {
    .section = "compute_agent",
    .address = "listen",
    .port = "port",
    .told = "/v2.1",
    .agent = "",
};

#define SECTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* clang-format off */
const struct command commands[] = {
    { .name = "serve", .help = "every role in one process",
      .role = { .parts = PART_API | PART_MANAGER | PART_AGENT | PART_CSI | PART_STORAGE | PART_KUBERNETES,
                .optional = PART_AGENT | PART_CSI | PART_STORAGE | PART_KUBERNETES,
                .listener = &listener_api, .sections = SECTIONS("DEFAULT", "database") } },
    { .name = "api", .help = "HTTP API only",
      .role = { .parts = PART_API, .listener = &listener_api,
                .sections = SECTIONS("DEFAULT", "database", "oslo_policy", "ssl") } },
    { .name = "manager", .help = "volume manager of the configured backends",
      .role = { .parts = PART_MANAGER,
                .sections = SECTIONS("DEFAULT", "database", OPTION_BACKEND) } },
    { .name = "compute", .help = "agent of one hypervisor host",
      .role = { .parts = PART_AGENT | PART_STORAGE, .optional = PART_STORAGE,
                .listener = &agent_listener, .sections = SECTIONS("compute_agent") } },
    { .name = "csi", .help = "driver for Kubernetes, in front of the HTTP API",
      .role = { .parts = PART_CSI | PART_STORAGE | PART_KUBERNETES,
                .optional = PART_STORAGE | PART_KUBERNETES, .sections = SECTIONS("csi") } },
    { .name = "storage", .help = "agent of one node's pools and of replicated volumes served there",
      .role = { .parts = PART_STORAGE, .sections = SECTIONS("storage", OPTION_POOL) } },
    { .name = "manage", .help = "commands for operators: show, check and change",
      .run = manage_run, .words = manage_words },
    { 0 },
};

/* clang-format on */

const char *listener_url(struct arena *arena, const struct config *config,
                         const struct listener *listener, unsigned port, const char *path) {
    const char *address = config_text(config, listener->section, listener->address);
    const char *file = unix_socket_path(address);
    bool ipv6 = strchr(address, ':') != NULL;
    bool secure = config_text(config, "ssl", "cert_file") != NULL;

    if (file)
        return arena_join(arena, unix_socket_url(arena, file, secure), path, NULL);
    if (port == 0)
        port = (unsigned)config_int(config, listener->section, listener->port);
    return arena_format(arena, "%s://%s%s%s:%u%s", secure ? "https" : "http", ipv6 ? "[" : "",
                        address, ipv6 ? "]" : "", port, path);
}

static bool is_wanted(const struct config *config, unsigned part) {
    if (part == PART_AGENT)
        return config_bool(config, "compute_agent", "enabled");
    if (part == PART_STORAGE)
        return config_bool(config, "storage", "enabled") ||
               config_item(config, "storage", "enabled_pools", 0);
    if (part == PART_KUBERNETES)
        return config_bool(config, "kubernetes", "enabled");
    return config_given(config, "csi", "endpoint");
}

const struct command *command_find(const char *name) {
    for (const struct command *command = commands; command->name; command++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

unsigned role_parts(const struct role *role, const struct config *config) {
    static const unsigned optional[] = { PART_AGENT, PART_CSI, PART_STORAGE, PART_KUBERNETES };
    unsigned parts = role->parts;

    for (unsigned i = 0; i < LENGTH(optional); i++)
        if (role->optional & optional[i] && !is_wanted(config, optional[i]))
            parts &= ~optional[i];
    return parts;
}
