#include "api/type_list.h"

#include "api/dict_text.h"
#include "api/page_read.h"
#include "api/type_view.h"

#include <string.h>
#include <strings.h>

#define FILTER_PAIRS_MOST 32

static const struct page_column type_columns[] = {
    { "id", "t.id", COLUMN_TEXT, false, 0 },
    { "name", "t.name", COLUMN_TEXT, false, 0 },
    { "description", "t.description", COLUMN_TEXT, false, 0 },
    { "is_public", "t.is_public", COLUMN_BOOL, true, 0 },
    { "qos_specs_id", "t.qos_specs_id", COLUMN_TEXT, false, 0 },
    { "created_at", "t.created_at", COLUMN_TIME, false, 0 },
    { "updated_at", "t.updated_at", COLUMN_TIME, false, 0 },
    { .name = NULL },
};

/* LIKE pattern of "contains"; the escape is '!'. */
static const char *contains_pattern(struct arena *arena, const char *text) {
    char *pattern = arena_alloc(arena, 2 * strlen(text) + 3), *end = pattern;

    *end++ = '%';
    for (; *text; text++) {
        if (strchr("%_!", *text))
            *end++ = '!';
        *end++ = *text;
    }
    *end = '%';
    return pattern;
}

#define HAS_SPEC(holds)                                \
    "EXISTS (SELECT 1 FROM volume_type_extra_specs e " \
    "WHERE e.volume_type_id = t.id AND e.key = ? AND e.value " holds ")"

static void match_spec(struct request *request, struct page *page, const struct pair *pair) {
    bool zones = strcmp(pair->key, TYPE_SPEC_ZONES) == 0; /* a list: one zone of it is asked for */
    const char *value = zones ? contains_pattern(request->work.arena, pair->value) : pair->value;
    const struct db_value values[] = { DB_TEXT(pair->key), DB_TEXT(value) };

    page_and(request, page, zones ? HAS_SPEC("LIKE ? ESCAPE '!'") : HAS_SPEC("= ?"), values, 2);
}

static int filter_specs(struct request *request, struct page *page, const char *text,
                        struct error *err) {
    bool sensitive =
        request_allows(request, "volume_extension:types_extra_specs:read_sensitive", NULL);
    struct pairs pairs = { 0 };

    if (!dict_text_parse(request->work.arena, text, &pairs))
        page->empty = true;
    if (pairs.count > FILTER_PAIRS_MOST)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid filter extra_specs: %u pairs are given, at most %d can be.",
                         pairs.count, FILTER_PAIRS_MOST);
    for (unsigned i = 0; i < pairs.count; i++) {
        page->empty |= !sensitive && !type_view_shows_spec(pairs.items[i].key);
        match_spec(request, page, &pairs.items[i]);
    }
    return 1;
}

static int filter_type(struct request *request, struct page *page, const char *key,
                       const char *value, struct error *err) {
    if (strcmp(key, "is_public") == 0)
        return 1; /* see and_asked_for() */
    if (!request->context.is_admin && request->minor < MV_TYPE_FILTERS)
        return 1;
    return strcmp(key, "extra_specs") == 0 ? filter_specs(request, page, value, err) : 0;
}

const struct page_rules type_list_rules = {
    .resource = "volume_type",
    .alias = "t",
    .collection = "types",
    .links_word = "volume_type_links",
    .table = "volume_types",
    .columns = type_columns,
    .default_sort = "created_at",
    .other_filter = "extra_specs",
    .visible = TYPE_SHARED_WITH("?"),
    .filter = filter_type,
};

/* Admins choose with is_public (none: all); everybody else gets what is visible. */
static int and_asked_for(struct request *request, struct page *page, struct error *err) {
    const char *asked = request_query(request, "is_public");
    const struct db_value project = DB_TEXT(request->context.project_id);
    bool is_public = true;

    if (!request->context.is_admin || (asked && strcasecmp(asked, "none") == 0))
        return 0;
    if (asked && !json_boolean_word(asked, true, &is_public))
        return error_set(err, ERROR_BAD_REQUEST, "Invalid is_public filter [%s]", asked);
    if (is_public)
        page_and(request, page, TYPE_SHARED_WITH("?"), &project, 1);
    else
        page_and(request, page, "t.is_public = 0", NULL, 0);
    return 0;
}

int type_list_all(struct request *request, struct error *err) {
    struct type_view view = type_view_of(request, true);
    struct json_out *out = &request->out;
    struct volume_type *types = NULL;
    struct page page;
    int count = 0;

    if (page_read(request, &type_list_rules, false, &page, err) < 0 ||
        and_asked_for(request, &page, err) < 0)
        return -1;
    if (!page.empty)
        count = volume_type_list(&request->work, &page.query, &types, err);
    if (count < 0)
        return -1;
    out_begin_object(out);
    out_key(out, "volume_types");
    out_begin_array(out);
    for (int i = 0; i < count; i++)
        type_view_put(out, &view, &types[i]);
    out_end_array(out);
    if (count > 0)
        page_put_links(request, &page, (unsigned)count, count, types[count - 1].id, false);
    out_end_object(out);
    return 0;
}
