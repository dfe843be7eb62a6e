#include "common/md5.h"

#include <stdint.h>
#include <string.h>

#define BLOCK_SIZE 64

struct md5 {
    uint32_t a, b, c, d;
};

/* Whole part of 2^32 * |sin(i + 1)|. */
static const uint32_t sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

static const unsigned turns[4][4] = {
    { 7, 12, 17, 22 }, { 5, 9, 14, 20 }, { 4, 11, 16, 23 }, { 6, 10, 15, 21 }
};

static uint32_t turn_left(uint32_t value, unsigned bits) {
    return value << bits | value >> (32 - bits);
}

static uint32_t read_word(const unsigned char *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

/* The four rounds differ in how they mix b, c, d and in the order of the block's words. */
static uint32_t mix(unsigned i, const struct md5 *now, unsigned *ret_word) {
    switch (i / 16) {
    case 0:
        *ret_word = i;
        return (now->b & now->c) | (~now->b & now->d);
    case 1:
        *ret_word = (5 * i + 1) % 16;
        return (now->d & now->b) | (~now->d & now->c);
    case 2:
        *ret_word = (3 * i + 5) % 16;
        return now->b ^ now->c ^ now->d;
    default:
        *ret_word = 7 * i % 16;
        return now->c ^ (now->b | ~now->d);
    }
}

static void md5_block(struct md5 *state, const unsigned char *block) {
    struct md5 now = *state;

    for (unsigned i = 0; i < 64; i++) {
        unsigned word;
        uint32_t sum = now.a + mix(i, &now, &word);

        sum += sines[i] + read_word(block + (size_t)word * 4);
        now = (struct md5){ now.d, now.b + turn_left(sum, turns[i / 16][i % 4]), now.b, now.c };
    }
    state->a += now.a;
    state->b += now.b;
    state->c += now.c;
    state->d += now.d;
}

/* What is left of the text, a single 1 bit, zeros, and the length in bits: one block or two. */
static void md5_tail(struct md5 *state, const unsigned char *rest, size_t rest_size,
                     uint64_t whole_size) {
    unsigned char tail[2 * BLOCK_SIZE] = { 0 };
    size_t size = rest_size + 9 <= BLOCK_SIZE ? BLOCK_SIZE : 2 * BLOCK_SIZE;

    if (rest_size)
        memcpy(tail, rest, rest_size);
    tail[rest_size] = 0x80;
    for (unsigned i = 0; i < 8; i++)
        tail[size - 8 + i] = (unsigned char)(whole_size * 8 >> (8 * i));
    for (size_t at = 0; at < size; at += BLOCK_SIZE)
        md5_block(state, tail + at);
}

void md5_hex(const void *bytes, size_t size, char ret[MD5_HEX_SIZE]) {
    static const char digits[] = "0123456789abcdef";
    struct md5 state = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476 };
    const unsigned char *from = bytes;
    size_t rest = size;
    uint32_t words[4];

    for (; rest >= BLOCK_SIZE; rest -= BLOCK_SIZE, from += BLOCK_SIZE)
        md5_block(&state, from);
    md5_tail(&state, from, rest, size);
    memcpy(words, &state, sizeof words);
    for (unsigned i = 0; i < 16; i++) {
        unsigned byte = words[i / 4] >> (8 * (i % 4)) & 0xff;

        ret[2 * i] = digits[byte >> 4];
        ret[2 * i + 1] = digits[byte & 15];
    }
    ret[2 * 16] = '\0';
}
