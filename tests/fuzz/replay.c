/*
 * Runs a fuzz target over files: inputs that were found once are tested for ever, without a fuzzer.
 *
 *     replay file…
 */
#include "common/cleanup.h"

#include <stdint.h>
#include <stdio.h>

#define LARGEST_INPUT ((size_t)16 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static int replay(const char *path) {
    autofile FILE *file = fopen(path, "rb");
    autofree uint8_t *bytes = NULL;
    size_t size, space = 4096;

    if (!file) {
        perror(path);
        return -1;
    }
    for (size = 0;; space *= 2) {
        uint8_t *more = space <= LARGEST_INPUT ? realloc(bytes, space) : NULL;

        if (!more) {
            fprintf(stderr, "%s: too large\n", path);
            return -1;
        }
        bytes = more;
        size += fread(bytes + size, 1, space - size, file);
        if (size < space)
            break;
    }
    LLVMFuzzerTestOneInput(bytes, size);
    return 0;
}

int main(int count, char **paths) {
    int failed = 0;

    for (int i = 1; i < count; i++) {
        if (replay(paths[i]) < 0)
            failed = 1;
    }
    return failed;
}
