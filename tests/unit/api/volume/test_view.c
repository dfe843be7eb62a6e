#include "api/volume/view.h"

#include "tests/lib/check_main.h"

#include <string.h>

/* ---- the part of the request that a view reads ---- */

static const char *allowed_rules; /* names of the rules that allow, in one text */
static unsigned questions;

bool request_allows(struct request *request, const char *rule, const struct policy_target *target) {
    (void)request;
    ck_assert_ptr_nonnull(target->project_id);
    ck_assert_ptr_nonnull(target->user_id);
    questions++;
    return allowed_rules && strstr(allowed_rules, rule);
}

unsigned request_allows_each(struct request *request, const char *const *rules, unsigned count,
                             const struct policy_target *target) {
    unsigned allowed = 0;

    for (unsigned i = 0; i < count; i++)
        allowed |= request_allows(request, rules[i], target) ? 1U << i : 0;
    return allowed;
}

void request_links(struct request *request, const char *collection, const char *id) {
    out_text(&request->out, arena_format(request->work.arena, "%s/%s", collection, id));
}

#define TENANT_RULE    "volume_extension:volume_tenant_attribute"
#define MIGRATION_RULE "volume_extension:volume_mig_status_attribute"
#define HOST_RULE      "volume_extension:volume_host_attribute"
#define IMAGE_RULE     "volume_extension:volume_image_metadata:show"
#define ALL_RULES      TENANT_RULE " " MIGRATION_RULE " " HOST_RULE " " IMAGE_RULE

/* ---- fixture ---- */

static struct request *request_of(struct arena *arena, unsigned minor, bool admin) {
    struct request *request = arena_alloc(arena, sizeof *request);

    request->work.arena = arena;
    request->minor = minor;
    request->context.is_admin = admin;
    json_out_init(&request->out, arena, 64);
    allowed_rules = NULL;
    questions = 0;
    return request;
}

static struct volume plain_volume(void) {
    return (struct volume){
        .id = "11111111-0000-4000-8000-000000000001",
        .project_id = "aa",
        .user_id = "bb",
        .availability_zone = "nova",
        .size_gb = 3,
        .status = VOLUME_AVAILABLE,
        .attach_status = "detached",
        .use_quota = true,
        .created_at = 1000000,
    };
}

/* The request's output as a tree. */
static json_t *tree_of(struct request *request) {
    const char *text = json_out_text(&request->out);
    json_t *tree = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

    ck_assert_msg(tree != NULL, "no JSON: %s", text);
    return tree;
}

static void release(json_t **tree) {
    json_decref(*tree);
}
#define autojson __attribute__((cleanup(release)))

static json_t *full_view(struct request *request, const struct volume *volume, bool attributes) {
    struct volume_view view;

    json_out_init(&request->out, request->work.arena, 64);
    view_open(request, attributes, &view);
    view_volume(&view, volume);
    return tree_of(request);
}

static void assert_keys(const json_t *object, const char *expected) {
    autofree char *words = strdup(expected);
    size_t count = 0;

    for (char *rest = words, *word; (word = strsep(&rest, " "));) {
        ck_assert_msg(json_object_get(object, word) != NULL, "key %s is missing", word);
        count++;
    }
    ck_assert_uint_eq(json_object_size(object), count);
}

static const char *text_at(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);

    ck_assert_msg(value != NULL, "key %s is missing", key);
    return json_string_value(value);
}

/* ---- volumes ---- */

#define ALWAYS                                                                                \
    "id status size availability_zone created_at updated_at name description volume_type "    \
    "snapshot_id source_volid metadata links user_id replication_status consistencygroup_id " \
    "multiattach bootable encrypted attachments"

START_TEST(each_version_has_exactly_its_keys) {
    static const struct {
        unsigned minor;
        bool admin;
        const char *keys;
    } versions[] = {
        { 0, false, ALWAYS },
        { 0, true, ALWAYS " migration_status" },
        { 12, false, ALWAYS },
        { 13, false, ALWAYS " group_id" },
        { 20, true, ALWAYS " migration_status group_id" },
        { 21, true, ALWAYS " migration_status group_id provider_id" },
        { 47, false, ALWAYS " group_id" },
        { 48, false, ALWAYS " group_id shared_targets service_uuid" },
        { 61, false, ALWAYS " group_id shared_targets service_uuid" },
        { 61, true,
          ALWAYS
          " migration_status group_id provider_id shared_targets service_uuid cluster_name" },
        { 63, false, ALWAYS " group_id shared_targets service_uuid volume_type_id" },
        { 65, false, ALWAYS " group_id shared_targets service_uuid volume_type_id consumes_quota" },
        { 71, true,
          ALWAYS " migration_status group_id provider_id shared_targets service_uuid cluster_name "
                 "volume_type_id consumes_quota" },
    };
    const struct volume volume = plain_volume();

    for (size_t i = 0; i < LENGTH(versions); i++) {
        autoarena struct arena *arena = arena_new();
        struct request *request = request_of(arena, versions[i].minor, versions[i].admin);
        autojson json_t *tree = full_view(request, &volume, false);

        assert_keys(tree, versions[i].keys);
    }
}
END_TEST

START_TEST(unset_values_are_null_and_flags_have_their_form) {
    autoarena struct arena *arena = arena_new();
    struct volume volume = plain_volume();
    autojson json_t *tree = full_view(request_of(arena, 0, false), &volume, false);

    ck_assert(json_is_null(json_object_get(tree, "name")));
    ck_assert(json_is_null(json_object_get(tree, "updated_at")));
    ck_assert(json_is_null(json_object_get(tree, "volume_type")));
    ck_assert(json_is_null(json_object_get(tree, "consistencygroup_id")));
    ck_assert(json_is_false(json_object_get(tree, "encrypted")));
    ck_assert(json_is_false(json_object_get(tree, "multiattach")));
    ck_assert_str_eq(text_at(tree, "bootable"), "false");
    ck_assert_str_eq(text_at(tree, "status"), "available");
    ck_assert_str_eq(text_at(tree, "created_at"), "1970-01-01T00:00:01.000000");
    ck_assert_int_eq(json_integer_value(json_object_get(tree, "size")), 3);
    ck_assert_uint_eq(json_object_size(json_object_get(tree, "metadata")), 0);
}
END_TEST

START_TEST(internal_statuses_are_shown_as_public_ones) {
    autoarena struct arena *arena = arena_new();
    struct volume volume = plain_volume();
    autojson json_t *tree = NULL;

    volume.status = VOLUME_ERROR_MANAGING;
    volume.bootable = true;
    tree = full_view(request_of(arena, 0, false), &volume, false);

    ck_assert_str_eq(text_at(tree, "status"), "error");
    ck_assert_str_eq(text_at(tree, "bootable"), "true");
}
END_TEST

START_TEST(unknown_shared_targets_are_true_until_null_was_invented) {
    autoarena struct arena *arena = arena_new();
    struct volume volume = plain_volume();

    for (int value = -1; value <= 1; value++) {
        autojson json_t *old = NULL, *new = NULL;

        volume.shared_targets = value;
        old = full_view(request_of(arena, 68, false), &volume, false);
        new = full_view(request_of(arena, 69, false), &volume, false);
        ck_assert(json_is_boolean(json_object_get(old, "shared_targets")));
        ck_assert(json_is_true(json_object_get(old, "shared_targets")) == (value != 0));
        ck_assert(json_is_null(json_object_get(new, "shared_targets")) == (value < 0));
    }
}
END_TEST

START_TEST(an_encryption_key_shows_only_when_there_is_one) {
    static const struct {
        unsigned minor;
        const char *key_id;
        bool shown;
    } cases[] = {
        { 63, "22222222-0000-4000-8000-000000000001", false },
        { 64, "22222222-0000-4000-8000-000000000001", true },
        { 64, "00000000-0000-0000-0000-000000000000", false },
        { 64, NULL, false },
    };
    autoarena struct arena *arena = arena_new();
    struct volume volume = plain_volume();

    for (size_t i = 0; i < LENGTH(cases); i++) {
        autojson json_t *tree = NULL;

        volume.encryption_key_id = cases[i].key_id;
        tree = full_view(request_of(arena, cases[i].minor, false), &volume, false);
        ck_assert(json_is_true(json_object_get(tree, "encrypted")) == (cases[i].key_id != NULL));
        ck_assert((json_object_get(tree, "encryption_key_id") != NULL) == cases[i].shown);
    }
}
END_TEST

START_TEST(attributes_are_shown_by_policy_and_on_request_only) {
    static const struct pair image = { "os", "linux" };
    autoarena struct arena *arena = arena_new();
    struct request *request = request_of(arena, 0, true);
    struct volume volume = plain_volume();
    autojson json_t *none = NULL, *denied = NULL, *all = NULL;

    volume.host = "n@b#p";
    volume.image_metadata = (struct pairs){ &image, 1 };
    allowed_rules = ALL_RULES;
    none = full_view(request, &volume, false);
    all = full_view(request, &volume, true);
    allowed_rules = NULL;
    denied = full_view(request, &volume, true);

    assert_keys(none, ALWAYS " migration_status");
    assert_keys(denied, ALWAYS " migration_status");
    assert_keys(all, ALWAYS " migration_status os-vol-tenant-attr:tenant_id "
                            "os-vol-mig-status-attr:migstat os-vol-mig-status-attr:name_id "
                            "os-vol-host-attr:host volume_image_metadata");
    ck_assert_str_eq(text_at(all, "os-vol-tenant-attr:tenant_id"), "aa");
    ck_assert_str_eq(text_at(all, "os-vol-host-attr:host"), "n@b#p");
    ck_assert_str_eq(text_at(json_object_get(all, "volume_image_metadata"), "os"), "linux");
}
END_TEST

START_TEST(empty_image_metadata_has_no_key) {
    autoarena struct arena *arena = arena_new();
    struct request *request = request_of(arena, 0, false);
    struct volume volume = plain_volume();
    autojson json_t *tree = NULL;

    allowed_rules = IMAGE_RULE;
    tree = full_view(request, &volume, true);

    assert_keys(tree, ALWAYS);
}
END_TEST

START_TEST(the_policy_is_evaluated_once_for_each_owner) {
    autoarena struct arena *arena = arena_new();
    struct request *request = request_of(arena, 0, false);
    struct volume volume = plain_volume();
    struct volume_view view;

    view_open(request, true, &view);
    out_begin_array(&request->out);
    for (int i = 0; i < 10; i++)
        view_volume(&view, &volume);
    ck_assert_uint_eq(questions, 4);
    volume.project_id = "cc";
    view_volume(&view, &volume);
    ck_assert_uint_eq(questions, 8);
    volume.user_id = "dd";
    view_volume(&view, &volume);
    ck_assert_uint_eq(questions, 12);
    out_end_array(&request->out);
}
END_TEST

START_TEST(visible_admin_metadata_hides_the_users_value) {
    static const struct pair user[] = { { "attached_mode", "mine" },
                                        { "colour", "red" },
                                        { "readonly", "mine" } };
    static const struct pair admin[] = {
        { "extend_new_size", "9" },
        { "extend_reservations", "[]" },
        { "format", "raw" },
        { "readonly", "True" },
    };
    autoarena struct arena *arena = arena_new();
    struct volume volume = plain_volume();
    autojson json_t *tree = NULL;
    json_t *metadata;

    volume.status = VOLUME_EXTENDING;
    volume.metadata = (struct pairs){ user, LENGTH(user) };
    volume.admin_metadata = (struct pairs){ admin, LENGTH(admin) };
    tree = full_view(request_of(arena, 0, true), &volume, false);
    metadata = json_object_get(tree, "metadata");

    assert_keys(metadata, "attached_mode colour readonly extend_new_size");
    ck_assert_str_eq(text_at(metadata, "attached_mode"), "mine");
    ck_assert_str_eq(text_at(metadata, "colour"), "red");
    ck_assert_str_eq(text_at(metadata, "readonly"), "True");
    ck_assert_str_eq(text_at(metadata, "extend_new_size"), "9");
}
END_TEST

START_TEST(a_users_value_of_a_reserved_name_never_shows) {
    static const struct pair user[] = { { "extend_new_size", "999" },
                                        { "extend_reservations", "x" } };
    autoarena struct arena *arena = arena_new();
    struct volume volume = plain_volume();
    autojson json_t *tree = NULL;

    volume.status = VOLUME_EXTENDING;
    volume.metadata = (struct pairs){ user, LENGTH(user) };
    tree = full_view(request_of(arena, 71, true), &volume, false);

    ck_assert_uint_eq(json_object_size(json_object_get(tree, "metadata")), 0);
}
END_TEST

static const struct attachment two_attachments[] = {
    { .id = "a1",
      .volume_id = "11111111-0000-4000-8000-000000000001",
      .attach_status = "reserved",
      .attached_host = "h1" },
    { .id = "a2",
      .volume_id = "11111111-0000-4000-8000-000000000001",
      .instance_uuid = "s2",
      .attach_status = "attached",
      .attached_host = "h2",
      .mountpoint = "/dev/vdb",
      .attached_at = 2000000 },
};

START_TEST(only_attached_rows_show_and_hosts_only_to_insiders) {
    static const char *const roles[] = { "member", "service", NULL };
    autoarena struct arena *arena = arena_new();
    struct volume volume = plain_volume();

    volume.attachments = two_attachments;
    volume.attachment_count = 2;
    for (int insider = 0; insider <= 3; insider++) {
        struct request *request = request_of(arena, 0, insider == 1);
        autojson json_t *tree = NULL;
        json_t *list, *only;

        request->context.from_service = insider == 2;
        request->context.roles = insider == 3 ? roles : NULL;
        tree = full_view(request, &volume, false);
        list = json_object_get(tree, "attachments");
        ck_assert_uint_eq(json_array_size(list), 1);
        only = json_array_get(list, 0);
        assert_keys(only, "id attachment_id volume_id server_id host_name device attached_at");
        ck_assert_str_eq(text_at(only, "id"), volume.id);
        ck_assert_str_eq(text_at(only, "attachment_id"), "a2");
        ck_assert_str_eq(text_at(only, "server_id"), "s2");
        ck_assert_str_eq(text_at(only, "device"), "/dev/vdb");
        ck_assert_str_eq(text_at(only, "attached_at"), "1970-01-01T00:00:02.000000");
        ck_assert_pstr_eq(text_at(only, "host_name"), insider ? "h2" : NULL);
    }
}
END_TEST

START_TEST(the_short_view_has_three_keys) {
    autoarena struct arena *arena = arena_new();
    struct request *request = request_of(arena, 71, true);
    struct volume volume = plain_volume();
    autojson json_t *tree = NULL;

    volume.name = "disk";
    shape_put(request, &volume_short_shape, &volume, 0);
    tree = tree_of(request);

    assert_keys(tree, "id name links");
    ck_assert_str_eq(text_at(tree, "name"), "disk");
}
END_TEST

/* ---- attachments ---- */

START_TEST(the_short_attachment_has_four_keys) {
    autoarena struct arena *arena = arena_new();
    struct request *request = request_of(arena, 27, false);
    autojson json_t *tree = NULL;

    shape_put(request, &attachment_short_shape, &two_attachments[1], 0);
    tree = tree_of(request);

    assert_keys(tree, "id status instance volume_id");
    ck_assert_str_eq(text_at(tree, "status"), "attached");
    ck_assert_str_eq(text_at(tree, "instance"), "s2");
}
END_TEST

static json_t *attachment_view(struct arena *arena, const struct attachment *attachment,
                               const char *format) {
    struct request *request = request_of(arena, 27, false);

    view_attachment(request, attachment, format);
    return tree_of(request);
}

START_TEST(an_attachment_without_a_connection_has_an_empty_one) {
    autoarena struct arena *arena = arena_new();
    autojson json_t *tree = attachment_view(arena, &two_attachments[0], "raw");

    assert_keys(tree, "id status instance volume_id attached_at detached_at attach_mode "
                      "connection_info");
    ck_assert(json_is_null(json_object_get(tree, "instance")));
    ck_assert_str_eq(text_at(tree, "attached_at"), "");
    ck_assert_str_eq(text_at(tree, "detached_at"), "");
    ck_assert_str_eq(text_at(tree, "attach_mode"), "null");
    ck_assert_uint_eq(json_object_size(json_object_get(tree, "connection_info")), 0);
}
END_TEST

START_TEST(the_format_goes_into_the_connection) {
    static const struct attachment connected = {
        .id = "a3",
        .volume_id = "v3",
        .attach_status = "attached",
        .attach_mode = "ro",
        .connection_info = "{\"driver_volume_type\": \"local\", \"format\": \"?\"}",
        .attached_at = 1,
    };
    autoarena struct arena *arena = arena_new();
    autojson json_t *plain = attachment_view(arena, &connected, NULL);
    autojson json_t *with = attachment_view(arena, &connected, "qcow2");
    json_t *info = json_object_get(with, "connection_info");

    ck_assert_str_eq(text_at(json_object_get(plain, "connection_info"), "format"), "?");
    assert_keys(info, "driver_volume_type format");
    ck_assert_str_eq(text_at(info, "format"), "qcow2");
    ck_assert_str_eq(text_at(info, "driver_volume_type"), "local");
    ck_assert_str_eq(text_at(with, "attach_mode"), "ro");
    ck_assert_str_eq(text_at(with, "attached_at"), "1970-01-01T00:00:00.000001");
}
END_TEST

CHECK_MAIN("view", each_version_has_exactly_its_keys,
           unset_values_are_null_and_flags_have_their_form,
           internal_statuses_are_shown_as_public_ones,
           unknown_shared_targets_are_true_until_null_was_invented,
           an_encryption_key_shows_only_when_there_is_one,
           attributes_are_shown_by_policy_and_on_request_only, empty_image_metadata_has_no_key,
           the_policy_is_evaluated_once_for_each_owner,
           visible_admin_metadata_hides_the_users_value,
           a_users_value_of_a_reserved_name_never_shows,
           only_attached_rows_show_and_hosts_only_to_insiders, the_short_view_has_three_keys,
           the_short_attachment_has_four_keys, an_attachment_without_a_connection_has_an_empty_one,
           the_format_goes_into_the_connection)
