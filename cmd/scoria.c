/*
 * scoria: finds the subcommand, reads options and configuration, hands over.
 */
#include "config.h"

#include "cmd/command.h"
#include "cmd/parts.h"
#include "common/arena.h"
#include "common/cleanup.h"

#include <string.h>

#define DEFAULT_FILE SYSCONFDIR "/scoria/scoria.conf"

static const struct command *const commands[] = {
    &serve_command, &api_command, &manager_command, &compute_command, &manage_command,
};

static void print_usage(FILE *out) {
    fprintf(out,
            "usage: scoria COMMAND [--config-file FILE] [--state-dir DIR] [--listen HOST:PORT]\n"
            "              [--KEY=VALUE | --SECTION.KEY=VALUE]...\n\n");
    for (unsigned i = 0; i < LENGTH(commands); i++)
        fprintf(out, "  %-8s %s%s%s\n", commands[i]->name, commands[i]->help,
                commands[i]->words ? ": " : "", commands[i]->words ? commands[i]->words : "");
    fprintf(out,
            "\nscoria --version prints the version; scoria manage config prints every option.\n");
}

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
    if (line.word_count && !command->words) {
        fprintf(stderr, "scoria %s: \"%s\" is not understood\n", command->name, line.words[0]);
        return EXIT_FAILURE;
    }
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

int main(int argc, char **argv) {
    if (argc < 2) {
        print_usage(stderr);
        return EXIT_FAILURE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts(PACKAGE_STRING);
        return EXIT_SUCCESS;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        print_usage(stdout);
        return EXIT_SUCCESS;
    }
    for (unsigned i = 0; i < LENGTH(commands); i++)
        if (strcmp(commands[i]->name, argv[1]) == 0)
            return run(commands[i], argc - 2, argv + 2);
    fprintf(stderr, "scoria: there is no command \"%s\"\n", argv[1]);
    print_usage(stderr);
    return EXIT_FAILURE;
}
