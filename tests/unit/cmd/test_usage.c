#include "config.h"

#include "cmd/usage.h"

#include "tests/unit/cmd/cmd_test.h"

static void assert_told(const char *line, int status, const char *text, const char *error) {
    const struct told *told = program_says(NULL, line);

    ck_assert_msg(told->status == status, "\"%s\" ended with %d", line, told->status);
    assert_has(told->text, text);
    assert_has(told->error, error);
    if (!*text)
        ck_assert_str_eq(told->text, "");
    if (!*error)
        ck_assert_str_eq(told->error, "");
}

START_TEST(the_program_names_its_commands) {
    const char *const asks[] = { "--help", "-h", "help" };

    for (size_t i = 0; i < LENGTH(asks); i++)
        for (const struct command *command = commands; command->name; command++) {
            assert_told(asks[i], EXIT_SUCCESS, command->name, "");
            assert_told(asks[i], EXIT_SUCCESS, command->help, "");
        }
    assert_told("", EXIT_USAGE, "", "usage: scoria COMMAND");
    assert_told("--version", EXIT_SUCCESS, "scoria " PACKAGE_VERSION "\n", "");
}
END_TEST

START_TEST(a_service_prints_its_options) {
    for (const struct command *command = commands; !command->words; command++) {
        char line[64];
        const struct told *told;

        snprintf(line, sizeof line, "%s --help-all", command->name);
        told = program_says(NULL, line);
        assert_has(told->text, "--quota_volumes=");
        assert_has(told->text, "--compute_agent.enabled=");
        ck_assert((strstr(told->text, "--listen HOST:PORT   where") != NULL) ==
                  (command->role.listener != NULL));
    }
}
END_TEST

static void assert_shows(const char *line, const char *own, const char *other) {
    const struct told *told = program_says(NULL, line);

    ck_assert_int_eq(told->status, EXIT_SUCCESS);
    assert_has(told->text, own);
    assert_has(told->text, "--help-all has those of the other sections, too: ");
    ck_assert_msg(strstr(told->text, other) == NULL, "%s: %s", line, other);
}

START_TEST(help_shows_the_options_of_the_role_first) {
    assert_shows("serve --help", "--quota_volumes=", "--compute_agent.enabled=");
    assert_shows("api --help", "--ssl.cert_file=", "--csi.endpoint=");
    assert_shows("manager --help", "--BACKEND.volume_driver=", "--storage.enabled_pools=");
    assert_shows("compute --help", "--compute_agent.libvirt_uri=", "--quota_volumes=");
    assert_shows("csi --help", "--csi.endpoint=", "--quota_volumes=");
    assert_shows("help storage", "--storage.enabled_pools=", "--quota_volumes=");
}
END_TEST

START_TEST(an_unknown_option_is_refused_with_the_nearest) {
    assert_told("serve --stat-dir=/x", EXIT_FAILURE, "",
                "--stat-dir: unknown option; did you mean --state-dir?");
    assert_told("serve --stat-dir /x", EXIT_FAILURE, "", "did you mean --state-dir?");
    assert_told("csi --end-point=unix:///x", EXIT_FAILURE, "", "did you mean --endpoint?");
    assert_told("api --completely-unknown", EXIT_FAILURE, "",
                "--completely-unknown: unknown option; see scoria api --help.");
    assert_told("manage check --format=xml", EXIT_USAGE, "",
                "--format: unknown format \"xml\" (expected table or json)\n");
}
END_TEST

START_TEST(a_tool_prints_its_arguments) {
    const struct command *manage = command_find("manage");

    for (const struct command_word *word = manage->words; word->name; word++) {
        char line[64];
        const struct told *told;

        assert_told("manage --help", EXIT_SUCCESS, word->help, "");
        snprintf(line, sizeof line, "help manage %s", word->name);
        told = program_says(NULL, line);
        ck_assert_int_eq(told->status, EXIT_SUCCESS);
        assert_has(told->text, word->help);
        ck_assert((strstr(told->text, "--format ") != NULL) == word->json);
    }
    assert_told("manage db --help", EXIT_SUCCESS, "manage db copy ", "");
    assert_told("manage db --help", EXIT_SUCCESS, "manage db sync ", "");
    assert_told("manage d --help", EXIT_USAGE, "", "unexpected argument \"d\"");
}
END_TEST

START_TEST(an_unknown_command_is_refused_with_the_nearest) {
    assert_told("serv", EXIT_USAGE, "", "unknown command \"serv\"; did you mean \"serve\"?");
    assert_told("help computte", EXIT_USAGE, "", "did you mean \"compute\"?");
    assert_told("xyzzyxyzzy", EXIT_USAGE, "", "unknown command \"xyzzyxyzzy\"\n");
    assert_told("manage db syncc", EXIT_USAGE, "", "did you mean \"db sync\"?");
    assert_told("manage", EXIT_USAGE, "", "scoria manage: no subcommand given");
    assert_told("serve now", EXIT_USAGE, "", "scoria serve: unexpected argument \"now\"");
    assert_told("serve --quota_volume=3", EXIT_FAILURE, "", "quota_volumes");
    assert_told("api --listen", EXIT_FAILURE, "", "scoria: --listen needs a value\n");
}
END_TEST

CHECK_MAIN("usage", the_program_names_its_commands, a_service_prints_its_options,
           a_tool_prints_its_arguments, an_unknown_command_is_refused_with_the_nearest,
           help_shows_the_options_of_the_role_first, an_unknown_option_is_refused_with_the_nearest)
