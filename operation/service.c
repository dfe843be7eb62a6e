#include "operation/service.h"

#include "common/assert.h"
#include "operation/host.h"
#include "operation/query.h"

#include <string.h>

#define SERVICE_SELECT                                                                     \
    "SELECT id, binary_name, host, availability_zone, disabled, disabled_reason, frozen, " \
    "endpoint, reported_at, created_at, updated_at FROM services"

int service_report(struct work *work, const char *binary, const char *host, const char *zone,
                   const char *endpoint, struct error *err) {
    const char *where = zone ? zone : work->settings->storage_availability_zone;

    assert(binary && host && work->clock_us > 0);
    return db_change(
        work->tx, err,
        "INSERT INTO services (id, binary_name, host, availability_zone, disabled, frozen, "
        "endpoint, reported_at, created_at) VALUES ($1, $2, $3, $4, 0, 0, $5, $6, $7) "
        "ON CONFLICT (binary_name, host) DO UPDATE SET "
        "availability_zone = excluded.availability_zone, "
        "endpoint = excluded.endpoint, reported_at = excluded.reported_at",
        DB_TEXT(work_uuid(work)), DB_TEXT(binary), DB_TEXT(host), DB_TEXT(where), DB_TEXT(endpoint),
        DB_INT(work->clock_us), DB_INT(work->now_us));
}

static int read_service(struct work *work, const struct db_rows *rows, void *ret,
                        struct error *err) {
    struct arena *arena = work->arena;

    (void)err;
    *(struct service *)ret = (struct service){
        .id = db_copy(rows, 0, arena),
        .binary = db_copy(rows, 1, arena),
        .host = db_copy(rows, 2, arena),
        .availability_zone = db_copy(rows, 3, arena),
        .disabled = db_bool(rows, 4),
        .disabled_reason = db_copy(rows, 5, arena),
        .frozen = db_bool(rows, 6),
        .endpoint = db_copy(rows, 7, arena),
        .reported_at = work_shown(work, db_int(rows, 8)),
        .created_at = db_int(rows, 9),
        .updated_at = db_int(rows, 10),
        .up = work->clock_us - db_int(rows, 8) <= work->settings->service_down_s * SECOND_US,
    };
    return 0;
}

int service_find(struct work *work, const char *binary, const char *host, struct service *ret,
                 struct error *err) {
    return query_one(work,
                     db_query(work->tx, err, SERVICE_SELECT " WHERE binary_name = $1 AND host = $2",
                              DB_TEXT(binary), DB_TEXT(host)),
                     read_service, ret, err);
}

int service_is_frozen(struct work *work, const char *host, struct error *err) {
    struct service service;
    int found = service_find(work, SERVICE_VOLUME, host_backend(work->arena, host), &service, err);

    return found > 0 ? service.frozen : found;
}

/* The name of a node includes its backends. */
static bool host_matches(const char *host, const char *wanted) {
    size_t length = strlen(wanted);

    return strncmp(host, wanted, length) == 0 && (host[length] == '\0' || host[length] == '@');
}

int service_list(struct work *work, const char *binary, const char *host, struct service **ret,
                 struct error *err) {
    struct db_rows *rows =
        binary ? db_query(work->tx, err,
                          SERVICE_SELECT " WHERE binary_name = $1 ORDER BY binary_name, host",
                          DB_TEXT(binary))
               : db_query(work->tx, err, SERVICE_SELECT " ORDER BY binary_name, host");
    int all = query_all(work, rows, read_service, ret, err), count = 0;

    if (!host)
        return all;
    for (int i = 0; i < all; i++)
        if (host_matches((*ret)[i].host, host))
            (*ret)[count++] = (*ret)[i];
    return all < 0 ? -1 : count;
}

int service_set_disabled(struct work *work, const struct service *service, bool disabled,
                         const char *reason, struct error *err) {
    assert(service->id);
    return db_change(work->tx, err,
                     "UPDATE services SET disabled = $1, disabled_reason = $2, updated_at = $3 "
                     "WHERE id = $4",
                     DB_BOOL(disabled), DB_TEXT(disabled ? reason : NULL), DB_INT(work->now_us),
                     DB_TEXT(service->id));
}

int service_set_frozen(struct work *work, const struct service *service, bool frozen,
                       struct error *err) {
    assert(service->id);
    return db_change(work->tx, err,
                     "UPDATE services SET frozen = $1, updated_at = $2 WHERE id = $3",
                     DB_BOOL(frozen), DB_INT(work->now_us), DB_TEXT(service->id));
}

static int read_zone(struct work *work, const struct db_rows *rows, void *ret, struct error *err) {
    (void)err;
    *(struct zone *)ret = (struct zone){ db_copy(rows, 0, work->arena), db_bool(rows, 1) };
    return 0;
}

int service_zones(struct work *work, struct zone **ret, struct error *err) {
    int64_t oldest = work->clock_us - work->settings->service_down_s * SECOND_US;
    struct db_rows *rows =
        db_query(work->tx, err,
                 "SELECT zone, MAX(available) FROM (SELECT availability_zone AS zone, "
                 "CASE WHEN disabled = 0 AND reported_at >= $1 THEN 1 ELSE 0 END AS available "
                 "FROM services WHERE binary_name = '" SERVICE_VOLUME "' UNION ALL SELECT $2, 0) "
                 "AS zones GROUP BY zone ORDER BY zone",
                 DB_INT(oldest), DB_TEXT(work->settings->storage_availability_zone));

    return query_all(work, rows, read_zone, ret, err);
}
