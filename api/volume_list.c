#include "api/volume_list.h"

#include "api/dict_text.h"
#include "api/page_read.h"
#include "api/view.h"
#include "volume/summary.h"

#include <string.h>

/* More pairs than this in one filter serve nobody, and a statement's size has limits. */
#define FILTER_PAIRS_MOST 32

/* clang-format off */
static const struct page_column columns[] = {
    { "id",                  "v.id",                  COLUMN_TEXT,   false, 0 },
    { "name",                "v.display_name",        COLUMN_TEXT,   true,  0 },
    { "display_name",        "v.display_name",        COLUMN_TEXT,   false, 0 },
    { "description",         "v.display_description", COLUMN_TEXT,   false, 0 },
    { "display_description", "v.display_description", COLUMN_TEXT,   false, 0 },
    { "status",              "v.status",              COLUMN_STATUS, true,  0 },
    { "bootable",            "v.bootable",            COLUMN_BOOL,   true,  0 },
    { "migration_status",    "v.migration_status",    COLUMN_TEXT,   true,  0 },
    { "availability_zone",   "v.availability_zone",   COLUMN_TEXT,   true,  0 },
    { "group_id",            "v.group_id",            COLUMN_TEXT,   true,  MV_GROUP_FILTER },
    { "size",                "v.size_gb",             COLUMN_INT,    true,  0 },
    { "created_at",          "v.created_at",          COLUMN_TIME,   true,  MV_STRICT_FILTERS },
    { "updated_at",          "v.updated_at",          COLUMN_TIME,   true,  MV_STRICT_FILTERS },
    { "consumes_quota",      "v.use_quota",           COLUMN_BOOL,   true,  MV_STRICT_FILTERS },
    { "use_quota",           "v.use_quota",           COLUMN_BOOL,   false, 0 },
    { "multiattach",         "v.multiattach",         COLUMN_BOOL,   false, 0 },
    { "shared_targets",      "v.shared_targets",      COLUMN_BOOL,   false, 0 },
    { "attach_status",       "v.attach_status",       COLUMN_TEXT,   false, 0 },
    { "replication_status",  "v.replication_status",  COLUMN_TEXT,   false, 0 },
    { "host",                "v.host",                COLUMN_TEXT,   false, 0 },
    { "cluster_name",        "v.cluster_name",        COLUMN_TEXT,   false, 0 },
    { "project_id",          "v.project_id",          COLUMN_TEXT,   false, 0 },
    { "user_id",             "v.user_id",             COLUMN_TEXT,   false, 0 },
    { "volume_type_id",      "v.volume_type_id",      COLUMN_TEXT,   false, 0 },
    { "snapshot_id",         "v.snapshot_id",         COLUMN_TEXT,   false, 0 },
    { "source_volid",        "v.source_volid",        COLUMN_TEXT,   false, 0 },
    { "encryption_key_id",   "v.encryption_key_id",   COLUMN_TEXT,   false, 0 },
    { "provider_id",         "v.provider_id",         COLUMN_TEXT,   false, 0 },
    { "provider_location",   "v.provider_location",   COLUMN_TEXT,   false, 0 },
    { "service_uuid",        "v.service_uuid",        COLUMN_TEXT,   false, 0 },
    { "launched_at",         "v.launched_at",         COLUMN_TIME,   false, 0 },
    { .name = NULL },
};
/* clang-format on */

#define HAS_PAIR(table) \
    "EXISTS (SELECT 1 FROM " table " m WHERE m.volume_id = v.id AND m.key = ? AND m.value = ?)"

/* What admin metadata does not show cannot be probed by a filter either (R44). */
static void match_metadata(struct request *request, struct page *page, const struct pair *pair) {
    const struct db_value values[] = { DB_TEXT(pair->key), DB_TEXT(pair->value), DB_TEXT(pair->key),
                                       DB_TEXT(pair->value) };

    if (request->context.is_admin || view_shows_admin_key(pair->key))
        page_and(request, page,
                 "(" HAS_PAIR("volume_metadata") " OR " HAS_PAIR("volume_admin_metadata") ")",
                 values, 4);
    else
        page_and(request, page, HAS_PAIR("volume_metadata"), values, 2);
}

static void match_image_metadata(struct request *request, struct page *page,
                                 const struct pair *pair) {
    const struct db_value values[] = { DB_TEXT(pair->key), DB_TEXT(pair->value) };

    page_and(request, page, HAS_PAIR("volume_glance_metadata"), values, 2);
}

static int filter_pairs(struct request *request, struct page *page, const char *key,
                        const char *value,
                        void (*match)(struct request *, struct page *, const struct pair *),
                        struct error *err) {
    struct pairs pairs;

    if (!dict_text_parse(request->work.arena, value, &pairs)) {
        page->empty = true;
        return 1;
    }
    if (pairs.count > FILTER_PAIRS_MOST)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid filter %s: %u pairs are given, at most %d can be.", key,
                         pairs.count, FILTER_PAIRS_MOST);
    for (unsigned i = 0; i < pairs.count; i++)
        match(request, page, &pairs.items[i]);
    return 1;
}

/* A host without pool stands for all its pools. */
static void filter_host(struct request *request, struct page *page, const char *host) {
    const char *pools = arena_format(request->work.arena, "%s#", host);
    const struct db_value values[] = { DB_TEXT(host), DB_INT(strlen(pools)), DB_TEXT(pools) };

    page_and(request, page, "(v.host = ? OR substr(v.host, 1, CAST(? AS INTEGER)) = ?)", values, 3);
}

static int filter(struct request *request, struct page *page, const char *key, const char *value,
                  struct error *err) {
    bool admin = request->context.is_admin;

    if (strcmp(key, "metadata") == 0)
        return filter_pairs(request, page, key, value, match_metadata, err);
    if (strcmp(key, "glance_metadata") == 0 && admin)
        return request->minor < MV_IMAGE_METADATA_FILTER
                   ? 1
                   : filter_pairs(request, page, key, value, match_image_metadata, err);
    if (strcmp(key, "host") == 0 && admin) {
        filter_host(request, page, value);
        return 1;
    }
    return 0;
}

const struct page_rules volume_list_rules = {
    .resource = "volume",
    .alias = "v",
    .collection = "volumes",
    .links_word = "volumes_links",
    .table = "volumes",
    .columns = columns,
    .default_sort = "created_at",
    .other_filter = "metadata",
    .filter = filter,
};

/* Has the text of this page its size? What is left of it comes with the next one. */
static bool is_full(const struct request *request) {
    size_t most = request->work.settings->page_bytes;

    return most > 0 && request->out.size > most;
}

static void put_page(struct request *request, struct page *page, bool detail,
                     const struct volume *volumes, unsigned count, int64_t total) {
    struct json_out *out = &request->out;
    struct volume_view view;

    view_open(request, true, &view);
    out_begin_object(out);
    out_key(out, "volumes");
    out_begin_array(out);
    for (unsigned i = 0; i < count; i++) {
        if (detail)
            view_volume(&view, &volumes[i]);
        else
            view_volume_short(request, &volumes[i]);
        if (i + 1 < count && is_full(request)) {
            page->cut = true;
            count = i + 1;
        }
    }
    out_end_array(out);
    if (count > 0)
        page_put_links(request, page, count, total, volumes[count - 1].id, detail);
    if (page->with_count)
        out_put_int(out, "count", total);
    out_end_object(out);
}

static int list_volumes(struct request *request, bool detail, struct error *err) {
    struct volume *volumes = NULL;
    struct page page;
    int64_t total = 0;
    int count = 0;

    if (page_read(request, &volume_list_rules, true, &page, err) < 0)
        return -1;
    if (!request->context.is_admin)
        page_and(request, &page,
                 "(v.migration_status IS NULL OR v.migration_status NOT LIKE 'target:%')", NULL, 0);
    page.query.with_details = detail;
    page.query.bytes_most = request->work.settings->page_bytes;
    page.query.cut = &page.cut;
    if (!page.empty)
        count = volume_list(&request->work, &page.query, &volumes, err);
    if (count < 0 ||
        (page.with_count && !page.empty && page_count(request, &page, &total, err) < 0))
        return -1;
    put_page(request, &page, detail, volumes, (unsigned)count, total);
    return 0;
}

int volume_list_short(struct request *request, struct error *err) {
    return list_volumes(request, false, err);
}

int volume_list_detail(struct request *request, struct error *err) {
    return list_volumes(request, true, err);
}

/* ---- summary ---- */

static void put_values_by_key(struct json_out *out, const struct pairs *pairs) {
    const char *key = NULL;

    out_key(out, "metadata");
    out_begin_object(out);
    for (unsigned i = 0; i < pairs->count; i++) {
        const struct pair *pair = &pairs->items[i];

        if (!key || strcmp(key, pair->key) != 0) {
            if (key)
                out_end_array(out);
            key = pair->key;
            out_key_text(out, key);
            out_begin_array(out);
        }
        out_text(out, pair->value);
    }
    if (key)
        out_end_array(out);
    out_end_object(out);
}

int volume_list_summary(struct request *request, struct error *err) {
    const char *asked = request_query(request, "all_tenants");
    struct json_out *out = &request->out;
    struct pairs metadata = { 0 };
    int64_t count, size_gb;
    bool all = false;

    if (asked && !json_boolean_word(asked, true, &all))
        return error_set(err, ERROR_BAD_REQUEST, "Invalid value for all_tenants: %s", asked);
    if (volume_summary(&request->work, all, &count, &size_gb, err) < 0 ||
        (request->minor >= MV_SUMMARY_METADATA &&
         summary_metadata(&request->work, all, &metadata, err) < 0))
        return -1;
    out_begin_object(out);
    out_key(out, "volume-summary");
    out_begin_object(out);
    out_put_int(out, "total_count", count);
    out_put_int(out, "total_size", size_gb);
    if (request->minor >= MV_SUMMARY_METADATA)
        put_values_by_key(out, &metadata);
    out_end_object(out);
    out_end_object(out);
    return 0;
}
