/*
 * Lists the objects of a pool: the backend returns all of them, the response has one page.
 */
#include "model/volume/manageable.h"
#include "manager/runtime/job.h"
#include "operation/query.h"
#include "json/json.h"

#include <stdlib.h>
#include <string.h>

/* More than a reader would look through, and bounded by a worker's memory. */
enum { CANDIDATES_MOST = 100000 };

struct listing {
    struct arena *arena;
    struct driver_candidate *items;
    unsigned count;
    bool cut; /* the list is incomplete */
};

static void keep(void *arg, const struct driver_candidate *candidate) {
    struct listing *listing = arg;
    struct driver_candidate *kept;

    listing->cut = listing->count == CANDIDATES_MOST;
    if (listing->cut)
        return;
    listing->items =
        query_grow(listing->arena, listing->items, listing->count, sizeof *listing->items);
    kept = &listing->items[listing->count++];
    *kept = *candidate;
    kept->source_name = arena_text(listing->arena, candidate->source_name);
    kept->name_id = candidate->name_id ? arena_text(listing->arena, candidate->name_id) : NULL;
    kept->refusal = candidate->refusal ? arena_text(listing->arena, candidate->refusal) : NULL;
    kept->volume = candidate->volume ? arena_text(listing->arena, candidate->volume) : NULL;
}

static int64_t size_gb(const struct driver_candidate *candidate) {
    return candidate->bytes < 0 ? 0 : candidate->bytes / GIB + (candidate->bytes % GIB > 0);
}

static int compare(const void *left, const void *right, void *arg) {
    const struct driver_candidate *one = left, *other = right;
    const struct manageable_page *page = arg;
    int order = strcmp(one->source_name, other->source_name);

    if (page->by_size && size_gb(one) != size_gb(other))
        order = size_gb(one) > size_gb(other) ? 1 : -1;
    return page->descending ? -order : order;
}

/* NULL: no row has it. */
static const json_t *row_of(const struct driver_candidate *candidate, const json_t *known) {
    return candidate->name_id ? json_object_get(known, candidate->name_id) : NULL;
}

static json_t *describe(const struct driver_candidate *candidate, bool snapshots,
                        const json_t *known) {
    const char *volume_id =
        json_string_value(json_object_get(row_of(candidate, known), "volume_id"));
    const char *refusal = volume_id ? "already managed" : candidate->refusal;

    return json_pack("{s:s, s:I, s:b, s:s?, s:s?, s:s?, s:s?}", "name", candidate->source_name,
                     "size", (json_int_t)size_gb(candidate), "safe", refusal == NULL, "refusal",
                     refusal, "id", snapshots && volume_id ? candidate->name_id : volume_id,
                     "of_id", snapshots ? volume_id : NULL, "of_name", candidate->volume);
}

static const char *page_text(struct job *job, struct listing *listing,
                             const struct manageable_page *page, const json_t *known) {
    json_t *list = json_array();
    size_t first = 0;

    for (unsigned i = 0; i < listing->count; i++) {
        struct driver_candidate *item = &listing->items[i];

        /* the storage does not open an image for its size if the row has it */
        if (item->bytes < 0)
            item->bytes = GIB * json_integer_value(json_object_get(row_of(item, known), "size_gb"));
    }
    if (listing->count)
        qsort_r(listing->items, listing->count, sizeof *listing->items, compare, (void *)page);
    for (size_t i = 0; page->marker && i < listing->count; i++)
        if (strcmp(listing->items[i].source_name, page->marker) == 0)
            first = i + 1;
    first = page->offset < (int64_t)(listing->count - first) ? first + (size_t)page->offset
                                                             : listing->count;
    for (size_t i = first; i < listing->count && (int64_t)(i - first) < page->limit; i++)
        json_array_append_new(list, describe(&listing->items[i], page->snapshots, known));
    return json_text(job->arena, json_keep(job->arena, json_pack("{s:o}", "manageable", list)));
}

struct known_call {
    const char *host;
    bool snapshots;
    json_t *known;
};

static int known_body(struct work *work, void *arg, struct error *err) {
    struct known_call *call = arg;

    return manageable_known(work, call->host, call->snapshots, call->known, err);
}

typedef int list_function(void *handle, struct arena *arena, const char *pool,
                          void (*found)(void *arg, const struct driver_candidate *candidate),
                          void *arg, struct error *err);

/* ---- single object ---- */

struct owner_call {
    const char *volume_id, *snapshot_id;
    struct volume volume;
    bool taken;
};

static int owner_body(struct work *work, void *arg, struct error *err) {
    struct owner_call *call = arg;

    return volume_details(work, call->volume_id, &call->volume, err);
}

static int taken_body(struct work *work, void *arg, struct error *err) {
    struct owner_call *call = arg;
    struct snapshot snapshot;

    call->taken = snapshot_row(work, call->snapshot_id, &snapshot, err) == 0;
    return call->taken || err->kind == ERROR_NOT_FOUND ? 0 : -1;
}

static int look_for_snapshot(struct job *job, const struct manageable_one *one,
                             struct error *failure) {
    const struct driver *driver = job->backend->driver;
    const struct snapshot row_less = { .id = job->operation.target_id };
    const struct driver_snapshot snapshot = job_driver_snapshot(job, &row_less);
    struct owner_call owner = { .volume_id = one->volume_id };
    struct driver_candidate found;
    struct driver_volume volume;

    if (!driver->get_manageable_snapshot || job_read(job, owner_body, &owner, failure) < 0)
        return -1;
    volume = job_driver_volume_of(job, &owner.volume);
    if (driver->get_manageable_snapshot(job->backend->handle, job->arena, &volume, &snapshot,
                                        one->source_name, &found, failure) < 0)
        return -1;
    owner.snapshot_id = found.name_id;
    if (found.name_id && job_read(job, taken_body, &owner, failure) < 0)
        return -1;
    return owner.taken ? error_set(failure, ERROR_BAD_REQUEST, "The object is snapshot %s already.",
                                   found.name_id)
                       : 0;
}

/* The checks of the managing operation; no object has its name yet. */
static int look_for(struct job *job, const struct manageable_one *one, struct error *failure) {
    const struct driver *driver = job->backend->driver;
    struct volume row_less = { .id = job->operation.target_id,
                               .host = job->operation.host,
                               .multiattach = one->multiattach };
    struct driver_volume volume;
    int64_t bytes;

    if (one->volume_id)
        return look_for_snapshot(job, one, failure);
    volume = job_driver_volume_of(job, &row_less);
    return driver->get_manageable
               ? driver->get_manageable(job->backend->handle, job->arena, &volume, one->source_name,
                                        &bytes, failure)
               : -1;
}

/* Only the backend's information is returned: if the object cannot be read now, the managing
 * operation decides. */
static const char *tell_one(struct job *job, const struct manageable_one *one) {
    struct error why = { .kind = ERROR_NONE };
    bool refused =
        look_for(job, one, &why) < 0 && (why.kind == ERROR_BAD_REQUEST ||
                                         why.kind == ERROR_CONFLICT || why.kind == ERROR_NOT_FOUND);

    return json_text(job->arena,
                     json_keep(job->arena, json_pack("{s:b, s:s?}", "looked", 1, "refused",
                                                     refused ? why.message : NULL)));
}

int job_list_manageable(struct job *job, struct error *err) {
    const struct driver *driver = job->backend->driver;
    struct known_call known = { .host = job->operation.host,
                                .known = json_keep(job->arena, json_object()) };
    struct listing listing = { .arena = job->arena };
    struct manageable_ending ending = { 0 };
    struct manageable_page page;
    struct error failure = { 0 };
    struct manageable_one one;
    list_function *list;
    const char *pool;

    if (manageable_is_probed(job->arena, &job->operation, &one)) {
        ending.answer = tell_one(job, &one);
        return job_finish(job, &ending, err) < 0 ? -1 : 0;
    }
    manageable_requested(job->arena, &job->operation, &page, &pool);
    known.snapshots = page.snapshots;
    list = page.snapshots ? driver->list_manageable_snapshots : driver->list_manageable;
    if (!list)
        error_set(&failure, ERROR_BAD_REQUEST,
                  "This backend does not support managing existing storage.");
    else
        list(job->backend->handle, job->arena, pool, keep, &listing, &failure);
    if (failure.kind != ERROR_NONE) {
        ending.failure = &failure;
        log_error(&job->context.log, "list of existing storage failed", "host", job->operation.host,
                  "reason", failure.message, NULL);
    } else if (job_read(job, known_body, &known, err) < 0) {
        return -1;
    } else {
        if (listing.cut)
            log_warning(&job->context.log, "list of existing storage truncated", "host",
                        job->operation.host, "kept", LOG_INT(CANDIDATES_MOST), NULL);
        ending.answer = page_text(job, &listing, &page, known.known);
    }
    return job_finish(job, &ending, err) < 0 ? -1 : 0;
}
