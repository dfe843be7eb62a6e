#include "declared/condition.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "json/json.h"

#include <stdio.h>
#include <string.h>

static const char *const resize_types[] = {
    CONDITION_RESIZING,
    CONDITION_RESIZE_PENDING,
    CONDITION_RESIZE_FAILED,
    CONDITION_RESIZE_SUCCESSFUL,
};

#define MESSAGE_MOST 4096

/* clang-format off */
static const char *const states[] = { "True", "False", "Unknown", NULL };

const struct schema_field condition_fields[] = {
    { "type", SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .about = "The type of the condition." },
    { "status", SCHEMA_WORD, SCHEMA_REQUIRED, .words = states, .about = "Whether it holds." },
    { "reason", SCHEMA_TEXT, .about = "The reason, in CamelCase." },
    { "message", SCHEMA_TEXT, SCHEMA_ADMIN_ONLY, .max = MESSAGE_MOST,
      .instead = "The reason is shown to administrators.", .about = "The reason, as a sentence." },
    { "lastProbeTime", SCHEMA_TEXT, .about = "When it was checked." },
    { "lastUpdateTime", SCHEMA_TEXT, .about = "When it was written." },
    { "lastTransitionTime", SCHEMA_TEXT, .about = "When its status became what it is." },
    SCHEMA_FIELDS_END,
};
/* clang-format on */

/* json_array_size(): there is none. */
static size_t index_of(const json_t *conditions, const char *type) {
    size_t i = 0;

    while (i < json_array_size(conditions) &&
           !json_text_is(json_array_get(conditions, i), "type", type))
        i++;
    return i;
}

const json_t *condition_find(const json_t *conditions, const char *type) {
    return json_array_get(conditions, index_of(conditions, type));
}

bool condition_is(const json_t *conditions, const char *type, const char *status) {
    return json_text_is(condition_find(conditions, type), "status", status);
}

/* To the second, with its zone, as instants in documents. */
static json_t *instant(int64_t now_us) {
    char text[CLOCK_TEXT_SIZE], shown[CLOCK_TEXT_SIZE + 1];

    snprintf(shown, sizeof shown, "%.19sZ", clock_text(now_us, text));
    return json_string(shown);
}

static void set_members(json_t *object, const struct condition *condition, int64_t now_us) {
    bool turns = !json_text_is(object, "status", condition->status);

    json_object_set_new(object, "type", json_string(condition->type));
    json_object_set_new(object, "status", json_string(condition->status));
    json_object_set_new(object, "lastUpdateTime", instant(now_us));
    if (turns)
        json_object_set_new(object, "lastTransitionTime", instant(now_us));
    json_object_set_new(object, "reason", json_string(condition->reason));
    json_object_set_new(object, "message", json_string(condition->message));
}

bool condition_change(json_t *conditions, const struct condition *condition, int64_t now_us) {
    json_t *found = json_array_get(conditions, index_of(conditions, condition->type));

    if (!found || (json_text_is(found, "status", condition->status) &&
                   json_text_is(found, "reason", condition->reason) &&
                   json_text_is(found, "message", condition->message)))
        return false;
    set_members(found, condition, now_us);
    return true;
}

bool condition_put(json_t *conditions, const struct condition *condition, int64_t now_us) {
    json_t *made;

    if (condition_find(conditions, condition->type))
        return condition_change(conditions, condition, now_us);
    made = json_object();
    set_members(made, condition, now_us);
    json_array_append_new(conditions, made);
    return true;
}

bool condition_remove(json_t *conditions, const char *type) {
    return json_array_remove(conditions, index_of(conditions, type)) == 0;
}

bool condition_put_resize(json_t *conditions, const struct condition *of_size, unsigned count,
                          int64_t now_us) {
    bool changed = false;

    for (size_t i = 0; i < LENGTH(resize_types); i++) {
        bool stays = false;

        for (unsigned k = 0; k < count; k++)
            stays |= strcmp(of_size[k].type, resize_types[i]) == 0;
        if (!stays)
            changed = condition_remove(conditions, resize_types[i]) || changed;
    }
    for (unsigned i = 0; i < count; i++)
        changed = condition_put(conditions, &of_size[i], now_us) || changed;
    return changed;
}
