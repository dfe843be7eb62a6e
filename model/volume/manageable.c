#include "model/volume/manageable.h"

#include "model/operations.h"
#include "model/scheduler/pool.h"
#include "model/volume/manage.h"
#include "operation/host.h"
#include "json/json.h"

#include <string.h>

enum { QUESTIONS_MOST = 16 }; /* a backend that does not answer must not accumulate more */

static int count_questions(struct work *work, const char *host, int64_t *ret, struct error *err) {
    *ret = 0;
    return operation_count(work, host, &kind_list_manageable, ret, err) < 0 ? -1 : 0;
}

static int ask(struct work *work, const struct pool *pool, json_t *arguments,
               const char **ret_operation_id, struct error *err) {
    const char *project_id = work->context->project_id;
    const struct operation fields = {
        .volume_id = pool->host,
        .target_id = work_uuid(work),
        .host = pool->name,
        .project_id = project_id ? project_id : "",
        .arguments = json_text(work->arena, json_keep(work->arena, arguments)),
    };

    return operation_insert(work, &kind_list_manageable, &fields, ret_operation_id, err);
}

int manageable_request(struct work *work, const char *host, const struct manageable_page *page,
                       const char **ret_operation_id, struct error *err) {
    struct pool pool;
    int64_t open;

    if (volume_manage_pool(work, host, page->snapshots ? DRIVER_MANAGE_SNAPSHOT : DRIVER_MANAGE,
                           &pool, err) < 0 ||
        count_questions(work, pool.host, &open, err) < 0)
        return -1;
    if (open >= QUESTIONS_MOST)
        return error_set(err, ERROR_TRY_LATER, "%jd such questions wait for the backend already.",
                         (intmax_t)open);
    return ask(work, &pool,
               json_pack("{s:s, s:b, s:b, s:b, s:I, s:I, s:s?}", "pool", strchr(pool.name, '#') + 1,
                         "snapshots", page->snapshots, "by_size", page->by_size, "descending",
                         page->descending, "limit", (json_int_t)page->limit, "offset",
                         (json_int_t)page->offset, "marker", page->marker),
               ret_operation_id, err);
}

/* ---- one object ---- */

/* An older manager answers with an empty page, which has no meaning. */
int manageable_probe(struct work *work, const struct pool *pool, const struct manageable_one *one,
                     const char **ret_operation_id, struct error *err) {
    int64_t open;

    if (count_questions(work, pool->host, &open, err) < 0)
        return -1;
    *ret_operation_id = NULL;
    if (open >= QUESTIONS_MOST)
        return 0;
    return ask(work, pool,
               json_pack("{s:s, s:b, s:i, s:s, s:s?, s:b}", "pool", strchr(pool->name, '#') + 1,
                         "snapshots", one->volume_id != NULL, "limit", 0, "one", one->source_name,
                         "volume_id", one->volume_id, "multiattach", one->multiattach),
               ret_operation_id, err);
}

bool manageable_is_probed(struct arena *arena, const struct operation *operation,
                          struct manageable_one *ret) {
    const json_t *arguments = operation_arguments(arena, operation);

    *ret = (struct manageable_one){
        .source_name = json_text_of(arguments, "one"),
        .volume_id = json_text_of(arguments, "volume_id"),
        .multiattach = json_is_true(json_object_get(arguments, "multiattach")),
    };
    return ret->source_name;
}

int manageable_check_answer(struct work *work, const char *operation_id, const char *source_name,
                            struct error *err) {
    struct operation operation;
    int found = operation_id ? operation_get(work, operation_id, &operation, err) : 0;
    const char *refused;

    if (found <= 0 || operation.phase != PHASE_ANSWERED)
        return found < 0 ? -1 : 0;
    refused = json_text_of(operation_arguments(work->arena, &operation), "refused");
    if (refused)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Manage existing volume failed due to invalid backend reference "
                         "%.255s: %s",
                         source_name, refused);
    return operation_end(work, &operation, err);
}

void manageable_requested(struct arena *arena, const struct operation *operation,
                          struct manageable_page *ret, const char **ret_pool) {
    const json_t *arguments = operation_arguments(arena, operation);

    *ret = (struct manageable_page){
        .snapshots = json_is_true(json_object_get(arguments, "snapshots")),
        .by_size = json_is_true(json_object_get(arguments, "by_size")),
        .descending = json_is_true(json_object_get(arguments, "descending")),
        .limit = json_integer_value(json_object_get(arguments, "limit")),
        .offset = json_integer_value(json_object_get(arguments, "offset")),
        .marker = json_string_value(json_object_get(arguments, "marker")),
    };
    *ret_pool = json_string_value(json_object_get(arguments, "pool"));
}

#define ON_HOST "WHERE v.host = $1 OR substr(v.host, 1, CAST($2 AS INTEGER)) = $3"

int manageable_known(struct work *work, const char *host, bool snapshots, json_t *ret,
                     struct error *err) {
    autorows struct db_rows *rows = db_query(
        work->tx, err,
        snapshots ? "SELECT s.id, v.id, s.size_gb FROM snapshots s "
                    "JOIN volumes v ON v.id = s.volume_id " ON_HOST
                  : "SELECT COALESCE(v.name_id, v.id), v.id, v.size_gb FROM volumes v " ON_HOST,
        DB_TEXT(host), DB_INT((int64_t)strlen(host) + 1),
        DB_TEXT(arena_format(work->arena, "%s#", host)));
    int more;

    if (!rows)
        return -1;
    while ((more = db_next(rows, err)) > 0)
        json_object_set_new(ret, db_text(rows, 0),
                            json_pack("{s:s, s:I}", "volume_id", db_text(rows, 1), "size_gb",
                                      (json_int_t)db_int(rows, 2)));
    return more;
}

/* The reason is in the manager's log. */
static int list_finish(struct work *work, const struct operation *held, void *arg,
                       struct error *err) {
    static const char failed[] = "{\"error\": \"The backend cannot tell what it has.\"}";
    const struct manageable_ending *ending = arg;

    return operation_answer(work, held->id, ending->failure ? failed : ending->answer, err);
}

const struct operation_kind kind_list_manageable = {
    .name = "list_manageable",
    .method = "get_manageable_volumes",
    .message_action = "001",
    .awaited = true,
    .finish = list_finish,
};
