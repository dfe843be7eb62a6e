#include "policy/rule_set.private.h"

#include "common/cleanup.h"
#include "common/words.h"
#include "policy/check_parse.private.h"
#include "policy/rule_file.private.h"
#include "policy/rules.private.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

/* Nesting of a rule with all its references, in loading and evaluation, on the smallest stack. */
#define DEPTH_MOST  200
#define CHECKS_MOST 100000 /* of the same, for one evaluation */
#define RULES_MOST  10000
#define FILES_MOST  1000 /* in the directory */

struct rule {
    const char *name;
    const struct check *check;
    const char *file; /* NULL: built in */
    unsigned line;
    enum { RULE_NEW, RULE_OPEN, RULE_DONE } state; /* of resolving references */
    struct check_cost cost;
};

struct rule_set {
    struct arena *arena;
    struct rule *
        *slots; /* open addressing; the size is a power of two, more than twice the count */
    size_t room, count;
};

/* ---- rules by name ---- */

static struct rule **rule_set_slot(const struct rule_set *set, const char *name) {
    size_t at = word_hash(name) & (set->room - 1);

    while (set->slots[at] && strcmp(set->slots[at]->name, name) != 0)
        at = (at + 1) & (set->room - 1);
    return &set->slots[at];
}

static void rule_set_make_room(struct rule_set *set) {
    struct rule **slots = set->slots;
    size_t room = set->room;

    if (2 * set->count < room)
        return;
    set->room = room ? 2 * room : 512;
    set->slots = arena_alloc(set->arena, set->room * sizeof(*slots));
    for (size_t i = 0; i < room; i++)
        if (slots[i])
            *rule_set_slot(set, slots[i]->name) = slots[i];
}

/* The rule of this name, created if missing. */
static struct rule *rule_set_rule(struct rule_set *set, const char *name) {
    struct rule **slot;

    rule_set_make_room(set);
    slot = rule_set_slot(set, name);
    if (!*slot) {
        *slot = arena_alloc(set->arena, sizeof(**slot));
        (*slot)->name = name;
        set->count++;
    }
    return *slot;
}

/* ---- loading ---- */

static int rule_set_add_defaults(struct rule_set *set, const struct rule_default *row,
                                 bool new_defaults, struct error *err) {
    for (; row->name; row++) {
        const struct check *check = check_parse(set->arena, row->text, err);

        if (check && row->predecessor && !new_defaults) {
            const struct check *before = check_parse(set->arena, row->predecessor, err);

            check = before ? check_any(set->arena, check, before) : NULL;
        }
        if (!check)
            return error_context(err, "built-in rule %s", row->name);
        rule_set_rule(set, row->name)->check = check;
    }
    return 0;
}

static int rule_set_add_file(struct rule_set *set, const char *path, bool optional,
                             struct error *err) {
    struct rule_entry *entry;

    if (rule_file_read(set->arena, path, optional, &entry, err) < 0)
        return -1;
    for (; entry; entry = entry->next) {
        struct rule *rule = rule_set_rule(set, entry->name);

        if (rule->file == entry->file)
            return error_set(err, ERROR_BAD_REQUEST, "%s:%u: rule %s was defined in line %u",
                             entry->file, entry->line, entry->name, rule->line);
        if (set->count > RULES_MOST)
            return error_set(err, ERROR_BAD_REQUEST, "%s:%u: there are more than %d rules",
                             entry->file, entry->line, RULES_MOST);
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

int rule_set_files(const char *directory, struct dirent ***ret) {
    return scandir(directory, ret, entry_is_rules, entry_order);
}

/* A missing directory is an empty one. */
static int rule_set_add_directory(struct rule_set *set, const char *directory, struct error *err) {
    autofree struct dirent **entries = NULL;
    int count = rule_set_files(directory, &entries);
    int result = 0;

    if (count < 0 && errno == ENOENT)
        return 0;
    if (count < 0)
        return error_errno(err, ERROR_UNAVAILABLE, "%s", directory);
    if (count > FILES_MOST)
        result = error_set(err, ERROR_BAD_REQUEST, "%s: there are more than %d files of rules",
                           directory, FILES_MOST);
    for (int i = 0; i < count; i++) {
        if (result == 0)
            result = rule_set_add_file(
                set, arena_format(set->arena, "%s/%s", directory, entries[i]->d_name), false, err);
        free(entries[i]);
    }
    return result;
}

/* ---- references ---- */

struct resolving {
    struct rule_set *set;
    const struct rule *rule; /* whose references are resolved */
};

static int rule_refuse(const struct rule *rule, struct error *err, const char *reason,
                       const char *name) {
    return error_set(err, ERROR_BAD_REQUEST, "%s:%u: rule %s: %s %s",
                     rule->file ? rule->file : "built-in", rule->line, rule->name, reason, name);
}

static int rule_resolve(struct rule_set *set, struct rule *rule, unsigned above, struct error *err);

static const struct check *resolve_reference(void *arg, const char *name, unsigned above,
                                             struct check_cost *ret, struct error *err) {
    const struct resolving *resolving = arg;
    struct rule *rule = *rule_set_slot(resolving->set, name);

    if (!rule) {
        rule_refuse(resolving->rule, err, "there is no rule", name);
        return NULL;
    }
    if (rule->state == RULE_OPEN) {
        rule_refuse(resolving->rule, err, "it leads back to itself through", name);
        return NULL;
    }
    if (above > DEPTH_MOST) {
        rule_refuse(resolving->rule, err, "too many others lead to", name);
        return NULL;
    }
    if (rule_resolve(resolving->set, rule, above, err) < 0)
        return NULL;
    *ret = rule->cost;
    return rule->check;
}

static int rule_resolve(struct rule_set *set, struct rule *rule, unsigned above,
                        struct error *err) {
    struct resolving resolving = { set, rule };

    if (rule->state == RULE_DONE)
        return 0;
    rule->state = RULE_OPEN;
    if (check_resolve(rule->check, above, resolve_reference, &resolving, &rule->cost, err) < 0)
        return -1;
    rule->state = RULE_DONE;
    if (rule->cost.depth > DEPTH_MOST)
        return rule_refuse(rule, err, "it leads through too many others, the last being",
                           rule->name);
    if (rule->cost.checks > CHECKS_MOST)
        return rule_refuse(
            rule, err, "with all that it leads to it has too many checks, as seen in", rule->name);
    return 0;
}

static int rule_set_fill(struct rule_set *set, const struct policy_settings *settings,
                         struct error *err) {
    if (rule_set_add_defaults(set, rule_bases, settings->enforce_new_defaults, err) < 0 ||
        rule_set_add_defaults(set, rule_defaults, settings->enforce_new_defaults, err) < 0)
        return -1;
    if (settings->file && rule_set_add_file(set, settings->file, settings->optional, err) < 0)
        return -1;
    if (settings->directory && rule_set_add_directory(set, settings->directory, err) < 0)
        return -1;
    for (size_t i = 0; i < set->room; i++)
        if (set->slots[i] && rule_resolve(set, set->slots[i], 0, err) < 0)
            return -1;
    return 0;
}

int rule_set_load(const struct policy_settings *settings, struct rule_set **ret,
                  struct error *err) {
    struct arena *arena = arena_new();
    struct rule_set *set = arena_alloc(arena, sizeof(*set));

    set->arena = arena;
    if (rule_set_fill(set, settings, err) < 0) {
        rule_set_free(set);
        return -1;
    }
    *ret = set;
    return 0;
}

void rule_set_free(struct rule_set *set) {
    if (set)
        arena_free(set->arena);
}

/* ---- evaluation ---- */

bool rule_set_allows(const struct rule_set *set, const char *rule, const struct context *context,
                     const struct policy_target *target) {
    const struct policy_target own = { context->project_id, context->user_id };
    const struct check_question question = { context, target ? target : &own };
    const struct rule *found = *rule_set_slot(set, rule);

    return found && check_is_true(found->check, &question);
}
