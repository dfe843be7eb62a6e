/*
 * scoria manage: what operators look at and print.
 */
#include "cmd/manage.h"

#include "cmd/command.h"
#include "cmd/parts.h"
#include "common/cleanup.h"
#include "policy/rule.h"

#include <stdio.h>
#include <string.h>

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

static const struct {
    const char *name;
    int (*run)(const struct config *config, bool json);
} whats[] = {
    { "check", manage_check },     { "operations", manage_operations },
    { "db sync", manage_db_sync }, { "db version", manage_db_version },
    { "db copy", manage_db_copy }, { "config", print_config },
    { "policy", print_policy },    { "routes", manage_routes },
    { "drivers", manage_drivers }, { "options-man", print_options_man },
};

static int run(const struct config *config, const char *const *words) {
    bool json = false;
    char what[32] = "";
    bool is_db = false;

    for (; *words; words++) {
        if (strcmp(*words, "--format=json") == 0 || strcmp(*words, "--format=table") == 0)
            json = strcmp(*words, "--format=json") == 0;
        else if ((!*what || is_db) && **words != '-' && strlen(*words) < sizeof what / 2) {
            is_db = !*what && strcmp(*words, "db") == 0;
            strcat(strcat(what, *what ? " " : ""), *words);
        } else {
            fprintf(stderr, "scoria manage: \"%s\" is not understood\n", *words);
            return EXIT_FAILURE;
        }
    }
    for (unsigned i = 0; i < LENGTH(whats); i++)
        if (strcmp(whats[i].name, what) == 0)
            return whats[i].run(config, json);
    fprintf(stderr, "scoria manage: say one of %s\n", manage_command.words);
    return EXIT_FAILURE;
}

const struct command manage_command = {
    .name = "manage",
    .help = "for operators",
    .run = run,
    .words =
        "check, operations, db sync|version|copy, config, policy, routes, drivers, options-man",
};
