/*
 * scoria: finds the subcommand, reads options and configuration, hands over.
 */
#include "config.h"

#include "cmd/command.h"
#include "cmd/parts.h"
#include "cmd/usage.h"
#include "common/arena.h"
#include "common/cleanup.h"

#include <string.h>

struct line {
    const char **options; /* --key=value, ended with NULL */
    unsigned option_count;
    const char **words; /* the others, ended with NULL */
    unsigned word_count;
    const char *file;
};

/* --listen HOST:PORT, with brackets around an IPv6 address. */
static int split_listen(struct arena *arena, const struct command *command, const char *value,
                        struct line *line) {
    const char *colon = strrchr(value, ':');
    size_t length = colon ? (size_t)(colon - value) : 0;

    if (!colon || length == 0 || !colon[1]) {
        fprintf(stderr, "scoria: --listen: \"%s\" is not HOST:PORT\n", value);
        return -1;
    }
    if (value[0] == '[' && value[length - 1] == ']') {
        value++;
        length -= 2;
    }
    line->options[line->option_count++] =
        arena_format(arena, "--%s=%.*s", command->listen_address, (int)length, value);
    line->options[line->option_count++] =
        arena_format(arena, "--%s=%s", command->listen_port, colon + 1);
    return 0;
}

/* "--name=value" or "--name value": the value, and whether the next word was taken. */
static const char *value_of(const char *word, const char *name, const char *next, int *taken) {
    size_t length = strlen(name);

    if (strncmp(word, name, length) != 0)
        return NULL;
    if (word[length] == '=')
        return word + length + 1;
    if (word[length] != '\0')
        return NULL;
    if (!next) {
        fprintf(stderr, "scoria: %s needs a value\n", name);
        exit(EXIT_FAILURE);
    }
    *taken = 1;
    return next;
}

static char *absolute(struct arena *arena, const char *path) {
    autofree char *here = NULL;

    if (*path == '/')
        return arena_text(arena, path);
    here = getcwd(NULL, 0);
    return arena_format(arena, "%s/%s", here ? here : "", path);
}

static int read_line(struct arena *arena, const struct command *command, int count,
                     char **arguments, struct line *line) {
    const char *value;

    line->options = arena_alloc(arena, ((size_t)count * 2 + 1) * sizeof(char *));
    line->words = arena_alloc(arena, ((size_t)count + 1) * sizeof(char *));
    for (int i = 0; i < count; i++) {
        const char *word = arguments[i], *next = i + 1 < count ? arguments[i + 1] : NULL;
        int taken = 0;

        if ((value = value_of(word, "--config-file", next, &taken)))
            line->file = value;
        else if ((value = value_of(word, "--state-dir", next, &taken)))
            line->options[line->option_count++] =
                arena_format(arena, "--state_path=%s", absolute(arena, value));
        else if (command->listen_address && (value = value_of(word, "--listen", next, &taken))) {
            if (split_listen(arena, command, value, line) < 0)
                return -1;
        } else if ((value = value_of(word, "--format", next, &taken)))
            line->words[line->word_count++] = arena_format(arena, "--format=%s", value);
        else if (strncmp(word, "--", 2) == 0)
            line->options[line->option_count++] = word;
        else
            line->words[line->word_count++] = word;
        i += taken;
    }
    return 0;
}

static int run(const struct command *command, int count, char **arguments) {
    autoarena struct arena *arena = arena_new();
    struct line line = { 0 };
    struct config *config;
    struct error err;
    int status;

    if (read_line(arena, command, count, arguments, &line) < 0)
        return EXIT_FAILURE;
    if (line.word_count && !command->words)
        return usage_no_word(command, line.words[0]);
    if (line.file)
        line.file = absolute(arena, line.file);
    else if (access(DEFAULT_FILE, R_OK) == 0)
        line.file = DEFAULT_FILE;
    if (config_load(parts_option_tables(), line.file, line.options, &config, &err) < 0) {
        fprintf(stderr, "scoria: %s\n", err.message);
        return EXIT_FAILURE;
    }
    status = command->run(config, line.words);
    config_free(config);
    return status;
}

static bool asks_help(const char *word) {
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* The words that are no options say of what. */
static int help(const struct command *command, int count, char **arguments) {
    autoarena struct arena *arena = arena_new();
    const char *word = "";

    for (int i = 0; i < count; i++)
        if (*arguments[i] != '-')
            word = arena_format(arena, "%s%s%s", word, *word ? " " : "", arguments[i]);
    return usage_print_word(command, word, stdout) < 0 ? usage_no_word(command, word)
                                                       : EXIT_SUCCESS;
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "";
    const struct command *command;
    int first = 2;
    bool helps = asks_help(name) || strcmp(name, "help") == 0;

    if (strcmp(name, "--version") == 0) {
        puts(PACKAGE_STRING);
        return EXIT_SUCCESS;
    }
    if (argc < 2 || (helps && argc == 2)) {
        usage_print(helps ? stdout : stderr);
        return helps ? EXIT_SUCCESS : EXIT_USAGE;
    }
    if (helps)
        name = argv[first++];
    command = usage_find(name);
    if (!command)
        return usage_no_command(name);
    for (int i = first; i < argc; i++)
        helps |= asks_help(argv[i]);
    return helps ? help(command, argc - first, argv + first)
                 : run(command, argc - first, argv + first);
}
