#include "drivers/fault_plan.h"

#include "common/cleanup.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const call_names[] = {
    "open",
    "*",
#define CALL(feature, result, name, parameters, arguments, subject, output) #name,
#include "drivers/driver.def"
};

static const struct {
    const char *word;
    enum fault_action action;
} action_words[] = {
    { "fail", FAULT_BEFORE },        { "fail-after", FAULT_AFTER },        { "delay", FAULT_PASS },
    { "crash", FAULT_CRASH_BEFORE }, { "crash-after", FAULT_CRASH_AFTER }, { "busy", FAULT_BUSY },
    { "long", FAULT_LONG },
};

int fault_parse_rule(const char *text, struct fault_rule *ret, struct error *err) {
    struct fault_rule rule = { .delay_ms = 0 };
    char call[32], action[32];
    int end = -1, end_with_delay = -1;
    int length = (int)strlen(text);
    size_t known_call = 0, known_action = 0;

    if (sscanf(text, "%31[a-z_*]:%31[a-z-]:%lf%n:%" SCNd64 "%n", call, action, &rule.probability,
               &end, &rule.delay_ms, &end_with_delay) < 3 ||
        (end != length && end_with_delay != length))
        return error_set(err, ERROR_BAD_REQUEST,
                         "fault_plan: \"%s\" is not call:action:probability[:milliseconds].", text);
    while (known_call < LENGTH(call_names) && strcmp(call, call_names[known_call]) != 0)
        known_call++;
    if (known_call == LENGTH(call_names))
        return error_set(err, ERROR_BAD_REQUEST, "fault_plan: there is no call \"%s\".", call);
    while (known_action < LENGTH(action_words) &&
           strcmp(action, action_words[known_action].word) != 0)
        known_action++;
    if (known_action == LENGTH(action_words))
        return error_set(err, ERROR_BAD_REQUEST, "fault_plan: there is no action \"%s\".", action);
    strcpy(rule.call, call);
    rule.action = action_words[known_action].action;
    if (!(rule.probability >= 0 && rule.probability <= 1) || rule.delay_ms < 0 ||
        rule.delay_ms > 3600000)
        return error_set(err, ERROR_BAD_REQUEST,
                         "fault_plan: \"%s\" has a probability outside 0 to 1 or a delay outside 0 "
                         "to 3600000 ms.",
                         text);
    *ret = rule;
    return 0;
}

/* Number n of the seed's sequence, 0 to 1 (splitmix64): without a lock, and repeatable. */
static double draw(struct fault_plan *plan) {
    uint64_t z = plan->seed + (atomic_fetch_add(&plan->drawn, 1) + 1) * 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

struct fault_decision fault_plan_follow(void *arg, const char *call, const char *volume_id) {
    struct fault_plan *plan = arg;

    (void)volume_id;
    for (size_t i = 0; i < plan->rule_count; i++) {
        const struct fault_rule *rule = &plan->rules[i];
        bool any = strcmp(rule->call, "*") == 0 && strcmp(call, "open") != 0;

        if ((any || strcmp(rule->call, call) == 0) && draw(plan) < rule->probability)
            return (struct fault_decision){ .action = rule->action, .delay_ms = rule->delay_ms };
    }
    return (struct fault_decision){ .action = FAULT_PASS };
}

int fault_plan_load(struct fault_plan *plan, const struct driver_backend *backend,
                    struct error *err) {
    const char *text;

    plan->seed = (uint64_t)config_int(backend->config, backend->name, "fault_seed");
    for (size_t i = 0; (text = config_item(backend->config, backend->name, "fault_plan", i)); i++) {
        if (i == LENGTH(plan->rules))
            return error_set(err, ERROR_BAD_REQUEST, "fault_plan: more than %zu rules.", i);
        if (fault_parse_rule(text, &plan->rules[i], err) < 0)
            return -1;
        plan->rule_count = i + 1;
    }
    return 0;
}
