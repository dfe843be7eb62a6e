#include "manager/import/cinder_tables.h"

#include "manager/import/source.h"

#include <string.h>

#define PRESENT "deleted IS NOT TRUE "
/* Without rows of no owner, or without a key. */
#define OF(owner)   owner " IS NOT NULL AND " PRESENT
#define PAIR(owner) "\"key\" IS NOT NULL AND " OF(owner)

/* In the dialect of all engines; MariaDB takes quoted names as these do (mariadb.c). */
static const char *const queries[CINDER_TABLES] = {
    [QOS] = "SELECT id, value, created_at FROM quality_of_service_specs "
            "WHERE specs_id IS NULL AND " PRESENT "ORDER BY id",
    [QOS_PAIRS] = "SELECT specs_id, \"key\", value FROM quality_of_service_specs "
                  "WHERE " PAIR("specs_id") "ORDER BY specs_id, \"key\"",
    [TYPES] = "SELECT id, name, description, is_public, qos_specs_id, created_at, updated_at "
              "FROM volume_types WHERE " PRESENT "ORDER BY id",
    [SPECS] = "SELECT volume_type_id, \"key\", value FROM volume_type_extra_specs "
              "WHERE " PAIR("volume_type_id") "ORDER BY volume_type_id, \"key\"",
    [PROJECTS] = "SELECT volume_type_id, project_id FROM volume_type_projects "
                 "WHERE deleted = 0 AND volume_type_id IS NOT NULL AND project_id IS NOT NULL "
                 "ORDER BY volume_type_id, project_id",
    [ENCRYPTION] = "SELECT volume_type_id, encryption_id, provider, control_location, cipher, "
                   "key_size, created_at FROM encryption WHERE " OF(
                       "volume_type_id") "ORDER BY volume_type_id",
    [DEFAULTS] = "SELECT project_id, volume_type_id FROM default_volume_types "
                 "WHERE " PRESENT "ORDER BY project_id",
    [QUOTAS] = "SELECT project_id, resource, hard_limit FROM quotas "
               "WHERE " PRESENT "ORDER BY project_id, resource",
    [CLASSES] = "SELECT class_name, resource, hard_limit FROM quota_classes "
                "WHERE " PRESENT "ORDER BY class_name, resource",
    [VOLUMES] = "SELECT id, _name_id, project_id, user_id, host, availability_zone, display_name, "
                "display_description, size, status, attach_status, migration_status, "
                "replication_status, volume_type_id, snapshot_id, source_volid, "
                "COALESCE(group_id, consistencygroup_id), bootable, multiattach, use_quota, "
                "shared_targets, encryption_key_id, provider_location, provider_id, created_at, "
                "updated_at, launched_at FROM volumes WHERE " PRESENT "ORDER BY id",
    [METADATA] = "SELECT volume_id, \"key\", value FROM volume_metadata "
                 "WHERE " PAIR("volume_id") "ORDER BY volume_id, \"key\"",
    [ADMIN_METADATA] = "SELECT volume_id, \"key\", value FROM volume_admin_metadata "
                       "WHERE " PAIR("volume_id") "ORDER BY volume_id, \"key\"",
    [IMAGE_METADATA] = "SELECT volume_id, \"key\", value FROM volume_glance_metadata "
                       "WHERE " PAIR("volume_id") "ORDER BY volume_id, \"key\"",
    [ATTACHMENTS] = "SELECT volume_id, id, instance_uuid, attached_host, mountpoint, "
                    "attach_status, attach_mode, connector, connection_info, attach_time, "
                    "created_at, updated_at FROM volume_attachment "
                    "WHERE " OF("volume_id") "ORDER BY volume_id, created_at, id",
    [SNAPSHOTS] = "SELECT volume_id, id, project_id, user_id, display_name, display_description, "
                  "volume_size, status, use_quota, encryption_key_id, "
                  "COALESCE(group_snapshot_id, cgsnapshot_id), created_at, updated_at "
                  "FROM snapshots WHERE " OF("volume_id") "ORDER BY volume_id, created_at, id",
    [SNAPSHOT_METADATA] = "SELECT snapshot_id, \"key\", value FROM snapshot_metadata "
                          "WHERE " PAIR("snapshot_id") "ORDER BY snapshot_id, \"key\"",
    [GROUPS] = "SELECT COUNT(*) FROM \"groups\" WHERE " PRESENT,
    [BACKUPS] = "SELECT COUNT(*) FROM backups WHERE " PRESENT,
    [TRANSFERS] = "SELECT COUNT(*) FROM transfers WHERE " PRESENT,
    [RELEASE] = "SELECT version_num FROM alembic_version",
    [SERVICES] = "SELECT CURRENT_TIMESTAMP, updated_at, host, \"binary\" FROM services "
                 "WHERE updated_at IS NOT NULL AND " PRESENT "ORDER BY updated_at DESC",
};

int cinder_tables_read(struct arena *arena, const char *url, struct source_table ret[CINDER_TABLES],
                       struct error *err) {
    static const char known[] = "c92a3e68beed";
    const struct source_table *release = &ret[RELEASE];
    const char *found;

    if (source_read(arena, url, queries, CINDER_TABLES, ret, err) < 0)
        return error_context(err, "reading Cinder's database");
    found = release->rows > 0 ? source_cell(release, 0, 0) : NULL;
    if (release->rows == 1 && found && strcmp(found, known) == 0)
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "Cinder's database has the schema %s: it must be %s, of release 21.",
                     found ? found : "of no release", known);
}
