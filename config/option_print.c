#include "config/option.h"

#include "common/arena.h"
#include "common/words.h"
#include "config/option_list.h"

#include <string.h>

#define COLUMNS 78

static bool begins_section(const struct option_list *list, size_t i) {
    return i == 0 || strcmp(list->options[i]->section, list->options[i - 1]->section) != 0;
}

/* ---- sample ---- */

/* As comment lines, wrapped at blanks. */
static void print_comment(const char *text, FILE *out) {
    size_t column = 0;

    while (*(text += strspn(text, " \n"))) {
        size_t length = strcspn(text, " \n");

        if (column > 0 && column + 1 + length > COLUMNS) {
            fputc('\n', out);
            column = 0;
        }
        column += (size_t)fprintf(out, "%s%.*s", column == 0 ? "# " : " ", (int)length, text);
        text += length;
    }
    if (column > 0)
        fputc('\n', out);
}

/* Backend sections are named by the user: the sample shows them commented out. */
static void print_section(struct arena *arena, const struct option *option, FILE *out) {
    const struct option_names *names = option_names_of(option->section);

    if (names) {
        print_comment(arena_format(arena,
                                   "Each %s that [%s] %s names has a section of that name, with "
                                   "these keys.",
                                   names->what, names->list, names->key),
                      out);
        fputs("#[name]\n", out);
    } else {
        fprintf(out, "[%s]\n", option->section);
    }
}

void option_print_sample(const struct option *const *tables, FILE *out) {
    autoarena struct arena *arena = arena_new();
    const struct option_list list = option_list_make(arena, tables);

    for (size_t i = 0; i < list.count; i++) {
        const struct option *option = list.options[i];
        const char *fallback = option->secret || !option->fallback ? "" : option->fallback;

        if (begins_section(&list, i)) {
            fputs(i > 0 ? "\n" : "", out);
            print_section(arena, option, out);
        }
        fputc('\n', out);
        print_comment(option->help ? option->help : "", out);
        print_comment(arena_format(arena, "Value: %s.%s", option_describe(arena, option),
                                   option->fallback ? "" : " Unset by default."),
                      out);
        fprintf(out, "#%s =%s%s\n", option->key, fallback[0] ? " " : "", fallback);
    }
}

/* ---- man page ---- */

/* roff interprets backslashes anywhere, dots and quotes at the start of a line, and hyphens. */
static void print_roff(const char *text, FILE *out) {
    if (*text == '.' || *text == '\'')
        fputs("\\&", out);
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(*text, out);
    }
}

static void print_roff_words(struct arena *arena, const struct option *option, FILE *out) {
    fputs(" (", out);
    print_roff(option_describe(arena, option), out);
    if (option->fallback && !option->secret) {
        fputs("; default \\fB", out);
        print_roff(option->fallback[0] ? option->fallback : "empty", out);
        fputs("\\fR", out);
    }
    fputs(")\n", out);
}

void option_print_man(const struct option *const *tables, FILE *out) {
    autoarena struct arena *arena = arena_new();
    const struct option_list list = option_list_make(arena, tables);

    for (size_t i = 0; i < list.count; i++) {
        const struct option *option = list.options[i];
        const struct option_names *names = option_names_of(option->section);

        if (begins_section(&list, i))
            fprintf(out, names ? ".SS [\\fIname of a %s\\fR]\n" : ".SS [%s]\n",
                    names ? names->what : option->section);
        fputs(".TP\n\\fB", out);
        print_roff(option->key, out);
        fputs("\\fR", out);
        print_roff_words(arena, option, out);
        print_roff(option->help ? option->help : "", out);
        fputc('\n', out);
    }
}

/* ---- usage ---- */

/* Wrapped at blanks, with a margin. */
static void print_indented(const char *text, FILE *out) {
    enum { MARGIN = 6 };
    int column = 0;

    while (*text) {
        int length = (int)strcspn(text, " ");

        if (column == 0 || column + 1 + length > COLUMNS) {
            fprintf(out, "%s%*s%.*s", column ? "\n" : "", MARGIN, "", length, text);
            column = MARGIN + length;
        } else {
            fprintf(out, " %.*s", length, text);
            column += 1 + length;
        }
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static void print_usage_of(struct arena *arena, const struct option *option, FILE *out) {
    const struct option_names *names = option_names_of(option->section);
    const char *section = names ? names->place : option->section;
    bool plain = strcmp(section, "DEFAULT") == 0;

    fprintf(out, "  --%s%s%s=VALUE  (%s", plain ? "" : section, plain ? "" : ".", option->key,
            option_describe(arena, option));
    if (option->fallback && *option->fallback)
        fprintf(out, "; default %s", option->fallback);
    fputs(")\n", out);
    print_indented(option->help ? option->help : "", out);
}

void option_print_usage(const struct option *const *tables, const char *const *sections,
                        FILE *out) {
    autoarena struct arena *arena = arena_new();
    const struct option_list list = option_list_make(arena, tables);
    const char *others = NULL;

    for (size_t i = 0; i < list.count; i++) {
        const struct option *option = list.options[i];
        const struct option_names *names = option_names_of(option->section);

        if (!sections || words_list_has(sections, option->section))
            print_usage_of(arena, option, out);
        else if (begins_section(&list, i))
            others = arena_join(arena, others ? others : "", others ? ", " : "",
                                names ? names->place : option->section, NULL);
    }
    if (others)
        fprintf(out, "\n--help-all has those of the other sections, too: %s.\n", others);
}
