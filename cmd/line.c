#include "cmd/line.h"

#include "cmd/parts.h"
#include "common/arena.h"
#include "common/cleanup.h"
#include "common/nearest.h"
#include "http/unix_socket.h"

#include <string.h>
#include <unistd.h>

/* State of the parser. */
struct line_reader {
    struct arena *arena;
    const struct command *command;
    struct line *line;
    struct error *err;
};

static void add_option(struct line_reader *reader, const char *option) {
    reader->line->options[reader->line->option_count++] = option;
}

static void add_word(struct line_reader *reader, const char *word) {
    reader->line->words[reader->line->word_count++] = word;
}

static const char *absolute(struct arena *arena, const char *path) {
    autofree char *here = NULL;

    if (*path == '/')
        return arena_text(arena, path);
    here = getcwd(NULL, 0);
    return arena_format(arena, "%s/%s", here ? here : "", path);
}

static int read_file(struct line_reader *reader, const struct line_option *option,
                     const char *value) {
    (void)option;
    reader->line->file = absolute(reader->arena, value);
    return 0;
}

static int read_state(struct line_reader *reader, const struct line_option *option,
                      const char *value) {
    (void)option;
    add_option(reader,
               arena_format(reader->arena, "--state_path=%s", absolute(reader->arena, value)));
    return 0;
}

static void add_listener_option(struct line_reader *reader, const char *key, const char *value,
                                size_t length) {
    const char *section = reader->command->role.listener->section;
    bool general = strcmp(section, "DEFAULT") == 0;

    add_option(reader, arena_format(reader->arena, "--%s%s%s=%.*s", general ? "" : section,
                                    general ? "" : ".", key, (int)length, value));
}

/* HOST:PORT, with brackets around an IPv6 address, or unix:PATH. */
static int read_listen(struct line_reader *reader, const struct line_option *option,
                       const char *value) {
    (void)option;
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

static int read_endpoint(struct line_reader *reader, const struct line_option *option,
                         const char *value) {
    (void)option;
    add_option(reader, arena_format(reader->arena, "--csi.endpoint=%s", value));
    return 0;
}

static int read_api(struct line_reader *reader, const struct line_option *option,
                    const char *value) {
    (void)option;
    add_option(reader, arena_format(reader->arena, "--csi.volume_endpoint=%s", value));
    return 0;
}

/* "-" is the standard input. */
static int read_documents(struct line_reader *reader, const struct line_option *option,
                          const char *value) {
    (void)option;
    add_word(reader,
             arena_join(reader->arena, "--file=",
                        strcmp(value, "-") == 0 ? value : absolute(reader->arena, value), NULL));
    return 0;
}

/* Parsed by the tool itself: "--name=value", or "--name". */
static int read_tool(struct line_reader *reader, const struct line_option *option,
                     const char *value) {
    add_word(reader,
             value ? arena_join(reader->arena, option->name, "=", value, NULL) : option->name);
    return 0;
}

static int read_role(struct line_reader *reader, const struct line_option *option,
                     const char *value) {
    (void)value;
    add_option(reader, arena_format(reader->arena, "--csi.%s=true", option->name + strlen("--")));
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

static bool of_service(const struct role *role) {
    return role->parts != 0;
}

static bool is_json(const struct command_word *word) {
    return word->json;
}

static bool asks_api(const struct command_word *word) {
    return word->effect >= WORD_READS_API;
}

/* clang-format off */
const struct line_option line_options[] = {
    { "--config-file", "FILE", "configuration to read; else " DEFAULT_FILE ", if there",
      .of = of_any, .read = read_file },
    { "--state-dir", "DIR", "directory of all state of the service",
      .of = of_any, .read = read_state },
    { "--listen", "HOST:PORT", "address to listen at, or unix:PATH; port 0 takes any free one",
      .of = of_listener, .read = read_listen },
    { "--endpoint", "unix:///PATH", "socket of the driver; default: CSI_ENDPOINT",
      .of = of_driver, .read = read_endpoint },
    { "--api", "URL", "of the volume API", .of = of_driver, .read = read_api },
    { "--controller", NULL, "serves the part of controllers only", .of = of_driver, .read = read_role },
    { "--node", NULL, "serves the part of nodes only", .of = of_driver, .read = read_role },
    { "--format", "FORM", "table or json", .of = of_tool, .read = read_tool,
      .behind = is_json },
    { "--api", "URL", "of the volume API; default: the endpoint in the catalog of\n"
      "[service_user], or the address of a service of this configuration", .of = of_tool, .read = read_tool,
      .behind = asks_api },
    { "--file", "FILE", "documents in YAML or JSON; - reads the standard input", .brief = "-f",
      .of = of_tool, .read = read_documents, .words = "apply" },
    { "--dry-run", NULL, "checks all and changes nothing; prints the changes",
      .of = of_tool, .read = read_tool, .words = "host rename,apply,delete" },
    { "--apply", NULL, "writes; without it the list of what would be taken over is printed",
      .of = of_tool, .read = read_tool, .words = "import-cinder" },
    { "--backend", "THEIRS=OURS", "a backend with another name here; may come several times",
      .of = of_tool, .read = read_tool, .words = "import-cinder" },
    { "--watch", NULL, "continues with a line for each change",
      .of = of_tool, .read = read_tool, .words = "get" },
    { "--for", "WHAT", "phase=PHASE, condition=TYPE[=STATUS],\njsonpath={.PATH}=VALUE or delete",
      .of = of_tool, .read = read_tool, .words = "wait" },
    { "--timeout", "TIME", "limit of the watch or the wait, as 90s, 5m or 1h",
      .of = of_tool, .read = read_tool, .words = "get,wait,drain" },
    { "--stop", NULL, "ends the drain: the pool takes replicas again",
      .of = of_tool, .read = read_tool, .words = "drain" },
    { "--stopped", "NODES", "names of nodes, with commas, that serve the volume no more",
      .of = of_tool, .read = read_tool, .words = "salvage" },
    { "--help", NULL, "this text", .brief = "-h", .of = of_any },
    { "--help-all", NULL, "the same with the options of every section", .of = of_service },
    { 0 },
};
/* clang-format on */

static bool has_word(const char *words, const char *word) {
    size_t length = strlen(word);

    for (const char *at = words; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

bool line_option_is_of(const struct line_option *option, const struct command *command,
                       const struct command_word *word) {
    if (!option->of(&command->role) || (!word && (option->words || option->behind)))
        return false;
    return (!option->words || has_word(option->words, word->name)) &&
           (!option->behind || option->behind(word));
}

/* "--name=value" or "--name value": number of arguments taken; 0: another option. */
static int read_named(struct line_reader *reader, const struct line_option *option,
                      const char *name, const char *word, const char *next) {
    size_t length = name ? strlen(name) : 0;
    const char *value = next;
    bool joined;

    if (length == 0 || strncmp(word, name, length) != 0)
        return 0;
    joined = option->value && word[length] == '=';
    if (!joined && word[length] != '\0')
        return 0;
    if (joined || !option->value)
        value = joined ? word + length + 1 : NULL;
    if (option->value && (!value || !*value)) /* as of a variable that is unset */
        return error_set(reader->err, ERROR_BAD_REQUEST, "%s needs a value", name);
    if (option->read(reader, option, value) < 0)
        return -1;
    return value && !joined ? 2 : 1;
}

/* Number of arguments taken. */
static int read_word(struct line_reader *reader, const char *word, const char *next) {
    for (const struct line_option *option = line_options; option->name; option++) {
        int taken = 0;

        if (option->read && option->of(&reader->command->role))
            taken = read_named(reader, option, option->name, word, next);
        if (taken == 0 && option->brief && option->read && option->of(&reader->command->role))
            taken = read_named(reader, option, option->brief, word, next);
        if (taken != 0)
            return taken;
    }
    if (strncmp(word, "--", 2) == 0)
        add_option(reader, word);
    else
        add_word(reader, word);
    return 1;
}

int line_read(struct arena *arena, const struct command *command, int count,
              const char *const *arguments, struct line *ret, struct error *err) {
    struct line_reader reader = { arena, command, ret, err };

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

/* ---- unknown arguments ---- */

/* Of the section DEFAULT, or nearer to one of its keys than to the option of the line. */
static bool is_key(const char *name, const struct nearest *option_of_line) {
    struct nearest key = { .wanted = name + strlen("--"), .distance = option_of_line->distance };

    for (const struct option *const *table = parts_option_tables(); *table; table++)
        for (const struct option *option = *table; option->type != OPTION_TYPE_END; option++)
            if (strcmp(option->section, "DEFAULT") == 0)
                nearest_try(&key, option->key);
    return key.word != NULL;
}

static int check_option(const struct command *command, const char *option, struct error *err) {
    autofree char *name = strndup(option, strcspn(option, "="));
    struct nearest nearest = nearest_to(name);

    if (strchr(name, '.'))
        return 0;
    for (const struct line_option *known = line_options; known->name; known++)
        if (known->of(&command->role))
            nearest_try(&nearest, known->name);
    nearest_try(&nearest, "--version");
    if (!strchr(name + strlen("--"), '-') && (!nearest.word || is_key(name, &nearest)))
        return 0; /* the configuration takes or refuses it */
    if (nearest.word)
        return error_set(err, ERROR_BAD_REQUEST, "%s: unknown option; did you mean %s?", name,
                         nearest.word);
    return error_set(err, ERROR_BAD_REQUEST, "%s: unknown option; see scoria %s --help.", name,
                     command->name);
}

int line_check(const struct command *command, const struct line *line, struct error *err) {
    for (unsigned i = 0; i < line->option_count; i++)
        if (check_option(command, line->options[i], err) < 0)
            return -1;
    return 0;
}
