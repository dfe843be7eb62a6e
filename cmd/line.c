#include "cmd/line.h"

#include "common/arena.h"
#include "common/cleanup.h"
#include "common/nearest.h"
#include "http/unix_socket.h"

#include <string.h>
#include <unistd.h>

/* What is being read. */
struct reader {
    struct arena *arena;
    const struct command *command;
    struct line *line;
    struct error *err;
};

static void add_option(struct reader *reader, const char *option) {
    reader->line->options[reader->line->option_count++] = option;
}

static void add_word(struct reader *reader, const char *word) {
    reader->line->words[reader->line->word_count++] = word;
}

static const char *absolute(struct arena *arena, const char *path) {
    autofree char *here = NULL;

    if (*path == '/')
        return arena_text(arena, path);
    here = getcwd(NULL, 0);
    return arena_format(arena, "%s/%s", here ? here : "", path);
}

static int read_file(struct reader *reader, const char *value) {
    reader->line->file = absolute(reader->arena, value);
    return 0;
}

static int read_state(struct reader *reader, const char *value) {
    add_option(reader,
               arena_format(reader->arena, "--state_path=%s", absolute(reader->arena, value)));
    return 0;
}

static int read_format(struct reader *reader, const char *value) {
    add_word(reader, arena_format(reader->arena, "--format=%s", value));
    return 0;
}

static void add_listener_option(struct reader *reader, const char *key, const char *value,
                                size_t length) {
    const char *section = reader->command->role.listener->section;
    bool general = strcmp(section, "DEFAULT") == 0;

    add_option(reader, arena_format(reader->arena, "--%s%s%s=%.*s", general ? "" : section,
                                    general ? "" : ".", key, (int)length, value));
}

/* HOST:PORT, with brackets around an IPv6 address, or unix:PATH. */
static int read_listen(struct reader *reader, const char *value) {
    const struct listener *listener = reader->command->role.listener;
    const char *colon = strrchr(value, ':');
    size_t length = colon ? (size_t)(colon - value) : 0;

    if (unix_socket_path(value)) {
        add_listener_option(reader, listener->address, value, strlen(value));
        return 0;
    }
    if (!colon || length == 0 || !colon[1])
        return error_set(reader->err, ERROR_BAD_REQUEST,
                         "--listen: \"%s\" is not HOST:PORT or unix:PATH", value);
    if (value[0] == '[' && value[length - 1] == ']') {
        value++;
        length -= 2;
    }
    add_listener_option(reader, listener->address, value, length);
    add_listener_option(reader, listener->port, colon + 1, strlen(colon + 1));
    return 0;
}

static int read_endpoint(struct reader *reader, const char *value) {
    add_option(reader, arena_format(reader->arena, "--csi.endpoint=%s", value));
    return 0;
}

static int read_api(struct reader *reader, const char *value) {
    add_option(reader, arena_format(reader->arena, "--csi.volume_endpoint=%s", value));
    return 0;
}

/* "-" is the standard input. */
static int read_documents(struct reader *reader, const char *value) {
    add_word(reader,
             arena_join(reader->arena, "--file=",
                        strcmp(value, "-") == 0 ? value : absolute(reader->arena, value), NULL));
    return 0;
}

static int read_wanted(struct reader *reader, const char *value) {
    add_word(reader, arena_join(reader->arena, "--for=", value, NULL));
    return 0;
}

static int read_timeout(struct reader *reader, const char *value) {
    add_word(reader, arena_join(reader->arena, "--timeout=", value, NULL));
    return 0;
}

static int read_peer(struct reader *reader, const char *value) {
    add_word(reader, arena_join(reader->arena, "--api=", value, NULL));
    return 0;
}

static bool of_any(const struct role *role) {
    (void)role;
    return true;
}

static bool of_listener(const struct role *role) {
    return role->listener != NULL;
}

static bool of_driver(const struct role *role) {
    return role->parts & PART_CSI && !role->listener;
}

static bool of_tool(const struct role *role) {
    return role->parts == 0;
}

/* clang-format off */
static const struct {
    const char *name;
    int (*read)(struct reader *reader, const char *value);
    bool (*of)(const struct role *role); /* whose it is */
} named[] = {
    { "--config-file", read_file, of_any },
    { "--state-dir", read_state, of_any },
    { "--listen", read_listen, of_listener },
    { "--format", read_format, of_any },
    { "--endpoint", read_endpoint, of_driver },
    { "--api", read_api, of_driver },
    { "--api", read_peer, of_tool },
    { "--file", read_documents, of_tool },
    { "-f", read_documents, of_tool },
    { "--for", read_wanted, of_tool },
    { "--timeout", read_timeout, of_tool },
};

/* Of the driver, and without a value. */
static const struct {
    const char *name, *option;
} flags[] = {
    { "--controller", "--csi.controller=true" },
    { "--node", "--csi.node=true" },
};
/* clang-format on */

static const char *flag_option(const struct reader *reader, const char *word) {
    for (unsigned i = 0; i < LENGTH(flags); i++)
        if (of_driver(&reader->command->role) && strcmp(word, flags[i].name) == 0)
            return flags[i].option;
    return word;
}

/* "--name=value" or "--name value": how many words were taken; 0: this is another one. */
static int read_named(struct reader *reader, const char *name, const char *word, const char *next,
                      const char **value) {
    size_t length = strlen(name);

    if (strncmp(word, name, length) != 0 || (word[length] != '=' && word[length] != '\0'))
        return 0;
    *value = word[length] == '=' ? word + length + 1 : next;
    if (!*value)
        return error_set(reader->err, ERROR_BAD_REQUEST, "%s needs a value", name);
    return word[length] == '=' ? 1 : 2;
}

/* How many words were taken. */
static int read_word(struct reader *reader, const char *word, const char *next) {
    for (unsigned i = 0; i < LENGTH(named); i++) {
        const char *value;
        int taken = 0;

        if (named[i].of(&reader->command->role))
            taken = read_named(reader, named[i].name, word, next, &value);
        if (taken != 0)
            return taken > 0 && named[i].read(reader, value) < 0 ? -1 : taken;
    }
    if ((strcmp(word, "--dry-run") == 0 || strcmp(word, "--watch") == 0 ||
         strcmp(word, "--stop") == 0) &&
        of_tool(&reader->command->role))
        add_word(reader, word);
    else if (strncmp(word, "--", 2) == 0)
        add_option(reader, flag_option(reader, word));
    else
        add_word(reader, word);
    return 1;
}

int line_read(struct arena *arena, const struct command *command, int count,
              const char *const *arguments, struct line *ret, struct error *err) {
    struct reader reader = { arena, command, ret, err };

    *ret = (struct line){
        .options = arena_alloc(arena, ((size_t)count * 2 + 1) * sizeof(char *)),
        .words = arena_alloc(arena, ((size_t)count + 1) * sizeof(char *)),
    };
    for (int i = 0, taken; i < count; i += taken) {
        taken = read_word(&reader, arguments[i], i + 1 < count ? arguments[i + 1] : NULL);
        if (taken < 0)
            return -1;
    }
    return 0;
}

/* ---- what is unknown ---- */

static void try_all(struct nearest *nearest, const struct command *command) {
    static const char *const more[] = { "--help", "--help-all", "--version" };

    for (unsigned i = 0; i < LENGTH(named); i++)
        if (named[i].of(&command->role))
            nearest_try(nearest, named[i].name);
    for (unsigned i = 0; i < LENGTH(flags); i++)
        if (of_driver(&command->role))
            nearest_try(nearest, flags[i].name);
    for (unsigned i = 0; i < LENGTH(more); i++)
        nearest_try(nearest, more[i]);
}

static int check_option(const struct command *command, const char *option, struct error *err) {
    autofree char *name = strndup(option, strcspn(option, "="));
    struct nearest nearest = nearest_to(name);

    if (strchr(name, '.') || !strchr(name + strlen("--"), '-'))
        return 0;
    try_all(&nearest, command);
    if (nearest.word)
        return error_set(err, ERROR_BAD_REQUEST, "%s: unknown option; did you mean %s?", name,
                         nearest.word);
    return error_set(err, ERROR_BAD_REQUEST, "%s: unknown option; scoria %s --help names them.",
                     name, command->name);
}

int line_check(const struct command *command, const struct line *line, struct error *err) {
    for (unsigned i = 0; i < line->option_count; i++)
        if (check_option(command, line->options[i], err) < 0)
            return -1;
    return 0;
}
