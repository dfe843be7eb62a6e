/*
 * Each microversion of the API by the name of its change: the code uses no numbers.  All of them
 * are listed, also those of resources not served yet.
 */
#pragma once

/* clang-format off */
enum microversion {
    MV_LEAST                        = 0, /* 3.0 */
    MV_IMAGE_UPLOAD_VISIBILITY      = 1,
    MV_STRICT_BOOLEANS              = 2, /* a boolean filter must be valid */
    MV_MESSAGES                     = 3,
    MV_IMAGE_METADATA_FILTER        = 4,
    MV_MESSAGE_PAGES                = 5,
    MV_CONSISTENCY_GROUP_BLANKS     = 6,
    MV_CLUSTERS                     = 7,
    MV_MANAGEABLE_LISTS             = 8,
    MV_BACKUP_UPDATE                = 9,
    MV_GROUP_FILTER                 = 10,
    MV_GROUP_TYPES                  = 11,
    MV_VOLUME_SUMMARY               = 12,
    MV_GROUPS                       = 13,
    MV_GROUP_SNAPSHOTS              = 14,
    MV_ETAGS                        = 15,
    MV_CLUSTER_MIGRATION            = 16,
    MV_CLUSTER_MANAGEABLE           = 17,
    MV_BACKUP_PROJECT               = 18,
    MV_GROUP_SNAPSHOT_RESET         = 19,
    MV_GROUP_RESET                  = 20,
    MV_PROVIDER_ID                  = 21,
    MV_SNAPSHOT_METADATA_FILTER     = 22,
    MV_FORCE_DELETE                 = 23, /* DELETE …?force= */
    MV_WORKERS_CLEANUP              = 24,
    MV_GROUP_VOLUMES                = 25,
    MV_CLUSTER_REPLICATION          = 26, /* failover, and clusters in freeze and thaw */
    MV_ATTACHMENTS                  = 27,
    MV_POOL_FILTERS                 = 28,
    MV_GROUP_SNAPSHOT_PAGES         = 29,
    MV_SNAPSHOT_SORT_NAME           = 30,
    MV_STRICT_FILTERS               = 31, /* a disallowed filter is refused */
    MV_SERVICE_LOG                  = 32,
    MV_RESOURCE_FILTERS             = 33,
    MV_CONTAINS_FILTER              = 34, /* name~= */
    MV_POOL_TYPE_FILTER             = 35,
    MV_SUMMARY_METADATA             = 36,
    MV_BACKUP_SORT_NAME             = 37,
    MV_GROUP_REPLICATION            = 38,
    MV_LIMITS_OF_PROJECTS           = 39,
    MV_REVERT                       = 40,
    MV_SNAPSHOT_USER                = 41,
    MV_EXTEND_IN_USE                = 42,
    MV_BACKUP_METADATA              = 43,
    MV_ATTACHMENT_COMPLETE          = 44,
    MV_WITH_COUNT                   = 45,
    MV_IMAGE_SNAPSHOT               = 46,
    MV_VOLUME_FROM_BACKUP           = 47,
    MV_SHARED_TARGETS               = 48, /* and service_uuid */
    MV_BACKEND_STATE                = 49,
    MV_MULTIATTACH                  = 50,
    MV_BACKUP_ZONE                  = 51,
    MV_TYPE_FILTERS                 = 52, /* extra_specs for all callers, and strictly */
    MV_STRICT_VOLUME_BODIES         = 53, /* unknown keys are refused */
    MV_ATTACHMENT_MODE              = 54,
    MV_TRANSFER_SNAPSHOTS           = 55,
    MV_BACKUP_USER                  = 56,
    MV_TRANSFER_HISTORY             = 57,
    MV_GROUP_PROJECT                = 58,
    MV_TRANSFER_PAGES               = 59,
    MV_TIME_FILTERS                 = 60,
    MV_CLUSTER_NAME                 = 61,
    MV_DEFAULT_TYPES                = 62,
    MV_VOLUME_TYPE_ID               = 63,
    MV_ENCRYPTION_KEY_ID            = 64,
    MV_CONSUMES_QUOTA               = 65,
    MV_SNAPSHOT_IN_USE              = 66,
    MV_PATH_WITHOUT_PROJECT         = 67,
    MV_REIMAGE                      = 68,
    MV_SHARED_TARGETS_NULL          = 69,
    MV_TRANSFER_ENCRYPTED           = 70,
    MV_EXTEND_COMPLETION            = 71,
};
/* clang-format on */

/* Numbers that the preprocessor can put into a text. */
#define MICROVERSION_LEAST  0
#define MICROVERSION_NEWEST 71
