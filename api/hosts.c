#include "api/hosts.h"

#include "ledger/service.h"
#include "volume/summary.h"

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
static void put_number(struct request *request, const char *key, int64_t number) {
    out_key_text(&request->out, key);
    out_text(&request->out, arena_format(request->work.arena, "%jd", (intmax_t)number));
}

static void put_resource(struct request *request, const struct host_summary *summary) {
    const char *project = summary->volumes.project_id;
    struct json_out *out = &request->out;

    out_begin_object(out);
    out_key(out, "resource");
    out_begin_object(out);
    out_put_text(out, "host", request->id);
    out_put_text(out, "project", project ? project : "(total)");
    put_number(request, "volume_count", summary->volumes.count);
    put_number(request, "total_volume_gb", summary->volumes.size_gb);
    put_number(request, "snapshot_count", summary->snapshots.count);
    put_number(request, "total_snapshot_gb", summary->snapshots.size_gb);
    out_end_object(out);
    out_end_object(out);
}

int hosts_show(struct request *request, struct error *err) {
    struct service service;
    struct host_summary *summaries;
    int count;

    if (error_if_none(service_find(&request->work, SERVICE_VOLUME, request->id, &service, err), err,
                      ERROR_NOT_FOUND, "Host %s could not be found.", request->id) < 0)
        return -1;
    count = summary_of_host(&request->work, request->id, &summaries, err);
    if (count < 0)
        return -1;
    out_begin_object(&request->out);
    out_key(&request->out, "host");
    out_begin_array(&request->out);
    for (int i = 0; i < count; i++)
        put_resource(request, &summaries[i]);
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
