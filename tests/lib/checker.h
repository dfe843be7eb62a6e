/*
 * Writes blocks that name themselves, and knows the content that must be read: a block has the
 * version whose write was answered last, or a later one that was on its way when the connection
 * went, whole, and of its own place.  A version that was seen once is not taken back.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CHECKER_BLOCK 4096
#define CHECKER_DEPTH 16

struct checker {
    unsigned blocks, seed;
    int64_t stride;         /* bytes from one block to the next */
    uint32_t *least, *most; /* versions that a block may have */
    int fd;                 /* -1: not connected */
    unsigned depth;         /* writes on their way */
    uint64_t answered;
};

void checker_init(struct checker *checker, unsigned blocks, int64_t stride, unsigned seed);
void checker_free(struct checker *checker);

/* false: there is no server. */
bool checker_connect(struct checker *checker, const char *path);
void checker_disconnect(struct checker *checker);

unsigned checker_draw(struct checker *checker, unsigned most);
/* Sends that many writes of drawn blocks and waits for none. */
void checker_send(struct checker *checker, unsigned count);
/* Waits for all; false: some failed, or the connection went. */
bool checker_wait(struct checker *checker);
/* The two, and a flush. */
bool checker_write(struct checker *checker, unsigned count);
/* Reads all. A wrong byte ends the test;
 * false: not all could be read. */
bool checker_read(struct checker *checker);
/* The same, and writes over each block that is refused, as a client does with a bad sector: it may
 * be only one of which a write was in flight; false: another, or it cannot be written. */
bool checker_recover(struct checker *checker);
