#include "common/utf8.h"

#include "tests/lib/check_main.h"

#include <string.h>

#define SIZED(literal) "" literal "", sizeof(literal) - 1

static size_t next(const char *text, size_t size) {
    uint32_t character = 0;

    return utf8_next(text, size, &character);
}

START_TEST(characters_of_every_length_are_read) {
    static const struct {
        const char *text;
        size_t length;
        uint32_t character;
    } rows[] = {
        { "a", 1, 'a' },
        { "\x7f", 1, 0x7f },
        { "\xc2\x80", 2, 0x80 },
        { "\xdf\xbf", 2, 0x7ff },
        { "\xe0\xa0\x80", 3, 0x800 },
        { "\xed\x9f\xbf", 3, 0xd7ff },
        { "\xee\x80\x80", 3, 0xe000 },
        { "\xef\xbf\xbf", 3, 0xffff },
        { "\xf0\x90\x80\x80", 4, 0x10000 },
        { "\xf4\x8f\xbf\xbf", 4, 0x10ffff },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        uint32_t character = 0;

        ck_assert_uint_eq(utf8_next(rows[i].text, strlen(rows[i].text), &character),
                          rows[i].length);
        ck_assert_uint_eq(character, rows[i].character);
    }
    ck_assert_uint_eq(next("\0x", 2), 1);
}
END_TEST

START_TEST(malformed_sequences_are_no_characters) {
    static const char *const texts[] = {
        "\x80",     /* continues nothing */
        "\xc0\x80", /* overlong */
        "\xc1\xbf",
        "\xe0\x9f\xbf",
        "\xf0\x8f\xbf\xbf",
        "\xed\xa0\x80", /* surrogate */
        "\xed\xbf\xbf",
        "\xf4\x90\x80\x80", /* above the last one */
        "\xf5\x80\x80\x80",
        "\xff",
        "\xc3", /* ends too early */
        "\xe2\x82",
        "\xf0\x9f\x98",
        "\xc3z",
        "\xe2\x82z",
    };

    for (size_t i = 0; i < LENGTH(texts); i++) {
        ck_assert_uint_eq(next(texts[i], strlen(texts[i])), 0);
        ck_assert(!utf8_valid(texts[i], strlen(texts[i])));
    }
    ck_assert_uint_eq(next("", 0), 0);
}
END_TEST

START_TEST(validity_covers_every_character) {
    ck_assert(utf8_valid("", 0));
    ck_assert(utf8_valid(SIZED("na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80")));
    ck_assert(!utf8_valid(SIZED("good\xff")));
    ck_assert(utf8_valid("good\xff", 4));
}
END_TEST

START_TEST(characters_are_counted_not_bytes) {
    ck_assert_uint_eq(utf8_count("", 0), 0);
    ck_assert_uint_eq(utf8_count(SIZED("abc")), 3);
    ck_assert_uint_eq(utf8_count(SIZED("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80")), 3);
    ck_assert_uint_eq(utf8_count(SIZED("\xff\xfe")), 2);
}
END_TEST

START_TEST(a_prefix_holds_whole_characters) {
    ck_assert_uint_eq(utf8_prefix(SIZED("\xc3\xa4\xe2\x82\xac!"), 0), 0);
    ck_assert_uint_eq(utf8_prefix(SIZED("\xc3\xa4\xe2\x82\xac!"), 1), 2);
    ck_assert_uint_eq(utf8_prefix(SIZED("\xc3\xa4\xe2\x82\xac!"), 2), 5);
    ck_assert_uint_eq(utf8_prefix(SIZED("\xc3\xa4\xe2\x82\xac!"), 9), 6);
}
END_TEST

START_TEST(a_cut_leaves_no_half_character) {
    const char *text = "a\xf0\x9f\x98\x80z";

    ck_assert_uint_eq(utf8_cut(text, 6, 9), 6);
    ck_assert_uint_eq(utf8_cut(text, 6, 6), 6);
    ck_assert_uint_eq(utf8_cut(text, 6, 5), 5);
    ck_assert_uint_eq(utf8_cut(text, 6, 4), 1);
    ck_assert_uint_eq(utf8_cut(text, 6, 3), 1);
    ck_assert_uint_eq(utf8_cut(text, 6, 2), 1);
    ck_assert_uint_eq(utf8_cut(text, 6, 1), 1);
    ck_assert_uint_eq(utf8_cut(text, 6, 0), 0);
    ck_assert_uint_eq(utf8_cut(SIZED("\x80\x80\x80\x80\x80"), 4), 4);
}
END_TEST

START_TEST(controls_of_terminals_lines_and_direction_are_found) {
    static const uint32_t controls[] = { 0,      0x1f,   0x7f,   0x80,   0x9f,   0x61c, 0x200e,
                                         0x200f, 0x2028, 0x202a, 0x202e, 0x2066, 0x2069 };
    static const uint32_t others[] = { ' ',    '~',    0xa0,   0x61b,  0x61d,  0x200d,
                                       0x2010, 0x2027, 0x202f, 0x2065, 0x206a, 0x1f600 };

    for (size_t i = 0; i < LENGTH(controls); i++)
        ck_assert_msg(utf8_is_control(controls[i]), "%x", (unsigned)controls[i]);
    for (size_t i = 0; i < LENGTH(others); i++)
        ck_assert_msg(!utf8_is_control(others[i]), "%x", (unsigned)others[i]);
}
END_TEST

CHECK_MAIN("utf8", characters_of_every_length_are_read, malformed_sequences_are_no_characters,
           validity_covers_every_character, characters_are_counted_not_bytes,
           a_prefix_holds_whole_characters, a_cut_leaves_no_half_character,
           controls_of_terminals_lines_and_direction_are_found)
