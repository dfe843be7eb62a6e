#include "common/md5.h"

#include "tests/lib/check_main.h"

#include <string.h>

static const char *hex_of(const char *text, size_t size) {
    static char hex[MD5_HEX_SIZE];

    md5_hex(text, size, hex);
    return hex;
}

/* The test suite of RFC 1321, appendix 5. */
START_TEST(known_texts_have_their_known_digests) {
    static const char *const known[][2] = {
        { "", "d41d8cd98f00b204e9800998ecf8427e" },
        { "a", "0cc175b9c0f1b6a831c399e269772661" },
        { "abc", "900150983cd24fb0d6963f7d28e17f72" },
        { "message digest", "f96b697d7cb7938d525a2f31aaf161d0" },
        { "abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b" },
        { "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
          "d174ab98d277d9f5a5611c2c9f419d9f" },
        { "1234567890123456789012345678901234567890"
          "1234567890123456789012345678901234567890",
          "57edf4a22be3c955ac49da2e2107b67a" },
    };

    for (size_t i = 0; i < LENGTH(known); i++)
        ck_assert_str_eq(hex_of(known[i][0], strlen(known[i][0])), known[i][1]);
}
END_TEST

/* 55 bytes are the most that share a block with the length; 56 and 64 need another. */
START_TEST(block_borders_are_right) {
    static const struct {
        size_t size;
        const char *hex;
    } known[] = {
        { 55, "ef1772b6dff9a122358552954ad0df65" }, { 56, "3b0c8ac703f828b04c6c197006d17218" },
        { 63, "b06521f39153d618550606be297466d5" }, { 64, "014842d480b571495a4a0363793f7367" },
        { 65, "c743a45e0d2e6a95cb859adae0248435" },
    };
    char text[65];

    memset(text, 'a', sizeof text);
    for (size_t i = 0; i < LENGTH(known); i++)
        ck_assert_str_eq(hex_of(text, known[i].size), known[i].hex);
}
END_TEST

CHECK_MAIN("md5", known_texts_have_their_known_digests, block_borders_are_right)
