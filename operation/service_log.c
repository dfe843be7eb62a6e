#include "operation/service_log.h"

#include "common/assert.h"
#include "operation/query.h"
#include "json/json.h"

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

static struct db_value levels_value(struct arena *arena, const struct service_levels *levels) {
    json_t *object = json_keep(arena, json_object());

    for (unsigned i = 0; i < log_loggers(); i++)
        if (levels->of[i] != SERVICE_LEVEL_UNNAMED)
            json_object_set_new(object, log_logger(i),
                                json_string(log_level_name((enum log_level)levels->of[i])));
    return DB_TEXT(json_text(arena, object));
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
                     levels_value(work->arena, &before), DB_TEXT(service->id));
}

int service_levels_take(struct work *work, const char *binary, const char *host,
                        struct service_levels *ret, struct error *err) {
    struct service_levels said;

    assert(binary && host);
    if (column_read(work, "log_wanted", binary, host, ret, err) < 0)
        return -1;
    said = laid_over(service_levels_now(), ret);
    return db_change(work->tx, err,
                     "UPDATE services SET log_wanted = NULL, log_levels = $1 "
                     "WHERE binary_name = $2 AND host = $3",
                     levels_value(work->arena, &said), DB_TEXT(binary), DB_TEXT(host));
}
