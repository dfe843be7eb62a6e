#include "ledger/service.h"

#include "ledger/query.h"

#include <string.h>

#define SERVICE_SELECT                                                                     \
    "SELECT id, binary_name, host, availability_zone, disabled, disabled_reason, frozen, " \
    "endpoint, reported_at, created_at, updated_at FROM services"

int service_report(struct work *work, const char *binary, const char *host, const char *zone,
                   const char *endpoint, struct error *err) {
    const char *where = zone ? zone : work->settings->storage_availability_zone;

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

static bool is_up(const struct work *work, int64_t reported_at) {
    return work->clock_us - reported_at <= work->settings->service_down_s * SECOND_US;
}

static void read_service(struct work *work, const struct db_rows *rows, struct service *ret) {
    struct arena *arena = work->arena;

    *ret = (struct service){
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
        .up = is_up(work, db_int(rows, 8)),
    };
}

int service_find(struct work *work, const char *binary, const char *host, struct service *ret,
                 struct error *err) {
    autorows struct db_rows *rows =
        db_query(work->tx, err, SERVICE_SELECT " WHERE binary_name = $1 AND host = $2",
                 DB_TEXT(binary), DB_TEXT(host));
    int more;

    if (!rows || (more = db_next(rows, err)) < 0)
        return -1;
    if (more > 0)
        read_service(work, rows, ret);
    return more;
}

/* A node's name stands for its backends too. */
static bool host_matches(const char *host, const char *wanted) {
    size_t length = strlen(wanted);

    return strncmp(host, wanted, length) == 0 && (host[length] == '\0' || host[length] == '@');
}

int service_list(struct work *work, const char *binary, const char *host, struct service **ret,
                 struct error *err) {
    autorows struct db_rows *rows =
        binary ? db_query(work->tx, err,
                          SERVICE_SELECT " WHERE binary_name = $1 ORDER BY binary_name, host",
                          DB_TEXT(binary))
               : db_query(work->tx, err, SERVICE_SELECT " ORDER BY binary_name, host");
    struct service *services = NULL;
    unsigned count = 0;
    int more;

    if (!rows)
        return -1;
    while ((more = db_next(rows, err)) > 0) {
        if (host && !host_matches(db_text(rows, 2), host))
            continue;
        services = query_grow(work->arena, services, count, sizeof(*services));
        read_service(work, rows, &services[count++]);
    }
    if (more < 0)
        return -1;
    *ret = services;
    return (int)count;
}

int service_set_disabled(struct work *work, const struct service *service, bool disabled,
                         const char *reason, struct error *err) {
    return db_change(work->tx, err,
                     "UPDATE services SET disabled = $1, disabled_reason = $2, updated_at = $3 "
                     "WHERE id = $4",
                     DB_BOOL(disabled), DB_TEXT(disabled ? reason : NULL), DB_INT(work->now_us),
                     DB_TEXT(service->id));
}

int service_set_frozen(struct work *work, const struct service *service, bool frozen,
                       struct error *err) {
    return db_change(work->tx, err,
                     "UPDATE services SET frozen = $1, updated_at = $2 WHERE id = $3",
                     DB_BOOL(frozen), DB_INT(work->now_us), DB_TEXT(service->id));
}

int service_zones(struct work *work, struct zone **ret, struct error *err) {
    int64_t oldest = work->clock_us - work->settings->service_down_s * SECOND_US;
    autorows struct db_rows *rows =
        db_query(work->tx, err,
                 "SELECT zone, MAX(available) FROM (SELECT availability_zone AS zone, "
                 "CASE WHEN disabled = 0 AND reported_at >= $1 THEN 1 ELSE 0 END AS available "
                 "FROM services WHERE binary_name = '" SERVICE_VOLUME "' UNION ALL SELECT $2, 0) "
                 "AS zones GROUP BY zone ORDER BY zone",
                 DB_INT(oldest), DB_TEXT(work->settings->storage_availability_zone));
    struct zone *zones = NULL;
    unsigned count = 0;
    int more;

    if (!rows)
        return -1;
    while ((more = db_next(rows, err)) > 0) {
        zones = query_grow(work->arena, zones, count, sizeof(*zones));
        zones[count++] = (struct zone){ db_copy(rows, 0, work->arena), db_bool(rows, 1) };
    }
    if (more < 0)
        return -1;
    *ret = zones;
    return (int)count;
}
