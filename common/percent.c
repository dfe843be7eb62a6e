#include "common/percent.h"

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* The value of two digits; -1 when they are not hexadecimal, or encode NUL. */
static int decode_hex(const char *text, size_t length) {
    int high = length >= 2 ? hex_digit(text[0]) : -1;
    int low = high >= 0 ? hex_digit(text[1]) : -1;

    return low >= 0 && high + low > 0 ? high * 16 + low : -1;
}

static char *decode(struct arena *arena, const char *text, size_t length, bool form, bool lenient) {
    char *decoded = arena_alloc(arena, length + 1);
    size_t size = 0;

    for (size_t i = 0; i < length; i++) {
        int character = (unsigned char)text[i];

        if (character == '%') {
            character = decode_hex(text + i + 1, length - i - 1);
            if (character < 0 && !lenient)
                return NULL;
            i += character < 0 ? 0 : 2;
            character = character < 0 ? '%' : character;
        } else if (character == '+' && form) {
            character = ' ';
        } else if (character == '\0') {
            return NULL;
        }
        decoded[size++] = (char)character;
    }
    return decoded;
}

char *percent_decode(struct arena *arena, const char *text, size_t length, bool form) {
    return decode(arena, text, length, form, false);
}

char *percent_decode_lenient(struct arena *arena, const char *text, size_t length) {
    return decode(arena, text, length, false, true);
}
