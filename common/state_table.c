#include "common/state_table.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/log_limit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct state_row *state_table_find(const struct state_table *table, unsigned state,
                                         unsigned event) {
    for (unsigned i = 0; i < table->count; i++) {
        if (table->rows[i].state == state && table->rows[i].event == event)
            return &table->rows[i];
    }
    return NULL;
}

static const char *name_of(const char *const *names, unsigned count, unsigned number) {
    return number < count ? names[number] : "unknown";
}

static void state_table_refuse(const struct state_table *table, unsigned state, unsigned event) {
    static struct log_limit refused = LOG_LIMIT;
    const char *strict = getenv("SCORIA_STATE_TABLES");
    const char *from = name_of(table->states, table->state_count, state);
    const char *what = name_of(table->events, table->event_count, event);
    unsigned others;
    char key[128];

    snprintf(key, sizeof key, "%s %u %u", table->name, state, event);
    if (log_limit_allows(&refused, key, clock_monotonic_us(), &others))
        log_error(NULL, "state transition refused: the table has no row", "table", table->name,
                  "state", from, "event", what, "others", LOG_INT(others), NULL);
    if (strict && strcmp(strict, "strict") == 0)
        abort();
}

const struct state_row *state_table_next(const struct state_table *table, unsigned *state,
                                         unsigned event) {
    const struct state_row *row = state_table_find(table, *state, event);

    if (!row) {
        state_table_refuse(table, *state, event);
        return NULL;
    }
    atomic_fetch_add_explicit(&table->reached[row - table->rows], 1, memory_order_relaxed);
    *state = row->next;
    return row;
}

/* ---- for documents ---- */

static int widest(const char *const *names, unsigned count) {
    size_t width = 0;

    for (unsigned i = 0; i < count; i++)
        width = strlen(names[i]) > width ? strlen(names[i]) : width;
    return (int)width;
}

const char *state_table_text(const struct state_table *table, struct arena *arena) {
    int events = widest(table->events, table->event_count);
    int states = widest(table->states, table->state_count);
    int actions = widest(table->actions, table->action_count);
    const char *text =
        arena_format(arena, "%s, from %s\n", table->name, table->states[table->initial]);

    for (unsigned i = 0; i < table->state_count; i++) {
        text = arena_join(arena, text, "\n  ", table->states[i], "\n", NULL);
        for (unsigned j = 0; j < table->count; j++) {
            const struct state_row *row = &table->rows[j];

            if (row->state == i)
                text =
                    arena_join(arena, text,
                               arena_format(arena, "    %-*s -> %-*s  [%s]%*s  %s\n", events,
                                            table->events[row->event], states,
                                            table->states[row->next], table->actions[row->action],
                                            actions - (int)strlen(table->actions[row->action]), "",
                                            row->sentence),
                               NULL);
        }
    }
    return text;
}
