/*
 * Any bytes: shares_parse() refuses with a message, or gives shares that it accepts again and that
 * no program could take for an option or for a path elsewhere.
 */
#include "drivers/file/shares.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(int holds) {
    if (!holds)
        abort();
}

static void check_share(const struct share *share) {
    struct error err;

    must(share_check_address(share->address, &err) == 0);
    must(share->address[0] != '-' && share->options[0] != '-');
    must(!strstr(share->address, "/../") && strpbrk(share->options, " \t\n") == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    autoarena struct arena *arena = arena_new();
    struct error err = { .kind = ERROR_NONE };
    struct share *shares = NULL;
    int count = shares_parse(arena, (const char *)bytes, size, "input", &shares, &err);

    must(count >= 0 || (err.kind == ERROR_BAD_REQUEST && err.message[0] && !shares));
    for (int i = 0; i < count; i++)
        check_share(&shares[i]);
    return 0;
}
