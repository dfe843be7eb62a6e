#include "common/sha256.h"

#include <stdint.h>
#include <string.h>

#define BLOCK_SIZE  ((size_t)64)
#define LENGTH_SIZE 8

struct sha256 {
    uint32_t words[8];
    unsigned char block[BLOCK_SIZE];
    size_t filled; /* bytes of the block */
    uint64_t size; /* of the whole text */
};

/* Fractions of the cube roots of the first 64 primes. */
static const uint32_t roots[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn_right(uint32_t value, unsigned bits) {
    return value >> bits | value << (32 - bits);
}

static uint32_t read_word(const unsigned char *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
           (uint32_t)bytes[3];
}

static void make_schedule(const unsigned char *block, uint32_t schedule[64]) {
    for (unsigned i = 0; i < 16; i++)
        schedule[i] = read_word(block + (size_t)i * 4);
    for (unsigned i = 16; i < 64; i++) {
        uint32_t early = schedule[i - 15], late = schedule[i - 2];

        schedule[i] = schedule[i - 16] + schedule[i - 7] +
                      (turn_right(early, 7) ^ turn_right(early, 18) ^ early >> 3) +
                      (turn_right(late, 17) ^ turn_right(late, 19) ^ late >> 10);
    }
}

/* The eight words turn in a circle: a round writes two of them and the next one calls them by the
 * names of their neighbours, so that nothing is moved. */
#define ROUND(a, b, c, d, e, f, g, h, i)                                                        \
    do {                                                                                        \
        h += (turn_right(e, 6) ^ turn_right(e, 11) ^ turn_right(e, 25)) + (g ^ (e & (f ^ g))) + \
             roots[i] + schedule[i];                                                            \
        d += h;                                                                                 \
        h += (turn_right(a, 2) ^ turn_right(a, 13) ^ turn_right(a, 22)) +                       \
             ((a & b) | (c & (a | b)));                                                         \
    } while (0)

static void take_block(struct sha256 *state) {
    uint32_t *w = state->words;
    uint32_t a = w[0], b = w[1], c = w[2], d = w[3], e = w[4], f = w[5], g = w[6], h = w[7];
    uint32_t schedule[64];

    make_schedule(state->block, schedule);
    for (unsigned i = 0; i < 64; i += 8) {
        ROUND(a, b, c, d, e, f, g, h, i);
        ROUND(h, a, b, c, d, e, f, g, i + 1);
        ROUND(g, h, a, b, c, d, e, f, i + 2);
        ROUND(f, g, h, a, b, c, d, e, i + 3);
        ROUND(e, f, g, h, a, b, c, d, i + 4);
        ROUND(d, e, f, g, h, a, b, c, i + 5);
        ROUND(c, d, e, f, g, h, a, b, i + 6);
        ROUND(b, c, d, e, f, g, h, a, i + 7);
    }
    w[0] += a, w[1] += b, w[2] += c, w[3] += d, w[4] += e, w[5] += f, w[6] += g, w[7] += h;
    state->filled = 0;
}

static void take_bytes(struct sha256 *state, const unsigned char *bytes, size_t size) {
    state->size += size;
    while (size > 0) {
        size_t room = BLOCK_SIZE - state->filled, piece = size < room ? size : room;

        memcpy(state->block + state->filled, bytes, piece);
        state->filled += piece;
        bytes += piece;
        size -= piece;
        if (state->filled == BLOCK_SIZE)
            take_block(state);
    }
}

/* A single 1 bit, zeros, and the length in bits at the end of a block. */
static void take_end(struct sha256 *state) {
    static const unsigned char mark[BLOCK_SIZE] = { 0x80 };
    uint64_t bits = state->size * 8;
    unsigned char length[LENGTH_SIZE];
    size_t used = state->filled + 1 + LENGTH_SIZE;

    for (unsigned i = 0; i < LENGTH_SIZE; i++)
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    take_bytes(state, mark, (used <= BLOCK_SIZE ? BLOCK_SIZE : BLOCK_SIZE * 2) - used + 1);
    take_bytes(state, length, LENGTH_SIZE);
}

void sha256(const void *first, size_t first_size, const void *second, size_t second_size,
            unsigned char ret[SHA256_SIZE]) {
    /* fractions of the square roots of the first 8 primes */
    struct sha256 state = { .words = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                       0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } };

    take_bytes(&state, first, first_size);
    take_bytes(&state, second, second_size);
    take_end(&state);
    for (unsigned i = 0; i < SHA256_SIZE; i++)
        ret[i] = (unsigned char)(state.words[i / 4] >> (24 - 8 * (i % 4)));
    explicit_bzero(&state, sizeof(state));
}
