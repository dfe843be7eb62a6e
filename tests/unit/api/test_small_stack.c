/*
 * Recursion over input from a client or a file, at its bound.
 */
#include "declared/schema.h"
#include "drivers/file/qemu_img.h"
#include "policy/rule.h"
#include "rest/router.h"
#include "tests/lib/check_main.h"
#include "tests/lib/small_stack.h"
#include "tests/lib/world.h"
#include "json/json.h"
#include "json/out.h"
#include "json/yaml.h"
#include "json/yaml_print.h"

/* ---- policy ---- */

struct rules {
    char path[64];
    bool is_taken, allowed;
};

static void rules_write(const struct rules *rules, const char *text) {
    FILE *file = fopen(rules->path, "w");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static void *load_rules(void *arg) {
    const struct policy_settings settings = { .file = ((struct rules *)arg)->path,
                                              .enforce_new_defaults = true };
    const struct context context = { .user_id = "u" };
    struct rules *rules = arg;
    struct policy *policy;
    struct error err;

    rules->is_taken = policy_load(&settings, &policy, &err) == 0;
    if (rules->is_taken) {
        rules->allowed = policy_allows(policy, "r0", &context, NULL);
        policy_free(policy);
    }
    return NULL;
}

/* The largest number of rules, each with a reference to the next, that is accepted. */
static unsigned deepest_rules(const char *before, const char *after) {
    struct rules rules = { .path = "/tmp/scoria-stack-XXXXXX" };
    unsigned depth = 0;

    ck_assert_int_ge(close(mkstemp(rules.path)), 0);
    for (unsigned count = 10; count <= 2560; count += count < 400 ? 10 : count) {
        autofree char *text = NULL;
        size_t size;
        FILE *file = open_memstream(&text, &size);

        for (unsigned i = 0; i < count; i++)
            fprintf(file, "r%u: \"%srule:r%u%s\"\n", i, before, i + 1, after);
        fprintf(file, "r%u: \"@\"\n", count);
        fclose(file);
        rules_write(&rules, text);
        on_small_stack(load_rules, &rules);
        if (rules.is_taken) {
            ck_assert(rules.allowed);
            depth = count;
        }
    }
    unlink(rules.path);
    return depth;
}

START_TEST(policy_rules_of_any_accepted_depth_are_loaded_and_evaluated) {
    ck_assert_uint_ge(deepest_rules("", ""), 190);
    ck_assert_uint_ge(deepest_rules("", " and @"), 90);
    ck_assert_uint_ge(deepest_rules("not not ", ""), 60);
    ck_assert_uint_ge(deepest_rules("@ and (! or (@ and ", "))"), 40);
}
END_TEST

START_TEST(a_policy_rule_as_long_and_as_nested_as_accepted_is_loaded_and_evaluated) {
    struct rules rules = { .path = "/tmp/scoria-stack-XXXXXX" };
    autoarena struct arena *arena = arena_new();
    const char *const deep = nested(arena, 199, "(", "@", ")");
    const char *const texts[] = {
        arena_format(arena, "r0: \"%s\"\n", deep),
        arena_format(arena, "r0: \"%s@\"\n", nested(arena, 180, "not ", "", "")),
        arena_format(arena, "r0: \"@%s\"\n", nested(arena, 990, " and @", "", "")),
        arena_format(arena, "r0: [%s]\n", nested(arena, 990, "\"@\", ", "\"@\"", "")),
        arena_format(arena, "r0: [[%s]]\n", nested(arena, 990, "\"@\", ", "\"@\"", "")),
    };

    ck_assert_int_ge(close(mkstemp(rules.path)), 0);
    for (size_t i = 0; i < LENGTH(texts); i++) {
        rules_write(&rules, texts[i]);
        on_small_stack(load_rules, &rules);
        ck_assert_msg(rules.is_taken && rules.allowed, "%zu", i);
    }
    unlink(rules.path);
}
END_TEST

/* ---- JSON, YAML, documents ---- */

static void *use_json(void *arg) {
    autoarena struct arena *arena = arena_new();
    const char *text = arg;
    struct error err;
    json_t *tree = json_parse(arena, text, strlen(text), &err), *copy;
    struct json_out out;

    ck_assert_msg(tree, "%s", err.message);
    ck_assert_str_eq(json_text(arena, tree), text);
    json_out_init(&out, arena, 0);
    out_value(&out, tree);
    ck_assert_str_eq(json_out_text(&out), text);
    copy = json_deep_copy(tree);
    ck_assert(json_equal(copy, tree));
    json_decref(copy);
    return NULL;
}

START_TEST(json_of_the_accepted_depth_is_read_written_copied_and_compared) {
    autoarena struct arena *arena = arena_new();

    on_small_stack(use_json, nested(arena, SMALL_STACK_JSON, "{\"a\":", "1", "}"));
    on_small_stack(use_json, nested(arena, SMALL_STACK_JSON, "[", "1", "]"));
}
END_TEST

static void *refuse_json(void *arg) {
    autoarena struct arena *arena = arena_new();
    const char *text = arg;
    struct image_facts facts;
    struct error err;

    ck_assert_ptr_null(json_parse(arena, text, strlen(text), &err));
    ck_assert_ptr_null(yaml_read(arena, text, strlen(text), &err));
    ck_assert_int_eq(qemu_img_parse_info(text, strlen(text), "qcow2", &facts, &err), -1);
    return NULL;
}

START_TEST(deeper_json_and_yaml_is_refused_from_clients_and_programs) {
    autoarena struct arena *arena = arena_new();

    on_small_stack(refuse_json, nested(arena, SMALL_STACK_JSON + 1, "{\"a\":", "1", "}"));
    on_small_stack(refuse_json, nested(arena, 2000, "{\"a\":", "1", "}"));
    on_small_stack(refuse_json, nested(arena, 100000, "[", "1", "]"));
}
END_TEST

static void *use_yaml(void *arg) {
    autoarena struct arena *arena = arena_new();
    autofree char *printed = NULL;
    const char *text = arg;
    struct error err;
    size_t size;
    const json_t *read = yaml_read(arena, text, strlen(text), &err);
    FILE *out = open_memstream(&printed, &size);

    ck_assert_msg(read, "%s", err.message);
    yaml_print(json_array_get(read, 0), out);
    fclose(out);
    read = yaml_read(arena, printed, size, &err);
    ck_assert_msg(read, "%s: %s", err.message, printed);
    return NULL;
}

START_TEST(yaml_of_the_accepted_depth_is_read_and_printed) {
    autoarena struct arena *arena = arena_new();

    on_small_stack(use_yaml, nested(arena, SMALL_STACK_JSON, "{a: ", "1", "}"));
    on_small_stack(use_yaml, nested(arena, SMALL_STACK_JSON, "[", "1", "]"));
}
END_TEST

static void *read_image_facts(void *text) {
    struct image_facts facts;
    struct error err;

    ck_assert_msg(qemu_img_parse_info(text, strlen(text), "qcow2", &facts, &err) == 0, "%s",
                  err.message);
    return NULL;
}

START_TEST(facts_of_an_image_of_the_accepted_depth_are_read) {
    autoarena struct arena *arena = arena_new();

    on_small_stack(read_image_facts,
                   arena_format(arena, "{\"format\": \"qcow2\", \"virtual-size\": 1024, \"a\": %s}",
                                nested(arena, SMALL_STACK_JSON - 1, "{\"a\":", "1", "}")));
}
END_TEST

static void *use_schema(void *text) {
    static const struct schema_field anything[] = { { .type = SCHEMA_OBJECT, .name = "a" },
                                                    { .type = SCHEMA_END } };
    static const struct schema_field listed[] = {
        { .type = SCHEMA_LIST, .name = "a", .of = anything }, { .type = SCHEMA_END }
    };
    static const struct schema_field known[] = {
        { .type = SCHEMA_OBJECT, .name = "a", .of = listed }, { .type = SCHEMA_END }
    };
    autoarena struct arena *arena = arena_new();
    struct error err;
    json_t *tree = json_parse(arena, text, strlen(text), &err);

    ck_assert_msg(schema_accept(arena, known, "", tree, &err) == 0, "%s", err.message);
    ck_assert_ptr_nonnull(schema_shown(arena, known, tree));
    return NULL;
}

START_TEST(documents_of_the_accepted_depth_are_checked) {
    autoarena struct arena *arena = arena_new();
    char *deep = nested(arena, SCHEMA_DEPTH_MOST, "{\"a\":", "null", "}");

    on_small_stack(use_schema, arena_format(arena, "{\"a\":{\"a\":[{\"a\":%s}]}}", deep));
}
END_TEST

/* ---- requests ---- */

struct request {
    struct world *world;
    const char *method, *path, *body;
    int status;
};

static void *make_request(void *arg) {
    struct request *request = arg;

    request->status = world_call(request->world, request->method, request->path, request->body);
    return NULL;
}

static void request(struct world *world, int status, const char *method, const char *path,
                    const char *body) {
    struct request request = { world, method, path, body, 0 };

    on_small_stack(make_request, &request);
    ck_assert_msg(request.status == status, "%s %.80s: %d %.300s", method, path, request.status,
                  world->answer_text);
}

START_TEST(requests_of_the_accepted_depth_are_served) {
    autoworld struct world *world = world_new(NULL);
    struct arena *arena = world->arena;
    const char *spec = "\"spec\": {\"replica\": {\"zvolWorkers\": \"1\"}}";
    char *deep = nested(arena, SCHEMA_DEPTH_MOST - 1, "{\"a\":", "null", "}");
    char *deepest = nested(arena, SMALL_STACK_JSON - 3, "{\"a\":", "1", "}");

    request(
        world, 201, "POST", "/volume_policies",
        arena_format(arena, "{\"volume_policy\": {\"metadata\": {\"name\": \"a\"}, %s}}", spec));
    request(world, 400, "PATCH", "/volume_policies/a",
            arena_format(arena, "{\"volume_policy\": {\"spec\": {\"a\": %s}}}", deepest));
    request(world, 200, "PATCH", "/volume_policies/a",
            arena_format(
                arena, "{\"volume_policy\": {\"spec\": {\"target\": {\"affinity\": {\"a\": %s}}}}}",
                deep));
    request(world, 400, "POST", "/volumes",
            arena_format(arena, "{\"volume\": {\"size\": 1, \"a\": %s}}", deepest));
}
END_TEST

/* Each filter is a term of one condition, which SQLite nests. */
START_TEST(queries_of_as_many_filters_as_accepted_are_served) {
    autoworld struct world *world = world_new(NULL);
    autofree char *path = NULL;
    size_t size;
    FILE *out = open_memstream(&path, &size);

    fprintf(out, "/volumes?metadata={");
    for (int i = 0; i < 32; i++)
        fprintf(out, "%s%%22k%d%%22:%%22v%%22", i ? "," : "", i);
    fprintf(out, "}");
    for (int i = 0; i < 120; i++)
        fprintf(out, "&name~=n%d", i);
    fclose(out);
    request(world, 200, "GET", path, NULL);
}
END_TEST

CHECK_MAIN("small stack", policy_rules_of_any_accepted_depth_are_loaded_and_evaluated,
           a_policy_rule_as_long_and_as_nested_as_accepted_is_loaded_and_evaluated,
           json_of_the_accepted_depth_is_read_written_copied_and_compared,
           deeper_json_and_yaml_is_refused_from_clients_and_programs,
           yaml_of_the_accepted_depth_is_read_and_printed,
           facts_of_an_image_of_the_accepted_depth_are_read,
           documents_of_the_accepted_depth_are_checked, requests_of_the_accepted_depth_are_served,
           queries_of_as_many_filters_as_accepted_are_served)
