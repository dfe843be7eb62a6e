/*
 * Who may do what: every route of the API asked without a token, by a caller of the project whose
 * role means nothing, a reader and a member of it, a member and a service of another one, and an
 * administrator, with the built-in rules.
 */
#include "api/routes.h"
#include "common/cleanup.h"
#include "tests/lib/check_main.h"
#include "tests/lib/postgresql.h"
#include "tests/lib/roles.h"
#include "tests/lib/world.h"

#include <sqlite3.h>
#include <string.h>

enum right {
    ANYBODY, /* no rule, nothing of one project */
    READER,
    MEMBER,
    ADMIN,
    OWNED_READER = READER | 4, /* of an object: it does not exist for other projects */
    OWNED_MEMBER = MEMBER | 4,
    OWNED_ADMIN = ADMIN | 4,
    TOLD_READER = READER | 12, /* as OWNED, but of the project's own a refusal is said */
    TOLD_MEMBER = MEMBER | 12,
    TOLD_ADMIN = ADMIN | 12,
};

#define OWNED       4
#define TOLD        8
#define BARE(right) ((right)&3)

struct row {
    enum right right;
    const char *method, *path, *body; /* "%s": the object */
};

#define ACTION(right, body) \
    { right, "POST", "/volumes/%s/action", body }

/* clang-format off */
static const struct row volume_rows[] = {
    { READER, "GET", "/volumes", NULL },
    { READER, "GET", "/volumes/detail", NULL },
    { READER, "GET", "/volumes/summary", NULL },
    { MEMBER, "POST", "/volumes", "{\"volume\": {\"size\": 1}}" },
    { OWNED_READER, "GET", "/volumes/%s", NULL },
    { OWNED_MEMBER, "PUT", "/volumes/%s", "{\"volume\": {\"name\": \"n\"}}" },
    { OWNED_READER, "GET", "/volumes/%s/metadata", NULL },
    { OWNED_MEMBER, "POST", "/volumes/%s/metadata", "{\"metadata\": {\"k\": \"v\"}}" },
    { OWNED_MEMBER, "PUT", "/volumes/%s/metadata", "{\"metadata\": {\"k\": \"v\"}}" },
    { OWNED_READER, "GET", "/volumes/%s/metadata/k", NULL },
    { OWNED_MEMBER, "PUT", "/volumes/%s/metadata/k", "{\"meta\": {\"k\": \"v\"}}" },
    { OWNED_MEMBER, "DELETE", "/volumes/%s/metadata/k", NULL },
    { OWNED_READER, "GET", "/volumes/%s/encryption", NULL },
    { OWNED_READER, "GET", "/volumes/%s/encryption/encryption_key_id", NULL },
    ACTION(OWNED_MEMBER, "{\"os-reserve\": null}"),
    ACTION(OWNED_MEMBER, "{\"os-unreserve\": null}"),
    ACTION(OWNED_MEMBER, "{\"os-begin_detaching\": null}"),
    ACTION(OWNED_MEMBER, "{\"os-roll_detaching\": null}"),
    ACTION(OWNED_MEMBER, "{\"os-attach\": {\"mountpoint\": \"m\", \"host_name\": \"h\"}}"),
    ACTION(OWNED_MEMBER, "{\"os-detach\": {}}"),
    ACTION(OWNED_MEMBER, "{\"os-initialize_connection\": {\"connector\": \"text\"}}"),
    ACTION(OWNED_MEMBER, "{\"os-terminate_connection\": {\"connector\": null}}"),
    ACTION(OWNED_MEMBER, "{\"os-extend\": {\"new_size\": 1}}"),
    ACTION(OWNED_MEMBER, "{\"revert\": {\"snapshot_id\": null}}"),
    ACTION(OWNED_MEMBER, "{\"os-set_bootable\": {\"bootable\": false}}"),
    ACTION(OWNED_MEMBER, "{\"os-update_readonly_flag\": {\"readonly\": false}}"),
    ACTION(OWNED_MEMBER, "{\"os-set_image_metadata\": {\"metadata\": {\"k\": \"v\"}}}"),
    ACTION(OWNED_READER, "{\"os-show_image_metadata\": null}"),
    ACTION(OWNED_MEMBER, "{\"os-unset_image_metadata\": {\"key\": \"k\"}}"),
    ACTION(OWNED_ADMIN, "{\"os-extend_volume_completion\": {}}"),
    ACTION(OWNED_ADMIN, "{\"os-reset_status\": {\"status\": \"available\"}}"),
    ACTION(OWNED_ADMIN, "{\"os-force_detach\": {}}"),
    { OWNED_MEMBER, "POST", "/attachments", "{\"attachment\": {\"volume_uuid\": \"%s\"}}" },
    { OWNED_MEMBER, "POST", "/snapshots", "{\"snapshot\": {\"volume_id\": \"%s\"}}" },
    { OWNED_ADMIN, "DELETE", "/volumes/%s?force=true", NULL },
    ACTION(OWNED_ADMIN, "{\"os-force_delete\": null}"),
    { OWNED_MEMBER, "DELETE", "/volumes/%s", NULL },
};

static const struct row attachment_rows[] = {
    { ANYBODY, "GET", "/attachments", NULL },
    { ANYBODY, "GET", "/attachments/detail", NULL },
    { OWNED | ANYBODY, "GET", "/attachments/%s", NULL },
    { OWNED_MEMBER, "PUT", "/attachments/%s", "{\"attachment\": {\"connector\": {\"ip\": \"x\"}}}" },
    { OWNED_MEMBER, "POST", "/attachments/%s/action", "{\"os-complete\": null}" },
    { OWNED_MEMBER, "DELETE", "/attachments/%s", NULL },
};

#define SNAPSHOT_ACTION(right, body) \
    { right, "POST", "/snapshots/%s/action", body }

static const struct row snapshot_rows[] = {
    { READER, "GET", "/snapshots", NULL },
    { READER, "GET", "/snapshots/detail", NULL },
    { TOLD_READER, "GET", "/snapshots/%s", NULL },
    { TOLD_MEMBER, "PUT", "/snapshots/%s", "{\"snapshot\": {\"name\": \"n\"}}" },
    { TOLD_READER, "GET", "/snapshots/%s/metadata", NULL },
    { TOLD_MEMBER, "POST", "/snapshots/%s/metadata", "{\"metadata\": {\"k\": \"v\"}}" },
    { TOLD_MEMBER, "PUT", "/snapshots/%s/metadata", "{\"metadata\": {\"k\": \"v\"}}" },
    { TOLD_READER, "GET", "/snapshots/%s/metadata/k", NULL },
    { TOLD_MEMBER, "PUT", "/snapshots/%s/metadata/k", "{\"meta\": {\"k\": \"v\"}}" },
    { TOLD_MEMBER, "DELETE", "/snapshots/%s/metadata/k", NULL },
    SNAPSHOT_ACTION(TOLD_MEMBER, "{\"os-update_snapshot_status\": {\"status\": \"error\"}}"),
    SNAPSHOT_ACTION(TOLD_ADMIN, "{\"os-reset_status\": {\"status\": \"available\"}}"),
    SNAPSHOT_ACTION(TOLD_ADMIN, "{\"os-force_delete\": null}"),
    { TOLD_MEMBER, "DELETE", "/snapshots/%s", NULL },
};

static const struct row type_rows[] = {
    { READER, "GET", "/types", NULL },
    { READER, "GET", "/types/default", NULL },
    { READER, "GET", "/types/%s", NULL },
    { READER, "GET", "/types/%s/extra_specs", NULL },
    { READER, "GET", "/types/%s/extra_specs/multiattach", NULL },
    { ADMIN, "POST", "/types", "{\"volume_type\": {\"name\": \"new\"}}" },
    { ADMIN, "PUT", "/types/%s", "{\"volume_type\": {\"description\": \"d\"}}" },
    { ADMIN, "POST", "/types/%s/extra_specs", "{\"extra_specs\": {\"k\": \"v\"}}" },
    { ADMIN, "PUT", "/types/%s/extra_specs/k", "{\"k\": \"w\"}" },
    { ADMIN, "DELETE", "/types/%s/extra_specs/k", NULL },
    { ADMIN, "POST", "/types/%s/action", "{\"addProjectAccess\": {\"project\": \"p\"}}" },
    { ADMIN, "POST", "/types/%s/action", "{\"removeProjectAccess\": {\"project\": \"p\"}}" },
    { ADMIN, "GET", "/types/%s/os-volume-type-access", NULL },
    { ADMIN, "POST", "/types/%s/encryption",
      "{\"encryption\": {\"provider\": \"luks\", \"control_location\": \"front-end\"}}" },
    { ADMIN, "GET", "/types/%s/encryption", NULL },
    { ADMIN, "GET", "/types/%s/encryption/provider", NULL },
    { ADMIN, "PUT", "/types/%s/encryption/x", "{\"encryption\": {\"cipher\": \"c\"}}" },
    { ADMIN, "DELETE", "/types/%s/encryption/x", NULL },
    { ADMIN, "GET", "/default-types", NULL },
    { ADMIN, "PUT", "/default-types/p", "{\"default_type\": {\"volume_type\": \"%s\"}}" },
    { ADMIN, "GET", "/default-types/p", NULL },
    { ADMIN, "DELETE", "/default-types/p", NULL },
    { ADMIN, "DELETE", "/types/%s", NULL },
};

static const struct row group_type_rows[] = {
    { ANYBODY, "GET", "/group_types", NULL },
    { ANYBODY, "GET", "/group_types/default", NULL },
    { ANYBODY, "GET", "/group_types/%s", NULL },
    { ADMIN, "POST", "/group_types", "{\"group_type\": {\"name\": \"new\"}}" },
    { ADMIN, "PUT", "/group_types/%s", "{\"group_type\": {\"description\": \"d\"}}" },
    { ADMIN, "GET", "/group_types/%s/group_specs", NULL },
    { ADMIN, "POST", "/group_types/%s/group_specs", "{\"group_specs\": {\"k\": \"v\"}}" },
    { ADMIN, "GET", "/group_types/%s/group_specs/k", NULL },
    { ADMIN, "PUT", "/group_types/%s/group_specs/k", "{\"k\": \"w\"}" },
    { ADMIN, "DELETE", "/group_types/%s/group_specs/k", NULL },
    { ADMIN, "DELETE", "/group_types/%s", NULL },
};

static const struct row message_rows[] = {
    { READER, "GET", "/messages", NULL },
    { TOLD_READER, "GET", "/messages/%s", NULL },
    { TOLD_MEMBER, "DELETE", "/messages/%s", NULL },
};

/* The rule is about the project of the path, and is asked before anything is read. */
static const struct row quota_rows[] = {
    { READER, "GET", "/os-quota-sets/" WORLD_PROJECT, NULL },
    { READER, "GET", "/os-quota-sets/" WORLD_PROJECT "/defaults", NULL },
};

static const struct row other_rows[] = {
    { ADMIN, "PUT", "/os-quota-sets/" WORLD_PROJECT, "{\"quota_set\": {\"volumes\": 20}}" },
    { ADMIN, "DELETE", "/os-quota-sets/" WORLD_PROJECT, NULL },
    { ADMIN, "GET", "/os-quota-class-sets/default", NULL },
    { ADMIN, "PUT", "/os-quota-class-sets/c", "{\"quota_class_set\": {\"volumes\": 20}}" },
    { ANYBODY, "GET", "/limits", NULL },
    { ADMIN, "GET", "/os-services", NULL },
    { ADMIN, "PUT", "/os-services/enable", "{\"host\": \"node@memory\", \"binary\": \"cinder-volume\"}" },
    { ADMIN, "PUT", "/os-services/disable", "{\"host\": \"node@memory\", \"binary\": \"cinder-volume\"}" },
    { ADMIN, "PUT", "/os-services/disable-log-reason",
      "{\"host\": \"node@memory\", \"binary\": \"cinder-volume\", \"disabled_reason\": \"r\"}" },
    { ADMIN, "PUT", "/os-services/freeze", "{\"host\": \"node@memory\"}" },
    { ADMIN, "PUT", "/os-services/thaw", "{\"host\": \"node@memory\"}" },
    { ADMIN, "PUT", "/os-services/failover_host", "{\"host\": \"node@memory\"}" },
    { ADMIN, "PUT", "/os-services/failover", "{\"host\": \"node@memory\"}" },
    { ADMIN, "PUT", "/os-services/get-log", "{}" },
    { ADMIN, "PUT", "/os-services/set-log", "{\"level\": \"INFO\"}" },
    { ADMIN, "PUT", "/os-services/report", "{\"binary\": \"scoria-compute\", \"host\": \"h\"}" },
    { ADMIN, "PUT", "/os-services/nothing", "{}" },
    { ADMIN, "GET", "/os-hosts", NULL },
    { ADMIN, "GET", "/os-hosts/node@memory", NULL },
    { ADMIN, "GET", "/scheduler-stats/get_pools", NULL },
    { ADMIN, "GET", "/capabilities/node@memory", NULL },
    { ANYBODY, "GET", "/os-availability-zone", NULL },
    { ANYBODY, "GET", "/extensions", NULL },
    { ANYBODY, "GET", "/extensions/os-hosts", NULL },
    { ANYBODY, "GET", "/resource_filters", NULL },
};
/* clang-format on */

#define ROWS(rows) \
    { rows, LENGTH(rows) }

static const struct {
    const struct row *rows;
    size_t count;
} all_rows[] = {
    ROWS(volume_rows),  ROWS(attachment_rows), ROWS(snapshot_rows), ROWS(type_rows),
    ROWS(message_rows), ROWS(quota_rows),      ROWS(other_rows),    ROWS(group_type_rows),
};

#define UNKNOWN        "99999999-9999-4999-8999-999999999999"
#define NO_TOKEN       ":" WORLD_PROJECT
#define STRANGER_TOKEN "stranger:" WORLD_PROJECT
#define SERVICE_TOKEN  "service:" WORLD_PROJECT
#define THEIRS_TOKEN   "service:" WORLD_OTHER
#define READER_TOKEN   "reader:" WORLD_PROJECT
#define MEMBER_TOKEN   "member:" WORLD_PROJECT
#define OTHER_TOKEN    "member:" WORLD_OTHER
#define ADMIN_TOKEN    "admin:" WORLD_PROJECT

/* `text` with what stands in its one "%s". */
static const char *put_id(struct world *world, const char *text, const char *id) {
    const char *place = text ? strstr(text, "%s") : NULL;

    return place ? arena_format(world->arena, "%.*s%s%s", (int)(place - text), text, id, place + 2)
                 : text;
}

static int ask(struct world *world, const char *token, const struct row *row, const char *id) {
    world->token = token;
    return world_call(world, row->method, put_id(world, row->path, id),
                      put_id(world, row->body, id));
}

/* 403 and 404 are refusals; whatever else comes, the caller was let through. */
static void expect_refusal(struct world *world, const char *token, const struct row *row,
                           const char *id, int refusal) {
    int status = ask(world, token, row, id);

    if (refusal)
        ck_assert_msg(status == refusal, "%s: %s %s %s: %d, not %d", token, row->method, row->path,
                      row->body ? row->body : "", status, refusal);
    else
        ck_assert_msg(status != 401 && status != 403 && status < 500, "%s: %s %s %s: %d %s", token,
                      row->method, row->path, row->body ? row->body : "", status,
                      world->answer_text);
}

/* What SQLite has been asked, and how many rows it has found. */
static struct { unsigned statements, rows; } looked;

static int database_looked(unsigned kind, void *arg, void *statement, void *text) {
    (void)arg, (void)statement, (void)text;
    if (kind == SQLITE_TRACE_ROW)
        looked.rows++;
    else
        looked.statements++;
    return 0;
}

static int database_opened(sqlite3 *handle, const char **message, const void *routines) {
    (void)message, (void)routines;
    return sqlite3_trace_v2(handle, SQLITE_TRACE_STMT | SQLITE_TRACE_ROW, database_looked, NULL);
}

static struct world *watched_world(void) {
    ck_assert_int_eq(sqlite3_auto_extension((void (*)(void))database_opened), SQLITE_OK);
    return world_new(NULL);
}

/* What is another's is answered as what is not there, and no more is looked at for it. */
static void expect_nothing_tells(struct world *world, const char *token, const struct row *row,
                                 const char *id) {
    const char *text;
    unsigned statements, rows;

    looked.statements = looked.rows = 0;
    expect_refusal(world, token, row, UNKNOWN, 404);
    text = arena_text(world->arena, world->answer_text);
    statements = looked.statements;
    rows = looked.rows;
    ck_assert(statements > 0 || postgresql_given());
    looked.statements = looked.rows = 0;
    expect_refusal(world, token, row, id, 404);
    ck_assert_msg(looked.statements == statements && looked.rows == rows,
                  "%s %s: %u statements and %u rows, %u and %u for none", row->method, row->path,
                  looked.statements, looked.rows, statements, rows);
    ck_assert_str_eq(
        world->answer_text,
        put_id(world,
               arena_format(world->arena, "%.*s%%s%s", (int)(strstr(text, UNKNOWN) - text), text,
                            strstr(text, UNKNOWN) + strlen(UNKNOWN)),
               id));
}

/* The least right first: what is refused must leave the object to the next one. */
static void expect_rights(struct world *world, const struct row *rows, size_t count,
                          const char *id) {
    for (size_t i = 0; i < count; i++) {
        const struct row *row = &rows[i];
        enum right right = BARE(row->right);
        bool lasts = strcmp(row->method, "DELETE") != 0;
        int hidden = row->right & OWNED && !(row->right & TOLD) ? 404 : 0;

        expect_refusal(world, NO_TOKEN, row, id, 401);
        if (row->right & OWNED) {
            expect_nothing_tells(world, OTHER_TOKEN, row, id);
            expect_nothing_tells(world, THEIRS_TOKEN, row, id);
        } else {
            expect_refusal(world, OTHER_TOKEN, row, id, right == ADMIN ? 403 : 0);
        }
        expect_refusal(world, STRANGER_TOKEN, row, id, hidden ? hidden : right > ANYBODY ? 403 : 0);
        expect_refusal(world, READER_TOKEN, row, id, right > READER ? 403 : 0);
        expect_refusal(world, MEMBER_TOKEN, row, id, right > MEMBER ? 403 : 0);
        if (lasts || right == ADMIN) {
            expect_refusal(world, SERVICE_TOKEN, row, id, right == ADMIN ? 403 : 0);
            expect_refusal(world, ADMIN_TOKEN, row, id, 0);
        }
        world_settle(world);
    }
}

/* Callers without the right to it, and an object that is not there: the body is first. */
START_TEST(a_bad_body_is_told_before_rights_and_objects) {
#define NONE "99999999-9999-4999-8999-999999999999"
    static const struct {
        const char *method, *path, *body;
    } cases[] = {
        { "PUT", "/volumes/" NONE, "{\"volume\": {}}" },
        { "POST", "/volumes", "{\"volume\": {\"size\": 1}, \"more\": 1}" },
        { "POST", "/volumes",
          "{\"volume\": {\"size\": 1}, "
          "\"OS-SCH-HNT:scheduler_hints\": {\"same_host\": \"x\"}}" },
        { "POST", "/volumes/" NONE "/action", "{\"os-reset_status\": {\"status\": \"\"}}" },
        { "POST", "/volumes/" NONE "/action",
          "{\"os-extend_volume_completion\": {\"error\": \"maybe\"}}" },
        { "POST", "/volumes/" NONE "/action", "{\"os-attach\": {\"mountpoint\": \"/dev/vdb\"}}" },
        { "PUT", "/attachments/" NONE, "{\"attachment\": {\"connector\": {}}}" },
        { "PUT", "/os-quota-sets/x", "{\"quota_set\": {}}" },
        { "PUT", "/os-quota-sets/x", "{\"quota_set\": {\"volumes\": -2}}" },
        { "PUT", "/os-quota-class-sets/x", "{\"quota_class_set\": {\"volumes\": null}}" },
    };
    autoworld struct world *world = world_new(NULL);

    roles_enter(world, NULL);
    world->token = "reader:" WORLD_PROJECT;
    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_msg(world_call(world, cases[i].method, cases[i].path, cases[i].body) == 400,
                      "%s: %d", cases[i].body, world->status);
}
END_TEST

START_TEST(volumes_are_their_projects) {
    autoworld struct world *world = watched_world();

    roles_enter(world, NULL);
    for (size_t i = 0; i < LENGTH(volume_rows); i++) {
        const char *id;

        world->token = ADMIN_TOKEN;
        id = world_volume(world, 1);
        ck_assert_int_eq(world_call(world, "POST",
                                    arena_format(world->arena, "/volumes/%s/metadata", id),
                                    "{\"metadata\": {\"k\": \"v\"}}"),
                         200);
        expect_rights(world, &volume_rows[i], 1, id);
    }
}
END_TEST

START_TEST(attachments_are_their_projects) {
    autoworld struct world *world = watched_world();
    const char *body, *id = world_volume(world, 1);

    body = arena_format(world->arena, "{\"attachment\": {\"volume_uuid\": \"%s\"}}", id);
    roles_enter(world, NULL);
    world->token = MEMBER_TOKEN;
    ck_assert_int_eq(world_call(world, "POST", "/attachments", body), 200);
    id = json_string_value(json_object_get(json_object_get(world->answer, "attachment"), "id"));
    expect_rights(world, attachment_rows, LENGTH(attachment_rows), arena_text(world->arena, id));
}
END_TEST

START_TEST(snapshots_are_their_projects) {
    autoworld struct world *world = watched_world();
    const char *body = arena_format(world->arena, "{\"snapshot\": {\"volume_id\": \"%s\"}}",
                                    world_volume(world, 1));

    roles_enter(world, NULL);
    for (size_t i = 0; i < LENGTH(snapshot_rows); i++) {
        const char *id;

        world->token = MEMBER_TOKEN;
        ck_assert_int_eq(world_call(world, "POST", "/snapshots", body), 202);
        id = json_string_value(json_object_get(json_object_get(world->answer, "snapshot"), "id"));
        id = arena_text(world->arena, id);
        world_settle(world);
        ck_assert_int_eq(world_call(world, "POST",
                                    arena_format(world->arena, "/snapshots/%s/metadata", id),
                                    "{\"metadata\": {\"k\": \"v\"}}"),
                         200);
        expect_rights(world, &snapshot_rows[i], 1, id);
        world_sql(world, "DELETE FROM snapshot_metadata");
        world_sql(world, "DELETE FROM snapshots");
        world_sql(world, "DELETE FROM quota_usages");
    }
}
END_TEST

START_TEST(types_are_the_administrators) {
    autoworld struct world *world = world_new(NULL);
    const char *id;

    roles_enter(world, NULL);
    world->token = ADMIN_TOKEN;
    ck_assert_int_eq(world_call(world, "POST", "/types",
                                "{\"volume_type\": {\"name\": \"t\", \"extra_specs\": "
                                "{\"multiattach\": \"<is> False\"}}}"),
                     200);
    id = json_string_value(json_object_get(json_object_get(world->answer, "volume_type"), "id"));
    expect_rights(world, type_rows, LENGTH(type_rows), arena_text(world->arena, id));
}
END_TEST

START_TEST(group_types_are_the_administrators) {
    autoworld struct world *world = world_new(NULL);
    const char *id;

    roles_enter(world, NULL);
    world->token = ADMIN_TOKEN;
    ck_assert_int_eq(
        world_call(world, "POST", "/group_types", "{\"group_type\": {\"name\": \"t\"}}"), 202);
    id = json_string_value(json_object_get(json_object_get(world->answer, "group_type"), "id"));
    expect_rights(world, group_type_rows, LENGTH(group_type_rows), arena_text(world->arena, id));
}
END_TEST

START_TEST(the_rest_is_the_administrators_or_everybodys) {
    autoworld struct world *world = world_new(NULL);

    roles_enter(world, NULL);
    expect_rights(world, other_rows, LENGTH(other_rows), "");
}
END_TEST

START_TEST(quotas_are_shown_to_their_project) {
    autoworld struct world *world = world_new(NULL);

    roles_enter(world, NULL);
    for (size_t i = 0; i < LENGTH(quota_rows); i++) {
        expect_refusal(world, NO_TOKEN, &quota_rows[i], "", 401);
        expect_refusal(world, OTHER_TOKEN, &quota_rows[i], "", 403);
        expect_refusal(world, THEIRS_TOKEN, &quota_rows[i], "", 403);
        expect_refusal(world, STRANGER_TOKEN, &quota_rows[i], "", 403);
        expect_refusal(world, READER_TOKEN, &quota_rows[i], "", 0);
        expect_refusal(world, ADMIN_TOKEN, &quota_rows[i], "", 0);
    }
}
END_TEST

START_TEST(messages_are_their_projects) {
    autoworld struct world *world = watched_world();
    const char *volume = world_volume(world, 1);

    for (size_t i = 0; i < LENGTH(message_rows); i++) {
        world_sql(world, arena_format(world->arena,
                                      "INSERT INTO messages (id, project_id, request_id, "
                                      "resource_uuid, action_id, detail_id, message_level, "
                                      "created_at, expires_at) VALUES ('message%zu', '%s', 'r', "
                                      "'%s', '001', '001', 'ERROR', 1, 9000000000000000)",
                                      i, WORLD_PROJECT, volume));
        roles_enter(world, NULL);
        expect_rights(world, &message_rows[i], 1, arena_format(world->arena, "message%zu", i));
    }
}
END_TEST

/* A private type is there for the projects that may use it. */
START_TEST(private_types_of_others_are_not_there) {
    static const struct row rows[] = {
        { READER, "GET", "/types/%s", NULL },
        { READER, "GET", "/types/%s/extra_specs", NULL },
        { READER, "GET", "/types/%s/extra_specs/multiattach", NULL },
        { ADMIN, "PUT", "/types/%s", "{\"volume_type\": {\"description\": \"d\"}}" },
        { ADMIN, "GET", "/types/%s/encryption", NULL },
        { ADMIN, "GET", "/types/%s/os-volume-type-access", NULL },
        { ADMIN, "DELETE", "/types/%s", NULL },
        { READER, "GET", "/types?marker=%s", NULL },
        { READER, "GET", "/types?marker=%s&sort=name:asc,created_at:desc&is_public=none", NULL },
    };
    autoworld struct world *world = watched_world();
    const char *id;

    roles_enter(world, NULL);
    world->token = ADMIN_TOKEN;
    world_call(world, "POST", "/types",
               "{\"volume_type\": {\"name\": \"hidden\", \"os-volume-type-access:is_public\": "
               "false, \"extra_specs\": {\"multiattach\": \"<is> False\"}}}");
    ck_assert_int_eq(world->status, 200);
    id = json_string_value(json_object_get(json_object_get(world->answer, "volume_type"), "id"));
    id = arena_text(world->arena, id);
    for (size_t i = 0; i < LENGTH(rows); i++)
        expect_nothing_tells(world, MEMBER_TOKEN, &rows[i], id);
}
END_TEST

/* ---- no route is forgotten ---- */

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

static bool row_is_of(const struct row *row, const struct route *route) {
    return strcmp(row->method, route->method) == 0 && path_is_of(row->path, route->path) &&
           (!route->action || action_is_of(row->body, route->action));
}

static bool has_row(const struct route *route) {
    for (size_t i = 0; i < LENGTH(all_rows); i++)
        for (size_t j = 0; j < all_rows[i].count; j++)
            if (row_is_of(&all_rows[i].rows[j], route))
                return true;
    return false;
}

START_TEST(every_route_has_its_row) {
    unsigned count = 0;

    for (const struct route *const *routes = api_routes; *routes; routes++)
        for (const struct route *route = *routes; route->method; route++, count++)
            ck_assert_msg(route->flags & ROUTE_ABSENT || has_row(route), "%s %s %s has no row",
                          route->method, route->path, route->action ? route->action : "");
    ck_assert_uint_gt(count, 100);
}
END_TEST

static bool is_below(const char *path, const struct resource *resource) {
    size_t length = resource ? strlen(resource->collection) : 0;

    return resource && strncmp(path + 1, resource->collection, length) == 0 &&
           strncmp(path + 1 + length, "/{id}", strlen("/{id}")) == 0;
}

/* A route below an object loads it, and with that asks who may see it. */
START_TEST(every_route_below_an_object_loads_it) {
    unsigned found = 0;

    for (const struct route *const *routes = api_routes; *routes; routes++)
        for (const struct route *route = *routes; route->method; route++)
            for (const struct route *const *at = api_routes; *at; at++)
                for (const struct route *other = *at; other->method; other++) {
                    if (!is_below(other->path, route->resource) || other->flags & ROUTE_ABSENT)
                        continue;
                    ck_assert_msg(other->resource == route->resource, "%s %s", other->method,
                                  other->path);
                    found += other == route;
                }
    ck_assert_uint_gt(found, 40);
}
END_TEST

/* The rule of showing a volume is asked wherever one is named, and nothing happens to it. */
START_TEST(who_may_not_see_a_volume_reaches_nothing_of_it) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1), *attachment;

    world_call(world, "POST", "/attachments",
               arena_format(world->arena, "{\"attachment\": {\"volume_uuid\": \"%s\"}}", volume));
    attachment =
        json_string_value(json_object_get(json_object_get(world->answer, "attachment"), "id"));
    attachment = arena_text(world->arena, attachment);
    roles_enter(world, "volume:get: '!'\n");
    for (size_t i = 0; i < LENGTH(volume_rows); i++)
        if (volume_rows[i].right & OWNED)
            expect_refusal(world, MEMBER_TOKEN, &volume_rows[i], volume, 404);
    for (size_t i = 0; i < LENGTH(attachment_rows); i++)
        if (attachment_rows[i].right & OWNED)
            expect_refusal(world, MEMBER_TOKEN, &attachment_rows[i], attachment, 404);
    world->token = MEMBER_TOKEN;
    ck_assert_int_eq(
        world_call(world, "POST", "/volumes",
                   arena_format(world->arena, "{\"volume\": {\"source_volid\": \"%s\"}}", volume)),
        404);
    roles_enter(world, "volume:get: '@'\n");
    ck_assert_str_eq(world_status(world, volume), "reserved");
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM attachments"), 1);
}
END_TEST

START_TEST(lists_show_nothing_of_others) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);
    static const char *const paths[] = { "/volumes",
                                         "/volumes/detail",
                                         "/volumes?all_tenants=1",
                                         ("/volumes?project_id=" WORLD_PROJECT),
                                         "/attachments?all_tenants=1",
                                         "/messages?all_tenants=1" };

    world_call(world, "POST", "/attachments",
               arena_format(world->arena, "{\"attachment\": {\"volume_uuid\": \"%s\"}}", id));
    ck_assert_int_eq(world->status, 200);
    roles_enter(world, NULL);
    world->token = OTHER_TOKEN;
    for (size_t i = 0; i < LENGTH(paths); i++) {
        world_call(world, "GET", paths[i], NULL);
        ck_assert_ptr_null(strstr(world->answer_text, id));
    }
    ck_assert_int_eq(
        world_call(world, "GET", arena_format(world->arena, "/volumes?marker=%s", id), NULL), 404);
    ck_assert_int_eq(world_call(world, "GET", "/volumes/summary?all_tenants=1", NULL), 200);
    ck_assert_str_eq(world->answer_text, "{\"volume-summary\":{\"total_count\":0,\"total_size\":0,"
                                         "\"metadata\":{}}}");
}
END_TEST

CHECK_MAIN("rights", a_bad_body_is_told_before_rights_and_objects, volumes_are_their_projects,
           attachments_are_their_projects, snapshots_are_their_projects,
           types_are_the_administrators, group_types_are_the_administrators,
           the_rest_is_the_administrators_or_everybodys, quotas_are_shown_to_their_project,
           messages_are_their_projects, private_types_of_others_are_not_there,
           every_route_has_its_row, every_route_below_an_object_loads_it,
           who_may_not_see_a_volume_reaches_nothing_of_it, lists_show_nothing_of_others)
