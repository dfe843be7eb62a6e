#include "cmd/plain_text.h"

#include "common/utf8.h"

#include <string.h>

/* `to` NULL: counts only. */
static int put(FILE *to, const char *text) {
    size_t size = strlen(text);
    int places = 0;

    for (size_t i = 0, length; i < size; i += length, places++) {
        uint32_t character;
        bool plain;

        length = utf8_next(text + i, size - i, &character);
        plain = length > 0 && !utf8_is_control(character);
        length = length > 0 ? length : 1;
        if (to && plain)
            fwrite(text + i, 1, length, to);
        else if (to)
            putc('?', to);
    }
    return places;
}

int plain_text_put(FILE *to, const char *text) {
    return put(to, text);
}

int plain_text_width(const char *text) {
    return put(NULL, text);
}
