#include "api/type/resource.h"

#include "api/type/view.h"
#include "rest/page_filter.h"
#include "rest/page_pairs.h"

#include <string.h>

static const struct resource_column columns[] = {
    { "id", "t.id", COLUMN_TEXT, false, 0 },
    { "name", "t.name", COLUMN_TEXT, false, 0 },
    { "description", "t.description", COLUMN_TEXT, false, 0 },
    { "is_public", "t.is_public", COLUMN_BOOL, true, 0 },
    { "qos_specs_id", "t.qos_specs_id", COLUMN_TEXT, false, 0 },
    { "created_at", "t.created_at", COLUMN_TIME, false, 0 },
    { "updated_at", "t.updated_at", COLUMN_TIME, false, 0 },
    { .name = NULL },
};
static const char *const admin_sorts[] = { "qos_specs_id", NULL };

#define HAS_SPEC(holds) \
    PAGE_HAS_PAIR("volume_type_extra_specs", "volume_type_id = t.id", "m.value " holds)

static void match_spec(struct request *request, struct page *page, const struct pair *pair) {
    bool zones =
        strcmp(pair->key, TYPE_SPEC_ZONES) == 0; /* a list: one of its zones is requested */
    const char *value = zones ? page_pattern(request->work.arena, pair->value) : pair->value;
    const struct db_value values[] = { DB_TEXT(pair->key), DB_TEXT(value) };

    page_and(request, page, zones ? HAS_SPEC("LIKE ? ESCAPE '!'") : HAS_SPEC("= ?"), values, 2);
}

static void match_seen_spec(struct request *request, struct page *page, const struct pair *pair) {
    page->empty |= !type_view_shows_spec(pair->key);
    match_spec(request, page, pair);
}

static int filter(struct request *request, struct page *page, const char *key, const char *value,
                  struct error *err) {
    if (strcmp(key, "is_public") == 0)
        return 1; /* see page_filter_public() */
    if (!request->context.is_admin && request->minor < MV_TYPE_FILTERS)
        return 1;
    if (strcmp(key, "extra_specs") != 0)
        return 0;
    return page_filter_pairs(request, page, key, value,
                             type_view_sees_all(request) ? match_spec : match_seen_spec, err);
}

RESOURCE_LIST(list, struct volume_type, volume_type_list)

static void *load(struct request *request, const char *id, struct policy_target *ret_owner,
                  struct error *err) {
    struct volume_type *type = arena_alloc(request->work.arena, sizeof(*type));

    (void)ret_owner;
    return volume_type_get(&request->work, id, type, err) < 0 ? NULL : type;
}

static void view(struct request *request, const void *row) {
    if (!request->view) {
        const unsigned rights = type_view_rights(request, true);

        request->view = arena_copy(request->work.arena, &rights, sizeof(rights));
    }
    shape_put(request, &type_shape, row, *(const unsigned *)request->view);
}

/* ---- extra specs ---- */

static int set_specs(struct work *work, const void *row, const struct pairs *specs,
                     struct error *err) {
    return volume_type_specs_set(work, row, specs, err);
}

static int remove_spec(struct work *work, const void *row, const char *key, struct error *err) {
    return volume_type_spec_delete(work, row, key, err);
}

static const struct resource_specs specs = {
    .owner = "Volume Type",
    .what = "extra specs",
    .offset = offsetof(struct volume_type, extra_specs),
    .sees_all = type_view_sees_all,
    .is_for_all = type_view_shows_spec,
    .set = set_specs,
    .remove = remove_spec,
};

const struct resource type_resource = {
    .name = "volume_type",
    .plural = "volume_types",
    .collection = "types",
    .label = "Volume type",
    RESOURCE_ROW(struct volume_type),

    .load = load,
    .unowned = true,

    .table = "volume_types",
    .alias = "t",
    .columns = columns,
    .admin_sorts = admin_sorts,
    .default_sort = "created_at",
    .links_word = "volume_type_links",
    .visible = TYPE_SHARED_WITH("?"),
    .other_filter = "extra_specs",
    .filter = filter,
    .narrow = page_filter_public,
    .list = list,
    .view = view,
    .shape = &type_shape,

    .specs = &specs,
};
