#include "kubernetes/bridge.h"
#include "kubernetes/cluster.h"

#define SECTION        "kubernetes"
#define FILLS(member_) OPTION_FILLS(struct cluster, member_)
#define ACCOUNT        "/var/run/secrets/kubernetes.io/serviceaccount/"

/* clang-format off */
const struct option kubernetes_options[] = {
    { .section = SECTION, .key = "enabled", .type = OPTION_BOOL, .fallback = "false",
      .help = "Keep the objects of CStorVolumePolicy, CStorVolumeConfig and CStorVolumeSnapshot of a Kubernetes cluster as "
              "documents of the volume API, in scoria serve and scoria csi. The API is that of section csi: volume_endpoint, "
              "volume_token." },
    { .section = SECTION, .key = "url", .type = OPTION_TEXT, FILLS(url),
      .help = "URL of the API server. Unset: in a pod, the cluster's own." },
    { .section = SECTION, .key = "token_file", .type = OPTION_TEXT, FILLS(token_file), .fallback = ACCOUNT "token",
      .help = "File of the token that is sent to it; read again for each call." },
    { .section = SECTION, .key = "ca_file", .type = OPTION_TEXT, FILLS(peer.ca_file), .fallback = ACCOUNT "ca.crt",
      .help = "PEM file of the authorities that verify its certificate." },
    { .section = SECTION, .key = "namespace", .type = OPTION_TEXT,
      .help = "The only namespace that is reconciled. Unset: all." },
    { .section = SECTION, .key = "resync_interval", .type = OPTION_SECONDS, .fallback = "300", .min = 10, .max = 86400,
      .help = "Seconds after which every object is reconciled again, also without an event." },
    OPTIONS_END
};
/* clang-format on */
