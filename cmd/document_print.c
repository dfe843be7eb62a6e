#include "cmd/document_print.h"

#include "cmd/plain_text.h"
#include "cmd/table.h"
#include "common/cleanup.h"
#include "json/json.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define INDENT 2

static int put_text(const char *text) {
    return plain_text_put(stdout, text);
}

/* At least `width` wide, followed by two blanks. */
static void put_cell(const char *text, int width) {
    int cells = put_text(text);

    printf("%*s  ", cells < width ? width - cells : 0, "");
}

static const char *text_or_dash(const char *text) {
    return text && *text ? text : "-";
}

static const char *member_text(const json_t *object, const char *key) {
    return text_or_dash(json_text_of(object, key));
}

static const char *metadata_of(const json_t *document, const char *key) {
    return member_text(json_object_get(document, "metadata"), key);
}

/* The actual capacity, otherwise the requested one; for a replica the size of its file.  Each kind
 * has its own member. */
static const char *capacity_of(const json_t *document) {
    static const char *const parts[] = { "status", "spec" }, *const keys[] = { "storage", "used" };

    for (size_t i = 0; i < LENGTH(parts); i++) {
        const json_t *part = json_object_get(document, parts[i]);
        const json_t *capacity = json_object_get(part, "capacity");

        if (json_is_string(capacity))
            return json_string_value(capacity);
        for (size_t j = 0; j < LENGTH(keys); j++)
            if (json_text_of(capacity, keys[j]))
                return json_text_of(capacity, keys[j]);
    }
    return "-";
}

static const char *const names[] = { "name",    "phase", "capacity", "node",
                                     "created", "uid",   "progress", NULL };

enum { CELLS = LENGTH(names) - 1 };

/* The first running one: "Rebuild 43%, 120 MiB/s, 75 s left". */
static const char *progress_of(struct arena *arena, const json_t *document) {
    const json_t *first =
        json_array_get(json_object_get(json_object_get(document, "status"), "progress"), 0);
    int64_t percent = json_integer_value(json_object_get(first, "percent"));
    int64_t rate = json_integer_value(json_object_get(first, "bytesPerSecond"));
    int64_t left_s = json_integer_value(json_object_get(first, "remainingSeconds"));

    if (!first)
        return "-";
    if (rate <= 0)
        return arena_format(arena, "%s %jd%%", member_text(first, "operation"), (intmax_t)percent);
    return arena_format(arena, "%s %jd%%, %.1f MiB/s, %jd s left", member_text(first, "operation"),
                        (intmax_t)percent, (double)rate / (1 << 20), (intmax_t)left_s);
}

static void read_cells(struct arena *arena, const json_t *document, const char *cells[CELLS]) {
    const char *node = json_text_at(document, "publish.nodeId");
    const char *const read[CELLS] = { metadata_of(document, "name"),
                                      member_text(json_object_get(document, "status"), "phase"),
                                      capacity_of(document),
                                      text_or_dash(node ? node
                                                        : json_text_at(document, "spec.nodeId")),
                                      metadata_of(document, "creationTimestamp"),
                                      metadata_of(document, "uid"),
                                      progress_of(arena, document) };

    memcpy(cells, read, sizeof read);
}

void document_print_table(const json_t *list) {
    autoarena struct arena *arena = arena_new();
    struct table table;

    table_begin(&table, arena, names, 0);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *cells[CELLS];

        read_cells(arena, json_array_get(list, i), cells);
        table_add(&table, cells);
    }
    table_print(&table);
}

void document_print_event(const char *type, const json_t *document) {
    /* events are printed one by one, so the widths of their columns are fixed */
    static const int widths[CELLS - 1] = { 30, 12, 8, 16, 20, 36 };
    autoarena struct arena *arena = arena_new();
    const char *cells[CELLS];
    const char *const *row = type ? cells : names;

    put_cell(type ? type : "event", 8);
    if (type)
        read_cells(arena, document, cells);
    for (size_t i = 0; i < LENGTH(widths); i++)
        put_cell(row[i], widths[i]);
    put_text(row[LENGTH(widths)]);
    putchar('\n');
}

static const char *bytes_of(struct arena *arena, const json_t *pool, const char *key) {
    return arena_format(arena, "%jd", (intmax_t)json_int_at(pool, key));
}

void document_print_pools(const json_t *list) {
    static const char *const of_pool[] = { "name", "node", "state", "free", "total", "path", NULL };
    autoarena struct arena *arena = arena_new();
    struct table table;

    table_begin(&table, arena, of_pool, 1 << 3 | 1 << 4);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *pool = json_array_get(list, i);
        bool up = json_true_at(pool, "up");

        table_add(&table, (const char *const[]){
                              member_text(pool, "name"), member_text(pool, "node"),
                              up ? member_text(pool, "state") : "Offline",
                              bytes_of(arena, pool, "free_bytes"),
                              bytes_of(arena, pool, "total_bytes"), member_text(pool, "path") });
    }
    table_print(&table);
}

/* ---- describe ---- */

static void print_value(const json_t *value) {
    if (json_is_string(value))
        put_text(json_string_value(value));
    else
        json_dumpf(value, stdout, JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII);
}

static bool is_empty(const json_t *value) {
    return (json_is_object(value) && json_object_size(value) == 0) ||
           (json_is_array(value) && json_array_size(value) == 0);
}

static void print_tree(const json_t *value, int depth);

static void print_member(const char *name, const json_t *value, int depth) {
    bool below = (json_is_object(value) || json_is_array(value)) && !is_empty(value);

    printf("%*s", depth, "");
    put_text(name);
    fputs(below ? ":\n" : ": ", stdout);
    if (below) {
        print_tree(value, depth + INDENT);
        return;
    }
    if (!is_empty(value))
        print_value(value);
    putchar('\n');
}

/* The members of an object; the items of a list, numbered. */
static void print_tree(const json_t *value, int depth) {
    const char *name;
    json_t *below;

    json_object_foreach((json_t *)(uintptr_t)value, name, below) {
        print_member(name, below, depth);
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        char number[24];

        snprintf(number, sizeof number, "[%zu]", i);
        print_member(number, json_array_get(value, i), depth);
    }
}

void document_print_whole(struct arena *arena, const json_t *document) {
    json_t *rest = json_keep(arena, json_deep_copy(document));
    json_t *conditions = json_keep(arena, json_incref(json_at(rest, "status.conditions")));

    json_object_del(json_object_get(rest, "status"), "conditions");
    print_tree(rest, 0);
    if (json_array_size(conditions) > 0) {
        puts("conditions:");
        for (size_t i = 0; i < json_array_size(conditions); i++) {
            const json_t *condition = json_array_get(conditions, i);

            fputs("  ", stdout);
            put_cell(member_text(condition, "type"), 24);
            put_cell(member_text(condition, "status"), 8);
            put_cell(member_text(condition, "lastTransitionTime"), 20);
            put_cell(member_text(condition, "reason"), 0);
            put_text(member_text(condition, "message"));
            putchar('\n');
        }
    }
}

void document_print_events(const json_t *list) {
    puts("events:");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *event = json_array_get(list, i);

        fputs("  ", stdout);
        put_cell(member_text(event, "type"), 8);
        put_cell(member_text(event, "reason"), 20);
        printf("%5jd times  ", (intmax_t)json_int_at(event, "count"));
        put_cell(member_text(event, "lastTimestamp"), 20);
        put_text(member_text(event, "message"));
        putchar('\n');
    }
}

/* ---- changes ---- */

struct change {
    struct arena *arena;
    bool prints;
    unsigned count;
};

static void tell(struct change *change, const char *path, const json_t *before,
                 const json_t *after) {
    change->count++;
    if (!change->prints)
        return;
    fputs("  ", stdout);
    put_text(path);
    fputs(": ", stdout);
    if (before)
        print_value(before);
    else
        fputs("(none)", stdout);
    fputs(" -> ", stdout);
    if (after)
        print_value(after);
    else
        fputs("(none)", stdout);
    putchar('\n');
}

static void compare(struct change *change, const char *path, const json_t *before,
                    const json_t *after);

static void compare_members(struct change *change, const char *path, const json_t *before,
                            const json_t *after) {
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)before, name, value) {
        compare(change, arena_join(change->arena, path, *path ? "." : "", name, NULL), value,
                json_object_get(after, name));
    }
    json_object_foreach((json_t *)(uintptr_t)after, name, value) {
        if (!json_object_get(before, name))
            compare(change, arena_join(change->arena, path, *path ? "." : "", name, NULL), NULL,
                    value);
    }
}

static void compare(struct change *change, const char *path, const json_t *before,
                    const json_t *after) {
    if (before && after && json_equal(before, after))
        return;
    if ((!before || json_is_object(before)) && (!after || json_is_object(after)))
        compare_members(change, path, before, after);
    else
        tell(change, path, before, after);
}

/* Without members that every change updates. */
static const json_t *meaning_of(struct arena *arena, const json_t *document) {
    static const char *const moving[] = { "resourceVersion", "generation", "creationTimestamp",
                                          "uid", NULL };
    json_t *copy = document ? json_keep(arena, json_deep_copy(document)) : NULL;

    for (const char *const *key = moving; copy && *key; key++)
        json_object_del(json_object_get(copy, "metadata"), *key);
    return copy;
}

void document_print_change(struct arena *arena, const json_t *before, const json_t *after,
                           bool would) {
    struct change change = { arena, false, 0 };
    const json_t *old = meaning_of(arena, before), *new = meaning_of(arena, after);
    const char *word;

    compare(&change, "", old, new);
    word = !before ? "created" : change.count > 0 ? "configured" : "unchanged";
    printf("%s/%s %s%s\n", json_text_of(after, "kind"), metadata_of(after, "name"),
           would && change.count > 0 ? "would be " : "", word);
    change.prints = would;
    compare(&change, "", old, new);
}
