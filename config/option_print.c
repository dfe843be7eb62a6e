#include "config/option.h"

#include "common/arena.h"
#include "common/words.h"
#include "config/option_list.h"

#include <string.h>

#define COLUMNS 78

static bool begins_section(const struct option_list *list, size_t i) {
    return i == 0 || strcmp(list->options[i]->section, list->options[i - 1]->section) != 0;
}

/* Wrapped at blanks, each line behind the margin. */
static void print_wrapped(const char *text, const char *margin, FILE *out) {
    size_t column = 0;

    while (*(text += strspn(text, " \n"))) {
        size_t length = strcspn(text, " \n");

        if (column > 0 && column + 1 + length > COLUMNS) {
            fputc('\n', out);
            column = 0;
        }
        column += (size_t)fprintf(out, "%s%.*s", column == 0 ? margin : " ", (int)length, text);
        text += length;
    }
    if (column > 0)
        fputc('\n', out);
}

/* ---- sample ---- */

void option_print_sample(const struct option *const *tables, FILE *out) {
    autoarena struct arena *arena = arena_new();
    const struct option_list list = option_list_make(arena, tables);

    for (size_t i = 0; i < list.count; i++) {
        const struct option *option = list.options[i];
        const struct option_names *names = option_names_of(option->section);
        const char *fallback = option->secret || !option->fallback ? "" : option->fallback;

        if (begins_section(&list, i)) {
            fputs(i > 0 ? "\n" : "", out);
            /* A section that is named by the user is commented out. */
            if (names) {
                print_wrapped(arena_format(arena,
                                           "Each %s that [%s] %s names has a section of that name, "
                                           "with these keys.",
                                           names->what, names->list, names->key),
                              "# ", out);
                fputs("#[name]\n", out);
            } else {
                fprintf(out, "[%s]\n", option->section);
            }
        }
        fputc('\n', out);
        print_wrapped(option->help ? option->help : "", "# ", out);
        print_wrapped(arena_format(arena, "Value: %s.%s", option_describe(arena, option),
                                   option->fallback ? "" : " Unset by default."),
                      "# ", out);
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
        fputs("\\fR (", out);
        print_roff(option_describe(arena, option), out);
        if (option->fallback && !option->secret) {
            fputs("; default \\fB", out);
            print_roff(option->fallback[0] ? option->fallback : "empty", out);
            fputs("\\fR", out);
        }
        fputs(")\n", out);
        print_roff(option->help ? option->help : "", out);
        fputc('\n', out);
    }
}

/* ---- usage ---- */

void option_print_usage(const struct option *const *tables, const char *const *sections,
                        FILE *out) {
    autoarena struct arena *arena = arena_new();
    const struct option_list list = option_list_make(arena, tables);
    const char *others = NULL;

    for (size_t i = 0; i < list.count; i++) {
        const struct option *option = list.options[i];
        const struct option_names *names = option_names_of(option->section);
        const char *place = names ? names->place : option->section;
        bool plain = strcmp(place, "DEFAULT") == 0;

        if (sections && !words_list_has(sections, option->section)) {
            if (begins_section(&list, i))
                others = arena_join(arena, others ? others : "", others ? ", " : "", place, NULL);
            continue;
        }
        fprintf(out, "  --%s%s%s=VALUE  (%s", plain ? "" : place, plain ? "" : ".", option->key,
                option_describe(arena, option));
        if (option->fallback && *option->fallback)
            fprintf(out, "; default %s", option->fallback);
        fputs(")\n", out);
        print_wrapped(option->help ? option->help : "", "      ", out);
    }
    if (others)
        fprintf(out, "\n--help-all has those of the other sections, too: %s.\n", others);
}
