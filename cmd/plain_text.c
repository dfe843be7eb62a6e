#include "cmd/plain_text.h"

#include <stdbool.h>

/* `to` NULL: counts only. */
static int put(FILE *to, const char *text) {
    int places = 0;

    for (; *text; text++) {
        unsigned char first = (unsigned char)text[0], second = (unsigned char)text[1];
        bool longer = first == 0xC2 && second >= 0x80 && second <= 0x9F;

        if (to)
            putc(first < ' ' || first == 0x7F || longer ? '?' : first, to);
        places += (first & 0xC0) != 0x80; /* not for continuation bytes */
        text += longer;
    }
    return places;
}

int plain_text_put(FILE *to, const char *text) {
    return put(to, text);
}

int plain_text_width(const char *text) {
    return put(NULL, text);
}
