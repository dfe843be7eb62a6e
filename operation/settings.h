/*
 * Settings of the volume code that no request changes: options fixed at start, clock.
 */
#pragma once

#include "common/clock.h"
#include "config/config.h"

#define NOTIFICATION_TOPICS_MOST 8

struct settings {
    const struct clock *clock;
    const char *default_volume_type;
    const char *default_group_type; /* NULL: none */
    const char *storage_availability_zone;
    const char *internal_project_id, *internal_user_id; /* of entries of image caches; NULL: none */
    const char *default_availability_zone;              /* NULL: the storage zone */
    bool allow_availability_zone_fallback;
    int64_t quota_volumes, quota_snapshots, quota_gigabytes, quota_backups, quota_backup_gigabytes;
    int64_t quota_groups, per_volume_size_limit;
    bool no_snapshot_gb_quota;
    int64_t extend_deadline_s; /* limit of a pending extend; then the file decides */
    int64_t assisted_create_deadline_s, assisted_delete_deadline_s; /* the same of snapshots */
    int64_t attached_reclaim_deadline_s;
    int64_t operation_lease_s;
    int64_t message_ttl_s;
    int64_t service_down_s;            /* a service without a heartbeat for longer is down */
    int64_t replica_pool_down_s;       /* the same for a pool of replicas */
    int64_t replica_replacements_most; /* replicas that are being replaced at once */
    int64_t target_takeover_s; /* a node without a report for longer loses its targets; 0: never */
    double max_over_subscription_ratio;
    int64_t max_limit;      /* osapi_max_limit */
    size_t page_bytes;      /* of one page of a list; 0: unlimited */
    int64_t metadata_items; /* of one volume, of its image metadata, of one type's specs */
    int64_t per_volume_attachments, per_project_messages;
    int64_t
        /* of a project's documents together, in the form of their members; 0: unlimited */
        document_bytes;
    bool only_services_detach; /* a server's disk; else administrators may, too */
    bool notifications;        /* are notifications made? */
    bool
        /* in the envelope for listeners; else the payload alone, for the log */
        notifications_whole;
    bool verify_image_signatures; /* of images of volumes */
    bool clones_image_volumes;    /* which the image service names (cinder://) */
    bool enable_force_upload;     /* may an attached volume be uploaded to an image? */
    bool asks_service;            /* snapshots below guests are Nova's: one volume per call */
    /* Ended with NULL; the topic is this and the priority. */
    const char *notification_topics[NOTIFICATION_TOPICS_MOST + 1];
    const char *node;              /* name of this one among the services; NULL: "localhost" */
    bool one_process;              /* API and managers of the node are here */
    struct operation_taker *taker; /* NULL: none */
    /* Of this process's agent when it has no network URL; NULL: it has, or there is none */
    const char *agent_endpoint;
};

extern const struct option settings_options[];

void settings_load(const struct config *config, const struct clock *clock, struct settings *ret);
