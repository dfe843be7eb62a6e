#include "tests/unit/api/rights.h"

#include "common/cleanup.h"
#include "tests/lib/documents.h"
#include "tests/lib/groups.h"
#include "tests/lib/memory_guests.h"

#include <stdio.h>

#define ADMIN_TOKEN "admin:" WORLD_PROJECT

/* ---- objects ---- */

const char *rights_make(struct world *world, const char *token, const char *wrapper,
                        const char *path, const char *body) {
    const char *id;

    world->token = token;
    world_call(world, "POST", path, body);
    id = world_answer_id(world, wrapper);
    ck_assert_msg(id != NULL, "%s: %d %s", path, world->status, world->answer_text);
    world_settle(world);
    return id;
}

static const char *made(struct world *world, const char *wrapper, const char *path,
                        const char *body) {
    return rights_make(world, ADMIN_TOKEN, wrapper, path, body);
}

static void change(struct world *world, int status, const char *path, const char *id,
                   const char *body) {
    ck_assert_int_eq(world_call(world, "POST", rights_put_id(world->arena, path, id), body),
                     status);
}

static const char *make_volume(struct world *world) {
    const char *id = world_volume(world, 1);

    change(world, 200, "/volumes/%s/metadata", id, "{\"metadata\": {\"k\": \"v\"}}");
    return id;
}

static const char *make_attachment(struct world *world) {
    return made(world, "attachment", "/attachments",
                rights_put_id(world->arena, "{\"attachment\": {\"volume_uuid\": \"%s\"}}",
                              world_volume(world, 1)));
}

static const char *make_snapshot(struct world *world) {
    const char *id = made(world, "snapshot", "/snapshots",
                          rights_put_id(world->arena, "{\"snapshot\": {\"volume_id\": \"%s\"}}",
                                        world_volume(world, 1)));

    change(world, 200, "/snapshots/%s/metadata", id, "{\"metadata\": {\"k\": \"v\"}}");
    return id;
}

static const char *make_volume_policy(struct world *world) {
    world->token = ADMIN_TOKEN;
    return documents_make(world, "volume_policies", "volume_policy",
                          "{\"volume_policy\": {\"metadata\": {\"name\": \"p\"}, \"spec\": {}}}");
}

static const char *make_config_alone(struct world *world) {
    world->token = ADMIN_TOKEN;
    return documents_make(world, "volume_configs", "volume_config",
                          DOCUMENTS_CONFIG("\"name\": \"p\"", "1Gi", "1"));
}

static const char *make_volume_config(struct world *world) {
    const char *id = make_config_alone(world);

    documents_volume(world, id);
    return id;
}

#define CONFIG_SNAPSHOT(metadata)                                  \
    "{\"volume_config_snapshot\": {\"metadata\": {" metadata "}, " \
    "\"spec\": {\"volumeName\": \"p\"}}}"

/* Two projects have a config of this name, with a volume, as the controller writes them. */
static const char *make_volume_config_snapshot(struct world *world) {
    make_config_alone(world);
    world->token = "admin:" WORLD_OTHER;
    documents_make(world, "volume_configs", "volume_config",
                   DOCUMENTS_CONFIG("\"name\": \"p\"", "1Gi", "1"));
    world_sql(world, "UPDATE documents SET status = '{\"phase\": \"Bound\"}'");
    world->token = ADMIN_TOKEN;
    return documents_make(world, "volume_config_snapshots", "volume_config_snapshot",
                          CONFIG_SNAPSHOT("\"name\": \"s\""));
}

static const char *make_replicated_volume(struct world *world) {
    return documents_volume(world, make_config_alone(world));
}

static const char *make_volume_replica(struct world *world) {
    return documents_replica(world, make_replicated_volume(world));
}

#define REPLICA_POOL \
    "{\"replica_pool\": {\"node\": \"host-a\", \"path\": \"/p\", \"total_bytes\": 2, \"free_bytes\": 1}}"

static const char *make_replica_pool(struct world *world) {
    world->token = ADMIN_TOKEN;
    ck_assert_int_eq(world_call(world, "PUT", "/replica_pools/pool-a", REPLICA_POOL), 200);
    return "pool-a";
}

static const char *make_qos(struct world *world) {
    return made(world, "qos_specs", "/qos-specs",
                "{\"qos_specs\": {\"name\": \"q\", \"k\": \"v\"}}");
}

static const char *make_transfer(struct world *world) {
    return made(world, "transfer", "/volume-transfers",
                rights_put_id(world->arena, "{\"transfer\": {\"volume_id\": \"%s\"}}",
                              world_volume(world, 1)));
}

static const char *make_type(struct world *world) {
    return made(world, "volume_type", "/types",
                "{\"volume_type\": {\"name\": \"t\", \"extra_specs\": "
                "{\"multiattach\": \"<is> False\", \"k\": \"v\"}}}");
}

static const char *make_multiattach_type(struct world *world) {
    return made(world, "volume_type", "/types",
                "{\"volume_type\": {\"name\": \"m\", \"extra_specs\": "
                "{\"multiattach\": \"<is> True\"}}}");
}

/* One that WORLD_PROJECT may use, with an encryption. */
static const char *make_private_type(struct world *world) {
    const char *id = made(world, "volume_type", "/types",
                          "{\"volume_type\": {\"name\": \"hidden\", "
                          "\"os-volume-type-access:is_public\": false, \"extra_specs\": "
                          "{\"multiattach\": \"<is> False\", \"k\": \"v\"}}}");

    change(world, 200, "/types/%s/encryption", id,
           "{\"encryption\": {\"provider\": \"luks\", \"control_location\": \"front-end\"}}");
    change(world, 202, "/types/%s/action", id,
           "{\"addProjectAccess\": {\"project\": \"" WORLD_PROJECT "\"}}");
    return id;
}

#define IN_GROUP_TYPE "{\"group\": {\"group_type\": \"t\", \"volume_types\": [\"__DEFAULT__\"]}}"

static const char *make_group(struct world *world) {
    made(world, "group_type", "/group_types", "{\"group_type\": {\"name\": \"t\"}}");
    return made(world, "group", "/groups", IN_GROUP_TYPE);
}

static const char *make_group_type(struct world *world) {
    return made(world, "group_type", "/group_types",
                "{\"group_type\": {\"name\": \"t\", \"group_specs\": {\"k\": \"v\"}}}");
}

static const char *make_group_of_one(struct world *world) {
    const char *volume = world_volume(world, 1);

    world->token = ADMIN_TOKEN;
    group_of(world, &volume, 1);
    return GROUP_ID;
}

static const char *make_group_snapshot(struct world *world) {
    const char *id;

    make_group_of_one(world);
    id = group_snapshot(world);
    change(world, 202, "/group_snapshots/%s/action", id,
           "{\"reset_status\": {\"status\": \"available\"}}");
    return id;
}

#define CONSISTENCY_GROUP "{\"consistencygroup\": {\"volume_types\": \"__DEFAULT__\"}}"

static const char *make_consistency_group(struct world *world) {
    const char *id = made(world, "consistencygroup", "/consistencygroups", CONSISTENCY_GROUP);

    made(world, "volume", "/volumes",
         rights_put_id(world->arena,
                       "{\"volume\": {\"size\": 1, \"volume_type\": \"__DEFAULT__\", "
                       "\"consistencygroup_id\": \"%s\"}}",
                       id));
    return id;
}

static const char *make_cgsnapshot(struct world *world) {
    return made(world, "cgsnapshot", "/cgsnapshots",
                rights_put_id(world->arena, "{\"cgsnapshot\": {\"consistencygroup_id\": \"%s\"}}",
                              make_consistency_group(world)));
}

static const char *make_private_group_type(struct world *world) {
    return made(world, "group_type", "/group_types",
                "{\"group_type\": {\"name\": \"t\", \"is_public\": false, \"group_specs\": "
                "{\"k\": \"v\"}}}");
}

static const char *make_message(struct world *world) {
    world_sql(world,
              "INSERT INTO messages (id, project_id, request_id, resource_uuid, action_id, "
              "detail_id, message_level, created_at, expires_at) VALUES ('message', '" WORLD_PROJECT
              "', 'r', 'v', '001', '001', 'ERROR', 1, 9000000000000000)");
    return "message";
}

/* ---- rows ---- */

/* clang-format off */
#define ACTION(right, body, status, rules) \
    { right, "POST", "/volumes/%s/action", body, status, "volume:get " rules, NULL }
#define STAGED(right, body, status, rules, before) \
    { right, "POST", "/volumes/%s/action", body, status, "volume:get " rules, before }
#define USER(name)   "volume_extension:volume_actions:" name
#define BY_ADMIN(name) "volume_extension:volume_admin_actions:" name
#define IMAGE(name)  "volume_extension:volume_image_metadata:" name
#define IN_USE "UPDATE volumes SET status = 'in-use', attach_status = 'attached' WHERE id = '%s'"
#define OF_IMAGE "INSERT INTO volume_glance_metadata (volume_id, key, value) VALUES ('%s', 'k', 'v')"
#define METADATA "{\"metadata\": {\"k\": \"w\"}}"
#define META     "{\"meta\": {\"k\": \"w\"}}"

static const struct row volume_rows[] = {
    { READER, "GET", "/volumes", NULL, 200, "volume:get_all", NULL },
    { READER, "GET", "/volumes/detail", NULL, 200, "volume:get_all", NULL },
    { READER, "GET", "/volumes/summary", NULL, 200, "volume:get_all", NULL },
    { MEMBER, "POST", "/volumes", "{\"volume\": {\"size\": 1}}", 202, "volume:create", NULL },
    { MEMBER, "POST", "/volumes", "{\"volume\": {\"size\": 1, \"imageRef\": \"image\"}}", 400,
      "volume:create volume:create_from_image", NULL },
    { KNOWN_MEMBER | LATE, "POST", "/volumes", "{\"volume\": {\"source_volid\": \"%s\"}}", 202,
      "volume:create volume:get", NULL },
    { KNOWN_READER | LATE, "GET", "/volumes?all_tenants=1&marker=%s", NULL, 200, "volume:get_all", NULL },
    { OWNED_READER, "GET", "/volumes/%s", NULL, 200, "volume:get", NULL },
    { OWNED_MEMBER, "PUT", "/volumes/%s", "{\"volume\": {\"name\": \"n\"}}", 200,
      "volume:get volume:update", NULL },
    { OWNED_READER, "GET", "/volumes/%s/metadata", NULL, 200,
      "volume:get volume:get_volume_metadata", NULL },
    { OWNED_MEMBER, "POST", "/volumes/%s/metadata", METADATA, 200,
      "volume:get volume:create_volume_metadata", NULL },
    { OWNED_MEMBER, "PUT", "/volumes/%s/metadata", METADATA, 200,
      "volume:get volume:update_volume_metadata", NULL },
    { OWNED_READER, "GET", "/volumes/%s/metadata/k", NULL, 200,
      "volume:get volume:get_volume_metadata", NULL },
    { OWNED_MEMBER, "PUT", "/volumes/%s/metadata/k", META, 200,
      "volume:get volume:update_volume_metadata", NULL },
    { OWNED_MEMBER, "DELETE", "/volumes/%s/metadata/k", NULL, 200,
      "volume:get volume:delete_volume_metadata", NULL },
    { OWNED_READER, "GET", "/volumes/%s/encryption", NULL, 200,
      "volume:get volume_extension:volume_encryption_metadata", NULL },
    { OWNED_READER, "GET", "/volumes/%s/encryption/encryption_key_id", NULL, 200,
      "volume:get volume_extension:volume_encryption_metadata", NULL },
    ACTION(OWNED_MEMBER, "{\"os-reserve\": null}", 202, USER("reserve")),
    ACTION(OWNED_MEMBER, "{\"os-unreserve\": null}", 202, USER("unreserve")),
    STAGED(OWNED_MEMBER, "{\"os-begin_detaching\": null}", 202, USER("begin_detaching"), IN_USE),
    ACTION(OWNED_MEMBER, "{\"os-roll_detaching\": null}", 202, USER("roll_detaching")),
    ACTION(OWNED_MEMBER, "{\"os-attach\": {\"mountpoint\": \"m\", \"host_name\": \"h\"}}", 202,
           USER("attach")),
    ACTION(OWNED_MEMBER, "{\"os-detach\": {}}", 202, USER("detach")),
    ACTION(OWNED_MEMBER, "{\"os-initialize_connection\": {\"connector\": {\"host\": \"h\"}}}", 200,
           USER("initialize_connection")),
    ACTION(OWNED_MEMBER, "{\"os-terminate_connection\": {\"connector\": null}}", 202,
           USER("terminate_connection")),
    ACTION(OWNED_MEMBER, "{\"os-extend\": {\"new_size\": 2}}", 202, "volume:extend"),
    STAGED(OWNED_MEMBER, "{\"os-extend\": {\"new_size\": 2}}", 202, "volume:extend_attached_volume",
           IN_USE),
    ACTION(OWNED_MEMBER, "{\"revert\": {\"snapshot_id\": null}}", 400,
           "volume:revert_to_snapshot"), /* there is none */
    ACTION(OWNED_MEMBER, "{\"os-reclaim_space\": {}}", 202, USER("reclaim_space")),
    { OWNED_MEMBER, "POST", "/volume-transfers", "{\"transfer\": {\"volume_id\": \"%s\"}}", 202,
      "volume:get volume:create_transfer", NULL },
    { OWNED_MEMBER, "POST", "/os-volume-transfer", "{\"transfer\": {\"volume_id\": \"%s\"}}", 202,
      "volume:get volume:create_transfer", NULL },
    ACTION(OWNED_MEMBER, "{\"os-volume_upload_image\": {\"image_name\": \"i\"}}", 400,
           USER("upload_image")), /* no image service */
    ACTION(OWNED_ADMIN,
           "{\"os-volume_upload_image\": {\"image_name\": \"i\", \"visibility\": \"public\"}}",
           400, USER("upload_image") " " USER("upload_public")),
    ACTION(OWNED_MEMBER | RECENT,
           "{\"os-reimage\": {\"image_id\": \"11111111-1111-4111-8111-111111111111\"}}", 400,
           "volume:reimage"), /* no image service */
    STAGED(OWNED_MEMBER | RECENT,
           "{\"os-reimage\": {\"image_id\": \"11111111-1111-4111-8111-111111111111\"}}", 400,
           "volume:reimage_reserved", "UPDATE volumes SET status = 'reserved' WHERE id = '%s'"),
    ACTION(OWNED_MEMBER, "{\"os-retype\": {\"new_type\": \"none\"}}", 404, "volume:retype"),
    ACTION(OWNED_ADMIN,
           "{\"os-update_reclaim_space\": {\"id\": \"11111111-1111-4111-8111-111111111111\", "
           "\"status\": \"done\"}}",
           400, BY_ADMIN("update_reclaim_space")), /* not awaited */
    { OWNED_READER, "GET", "/volumes/%s/reclaim_space", NULL, 200,
      "volume:get " USER("show_reclaim_space"), NULL },
    ACTION(OWNED_MEMBER, "{\"os-set_bootable\": {\"bootable\": false}}", 200, "volume:update"),
    ACTION(OWNED_MEMBER, "{\"os-update_readonly_flag\": {\"readonly\": false}}", 202,
           "volume:update_readonly_flag"),
    ACTION(OWNED_MEMBER, "{\"os-set_image_metadata\": {\"metadata\": {\"k\": \"v\"}}}", 200,
           IMAGE("set") " volume:update_volume_metadata"),
    STAGED(OWNED_READER, "{\"os-show_image_metadata\": null}", 200, "volume:get_volume_metadata",
           OF_IMAGE),
    STAGED(OWNED_MEMBER, "{\"os-unset_image_metadata\": {\"key\": \"k\"}}", 200,
           IMAGE("remove") " volume:delete_volume_metadata", OF_IMAGE),
    ACTION(OWNED_ADMIN, "{\"os-extend_volume_completion\": {}}", 400,
           BY_ADMIN("extend_volume_completion")), /* not awaited */
    ACTION(OWNED_ADMIN, "{\"os-reset_status\": {\"status\": \"available\"}}", 202,
           BY_ADMIN("reset_status")),
    ACTION(OWNED_ADMIN, "{\"os-unmanage\": null}", 202, "volume_extension:volume_unmanage"),
    { ADMIN | OWNED | LATE, "POST", "/os-snapshot-manage",
      "{\"snapshot\": {\"volume_id\": \"%s\", \"ref\": \"s\"}}", 202,
      "snapshot_extension:snapshot_manage volume:get", NULL },
    { ADMIN | OWNED | LATE, "POST", "/manageable_snapshots",
      "{\"snapshot\": {\"volume_id\": \"%s\", \"ref\": \"s\"}}", 202,
      "snapshot_extension:snapshot_manage volume:get", NULL },
    ACTION(OWNED_ADMIN, "{\"os-force_detach\": {}}", 202,
           BY_ADMIN("force_detach") " " USER("terminate_connection") " " USER("detach")),
    { OWNED_MEMBER, "POST", "/attachments", "{\"attachment\": {\"volume_uuid\": \"%s\"}}", 200,
      "volume:get volume:attachment_create", NULL },
    { OWNED_MEMBER, "POST", "/attachments", "{\"attachment\": {\"volume_uuid\": \"%s\"}}", 200,
      "volume:get volume:attachment_create volume:multiattach_bootable_volume",
      "UPDATE volumes SET status = 'in-use', multiattach = 1, bootable = 1 WHERE id = '%s'" },
    { OWNED_MEMBER, "POST", "/snapshots", "{\"snapshot\": {\"volume_id\": \"%s\"}}", 202,
      "volume:get volume:create_snapshot", NULL },
    { OWNED_ADMIN, "DELETE", "/volumes/%s?force=true", NULL, 202,
      "volume:get volume:delete volume:force_delete", NULL },
    ACTION(OWNED_ADMIN, "{\"os-force_delete\": null}", 202, BY_ADMIN("force_delete") " volume:delete"),
    { OWNED_MEMBER, "DELETE", "/volumes/%s", NULL, 202, "volume:get volume:delete", NULL },
};

static const struct row attachment_rows[] = {
    { PUBLIC, "GET", "/attachments", NULL, 200, "", NULL },
    { PUBLIC, "GET", "/attachments/detail", NULL, 200, "", NULL },
    { KNOWN | OWNED | PUBLIC | LATE, "GET", "/attachments?all_tenants=1&marker=%s", NULL, 200, "", NULL },
    { OWNED_READER, "GET", "/attachments/%s", NULL, 200, "volume:get", NULL },
    { OWNED_MEMBER, "PUT", "/attachments/%s", "{\"attachment\": {\"connector\": {\"host\": \"h\"}}}",
      200, "volume:get volume:attachment_update", NULL },
    { OWNED_MEMBER, "POST", "/attachments/%s/action", "{\"os-complete\": null}", 204,
      "volume:get volume:attachment_complete", NULL },
    { OWNED_MEMBER, "DELETE", "/attachments/%s", NULL, 200,
      "volume:get volume:attachment_delete", NULL },
};

#define SNAPSHOT(right, method, path, body, status, rules) \
    { right, method, "/snapshots/%s" path, body, status, "volume:get_snapshot" rules, NULL }

static const struct row snapshot_rows[] = {
    { READER, "GET", "/snapshots", NULL, 200, "volume:get_all_snapshots", NULL },
    { READER, "GET", "/snapshots/detail", NULL, 200, "volume:get_all_snapshots", NULL },
    { KNOWN_MEMBER | LATE, "POST", "/volumes", "{\"volume\": {\"snapshot_id\": \"%s\"}}", 202,
      "volume:create volume:get_snapshot", NULL },
    { KNOWN_READER | LATE, "GET", "/snapshots?all_tenants=1&marker=%s", NULL, 200, "volume:get_all_snapshots", NULL },
    SNAPSHOT(KNOWN_READER, "GET", "", NULL, 200, ""),
    SNAPSHOT(KNOWN_MEMBER, "PUT", "", "{\"snapshot\": {\"name\": \"n\"}}", 200, " volume:update_snapshot"),
    SNAPSHOT(KNOWN_READER, "GET", "/metadata", NULL, 200, " volume:get_snapshot_metadata"),
    SNAPSHOT(KNOWN_MEMBER, "POST", "/metadata", METADATA, 200, " volume:update_snapshot_metadata"),
    SNAPSHOT(KNOWN_MEMBER, "PUT", "/metadata", METADATA, 200, " volume:update_snapshot_metadata"),
    SNAPSHOT(KNOWN_READER, "GET", "/metadata/k", NULL, 200, " volume:get_snapshot_metadata"),
    SNAPSHOT(KNOWN_MEMBER, "PUT", "/metadata/k", META, 200, " volume:update_snapshot_metadata"),
    SNAPSHOT(KNOWN_MEMBER, "DELETE", "/metadata/k", NULL, 200, " volume:delete_snapshot_metadata"),
    SNAPSHOT(KNOWN_MEMBER, "POST", "/action", "{\"os-update_snapshot_status\": {\"status\": \"error\"}}",
             400, " snapshot_extension:snapshot_actions:update_snapshot_status"), /* not creating */
    SNAPSHOT(KNOWN_ADMIN, "POST", "/action", "{\"os-reset_status\": {\"status\": \"available\"}}", 202,
             " volume_extension:snapshot_admin_actions:reset_status"),
    SNAPSHOT(KNOWN_ADMIN, "POST", "/action", "{\"os-force_delete\": null}", 202,
             " volume_extension:snapshot_admin_actions:force_delete volume:delete_snapshot"),
    SNAPSHOT(KNOWN_ADMIN, "POST", "/action", "{\"os-unmanage\": null}", 202,
             " snapshot_extension:snapshot_unmanage"),
    SNAPSHOT(KNOWN_MEMBER, "DELETE", "", NULL, 202, " volume:delete_snapshot"),
};

#define SPECS(name)      "volume_extension:types_extra_specs:" name
#define ACCESS(name)     "volume_extension:volume_type_access:" name
#define ENCRYPTION(name) "volume_extension:volume_type_encryption:" name

static const struct row type_rows[] = {
    { READER, "GET", "/types", NULL, 200, "volume_extension:type_get_all", NULL },
    { READER, "GET", "/types/default", NULL, 200, "volume_extension:type_get", NULL },
    { READER, "GET", "/types/%s", NULL, 200, "volume_extension:type_get", NULL },
    { READER, "GET", "/types/%s/extra_specs", NULL, 200, SPECS("index"), NULL },
    { READER, "GET", "/types/%s/extra_specs/multiattach", NULL, 200, SPECS("show"), NULL },
    { ADMIN, "POST", "/types", "{\"volume_type\": {\"name\": \"new\"}}", 200,
      "volume_extension:type_create", NULL },
    { ADMIN, "PUT", "/types/%s", "{\"volume_type\": {\"description\": \"d\"}}", 200,
      "volume_extension:type_update", NULL },
    { ADMIN, "DELETE", "/types/%s", NULL, 202, "volume_extension:type_delete", NULL },
    { ADMIN, "POST", "/types/%s/extra_specs", "{\"extra_specs\": {\"l\": \"v\"}}", 200,
      SPECS("create"), NULL },
    { ADMIN, "PUT", "/types/%s/extra_specs/k", "{\"k\": \"w\"}", 200, SPECS("update"), NULL },
    { ADMIN, "DELETE", "/types/%s/extra_specs/k", NULL, 202, SPECS("delete"), NULL },
    { ADMIN, "POST", "/types/%s/encryption",
      "{\"encryption\": {\"provider\": \"luks\", \"control_location\": \"front-end\"}}", 200,
      ENCRYPTION("create"), NULL },
    { ADMIN, "GET", "/types/%s/encryption", NULL, 200, ENCRYPTION("get"), NULL },
    { ADMIN, "GET", "/default-types", NULL, 200, "volume_extension:default_get_all", NULL },
    { ADMIN, "PUT", "/default-types/p", "{\"default_type\": {\"volume_type\": \"%s\"}}", 200,
      "volume_extension:default_set_or_update", NULL },
    { ADMIN, "GET", "/default-types/p", NULL, 404, "volume_extension:default_get", NULL },
    { ADMIN, "DELETE", "/default-types/p", NULL, 204, "volume_extension:default_unset", NULL },
};

/* It is there for the projects that may use it. */
static const struct row private_type_rows[] = {
    { KNOWN_READER | LATE, "GET", "/types?marker=%s", NULL, 200, "volume_extension:type_get_all", NULL },
    { KNOWN_READER | LATE, "GET", "/types?marker=%s&sort=name:asc,created_at:desc&is_public=none", NULL,
      200, "volume_extension:type_get_all", NULL },
    { KNOWN_MEMBER | LATE, "POST", "/volumes", "{\"volume\": {\"size\": 1, \"volume_type\": \"%s\"}}",
      400, "volume:create", NULL }, /* it is encrypted */
    { KNOWN_READER | LATE, "GET", "/types/%s", NULL, 200, "volume_extension:type_get", NULL },
    { KNOWN_READER | LATE, "GET", "/types/%s/extra_specs", NULL, 200, SPECS("index"), NULL },
    { KNOWN_READER | LATE, "GET", "/types/%s/extra_specs/multiattach", NULL, 200, SPECS("show"), NULL },
    { ADMIN, "PUT", "/types/%s", "{\"volume_type\": {\"description\": \"d\"}}", 200,
      "volume_extension:type_update", NULL },
    { ADMIN, "DELETE", "/types/%s", NULL, 202, "volume_extension:type_delete", NULL },
    { ADMIN, "POST", "/types/%s/extra_specs", "{\"extra_specs\": {\"l\": \"v\"}}", 200,
      SPECS("create"), NULL },
    { ADMIN, "GET", "/types/%s/os-volume-type-access", NULL, 200, ACCESS("get_all_for_type"), NULL },
    { ADMIN, "POST", "/types/%s/action", "{\"addProjectAccess\": {\"project\": \"p\"}}", 202,
      ACCESS("addProjectAccess"), NULL },
    { ADMIN, "POST", "/types/%s/action",
      "{\"removeProjectAccess\": {\"project\": \"" WORLD_PROJECT "\"}}", 202,
      ACCESS("removeProjectAccess"), NULL },
    { ADMIN, "GET", "/types/%s/encryption", NULL, 200, ENCRYPTION("get"), NULL },
    { ADMIN, "GET", "/types/%s/encryption/provider", NULL, 200, ENCRYPTION("get"), NULL },
    { ADMIN, "PUT", "/types/%s/encryption/x", "{\"encryption\": {\"cipher\": \"c\"}}", 200,
      ENCRYPTION("update"), NULL },
    { ADMIN, "DELETE", "/types/%s/encryption/x", NULL, 202, ENCRYPTION("delete"), NULL },
};

static const struct row multiattach_rows[] = {
    { MEMBER, "POST", "/volumes", "{\"volume\": {\"size\": 1, \"volume_type\": \"%s\"}}", 202,
      "volume:create volume:multiattach", NULL },
};

#define OF_GROUP(right, method, path, body, status, rules) \
    { right, method, "/groups/%s" path, body, status, "group:get" rules, NULL }
#define UNREPLICATED(name) /* it does not replicate */ \
    OF_GROUP(KNOWN_MEMBER, "POST", "/action", "{\"" name "\": {}}", 400, " group:" name)

static const struct row group_rows[] = {
    { READER, "GET", "/groups", NULL, 200, "group:get_all", NULL },
    { READER, "GET", "/groups/detail", NULL, 200, "group:get_all", NULL },
    { MEMBER, "POST", "/groups", IN_GROUP_TYPE, 202, "group:create", NULL },
    { KNOWN_READER | LATE, "GET", "/groups?all_tenants=1&marker=%s", NULL, 200, "group:get_all", NULL },
    { KNOWN_MEMBER | LATE, "POST", "/volumes",
      "{\"volume\": {\"size\": 1, \"group_id\": \"%s\"}}", 400, /* of no type */
      "volume:create group:get", NULL },
    OF_GROUP(KNOWN_READER, "GET", "", NULL, 200, ""),
    OF_GROUP(KNOWN_MEMBER, "PUT", "", "{\"group\": {\"name\": \"n\"}}", 202, " group:update"),
    OF_GROUP(KNOWN_MEMBER, "POST", "/action", "{\"delete\": {}}", 202, " group:delete"),
    OF_GROUP(KNOWN_ADMIN, "POST", "/action", "{\"reset_status\": {\"status\": \"error\"}}", 202,
             " group:reset_status"),
    UNREPLICATED("enable_replication"),
    UNREPLICATED("disable_replication"),
    UNREPLICATED("failover_replication"),
    UNREPLICATED("list_replication_targets"),
};

#define POLICY "{\"volume_policy\": {\"metadata\": {\"name\": \"new\"}, \"spec\": {}}}"

static const struct row volume_policy_rows[] = {
    { READER, "GET", "/volume_policies", NULL, 200, "volume_policy:get_all", NULL },
    { KNOWN_READER | LATE, "GET", "/volume_policies?all_tenants=1&marker=%s", NULL, 200,
      "volume_policy:get_all", NULL },
    { MEMBER, "POST", "/volume_policies", POLICY, 201, "volume_policy:create", NULL },
    { KNOWN_READER, "GET", "/volume_policies/%s", NULL, 200, "volume_policy:get", NULL },
    { KNOWN_MEMBER, "PATCH", "/volume_policies/%s",
      "{\"volume_policy\": {\"spec\": {\"target\": {\"luWorkers\": 2}}}}", 200,
      "volume_policy:update", NULL },
    { KNOWN_MEMBER, "PUT", "/volume_policies/%s",
      "{\"volume_policy\": {\"metadata\": {}, \"spec\": {}}}", 200, "volume_policy:update", NULL },
    { KNOWN_MEMBER, "DELETE", "/volume_policies/%s", NULL, 204, "volume_policy:delete", NULL },
};

static const struct row volume_config_rows[] = {
    { READER, "GET", "/volume_configs", NULL, 200, "volume_config:get_all", NULL },
    { KNOWN_READER | LATE, "GET", "/volume_configs?all_tenants=1&marker=%s", NULL, 200,
      "volume_config:get_all", NULL },
    { MEMBER, "POST", "/volume_configs", DOCUMENTS_CONFIG("\"name\": \"new\"", "1Gi", "1"), 201,
      "volume_config:create", NULL },
    { KNOWN_READER, "GET", "/volume_configs/%s", NULL, 200, "volume_config:get", NULL },
    { KNOWN_READER, "GET", "/volume_configs/%s/volume", NULL, 200, "volume_config:get", NULL },
    { KNOWN_READER, "GET", "/volume_configs/%s/replicas", NULL, 200, "volume_config:get", NULL },
    { KNOWN_READER, "GET", "/volume_configs/%s/events", NULL, 200, "volume_config:get", NULL },
    { KNOWN_MEMBER, "PATCH", "/volume_configs/%s",
      "{\"volume_config\": {\"publish\": {\"nodeId\": \"host-a\"}}}", 200,
      "volume_config:update", NULL },
    { KNOWN_MEMBER, "PUT", "/volume_configs/%s",
      DOCUMENTS_CONFIG("", "1Gi", "1"), 200, "volume_config:update", NULL },
    { KNOWN_MEMBER, "DELETE", "/volume_configs/%s", NULL, 202, "volume_config:delete", NULL },
};

static const struct row volume_config_snapshot_rows[] = {
    { READER, "GET", "/volume_config_snapshots", NULL, 200, "volume_config_snapshot:get_all",
      NULL },
    { KNOWN_READER | LATE, "GET", "/volume_config_snapshots?all_tenants=1&marker=%s", NULL, 200,
      "volume_config_snapshot:get_all", NULL },
    { KNOWN_READER, "GET", "/volume_config_snapshots/%s", NULL, 200, "volume_config_snapshot:get",
      NULL },
    { MEMBER, "POST", "/volume_config_snapshots", CONFIG_SNAPSHOT("\"name\": \"new\""), 201,
      "volume_config_snapshot:create", NULL },
    { KNOWN_MEMBER, "PATCH", "/volume_config_snapshots/%s",
      "{\"volume_config_snapshot\": {\"metadata\": {\"labels\": {\"a\": \"b\"}}}}", 200,
      "volume_config_snapshot:update", NULL },
    { KNOWN_MEMBER, "PUT", "/volume_config_snapshots/%s", CONFIG_SNAPSHOT(""), 200,
      "volume_config_snapshot:update", NULL },
    { KNOWN_MEMBER, "DELETE", "/volume_config_snapshots/%s", NULL, 202,
      "volume_config_snapshot:delete", NULL },
};

static const struct row replicated_volume_rows[] = {
    { READER, "GET", "/replicated_volumes", NULL, 200, "replicated_volume:get_all", NULL },
    { KNOWN_READER | LATE, "GET", "/replicated_volumes?all_tenants=1&marker=%s", NULL, 200,
      "replicated_volume:get_all", NULL },
    { KNOWN_READER, "GET", "/replicated_volumes/%s", NULL, 200, "replicated_volume:get", NULL },
    { KNOWN_READER, "GET", "/replicated_volumes/%s/events", NULL, 200, "replicated_volume:get",
      NULL },
    { KNOWN_ADMIN, "PUT", "/replicated_volumes/%s/status",
      "{\"nodeId\": \"host-a\", \"status\": {\"phase\": \"Healthy\"}}", 200,
      "replicated_volume:update_status", NULL },
};

/* Its node has found that it cannot serve it. */
#define LOST_VOLUME \
    "UPDATE documents SET body = replace(body, '\"nodeId\":\"\"', '\"nodeId\":\"host-a\"'), " \
    "status = '{\"phase\":\"Offline\",\"target\":{\"nodeId\":\"host-a\",\"state\":\"Down\"}," \
    "\"replicaStatuses\":[{\"mode\":\"Degraded\",\"replicaId\":\"' || " \
    "(SELECT id FROM documents WHERE kind = 'CStorVolumeReplica') || '\"}]}' " \
    "WHERE kind = 'CStorVolume'"

static const struct row volume_replica_rows[] = {
    { READER, "GET", "/volume_replicas", NULL, 200, "volume_replica:get_all", NULL },
    { KNOWN_READER | LATE, "GET", "/volume_replicas?all_tenants=1&marker=%s", NULL, 200,
      "volume_replica:get_all", NULL },
    { KNOWN_READER, "GET", "/volume_replicas/%s", NULL, 200, "volume_replica:get", NULL },
    { KNOWN_ADMIN, "PUT", "/volume_replicas/%s/status",
      "{\"nodeId\": \"host-a\", \"status\": {\"phase\": \"Healthy\"}}", 200,
      "volume_replica:update_status", NULL },
    { KNOWN_ADMIN, "POST", "/volume_replicas/%s/salvage", "{\"salvage\": {}}", 202,
      "volume_replica:salvage", LOST_VOLUME },
};

static const struct row replica_pool_rows[] = {
    { ADMIN, "GET", "/replica_pools", NULL, 200, "replica_pool:get_all", NULL },
    { ADMIN, "GET", "/replica_pools/%s", NULL, 200, "replica_pool:get", NULL },
    { ADMIN, "PUT", "/replica_pools/%s", REPLICA_POOL, 200, "replica_pool:report", NULL },
    { ADMIN, "PATCH", "/replica_pools/%s", "{\"replica_pool\": {\"draining\": true}}", 200, "replica_pool:drain", NULL },
    { ADMIN, "DELETE", "/replica_pools/%s", NULL, 204, "replica_pool:delete", NULL },
};

#define QOS(rule) "volume_extension:qos_specs_manage:" rule

static const struct row qos_rows[] = {
    { ADMIN, "GET", "/os-volume-limits?host=h", NULL, 200, "volume_limits:get_all", NULL },
    { ADMIN, "GET", "/qos-specs", NULL, 200, QOS("get_all"), NULL },
    { ADMIN, "GET", "/qos-specs?marker=%s", NULL, 200, QOS("get_all"), NULL },
    { ADMIN, "POST", "/qos-specs", "{\"qos_specs\": {\"name\": \"new\"}}", 200, QOS("create"), NULL },
    { ADMIN, "GET", "/qos-specs/%s", NULL, 200, QOS("get"), NULL },
    { ADMIN, "PUT", "/qos-specs/%s", "{\"qos_specs\": {\"l\": \"v\"}}", 200, QOS("update"), NULL },
    { ADMIN, "DELETE", "/qos-specs/%s", NULL, 202, QOS("delete"), NULL },
    { ADMIN, "PUT", "/qos-specs/%s/delete_keys", "{\"keys\": [\"k\"]}", 202, QOS("delete"), NULL },
    { ADMIN, "GET", "/qos-specs/%s/associations", NULL, 200, QOS("get_all"), NULL },
    { ADMIN, "GET", "/qos-specs/%s/associate?vol_type_id=99999999-9999-4999-8999-999999999999", NULL, 404, QOS("update"), NULL },
    { ADMIN, "GET", "/qos-specs/%s/disassociate?vol_type_id=99999999-9999-4999-8999-999999999999", NULL, 404, QOS("update"), NULL },
    { ADMIN, "GET", "/qos-specs/%s/disassociate_all", NULL, 202, QOS("update"), NULL },
};

static const struct row group_type_rows[] = {
    { PUBLIC, "GET", "/group_types", NULL, 200, "", NULL },
    { PUBLIC, "GET", "/group_types/default", NULL, 404, "", NULL }, /* none by default */
    { PUBLIC, "GET", "/group_types/%s", NULL, 200, "", NULL },
    { ADMIN, "POST", "/group_types", "{\"group_type\": {\"name\": \"new\"}}", 202,
      "group:group_types:create", NULL },
    { ADMIN, "PUT", "/group_types/%s", "{\"group_type\": {\"description\": \"d\"}}", 200,
      "group:group_types:update", NULL },
    { ADMIN, "DELETE", "/group_types/%s", NULL, 202, "group:group_types:delete", NULL },
    { ADMIN, "GET", "/group_types/%s/group_specs", NULL, 200, "group:group_types_specs:get_all", NULL },
    { ADMIN, "POST", "/group_types/%s/group_specs", "{\"group_specs\": {\"l\": \"v\"}}", 202,
      "group:group_types_specs:create", NULL },
    { ADMIN, "GET", "/group_types/%s/group_specs/k", NULL, 200, "group:group_types_specs:get", NULL },
    { ADMIN, "PUT", "/group_types/%s/group_specs/k", "{\"k\": \"w\"}", 200,
      "group:group_types_specs:update", NULL },
    { ADMIN, "DELETE", "/group_types/%s/group_specs/k", NULL, 202, "group:group_types_specs:delete", NULL },
};

static const struct row private_group_type_rows[] = {
    { HIDDEN_PUBLIC, "GET", "/group_types/%s", NULL, 200, "", NULL },
    { HIDDEN_PUBLIC, "GET", "/group_types?marker=%s&is_public=none", NULL, 200, "", NULL },
    { HIDDEN_ADMIN | LATE, "GET", "/group_types/%s/group_specs", NULL, 200, "group:group_types_specs:get_all", NULL },
    { HIDDEN_ADMIN | LATE, "DELETE", "/group_types/%s", NULL, 202, "group:group_types:delete", NULL },
};

static const struct row group_of_one_rows[] = {
    { KNOWN_MEMBER | LATE, "POST", "/groups/action", "{\"create-from-src\": {\"source_group_id\": \"%s\"}}",
      202, "group:create group:get", NULL },
    { KNOWN_MEMBER, "POST", "/group_snapshots", "{\"group_snapshot\": {\"group_id\": \"%s\"}}", 202,
      "group:get group:create_group_snapshot", NULL },
};

static const struct row group_snapshot_rows[] = {
    { KNOWN_MEMBER | LATE, "POST", "/groups/action", "{\"create-from-src\": {\"group_snapshot_id\": \"%s\"}}",
      202, "group:create group:get_group_snapshot", NULL },
    { READER, "GET", "/group_snapshots", NULL, 200, "group:get_all_group_snapshots", NULL },
    { READER, "GET", "/group_snapshots/detail", NULL, 200, "group:get_all_group_snapshots", NULL },
    { KNOWN_READER | LATE, "GET", "/group_snapshots?all_tenants=1&marker=%s", NULL, 200,
      "group:get_all_group_snapshots", NULL },
    { KNOWN_READER, "GET", "/group_snapshots/%s", NULL, 200, "group:get_group_snapshot", NULL },
    { KNOWN_MEMBER, "PUT", "/group_snapshots/%s", "{}", 400, "group:get_group_snapshot group:update_group_snapshot", NULL },
    { KNOWN_ADMIN, "POST", "/group_snapshots/%s/action", "{\"reset_status\": {\"status\": \"error\"}}",
      202, "group:get_group_snapshot group:reset_group_snapshot_status", NULL },
    { KNOWN_MEMBER, "DELETE", "/group_snapshots/%s", NULL, 202, "group:get_group_snapshot group:delete_group_snapshot", NULL },
};

#define FORCE "{\"consistencygroup\": {\"force\": true}}"

static const struct row consistency_group_rows[] = {
    { READER, "GET", "/consistencygroups", NULL, 200, "group:get_all", NULL },
    { READER, "GET", "/consistencygroups/detail", NULL, 200, "group:get_all", NULL },
    { KNOWN_READER | LATE, "GET", "/consistencygroups?all_tenants=1&marker=%s", NULL, 200, "group:get_all", NULL },
    { MEMBER, "POST", "/consistencygroups", CONSISTENCY_GROUP, 202, "group:create", NULL },
    { KNOWN_MEMBER | LATE, "POST", "/consistencygroups/create_from_src",
      "{\"consistencygroup-from-src\": {\"source_cgid\": \"%s\"}}", 202, "group:create group:get", NULL },
    { KNOWN_READER, "GET", "/consistencygroups/%s", NULL, 200, "group:get", NULL },
    { KNOWN_MEMBER, "PUT", "/consistencygroups/%s", "{\"consistencygroup\": {\"name\": \"n\"}}", 202,
      "group:get group:update", NULL },
    { KNOWN_MEMBER, "PUT", "/consistencygroups/%s/update", "{\"consistencygroup\": {\"name\": \"n\"}}", 202,
      "group:get group:update", NULL },
    { KNOWN_MEMBER, "POST", "/consistencygroups/%s/delete", FORCE, 202, "group:get group:delete", NULL },
    { KNOWN_MEMBER, "DELETE", "/consistencygroups/%s", FORCE, 202, "group:get group:delete", NULL },
    { KNOWN_MEMBER, "POST", "/cgsnapshots", "{\"cgsnapshot\": {\"consistencygroup_id\": \"%s\"}}", 202,
      "group:get group:create_group_snapshot", NULL },
};

static const struct row cgsnapshot_rows[] = {
    { KNOWN_MEMBER | LATE, "POST", "/consistencygroups/create_from_src",
      "{\"consistencygroup-from-src\": {\"cgsnapshot_id\": \"%s\"}}", 202,
      "group:create group:get_group_snapshot", NULL },
    { READER, "GET", "/cgsnapshots", NULL, 200, "group:get_all_group_snapshots", NULL },
    { READER, "GET", "/cgsnapshots/detail", NULL, 200, "group:get_all_group_snapshots", NULL },
    { KNOWN_READER | LATE, "GET", "/cgsnapshots?all_tenants=1&marker=%s", NULL, 200,
      "group:get_all_group_snapshots", NULL },
    { KNOWN_READER, "GET", "/cgsnapshots/%s", NULL, 200, "group:get_group_snapshot", NULL },
    { KNOWN_MEMBER, "DELETE", "/cgsnapshots/%s", NULL, 202, "group:get_group_snapshot group:delete_group_snapshot", NULL },
};

static const struct row message_rows[] = {
    { READER, "GET", "/messages", NULL, 200, "message:get_all", NULL },
    { KNOWN_READER | LATE, "GET", "/messages?all_tenants=1&marker=%s", NULL, 200, "message:get_all", NULL },
    { KNOWN_READER, "GET", "/messages/%s", NULL, 200, "message:get", NULL },
    { KNOWN_MEMBER, "DELETE", "/messages/%s", NULL, 204, "message:delete", NULL },
};

#define TRANSFERS(path) \
    { READER, "GET", path, NULL, 200, "volume:get_all_transfers", NULL }, \
    { READER, "GET", path "/detail", NULL, 200, "volume:get_all_transfers", NULL }, \
    { KNOWN_READER | LATE, "GET", path "?all_tenants=1&marker=%s", NULL, 200, \
      "volume:get_all_transfers", NULL }, \
    { KNOWN_READER, "GET", path "/%s", NULL, 200, "volume:get_transfer", NULL }, \
    { KNOWN_MEMBER, "DELETE", path "/%s", NULL, 202, "volume:delete_transfer", NULL }, \
    { MEMBER, "POST", path "/%s/accept", "{\"accept\": {\"auth_key\": \"k\"}}", 400, \
      "volume:accept_transfer", NULL } /* not its key */

static const struct row transfer_rows[] = {
    TRANSFERS("/volume-transfers"),
    TRANSFERS("/os-volume-transfer"),
};

#define QUOTAS(name)  "volume_extension:quotas:" name
#define CLASSES(name) "volume_extension:quota_classes:" name

static const struct row quota_rows[] = {
    { READER | NAMED, "GET", "/os-quota-sets/" WORLD_PROJECT, NULL, 200, QUOTAS("show"), NULL },
    { READER | NAMED, "GET", "/os-quota-sets/" WORLD_PROJECT "/defaults", NULL, 200, QUOTAS("show"), NULL },
    { ADMIN, "PUT", "/os-quota-sets/" WORLD_PROJECT, "{\"quota_set\": {\"volumes\": 20}}", 200,
      QUOTAS("update"), NULL },
    { ADMIN, "DELETE", "/os-quota-sets/" WORLD_PROJECT, NULL, 200, QUOTAS("delete"), NULL },
    { ADMIN, "GET", "/os-quota-class-sets/default", NULL, 200, CLASSES("get"), NULL },
    { ADMIN, "PUT", "/os-quota-class-sets/c", "{\"quota_class_set\": {\"volumes\": 20}}", 200,
      CLASSES("update"), NULL },
    { PUBLIC, "GET", "/limits", NULL, 200, "", NULL },
};

#define SERVICE(name, body, status, rules) \
    { ADMIN, "PUT", "/os-services/" name, body, status, "volume_extension:services:update" rules, NULL }
#define NODE "\"host\": \"node@memory\""
#define VOLUME_SERVICE NODE ", \"binary\": \"cinder-volume\""

#define EXISTING "{\"volume\": {\"host\": \"node@memory\", \"ref\": \"disk\"}}"
#define MANAGEABLE(path, status, extension) \
    { ADMIN, "GET", path "?host=node@memory", NULL, status, extension ":list_manageable", NULL }, \
    { ADMIN, "GET", path "/detail?host=node@memory", NULL, status, extension ":list_manageable", NULL }

static const struct row service_rows[] = {
    { ADMIN, "GET", "/os-services", NULL, 200, "volume_extension:services:index", NULL },
    SERVICE("enable", "{" VOLUME_SERVICE "}", 200, ""),
    SERVICE("disable", "{" VOLUME_SERVICE "}", 200, ""),
    SERVICE("disable-log-reason", "{" VOLUME_SERVICE ", \"disabled_reason\": \"r\"}", 200, ""),
    SERVICE("freeze", "{" NODE "}", 200, " volume:freeze_host"),
    { ADMIN, "PUT", "/os-services/thaw", "{" NODE "}", 200,
      "volume_extension:services:update volume:thaw_host", "UPDATE services SET frozen = 1" },
    SERVICE("failover_host", "{" NODE "}", 400, " volume:failover_host"), /* no replicas */
    SERVICE("failover", "{" NODE "}", 400, " volume:failover_host"),
    SERVICE("get-log", "{}", 200, ""),
    SERVICE("set-log", "{\"level\": \"INFO\"}", 202, ""),
    SERVICE("report", "{\"binary\": \"scoria-compute\", \"host\": \"h\"}", 200, ""),
    SERVICE("nothing", "{}", 400, ""),
    MANAGEABLE("/os-volume-manage", 200, "volume_extension"),
    MANAGEABLE("/manageable_volumes", 200, "volume_extension"),
    MANAGEABLE("/os-snapshot-manage", 200, "snapshot_extension"),
    MANAGEABLE("/manageable_snapshots", 200, "snapshot_extension"),
    { ADMIN, "POST", "/os-volume-manage", EXISTING, 202, "volume_extension:volume_manage", NULL },
    { ADMIN, "POST", "/manageable_volumes", EXISTING, 202, "volume_extension:volume_manage", NULL },
    { ADMIN, "GET", "/os-hosts", NULL, 200, "volume_extension:hosts", NULL },
    { ADMIN, "GET", "/os-hosts/node@memory", NULL, 200, "volume_extension:hosts", NULL },
    { ADMIN, "GET", "/scheduler-stats/get_pools", NULL, 200,
      "scheduler_extension:scheduler_stats:get_pools", NULL },
    { ADMIN, "GET", "/capabilities/node@memory", NULL, 200, "volume_extension:capabilities", NULL },
    { PUBLIC, "GET", "/os-availability-zone", NULL, 200, "", NULL },
    { PUBLIC, "GET", "/extensions", NULL, 200, "", NULL },
    { PUBLIC, "GET", "/extensions/os-hosts", NULL, 200, "", NULL },
    { PUBLIC, "GET", "/resource_filters", NULL, 200, "", NULL },
};

#define GROUP(rows, make) { rows, LENGTH(rows), make }

const struct group rights_groups[] = {
    GROUP(volume_rows, make_volume),
    GROUP(attachment_rows, make_attachment),
    GROUP(snapshot_rows, make_snapshot),
    GROUP(type_rows, make_type),
    GROUP(private_type_rows, make_private_type),
    GROUP(multiattach_rows, make_multiattach_type),
    GROUP(group_rows, make_group),
    GROUP(volume_policy_rows, make_volume_policy),
    GROUP(volume_config_rows, make_volume_config),
    GROUP(volume_config_snapshot_rows, make_volume_config_snapshot),
    GROUP(replicated_volume_rows, make_replicated_volume),
    GROUP(volume_replica_rows, make_volume_replica),
    GROUP(replica_pool_rows, make_replica_pool),
    GROUP(qos_rows, make_qos),
    GROUP(group_type_rows, make_group_type),
    GROUP(private_group_type_rows, make_private_group_type),
    GROUP(group_of_one_rows, make_group_of_one),
    GROUP(group_snapshot_rows, make_group_snapshot),
    GROUP(consistency_group_rows, make_consistency_group),
    GROUP(cgsnapshot_rows, make_cgsnapshot),
    GROUP(message_rows, make_message),
    GROUP(transfer_rows, make_transfer),
    GROUP(quota_rows, NULL),
    GROUP(service_rows, NULL),
    { NULL, 0, NULL },
};
/* clang-format on */

/* ---- asking ---- */

const char *rights_put_id(struct arena *arena, const char *text, const char *id) {
    const char *place = text ? strstr(text, "%s") : NULL;

    return place ? arena_format(arena, "%.*s%s%s", (int)(place - text), text, id,
                                rights_put_id(arena, place + 2, id))
                 : text;
}

const char *rights_put_instead(struct arena *arena, const char *text, const char *from,
                               const char *to) {
    const char *place = strstr(text, from);

    return place ? arena_format(arena, "%.*s%s%s", (int)(place - text), text, to,
                                rights_put_instead(arena, place + strlen(from), from, to))
                 : text;
}

struct world *rights_world(const struct group *group, const struct row *row, const char *rules,
                           bool enforce_new_defaults, const char **ret_id) {
    struct world *world = world_new(NULL);

    memory_put(world->memory, "disk", GIB, 0); /* to be taken over */
    memory_put(world->memory, "s", GIB, 0);
    *ret_id = group->make ? group->make(world) : "";
    if (row->before)
        world_sql(world, rights_put_id(world->arena, row->before, *ret_id));
    roles_enter_with(world, rules, enforce_new_defaults);
    return world;
}

int rights_request(struct world *world, const char *token, const struct row *row, const char *id) {
    world->token = token;
    return world_call(world, row->method, rights_put_id(world->arena, row->path, id),
                      rights_put_id(world->arena, row->body, id));
}

const char *rights_name(struct world *world, const struct row *row) {
    return arena_format(world->arena, "%s: %s %s %s", world->token, row->method, row->path,
                        row->body ? row->body : "");
}

/* ---- rows of routes ---- */

/* Is this path one of the pattern's, segment by segment? */
static bool path_is_of(const char *path, const char *pattern) {
    while (*path == '/' && *pattern == '/') {
        size_t length = strcspn(++path, "/?"), place = strcspn(++pattern, "/");

        if (*pattern != '{' && (length != place || strncmp(path, pattern, length) != 0))
            return false;
        path += length;
        pattern += place;
    }
    return !*pattern && (!*path || *path == '?');
}

/* A body of an action is {"<action>": …}. */
static bool action_is_of(const char *body, const char *action) {
    size_t length = strlen(action);

    return body && strncmp(body + 2, action, length) == 0 && body[2 + length] == '"';
}

bool rights_row_is_of(const struct row *row, const struct route *route) {
    return strcmp(row->method, route->method) == 0 && path_is_of(row->path, route->path) &&
           (!route->action || action_is_of(row->body, route->action));
}
