#include "model/scheduler/placement_query.private.h"

#include "common/cleanup.h"
#include "json/json.h"

#include <string.h>

#define DEEPEST    8
#define ITEMS_MOST ((size_t)500) /* of all terms, with their operators; a term itself is two */
#define NAME_MOST  255           /* bytes of the name of a capability */

/* ---- operators ---- */

/* < 0, 0, > 0; values without an order: UNLIKE.  Texts have none: by their order any caller could
 * search for the names of hosts and for what pools report. */
#define UNLIKE 2

static int compare(const json_t *left, const json_t *right) {
    if (json_is_number(left) && json_is_number(right)) {
        double difference = json_number_value(left) - json_number_value(right);

        return (difference > 0) - (difference < 0);
    }
    return json_equal(left, right) ? 0 : UNLIKE;
}

static bool is_equal(int order) {
    return order == 0;
}

static bool is_less(int order) {
    return order == -1;
}

static bool is_more(int order) {
    return order == 1;
}

static bool is_at_most(int order) {
    return order == 0 || order == -1;
}

static bool is_at_least(int order) {
    return order == 0 || order == 1;
}

enum sense { SENSE_ALL, SENSE_ANY, SENSE_AND, SENSE_OR, SENSE_NOT };

/* A comparison compares its first value with each other one. */
static const struct verb {
    const char *name;
    enum sense sense;
    bool (*holds)(int order); /* of SENSE_ALL and SENSE_ANY */
} verbs[] = {
    { "=", SENSE_ALL, is_equal },     { "<", SENSE_ALL, is_less },
    { ">", SENSE_ALL, is_more },      { "<=", SENSE_ALL, is_at_most },
    { ">=", SENSE_ALL, is_at_least }, { "in", SENSE_ANY, is_equal },
    { "and", SENSE_AND, NULL },       { "or", SENSE_OR, NULL },
    { "not", SENSE_NOT, NULL },
};

static const struct verb *verb_of(const json_t *term) {
    const char *name = json_string_value(json_array_get(term, 0));

    for (size_t i = 0; name && i < LENGTH(verbs); i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    return NULL;
}

/* ---- reading ---- */

static bool is_term(const json_t *term, unsigned depth) {
    const struct verb *verb = verb_of(term);

    if (!verb || depth > DEEPEST)
        return false;
    for (size_t i = 1; i < json_array_size(term); i++) {
        const json_t *item = json_array_get(term, i);

        if (json_is_object(item) ||
            (json_is_array(item) && (verb->holds || !is_term(item, depth + 1))))
            return false;
    }
    return true;
}

/* ---- evaluation ---- */

struct asked {
    const json_t *reported;
    json_t *name;
};

/* NULL: not in the pool's report. */
static const json_t *value_of(const struct asked *asked, const json_t *item) {
    static const char capabilities[] = "$capabilities.";
    const char *text = json_string_value(item);

    if (!text || *text != '$')
        return item;
    if (json_string_length(item) > NAME_MOST)
        return NULL;
    if (strcmp(text, "$host") == 0 || strcmp(text, "$backend_id") == 0)
        return asked->name;
    if (strncmp(text, capabilities, strlen(capabilities)) == 0)
        return json_object_get(asked->reported, text + strlen(capabilities));
    return json_object_get(asked->reported, text + 1);
}

static bool compares(const struct asked *asked, const struct verb *verb, const json_t *term) {
    const json_t *first = value_of(asked, json_array_get(term, 1));
    unsigned held = 0, said = 0;

    for (size_t i = 2; first && i < json_array_size(term); i++) {
        const json_t *other = value_of(asked, json_array_get(term, i));

        said += other != NULL;
        held += other && verb->holds(compare(first, other));
    }
    return said > 0 && (verb->sense == SENSE_ANY ? held > 0 : held == said);
}

static bool holds(const struct asked *asked, const json_t *term) {
    const struct verb *verb = verb_of(term);
    const json_t *value = verb ? NULL : value_of(asked, term);
    size_t count = json_array_size(term), truths = 0;

    if (!verb)
        return json_is_true(value) || (json_is_number(value) && json_number_value(value) != 0) ||
               (json_is_string(value) && *json_string_value(value));
    if (verb->holds)
        return compares(asked, verb, term);
    for (size_t i = 1; i < count; i++)
        truths += holds(asked, json_array_get(term, i));
    return verb->sense == SENSE_AND  ? truths == count - 1
           : verb->sense == SENSE_OR ? truths > 0
                                     : truths < count - 1;
}

/* Where no term needs the values of one. */
static const struct asked no_pool;

/* Replaces terms without a pool's value by their result, which is the same for each pool. */
static bool fold_constants(json_t *term) {
    bool constant = true;

    for (size_t i = 1; i < json_array_size(term); i++) {
        json_t *item = json_array_get(term, i);
        const char *text = json_string_value(item);

        if (json_is_array(item) && fold_constants(item))
            json_array_set_new(term, i, json_boolean(holds(&no_pool, item)));
        else if (json_is_array(item) || (text && *text == '$'))
            constant = false;
    }
    return constant;
}

int placement_query_read(struct work *work, const json_t *value, const json_t **ret,
                         struct error *err) {
    const char *text = json_string_value(value);
    struct error ignored;
    json_t *term;

    *ret = NULL;
    if (!text || !*text)
        return 0;
    if (json_values(text, strlen(text)) > ITEMS_MOST)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Scheduler hint 'query' has more than %zu items (terms count twice).",
                         ITEMS_MOST);
    term = json_parse(work->arena, text, strlen(text), &ignored);
    if (term && json_array_size(term) == 0 && json_object_size(term) == 0)
        return 0;
    if (!term || !is_term(term, 1))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Scheduler hint 'query' must be a term like "
                         "[\"=\", \"$host\", \"node@backend#pool\"].");
    if (fold_constants(term))
        term = json_boolean(holds(&no_pool, term));
    *ret = term;
    return 0;
}

bool placement_query_allows(struct work *work, const json_t *term, const struct pool *pool) {
    struct asked asked;
    bool allowed;

    if (!term)
        return true;
    asked.reported = pool_capabilities(work, pool);
    asked.name = json_string(pool->name);
    allowed = holds(&asked, term);
    json_decref(asked.name);
    return allowed;
}
