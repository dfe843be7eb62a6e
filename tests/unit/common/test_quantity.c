#include "common/quantity.h"

#include "common/cleanup.h"
#include "tests/lib/check_main.h"

#include <string.h>

START_TEST(quantities_are_read_and_rounded_up) {
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        { "0", 0 },
        { "1", 1 },
        { "+7", 7 },
        { "10Gi", INT64_C(10) << 30 },
        { "1.5Gi", INT64_C(3) << 29 },
        { "1.5k", 1500 },
        { ".5", 1 },
        { "2.", 2 },
        { "0.1Ki", 103 },
        { "1e3", 1000 },
        { "1E3", 1000 },
        { "15e-1", 2 },
        { "1E", INT64_C(1000000000000000000) },
        { "1500m", 2 },
        { "1.5m", 1 },
        { "2000000u", 2 },
        { "1n", 1 },
        { "7Ei", INT64_C(7) << 60 },
        { "9223372036854775807", INT64_MAX },
        { "0.9999999999999999999999999999Ei", INT64_C(1) << 60 },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        int64_t value = -1;

        ck_assert_msg(quantity_read(cases[i].text, &value), "%s", cases[i].text);
        ck_assert_msg(value == cases[i].value, "%s: %jd", cases[i].text, (intmax_t)value);
    }
}
END_TEST

START_TEST(a_malformed_quantity_is_refused) {
    static const char *const texts[] = {
        "",
        "Gi",
        ".",
        "-1",
        "1 Gi",
        "1gi",
        "1Gib",
        "1e",
        "1e+",
        "1e19",
        "8Ei",
        "10E",
        "1ee3",
        "1e3k",
        "0x10",
        "1_0",
        "++1",
        "1.2.3",
        "9223372036854775808",
        "9223372036854775807.5",
        "99999999999999999999999999999",
    };

    for (size_t i = 0; i < LENGTH(texts); i++) {
        int64_t value;

        ck_assert_msg(!quantity_read(texts[i], &value), "%s", texts[i]);
    }
}
END_TEST

START_TEST(a_value_is_written_with_the_suffix_that_leaves_nothing_over) {
    static const struct {
        int64_t value;
        const char *text;
    } cases[] = {
        { 0, "0" },
        { 1023, "1023" },
        { 1536, "1536" },
        { INT64_C(10) << 30, "10Gi" },
        { INT64_C(3) << 29, "1536Mi" },
        { INT64_C(7) << 60, "7Ei" },
        { INT64_MAX, "9223372036854775807" },
    };
    autoarena struct arena *arena = arena_new();

    for (size_t i = 0; i < LENGTH(cases); i++) {
        int64_t value;

        ck_assert_str_eq(quantity_text(arena, cases[i].value), cases[i].text);
        ck_assert(quantity_read(cases[i].text, &value) && value == cases[i].value);
    }
}
END_TEST

CHECK_MAIN("quantity", quantities_are_read_and_rounded_up, a_malformed_quantity_is_refused,
           a_value_is_written_with_the_suffix_that_leaves_nothing_over)
