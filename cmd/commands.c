/*
 * The subcommands: the roles of the service, and the tools.
 */
#include "cmd/command.h"

#include "cmd/manage.h"
#include "common/cleanup.h"

#include <string.h>

static const struct listener api_listener = {
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

/* clang-format off */
const struct command commands[] = {
    { .name = "serve", .help = "every role in one process",
      .role = { .parts = PART_API | PART_MANAGER | PART_AGENT, .optional = PART_AGENT,
                .listener = &api_listener } },
    { .name = "api", .help = "HTTP API only",
      .role = { .parts = PART_API, .listener = &api_listener } },
    { .name = "manager", .help = "volume manager of the configured backends",
      .role = { .parts = PART_MANAGER } },
    { .name = "compute", .help = "agent of one hypervisor host",
      .role = { .parts = PART_AGENT, .listener = &agent_listener } },
    { .name = "manage", .help = "for operators: what there is, and whether it agrees",
      .run = manage_run, .words = manage_words },
    { 0 },
};

/* Of the optional parts. */
static const struct {
    unsigned part;
    const char *section, *key;
} switches[] = {
    { PART_AGENT, "compute_agent", "enabled" },
};
/* clang-format on */

const struct command *command_find(const char *name) {
    for (const struct command *command = commands; command->name; command++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

unsigned role_parts(const struct role *role, const struct config *config) {
    unsigned parts = role->parts;

    for (unsigned i = 0; i < LENGTH(switches); i++)
        if (role->optional & switches[i].part &&
            !config_bool(config, switches[i].section, switches[i].key))
            parts &= ~switches[i].part;
    return parts;
}
