#include "cmd/usage.h"

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
    fprintf(out, "\nscoria COMMAND --help, or scoria help COMMAND, tells more of one, with its "
                 "options.\nscoria --version prints the version.\n");
}

/* ---- one command ---- */

static void print_general(const struct command *command, bool json, FILE *out) {
    fprintf(out,
            "  --config-file FILE   configuration to read; else %s, if there\n"
            "  --state-dir DIR      directory of everything that the service keeps\n",
            DEFAULT_FILE);
    if (command->role.listener)
        fputs("  --listen HOST:PORT   where it answers, or unix:PATH; port 0 takes any free one\n",
              out);
    if (command->role.parts & PART_CSI && !command->role.listener)
        fputs("  --endpoint unix:///PATH\n"
              "                       where it answers; else CSI_ENDPOINT says it\n"
              "  --api URL            of the volume API\n"
              "  --controller, --node serve the one or the other only\n",
              out);
    if (json)
        fputs("  --format FORM        table or json\n", out);
    fputs("  --help, -h           this text\n", out);
    if (command->role.parts)
        fputs("  --help-all           the same with the options of every section\n", out);
}

/* As docs/operations.md says it. */
static const char *const effects[] = {
    [WORD_PRINTS] = "prints",
    [WORD_READS_DATABASE] = "reads database",
    [WORD_WRITES_DATABASE] = "writes database",
    [WORD_READS_API] = "reads API",
    [WORD_WRITES_API] = "writes API",
};

static void print_words(const struct command *command, FILE *out) {
    fprintf(out, "usage: scoria %s WHAT [OPTION]...\n\n%s. WHAT is\n\n", command->name,
            command->help);
    for (const struct command_word *word = command->words; word->name; word++)
        fprintf(out, "  %-12s %-16s %s\n", word->name, effects[word->effect], word->help);
    fputc('\n', out);
    print_general(command, true, out);
    fputs("  --KEY=VALUE          any option of scoria.conf, as scoria serve --help-all has them\n",
          out);
}

static void print_command(const struct command *command, bool all, FILE *out) {
    if (command->words) {
        print_words(command, out);
        return;
    }
    fprintf(out, "usage: scoria %s [OPTION]...\n\n%s.\n\n", command->name, command->help);
    print_general(command, false, out);
    fputs("\nOptions of scoria.conf, which have the same names there:\n\n", out);
    option_print_usage(parts_option_tables(), all ? NULL : command->role.sections, out);
}

static bool begins_with(const char *name, const char *word) {
    size_t length = strlen(word);

    return strncmp(name, word, length) == 0 && (name[length] == '\0' || name[length] == ' ');
}

int usage_print_word(const struct command *command, const char *word, bool all, FILE *out) {
    bool found = false, json = false, asks = false;

    if (!word || !*word) {
        print_command(command, all, out);
        return 0;
    }
    for (const struct command_word *each = command->words; each && each->name; each++)
        if (begins_with(each->name, word)) {
            fprintf(out, "usage: scoria %s %s%s%s [OPTION]...\n  %s.\n\n", command->name,
                    each->name, each->more ? " " : "", each->more ? each->more : "", each->help);
            json |= each->json;
            asks |= each->run_on != NULL;
            found = true;
        }
    if (found)
        print_general(command, json, out);
    if (asks)
        fputs(
            "  --api URL            of the volume API; else what the catalog of [service_user] says,\n"
            "                       or where a service of this configuration listens\n"
            "  -f, --file FILE      documents in YAML or JSON; - reads the standard input\n"
            "  --dry-run            checks all and changes nothing; tells what would change\n"
            "  --watch              goes on, with a line for each change\n"
            "  --for WHAT           phase=PHASE, condition=TYPE[=STATUS],\n"
            "                       jsonpath={.PATH}=VALUE or delete\n"
            "  --timeout TIME       how long it watches, or waits, as 90s, 5m or 1h\n",
            out);
    return found ? 0 : -1;
}

/* ---- what is wrong ---- */

int usage_no_command(const char *name) {
    struct nearest nearest = nearest_to(name);

    for (const struct command *command = commands; command->name; command++)
        nearest_try(&nearest, command->name);
    fprintf(stderr, "scoria: there is no command \"%s\"", name);
    if (nearest.word)
        fprintf(stderr, "; did you mean \"%s\"?", nearest.word);
    fputs("\nscoria --help names them all.\n", stderr);
    return EXIT_USAGE;
}

int usage_no_word(const struct command *command, const char *word) {
    struct nearest nearest = nearest_to(word);

    for (const struct command_word *each = command->words; each && each->name; each++)
        nearest_try(&nearest, each->name);
    if (*word)
        fprintf(stderr, "scoria %s: \"%s\" is not understood", command->name, word);
    else
        fprintf(stderr, "scoria %s: it is not said what", command->name);
    if (nearest.word)
        fprintf(stderr, "; did you mean \"%s\"?", nearest.word);
    fprintf(stderr, "\nscoria %s --help tells more.\n", command->name);
    return EXIT_USAGE;
}

int usage_no_format(const struct command *command, const char *format) {
    fprintf(stderr, "scoria %s: --format: \"%s\" is no format; there are table and json\n",
            command->name, format);
    return EXIT_USAGE;
}
