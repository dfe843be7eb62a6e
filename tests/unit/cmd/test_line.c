#include "cmd/line.h"

#include "common/arena.h"
#include "tests/lib/check_main.h"

#include <string.h>
#include <unistd.h>

#define MOST 8

/* "@" is the current directory. */
struct example {
    const char *command;
    const char *given[MOST];
    const char *options[MOST];
    const char *words[MOST];
    const char *file;
};

static const struct example examples[] = {
    { "serve", { NULL }, { NULL }, { NULL }, NULL },
    { "serve", { "--quota_volumes=3" }, { "--quota_volumes=3" }, { NULL }, NULL },
    { "serve", { "--config-file", "/etc/x" }, { NULL }, { NULL }, "/etc/x" },
    { "serve", { "--config-file=x" }, { NULL }, { NULL }, "@/x" },
    { "serve", { "--config-files=x" }, { "--config-files=x" }, { NULL }, NULL },
    { "api", { "--state-dir", "/s" }, { "--state_path=/s" }, { NULL }, NULL },
    { "api", { "--state-dir=s" }, { "--state_path=@/s" }, { NULL }, NULL },
    { "api",
      { "--listen", "h:1" },
      { "--osapi_volume_listen=h", "--osapi_volume_listen_port=1" },
      { NULL },
      NULL },
    { "compute",
      { "--listen=[::1]:0" },
      { "--compute_agent.listen=::1", "--compute_agent.port=0" },
      { NULL },
      NULL },
    { "compute",
      { "--listen=::1:0" },
      { "--compute_agent.listen=::1", "--compute_agent.port=0" },
      { NULL },
      NULL },
    { "api",
      { "--listen", "unix:/run/a:1" },
      { "--osapi_volume_listen=unix:/run/a:1" },
      { NULL },
      NULL },
    { "manager", { "--listen", "h:1" }, { "--listen" }, { "h:1" }, NULL },
    { "csi",
      { "--endpoint", "unix:///a", "--controller", "--node" },
      { "--csi.endpoint=unix:///a", "--csi.controller=true", "--csi.node=true" },
      { NULL },
      NULL },
    { "manage",
      { "apply", "-f", "a.yaml", "--dry-run", "--api", "http://a" },
      { NULL },
      { "apply", "--file=@/a.yaml", "--dry-run", "--api=http://a" },
      NULL },
    { "manage", { "apply", "--file=-" }, { NULL }, { "apply", "--file=-" }, NULL },
    { "manage",
      { "wait", "a", "--watch", "--for", "phase=b", "--timeout=5m" },
      { NULL },
      { "wait", "a", "--watch", "--for=phase=b", "--timeout=5m" },
      NULL },
    { "serve", { "--watch", "--for=a" }, { "--watch", "--for=a" }, { NULL }, NULL },
    { "serve", { "--dry-run" }, { "--dry-run" }, { NULL }, NULL },
    { "csi", { "--api=http://a" }, { "--csi.volume_endpoint=http://a" }, { NULL }, NULL },
    { "api", { "--api=http://a", "--node" }, { "--api=http://a", "--node" }, { NULL }, NULL },
    { "manage", { "db", "sync" }, { NULL }, { "db", "sync" }, NULL },
    { "manage", { "check", "--format", "json" }, { NULL }, { "check", "--format=json" }, NULL },
    { "manage", { "-x", "--format=json" }, { NULL }, { "-x", "--format=json" }, NULL },
    { "manage", { "--listen=h:1" }, { "--listen=h:1" }, { NULL }, NULL },
};

static int count_of(const char *const *words) {
    int count = 0;

    while (count < MOST && words[count])
        count++;
    return count;
}

static void assert_same(struct arena *arena, const char *got, const char *wanted) {
    char here[4096];

    if (wanted && strchr(wanted, '@')) {
        const char *mark = strchr(wanted, '@');

        ck_assert_ptr_nonnull(getcwd(here, sizeof here));
        wanted = arena_format(arena, "%.*s%s%s", (int)(mark - wanted), wanted, here, mark + 1);
    }
    ck_assert_pstr_eq(got, wanted);
}

static void assert_read(const struct example *example) {
    autoarena struct arena *arena = arena_new();
    struct line line;
    struct error err;

    ck_assert_int_eq(line_read(arena, command_find(example->command), count_of(example->given),
                               example->given, &line, &err),
                     0);
    ck_assert_uint_eq(line.option_count, (unsigned)count_of(example->options));
    for (unsigned i = 0; i <= line.option_count; i++)
        assert_same(arena, line.options[i], example->options[i]);
    ck_assert_uint_eq(line.word_count, (unsigned)count_of(example->words));
    for (unsigned i = 0; i <= line.word_count; i++)
        assert_same(arena, line.words[i], example->words[i]);
    assert_same(arena, line.file, example->file);
}

START_TEST(arguments_are_parsed_as_options_or_words) {
    for (size_t i = 0; i < LENGTH(examples); i++)
        assert_read(&examples[i]);
}
END_TEST

static const struct {
    const char *given[MOST];
    const char *message;
} refused[] = {
    { { "--config-file" }, "--config-file needs a value" },
    { { "db", "--state-dir" }, "--state-dir needs a value" },
    { { "--listen" }, "--listen needs a value" },
    { { "--state-dir=" }, "--state-dir needs a value" },
    { { "--state-dir", "" }, "--state-dir needs a value" },
    { { "--config-file", "" }, "--config-file needs a value" },
    { { "--listen=127.0.0.1" }, "--listen: \"127.0.0.1\" is not HOST:PORT or unix:PATH" },
    { { "--listen=:80" }, "--listen: \":80\" is not HOST:PORT or unix:PATH" },
    { { "--listen", "h:" }, "--listen: \"h:\" is not HOST:PORT or unix:PATH" },
};

START_TEST(an_option_without_its_value_is_refused) {
    autoarena struct arena *arena = arena_new();
    struct line line;
    struct error err;

    for (size_t i = 0; i < LENGTH(refused); i++) {
        ck_assert_int_eq(line_read(arena, command_find("serve"), count_of(refused[i].given),
                                   refused[i].given, &line, &err),
                         -1);
        ck_assert_str_eq(err.message, refused[i].message);
    }
}
END_TEST

/* Not one of them is taken for an option of the configuration. */
START_TEST(a_tool_reads_each_of_its_options) {
    autoarena struct arena *arena = arena_new();
    const struct command *manage = command_find("manage");
    unsigned count = 0;

    for (const struct line_option *option = line_options; option->name; option++) {
        const char *given[] = { option->name, "x", "y" };
        struct line line;
        struct error err;

        if (!option->of(&manage->role) || !option->read || strcmp(option->name, "--state-dir") == 0)
            continue;
        ck_assert_int_eq(line_read(arena, manage, 3, given, &line, &err), 0);
        ck_assert_msg(line.option_count == 0, "%s", option->name);
        ck_assert_str_eq(line.words[line.word_count - 1], "y");
        count++;
    }
    ck_assert_uint_gt(count, 5);
}
END_TEST

CHECK_MAIN("line", a_tool_reads_each_of_its_options, arguments_are_parsed_as_options_or_words,
           an_option_without_its_value_is_refused)
