#include "common/io_limits.h"
#include "common/replicas.h"
#include "declared/document.h"
#include "declared/name.h"
#include "declared/pool_list.h"

#define BLOCK_LEAST         512
#define BLOCK_MOST          131072
#define DEPTH_MOST          65536
#define WORKERS_MOST        1024
#define TOLERATIONS_MOST    64
#define AUTO_REPLACE_MOST_S (366 * 86400)

/* clang-format off */
static const struct schema_field resource_fields[] = {
    { "limits",   SCHEMA_QUANTITIES, .about = "Upper limits." },
    { "requests", SCHEMA_QUANTITIES, .about = "Guaranteed amounts." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field provision_fields[] = {
    { "replicaAffinity", SCHEMA_BOOL, .initial = "false",
      .about = "One replica is put on the node where the volume is published, if that has a pool." },
    { "blockSize", SCHEMA_INT, SCHEMA_FIXED | SCHEMA_POWER_OF_2, .min = BLOCK_LEAST,
      .max = BLOCK_MOST, .initial = "4096",
      .about = "The size of a logical block in bytes." },
    SCHEMA_FIELDS_END,
};

const struct schema_field volume_qos_fields[] = {
    { "iops", SCHEMA_INT, .max = IO_LIMIT_MOST, .initial = "0",
      .about = "Most requests per second; 0: unlimited." },
    { "bytesPerSecond", SCHEMA_INT, .max = IO_LIMIT_MOST, .initial = "0",
      .about = "Most bytes per second; 0: unlimited." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field target_fields[] = {
    { "queueDepth", SCHEMA_DIGITS, .min = 1, .max = DEPTH_MOST, .initial = "\"32\"",
      .about = "Most concurrent requests of a client." },
    { "luWorkers", SCHEMA_INT, .min = 1, .max = WORKERS_MOST, .initial = "6",
      .about = "Threads that serve the requests." },
    { "qos", SCHEMA_OBJECT, .of = volume_qos_fields,
      .about = "Limits for clients; changes apply while the volume is served." },
    { "monitor", SCHEMA_BOOL, .initial = "false",
      .about = "The target reports metrics." },
    { "replicationFactor", SCHEMA_INT, .min = 1, .max = REPLICAS_MOST,
      .about = "The most replicas that may be connected." },
    { "resources", SCHEMA_OBJECT, .of = resource_fields, .about = "Resources of the target." },
    { "auxResources", SCHEMA_OBJECT, .of = resource_fields, .about = "Resources of the processes beside the target." },
    { "tolerations", SCHEMA_LIST, .max = TOLERATIONS_MOST,
      .about = "Taints of nodes that the target tolerates." },
    { "affinity", SCHEMA_OBJECT, .about = "Affinity of the target." },
    { "nodeSelector", SCHEMA_MAP, .allows = name_is_qualified,
      .about = "Labels of the nodes where the target may run." },
    { "priorityClassName", SCHEMA_TEXT, .about = "The target's class of priority." },
    SCHEMA_FIELDS_END,
};

static const char *const compressions[] = {
    "on", "off", "gzip", "gzip-1", "gzip-2", "gzip-3", "gzip-4", "gzip-5", "gzip-6", "gzip-7",
    "gzip-8", "gzip-9", "lz4", "lzjb", "zle", NULL,
};

static const struct schema_field replica_fields[] = {
    { "zvolWorkers", SCHEMA_DIGITS, .min = 1, .max = WORKERS_MOST,
      .about = "Threads that serve a replica." },
    { "compression", SCHEMA_WORD, .words = compressions, .about = "Compression of a replica's data." },
    { "autoReplaceSeconds", SCHEMA_INT, .max = AUTO_REPLACE_MOST_S, .initial = "600",
      .about = "A replica whose pool is offline for longer is replaced on another; 0: never." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field pool_fields[] = {
    { "poolName", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1,
      .about = "A pool that has a replica, or is wanted to have one." },
    SCHEMA_FIELDS_END,
};

const struct schema_field volume_policy_fields[] = {
    { "provision", SCHEMA_OBJECT, .of = provision_fields, .initial = "{}",
      .about = "Placement and format of the replicas." },
    { "target", SCHEMA_OBJECT, .of = target_fields, .initial = "{}",
      .about = "The process that serves the volume." },
    { "replica", SCHEMA_OBJECT, .of = replica_fields, .initial = "{}",
      .about = "Settings of each replica." },
    { "replicaPoolInfo", SCHEMA_LIST, .of = pool_fields, .max = REPLICAS_MOST,
      .about = "The pools of the replicas; without it they are chosen." },
    SCHEMA_FIELDS_END,
};

static const struct schema_field fields[] = {
    { "spec", SCHEMA_OBJECT, SCHEMA_REQUIRED, .of = volume_policy_fields,
      .about = "Properties of volumes with this policy." },
    { "status", SCHEMA_OBJECT, SCHEMA_READ_ONLY, .about = "Its phase." },
    SCHEMA_FIELDS_END,
};
/* clang-format on */

static int check_policy(struct work *work, struct document *document, struct error *err) {
    (void)work;
    return pool_list_check(document_spec(document), "spec", err);
}

static int check_policy_edit(struct work *work, const struct document *before,
                             struct document *after, struct error *err) {
    (void)before;
    return check_policy(work, after, err);
}

const struct document_kind kind_volume_policy = {
    .name = "CStorVolumePolicy",
    .collection = "volume_policies",
    .word = "volume_policy",
    .label = "Volume policy",
    .short_name = "cvp",
    .fields = fields,
    .initial_status = "{\"phase\":\"Active\"}",
    .check = check_policy,
    .check_edit = check_policy_edit,
};
