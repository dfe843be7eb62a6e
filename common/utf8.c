#include "common/utf8.h"

static size_t length_by_lead(unsigned char lead) {
    if (lead < 0x80)
        return 1;
    if (lead >= 0xc2 && lead < 0xe0)
        return 2;
    if (lead >= 0xe0 && lead < 0xf0)
        return 3;
    return lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
}

size_t utf8_next(const char *text, size_t size, uint32_t *ret_character) {
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const unsigned char *bytes = (const unsigned char *)text;
    size_t length = size > 0 ? length_by_lead(bytes[0]) : 0;
    uint32_t character;

    if (length == 0 || length > size)
        return 0;
    character = length == 1 ? bytes[0] : bytes[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        character = character << 6 | (bytes[i] & 0x3f);
    }
    if (character < least[length] || character > 0x10ffff ||
        (character >= 0xd800 && character <= 0xdfff))
        return 0;
    *ret_character = character;
    return length;
}

bool utf8_is_control(uint32_t character) {
    return character < 0x20 || (character >= 0x7f && character < 0xa0) || character == 0x061c ||
           character == 0x200e || character == 0x200f ||
           (character >= 0x2028 && character <= 0x202e) ||
           (character >= 0x2066 && character <= 0x2069);
}

/* Advances by one character, or by one byte that belongs to none. */
static size_t step(const char *text, size_t size) {
    uint32_t character;
    size_t length = utf8_next(text, size, &character);

    return length > 0 ? length : 1;
}

bool utf8_valid(const char *text, size_t size) {
    uint32_t character;

    for (size_t i = 0, length; i < size; i += length) {
        length = utf8_next(text + i, size - i, &character);
        if (length == 0)
            return false;
    }
    return true;
}

size_t utf8_count(const char *text, size_t size) {
    size_t count = 0;

    for (size_t i = 0; i < size; count++)
        i += step(text + i, size - i);
    return count;
}

size_t utf8_prefix(const char *text, size_t size, size_t count) {
    size_t bytes = 0;

    while (count-- > 0 && bytes < size)
        bytes += step(text + bytes, size - bytes);
    return bytes;
}

size_t utf8_cut(const char *text, size_t size, size_t most) {
    if (size <= most)
        return size;
    /* A character has at most three continuation bytes. */
    for (size_t back = 1; back <= 3 && back <= most; back++) {
        size_t length = length_by_lead((unsigned char)text[most - back]);

        if (length > 0)
            return length > back ? most - back : most;
    }
    return most;
}
