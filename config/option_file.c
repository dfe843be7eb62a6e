#include "config/option_file.private.h"

#include "common/cleanup.h"
#include "common/utf8.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define BLANKS " \t\r\n\f\v"

struct reader {
    struct arena *arena;
    const char *path;
    unsigned number;
    const char *section;
    struct option_line **end; /* where the next line is linked */
};

static int option_file_refuse(const struct reader *reader, const char *reason, struct error *err) {
    return error_set(err, ERROR_BAD_REQUEST, "%s:%u: %s", reader->path, reader->number, reason);
}

static char *trim(char *text) {
    size_t length;

    text += strspn(text, BLANKS);
    length = strlen(text);
    while (length > 0 && strchr(BLANKS, text[length - 1]))
        text[--length] = '\0';
    return text;
}

static void add_line(struct reader *reader, const char *key, const char *value) {
    struct option_line *line = arena_alloc(reader->arena, sizeof(*line));

    line->place = arena_format(reader->arena, "%s:%u", reader->path, reader->number);
    line->section = reader->section;
    line->key = arena_text(reader->arena, key);
    line->value = arena_text(reader->arena, value);
    *reader->end = line;
    reader->end = &line->next;
}

static int read_key(struct reader *reader, char *text, struct error *err) {
    size_t length = strcspn(text, "=:");
    char *key, *value;

    if (text[length] == '\0')
        return option_file_refuse(reader, "neither \"key = value\" nor \"[section]\"", err);
    if (!reader->section)
        return option_file_refuse(reader, "stands before the first [section]", err);
    text[length] = '\0';
    key = trim(text);
    value = trim(text + length + 1);
    if (key[0] == '\0')
        return option_file_refuse(reader, "there is no key in front of the value", err);
    add_line(reader, key, value);
    return 0;
}

static int read_line(struct reader *reader, char *line, size_t size, struct error *err) {
    bool indented = line[0] == ' ' || line[0] == '\t';
    char *text, *end;

    if (strlen(line) != size || !utf8_valid(line, size))
        return option_file_refuse(reader, "not UTF-8 text", err);
    if (reader->number == 1 && strncmp(line, "\xef\xbb\xbf", 3) == 0)
        line += 3;
    text = trim(line);
    if (text[0] == '\0' || text[0] == '#' || text[0] == ';')
        return 0;
    if (indented)
        return option_file_refuse(reader, "begins with a blank; a value is one line", err);
    if (text[0] != '[')
        return read_key(reader, text, err);
    end = strchr(text, ']');
    if (!end || end[1] != '\0')
        return option_file_refuse(reader, "a section is [name] and nothing else", err);
    *end = '\0';
    text = trim(text + 1);
    if (text[0] == '\0')
        return option_file_refuse(reader, "the section has no name", err);
    reader->section = arena_text(reader->arena, text);
    add_line(reader, NULL, NULL);
    return 0;
}

int option_file_read(struct arena *arena, const char *path, struct option_line **ret,
                     struct error *err) {
    autofile FILE *file = fopen(path, "re");
    autofree char *line = NULL;
    struct option_line *first = NULL;
    struct reader reader = { .arena = arena, .path = path, .end = &first };
    size_t room = 0;
    ssize_t size;

    if (!file)
        return error_errno(err, ERROR_BAD_REQUEST, "cannot read %s", path);
    while (errno = 0, (size = getline(&line, &room, file)) >= 0) {
        reader.number++;
        if (read_line(&reader, line, (size_t)size, err) < 0)
            return -1;
    }
    if (ferror(file))
        return error_errno(err, ERROR_BAD_REQUEST, "cannot read %s", path);
    *ret = first;
    return 0;
}
