#include "replication/node/agent.h"

#include <stddef.h>

#define SECTION "storage"

/* clang-format off */
const struct option storage_options[] = {
    { .section = SECTION, .key = "enabled", .type = OPTION_BOOL, .fallback = "false",
      .help = "Whether scoria serve, compute and csi serve replicated volumes on this node also when it has no pools. "
              "With enabled_pools they do." },
    { .section = SECTION, .key = "enabled_pools", .type = OPTION_LIST,
      .help = "Pools of this node, each a section of its own with its path: directories that take replicas of volumes. "
              "Names are unique over all nodes: letters of lower case, digits, '-' and '.', at most 63." },
    { .section = SECTION, .key = "node", .type = OPTION_TEXT,
      .help = "Name of this node in replicas and in publish.nodeId of configs. Unset: [DEFAULT] host, or the machine's "
              "name." },
    { .section = SECTION, .key = "volume_endpoint", .type = OPTION_TEXT, .fallback = "http://127.0.0.1:8776/v3",
      .help = "Root of the volume API, with /v3. Not given, with a user in section service_user: what the catalog says "
              "of volumev3 or block-storage." },
    { .section = SECTION, .key = "volume_token", .type = OPTION_TEXT, .secret = true,
      .help = "Sent to the volume API as X-Auth-Token, when section service_user has no user. Unset: none." },
    { .section = SECTION, .key = "run_directory", .type = OPTION_TEXT,
      .help = "Directory of sockets and logs of storage daemons, one below it for each volume; an absolute path of at "
              "most 66 bytes, 63 where other hosts reach volumes, 61 where volumes are served as files. Unset: targets in state_path." },
    { .section = SECTION, .key = "daemon", .type = OPTION_TEXT, .fallback = "qemu-storage-daemon",
      .help = "QEMU's storage daemon: a name that is looked up in PATH, or an absolute path." },
    { .section = SECTION, .key = "heartbeat_interval", .type = OPTION_SECONDS, .fallback = "10", .min = 1, .max = 3600,
      .help = "Seconds between two signs of life of a pool to the volume API." },
    { .section = SECTION, .key = "rebuilds", .type = OPTION_INT, .fallback = "2", .min = 1, .max = 64,
      .help = "How many replicas are rebuilt at once, each of another volume." },
    { .section = SECTION, .key = "rebuild_speed", .type = OPTION_INT, .fallback = "0", .min = 0, .max = 1048576,
      .help = "Most MiB a second that one rebuild copies; 0: as fast as it can." },
    { .section = SECTION, .key = "scrub_interval", .type = OPTION_SECONDS, .fallback = "1209600", .min = 0, .max = 31536000,
      .help = "Seconds after which all replicas of a volume that is served are compared again, one volume at a time, and "
              "those that are outvoted mended; 0: only when the agent finds a volume again that was served while no agent "
              "was there. Of replicas at other nodes sums are compared, not the bytes." },
    { .section = SECTION, .key = "scrub_speed", .type = OPTION_INT, .fallback = "32", .min = 1, .max = 1048576,
      .help = "Most MiB a second of each replica that are read to compare them." },
    { .section = SECTION, .key = "daemon_timeout", .type = OPTION_SECONDS, .fallback = "10", .min = 1, .max = 600,
      .help = "Seconds that a storage daemon has for one answer; one that is silent for longer is ended and started "
              "again. Other nodes have half of it." },
    { .section = SECTION, .key = "listen", .type = OPTION_TEXT,
      .help = "HOST:PORT where targets of other nodes reach the replicas of this one, with cert_file and ca_file. Unset: "
              "nowhere, and only this node serves volumes with replicas here." },
    { .section = SECTION, .key = "address", .type = OPTION_TEXT,
      .help = "HOST:PORT by which other nodes reach what listens, when that is not their name for it; the certificate is "
              "to be valid for HOST. Unset: listen." },
    { .section = SECTION, .key = "replica_ports", .type = OPTION_TEXT, .fallback = "10811-11810",
      .help = "FIRST-LAST of the ports at which replicas are served to other nodes, each at one of its own." },
    { .section = SECTION, .key = "client_ports", .type = OPTION_TEXT, .fallback = "11811-12810",
      .help = "FIRST-LAST of the ports at which other hosts reach volumes that are served here, as an instance that moves "
              "to another host does: each host of each volume has one of its own. With listen." },
    { .section = SECTION, .key = "cert_file", .type = OPTION_TEXT,
      .help = "PEM file with the certificate of this node, for other nodes, as their server and as their client; an "
              "absolute path." },
    { .section = SECTION, .key = "key_file", .type = OPTION_TEXT,
      .help = "PEM file of its key; an absolute path. Unset: in cert_file." },
    { .section = SECTION, .key = "ca_file", .type = OPTION_TEXT,
      .help = "PEM file of the authority of all nodes' certificates; an absolute path. Whoever has a certificate of it "
              "may read and write replicas: it is for nothing else." },
    { .section = SECTION, .key = "client_ca_file", .type = OPTION_TEXT,
      .help = "PEM file of the authorities whose certificates count at client_ports, that of cert_file among them; an "
              "absolute path. With one for clients alone what their QEMU can read opens no replica. Unset: ca_file." },
    { .section = SECTION, .key = "crl_file", .type = OPTION_TEXT,
      .help = "PEM file of lists of revoked certificates, of the authorities in ca_file and client_ca_file; an absolute "
              "path. Whose certificate is in one is not let in. A list that is replaced counts at once where other nodes "
              "call this one, for storage daemons from their next start on. Unset: none." },
    { .section = OPTION_POOL, .key = "path", .type = OPTION_TEXT,
      .help = "Directory of the pool, an absolute path. It is marked with a file scoria-pool when it is empty and the API "
              "has never heard of the pool; later it is used only with that mark, so that an empty mount point is not "
              "taken for it. Put an empty scoria-pool into a new directory that is to be the pool in place of one that "
              "was lost." },
    { .section = OPTION_POOL, .key = "labels", .type = OPTION_LIST,
      .help = "What is true of the pool, as key=value: disk=ssd,zone=a." },
    OPTIONS_END,
};
/* clang-format on */
