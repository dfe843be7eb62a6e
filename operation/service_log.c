#include "operation/service_log.h"

#include "common/assert.h"
#include "operation/query.h"
#include "json/json.h"
#include "json/out.h"

#include <string.h>

static struct service_levels nothing(void) {
    struct service_levels levels;

    assert(log_loggers() <= SERVICE_LOGGERS_MOST);
    for (unsigned i = 0; i < SERVICE_LOGGERS_MOST; i++)
        levels.of[i] = SERVICE_LEVEL_UNNAMED;
    return levels;
}

struct service_levels service_levels_now(void) {
    struct service_levels levels = nothing();

    for (unsigned i = 0; i < log_loggers(); i++)
        levels.of[i] = (int)log_level_of(i);
    return levels;
}

struct service_levels service_levels_of(const char *prefix, enum log_level level) {
    struct service_levels levels = nothing();

    for (unsigned i = 0; i < log_loggers(); i++)
        if (strncmp(log_logger(i), prefix, strlen(prefix)) == 0)
            levels.of[i] = (int)level;
    return levels;
}

void service_levels_apply(const struct service_levels *levels) {
    for (unsigned i = 0; i < log_loggers(); i++)
        if (levels->of[i] != SERVICE_LEVEL_UNNAMED)
            log_set_level(i, (enum log_level)levels->of[i]);
}

static struct service_levels laid_over(struct service_levels below,
                                       const struct service_levels *above) {
    for (unsigned i = 0; i < log_loggers(); i++)
        if (above->of[i] != SERVICE_LEVEL_UNNAMED)
            below.of[i] = above->of[i];
    return below;
}

/* ---- the row's form: {"scoria.api": "INFO", …} ---- */

static const char *levels_text(struct arena *arena, const struct service_levels *levels) {
    struct json_out out;

    json_out_init(&out, arena, 1024);
    out_begin_object(&out);
    for (unsigned i = 0; i < log_loggers(); i++) {
        if (levels->of[i] == SERVICE_LEVEL_UNNAMED)
            continue;
        out_key_text(&out, log_logger(i));
        out_text(&out, log_level_name((enum log_level)levels->of[i]));
    }
    out_end_object(&out);
    return json_out_text(&out);
}

/* Loggers and levels of another version of this program are left out. */
static struct service_levels levels_read(struct arena *arena, const char *text) {
    const json_t *object = text ? json_parse(arena, text, strlen(text), NULL) : NULL;
    struct service_levels levels = nothing();

    for (unsigned i = 0; object && i < log_loggers(); i++) {
        const char *name = json_string_value(json_object_get(object, log_logger(i)));
        enum log_level level;

        if (name && log_level_parse(name, &level))
            levels.of[i] = (int)level;
    }
    return levels;
}

/* 1 with a value (of `column`), 0 without, or without a row. */
static int column_read(struct work *work, const char *column, const char *binary, const char *host,
                       struct service_levels *ret, struct error *err) {
    const char *sql = arena_format(
        work->arena, "SELECT %s FROM services WHERE binary_name = $1 AND host = $2", column);
    const char *text = NULL;

    if (query_one(work, db_query(work->tx, err, sql, DB_TEXT(binary), DB_TEXT(host)), query_text,
                  &text, err) < 0)
        return -1;
    *ret = levels_read(work->arena, text);
    return text != NULL;
}

int service_levels_reported(struct work *work, const struct service *service,
                            struct service_levels *ret, struct error *err) {
    return column_read(work, "log_levels", service->binary, service->host, ret, err);
}

int service_levels_request(struct work *work, const struct service *service,
                           const struct service_levels *wanted, struct error *err) {
    struct service_levels before;

    if (column_read(work, "log_wanted", service->binary, service->host, &before, err) < 0)
        return -1;
    before = laid_over(before, wanted);
    return db_change(work->tx, err, "UPDATE services SET log_wanted = $1 WHERE id = $2",
                     DB_TEXT(levels_text(work->arena, &before)), DB_TEXT(service->id));
}

struct stored {
    const char *wanted, *levels;
};

static int stored_read(struct work *work, const struct db_rows *rows, void *item,
                       struct error *err) {
    (void)err;
    *(struct stored *)item =
        (struct stored){ db_copy(rows, 0, work->arena), db_copy(rows, 1, work->arena) };
    return 0;
}

/* Nothing is written by a heartbeat that finds nothing requested, and the levels as they are. */
int service_levels_take(struct work *work, const char *binary, const char *host,
                        struct service_levels *ret, struct error *err) {
    struct stored stored = { NULL, NULL };
    struct service_levels said;
    const char *text;

    assert(binary && host);
    if (query_one(work,
                  db_query(work->tx, err,
                           "SELECT log_wanted, log_levels FROM services "
                           "WHERE binary_name = $1 AND host = $2",
                           DB_TEXT(binary), DB_TEXT(host)),
                  stored_read, &stored, err) < 0)
        return -1;
    *ret = levels_read(work->arena, stored.wanted);
    said = laid_over(service_levels_now(), ret);
    text = levels_text(work->arena, &said);
    if (!stored.wanted && stored.levels && strcmp(stored.levels, text) == 0)
        return 0;
    return db_change(work->tx, err,
                     "UPDATE services SET log_wanted = NULL, log_levels = $1 "
                     "WHERE binary_name = $2 AND host = $3",
                     DB_TEXT(text), DB_TEXT(binary), DB_TEXT(host));
}
