#include "api/type/group_type_resource.h"

#include "rest/answer.h"
#include "rest/page_filter.h"
#include "rest/request.h"

static const struct resource_column columns[] = {
    { "id", "t.id", COLUMN_TEXT, false, 0 },
    { "name", "t.name", COLUMN_FILLED, false, 0 },
    { "description", "t.description", COLUMN_TEXT, false, 0 },
    { "is_public", "t.is_public", COLUMN_BOOL, false, 0 },
    { "created_at", "t.created_at", COLUMN_TIME, false, 0 },
    { "updated_at", "t.updated_at", COLUMN_TIME, false, 0 },
    { .name = NULL },
};

/* is_public is the only one, and page_filter_public() reads it. */
static int filter(struct request *request, struct page *page, const char *key, const char *value,
                  struct error *err) {
    (void)request, (void)page, (void)key, (void)value, (void)err;
    return 1;
}

static int list(struct request *request, struct page *page, struct error *err) {
    struct group_type *types = NULL;
    int count = group_type_list(&request->work, &page->query, &types, err);

    page->rows = types;
    return count;
}

static void *load(struct request *request, const char *id, struct policy_target *ret_owner,
                  struct error *err) {
    struct group_type *type = arena_alloc(request->work.arena, sizeof(*type));

    (void)ret_owner;
    return group_type_get(&request->work, id, type, err) < 0 ? NULL : type;
}

enum { SEES_SPECS = 1 };

/* clang-format off */
static const struct shape_key keys[] = {
    SHAPE(struct group_type, id,          "id",          TEXT),
    SHAPE(struct group_type, name,        "name",        TEXT),
    SHAPE(struct group_type, description, "description", TEXT, .flags = SHAPE_NULLABLE),
    SHAPE(struct group_type, is_public,   "is_public",   BOOL),
    SHAPE(struct group_type, specs,       "group_specs", PAIRS, .rights = SEES_SPECS),
    SHAPES_END,
};
/* clang-format on */
const struct shape group_type_shape = { "group_type", keys };

static void view(struct request *request, const void *row, bool detail) {
    unsigned *rights = request->view;

    (void)detail;
    if (!rights) {
        rights = request->view = arena_alloc(request->work.arena, sizeof *rights);
        *rights = request_allows(request, "group:access_group_types_specs", NULL) ? SEES_SPECS : 0;
    }
    shape_put(request, &group_type_shape, row, *rights);
}

void group_type_answer(struct request *request, const struct group_type *type) {
    answer_open(request);
    view(request, type, true);
    answer_close(request);
}

/* ---- specs ---- */

static int set_specs(struct work *work, const void *row, const struct pairs *specs,
                     struct error *err) {
    return group_type_specs_set(work, row, specs, err);
}

static int remove_spec(struct work *work, const void *row, const char *key, struct error *err) {
    return group_type_spec_delete(work, row, key, err);
}

static const struct resource_specs specs = {
    .owner = "Group Type",
    .what = "specs",
    .offset = offsetof(struct group_type, specs),
    .set = set_specs,
    .remove = remove_spec,
};

const struct resource group_type_resource = {
    .name = "group_type",
    .plural = "group_types",
    .collection = "group_types",
    .label = "Group type",
    RESOURCE_ROW(struct group_type),

    .load = load,
    .unowned = true,

    .table = "group_types",
    .alias = "t",
    .columns = columns,
    .default_sort = "created_at",
    .links_word = "group_type_links",
    .visible = GROUP_TYPE_SHARED_WITH("?"),
    .filter = filter,
    .narrow = page_filter_public,
    .list = list,
    .view = view,
    .shape = &group_type_shape,

    .specs = &specs,
};
