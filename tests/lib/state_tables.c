#include "tests/lib/state_tables.h"

#define STATES_MOST 64

static const char *name_of(const char *const *names, unsigned count, unsigned number) {
    return number < count ? names[number] : "unknown";
}

static const char *row_text(const struct state_table *table, const struct state_row *row,
                            struct arena *arena) {
    return arena_format(arena, "%s: %s, %s", table->name,
                        name_of(table->states, table->state_count, row->state),
                        name_of(table->events, table->event_count, row->event));
}

const char *state_table_unreached(const struct state_table *table, struct arena *arena) {
    for (unsigned i = 0; i < table->count; i++) {
        if (atomic_load(&table->reached[i]) == 0)
            return row_text(table, &table->rows[i], arena);
    }
    return NULL;
}

static int check_row(const struct state_table *table, const struct state_row *row,
                     struct arena *arena, struct error *err) {
    const char *text = row_text(table, row, arena);

    if (row->state >= table->state_count || row->event >= table->event_count ||
        row->next >= table->state_count || row->action >= table->action_count)
        return error_set(err, ERROR_INTERNAL, "%s: number without a name", text);
    if (state_table_find(table, row->state, row->event) != row)
        return error_set(err, ERROR_INTERNAL, "%s: more than one row", text);
    if (!row->sentence || !*row->sentence)
        return error_set(err, ERROR_INTERNAL, "%s: row without a sentence", text);
    return 0;
}

static void find_reachable(const struct state_table *table, bool *reachable) {
    bool changed = true;

    reachable[table->initial] = true;
    while (changed) {
        changed = false;
        for (unsigned i = 0; i < table->count; i++) {
            const struct state_row *row = &table->rows[i];

            if (!reachable[row->state] || reachable[row->next])
                continue;
            reachable[row->next] = changed = true;
        }
    }
}

static bool is_used(const struct state_table *table, unsigned number, bool action) {
    for (unsigned i = 0; i < table->count; i++) {
        if ((action ? table->rows[i].action : table->rows[i].event) == number)
            return true;
    }
    return false;
}

int state_table_check(const struct state_table *table, struct error *err) {
    autoarena struct arena *arena = arena_new();
    bool reachable[STATES_MOST] = { false };

    if (table->state_count > STATES_MOST || table->initial >= table->state_count)
        return error_set(err, ERROR_INTERNAL, "%s: too many states", table->name);
    for (unsigned i = 0; i < table->count; i++) {
        if (check_row(table, &table->rows[i], arena, err) < 0)
            return -1;
    }
    find_reachable(table, reachable);
    for (unsigned i = 0; i < table->state_count; i++) {
        if (!reachable[i])
            return error_set(err, ERROR_INTERNAL, "%s: the state %s is never reached", table->name,
                             table->states[i]);
    }
    for (unsigned i = 0; i < table->event_count; i++) {
        if (!is_used(table, i, false))
            return error_set(err, ERROR_INTERNAL, "%s: the event %s has no row", table->name,
                             table->events[i]);
    }
    for (unsigned i = 0; i < table->action_count; i++) {
        if (!is_used(table, i, true))
            return error_set(err, ERROR_INTERNAL, "%s: the action %s has no row", table->name,
                             table->actions[i]);
    }
    return 0;
}
