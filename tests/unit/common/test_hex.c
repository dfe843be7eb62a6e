#include "common/hex.h"

#include "tests/lib/check_main.h"

#include <string.h>

START_TEST(bytes_are_two_digits_each_and_come_back) {
    unsigned char bytes[256], back[256];
    char text[2 * sizeof(bytes) + 1];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)i;
    hex_encode(bytes, sizeof(bytes), text);
    ck_assert_uint_eq(strlen(text), 2 * sizeof(bytes));
    ck_assert_mem_eq(text, "000102", 6);
    ck_assert_str_eq(text + 2 * 253, "fdfeff");
    ck_assert(hex_decode(text, back, sizeof(back)));
    ck_assert_mem_eq(back, bytes, sizeof(bytes));
    hex_encode(bytes, 0, text);
    ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(only_lower_case_digits_are_read_and_none_behind_the_end) {
    static const char *const refused[] = { "",     "1",    "12",   "123",  "12AB",
                                           "12 a", "g000", "00-1", "1/00", "00:0" };
    unsigned char bytes[2];

    for (size_t i = 0; i < LENGTH(refused); i++)
        ck_assert_msg(!hex_decode(refused[i], bytes, sizeof(bytes)), "%s", refused[i]);
    ck_assert(hex_decode("12abXX", bytes, sizeof(bytes)));
    ck_assert_uint_eq(bytes[0], 0x12);
    ck_assert_uint_eq(bytes[1], 0xab);
}
END_TEST

CHECK_MAIN("hex", bytes_are_two_digits_each_and_come_back,
           only_lower_case_digits_are_read_and_none_behind_the_end)
