#include "api/group_type_resource.h"

#include "api/page_filter.h"
#include "api/request.h"
#include "api/view.h"

static const struct resource_column columns[] = {
    { "id", "t.id", COLUMN_TEXT, false, 0 },
    { "name", "t.name", COLUMN_TEXT, false, 0 },
    { "description", "t.description", COLUMN_TEXT, false, 0 },
    { "is_public", "t.is_public", COLUMN_BOOL, false, 0 },
    { "created_at", "t.created_at", COLUMN_TIME, false, 0 },
    { "updated_at", "t.updated_at", COLUMN_TIME, false, 0 },
    { .name = NULL },
};

/* is_public is all there is, and page_filter_public() reads it. */
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

static void view(struct request *request, const void *row, bool detail) {
    const struct group_type *type = row;
    struct json_out *out = &request->out;
    bool *sees_specs = request->view;

    (void)detail;
    if (!sees_specs) {
        sees_specs = request->view = arena_alloc(request->work.arena, sizeof *sees_specs);
        *sees_specs = request_allows(request, "group:access_group_types_specs", NULL);
    }
    out_begin_object(out);
    out_put_text(out, "id", type->id);
    out_put_text(out, "name", type->name);
    out_put_text(out, "description", type->description);
    out_put_bool(out, "is_public", type->is_public);
    if (*sees_specs) {
        out_key(out, "group_specs");
        view_pairs(out, &type->specs);
    }
    out_end_object(out);
}

void group_type_answer(struct request *request, const struct group_type *type) {
    out_begin_object(&request->out);
    out_key(&request->out, "group_type");
    view(request, type, true);
    out_end_object(&request->out);
}

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
};
