#include "model/scheduler/capability.h"

#include "common/cleanup.h"
#include "drivers/driver_pool.h"
#include "json/json.h"

#include <stdio.h>
#include <string.h>

#define SCOPE "capabilities:"

/* A key or value of an extra spec has at most 255 characters. */
enum { WORD_SIZE = 255 * 4 + 1 };

/* The next word of *rest into `word`; false when there is none. */
static bool next_word(const char **rest, char word[WORD_SIZE]) {
    const char *start = *rest + strspn(*rest, " \t");
    size_t length = strcspn(start, " \t");

    *rest = start + length;
    snprintf(word, WORD_SIZE, "%.*s", (int)length, start);
    return length > 0;
}

static bool is_true(const char *text) {
    bool truth = false;

    return json_boolean_word(text, true, &truth) && truth;
}

static bool read_number(const char *text, double *ret) {
    char *end;

    /* strtod alone would accept "infinity" and hexadecimal digits. */
    if (text[0] == '\0' || text[strspn(text, "0123456789+-.eE")] != '\0')
        return false;
    *ret = strtod(text, &end);
    return *end == '\0';
}

enum comparison { LESS = 1, EQUAL = 2, GREATER = 4 };

static unsigned comparison_of(int sign) {
    return sign < 0 ? LESS : sign > 0 ? GREATER : EQUAL;
}

static bool number_holds(const char *value, const char *wanted, unsigned allowed) {
    double left, right;

    return read_number(value, &left) && read_number(wanted, &right) &&
           (comparison_of((left > right) - (left < right)) & allowed);
}

static bool text_holds(const char *value, const char *wanted, unsigned allowed) {
    return comparison_of(strcmp(value, wanted)) & allowed;
}

static bool part_holds(const char *value, const char *wanted, unsigned allowed) {
    (void)allowed;
    return strstr(value, wanted) != NULL;
}

static bool truth_holds(const char *value, const char *wanted, unsigned allowed) {
    (void)allowed;
    return is_true(value) == is_true(wanted);
}

static const struct operator{
    const char *word;
    bool (*holds)(const char *value, const char *wanted, unsigned allowed);
    unsigned allowed;
}
operators[] = {
    { "=", number_holds, EQUAL | GREATER },
    { "==", number_holds, EQUAL },
    { "!=", number_holds, LESS | GREATER },
    { ">=", number_holds, EQUAL | GREATER },
    { "<=", number_holds, EQUAL | LESS },
    { "s==", text_holds, EQUAL },
    { "s!=", text_holds, LESS | GREATER },
    { "s<", text_holds, LESS },
    { "s<=", text_holds, LESS | EQUAL },
    { "s>", text_holds, GREATER },
    { "s>=", text_holds, GREATER | EQUAL },
    { "<in>", part_holds, 0 },
    { "<is>", truth_holds, 0 },
};

/* "<or> a <or> b": the word after each operator. */
static bool is_one_of(const char *value, const char *rest) {
    char word[WORD_SIZE];

    while (next_word(&rest, word)) {
        if (strcmp(word, value) == 0)
            return true;
        if (!next_word(&rest, word))
            return false;
    }
    return false;
}

static bool has_all(const char *value, const char *rest) {
    char word[WORD_SIZE];
    bool some = false;

    for (; next_word(&rest, word); some = true)
        if (!strstr(value, word))
            return false;
    return some;
}

static bool text_matches(const char *value, bool is_boolean, const char *wanted) {
    const char *rest = wanted;
    char word[WORD_SIZE], operand[WORD_SIZE];

    next_word(&rest, word);
    if (strcmp(word, "<or>") == 0)
        return is_one_of(value, rest);
    if (strcmp(word, "<all-in>") == 0)
        return has_all(value, rest);
    for (size_t i = 0; i < LENGTH(operators); i++)
        if (strcmp(operators[i].word, word) == 0)
            return next_word(&rest, operand) &&
                   operators[i].holds(value, operand, operators[i].allowed);
    if (is_boolean) {
        bool truth;

        return json_boolean_word(wanted, true, &truth) && truth == is_true(value);
    }
    return strcmp(value, wanted) == 0;
}

static bool value_matches(const json_t *value, const char *wanted) {
    char number[64];

    switch (json_typeof(value)) {
    case JSON_STRING:
        return text_matches(json_string_value(value), false, wanted);
    case JSON_TRUE:
        return text_matches("True", true, wanted);
    case JSON_FALSE:
        return text_matches("False", true, wanted);
    case JSON_INTEGER:
        snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        return text_matches(number, false, wanted);
    case JSON_REAL:
        snprintf(number, sizeof(number), "%.15g", json_real_value(value));
        return text_matches(number, false, wanted);
    default:
        return false;
    }
}

/* The name of a capability is a path, with colons. */
static bool capability_holds(const json_t *capabilities, const char *path, const char *wanted) {
    const json_t *capability = capabilities;
    char name[WORD_SIZE];

    while (capability && *path) {
        size_t length = strcspn(path, ":");

        snprintf(name, sizeof(name), "%.*s", (int)length, path);
        capability = json_object_get(capability, name);
        path += length + (path[length] == ':');
    }
    if (!json_is_array(capability))
        return capability && value_matches(capability, wanted);
    for (size_t i = 0; i < json_array_size(capability); i++)
        if (value_matches(json_array_get(capability, i), wanted))
            return true;
    return false;
}

/* The name of the capability in a spec; NULL when the spec is not for placement. */
static const char *spec_path(const struct pair *spec) {
    if (!spec->value)
        return NULL;
    if (strncmp(spec->key, SCOPE, strlen(SCOPE)) == 0)
        return spec->key + strlen(SCOPE);
    return strchr(spec->key, ':') ? NULL : spec->key;
}

bool capability_needed(const struct pairs *specs) {
    for (unsigned i = 0; i < specs->count; i++)
        if (spec_path(&specs->items[i]))
            return true;
    return false;
}

bool capability_matches(const json_t *capabilities, const struct pairs *specs) {
    for (unsigned i = 0; i < specs->count; i++) {
        const char *path = spec_path(&specs->items[i]);

        /* one of the pool's extra specs is read by its driver */
        if (path && !json_list_has(json_object_get(capabilities, POOL_EXTRA_SPECS), path) &&
            !capability_holds(capabilities, path, specs->items[i].value))
            return false;
    }
    return true;
}
