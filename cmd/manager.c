#include "cmd/command.h"
#include "cmd/parts.h"

static int run(const struct config *config, const char *const *words) {
    (void)words;
    return parts_run(config, (struct roles){ .api = false, .manager = true, .agent = false });
}

const struct command manager_command = { .name = "manager",
                                         .help = "volume manager of the configured backends",
                                         .run = run };
