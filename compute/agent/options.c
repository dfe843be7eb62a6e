/* Options of the agent. */
#include "compute/agent/agent.h"

#define SECTION        "compute_agent"
#define FILLS(member_) OPTION_FILLS(struct agent_settings, member_)

/* clang-format off */
const struct option agent_options[] = {
    { .section = SECTION, .key = "enabled", .type = OPTION_BOOL, .fallback = "true",
      .help = "Whether the program in one process (scoria serve) takes compute events itself and "
              "grows the disks of this machine's domains." },
    { .section = SECTION, .key = "host", .type = OPTION_TEXT, FILLS(host),
      .help = "Name of this hypervisor host as in the connectors of its instances. Unset: the machine's "
              "name." },
    { .section = SECTION, .key = "libvirt_uri", .type = OPTION_TEXT, .fallback = "qemu:///system",
      .help = "Connection URI of libvirt." },
    { .section = SECTION, .key = "volume_endpoint", .type = OPTION_TEXT, .fallback = "http://127.0.0.1:8776/v3",
      .help = "Root of the volume API, with /v3. Not given, with a user in section service_user: "
              "the catalog's endpoint of volumev3 or block-storage." },
    { .section = SECTION, .key = "volume_token", .type = OPTION_TEXT, FILLS(token), .secret = true,
      .help = "Sent to the volume API as X-Auth-Token, when section service_user has no user. "
              "Unset: none." },
    { .section = SECTION, .key = "listen", .type = OPTION_TEXT, .fallback = "127.0.0.1",
      .help = "Address at which compute events are received (scoria compute), or unix:PATH; then "
              "endpoint must be set, as managers call over the network." },
    { .section = SECTION, .key = "port", .type = OPTION_INT, .fallback = "8774", .min = 0, .max = 65535,
      .help = "Port at which compute events are received (scoria compute). 0: any free one." },
    { .section = SECTION, .key = "endpoint", .type = OPTION_TEXT,
      .help = "URL under which the volume managers reach this agent, with /v2.1; the agent "
              "registers it. Unset: made from the address and the port." },
    { .section = SECTION, .key = "workers", .type = OPTION_INT, FILLS(workers), .fallback = "4", .min = 1, .max = 64,
      .help = "How many volumes are processed concurrently." },
    { .section = SECTION, .key = "heartbeat_interval", .type = OPTION_SECONDS, FILLS(heartbeat_s), .fallback = "10", .min = 1, .max = 3600,
      .help = "Seconds between two heartbeats to the volume API, and between two updates of the I/O "
              "limits of this host's disks." },
    { .section = SECTION, .key = "resume_guests", .type = OPTION_BOOL, FILLS(resumes), .fallback = "true",
      .help = "Whether domains that libvirt has paused for an I/O error of a volume over NBD are "
              "resumed when its server is available again; checked at the same interval." },
    OPTIONS_END,
};
/* clang-format on */
