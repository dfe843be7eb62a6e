#include "policy/rule.h"

#include "common/cleanup.h"
#include "policy/check.h"
#include "policy/rule_file.h"
#include "policy/rules.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#define DEPTH_MOST 2000 /* of references to references, so that an answer's stack is bounded */

struct rule {
    const char *name;
    const struct check *check;
    const char *file; /* NULL: built in */
    unsigned line;
    enum { RULE_NEW, RULE_OPEN, RULE_DONE } state; /* of resolving */
    int depth;
};

struct policy {
    struct arena *arena;
    struct rule **slots; /* open addressing; room is a power of two, more than twice the count */
    size_t room, count;
    unsigned open; /* rules that are being resolved */
};

/* clang-format off */
const struct option policy_options[] = {
    { .section = "oslo_policy", .key = "policy_file", .type = OPTION_TEXT, .fallback = "policy.yaml",
      .help = "File of policy rules that replace the built-in ones: YAML or JSON, names to rules. "
              "It may be missing. A relative path is looked up beside the configuration file." },
    { .section = "oslo_policy", .key = "policy_dirs", .type = OPTION_TEXT, .fallback = "policy.d",
      .help = "Directory of further files of policy rules (*.yaml, *.json), taken in alphabetical "
              "order; a later rule replaces an earlier one. It may be missing." },
    { .section = "oslo_policy", .key = "enforce_new_defaults", .type = OPTION_BOOL, .fallback = "true",
      .help = "If false, whoever the default of a former release let in is let in too, where no file "
              "replaces the rule." },
    { .section = "oslo_policy", .key = "enforce_scope", .type = OPTION_BOOL, .fallback = "true",
      .help = "Accepted because other services have it; no rule here depends on a token's scope." },
    OPTIONS_END,
};
/* clang-format on */

/* ---- rules by name ---- */

static size_t name_hash(const char *name) {
    size_t hash = 14695981039346656037ULL;

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 1099511628211ULL;
    return hash ^ (hash >> 32);
}

static struct rule **policy_slot(const struct policy *policy, const char *name) {
    size_t at = name_hash(name) & (policy->room - 1);

    while (policy->slots[at] && strcmp(policy->slots[at]->name, name) != 0)
        at = (at + 1) & (policy->room - 1);
    return &policy->slots[at];
}

static void policy_make_room(struct policy *policy) {
    struct rule **slots = policy->slots;
    size_t room = policy->room;

    if (2 * policy->count < room)
        return;
    policy->room = room ? 2 * room : 512;
    policy->slots = arena_alloc(policy->arena, policy->room * sizeof(*slots));
    for (size_t i = 0; i < room; i++)
        if (slots[i])
            *policy_slot(policy, slots[i]->name) = slots[i];
}

/* The rule of this name, made when it is new. */
static struct rule *policy_rule(struct policy *policy, const char *name) {
    struct rule **slot;

    policy_make_room(policy);
    slot = policy_slot(policy, name);
    if (!*slot) {
        *slot = arena_alloc(policy->arena, sizeof(**slot));
        (*slot)->name = name;
        policy->count++;
    }
    return *slot;
}

/* ---- loading ---- */

static int policy_add_defaults(struct policy *policy, const struct rule_default *row,
                               bool new_defaults, struct error *err) {
    for (; row->name; row++) {
        const struct check *check = check_parse(policy->arena, row->text, err);

        if (check && row->predecessor && !new_defaults) {
            const struct check *before = check_parse(policy->arena, row->predecessor, err);

            check = before ? check_any(policy->arena, check, before) : NULL;
        }
        if (!check)
            return error_context(err, "built-in rule %s", row->name);
        policy_rule(policy, row->name)->check = check;
    }
    return 0;
}

static int policy_add_file(struct policy *policy, const char *path, bool optional,
                           struct error *err) {
    struct rule_entry *entry;

    if (rule_file_read(policy->arena, path, optional, &entry, err) < 0)
        return -1;
    for (; entry; entry = entry->next) {
        struct rule *rule = policy_rule(policy, entry->name);

        if (rule->file == entry->file)
            return error_set(err, ERROR_BAD_REQUEST, "%s:%u: rule %s stands in line %u already",
                             entry->file, entry->line, entry->name, rule->line);
        rule->check = entry->check;
        rule->file = entry->file;
        rule->line = entry->line;
    }
    return 0;
}

static int entry_is_rules(const struct dirent *entry) {
    const char *end = strrchr(entry->d_name, '.');

    return entry->d_name[0] != '.' && end &&
           (strcmp(end, ".yaml") == 0 || strcmp(end, ".json") == 0);
}

static int entry_order(const struct dirent **left, const struct dirent **right) {
    return strcmp((*left)->d_name, (*right)->d_name);
}

/* A missing directory is an empty one. */
static int policy_add_directory(struct policy *policy, const char *directory, struct error *err) {
    autofree struct dirent **entries = NULL;
    int count = scandir(directory, &entries, entry_is_rules, entry_order);
    int result = 0;

    if (count < 0 && errno == ENOENT)
        return 0;
    if (count < 0)
        return error_errno(err, ERROR_BAD_REQUEST, "%s", directory);
    for (int i = 0; i < count; i++) {
        if (result == 0)
            result = policy_add_file(
                policy, arena_format(policy->arena, "%s/%s", directory, entries[i]->d_name), false,
                err);
        free(entries[i]);
    }
    return result;
}

/* ---- references ---- */

struct resolving {
    struct policy *policy;
    const struct rule *rule; /* whose references are looked up */
};

static int rule_refuse(const struct rule *rule, struct error *err, const char *reason,
                       const char *name) {
    return error_set(err, ERROR_BAD_REQUEST, "%s:%u: rule %s: %s %s",
                     rule->file ? rule->file : "built-in", rule->line, rule->name, reason, name);
}

static int rule_resolve(struct policy *policy, struct rule *rule, struct error *err);

static const struct check *resolve_reference(void *arg, const char *name, int *ret_depth,
                                             struct error *err) {
    const struct resolving *resolving = arg;
    struct rule *rule = *policy_slot(resolving->policy, name);

    if (!rule) {
        rule_refuse(resolving->rule, err, "there is no rule", name);
        return NULL;
    }
    if (rule->state == RULE_OPEN) {
        rule_refuse(resolving->rule, err, "it leads back to itself through", name);
        return NULL;
    }
    if (rule_resolve(resolving->policy, rule, err) < 0)
        return NULL;
    *ret_depth = rule->depth;
    return rule->check;
}

static int rule_resolve(struct policy *policy, struct rule *rule, struct error *err) {
    struct resolving resolving = { policy, rule };

    if (rule->state == RULE_DONE)
        return 0;
    if (++policy->open > DEPTH_MOST)
        return rule_refuse(rule, err, "too many others lead to", rule->name);
    rule->state = RULE_OPEN;
    rule->depth = check_resolve(rule->check, resolve_reference, &resolving, err);
    rule->state = RULE_DONE;
    policy->open--;
    if (rule->depth > DEPTH_MOST)
        return rule_refuse(rule, err, "it leads through too many others, the last being",
                           rule->name);
    return rule->depth < 0 ? -1 : 0;
}

static int policy_resolve(struct policy *policy, struct error *err) {
    for (size_t i = 0; i < policy->room; i++)
        if (policy->slots[i] && rule_resolve(policy, policy->slots[i], err) < 0)
            return -1;
    return 0;
}

static int policy_fill(struct policy *policy, const struct policy_settings *settings,
                       struct error *err) {
    if (policy_add_defaults(policy, rule_bases, settings->enforce_new_defaults, err) < 0 ||
        policy_add_defaults(policy, rule_defaults, settings->enforce_new_defaults, err) < 0)
        return -1;
    if (settings->file && policy_add_file(policy, settings->file, settings->optional, err) < 0)
        return -1;
    if (settings->directory && policy_add_directory(policy, settings->directory, err) < 0)
        return -1;
    return policy_resolve(policy, err);
}

int policy_load(const struct policy_settings *settings, struct policy **ret, struct error *err) {
    struct arena *arena = arena_new();
    struct policy *policy = arena_alloc(arena, sizeof(*policy));

    policy->arena = arena;
    if (policy_fill(policy, settings, err) < 0) {
        policy_free(policy);
        return -1;
    }
    *ret = policy;
    return 0;
}

void policy_free(struct policy *policy) {
    if (policy)
        arena_free(policy->arena);
}

/* ---- asking ---- */

bool policy_allows(const struct policy *policy, const char *rule, const struct context *context,
                   const struct policy_target *target) {
    const struct policy_target own = { context->project_id, context->user_id };
    const struct check_question question = { context, target ? target : &own };
    const struct rule *found = *policy_slot(policy, rule);

    return found && check_is_true(found->check, &question);
}

int policy_enforce(const struct policy *policy, const char *rule, const struct context *context,
                   const struct policy_target *target, struct error *err) {
    if (policy_allows(policy, rule, context, target))
        return 0;
    return error_set(err, ERROR_FORBIDDEN, "The policy %s does not allow this.", rule);
}

/* ---- sample ---- */

static void print_rules(const struct rule_default *row, FILE *out) {
    for (; row->name; row++) {
        fprintf(out, "# %s\n", row->description);
        if (row->predecessor)
            fprintf(out, "# Former releases: \"%s\"\n", row->predecessor);
        fprintf(out, "#\"%s\": \"%s\"\n\n", row->name, row->text);
    }
}

void policy_print_sample(FILE *out) {
    fputs(
        "# Policy rules: each line shows the built-in rule; take the \"#\" off to replace it.\n\n",
        out);
    print_rules(rule_bases, out);
    print_rules(rule_defaults, out);
}
