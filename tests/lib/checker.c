#include "tests/lib/checker.h"

#include "common/heap.h"
#include "common/md5.h"
#include "tests/lib/check_main.h"
#include "tests/lib/nbd.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TEXT_SIZE 64

void checker_init(struct checker *checker, unsigned blocks, int64_t stride, unsigned seed) {
    *checker = (struct checker){ .blocks = blocks, .stride = stride, .seed = seed, .fd = -1 };
    checker->least = heap_new(blocks * sizeof(*checker->least));
    checker->most = heap_new(blocks * sizeof(*checker->most));
}

void checker_free(struct checker *checker) {
    checker_disconnect(checker);
    free(checker->least);
    free(checker->most);
}

unsigned checker_draw(struct checker *checker, unsigned most) {
    checker->seed = checker->seed * 1103515245 + 12345;
    return (checker->seed >> 16) % most;
}

bool checker_connect(struct checker *checker, const char *path) {
    int64_t size;

    checker_disconnect(checker);
    checker->fd = nbd_connect(path, "volume", &size);
    return checker->fd >= 0;
}

void checker_disconnect(struct checker *checker) {
    if (checker->fd >= 0)
        close(checker->fd);
    checker->fd = -1;
    checker->depth = 0;
}

/* Every 64 bytes of a block name the block and its version. */
static void fill(unsigned block, uint32_t version, char *data) {
    for (size_t i = 0; i < CHECKER_BLOCK; i += TEXT_SIZE) {
        char digest[MD5_HEX_SIZE];
        int length = snprintf(data + i, TEXT_SIZE, "%08x %08x %08zx ", block, version, i);

        md5_hex(data + i, (size_t)length, digest);
        memcpy(data + i + length, digest, MD5_HEX_SIZE - 1);
        memset(data + i + length + MD5_HEX_SIZE - 1, '\n',
               TEXT_SIZE - (size_t)length - MD5_HEX_SIZE + 1);
    }
}

void checker_send(struct checker *checker, unsigned count) {
    char data[CHECKER_BLOCK];

    while (count-- > 0 && checker->fd >= 0 && checker->depth < CHECKER_DEPTH) {
        unsigned block = checker_draw(checker, checker->blocks);

        if (checker->most[block] != checker->least[block])
            continue; /* it is on its way, or its outcome is unknown */
        fill(block, ++checker->most[block], data);
        if (nbd_send(checker->fd, NBD_WRITE, block, block * checker->stride, data, CHECKER_BLOCK) <
            0)
            checker_disconnect(checker);
        else
            checker->depth++;
    }
}

bool checker_wait(struct checker *checker) {
    bool good = checker->fd >= 0;

    while (checker->fd >= 0 && checker->depth > 0) {
        uint64_t block;
        int outcome = nbd_answer(checker->fd, &block, NULL, 0);

        if (outcome < 0) {
            checker_disconnect(checker);
            good = false;
            break;
        }
        checker->depth--;
        if (outcome > 0) {
            good = false;
            continue;
        }
        checker->least[block] = checker->most[block];
        checker->answered++;
    }
    return good;
}

bool checker_write(struct checker *checker, unsigned count) {
    while (count > 0) {
        unsigned now = count < CHECKER_DEPTH ? count : CHECKER_DEPTH;

        checker_send(checker, now);
        if (!checker_wait(checker))
            return false;
        count -= now;
    }
    if (nbd_do(checker->fd, NBD_FLUSH, 0, NULL, 0) == 0)
        return true;
    checker_disconnect(checker);
    return false;
}

/* A new volume has version 0. */
static void judge(struct checker *checker, unsigned block, const char *data) {
    char expected[CHECKER_BLOCK] = { 0 };
    unsigned version = 0;

    if (data[0] && sscanf(data, "%*8x %8x ", &version) != 1)
        version = UINT32_MAX;
    if (version > 0 && version <= checker->most[block])
        fill(block, version, expected);
    ck_assert_msg(version >= checker->least[block] && version <= checker->most[block],
                  "block %u has version %u, of %u to %u", block, version, checker->least[block],
                  checker->most[block]);
    ck_assert_msg(memcmp(data, expected, CHECKER_BLOCK) == 0, "block %u is not whole", block);
    checker->least[block] = checker->most[block] = version;
}

bool checker_read(struct checker *checker) {
    char data[CHECKER_BLOCK];
    bool good = checker->fd >= 0;

    for (unsigned block = 0; block < checker->blocks && checker->fd >= 0; block++) {
        int outcome = nbd_do(checker->fd, NBD_READ, block * checker->stride, data, CHECKER_BLOCK);

        if (outcome == 0)
            judge(checker, block, data);
        else
            good = false;
        if (outcome < 0)
            checker_disconnect(checker);
    }
    return good && checker->fd >= 0;
}

static bool write_over(struct checker *checker, unsigned block) {
    char data[CHECKER_BLOCK];

    if (checker->most[block] == checker->least[block])
        return false;
    fill(block, ++checker->most[block], data);
    if (nbd_do(checker->fd, NBD_WRITE, block * checker->stride, data, CHECKER_BLOCK) != 0)
        return false;
    checker->least[block] = checker->most[block];
    return true;
}

bool checker_recover(struct checker *checker) {
    char data[CHECKER_BLOCK];
    bool good = checker_wait(checker);

    for (unsigned block = 0; block < checker->blocks && good; block++) {
        int outcome = nbd_do(checker->fd, NBD_READ, block * checker->stride, data, CHECKER_BLOCK);

        if (outcome == 0)
            judge(checker, block, data);
        else if (outcome < 0)
            checker_disconnect(checker);
        good = outcome == 0 || (outcome > 0 && write_over(checker, block));
    }
    return good;
}
