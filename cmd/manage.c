/*
 * scoria manage: the tools of operators.
 */
#include "cmd/manage.h"

#include "cmd/parts.h"
#include "cmd/usage.h"
#include "common/arena.h"
#include "common/cleanup.h"
#include "declared/definition.h"
#include "declared/phases.h"
#include "policy/rule.h"
#include "replication/node/state_tables.h"
#include "rest/openapi.h"
#include "json/yaml_print.h"

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

static int print_definitions(const struct config *config, bool json) {
    (void)config;
    (void)json;
    for (const struct document_kind *const *kind = document_kinds; *kind; kind++) {
        json_t *definition = definition_of(*kind);

        if (kind != document_kinds)
            puts("---");
        yaml_print(definition, stdout);
        json_decref(definition);
    }
    return EXIT_SUCCESS;
}

static int print_states(const struct config *config, bool json) {
    autoarena struct arena *arena = arena_new();

    (void)config;
    (void)json;
    for (const struct state_table *const *table = phase_tables; *table; table++)
        printf("%s\n", state_table_text(*table, arena));
    for (const struct state_table *const *table = node_tables; *table; table++)
        printf("%s%s", table > node_tables ? "\n" : "", state_table_text(*table, arena));
    return EXIT_SUCCESS;
}

/* clang-format off */
const struct command_word manage_words[] = {
    { "check", .effect = WORD_READS_DATABASE, .run = manage_check, .json = true,
      .help = "checks the consistency of all state; status 0 only without a finding" },
    { "operations", .effect = WORD_READS_DATABASE, .run = manage_operations, .json = true,
      .help = "operations in progress, with age and owner" },
    { "host rename", .run_on = manage_host_rename, .effect = WORD_WRITES_DATABASE, .json = true,
      .more = "OLD NEW [--dry-run]",
      .help = "renames a node, NODE@BACKEND or a pool in all objects" },
    { "import-cinder", .run_on = manage_import_cinder, .effect = WORD_WRITES_DATABASE, .json = true,
      .more = "CINDER.CONF|URL [--backend=THEIRS=OURS] [--apply]",
      .help = "takes over volumes, types and quotas of Cinder's database; without --apply lists them only" },
    { "db sync", .effect = WORD_WRITES_DATABASE, .run = manage_db_sync, .json = true,
      .help = "brings the schema of the database up to date" },
    { "db version", .effect = WORD_READS_DATABASE, .run = manage_db_version, .json = true,
      .help = "schema number of the database, and the newest known" },
    { "db copy", .effect = WORD_WRITES_DATABASE, .run = manage_db_copy, .json = true,
      .help = "copies scoria.db into an empty PostgreSQL database" },
    { "config", .run = print_config,
      .help = "every option with its meaning and default, as a file" },
    { "policy", .run = print_policy,
      .help = "every policy rule with its default, as a policy.yaml" },
    { "routes", .run = manage_routes, .json = true,
      .help = "every route of the API, with microversion and rule" },
    { "openapi", .run = print_openapi, .help = "the API as an OpenAPI 3.1 document" },
    { "definitions", .run = print_definitions,
      .help = "the kinds of documents as CustomResourceDefinitions of Kubernetes" },
    { "states", .run = print_states, .help = "the phases of declared volumes and their transitions" },
    { "drivers", .run = manage_drivers, .json = true,
      .help = "features and options of each storage driver" },
    { "options-man", .run = print_options_man, .help = "the options as scoria.conf(5) has them" },
    { "apply", .effect = WORD_WRITES_API, .run_on = manage_apply, .more = "-f FILE [--dry-run]",
      .help = "creates or changes the objects that the documents of a file declare" },
    { "get", .effect = WORD_READS_API, .run_on = manage_get, .more = "KIND [NAME] [--watch]", .json = true,
      .help = "lists the objects of a kind, or shows one; --watch follows changes" },
    { "wait", .effect = WORD_READS_API, .run_on = manage_wait,
      .more = "KIND NAME --for=phase=PHASE|condition=TYPE[=STATUS]|jsonpath={.PATH}=VALUE|delete [--timeout=60s]",
      .help = "waits for a phase, condition or value of an object, or its deletion" },
    { "describe", .effect = WORD_READS_API, .run_on = manage_describe, .more = "KIND [NAME]",
      .help = "prints all values of an object, readable, with events" },
    { "salvage", .effect = WORD_WRITES_API, .run_on = manage_salvage, .more = "REPLICA [--stopped=NODES]",
      .help = "forces recovery of a volume from one replica, where too many are lost for good" },
    { "drain", .effect = WORD_WRITES_API, .run_on = manage_drain, .more = "POOL [--timeout=1h] | POOL --stop",
      .help = "moves all replicas of a pool to other pools and waits until it is empty; --stop ends that" },
    { "delete", .effect = WORD_WRITES_API, .run_on = manage_delete, .more = "KIND NAME [--dry-run]",
      .help = "deletes an object" },
    { 0 },
};
/* clang-format on */

/* Number of `words` that form the name; 0: they do not. */
static unsigned words_taken(const char *name, const char *const *words) {
    unsigned taken = 0;

    for (; *name; taken++) {
        size_t length = strcspn(name, " ");

        if (!words[taken] || strncmp(words[taken], name, length) != 0 || words[taken][length])
            return 0;
        name += length + (name[length] == ' ');
    }
    return taken;
}

/* Removes --format from the words. */
static int take_format(const struct command *command, const char **words, bool *ret_json) {
    const char **kept = words;

    for (; *words; words++) {
        if (strncmp(*words, "--format=", strlen("--format=")) != 0)
            *kept++ = *words;
        else if (strcmp(*words, "--format=json") == 0 || strcmp(*words, "--format=table") == 0)
            *ret_json = strcmp(*words, "--format=json") == 0;
        else
            return usage_no_format(command, *words + strlen("--format="));
    }
    *kept = NULL;
    return EXIT_SUCCESS;
}

int manage_run(const struct command *command, const struct config *config,
               const char *const *given) {
    autoarena struct arena *arena = arena_new();
    const char **words, *text = "";
    bool json = false;
    size_t count = 0;
    int status;

    while (given[count])
        count++;
    words = arena_copy(arena, given, (count + 1) * sizeof *words);
    status = take_format(command, words, &json);
    if (status != EXIT_SUCCESS)
        return status;
    for (const struct command_word *word = manage_words; word->name; word++) {
        unsigned taken = words_taken(word->name, words);

        if (taken > 0 && word->run_on)
            return word->run_on(config, words + taken, json);
        if (taken > 0 && !words[taken])
            return word->run(config, json);
    }
    for (; *words; words++)
        text = arena_join(arena, text, *text ? " " : "", *words, NULL);
    return usage_no_word(command, text);
}
