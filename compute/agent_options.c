/* What an agent is told by its configuration. */
#include "compute/agent.h"

#define SECTION "compute_agent"

const struct option agent_options[] = {
    { .section = SECTION,
      .key = "enabled",
      .type = OPTION_BOOL,
      .fallback = "true",
      .help = "Whether the program in one process (scoria serve) takes compute events itself and "
              "grows the disks of this machine's domains." },
    { .section = SECTION,
      .key = "host",
      .type = OPTION_TEXT,
      .help = "Name of this hypervisor host as the connectors of its instances say it. Unset: the "
              "machine's name." },
    { .section = SECTION,
      .key = "libvirt_uri",
      .type = OPTION_TEXT,
      .fallback = "qemu:///system",
      .help = "Where libvirt answers." },
    { .section = SECTION,
      .key = "volume_endpoint",
      .type = OPTION_TEXT,
      .fallback = "http://127.0.0.1:8776/v3",
      .help = "Root of the volume API, with /v3. Not given, with a user in section service_user: "
              "what the catalog says of volumev3 or block-storage." },
    { .section = SECTION,
      .key = "volume_token",
      .type = OPTION_TEXT,
      .secret = true,
      .help = "Sent to the volume API as X-Auth-Token, when section service_user has no user. "
              "Unset: none." },
    { .section = SECTION,
      .key = "listen",
      .type = OPTION_TEXT,
      .fallback = "127.0.0.1",
      .help =
          "Address that takes compute events (scoria compute), or unix:PATH; then endpoint must be "
          "set, as managers call over the network." },
    { .section = SECTION,
      .key = "port",
      .type = OPTION_INT,
      .fallback = "8774",
      .min = 0,
      .max = 65535,
      .help = "Port that takes compute events (scoria compute). 0: any free one." },
    { .section = SECTION,
      .key = "endpoint",
      .type = OPTION_TEXT,
      .help = "URL under which the volume managers reach this agent, with /v2.1; the agent "
              "registers it. Unset: made from the address and the port." },
    { .section = SECTION,
      .key = "workers",
      .type = OPTION_INT,
      .fallback = "4",
      .min = 1,
      .max = 64,
      .help = "How many volumes are worked on at once." },
    { .section = SECTION,
      .key = "heartbeat_interval",
      .type = OPTION_SECONDS,
      .fallback = "10",
      .min = 1,
      .max = 3600,
      .help = "Seconds between two heartbeats to the volume API, and between two looks at what the "
              "disks of this host are to be limited to." },
    { .section = SECTION,
      .key = "resume_guests",
      .type = OPTION_BOOL,
      .fallback = "true",
      .help = "Whether domains that libvirt has paused for an I/O error of a volume over NBD are "
              "resumed when its server is there again; looked for as often." },
    OPTIONS_END,
};
