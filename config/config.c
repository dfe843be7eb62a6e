#include "config/config.h"

#include "common/assert.h"
#include "common/nearest.h"
#include "config/host_name.h"
#include "config/option_file.private.h"
#include "config/option_list.h"
#include "config/value.private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct config {
    struct arena *arena;
    struct value *values; /* sorted by section and key */
    size_t count;
    const char *file; /* NULL: none was read */
};

/* ---- search ---- */

static int compare_values(const void *a, const void *b) {
    const struct value *left = a, *right = b;
    int order = strcmp(left->section, right->section);

    return order != 0 ? order : strcmp(left->option->key, right->option->key);
}

static struct value *find_value(const struct config *config, const char *section, const char *key) {
    const struct option option = { .key = key };
    const struct value wanted = { .section = section, .option = &option };

    return bsearch(&wanted, config->values, config->count, sizeof(wanted), compare_values);
}

static const struct value *get_value(const struct config *config, const char *section,
                                     const char *key) {
    const struct value *value = find_value(config, section, key);

    assert(value);
    return value;
}

/* '-' and '_' are alike on the command line. */
static bool alike(const char *a, const char *b) {
    while (*a && (*a == *b || (strchr("-_", *a) && strchr("-_", *b) && *b)))
        a++, b++;
    return *a == '\0' && *b == '\0';
}

static struct value *find_alike(const struct config *config, const char *section, const char *key) {
    struct value *value = find_value(config, section, key);

    for (size_t i = 0; i < config->count && !value; i++) {
        if (alike(section, config->values[i].section) && alike(key, config->values[i].option->key))
            value = &config->values[i];
    }
    return value;
}

/* ---- unknown names ---- */

static bool has_section(const struct config *config, const char *section) {
    for (size_t i = 0; i < config->count; i++) {
        if (strcmp(config->values[i].section, section) == 0)
            return true;
    }
    return false;
}

static int refuse_section(const struct config *config, const struct option_line *line,
                          struct error *err) {
    struct nearest nearest = nearest_to(line->section);

    for (size_t i = 0; i < config->count; i++)
        nearest_try(&nearest, config->values[i].section);
    if (nearest.word)
        return error_set(err, ERROR_BAD_REQUEST,
                         "%s: [%s]: unknown section; did you mean [%s]? (A backend's section must "
                         "be named in enabled_backends, a pool's in enabled_pools.)",
                         line->place, line->section, nearest.word);
    return error_set(err, ERROR_BAD_REQUEST,
                     "%s: [%s]: unknown section; a backend's section must be named in "
                     "[DEFAULT] enabled_backends, a pool's in [storage] enabled_pools",
                     line->place, line->section);
}

static int refuse_key(const struct config *config, const struct option_line *line,
                      struct error *err) {
    struct nearest nearest = nearest_to(line->key);
    const char *elsewhere = NULL;

    for (size_t i = 0; i < config->count; i++) {
        if (alike(config->values[i].section, line->section))
            nearest_try(&nearest, config->values[i].option->key);
        if (alike(config->values[i].option->key, line->key))
            elsewhere = config->values[i].section;
    }
    if (elsewhere)
        return error_set(err, ERROR_BAD_REQUEST, "%s: [%s] %s: unknown key; it belongs to [%s]",
                         line->place, line->section, line->key, elsewhere);
    if (nearest.word)
        return error_set(err, ERROR_BAD_REQUEST, "%s: [%s] %s: unknown key; did you mean %s?",
                         line->place, line->section, line->key, nearest.word);
    return error_set(err, ERROR_BAD_REQUEST, "%s: [%s] %s: unknown key", line->place, line->section,
                     line->key);
}

/* ---- sources ---- */

static int apply_file(struct config *config, const struct option_line *lines, struct error *err) {
    for (const struct option_line *line = lines; line; line = line->next) {
        struct value *value;

        if (!has_section(config, line->section))
            return refuse_section(config, line, err);
        if (!line->key)
            continue;
        value = find_value(config, line->section, line->key);
        if (!value)
            return refuse_key(config, line, err);
        if (value_assign(config->arena, value, line->value, line->place, err) < 0)
            return -1;
    }
    return 0;
}

/* SCORIA_KEY for DEFAULT, else SCORIA_SECTION_KEY: upper case, other characters are '_'. */
static const char *environment_name(struct arena *arena, const char *section, const char *key) {
    char *name = strcmp(section, "DEFAULT") == 0
                     ? arena_format(arena, "SCORIA_%s", key)
                     : arena_format(arena, "SCORIA_%s_%s", section, key);

    for (char *c = name; *c; c++)
        *c = isalnum((unsigned char)*c) ? (char)toupper((unsigned char)*c) : '_';
    return name;
}

/* "--section.key=value": the key starts after the last dot before '='. */
static struct option_line split_argument(struct arena *arena, const char *argument) {
    size_t length = strcspn(argument, "=");

    assert(strncmp(argument, "--", 2) == 0);
    char *name = arena_text_n(arena, argument + 2, length - 2);
    char *dot = strrchr(name, '.');
    struct option_line line = {
        .place = arena_format(arena, "command line --%s", name),
        .section = dot ? name : "DEFAULT",
        .key = dot ? dot + 1 : name,
        .value = argument[length] == '=' ? argument + length + 1 : NULL,
    };

    if (dot)
        *dot = '\0';
    return line;
}

static int apply_argument(struct config *config, const char *argument, struct error *err) {
    struct option_line line = split_argument(config->arena, argument);
    struct value *value = find_alike(config, line.section, line.key);

    if (!value)
        return refuse_key(config, &line, err);
    if (!line.value && value->option->type == OPTION_BOOL)
        line.value = "true";
    if (!line.value)
        return error_set(err, ERROR_BAD_REQUEST, "%s: needs a value: --%s=...", line.place,
                         strchr(line.place, '-') + 2);
    return value_assign(config->arena, value, line.value, line.place, err);
}

/* ---- building ---- */

static void add_value(struct config *config, const char *section, const struct option *option) {
    struct value *value = &config->values[config->count++];

    *value = (struct value){ .section = section, .option = option };
    if (option->fallback) {
        struct error err;
        int result = value_assign(config->arena, value, option->fallback, "built-in default", &err);

        assert(result == 0);
        (void)result;
    }
    value->given = false;
}

/* The names in a list as the sources set them, before the values exist. */
static const char **find_names(struct arena *arena, const struct option_list *list,
                               const struct option_names *named, const struct option_line *lines,
                               const char *const *arguments) {
    const struct option *option = option_list_find(list, named->list, named->key);
    const char *environment = getenv(environment_name(arena, named->list, named->key));
    const char *text = option ? option->fallback : NULL;

    for (; option && lines; lines = lines->next) {
        if (strcmp(lines->section, named->list) == 0 && lines->key &&
            strcmp(lines->key, named->key) == 0)
            text = lines->value;
    }
    if (option && environment && environment[0])
        text = environment;
    for (; option && arguments && *arguments; arguments++) {
        struct option_line line = split_argument(arena, *arguments);

        if (alike(line.section, named->list) && alike(line.key, named->key) && line.value)
            text = line.value;
    }
    return value_split_list(arena, text ? text : "");
}

static int add_section(struct config *config, const struct option_list *list,
                       const struct option_names *named, const char *name, struct error *err) {
    if (!host_name_is_section(name))
        return error_set(err, ERROR_BAD_REQUEST,
                         "[%s] %s: \"%s\" cannot be a %s's name: it has \"@\", \"#\", \"/\" or a "
                         "blank in it",
                         named->list, named->key, name, named->what);
    if (has_section(config, name))
        return error_set(err, ERROR_BAD_REQUEST,
                         "[%s] %s: %s cannot be a %s's name: it is named twice, or the name of "
                         "another section",
                         named->list, named->key, name, named->what);
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->options[i]->section, named->section) == 0)
            add_value(config, name, list->options[i]);
    }
    return 0;
}

struct sources {
    const struct option_line *lines;
    const char *const *arguments;
};

static int build_values(struct config *config, const struct option_list *list,
                        const struct sources *sources, struct error *err) {
    const char **names[OPTION_NAMES];
    size_t room = list->count;

    for (unsigned n = 0; n < OPTION_NAMES; n++) {
        names[n] =
            find_names(config->arena, list, &option_names[n], sources->lines, sources->arguments);
        for (size_t i = 0; names[n][i]; i++)
            room += list->count;
    }
    config->values = arena_alloc(config->arena, room * sizeof(*config->values));
    for (size_t i = 0; i < list->count; i++) {
        if (!option_names_of(list->options[i]->section))
            add_value(config, list->options[i]->section, list->options[i]);
    }
    for (unsigned n = 0; n < OPTION_NAMES; n++) {
        for (size_t i = 0; names[n][i]; i++) {
            if (add_section(config, list, &option_names[n], names[n][i], err) < 0)
                return -1;
        }
    }
    qsort(config->values, config->count, sizeof(*config->values), compare_values);
    return 0;
}

static int fill(struct config *config, const struct option *const *tables, const char *path,
                const char *const *arguments, struct error *err) {
    const struct option_list list = option_list_make(config->arena, tables);
    struct option_line *lines = NULL;

    if (path && option_file_read(config->arena, path, &lines, err) < 0)
        return -1;
    if (build_values(config, &list, &(struct sources){ lines, arguments }, err) < 0 ||
        apply_file(config, lines, err) < 0)
        return -1;
    /* An empty variable counts as not set.  Unknown names are ignored: container platforms set
     * SCORIA_SERVICE_HOST and the like. */
    for (size_t i = 0; i < config->count; i++) {
        struct value *value = &config->values[i];
        const char *name = environment_name(config->arena, value->section, value->option->key);
        const char *text = getenv(name);

        if (text && text[0] &&
            value_assign(config->arena, value, text,
                         arena_format(config->arena, "environment %s", name), err) < 0)
            return -1;
    }
    for (; arguments && *arguments; arguments++) {
        if (apply_argument(config, *arguments, err) < 0)
            return -1;
    }
    return 0;
}

int config_load(const struct option *const *tables, const char *path, const char *const *arguments,
                struct config **ret, struct error *err) {
    struct arena *arena = arena_new();
    struct config *config = arena_alloc(arena, sizeof(*config));

    config->arena = arena;
    config->file = arena_text(arena, path);
    if (fill(config, tables, path, arguments, err) < 0) {
        config_free(config);
        return -1;
    }
    *ret = config;
    return 0;
}

void config_free(struct config *config) {
    if (config)
        arena_free(config->arena);
}

/* ---- reading ---- */

const char *config_file(const struct config *config) {
    return config->file;
}

const char *config_text(const struct config *config, const char *section, const char *key) {
    return get_value(config, section, key)->text;
}

int64_t config_int(const struct config *config, const char *section, const char *key) {
    return get_value(config, section, key)->integer;
}

double config_float(const struct config *config, const char *section, const char *key) {
    return get_value(config, section, key)->real;
}

bool config_bool(const struct config *config, const char *section, const char *key) {
    return get_value(config, section, key)->integer != 0;
}

const char *config_item(const struct config *config, const char *section, const char *key,
                        size_t i) {
    const char **items = get_value(config, section, key)->items;

    for (size_t before = 0; items && *items && before < i; before++)
        items++;
    return items ? *items : NULL;
}

bool config_given(const struct config *config, const char *section, const char *key) {
    return get_value(config, section, key)->given;
}

/* An integer's range is its row's: it fits its member. */
static void fill_member(const struct value *value, const struct option *option, void *member) {
    int64_t integer = value->integer * (option->unit ? option->unit : 1);

    switch (option->member) {
    case OPTION_NO_MEMBER:
        break;
    case OPTION_MEMBER_BOOL:
        assert(option->type == OPTION_BOOL);
        *(bool *)member = integer != 0;
        break;
    case OPTION_MEMBER_INT:
        assert(option->type == OPTION_INT || option->type == OPTION_SECONDS);
        *(unsigned *)member = (unsigned)integer;
        break;
    case OPTION_MEMBER_INT64:
        assert(option->type == OPTION_INT || option->type == OPTION_SECONDS);
        *(int64_t *)member = integer;
        break;
    case OPTION_MEMBER_DOUBLE:
        assert(option->type == OPTION_FLOAT);
        *(double *)member = value->real;
        break;
    case OPTION_MEMBER_TEXT:
        assert(option->type == OPTION_TEXT || option->type == OPTION_WORD ||
               option->type == OPTION_HOST);
        *(const char **)member = value->text;
        break;
    }
}

void config_fill(const struct config *config, const char *section, const struct option *options,
                 void *ret) {
    for (const struct option *option = options; option->type != OPTION_TYPE_END; option++) {
        if (option->member != OPTION_NO_MEMBER)
            fill_member(get_value(config, section ? section : option->section, option->key), option,
                        (char *)ret + option->offset);
    }
}

int config_set(struct config *config, const char *section, const char *key, const char *value,
               struct error *err) {
    const struct option_line line = { .section = section,
                                      .key = key,
                                      .place = arena_format(config->arena, "set %s", key) };
    struct value *found = find_alike(config, section, key);

    return found ? value_assign(config->arena, found, value, line.place, err)
                 : refuse_key(config, &line, err);
}
