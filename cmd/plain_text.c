#include "cmd/plain_text.h"

#include <stdbool.h>

int plain_text_put(FILE *to, const char *text) {
    int cells = 0;

    for (; *text; text++, cells++) {
        unsigned char first = (unsigned char)text[0], second = (unsigned char)text[1];
        bool longer = first == 0xC2 && second >= 0x80 && second <= 0x9F;

        putc(first < ' ' || first == 0x7F || longer ? '?' : first, to);
        text += longer;
    }
    return cells;
}
