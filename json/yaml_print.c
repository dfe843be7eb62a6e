#include "json/yaml_print.h"

#include "common/cleanup.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#define INDENT 2

/* Of YAML 1.1 and 1.2; ASCII case does not count. */
static bool is_other_word(const char *text) {
    static const char *const words[] = {
        "true", "false", "yes", "no", "on", "off", "null", "y", "n"
    };

    for (size_t i = 0; i < LENGTH(words); i++)
        if (strcasecmp(text, words[i]) == 0)
            return true;
    return false;
}

/* Starts with a letter and has no special characters. */
static bool is_plain(const char *text) {
    size_t length = strlen(text);

    return length > 0 && isascii((unsigned char)text[0]) && isalpha((unsigned char)text[0]) &&
           text[length - 1] != ' ' && !is_other_word(text) &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                        " .,;/()_-") == length;
}

static void print_text(const char *text, FILE *out) {
    json_t *quoted;

    if (is_plain(text)) {
        fputs(text, out);
        return;
    }
    quoted = json_string(text);
    json_dumpf(quoted, out, JSON_ENCODE_ANY); /* YAML reads the escapes of JSON */
    json_decref(quoted);
}

static void print_value(const json_t *value, int column, FILE *out);

/* Called at `column` of the line of its first member. */
static void print_object(const json_t *object, int column, FILE *out) {
    bool first = true;
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        fprintf(out, "%*s", first ? 0 : column, "");
        print_text(key, out);
        putc(':', out);
        print_value(value, column + INDENT, out);
        first = false;
    }
}

/* Each member starts after its hyphen. */
static void print_list(const json_t *list, int column, FILE *out) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *value = json_array_get(list, i);

        fprintf(out, "%*s-", column, "");
        if (json_object_size(value) > 0) {
            putc(' ', out);
            print_object(value, column + INDENT, out);
        } else {
            print_value(value, column + INDENT, out);
        }
    }
}

/* The value after "key:" or "-", with the line break. */
static void print_value(const json_t *value, int column, FILE *out) {
    bool block = json_object_size(value) > 0 || json_array_size(value) > 0;

    putc(block ? '\n' : ' ', out);
    if (json_object_size(value) > 0) {
        fprintf(out, "%*s", column, "");
        print_object(value, column, out);
        return;
    }
    if (json_array_size(value) > 0) {
        print_list(value, column, out);
        return;
    }
    if (json_is_string(value))
        print_text(json_string_value(value), out);
    else
        json_dumpf(value, out, JSON_ENCODE_ANY);
    putc('\n', out);
}

void yaml_print(const json_t *tree, FILE *out) {
    if (json_object_size(tree) > 0)
        print_object(tree, 0, out);
    else if (json_array_size(tree) > 0)
        print_list(tree, 0, out);
    else {
        json_dumpf(tree, out, JSON_ENCODE_ANY);
        putc('\n', out);
    }
}
