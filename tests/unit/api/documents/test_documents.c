#include "tests/lib/check_main.h"
#include "tests/lib/world.h"

#include <string.h>

#define POLICY(metadata, spec) \
    "{\"volume_policy\": {\"metadata\": {" metadata "}, \"spec\": {" spec "}}}"
#define WORKERS(n) "\"target\": {\"luWorkers\": " n "}"

static void expect(struct world *world, const char *method, const char *path, const char *body,
                   int status) {
    ck_assert_msg(world_call(world, method, path, body) == status, "%s %s %s: %d %s", method, path,
                  body ? body : "", world->status, world->answer_text);
}

static const json_t *answered(struct world *world) {
    return json_object_get(world->answer, "volume_policy");
}

static const char *version_answered(struct world *world) {
    return json_string_value(
        json_object_get(json_object_get(answered(world), "metadata"), "resourceVersion"));
}

static json_int_t workers_of(struct world *world, const char *name) {
    char path[64];

    snprintf(path, sizeof path, "/volume_policies/%s", name);
    expect(world, "GET", path, NULL, 200);
    return json_integer_value(json_object_get(
        json_object_get(json_object_get(answered(world), "spec"), "target"), "luWorkers"));
}

/* The names of a list, "a b ". */
static const char *names_at(struct world *world, const char *path) {
    static char names[256];
    const json_t *item;
    size_t i;

    names[0] = '\0';
    expect(world, "GET", path, NULL, 200);
    json_array_foreach(json_object_get(world->answer, "volume_policies"), i, item) {
        strcat(names,
               json_string_value(json_object_get(json_object_get(item, "metadata"), "name")));
        strcat(names, " ");
    }
    return names;
}

START_TEST(a_policy_lives_from_its_declaration_to_its_deletion) {
    autoworld struct world *world = world_new(NULL);

    expect(world, "POST", "/volume_policies", POLICY("\"name\": \"fast\"", WORKERS("8")), 201);
    ck_assert_str_eq(version_answered(world), "1");
    ck_assert_int_eq(workers_of(world, "fast"), 8);
    expect(world, "POST", "/volume_policies", POLICY("\"name\": \"fast\"", ""), 409);
    expect(world, "PATCH", "/volume_policies/fast",
           "{\"volume_policy\": {\"spec\": {" WORKERS("9") "}}}", 200);
    ck_assert_str_eq(version_answered(world), "2");
    ck_assert_int_eq(workers_of(world, "fast"), 9);
    expect(world, "PUT", "/volume_policies/fast", POLICY("", ""), 200);
    ck_assert_int_eq(workers_of(world, "fast"), 6);
    expect(world, "DELETE", "/volume_policies/fast", NULL, 204);
    expect(world, "GET", "/volume_policies/fast", NULL, 404);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "Volume policy fast could not be found."));
}
END_TEST

START_TEST(an_edit_of_an_outdated_version_is_refused) {
    autoworld struct world *world = world_new(NULL);

    expect(world, "POST", "/volume_policies", POLICY("\"name\": \"fast\"", WORKERS("1")), 201);
    expect(world, "PUT", "/volume_policies/fast",
           POLICY("\"resourceVersion\": \"1\"", WORKERS("2")), 200);
    expect(world, "PUT", "/volume_policies/fast",
           POLICY("\"resourceVersion\": \"1\"", WORKERS("3")), 409);
    ck_assert_int_eq(workers_of(world, "fast"), 2);
    expect(world, "DELETE", "/volume_policies/fast?resourceVersion=1", NULL, 409);
    expect(world, "DELETE", "/volume_policies/fast?resourceVersion=02", NULL, 409);
    expect(world, "DELETE", "/volume_policies/fast?resourceVersion=", NULL, 409);
    ck_assert_int_eq(workers_of(world, "fast"), 2);
    expect(world, "DELETE", "/volume_policies/fast?resourceVersion=2", NULL, 204);
}
END_TEST

START_TEST(an_error_names_its_field_and_changes_nothing) {
    static const char *const cases[][3] = {
        { "POST", POLICY("\"name\": \"x\"", "\"targets\": {}"),
          "spec: 'targets' is not a known field; did you mean target?" },
        { "POST",
          "{\"volume_policy\": {\"metadata\": {\"name\": \"x\"}, \"spec\": {}, \"sepc\": 1}}",
          "'sepc' is not a known key of 'volume_policy'; did you mean spec?" },
        { "POST", POLICY("\"name\": \"x\"", "\"provision\": {\"blockSize\": 4097}"),
          "spec.provision.blockSize: '4097' is not an integer from 512 to 131072, a power of two." },
        { "POST", "{\"volume_policy\": {\"spec\": {}}}",
          "'metadata' is missing in 'volume_policy'." },
        { "POST", "{\"policy\": {}}", "'volume_policy' is a required property." },
        { "PATCH", "{\"volume_policy\": {\"spec\": {" WORKERS("0") "}}}",
          "spec.target.luWorkers: '0' is not an integer from 1 to 1024." },
        { "PATCH", "{\"volume_policy\": {\"metadata\": {\"name\": \"other\"}}}",
          "metadata.name cannot be changed: it is fast." },
    };
    autoworld struct world *world = world_new(NULL);

    expect(world, "POST", "/volume_policies", POLICY("\"name\": \"fast\"", WORKERS("1")), 201);
    for (size_t i = 0; i < LENGTH(cases); i++) {
        expect(world, cases[i][0],
               strcmp(cases[i][0], "POST") == 0 ? "/volume_policies" : "/volume_policies/fast",
               cases[i][1], 400);
        ck_assert_msg(strstr(world->answer_text, cases[i][2]) != NULL, "%s", world->answer_text);
    }
    ck_assert_str_eq(names_at(world, "/volume_policies"), "fast ");
    ck_assert_int_eq(workers_of(world, "fast"), 1);
}
END_TEST

START_TEST(policies_are_found_by_page_name_and_label) {
    autoworld struct world *world = world_new(NULL);

    expect(world, "POST", "/volume_policies",
           POLICY("\"name\": \"a\", \"labels\": {\"disk\": \"ssd\"}", ""), 201);
    expect(world, "POST", "/volume_policies",
           POLICY("\"name\": \"b\", \"labels\": {\"disk\": \"tape\", \"x\": \"y\"}", ""), 201);
    expect(world, "POST", "/volume_policies",
           POLICY("\"name\": \"c\", \"labels\": {\"disk\": \"ssd\", \"x\": \"y\"}", ""), 201);
    ck_assert_str_eq(names_at(world, "/volume_policies?sort=name:asc"), "a b c ");
    ck_assert_str_eq(names_at(world, "/volume_policies?sort=name:asc&limit=2"), "a b ");
    ck_assert_ptr_nonnull(json_object_get(world->answer, "volume_policies_links"));
    ck_assert_str_eq(names_at(world, "/volume_policies?name=b"), "b ");
    ck_assert_str_eq(names_at(world, "/volume_policies?sort=name:asc&labels={'disk':'ssd'}"),
                     "a c ");
    ck_assert_str_eq(names_at(world, "/volume_policies?labels={'disk':'ssd','x':'y'}"), "c ");
    ck_assert_str_eq(names_at(world, "/volume_policies?labels={'disk':'none'}"), "");
    expect(world, "PATCH", "/volume_policies/a",
           "{\"volume_policy\": {\"metadata\": {\"labels\": {\"disk\": null}}}}", 200);
    ck_assert_str_eq(names_at(world, "/volume_policies?labels={'disk':'ssd'}"), "c ");
}
END_TEST

START_TEST(an_edit_outlives_the_service) {
    autoworld struct world *world = world_new(NULL);

    expect(world, "POST", "/volume_policies", POLICY("\"name\": \"fast\"", WORKERS("1")), 201);
    world_restart(world);
    expect(world, "PATCH", "/volume_policies/fast",
           "{\"volume_policy\": {\"spec\": {" WORKERS("2") "}}}", 200);
    world_restart(world);
    ck_assert_int_eq(workers_of(world, "fast"), 2);
}
END_TEST

START_TEST(a_document_is_deleted_with_its_last_finalizer) {
    autoworld struct world *world = world_new(NULL);

    expect(world, "POST", "/volume_policies",
           POLICY("\"name\": \"fast\", \"finalizers\": [\"a\"]", ""), 201);
    expect(world, "DELETE", "/volume_policies/fast", NULL, 202);
    expect(world, "DELETE", "/volume_policies/fast", NULL, 202);
    expect(world, "GET", "/volume_policies/fast", NULL, 200);
    expect(world, "PATCH", "/volume_policies/fast",
           "{\"volume_policy\": {\"metadata\": {\"finalizers\": null}}}", 200);
    expect(world, "GET", "/volume_policies/fast", NULL, 404);
}
END_TEST

CHECK_MAIN("documents", a_policy_lives_from_its_declaration_to_its_deletion,
           an_edit_of_an_outdated_version_is_refused, an_error_names_its_field_and_changes_nothing,
           policies_are_found_by_page_name_and_label, an_edit_outlives_the_service,
           a_document_is_deleted_with_its_last_finalizer)
