#include "provision/document_quota.h"

#include "ledger/quota.h"
#include "ledger/quota_limit.h"

#include <string.h>

#define GIB ((int64_t)1 << 30)

static int64_t size_of(const struct document *document) {
    return (document->kind->bytes(document) + GIB - 1) / GIB;
}

static bool is_elsewhere(const struct work *work, const struct document *document) {
    const char *said =
        json_string_value(json_object_get(document->annotations, DOCUMENT_QUOTA_KEY));

    return work->context->is_admin && said && strcmp(said, "none") == 0;
}

/* What the row will say. */
static int64_t counted_as(const struct work *work, const struct document *before,
                          const struct document *after) {
    if (before ? before->size_gb == 0 : is_elsewhere(work, after))
        return 0;
    return size_of(after);
}

static struct quota_demands volume_of(struct work *work, int64_t size_gb) {
    struct quota_demands demands = { .count = 0 };

    quota_demand_add(&demands, work->arena, QUOTA_GIGABYTES, NULL, size_gb);
    quota_demand_add(&demands, work->arena, QUOTA_VOLUMES, NULL, 1);
    return demands;
}

/* What `after` takes beyond what `before` has; none when it takes no more. */
static struct quota_demands more_of(struct work *work, const struct document *before,
                                    int64_t size_gb) {
    struct quota_demands demands = { .count = 0 };
    int64_t has = !before ? 0 : before->size_gb < 0 ? size_of(before) : before->size_gb;

    if (size_gb <= has)
        return demands;
    if (!before)
        demands = volume_of(work, size_gb);
    else
        quota_demand_add(&demands, work->arena, QUOTA_GIGABYTES, NULL, size_gb - has);
    quota_demand_add(&demands, work->arena, QUOTA_PER_VOLUME, NULL, size_gb);
    return demands;
}

int document_quota_check(struct work *work, const struct document *before,
                         const struct document *after, struct error *err) {
    struct quota_demands more;

    if (!after->kind->bytes)
        return 0;
    more = more_of(work, before, counted_as(work, before, after));
    return more.count == 0 ? 0 : quota_check(work, after->project_id, &more, err);
}

/* ---- changes ---- */

/* What it was told to be less than it was; no edit of a client's does that. */
static int give_back(struct work *work, const struct document *document, int64_t size_gb,
                     struct error *err) {
    struct quota_demands less = { .count = 0 };

    if (size_gb <= 0)
        return 0;
    quota_demand_add(&less, work->arena, QUOTA_GIGABYTES, NULL, size_gb);
    return quota_give_back(work, document->project_id, &less, err);
}

int document_quota_move(struct work *work, const struct document *before, struct document *after,
                        struct error *err) {
    struct document counted;
    struct quota_demands more;

    after->size_gb = DOCUMENT_NOT_COUNTED;
    if (!after->kind->bytes)
        return 0;
    if (before && document_quota_is_due(before)) {
        counted = *before;
        before = &counted;
        if (document_quota_count(work, &counted, err) < 0)
            return -1;
    }
    after->size_gb = counted_as(work, before, after);
    more = more_of(work, before, after->size_gb);
    if (more.count > 0)
        return quota_take(work, after->project_id, &more, err);
    return before ? give_back(work, after, before->size_gb - after->size_gb, err) : 0;
}

int document_quota_end(struct work *work, const struct document *document, struct error *err) {
    const struct quota_demands had = volume_of(work, document->size_gb);

    return document->size_gb <= 0 ? 0 : quota_give_back(work, document->project_id, &had, err);
}

/* ---- those that are older ---- */

bool document_quota_is_due(const struct document *document) {
    return document->kind->bytes && document->size_gb < 0;
}

int document_quota_count(struct work *work, struct document *document, struct error *err) {
    int64_t size_gb = size_of(document);
    const struct quota_demands is = volume_of(work, size_gb);
    int rows =
        db_run(work->tx, err, "UPDATE documents SET size_gb = $2 WHERE id = $1 AND size_gb IS NULL",
               DB_TEXT(document->id), DB_INT(size_gb));

    if (rows <= 0)
        return rows;
    document->size_gb = size_gb;
    return quota_count(work, document->project_id, &is, err);
}
