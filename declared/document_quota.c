#include "declared/document_quota.h"

#include "common/assert.h"
#include "operation/quota.h"
#include "operation/quota_limit.h"
#include "json/json.h"

#include <string.h>

#define GIB ((int64_t)1 << 30)

/* ---- the stored size ---- */

static bool is_volume(const struct document *document) {
    return strcmp(document->kind->counts_as, QUOTA_VOLUMES) == 0;
}

static int64_t gigabytes(int64_t size_gb) {
    return size_gb > 0 ? size_gb : 0;
}

static int64_t counted_as(const struct work *work, const struct document *document,
                          const struct document_size *size) {
    if (!is_volume(document) && work->settings->no_snapshot_gb_quota)
        return DOCUMENT_WITHOUT_GB;
    return (size->bytes + GIB - 1) / GIB;
}

/* Of a document stored by a version without these quotas. */
static int old_size(struct work *work, const struct document *document, int64_t *ret,
                    struct error *err) {
    struct document_size size;

    if (document->kind->size(work, document, &size, err) < 0)
        return -1;
    *ret = size.elsewhere ? DOCUMENT_ELSEWHERE : counted_as(work, document, &size);
    return 0;
}

/* The size of a snapshot is fixed; a volume grows. */
static int next_size(struct work *work, const struct document *before, const struct document *after,
                     int64_t *ret, struct error *err) {
    if (!before) {
        /* Of a new document. */
        struct document_size size;

        if (after->kind->size(work, after, &size, err) < 0)
            return -1;
        *ret =
            work->context->is_admin &&
                    (size.elsewhere || json_text_is(after->annotations, DOCUMENT_QUOTA_KEY, "none"))
                ? DOCUMENT_ELSEWHERE
                : counted_as(work, after, &size);
        return 0;
    }
    *ret = before->size_gb;
    return before->size_gb == DOCUMENT_ELSEWHERE || !is_volume(after)
               ? 0
               : old_size(work, after, ret, err);
}

/* ---- demands ---- */

static struct quota_demands demands_of(struct work *work, const struct document *document,
                                       int64_t size_gb) {
    struct quota_demands demands = { .count = 0 };

    assert(document->kind->counts_as);
    if (size_gb > 0)
        quota_demand_add(&demands, work->arena, QUOTA_GIGABYTES, NULL, size_gb);
    if (size_gb != DOCUMENT_ELSEWHERE)
        quota_demand_add(&demands, work->arena, document->kind->counts_as, NULL, 1);
    return demands;
}

/* The demands of `after` beyond those of `before`; none when they are not larger. */
static struct quota_demands more_of(struct work *work, const struct document *before,
                                    const struct document *after, int64_t size_gb) {
    struct quota_demands demands = { .count = 0 };
    int64_t more = before ? gigabytes(size_gb) - gigabytes(before->size_gb) : size_gb;

    assert(!before || before->kind == after->kind);
    if (!before)
        demands = demands_of(work, after, size_gb);
    else if (more > 0)
        quota_demand_add(&demands, work->arena, QUOTA_GIGABYTES, NULL, more);
    if (more > 0 && is_volume(after))
        quota_demand_add(&demands, work->arena, QUOTA_PER_VOLUME, NULL, size_gb);
    return demands;
}

int document_quota_check(struct work *work, const struct document *before,
                         const struct document *after, struct error *err) {
    struct document counted;
    struct quota_demands more;
    int64_t size_gb;

    if (!after->kind->counts_as)
        return 0;
    if (before && document_quota_is_due(before)) {
        counted = *before;
        before = &counted;
        if (old_size(work, before, &counted.size_gb, err) < 0)
            return -1;
    }
    if (next_size(work, before, after, &size_gb, err) < 0)
        return -1;
    more = more_of(work, before, after, size_gb);
    return more.count == 0 ? 0 : quota_check(work, after->project_id, &more, err);
}

/* ---- changes ---- */

int document_quota_move(struct work *work, const struct document *before, struct document *after,
                        struct error *err) {
    struct document counted;
    struct quota_demands more, less = { .count = 0 };
    int64_t decrease_gb;

    after->size_gb = DOCUMENT_NOT_COUNTED;
    if (!after->kind->counts_as)
        return 0;
    if (before && document_quota_is_due(before)) {
        counted = *before;
        before = &counted;
        if (document_quota_count(work, &counted, err) < 0)
            return -1;
    }
    if (next_size(work, before, after, &after->size_gb, err) < 0)
        return -1;
    more = more_of(work, before, after, after->size_gb);
    if (more.count > 0)
        return quota_take(work, after->project_id, &more, err);
    /* the size decreased, which no edit of a client does */
    decrease_gb = before ? gigabytes(before->size_gb) - gigabytes(after->size_gb) : 0;
    if (decrease_gb <= 0)
        return 0;
    assert(after->project_id);
    quota_demand_add(&less, work->arena, QUOTA_GIGABYTES, NULL, decrease_gb);
    return quota_give_back(work, after->project_id, &less, err);
}

int document_quota_end(struct work *work, const struct document *document, struct error *err) {
    struct quota_demands had;

    if (!document->kind->counts_as || document->size_gb == DOCUMENT_NOT_COUNTED)
        return 0;
    had = demands_of(work, document, document->size_gb);
    return had.count == 0 ? 0 : quota_give_back(work, document->project_id, &had, err);
}

/* ---- documents that are not counted yet ---- */

bool document_quota_is_due(const struct document *document) {
    return document->kind->counts_as && document->size_gb == DOCUMENT_NOT_COUNTED;
}

int document_quota_count(struct work *work, struct document *document, struct error *err) {
    struct quota_demands is;
    int64_t size_gb;
    int rows;

    assert(document->size_gb == DOCUMENT_NOT_COUNTED);
    if (old_size(work, document, &size_gb, err) < 0)
        return -1;
    is = demands_of(work, document, size_gb);
    rows =
        db_run(work->tx, err, "UPDATE documents SET size_gb = $2 WHERE id = $1 AND size_gb IS NULL",
               DB_TEXT(document->id), DB_INT(size_gb));
    if (rows <= 0)
        return rows;
    document->size_gb = size_gb;
    return is.count == 0 ? 0 : quota_count(work, document->project_id, &is, err);
}
