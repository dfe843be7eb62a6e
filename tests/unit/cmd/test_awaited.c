#include "cmd/awaited.h"

#include "tests/lib/check_main.h"
#include "json/json.h"

#include <string.h>

#define DOCUMENT                                                                           \
    "{\"metadata\": {\"name\": \"db\"}, \"status\": {\"phase\": \"Bound\", \"count\": 3, " \
    "\"capacity\": {\"storage\": \"2Gi\"}, \"conditions\": ["                              \
    "{\"type\": \"Resizing\", \"status\": \"True\"}, {\"type\": \"Scaling\", \"status\": " \
    "\"False\"}]}}"

static const struct {
    const char *text_of, *document;
    bool met;
    const char *text;
} conditions[] = {
    { "phase=Bound", DOCUMENT, true, "Bound" },
    { "phase=Pending", DOCUMENT, false, "Pending" },
    { "phase=Bound", "{}", false, "Bound" },
    { "phase=Bound", NULL, false, "Bound" },
    { "condition=Resizing", DOCUMENT, true, "Resizing=True" },
    { "condition=Resizing=false", DOCUMENT, false, "Resizing=false" },
    { "condition=Scaling=false", DOCUMENT, true, "Scaling=false" },
    { "condition=Scaling", DOCUMENT, false, "Scaling=True" },
    { "condition=Other=False", DOCUMENT, false, "Other=False" },
    { "jsonpath={.status.capacity.storage}=2Gi", DOCUMENT, true, ".status.capacity.storage=2Gi" },
    { "jsonpath={.status.capacity.storage}=1Gi", DOCUMENT, false, ".status.capacity.storage=1Gi" },
    { "jsonpath={.status.count}=3", DOCUMENT, true, ".status.count=3" },
    { "jsonpath={.status.capacity}={\"storage\":\"2Gi\"}", DOCUMENT, true,
      ".status.capacity={\"storage\":\"2Gi\"}" },
    { "jsonpath={.status.phase.more}=Bound", DOCUMENT, false, ".status.phase.more=Bound" },
    { "jsonpath={.status.}=", DOCUMENT, false, ".status.=" },
    { "jsonpath={.stat}=Bound", DOCUMENT, false, ".stat=Bound" },
    { "delete", DOCUMENT, false, "gone" },
    { "delete", NULL, true, "gone" },
};

START_TEST(a_condition_matches_the_document_it_describes) {
    autoarena struct arena *arena = arena_new();
    struct awaited awaited;
    struct error err;

    for (size_t i = 0; i < LENGTH(conditions); i++) {
        const char *text = conditions[i].document;
        json_t *document = text ? json_parse(arena, text, strlen(text), &err) : NULL;

        ck_assert_int_eq(awaited_read(arena, conditions[i].text_of, &awaited, &err), 0);
        ck_assert_msg(awaited_is_met(&awaited, document) == conditions[i].met, "%s",
                      conditions[i].text_of);
        ck_assert_str_eq(awaited_text(arena, &awaited), conditions[i].text);
    }
}
END_TEST

static const char *const nonsense[] = {
    "",
    "phase",
    "phase=",
    "condition=",
    "jsonpath=",
    "jsonpath=.status.phase=Bound",
    "jsonpath={status.phase}=Bound",
    "jsonpath={.status.phase}",
    "deleted",
    "Phase=Bound",
};

START_TEST(a_malformed_condition_is_refused) {
    autoarena struct arena *arena = arena_new();
    struct awaited awaited = { .what = "kept" };
    struct error err;

    for (size_t i = 0; i < LENGTH(nonsense); i++) {
        ck_assert_msg(awaited_read(arena, nonsense[i], &awaited, &err) < 0, "%s", nonsense[i]);
        ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
        ck_assert_msg(strstr(err.message, nonsense[i]) != NULL, "%s", err.message);
        ck_assert_str_eq(awaited.what, "kept");
    }
}
END_TEST

CHECK_MAIN("awaited", a_condition_matches_the_document_it_describes,
           a_malformed_condition_is_refused)
