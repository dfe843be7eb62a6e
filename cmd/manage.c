/*
 * scoria manage: what operators look at and print.
 */
#include "cmd/manage.h"

#include "api/openapi.h"
#include "cmd/parts.h"
#include "cmd/usage.h"
#include "common/arena.h"
#include "common/cleanup.h"
#include "policy/rule.h"

#include <stdio.h>
#include <string.h>

void manage_print_json(json_t *list) {
    json_dumpf(list, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(list);
}

static int print_config(const struct config *config, bool json) {
    (void)config;
    (void)json;
    option_print_sample(parts_option_tables(), stdout);
    return EXIT_SUCCESS;
}

static int print_policy(const struct config *config, bool json) {
    (void)config;
    (void)json;
    policy_print_sample(stdout);
    return EXIT_SUCCESS;
}

static int print_options_man(const struct config *config, bool json) {
    (void)config;
    (void)json;
    option_print_man(parts_option_tables(), stdout);
    return EXIT_SUCCESS;
}

static int print_openapi(const struct config *config, bool json) {
    (void)config;
    (void)json;
    manage_print_json(openapi_document());
    return EXIT_SUCCESS;
}

/* clang-format off */
const struct command_word manage_words[] = {
    { "check", manage_check, "compares what must always agree; status 0 only when it does", true },
    { "operations", manage_operations, "what is being worked on, since when and by whom", true },
    { "db sync", manage_db_sync, "brings the schema of the database up to date", true },
    { "db version", manage_db_version, "the schema that the database has, and the newest known", true },
    { "db copy", manage_db_copy, "moves scoria.db into an empty PostgreSQL database", true },
    { "config", print_config, "every option with its meaning and default, as a file", false },
    { "policy", print_policy, "every policy rule with its default, as a policy.yaml", false },
    { "routes", manage_routes, "every route of the API, with microversion and rule", true },
    { "openapi", print_openapi, "the API as an OpenAPI 3.1 document", false },
    { "drivers", manage_drivers, "what each storage driver can do, and its options", true },
    { "options-man", print_options_man, "the options as scoria.conf(5) has them", false },
    { 0 },
};
/* clang-format on */

int manage_run(const struct command *command, const struct config *config,
               const char *const *words) {
    autoarena struct arena *arena = arena_new();
    const char *what = "";
    bool json = false;

    for (; *words; words++) {
        if (strncmp(*words, "--format=", strlen("--format=")) != 0)
            what = arena_format(arena, "%s%s%s", what, *what ? " " : "", *words);
        else if (strcmp(*words, "--format=json") == 0 || strcmp(*words, "--format=table") == 0)
            json = strcmp(*words, "--format=json") == 0;
        else
            return usage_no_word(command, *words);
    }
    for (const struct command_word *word = manage_words; word->name; word++)
        if (strcmp(word->name, what) == 0)
            return word->run(config, json);
    return usage_no_word(command, what);
}
