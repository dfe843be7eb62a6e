#include "config.h"

#include "cmd/usage.h"

#include "tests/unit/cmd/cmd_test.h"

static void assert_output(const char *line, int status, const char *text, const char *error) {
    const struct output *output = program_output(NULL, line);

    ck_assert_msg(output->status == status, "\"%s\" ended with %d", line, output->status);
    assert_has(output->text, text);
    assert_has(output->error, error);
    if (!*text)
        ck_assert_str_eq(output->text, "");
    if (!*error)
        ck_assert_str_eq(output->error, "");
}

START_TEST(the_program_names_its_commands) {
    const char *const requests[] = { "--help", "-h", "help" };

    for (size_t i = 0; i < LENGTH(requests); i++)
        for (const struct command *command = commands; command->name; command++) {
            assert_output(requests[i], EXIT_SUCCESS, command->name, "");
            assert_output(requests[i], EXIT_SUCCESS, command->help, "");
        }
    assert_output("", EXIT_USAGE, "", "usage: scoria COMMAND");
    assert_output("--version", EXIT_SUCCESS, "scoria " PACKAGE_VERSION "\n", "");
}
END_TEST

START_TEST(a_service_prints_its_options) {
    for (const struct command *command = commands; !command->words; command++) {
        char line[64];
        const struct output *output;

        snprintf(line, sizeof line, "%s --help-all", command->name);
        output = program_output(NULL, line);
        assert_has(output->text, "--quota_volumes=");
        assert_has(output->text, "--compute_agent.enabled=");
        ck_assert((strstr(output->text, "--listen HOST:PORT   address") != NULL) ==
                  (command->role.listener != NULL));
    }
}
END_TEST

static void assert_shows(const char *line, const char *own, const char *other) {
    const struct output *output = program_output(NULL, line);

    ck_assert_int_eq(output->status, EXIT_SUCCESS);
    assert_has(output->text, own);
    assert_has(output->text, "--help-all has those of the other sections, too: ");
    ck_assert_msg(strstr(output->text, other) == NULL, "%s: %s", line, other);
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
    assert_output("serve --stat-dir=/x", EXIT_FAILURE, "",
                  "--stat-dir: unknown option; did you mean --state-dir?");
    assert_output("serve --stat-dir /x", EXIT_FAILURE, "", "did you mean --state-dir?");
    assert_output("csi --end-point=unix:///x", EXIT_FAILURE, "", "did you mean --endpoint?");
    assert_output("api --completely-unknown", EXIT_FAILURE, "",
                  "--completely-unknown: unknown option; see scoria api --help.");
    assert_output("manage check --foramt json", EXIT_FAILURE, "",
                  "--foramt: unknown option; did you mean --format?");
    assert_output("manage check --hosd=x", EXIT_FAILURE, "",
                  "hosd: unknown key; did you mean host?");
    assert_output("manage check --format=xml", EXIT_USAGE, "",
                  "--format: unknown format \"xml\" (expected table or json)\n");
}
END_TEST

START_TEST(a_tool_prints_its_arguments) {
    const struct command *manage = command_find("manage");

    for (const struct command_word *word = manage->words; word->name; word++) {
        char line[64];
        const struct output *output;

        assert_output("manage --help", EXIT_SUCCESS, word->help, "");
        snprintf(line, sizeof line, "help manage %s", word->name);
        output = program_output(NULL, line);
        ck_assert_int_eq(output->status, EXIT_SUCCESS);
        assert_has(output->text, word->help);
        ck_assert((strstr(output->text, "--format ") != NULL) == word->json);
    }
    assert_output("manage db --help", EXIT_SUCCESS, "manage db copy ", "");
    assert_output("manage db --help", EXIT_SUCCESS, "manage db sync ", "");
    assert_output("manage d --help", EXIT_USAGE, "", "unexpected argument \"d\"");
}
END_TEST

START_TEST(an_unknown_command_is_refused_with_the_nearest) {
    assert_output("serv", EXIT_USAGE, "", "unknown command \"serv\"; did you mean \"serve\"?");
    assert_output("help computte", EXIT_USAGE, "", "did you mean \"compute\"?");
    assert_output("xyzzyxyzzy", EXIT_USAGE, "", "unknown command \"xyzzyxyzzy\"\n");
    assert_output("manage db syncc", EXIT_USAGE, "", "did you mean \"db sync\"?");
    assert_output("manage db", EXIT_USAGE, "",
                  "\"db\"; did you mean \"db sync\" or \"db version\" or \"db copy\"?\n");
    assert_output("manage host", EXIT_USAGE, "", "\"host\"; did you mean \"host rename\"?\n");
    assert_output("manage", EXIT_USAGE, "", "scoria manage: no subcommand given");
    assert_output("serve now", EXIT_USAGE, "", "scoria serve: unexpected argument \"now\"");
    assert_output("serve --quota_volume=3", EXIT_FAILURE, "", "quota_volumes");
    assert_output("api --listen", EXIT_FAILURE, "", "scoria: --listen needs a value\n");
}
END_TEST

CHECK_MAIN("usage", the_program_names_its_commands, a_service_prints_its_options,
           a_tool_prints_its_arguments, an_unknown_command_is_refused_with_the_nearest,
           help_shows_the_options_of_the_role_first, an_unknown_option_is_refused_with_the_nearest)
