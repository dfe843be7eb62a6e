#include "policy/rule.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "policy/rule_set.private.h"
#include "policy/rules.private.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Identity of the files: when it changes, they are read again. */
struct stamp {
    uint64_t hash;
};

struct policy_state {
    struct policy_settings settings; /* texts in the arena */
    int64_t look_us;                 /* time of the next check for changed files; atomic */
    struct stamp stamp;              /* owned by the thread that advanced look_us */
    bool has_file;                   /* was present when last read; owned as `stamp` */
    bool unread;                     /* the files of `stamp` could not be read; owned as it */

    pthread_rwlock_t lock; /* guards the members below */
    struct rule_set *rules;
};

struct policy {
    struct arena *arena;
    struct policy_state *state;
};

/* clang-format off */
const struct option policy_options[] = {
    { .section = "oslo_policy", .key = "policy_file", .type = OPTION_TEXT, .fallback = "policy.yaml",
      .help = "File of policy rules that replace the built-in ones: YAML or JSON, names to rules. It may be "
              "missing, then the built-in rules apply; where this option is given, with a warning, and a file that "
              "goes missing later leaves the rules as they are. A relative path is looked up beside the "
              "configuration file." },
    { .section = "oslo_policy", .key = "policy_dirs", .type = OPTION_TEXT, .fallback = "policy.d",
      .help = "Directory of further files of policy rules (*.yaml, *.json), taken in alphabetical "
              "order; a later rule replaces an earlier one. It may be missing." },
    { .section = "oslo_policy", .key = "enforce_new_defaults", .type = OPTION_BOOL, .fallback = "true",
      .help = "If false, the default of a former release also grants access, where no file "
              "replaces the rule." },
    { .section = "oslo_policy", .key = "enforce_scope", .type = OPTION_BOOL, .fallback = "true",
      .help = "Accepted because other services have it; no rule here depends on a token's scope." },
    OPTIONS_END,
};
/* clang-format on */

/* ---- changed files ---- */

static void stamp_add(struct stamp *stamp, const void *bytes, size_t size) {
    for (const unsigned char *byte = bytes; size > 0; byte++, size--)
        stamp->hash = (stamp->hash ^ *byte) * 1099511628211ULL;
}

static void stamp_add_file(struct stamp *stamp, const char *path) {
    struct stat found;

    stamp_add(stamp, path, strlen(path) + 1);
    if (stat(path, &found) < 0)
        return;
    stamp_add(stamp, &found.st_mtim, sizeof(found.st_mtim));
    stamp_add(stamp, &found.st_size, sizeof(found.st_size));
    stamp_add(stamp, &found.st_ino, sizeof(found.st_ino));
}

static void stamp_add_directory(struct stamp *stamp, const char *directory) {
    autofree struct dirent **entries = NULL;
    int count = rule_set_files(directory, &entries);

    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];

        snprintf(path, sizeof(path), "%s/%s", directory, entries[i]->d_name);
        stamp_add_file(stamp, path);
        free(entries[i]);
    }
}

static struct stamp stamp_of(const struct policy_settings *settings) {
    struct stamp stamp = { 14695981039346656037ULL };

    if (settings->file)
        stamp_add_file(&stamp, settings->file);
    if (settings->directory)
        stamp_add_directory(&stamp, settings->directory);
    return stamp;
}

static bool is_there(const char *path) {
    return path && (access(path, F_OK) == 0 || errno != ENOENT);
}

/* A file that was present and is missing is an error, unless it is optional. */
static int read_rules(const struct policy_settings *settings, bool has_file, struct rule_set **ret,
                      struct error *err) {
    struct policy_settings now = *settings;

    now.optional |= !has_file;
    return rule_set_load(&now, ret, err);
}

/* Invalid rules are not applied: the previous ones remain in force.  Files that could not be read
 * may be readable later without a change. */
static void read_again(struct policy_state *state, bool changed) {
    bool has_file = is_there(state->settings.file);
    struct rule_set *rules, *before;
    struct error err;

    if (read_rules(&state->settings, has_file || state->has_file, &rules, &err) < 0) {
        state->unread = err.kind != ERROR_BAD_REQUEST;
        if (changed || !state->unread)
            log_error(NULL, "changed policy not loaded, previous one in use", "reason", err.message,
                      NULL);
        return;
    }
    state->unread = false;
    state->has_file = has_file;
    pthread_rwlock_wrlock(&state->lock);
    before = state->rules;
    state->rules = rules;
    pthread_rwlock_unlock(&state->lock);
    rule_set_free(before);
    log_info(NULL, "changed policy loaded", NULL);
}

/* One of many concurrent callers checks, and not each time. */
static void look(struct policy_state *state) {
    int64_t now_us = clock_monotonic_us(), next_us = now_us + state->settings.look_ms * 1000;
    int64_t look_us = __atomic_load_n(&state->look_us, __ATOMIC_ACQUIRE);
    struct stamp stamp;
    bool changed;

    if (now_us < look_us || !__atomic_compare_exchange_n(&state->look_us, &look_us, INT64_MAX,
                                                         false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    stamp = stamp_of(&state->settings);
    changed = stamp.hash != state->stamp.hash;
    state->stamp = stamp;
    if (changed || state->unread)
        read_again(state, changed);
    __atomic_store_n(&state->look_us, next_us, __ATOMIC_RELEASE);
}

/* ---- start and end ---- */

int policy_load(const struct policy_settings *settings, struct policy **ret, struct error *err) {
    struct stamp stamp = stamp_of(settings); /* taken before reading, so that no change is missed */
    bool has_file = is_there(settings->file);
    struct rule_set *rules;
    struct policy *policy;
    struct arena *arena;

    if (read_rules(settings, has_file, &rules, err) < 0)
        return -1;
    if (settings->file && !has_file && !settings->optional)
        log_warning(NULL, "policy file not found, built-in rules apply", "file", settings->file,
                    NULL);
    arena = arena_new();
    policy = arena_alloc(arena, sizeof(*policy));
    policy->arena = arena;
    policy->state = arena_alloc(arena, sizeof(*policy->state));
    policy->state->settings = *settings;
    policy->state->settings.file = arena_text(arena, settings->file);
    policy->state->settings.directory = arena_text(arena, settings->directory);
    policy->state->stamp = stamp;
    policy->state->has_file = has_file;
    policy->state->rules = rules;
    policy->state->look_us = clock_monotonic_us() + settings->look_ms * 1000;
    pthread_rwlock_init(&policy->state->lock, NULL);
    *ret = policy;
    return 0;
}

void policy_free(struct policy *policy) {
    if (!policy)
        return;
    rule_set_free(policy->state->rules);
    pthread_rwlock_destroy(&policy->state->lock);
    arena_free(policy->arena);
}

/* ---- evaluation ---- */

unsigned policy_allows_each(const struct policy *policy, const char *const *rules, unsigned count,
                            const struct context *context, const struct policy_target *target) {
    struct policy_state *state = policy->state;
    unsigned allowed = 0;

    assert(count <= POLICY_RULES_MOST);
    if (state->settings.look_ms > 0)
        look(state);
    pthread_rwlock_rdlock(&state->lock);
    for (unsigned i = 0; i < count; i++)
        if (rule_set_allows(state->rules, rules[i], context, target))
            allowed |= 1U << i;
    pthread_rwlock_unlock(&state->lock);
    return allowed;
}

bool policy_allows(const struct policy *policy, const char *rule, const struct context *context,
                   const struct policy_target *target) {
    return policy_allows_each(policy, &rule, 1, context, target) != 0;
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
