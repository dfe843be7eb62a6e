#include "config.h"

#include "cmd/program.h"

#include "cmd/line.h"
#include "cmd/parts.h"
#include "cmd/usage.h"
#include "common/arena.h"
#include "common/cleanup.h"
#include "common/version.h"

#include <string.h>
#include <unistd.h>

static int fail(const struct error *err) {
    fprintf(stderr, "scoria: %s\n", err->message);
    return EXIT_FAILURE;
}

/* Output that is lost, on a full disk say, is a failure of the tool that was to print it. */
static int output_end(int status) {
    struct error err;

    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    error_errno(&err, ERROR_UNAVAILABLE, "writing the output");
    return fail(&err);
}

static int run(const struct command *command, int count, const char *const *arguments) {
    autoarena struct arena *arena = arena_new();
    struct line line;
    struct config *config;
    struct error err;
    int status;

    if (line_read(arena, command, count, arguments, &line, &err) < 0 ||
        line_check(command, &line, &err) < 0)
        return fail(&err);
    if (line.word_count && !command->words)
        return usage_no_word(command, line.words[0]);
    if (!line.file && access(DEFAULT_FILE, R_OK) == 0)
        line.file = DEFAULT_FILE;
    if (config_load(parts_option_tables(), line.file, line.options, &config, &err) < 0)
        return fail(&err);
    status = command->run ? output_end(command->run(command, config, line.words))
                          : role_run(&command->role, config);
    config_free(config);
    return status;
}

static bool asks_help(const char *word) {
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
           strcmp(word, "--help-all") == 0;
}

/* The words select the topic. */
static int help(const struct command *command, int count, const char *const *arguments) {
    autoarena struct arena *arena = arena_new();
    const char *word = "";
    bool all = false;

    for (int i = 0; i < count; i++)
        if (*arguments[i] != '-')
            word = arena_format(arena, "%s%s%s", word, *word ? " " : "", arguments[i]);
        else
            all |= strcmp(arguments[i], "--help-all") == 0;
    return usage_print_word(command, word, all, stdout) < 0 ? usage_no_word(command, word)
                                                            : EXIT_SUCCESS;
}

int program_run(int argc, const char *const *argv) {
    const char *name = argc > 1 ? argv[1] : "";
    const struct command *command;
    int first = 2;
    bool helps = asks_help(name) || strcmp(name, "help") == 0;

    if (strcmp(name, "--version") == 0) {
        printf(PACKAGE_NAME " %s\n", version_text());
        return output_end(EXIT_SUCCESS);
    }
    if (argc < 2 || (helps && argc == 2)) {
        usage_print(helps ? stdout : stderr);
        return helps ? output_end(EXIT_SUCCESS) : EXIT_USAGE;
    }
    if (helps)
        name = argv[first++];
    command = command_find(name);
    if (!command)
        return usage_no_command(name);
    for (int i = first; i < argc; i++)
        helps |= asks_help(argv[i]);
    return helps ? output_end(help(command, argc - first, argv + first))
                 : run(command, argc - first, argv + first);
}
