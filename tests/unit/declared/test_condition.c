#include "declared/condition.h"

#include "common/cleanup.h"
#include "tests/lib/check_main.h"

#define FIRST_US INT64_C(1800000000000000)
#define LATER_US (FIRST_US + 5000000)
#define FIRST    "2027-01-15T08:00:00Z"
#define LATER    "2027-01-15T08:00:05Z"
#define ENTRY(type, status, update, transition, reason, message)                    \
    "{\"type\":\"" type "\",\"status\":\"" status "\",\"lastUpdateTime\":\"" update \
    "\",\"lastTransitionTime\":\"" transition "\",\"reason\":\"" reason             \
    "\",\"message\":\"" message "\"}"

static void assert_text(const json_t *conditions, const char *wanted) {
    autofree char *text = json_dumps(conditions, JSON_COMPACT);

    ck_assert_str_eq(text, wanted);
}

static struct condition condition(const char *type, const char *status, const char *message) {
    return (struct condition){ type, status, "Reason", message };
}

START_TEST(of_a_type_there_is_one_and_its_transition_is_when_its_status_changed) {
    json_t *conditions = json_array();
    struct condition now = condition("A", "True", "one");

    ck_assert(condition_put(conditions, &now, FIRST_US));
    assert_text(conditions, "[" ENTRY("A", "True", FIRST, FIRST, "Reason", "one") "]");
    now.message = "two";
    ck_assert(condition_put(conditions, &now, LATER_US));
    assert_text(conditions, "[" ENTRY("A", "True", LATER, FIRST, "Reason", "two") "]");
    now.status = "Unknown";
    ck_assert(condition_put(conditions, &now, LATER_US));
    assert_text(conditions, "[" ENTRY("A", "Unknown", LATER, LATER, "Reason", "two") "]");
    ck_assert(condition_is(conditions, "A", "Unknown"));
    ck_assert(!condition_is(conditions, "A", "True"));
    ck_assert(!condition_is(conditions, "B", "True"));
    json_decref(conditions);
}
END_TEST

START_TEST(an_equal_condition_changes_nothing) {
    json_t *conditions = json_array();
    struct condition now = condition("A", "True", "one");

    condition_put(conditions, &now, FIRST_US);
    ck_assert(!condition_put(conditions, &now, LATER_US));
    ck_assert(!condition_remove(conditions, "B"));
    assert_text(conditions, "[" ENTRY("A", "True", FIRST, FIRST, "Reason", "one") "]");
    ck_assert(condition_remove(conditions, "A"));
    assert_text(conditions, "[]");
    json_decref(conditions);
}
END_TEST

START_TEST(only_the_owner_adds_conditions) {
    json_t *conditions = json_array();
    struct condition now = condition("A", "True", "one");

    ck_assert(!condition_change(conditions, &now, FIRST_US));
    assert_text(conditions, "[]");
    condition_put(conditions, &now, FIRST_US);
    now.status = "False";
    ck_assert(condition_change(conditions, &now, LATER_US));
    assert_text(conditions, "[" ENTRY("A", "False", LATER, LATER, "Reason", "one") "]");
    json_decref(conditions);
}
END_TEST

START_TEST(those_of_a_size_are_replaced_as_a_set_and_others_stay) {
    json_t *conditions = json_array();
    const struct condition other = condition(CONDITION_SCALING, "True", "s");
    const struct condition failed[] = { condition(CONDITION_RESIZING, "True", "r"),
                                        condition(CONDITION_RESIZE_FAILED, "True", "f") };

    condition_put(conditions, &other, FIRST_US);
    ck_assert(condition_put_resize(conditions, failed, 2, FIRST_US));
    ck_assert(!condition_put_resize(conditions, failed, 2, LATER_US));
    assert_text(conditions,
                "[" ENTRY("Scaling", "True", FIRST, FIRST, "Reason", "s") "," ENTRY(
                    "Resizing", "True", FIRST, FIRST, "Reason",
                    "r") "," ENTRY("VolumeResizeFailed", "True", FIRST, FIRST, "Reason", "f") "]");
    ck_assert(condition_put_resize(conditions, failed, 1, LATER_US));
    assert_text(conditions, "[" ENTRY("Scaling", "True", FIRST, FIRST, "Reason", "s") "," ENTRY(
                                "Resizing", "True", FIRST, FIRST, "Reason", "r") "]");
    ck_assert(condition_put_resize(conditions, NULL, 0, LATER_US));
    assert_text(conditions, "[" ENTRY("Scaling", "True", FIRST, FIRST, "Reason", "s") "]");
    json_decref(conditions);
}
END_TEST

CHECK_MAIN("condition", of_a_type_there_is_one_and_its_transition_is_when_its_status_changed,
           an_equal_condition_changes_nothing, only_the_owner_adds_conditions,
           those_of_a_size_are_replaced_as_a_set_and_others_stay)
