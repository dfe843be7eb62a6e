#include "api/hosts.h"

#include "rest/answer.h"

#include "model/volume/summary.h"
#include "operation/service.h"

#include <string.h>

/* ---- hosts ---- */

static void put_status(struct request *request, const void *row) {
    const struct service *service = row;

    out_text(&request->out, service->up ? "available" : "unavailable");
}

static void put_enabled(struct request *request, const void *row) {
    (void)row;
    out_text(&request->out, "enabled");
}

/* clang-format off */
static const struct shape_key host_keys[] = {
    SHAPE(struct service, host,              "host_name",      TEXT),
    SHAPE(struct service, binary,            "service",        TEXT),
    SHAPE(struct service, availability_zone, "zone",           TEXT, .flags = SHAPE_NULLABLE),
    SHAPE_BY(put_status,                     "service-status", TEXT),
    SHAPE_BY(put_enabled,                    "service-state",  TEXT),
    SHAPE(struct service, reported_at,       "last-update",    TIME, .flags = SHAPE_NULLABLE),
    SHAPES_END,
};
/* clang-format on */
const struct shape host_shape = { NULL, host_keys };

int hosts_list(struct request *request, struct error *err) {
    const char *zone = request_query(request, "zone");
    struct service *services;
    int count = service_list(&request->work, NULL, NULL, &services, err);

    if (count < 0)
        return -1;
    answer_open(request);
    for (int i = 0; i < count; i++)
        if (!services[i].disabled && (!zone || strcmp(zone, services[i].availability_zone) == 0))
            shape_put(request, &host_shape, &services[i], 0);
    answer_close(request);
    return 0;
}

/* Numbers are text in this response, as upstream. */
struct host_row {
    const char *host, *project;
    const char *volumes, *volumes_gb, *snapshots, *snapshots_gb;
};

/* clang-format off */
static const struct shape_key resource_keys[] = {
    SHAPE(struct host_row, host,         "host",              TEXT),
    SHAPE(struct host_row, project,      "project",           TEXT),
    SHAPE(struct host_row, volumes,      "volume_count",      TEXT),
    SHAPE(struct host_row, volumes_gb,   "total_volume_gb",   TEXT),
    SHAPE(struct host_row, snapshots,    "snapshot_count",    TEXT),
    SHAPE(struct host_row, snapshots_gb, "total_snapshot_gb", TEXT),
    SHAPES_END,
};
/* clang-format on */
static const struct shape resource_shape = { NULL, resource_keys };

static void put_resource(struct request *request, const void *row) {
    shape_put(request, &resource_shape, row, 0);
}

static const struct shape_key outer_keys[] = {
    SHAPE_BY(put_resource, "resource", OBJECT, .of = &resource_shape),
    SHAPES_END,
};
const struct shape host_resource_shape = { NULL, outer_keys };

static const char *number_text(struct request *request, int64_t number) {
    return arena_format(request->work.arena, "%jd", (intmax_t)number);
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
    answer_open(request);
    for (int i = 0; i < count; i++) {
        const struct host_summary *summary = &summaries[i];
        const char *project = summary->volumes.project_id;
        const struct host_row row = {
            .host = request->id,
            .project = project ? project : "(total)",
            .volumes = number_text(request, summary->volumes.count),
            .volumes_gb = number_text(request, summary->volumes.size_gb),
            .snapshots = number_text(request, summary->snapshots.count),
            .snapshots_gb = number_text(request, summary->snapshots.size_gb),
        };

        shape_put(request, &host_resource_shape, &row, 0);
    }
    answer_close(request);
    return 0;
}

/* ---- zones ---- */

static const struct shape_key state_keys[] = {
    SHAPE(struct zone, available, "available", BOOL),
    SHAPES_END,
};
static const struct shape state_shape = { NULL, state_keys };

static void put_zone_state(struct request *request, const void *row) {
    shape_put(request, &state_shape, row, 0);
}

static const struct shape_key zone_keys[] = {
    SHAPE(struct zone, name, "zoneName", TEXT),
    SHAPE_BY(put_zone_state, "zoneState", OBJECT, .of = &state_shape),
    SHAPES_END,
};
const struct shape zone_shape = { NULL, zone_keys };

int hosts_list_zones(struct request *request, struct error *err) {
    struct zone *zones;
    int count = service_zones(&request->work, &zones, err);

    if (count < 0)
        return -1;
    answer_rows(request, zones, (unsigned)count, sizeof(*zones), 0);
    return 0;
}
