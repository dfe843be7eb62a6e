#include "cmd/command.h"
#include "cmd/parts.h"

static int run(const struct config *config, const char *const *words) {
    (void)words;
    return parts_run(config, (struct roles){ .api = true, .manager = false, .agent = false });
}

const struct command api_command = {
    .name = "api",
    .help = "HTTP API only",
    .run = run,
    .listen_address = "osapi_volume_listen",
    .listen_port = "osapi_volume_listen_port",
};
