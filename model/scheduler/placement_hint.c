#include "model/scheduler/placement_hint.private.h"

#include "common/words.h"
#include "operation/query.h"

#include <string.h>

/* Ids of a hint: a text, or a list of texts. Returns how many. */
static int read_ids(struct work *work, const json_t *value, const char *name, const char ***ret,
                    struct error *err) {
    size_t count = json_is_array(value) ? json_array_size(value) : 1;
    const char **ids = arena_alloc(work->arena, (count + 1) * sizeof(*ids));

    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_is_array(value) ? json_array_get(value, i) : value;
        char id[UUID_SIZE];

        if (!json_is_string(item) || !uuid_parse(json_string_value(item), id))
            return error_set(err, ERROR_BAD_REQUEST,
                             "Scheduler hint '%s' must be a UUID or a list of UUIDs.", name);
        ids[i] = arena_text(work->arena, id);
    }
    *ret = ids;
    return (int)count;
}

/* `select` ends with "IN (". */
static int read_hint(struct work *work, const json_t *hints, const char *name, const char *select,
                     struct hinted *ret, struct error *err) {
    const json_t *value = json_object_get(hints, name);
    const char **ids = NULL;
    struct db_value *values;
    unsigned places;
    int count;

    *ret = (struct hinted){ .given = false };
    if (!value || json_is_null(value))
        return 0;
    count = read_ids(work, value, name, &ids, err);
    if (count <= 0)
        return count;
    /* One text column of the rows that the caller sees. */
    places = query_in_count((unsigned)count);
    values = arena_alloc(work->arena, (places + 2) * sizeof(*values));
    for (unsigned i = 0; i < places; i++)
        values[i] = DB_TEXT(ids[i < (unsigned)count ? i : (unsigned)count - 1]);
    values[places] = DB_BOOL(work->context->is_admin);
    values[places + 1] = DB_TEXT(work->context->project_id);
    select = arena_format(work->arena, "%s%s) AND ($%u = 1 OR project_id = $%u)", select,
                          db_places(work->arena, 1, places), places + 1, places + 2);
    count = query_all(work, db_query_values(work->tx, err, select, values, places + 2), query_text,
                      &ret->places, err);
    if (count < 0)
        return -1;
    ret->given = true;
    ret->count = (unsigned)count;
    return 0;
}

int placement_hint_read(struct work *work, const json_t *hints, struct placement_hint *ret,
                        struct error *err) {
    static const char volumes[] = "SELECT host FROM volumes WHERE host IS NOT NULL AND id IN (";
    static const char attachments[] = "SELECT DISTINCT attached_host FROM attachments "
                                      "WHERE attached_host IS NOT NULL AND instance_uuid IN (";

    if (read_hint(work, hints, "same_host", volumes, &ret->same, err) < 0 ||
        read_hint(work, hints, "different_host", volumes, &ret->different, err) < 0 ||
        read_hint(work, hints, "local_to_instance", attachments, &ret->local, err) < 0)
        return -1;
    return placement_query_read(work, json_object_get(hints, "query"), &ret->query, err);
}

static bool has_node(const struct hinted *hinted, const char *pool) {
    size_t length = strcspn(pool, "@#");

    for (unsigned i = 0; i < hinted->count; i++)
        if (strlen(hinted->places[i]) == length && strncmp(hinted->places[i], pool, length) == 0)
            return true;
    return false;
}

/* The host of an instance without attachments is unknown. */
bool placement_hint_allows(struct work *work, const struct placement_hint *hint,
                           const struct pool *pool) {
    return (!hint->same.given || words_have(hint->same.places, hint->same.count, pool->name)) &&
           !words_have(hint->different.places, hint->different.count, pool->name) &&
           (hint->local.count == 0 || has_node(&hint->local, pool->name)) &&
           placement_query_allows(work, hint->query, pool);
}
