#include "common/sha256.h"

#include "tests/lib/check_main.h"

#include <stdio.h>
#include <string.h>

static const char *hex_of(const char *text, size_t size, size_t cut) {
    static char hex[2 * SHA256_SIZE + 1];
    unsigned char digest[SHA256_SIZE];

    sha256(text, cut, text + cut, size - cut, digest);
    for (unsigned i = 0; i < SHA256_SIZE; i++)
        snprintf(hex + (size_t)i * 2, 3, "%02x", digest[i]);
    return hex;
}

/* The examples of FIPS 180-4. */
START_TEST(known_texts_have_their_known_digests) {
    static const char *const known[][2] = {
        { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
    };

    for (size_t i = 0; i < LENGTH(known); i++)
        ck_assert_str_eq(hex_of(known[i][0], strlen(known[i][0]), 0), known[i][1]);
}
END_TEST

/* 55 bytes are the most that share a block with the length; 56 and 64 need another. */
START_TEST(neither_blocks_nor_pieces_make_a_difference) {
    static const struct {
        size_t size;
        const char *hex;
    } known[] = {
        { 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { 3, "cd2eb0837c9b4c962c22d2ff8b5441b7b45805887f051d39bf133b583baf6860" },
        { 55, "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072" },
        { 56, "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e" },
        { 63, "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2" },
        { 64, "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c" },
        { 65, "9537c5fdf120482f7d58d25e9ed583f52c02b4e304ea814db1633ad565aed7e9" },
        { 119, "000b48d4edf0fa7bee3c6236ecd2785baa5db4eeb8bb54341b029e0d9fa5fb0c" },
        { 120, "13f05a0b594787f5ecd315edc96141bd3243203d1b7d4f0836f37308b276ba98" },
        { 128, "24da1b81d0b16df6428eee73c69fcb2a93c76bc6df706f0c6670fe6bfe800464" },
        { 1000, "44f8354494a5ba03ba1792a8d3e9c534c47a9181980fde7a3f44b06ef2ae7c7f" },
    };
    char text[1000];

    memset(text, 'x', sizeof(text));
    for (size_t i = 0; i < LENGTH(known); i++)
        for (size_t cut = 0; cut <= known[i].size; cut += 1 + known[i].size / 7)
            ck_assert_str_eq(hex_of(text, known[i].size, cut), known[i].hex);
}
END_TEST

CHECK_MAIN("sha256", known_texts_have_their_known_digests,
           neither_blocks_nor_pieces_make_a_difference)
