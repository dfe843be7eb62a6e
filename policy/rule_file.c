#include "policy/rule_file.private.h"

#include "common/cleanup.h"
#include "policy/check_parse.private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <yaml.h>

#define SIZE_MOST (1 << 20) /* of a file, in bytes */

struct reader {
    struct arena *arena;
    struct error *err;
    const char *path;
    yaml_parser_t parser;
    yaml_event_t event; /* the current event */
    bool has_event;
    const char *rule; /* the rule whose value is being read, NULL: none */
    unsigned checks;  /* of that rule in list form */
    FILE *file;
    size_t size; /* read so far */
};

static unsigned reader_line(const struct reader *reader) {
    return (unsigned)reader->event.start_mark.line + 1;
}

static int reader_refuse(struct reader *reader, const char *reason) {
    if (reader->rule)
        return error_set(reader->err, ERROR_BAD_REQUEST, "%s:%u: rule %s: %s", reader->path,
                         reader_line(reader), reader->rule, reason);
    return error_set(reader->err, ERROR_BAD_REQUEST, "%s:%u: %s", reader->path, reader_line(reader),
                     reason);
}

static int reader_next(struct reader *reader) {
    if (reader->has_event)
        yaml_event_delete(&reader->event);
    reader->has_event = yaml_parser_parse(&reader->parser, &reader->event);
    if (reader->has_event)
        return 0;
    if (ferror(reader->file))
        return error_set(reader->err, ERROR_UNAVAILABLE, "%s: cannot be read", reader->path);
    if (reader->parser.error == YAML_MEMORY_ERROR)
        return error_set(reader->err, ERROR_UNAVAILABLE, "%s: no memory to read it", reader->path);
    if (reader->size > SIZE_MOST)
        return error_set(reader->err, ERROR_BAD_REQUEST,
                         "%s:%zu: the file has more than %d bytes up to here", reader->path,
                         reader->parser.mark.line + 1, SIZE_MOST);
    return error_set(reader->err, ERROR_BAD_REQUEST, "%s:%zu: %s", reader->path,
                     reader->parser.problem_mark.line + 1,
                     reader->parser.problem ? reader->parser.problem : "cannot be read");
}

static bool reader_at(const struct reader *reader, yaml_event_type_t type) {
    return reader->event.type == type;
}

/* The text of a scalar; NULL with an error for anything else, also for an empty value. */
static const char *reader_text(struct reader *reader) {
    const char *text = (const char *)reader->event.data.scalar.value;

    if (!reader_at(reader, YAML_SCALAR_EVENT)) {
        reader_refuse(reader, "a text is expected here");
        return NULL;
    }
    if (strlen(text) != reader->event.data.scalar.length) {
        reader_refuse(reader, "the text has a NUL");
        return NULL;
    }
    if (reader->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
        (!*text || strcmp(text, "~") == 0 || strcmp(text, "null") == 0)) {
        reader_refuse(reader, "nothing stands here; \"\" is always true, \"!\" never");
        return NULL;
    }
    return arena_text(reader->arena, text);
}

/* Adds file, line and rule to an error of check_parse(). */
static const struct check *reader_checked(struct reader *reader, const struct check *check) {
    if (!check)
        error_context(reader->err, "%s:%u: rule %s", reader->path, reader_line(reader),
                      reader->rule);
    return check;
}

static const struct check *read_word(struct reader *reader) {
    const char *text = reader_text(reader);

    if (text && ++reader->checks > CHECK_TERMS_MOST)
        reader_refuse(reader, "there are too many checks");
    if (!text || reader->checks > CHECK_TERMS_MOST)
        return NULL;
    return reader_checked(reader, check_word(reader->arena, text, reader->err));
}

/* One alternative: a check, or a list of checks; an empty list is none. */
static int read_alternative(struct reader *reader, const struct check **ret) {
    *ret = NULL;
    if (!reader_at(reader, YAML_SEQUENCE_START_EVENT)) {
        *ret = read_word(reader);
        return *ret ? 0 : -1;
    }
    if (reader_next(reader) < 0)
        return -1;
    while (!reader_at(reader, YAML_SEQUENCE_END_EVENT)) {
        const struct check *check = read_word(reader);

        if (!check || reader_next(reader) < 0)
            return -1;
        *ret = check_all(reader->arena, *ret, check);
    }
    return 0;
}

/* The old list form: an empty list is true, a list of empty lists false. */
static const struct check *read_list(struct reader *reader) {
    const struct check *checks = NULL;
    bool empty = true;

    if (reader_next(reader) < 0)
        return NULL;
    while (!reader_at(reader, YAML_SEQUENCE_END_EVENT)) {
        const struct check *alternative;

        if (read_alternative(reader, &alternative) < 0 || reader_next(reader) < 0)
            return NULL;
        empty = false;
        if (alternative)
            checks = check_any(reader->arena, checks, alternative);
    }
    return checks ? checks : check_constant(empty);
}

static const struct check *read_rule(struct reader *reader) {
    const char *text;

    reader->checks = 0;
    if (reader_at(reader, YAML_SEQUENCE_START_EVENT))
        return read_list(reader);
    text = reader_text(reader);
    if (!text)
        return NULL;
    return reader_checked(reader, check_parse(reader->arena, text, reader->err));
}

static int read_entry(struct reader *reader, struct rule_entry *entry) {
    entry->file = reader->path;
    entry->line = reader_line(reader);
    entry->name = reader_text(reader);
    if (!entry->name)
        return -1;
    reader->rule = entry->name;
    if (reader_next(reader) < 0)
        return -1;
    entry->check = read_rule(reader);
    reader->rule = NULL;
    return entry->check ? reader_next(reader) : -1;
}

static int read_mapping(struct reader *reader, struct rule_entry **end) {
    if (!reader_at(reader, YAML_MAPPING_START_EVENT))
        return reader_refuse(reader, "the file must be a mapping of names to rules");
    if (reader_next(reader) < 0)
        return -1;
    while (!reader_at(reader, YAML_MAPPING_END_EVENT)) {
        *end = arena_alloc(reader->arena, sizeof(**end));
        if (read_entry(reader, *end) < 0)
            return -1;
        end = &(*end)->next;
    }
    return 0;
}

static int read_stream(struct reader *reader, struct rule_entry **ret) {
    bool is_empty; /* comments only */

    if (reader_next(reader) < 0 || reader_next(reader) < 0)
        return -1;
    if (reader_at(reader, YAML_STREAM_END_EVENT))
        return 0;
    if (reader_next(reader) < 0)
        return -1;
    is_empty = reader_at(reader, YAML_SCALAR_EVENT) && reader->event.data.scalar.length == 0 &&
               reader->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (!is_empty && read_mapping(reader, ret) < 0)
        return -1;
    if (reader_next(reader) < 0 || reader_next(reader) < 0)
        return -1;
    if (!reader_at(reader, YAML_STREAM_END_EVENT))
        return reader_refuse(reader, "there must be one document only");
    return 0;
}

/* A yaml_read_handler_t. */
static int read_bytes(void *arg, unsigned char *bytes, size_t room, size_t *ret) {
    struct reader *reader = arg;

    *ret = fread(bytes, 1, room, reader->file);
    reader->size += *ret;
    return reader->size <= SIZE_MOST && !ferror(reader->file);
}

/* Only regular files: others may have no end. */
static FILE *stream_of(int *fd, const char *path, struct error *err) {
    struct stat found;
    FILE *file;

    if (fstat(*fd, &found) < 0 || !S_ISREG(found.st_mode)) {
        error_set(err, ERROR_BAD_REQUEST, "%s: not a regular file", path);
        return NULL;
    }
    file = fdopen(*fd, "r");
    if (file)
        take_fd(*fd);
    else
        error_errno(err, ERROR_UNAVAILABLE, "%s", path);
    return file;
}

int rule_file_read(struct arena *arena, const char *path, bool optional, struct rule_entry **ret,
                   struct error *err) {
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* opening a pipe without a
                                                                       * writer must not block */
    struct reader reader = { .arena = arena, .err = err };
    autofile FILE *file = NULL;
    int result;

    *ret = NULL;
    if (fd < 0 && errno == ENOENT && optional)
        return 0;
    if (fd < 0)
        return error_errno(err, ERROR_UNAVAILABLE, "%s", path);
    file = stream_of(&fd, path, err);
    if (!file)
        return -1;
    if (!yaml_parser_initialize(&reader.parser))
        return error_set(err, ERROR_UNAVAILABLE, "%s: no memory to read it", path);
    reader.path = arena_text(arena, path);
    reader.file = file;
    yaml_parser_set_input(&reader.parser, read_bytes, &reader);
    result = read_stream(&reader, ret);
    if (reader.has_event)
        yaml_event_delete(&reader.event);
    yaml_parser_delete(&reader.parser);
    return result;
}
