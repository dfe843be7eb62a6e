/*
 * Printed YAML reads back as the same tree.
 */
#include "common/cleanup.h"
#include "tests/lib/check_main.h"
#include "json/json.h"
#include "json/yaml.h"
#include "json/yaml_print.h"

#include <stdlib.h>
#include <string.h>

static char *printed(struct arena *arena, const char *json) {
    json_t *tree = json_keep(arena, json_loads(json, JSON_DECODE_ANY, NULL));
    char *text = NULL, *kept;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    ck_assert_ptr_nonnull(tree);
    yaml_print(tree, out);
    fclose(out);
    kept = arena_text(arena, text);
    free(text);
    return kept;
}

START_TEST(documents_are_printed_in_block_style) {
    autoarena struct arena *arena = arena_new();

    ck_assert_str_eq(printed(arena, "{\"a\":{\"b\":[1,{\"c\":\"on\",\"d\":[]},[2]],\"e\":{}},"
                                    "\"f\":\"one, two\"}"),
                     "a:\n  b:\n    - 1\n    - c: \"on\"\n      d: []\n    -\n      - 2\n"
                     "  e: {}\nf: one, two\n");
}
END_TEST

START_TEST(all_reads_back_as_it_was) {
    static const char *const cases[] = {
        "{\"a\":\"\",\"b\":\" x\",\"c\":\"x \",\"d\":\"a: b\",\"e\":\"a #b\",\"f\":\"-\"}",
        "{\"y\":\"n\",\"True\":\"NULL\",\"1\":\"1\",\"~\":\"0x1f\",\"m\":\"1.5\",\"o\":\"e3\"}",
        "{\"a\":\"one\\ntwo\\t\\\"three\\\"\\u0001\",\"b\":\"\xc3\xa4\",\"c\":\"'\",\"d\":\"{\"}",
        "{\"a\":null,\"b\":true,\"c\":-1,\"d\":2.5,\"e\":[[],{},[[3]],{\"f\":{\"g\":[4]}}]}",
        "[{\"a\":[{\"b\":{\"c\":[]}}]},\"text\",[\"x\",[\"y\"]]]",
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        autoarena struct arena *arena = arena_new();
        struct error err = { 0 };
        const char *text = printed(arena, cases[i]);
        json_t *read = yaml_read(arena, text, strlen(text), &err);
        json_t *tree = json_keep(arena, json_loads(cases[i], JSON_DECODE_ANY, NULL));

        ck_assert_msg(read != NULL, "%s: %s", text, err.message);
        ck_assert_msg(json_equal(json_array_get(read, 0), tree), "%s", text);
    }
}
END_TEST

CHECK_MAIN("yaml_print", documents_are_printed_in_block_style, all_reads_back_as_it_was)
