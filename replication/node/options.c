#include "replication/node/agent.h"
#include "replication/node/volume_controller.h"

#include <stddef.h>

#define SECTION        "storage"
#define FILLS(member_) OPTION_FILLS(struct volume_controller_settings, member_)

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
      .help = "Root of the volume API, with /v3. Not given, with a user in section service_user: the catalog's "
              "endpoint of volumev3 or block-storage." },
    { .section = SECTION, .key = "volume_token", .type = OPTION_TEXT, .secret = true,
      .help = "Sent to the volume API as X-Auth-Token, when section service_user has no user. Unset: none." },
    { .section = SECTION, .key = "run_directory", .type = OPTION_TEXT,
      .help = "Directory of sockets and logs of storage daemons, one below it for each volume; an absolute path of at "
              "most 66 bytes, 63 where other hosts reach volumes, 61 where volumes are served as files. Unset: targets in state_path." },
    { .section = SECTION, .key = "daemon", .type = OPTION_TEXT, FILLS(program), .fallback = "qemu-storage-daemon",
      .help = "QEMU storage daemon: a name that is looked up in PATH, or an absolute path." },
    { .section = SECTION, .key = "heartbeat_interval", .type = OPTION_SECONDS, .fallback = "10", .min = 1, .max = 3600,
      .help = "Seconds between two heartbeats of a pool to the volume API." },
    { .section = SECTION, .key = "rebuilds", .type = OPTION_INT, .fallback = "2", .min = 1, .max = 64,
      .help = "How many replicas are rebuilt at once, each of another volume." },
    { .section = SECTION, .key = "rebuild_speed", .type = OPTION_INT, FILLS(rebuild_speed), .unit = 1 << 20, .fallback = "0",
      .min = 0, .max = 1048576, .help = "Largest rate of one rebuild in MiB per second; 0: no limit." },
    { .section = SECTION, .key = "scrub_interval", .type = OPTION_SECONDS, FILLS(scrub_interval_s), .fallback = "1209600", .min = 0, .max = 31536000,
      .help = "Seconds after which all replicas of a volume that is served are compared again, one volume at a "
              "time, and outvoted blocks repaired; 0: only when the agent finds a volume again that was served "
              "while no agent ran. Of remote replicas checksums are compared, not the bytes." },
    { .section = SECTION, .key = "scrub_speed", .type = OPTION_INT, FILLS(scrub_speed), .unit = 1 << 20, .fallback = "32", .min = 1, .max = 1048576,
      .help = "Largest rate in MiB per second at which each replica is read to compare them." },
    { .section = SECTION, .key = "daemon_timeout", .type = OPTION_SECONDS, FILLS(timeout_ms), .unit = 1000, .fallback = "10", .min = 1, .max = 600,
      .help = "Seconds that a storage daemon has for one response; an unresponsive one is ended and started again. "
              "Remote replicas have half of it." },
    { .section = SECTION, .key = "listen", .type = OPTION_TEXT,
      .help = "HOST:PORT where targets of other nodes reach the replicas of this one, with cert_file and ca_file. Unset: "
              "nowhere, and only this node serves volumes with replicas here." },
    { .section = SECTION, .key = "address", .type = OPTION_TEXT,
      .help = "HOST:PORT by which other nodes reach this one, when it differs from listen; the certificate must be "
              "valid for HOST. Unset: listen." },
    { .section = SECTION, .key = "replica_ports", .type = OPTION_TEXT, .fallback = "10811-11810",
      .help = "FIRST-LAST of the ports at which replicas are served to other nodes, each at its own port." },
    { .section = SECTION, .key = "client_ports", .type = OPTION_TEXT, .fallback = "11811-12810",
      .help = "FIRST-LAST of the ports at which other hosts reach volumes that are served here, as during a live "
              "migration: each host of each volume has its own port. Requires listen." },
    { .section = SECTION, .key = "cert_file", .type = OPTION_TEXT,
      .help = "PEM file with the certificate of this node, for other nodes, as their server and as their client; an "
              "absolute path." },
    { .section = SECTION, .key = "key_file", .type = OPTION_TEXT,
      .help = "PEM file of its key; an absolute path. Unset: in cert_file." },
    { .section = SECTION, .key = "ca_file", .type = OPTION_TEXT,
      .help = "PEM file of the authority of all nodes' certificates; an absolute path. A certificate of it gives "
              "access to all replicas: use the authority for nothing else." },
    { .section = SECTION, .key = "client_ca_file", .type = OPTION_TEXT,
      .help = "PEM file of the authorities whose certificates count at client_ports, that of cert_file among them; "
              "an absolute path. With a separate authority for clients their certificates, which their QEMU can "
              "read, open no replica. Unset: ca_file." },
    { .section = SECTION, .key = "crl_file", .type = OPTION_TEXT,
      .help = "PEM file of lists of revoked certificates, of the authorities in ca_file and client_ca_file; an "
              "absolute path. A client with a revoked certificate is refused. A replaced list applies to calls of "
              "other nodes at once, to storage daemons from their next start on. Unset: none." },
    { .section = OPTION_POOL, .key = "path", .type = OPTION_TEXT,
      .help = "Directory of the pool, an absolute path. It is marked with a file scoria-pool when it is empty and "
              "the API does not know the pool; later it is used only with that mark, so that an empty mount point "
              "is not mistaken for it. To replace a lost pool by a new directory, put an empty scoria-pool into it." },
    { .section = OPTION_POOL, .key = "labels", .type = OPTION_LIST,
      .help = "Labels of the pool, as key=value: disk=ssd,zone=a." },
    OPTIONS_END,
};
/* clang-format on */
