/*
 * The driver's options, which are there in a build without it, too.
 */
#include "csi/driver.h"

#define SECTION "csi"

/* clang-format off */
const struct option csi_options[] = {
    { .section = SECTION, .key = "endpoint", .type = OPTION_TEXT,
      .help = "Where the driver for Kubernetes answers: unix:///PATH, a socket in the file system. Set: scoria serve "
              "has the driver in it. On the command line of scoria csi also --endpoint; there the environment's "
              "CSI_ENDPOINT counts when nothing else is said." },
    { .section = SECTION, .key = "socket_mode", .type = OPTION_TEXT, .fallback = "0600",
      .help = "Mode of that socket's file, octal. Who may write to it has the rights of the driver." },
    { .section = SECTION, .key = "socket_group", .type = OPTION_TEXT,
      .help = "Group of that file, by name or number. Unset: the driver's own." },
    { .section = SECTION, .key = "volume_endpoint", .type = OPTION_TEXT, .fallback = "http://127.0.0.1:8776/v3",
      .help = "Root of the volume API; without a path /v3 is put behind it. Not given: the API of this process, or "
              "with a user in section service_user what the catalog says of volumev3 or block-storage. On the command "
              "line of scoria csi also --api." },
    { .section = SECTION, .key = "volume_token", .type = OPTION_TEXT, .secret = true,
      .help = "Sent to the volume API as X-Auth-Token, when section service_user has no user. Unset: none." },
    { .section = SECTION, .key = "controller", .type = OPTION_BOOL, .fallback = "false",
      .help = "Serve what one driver of the cluster does: making, deleting and attaching volumes. On the command "
              "line of scoria csi also --controller. With neither this nor node both are served." },
    { .section = SECTION, .key = "node", .type = OPTION_BOOL, .fallback = "false",
      .help = "Serve what the driver of every node does: mounting volumes there. On the command line of scoria csi "
              "also --node." },
    { .section = SECTION, .key = "nodes", .type = OPTION_LIST,
      .help = "Names of the nodes there are: a volume is published on no other. Unset: on whatever node is said." },
    { .section = SECTION, .key = "node_id", .type = OPTION_TEXT,
      .help = "Name of this node, as volumes are attached to it. Unset: the machine's name." },
    { .section = SECTION, .key = "topology", .type = OPTION_LIST,
      .help = "Segments of topology that count: host (a volume in a directory of one machine is reached from the node of "
              "that name alone; the driver asks as an administrator) and zone (of availability). On a node also what they "
              "are there: zone=NAME, and host is node_id; PREFIX/KEY=VALUE is told as it is. Unset: every node reaches "
              "every volume." },
    { .section = SECTION, .key = "max_volumes", .type = OPTION_INT, .fallback = "0", .min = 0, .max = 1000000,
      .help = "Volumes that a node takes at most. A node tells it to the orchestrator, and a controller attaches no "
              "more to any one node. 0: as many as the orchestrator decides." },
    { .section = SECTION, .key = "kubelet_directory", .type = OPTION_TEXT, .fallback = "/var/lib/kubelet",
      .help = "Directory of the kubelet: volumes are mounted below it and nowhere else." },
    { .section = SECTION, .key = "throttle_group", .type = OPTION_TEXT,
      .help = "Directory of the cgroup that holds the node's pods: QoS specs of volumes for the back-end are its "
              "limits of their devices (io.max, or blkio.throttle of cgroup v1). Unset: that of the kubelet's pods "
              "below /sys/fs/cgroup, if there is one; else nobody is held to them." },
    { .section = SECTION, .key = "share_directory", .type = OPTION_TEXT, .fallback = "/run/scoria-csi",
      .help = "Directory below which a node mounts the shares of its volumes; made when it is missing." },
    { .section = SECTION, .key = "local_directories", .type = OPTION_LIST,
      .help = "Directories of this node from which images of volumes without a share are taken. Unset: none." },
    { .section = SECTION, .key = "target_directory", .type = OPTION_TEXT,
      .help = "Directory where the storage agent of this node serves volumes that are made from a policy: its "
              "[storage] run_directory. Unset: such volumes are not used on this node." },
    { .section = SECTION, .key = "driver_name", .type = OPTION_TEXT, .fallback = "csi.scoria.io",
      .help = "Name of the driver, as CSIDriver and StorageClass have it: letters, digits, dots and hyphens, 63 at "
              "most, with a letter at both ends." },
    { .section = SECTION, .key = "cluster", .type = OPTION_TEXT, .fallback = "",
      .help = "Name of the cluster, where several use one project: letters, digits, dots, hyphens and underscores, 63 at "
              "most. It is marked on volumes, snapshots and groups that the driver creates, and the driver deletes none that "
              "bears another name, nor one that no driver created. Set it in each cluster, before its first volume. Empty: "
              "no name." },
    { .section = SECTION, .key = "workers", .type = OPTION_INT, .fallback = "16", .min = 1, .max = 256,
      .help = "Calls that are worked on at once; others wait." },
    OPTIONS_END
};
/* clang-format on */
