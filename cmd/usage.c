#include "cmd/usage.h"

#include "cmd/line.h"
#include "cmd/parts.h"
#include "common/cleanup.h"
#include "common/nearest.h"

#include <string.h>

void usage_print(FILE *out) {
    fprintf(out,
            "usage: scoria COMMAND [--config-file FILE] [--state-dir DIR] [--listen HOST:PORT]\n"
            "              [--KEY=VALUE | --SECTION.KEY=VALUE]...\n\n");
    for (const struct command *command = commands; command->name; command++)
        fprintf(out, "  %-8s %s\n", command->name, command->help);
    fprintf(out, "\nscoria COMMAND --help, or scoria help COMMAND, shows the help of one, with its "
                 "options.\nscoria --version prints the version.\n");
}

/* ---- one command ---- */

enum { OPTION_COLUMNS = 20 }; /* of the name and its value; the help starts after them */

static void print_option(const struct line_option *option, FILE *out) {
    autoarena struct arena *arena = arena_new();
    const char *name = arena_join(arena, option->brief ? option->brief : "",
                                  option->brief ? ", " : "", option->name, option->value ? " " : "",
                                  option->value ? option->value : "", NULL);
    bool fits = strlen(name) <= OPTION_COLUMNS;

    if (!fits)
        fprintf(out, "  %s\n", name);
    fprintf(out, "  %-*s ", OPTION_COLUMNS, fits ? name : "");
    for (const char *line = option->help, *end; line; line = *end ? end + 1 : NULL) {
        end = strchrnul(line, '\n');
        if (line != option->help)
            fprintf(out, "  %-*s ", OPTION_COLUMNS, "");
        fprintf(out, "%.*s\n", (int)(end - line), line);
    }
}

static bool begins_with(const char *name, const char *word) {
    size_t length = strlen(word);

    return strncmp(name, word, length) == 0 && (name[length] == '\0' || name[length] == ' ');
}

static void print_options(const struct command *command, const char *words, FILE *out) {
    for (const struct line_option *option = line_options; option->name; option++) {
        bool shown = line_option_is_of(option, command, NULL);

        for (const struct command_word *word = command->words; word && word->name && !shown; word++)
            shown = (!words || begins_with(word->name, words)) &&
                    line_option_is_of(option, command, word);
        if (shown)
            print_option(option, out);
    }
}

/* The terms of docs/operations.md. */
static const char *const effects[] = {
    [WORD_PRINTS] = "prints",
    [WORD_READS_DATABASE] = "reads database",
    [WORD_WRITES_DATABASE] = "writes database",
    [WORD_READS_API] = "reads API",
    [WORD_WRITES_API] = "writes API",
};

static void print_command(const struct command *command, bool all, FILE *out) {
    if (command->words) {
        fprintf(out, "usage: scoria %s WHAT [OPTION]...\n\n%s. WHAT is\n\n", command->name,
                command->help);
        for (const struct command_word *word = command->words; word->name; word++)
            fprintf(out, "  %-14s %-16s %s\n", word->name, effects[word->effect], word->help);
        fputc('\n', out);
        print_options(command, NULL, out);
        fputs(
            "  --KEY=VALUE          any option of scoria.conf, as scoria serve --help-all has them\n",
            out);
        return;
    }
    fprintf(out, "usage: scoria %s [OPTION]...\n\n%s.\n\n", command->name, command->help);
    print_options(command, NULL, out);
    fputs("\nOptions of scoria.conf, which have the same names there:\n\n", out);
    option_print_usage(parts_option_tables(), all ? NULL : command->role.sections, out);
}

int usage_print_word(const struct command *command, const char *word, bool all, FILE *out) {
    bool found = false;

    if (!word || !*word) {
        print_command(command, all, out);
        return 0;
    }
    for (const struct command_word *each = command->words; each && each->name; each++)
        if (begins_with(each->name, word)) {
            fprintf(out, "usage: scoria %s %s%s%s [OPTION]...\n  %s.\n\n", command->name,
                    each->name, each->more ? " " : "", each->more ? each->more : "", each->help);
            found = true;
        }
    if (found)
        print_options(command, word, out);
    return found ? 0 : -1;
}

/* ---- errors ---- */

int usage_no_command(const char *name) {
    struct nearest nearest = nearest_to(name);

    for (const struct command *command = commands; command->name; command++)
        nearest_try(&nearest, command->name);
    fprintf(stderr, "scoria: unknown command \"%s\"", name);
    if (nearest.word)
        fprintf(stderr, "; did you mean \"%s\"?", nearest.word);
    fputs("\nSee scoria --help.\n", stderr);
    return EXIT_USAGE;
}

int usage_no_word(const struct command *command, const char *word) {
    struct nearest nearest = nearest_to(word);
    unsigned count = 0; /* of the subcommands that begin with this word */

    for (const struct command_word *each = command->words; each && each->name; each++)
        nearest_try(&nearest, each->name);
    if (*word)
        fprintf(stderr, "scoria %s: unexpected argument \"%s\"", command->name, word);
    else
        fprintf(stderr, "scoria %s: no subcommand given", command->name);
    for (const struct command_word *each = command->words; each && each->name && *word; each++)
        if (begins_with(each->name, word))
            fprintf(stderr, "%s \"%s\"", count++ ? " or" : "; did you mean", each->name);
    if (count)
        fputc('?', stderr);
    else if (nearest.word)
        fprintf(stderr, "; did you mean \"%s\"?", nearest.word);
    fprintf(stderr, "\nSee scoria %s --help.\n", command->name);
    return EXIT_USAGE;
}

int usage_no_format(const struct command *command, const char *format) {
    fprintf(stderr, "scoria %s: --format: unknown format \"%s\" (expected table or json)\n",
            command->name, format);
    return EXIT_USAGE;
}
