#include "cmd/command.h"
#include "cmd/parts.h"

static int run(const struct config *config, const char *const *words) {
    (void)words;
    return parts_run(config,
                     (struct roles){ .api = true,
                                     .manager = true,
                                     .agent = config_bool(config, "compute_agent", "enabled") });
}

const struct command serve_command = {
    .name = "serve",
    .help = "every role in one process",
    .run = run,
    .listen_address = "osapi_volume_listen",
    .listen_port = "osapi_volume_listen_port",
};
