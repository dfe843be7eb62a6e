#include "json/word.h"

#include "common/cleanup.h"

#include <string.h>
#include <strings.h>

static const struct {
    const char *word;
    bool value;
} words[] = {
    { "1", true },      { "t", true },      { "true", true }, { "True", true }, { "TRUE", true },
    { "on", true },     { "On", true },     { "ON", true },   { "y", true },    { "yes", true },
    { "Yes", true },    { "YES", true },    { "0", false },   { "f", false },   { "false", false },
    { "False", false }, { "FALSE", false }, { "off", false }, { "Off", false }, { "OFF", false },
    { "n", false },     { "no", false },    { "No", false },  { "NO", false },
};

const char *json_boolean_name(size_t i) {
    return i < LENGTH(words) ? words[i].word : NULL;
}

bool json_boolean_word(const char *text, bool any_case, bool *ret) {
    for (size_t i = 0; i < LENGTH(words); i++) {
        if ((any_case ? strcasecmp : strcmp)(text, words[i].word) == 0) {
            *ret = words[i].value;
            return true;
        }
    }
    return false;
}

bool json_digits(const char *text, int64_t *ret) {
    int64_t number = 0;

    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, *text - '0', &number))
            return false;
    }
    *ret = number;
    return true;
}
