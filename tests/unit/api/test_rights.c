/*
 * Who may do what: every row of the API asked by a reader and a member of the project, a member of
 * another one and an administrator, with the built-in rules.
 */
#include "common/cleanup.h"
#include "tests/lib/check_main.h"
#include "tests/lib/roles.h"
#include "tests/lib/world.h"

#include <string.h>

enum right {
    ANYBODY, /* no rule, nothing of one project */
    READER,
    MEMBER,
    ADMIN,
    OWNED_READER = READER | 4, /* of an object: it does not exist for other projects */
    OWNED_MEMBER = MEMBER | 4,
    OWNED_ADMIN = ADMIN | 4,
};

#define OWNED       4
#define BARE(right) ((right)&3)

struct row {
    enum right right;
    const char *method, *path, *body; /* "%s" of the path: the object */
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
    { OWNED_READER, "GET", "/volumes/%s/encryption", NULL },
    ACTION(OWNED_MEMBER, "{\"os-reserve\": null}"),
    ACTION(OWNED_MEMBER, "{\"os-unreserve\": null}"),
    ACTION(OWNED_MEMBER, "{\"os-begin_detaching\": null}"),
    ACTION(OWNED_MEMBER, "{\"os-roll_detaching\": null}"),
    ACTION(OWNED_MEMBER, "{\"os-attach\": {\"mountpoint\": \"m\", \"host_name\": \"h\"}}"),
    ACTION(OWNED_MEMBER, "{\"os-detach\": {}}"),
    ACTION(OWNED_MEMBER, "{\"os-initialize_connection\": {\"connector\": \"text\"}}"),
    ACTION(OWNED_MEMBER, "{\"os-terminate_connection\": {\"connector\": null}}"),
    ACTION(OWNED_MEMBER, "{\"os-extend\": {\"new_size\": 1}}"),
    ACTION(OWNED_MEMBER, "{\"os-set_bootable\": {\"bootable\": false}}"),
    ACTION(OWNED_MEMBER, "{\"os-update_readonly_flag\": {\"readonly\": false}}"),
    ACTION(OWNED_MEMBER, "{\"os-set_image_metadata\": {\"metadata\": {\"k\": \"v\"}}}"),
    ACTION(OWNED_READER, "{\"os-show_image_metadata\": null}"),
    ACTION(OWNED_ADMIN, "{\"os-extend_volume_completion\": {}}"),
    ACTION(OWNED_ADMIN, "{\"os-reset_status\": {\"status\": \"available\"}}"),
    ACTION(OWNED_ADMIN, "{\"os-force_detach\": {}}"),
    { OWNED_ADMIN, "DELETE", "/volumes/%s?force=true", NULL },
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
    { ADMIN, "GET", "/types/%s/encryption", NULL },
    { ADMIN, "DELETE", "/types/%s", NULL },
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
    { READER, "GET", "/messages", NULL },
};
/* clang-format on */

#define READER_TOKEN "reader:" WORLD_PROJECT
#define MEMBER_TOKEN "member:" WORLD_PROJECT
#define OTHER_TOKEN  "member:" WORLD_OTHER
#define ADMIN_TOKEN  "admin:" WORLD_PROJECT

static int ask(struct world *world, const char *token, const struct row *row, const char *id) {
    const char *place = strstr(row->path, "%s");
    const char *path = !place ? row->path
                              : arena_format(world->arena, "%.*s%s%s", (int)(place - row->path),
                                             row->path, id, place + 2);

    world->token = token;
    world_call(world, row->method, path, row->body);
    return world->status;
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

/* The least right first: what is refused must leave the object to the next one. */
static void expect_rights(struct world *world, const struct row *rows, size_t count,
                          const char *id) {
    for (size_t i = 0; i < count; i++) {
        const struct row *row = &rows[i];
        enum right right = BARE(row->right);

        expect_refusal(world, OTHER_TOKEN, row, id,
                       row->right & OWNED ? 404
                       : right == ADMIN   ? 403
                                          : 0);
        expect_refusal(world, READER_TOKEN, row, id, right > READER ? 403 : 0);
        expect_refusal(world, MEMBER_TOKEN, row, id, right > MEMBER ? 403 : 0);
        if (strcmp(row->method, "DELETE") != 0 || right == ADMIN)
            expect_refusal(world, ADMIN_TOKEN, row, id, 0);
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
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    roles_enter(world, NULL);
    expect_rights(world, volume_rows, LENGTH(volume_rows) - 2, id);
    expect_rights(world, &volume_rows[LENGTH(volume_rows) - 2], 1, id);
    world->token = ADMIN_TOKEN;
    id = world_volume(world, 1);
    expect_rights(world, &volume_rows[LENGTH(volume_rows) - 1], 1, id);
}
END_TEST

START_TEST(attachments_are_their_projects) {
    autoworld struct world *world = world_new(NULL);
    const char *body, *id = world_volume(world, 1);

    body = arena_format(world->arena, "{\"attachment\": {\"volume_uuid\": \"%s\"}}", id);
    roles_enter(world, NULL);
    world->token = OTHER_TOKEN;
    ck_assert_int_eq(world_call(world, "POST", "/attachments", body), 404);
    world->token = READER_TOKEN;
    ck_assert_int_eq(world_call(world, "POST", "/attachments", body), 403);
    world->token = MEMBER_TOKEN;
    ck_assert_int_eq(world_call(world, "POST", "/attachments", body), 200);
    id = json_string_value(json_object_get(json_object_get(world->answer, "attachment"), "id"));
    expect_rights(world, attachment_rows, LENGTH(attachment_rows), arena_text(world->arena, id));
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

START_TEST(the_rest_is_the_administrators_or_everybodys) {
    autoworld struct world *world = world_new(NULL);

    roles_enter(world, NULL);
    expect_rights(world, other_rows, LENGTH(other_rows), "");
}
END_TEST

START_TEST(quotas_are_shown_to_their_project) {
    static const char *const paths[] = { "/os-quota-sets/" WORLD_PROJECT,
                                         "/os-quota-sets/" WORLD_PROJECT "/defaults" };
    autoworld struct world *world = world_new(NULL);

    roles_enter(world, NULL);
    for (size_t i = 0; i < LENGTH(paths); i++) {
        world->token = OTHER_TOKEN;
        ck_assert_int_eq(world_call(world, "GET", paths[i], NULL), 403);
        world->token = READER_TOKEN;
        ck_assert_int_eq(world_call(world, "GET", paths[i], NULL), 200);
        world->token = ADMIN_TOKEN;
        ck_assert_int_eq(world_call(world, "GET", paths[i], NULL), 200);
    }
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
           attachments_are_their_projects, types_are_the_administrators,
           the_rest_is_the_administrators_or_everybodys, quotas_are_shown_to_their_project,
           lists_show_nothing_of_others)
