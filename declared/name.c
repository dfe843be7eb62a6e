#include "declared/name.h"

#include <string.h>

#define SUBDOMAIN_MOST 253
#define WORD_MOST      63

#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define UPPER  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

static bool is_one_of(char c, const char *set) {
    return c != '\0' && strchr(set, c);
}

/* `length` characters of `inside`, with one of `ends` at both ends. */
static bool is_word(const char *text, size_t length, const char *ends, const char *inside) {
    return length > 0 && is_one_of(text[0], ends) && is_one_of(text[length - 1], ends) &&
           strspn(text, inside) >= length;
}

static bool is_subdomain(const char *text, size_t length) {
    const char *end = text + length;

    if (length > SUBDOMAIN_MOST)
        return false;
    for (;;) {
        const char *dot = memchr(text, '.', (size_t)(end - text));
        const char *stop = dot ? dot : end;

        if (!is_word(text, (size_t)(stop - text), LOWER DIGITS, LOWER DIGITS "-"))
            return false;
        if (!dot)
            return true;
        text = dot + 1;
    }
}

bool name_is_subdomain(const char *text) {
    return is_subdomain(text, strlen(text));
}

bool name_is_label_value(const char *text) {
    size_t length = strlen(text);

    return length == 0 || (length <= WORD_MOST &&
                           is_word(text, length, LOWER UPPER DIGITS, LOWER UPPER DIGITS "-_."));
}

bool name_is_qualified(const char *text) {
    const char *slash = strchr(text, '/');

    if (slash && !is_subdomain(text, (size_t)(slash - text)))
        return false;
    text = slash ? slash + 1 : text;
    return *text != '\0' && name_is_label_value(text);
}

bool name_is_host(const char *text) {
    return *text != '\0' && text[strspn(text, LOWER UPPER DIGITS "-._:")] == '\0';
}
