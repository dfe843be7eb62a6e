/*
 * Volume rows: read, listed, and changed only through the functions here and in the operations'
 * own files (create.c, delete.c, extend.c, attach.c, reset.c).
 *
 * Everything runs inside one transaction (struct work); results live in the work's arena.
 */
#pragma once

#include "common/error.h"
#include "model/volume/status.h"
#include "operation/pairs.h"
#include "operation/query.h"
#include "operation/work.h"

struct attachment; /* attachment.h */

struct volume {
    const char *id, *name_id, *project_id, *user_id;
    const char *host; /* node@backend#pool; NULL: never placed */
    const char *availability_zone;
    const char *name, *description;
    int64_t size_gb, largest_gb;
    enum volume_status status;
    bool status_by_reset;
    const char *attach_status, *migration_status, *replication_status;
    const char *type_id, *type_name; /* NULL: no type */
    const char *snapshot_id, *source_volid, *group_id;
    const char *consistencygroup_id; /* the group's, if it is a consistency group */
    bool bootable, multiattach, use_quota;
    int shared_targets; /* 0, 1, or -1 for null */
    const char *encryption_key_id, *format, *provider_location, *provider_id;
    const char *service_uuid, *cluster_name;
    int64_t created_at, updated_at, launched_at;

    /* Filled by volume_get() and volume_list(), not by volume_row(). */
    struct pairs metadata, admin_metadata, image_metadata;
    const struct attachment *attachments; /* every row of the volume, oldest first */
    unsigned attachment_count;
};

/* A volume that the caller may see: its project's, or any for an admin. 0, or -1
 * (ERROR_NOT_FOUND). */
int volume_get(struct work *work, const char *id, struct volume *ret, struct error *err);
int volume_get_row(struct work *work, const char *id, struct volume *ret, struct error *err);
/* Without visibility checks, for jobs: the row alone, or with metadata and attachments. */
int volume_row(struct work *work, const char *id, struct volume *ret, struct error *err);
int volume_details(struct work *work, const char *id, struct volume *ret, struct error *err);
/* With attachments alone: the metadata of many volumes may be large. */
int volume_attached(struct work *work, const char *id, struct volume *ret, struct error *err);
/* Is it in the status of an operation that destroys it, and attached to nothing?  For a fence by
 * its rows alone: 1, 0, or -1. */
bool volume_is_free(const struct volume *volume, enum volume_status status);
int volume_row_is_free(struct work *work, const char *id, enum volume_status status,
                       struct error *err);
/* Is a volume recorded that was created on `host` (node@backend): at this provider_location, with
 * this name_id, or any where NULL?  1, 0, or -1. */
int volume_recorded(struct work *work, const char *host, const char *location, const char *name_id,
                    struct error *err);

/* Rows for a list, over the alias v.  Loads attachments and metadata of the whole page with one
 * query each when `with_details`. */
int volume_list(struct work *work, const struct query *query, struct volume **ret,
                struct error *err); /* how many, or -1 */
/* All of them, with attachments alone. */
int volume_list_attached(struct work *work, const struct query *query, struct volume **ret,
                         struct error *err);

/* Name, description, metadata: PUT /volumes/{id}. NULL members with the flag unset stay. */
struct volume_changes {
    bool set_name, set_description, set_metadata, set_bootable;
    const char *name, *description;
    struct pairs metadata; /* replaces the whole set */
    bool bootable;
};
int volume_update(struct work *work, const struct volume *volume,
                  const struct volume_changes *changes, struct error *err);

extern const struct pair_rows metadata_rows, image_metadata_rows;
/* User metadata; neither it nor that of the image changes while the volume is in maintenance or
 * being uploaded.  merge: adds or overwrites; else the set becomes exactly `pairs`. */
int volume_metadata_set(struct work *work, const struct volume *volume, const struct pairs *pairs,
                        bool merge, struct error *err);
int volume_metadata_delete(struct work *work, const struct volume *volume, const char *key,
                           struct error *err); /* -1 ERROR_NOT_FOUND when absent */
/* Metadata of the image that the volume was created from: adds or overwrites. */
int volume_image_metadata_set(struct work *work, const struct volume *volume,
                              const struct pairs *pairs, struct error *err);
int volume_image_metadata_delete(struct work *work, const struct volume *volume, const char *key,
                                 struct error *err);
/* Admin metadata, key by key (X15); a NULL value removes the key. */
int volume_admin_metadata_set(struct work *work, const char *volume_id, const char *key,
                              const char *value, struct error *err);

/* Metadata of a volume with the content of an image: the image's owner may clone it. */
#define VOLUME_KEY_IMAGE_OWNER "image_owner"
#define VOLUME_KEY_IMAGE_ID    "glance_image_id"
/* The admin metadata of a volume that is the place of an image's content: the id of the image. */
#define VOLUME_KEY_CONTENT "content_of_image"
/* ERROR_BAD_REQUEST for such a volume, whose bytes and project stay: it cannot `action`. */
int volume_check_content(const struct volume *volume, const char *action, struct error *err);

/* By its admin metadata. */
/* Would a volume without storage be usable in that status? */
bool volume_lacks_storage(const struct volume *volume, enum volume_status status);
bool volume_is_readonly(const struct volume *volume);
bool volume_is_migrating(const struct volume *volume);
/* Has it, read with its attachments, one that is more than reserved? */
bool volume_in_use(const struct volume *volume);
/* os-update_readonly_flag: admin metadata readonly = "True" / "False"; only when available. */
int volume_set_readonly(struct work *work, const struct volume *volume, bool readonly,
                        struct error *err);
