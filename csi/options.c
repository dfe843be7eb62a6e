/*
 * The driver's options, also of a build without it.
 */
#include "csi/driver.h"

#define SECTION "csi"

/* clang-format off */
const struct option csi_options[] = {
    { .section = SECTION, .key = "endpoint", .type = OPTION_TEXT,
      .help = "Endpoint of the driver for Kubernetes: unix:///PATH, a socket in the file system. Set: scoria serve "
              "has the driver in it. On the command line of scoria csi also --endpoint; there the environment's "
              "CSI_ENDPOINT is the default." },
    { .section = SECTION, .key = "socket_mode", .type = OPTION_TEXT, .fallback = "0600",
      .help = "Mode of that socket's file, octal. Write permission gives a client the rights of the driver." },
    { .section = SECTION, .key = "socket_group", .type = OPTION_TEXT,
      .help = "Group of that file, by name or number. Unset: the driver's own." },
    { .section = SECTION, .key = "volume_endpoint", .type = OPTION_TEXT, .fallback = "http://127.0.0.1:8776/v3",
      .help = "Root of the volume API; without a path /v3 is put behind it. Not given: the API of this process, or "
              "with a user in section service_user the catalog's endpoint of volumev3 or block-storage. On the command "
              "line of scoria csi also --api." },
    { .section = SECTION, .key = "volume_token", .type = OPTION_TEXT, .secret = true,
      .help = "Sent to the volume API as X-Auth-Token, when section service_user has no user. Unset: none." },
    { .section = SECTION, .key = "controller", .type = OPTION_BOOL, .fallback = "false",
      .help = "Serve the cluster: creating, deleting and attaching volumes. On the command "
              "line of scoria csi also --controller. With neither this nor node both are served." },
    { .section = SECTION, .key = "node", .type = OPTION_BOOL, .fallback = "false",
      .help = "Serve this node: mounting volumes. On the command line of scoria csi "
              "also --node." },
    { .section = SECTION, .key = "nodes", .type = OPTION_LIST,
      .help = "Names of the nodes: a volume is published on no other. Unset: any node." },
    { .section = SECTION, .key = "node_id", .type = OPTION_TEXT,
      .help = "Name of this node, as volumes are attached to it. Unset: the machine's name." },
    { .section = SECTION, .key = "topology", .type = OPTION_LIST,
      .help = "Segments of topology in use: host (a volume in a directory of one machine is accessible from the node of "
              "that name alone; the driver needs the rights of an administrator) and zone (of availability). On a node also "
              "their values: zone=NAME, and host is node_id; PREFIX/KEY=VALUE is reported unchanged. Unset: every node reaches "
              "every volume." },
    { .section = SECTION, .key = "max_volumes", .type = OPTION_INT, .fallback = "0", .min = 0, .max = 1000000,
      .help = "Largest number of volumes of a node. A node reports it to the orchestrator, and a controller attaches no "
              "more to any one node. 0: as many as the orchestrator decides." },
    { .section = SECTION, .key = "kubelet_directory", .type = OPTION_TEXT, .fallback = "/var/lib/kubelet",
      .help = "Directory of the kubelet: volumes are mounted below it and nowhere else." },
    { .section = SECTION, .key = "throttle_group", .type = OPTION_TEXT,
      .help = "Directory of the cgroup that holds the node's pods: QoS specs of volumes for the back-end are its "
              "limits of their devices (io.max, or blkio.throttle of cgroup v1). Unset: that of the kubelet's pods "
              "below /sys/fs/cgroup, if there is one; otherwise no limits are applied." },
    { .section = SECTION, .key = "share_directory", .type = OPTION_TEXT, .fallback = "/run/scoria-csi",
      .help = "Directory below which a node mounts the shares of its volumes; created when it is missing." },
    { .section = SECTION, .key = "local_directories", .type = OPTION_LIST,
      .help = "Directories of this node from which images of volumes without a share are taken. Unset: none." },
    { .section = SECTION, .key = "target_directory", .type = OPTION_TEXT,
      .help = "Directory where the storage agent of this node serves volumes with a policy: its "
              "[storage] run_directory. Unset: such volumes are not used on this node." },
    { .section = SECTION, .key = "driver_name", .type = OPTION_TEXT, .fallback = "csi.scoria.io",
      .help = "Name of the driver, as in CSIDriver and StorageClass: letters, digits, dots and hyphens, 63 at "
              "most, with a letter at both ends." },
    { .section = SECTION, .key = "cluster", .type = OPTION_TEXT, .fallback = "",
      .help = "Name of the cluster, where several use one project: letters, digits, dots, hyphens and underscores, "
              "63 at most. It is marked on volumes, snapshots and groups that the driver creates, and the driver "
              "deletes none with another name, nor one that no driver created. Set it in each cluster, before its "
              "first volume. Empty: no name." },
    { .section = SECTION, .key = "workers", .type = OPTION_INT, .fallback = "16", .min = 1, .max = 256,
      .help = "Concurrent calls; further ones wait, and calls that wait for the work of the volume API are then "
              "aborted after a second and have to be repeated." },
    OPTIONS_END
};
/* clang-format on */
