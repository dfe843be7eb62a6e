#include "common/hex.h"

#include <nettle/base16.h>

void hex_encode(const void *bytes, size_t size, char *ret) {
    base16_encode_update(ret, size, bytes);
    ret[2 * size] = '\0';
}

static int value_of(char digit) {
    return digit >= '0' && digit <= '9'   ? digit - '0'
           : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                                          : -1;
}

/* nettle's decoder also accepts capitals and white space. */
bool hex_decode(const char *digits, void *ret, size_t size) {
    unsigned char *bytes = ret;

    for (size_t i = 0; i < size; i++) {
        int high = value_of(digits[2 * i]);
        int low = high < 0 ? -1 : value_of(digits[2 * i + 1]);

        if (low < 0)
            return false;
        bytes[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}
