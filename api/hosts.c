#include "api/hosts.h"

#include "ledger/service.h"

#include <string.h>

/* ---- hosts ---- */

int hosts_list(struct request *request, struct error *err) {
    const char *zone = request_query(request, "zone");
    struct json_out *out = &request->out;
    struct service *services;
    int count = service_list(&request->work, NULL, NULL, &services, err);

    if (count < 0)
        return -1;
    out_begin_object(out);
    out_key(out, "hosts");
    out_begin_array(out);
    for (int i = 0; i < count; i++) {
        const struct service *service = &services[i];

        if (service->disabled || (zone && strcmp(zone, service->availability_zone) != 0))
            continue;
        out_begin_object(out);
        out_put_text(out, "host_name", service->host);
        out_put_text(out, "service", service->binary);
        out_put_text(out, "zone", service->availability_zone);
        out_put_text(out, "service-status", service->up ? "available" : "unavailable");
        out_put_text(out, "service-state", "enabled");
        out_put_time(out, "last-update", service->reported_at);
        out_end_object(out);
    }
    out_end_array(out);
    out_end_object(out);
    return 0;
}

/* Numbers are text in this answer, as upstream. */
static void put_resource(struct request *request, const char *project, int64_t count,
                         int64_t size_gb) {
    struct arena *arena = request->work.arena;
    struct json_out *out = &request->out;

    out_begin_object(out);
    out_key(out, "resource");
    out_begin_object(out);
    out_put_text(out, "host", request->id);
    out_put_text(out, "project", project);
    out_put_text(out, "volume_count", arena_format(arena, "%jd", count));
    out_put_text(out, "total_volume_gb", arena_format(arena, "%jd", size_gb));
    out_put_text(out, "snapshot_count", "0");
    out_put_text(out, "total_snapshot_gb", "0");
    out_end_object(out);
    out_end_object(out);
}

/* The total first, then each project; a row with a NULL project is the total. */
static int put_resources(struct request *request, struct error *err) {
    autorows struct db_rows *rows = db_query(
        request->work.tx, err,
        "SELECT 0 AS place, NULL AS project, COUNT(*), CAST(COALESCE(SUM(v.size_gb), 0) AS BIGINT) "
        "FROM volumes v JOIN pools p ON p.name = v.host WHERE p.host = $1 UNION ALL "
        "SELECT 1, v.project_id, COUNT(*), CAST(SUM(v.size_gb) AS BIGINT) "
        "FROM volumes v JOIN pools p ON p.name = v.host WHERE p.host = $1 GROUP BY v.project_id "
        "ORDER BY place, project",
        DB_TEXT(request->id));
    int more;

    if (!rows)
        return -1;
    while ((more = db_next(rows, err)) > 0)
        put_resource(request, db_is_null(rows, 1) ? "(total)" : db_text(rows, 1), db_int(rows, 2),
                     db_int(rows, 3));
    return more;
}

int hosts_show(struct request *request, struct error *err) {
    struct service service;

    if (error_if_none(service_find(&request->work, SERVICE_VOLUME, request->id, &service, err), err,
                      ERROR_NOT_FOUND, "Host %s could not be found.", request->id) < 0)
        return -1;
    out_begin_object(&request->out);
    out_key(&request->out, "host");
    out_begin_array(&request->out);
    if (put_resources(request, err) < 0)
        return -1;
    out_end_array(&request->out);
    out_end_object(&request->out);
    return 0;
}

/* ---- zones ---- */

int hosts_list_zones(struct request *request, struct error *err) {
    struct json_out *out = &request->out;
    struct zone *zones;
    int count = service_zones(&request->work, &zones, err);

    if (count < 0)
        return -1;
    out_begin_object(out);
    out_key(out, "availabilityZoneInfo");
    out_begin_array(out);
    for (int i = 0; i < count; i++) {
        out_begin_object(out);
        out_put_text(out, "zoneName", zones[i].name);
        out_key(out, "zoneState");
        out_begin_object(out);
        out_put_bool(out, "available", zones[i].available);
        out_end_object(out);
        out_end_object(out);
    }
    out_end_array(out);
    out_end_object(out);
    return 0;
}
