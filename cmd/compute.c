#include "cmd/command.h"
#include "cmd/parts.h"

static int run(const struct config *config, const char *const *words) {
    (void)words;
    return parts_run(config, (struct roles){ .api = false, .manager = false, .agent = true });
}

const struct command compute_command = {
    .name = "compute",
    .help = "agent of one hypervisor host",
    .run = run,
    .listen_address = "compute_agent.listen",
    .listen_port = "compute_agent.port",
};
