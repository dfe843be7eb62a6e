#include "model/scheduler/capability.h"

#include "tests/lib/check_main.h"

#include <string.h>

static const char report[] =
    "{\"text\": \"iSCSI\", \"number\": 10, \"real\": 2.5, \"digits\": \"7\", \"yes\": true, "
    "\"no\": false, \"word\": \"True\", \"none\": null, \"list\": [\"a\", \"b\"], \"empty\": [], "
    "\"nested\": {\"deep\": {\"x\": \"1\"}}, \"extra_specs\": [\"own\", 1]}";

static bool matches(const char *key, const char *value) {
    const struct pair pair = { key, value };
    const struct pairs specs = { &pair, 1 };
    json_t *tree = json_loads(report, 0, NULL);
    bool result;

    ck_assert_ptr_nonnull(tree);
    result = capability_matches(tree, &specs);
    json_decref(tree);
    return result;
}

struct example {
    const char *key, *value;
    bool expected;
};

/* clang-format off */
static const struct example examples[] = {
    { "own", "anything", true }, { "capabilities:own", "anything", true }, { "ow", "x", false },
    { "text", "iSCSI", true }, { "text", "iscsi", false }, { "capabilities:text", "iSCSI", true },
    { "capabilities:text", "nfs", false }, { "missing", "x", false },
    { "capabilities:missing", "x", false }, { "other:missing", "x", true },
    { "RESKEY:availability_zones", "az1", true }, { "none", "x", false }, { "empty", "a", false },
    { "text", NULL, true }, { "yes", "True", true }, { "yes", "yes", true },
    { "yes", "False", false }, { "no", "off", true }, { "yes", "maybe", false },
    { "word", "True", true }, { "word", "true", false }, { "yes", "<is> True", true },
    { "yes", "<is> false", false }, { "no", "<is> False", true }, { "word", "<is> true", true },
    { "text", "<is> False", true }, { "missing", "<is> False", false }, { "number", "10", true },
    { "number", "= 9", true }, { "number", "= 11", false }, { "number", "== 10", true },
    { "number", "== 10.0", true }, { "number", "!= 10", false }, { "number", "!= 9", true },
    { "number", ">= 10", true }, { "number", ">= 11", false }, { "number", "<= 10", true },
    { "number", "<= 9", false }, { "real", "== 2.5", true }, { "real", "2.5", true },
    { "digits", ">= 6", true }, { "text", ">= 1", false }, { "number", ">= many", false },
    { "number", ">= 0x1", false }, { "number", ">= -", false }, { "number", ">=", false },
    { "number", "<= infinity", false }, { "number", "== 1e1", true },
    { "text", "s== iSCSI", true }, { "text", "s== nfs", false }, { "text", "s!= nfs", true },
    { "text", "s!= iSCSI", false }, { "text", "s< j", true }, { "text", "s< i", false },
    { "text", "s<= iSCSI", true }, { "text", "s> h", true }, { "text", "s>= iSCSI", true },
    { "text", "s>= j", false }, { "number", "s== 10", true }, { "yes", "s== True", true },
    { "text", "<in> SCS", true }, { "text", "<in> nfs", false }, { "text", "<in>", false },
    { "text", "<all-in> iS SI", true }, { "text", "<all-in> iS nfs", false },
    { "text", "<all-in>", false }, { "text", "<or> nfs <or> iSCSI", true },
    { "text", "<or> iSCSI", true }, { "text", "<or> nfs <or>", false },
    { "text", "<or> nfs <or> file", false }, { "text", "<or>", false },
    { "text", " s== iSCSI ", true }, { "list", "a", true }, { "list", "b", true },
    { "list", "c", false }, { "list", "<or> x <or> b", true },
    { "capabilities:nested:deep:x", "1", true }, { "capabilities:nested:deep:y", "1", false },
    { "capabilities:nested:deep", "1", false }, { "capabilities:text:deep", "1", false },
    { "text", "", false },
};
/* clang-format on */

START_TEST(each_operator_works_as_documented) {
    for (size_t i = 0; i < LENGTH(examples); i++)
        ck_assert_msg(matches(examples[i].key, examples[i].value) == examples[i].expected, "%s %s",
                      examples[i].key, examples[i].value);
}
END_TEST

START_TEST(operands_of_any_length_are_compared_safely) {
    char value[1200];

    memset(value, 'x', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    ck_assert(!matches("text", value));
    memcpy(value, "<in> ", 5);
    ck_assert(!matches("text", value));
    ck_assert(!matches(value, "x"));
    memcpy(value, "s== ", 4);
    ck_assert(!matches("text", value));
}
END_TEST

START_TEST(every_spec_must_match) {
    const struct pair pairs[] = { { "text", "iSCSI" }, { "number", ">= 10" } };
    json_t *tree = json_loads(report, 0, NULL);

    ck_assert(capability_matches(tree, &(struct pairs){ pairs, 2 }));
    json_object_set_new(tree, "number", json_integer(9));
    ck_assert(!capability_matches(tree, &(struct pairs){ pairs, 2 }));
    ck_assert(capability_matches(tree, &(struct pairs){ NULL, 0 }));
    json_decref(tree);
}
END_TEST

START_TEST(only_specs_about_the_pool_need_its_capabilities) {
    const struct pair pairs[] = { { "provisioning:max_vol_size", "5" },
                                  { "free", NULL },
                                  { "capabilities:x", "1" } };

    ck_assert(!capability_needed(&(struct pairs){ pairs, 2 }));
    ck_assert(capability_needed(&(struct pairs){ pairs, 3 }));
    ck_assert(!capability_needed(&(struct pairs){ NULL, 0 }));
}
END_TEST

CHECK_MAIN("capability", each_operator_works_as_documented,
           operands_of_any_length_are_compared_safely, every_spec_must_match,
           only_specs_about_the_pool_need_its_capabilities)
