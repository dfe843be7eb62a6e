#include "api/hosts.h"
#include "api/pools.h"
#include "api/routes.h"
#include "api/service_log.h"
#include "operation/service.h"
#include "rest/answer.h"

#include <string.h>

/* ---- list ---- */

static void put_status(struct request *request, const void *row) {
    const struct service *service = row;

    out_text(&request->out, service->disabled ? "disabled" : "enabled");
}

static void put_state(struct request *request, const void *row) {
    const struct service *service = row;

    out_text(&request->out, service->up ? "up" : "down");
}

static void put_replication(struct request *request, const void *row) {
    (void)row;
    out_text(&request->out, "disabled");
}

static bool is_volume_service(const void *row) {
    const struct service *service = row;

    return strcmp(service->binary, SERVICE_VOLUME) == 0;
}

/* clang-format off */
#define SERVICE(member, ...) SHAPE(struct service, member, __VA_ARGS__)
#define NULLS .flags = SHAPE_NULLABLE

static const struct shape_key service_keys[] = {
    SERVICE(binary,            "binary",     TEXT),
    SERVICE(host,              "host",       TEXT),
    SERVICE(availability_zone, "zone",       TEXT, NULLS),
    SHAPE_BY(put_status,       "status",     TEXT),
    SHAPE_BY(put_state,        "state",      TEXT),
    SERVICE(reported_at,       "updated_at", TIME, NULLS),
    SERVICE(disabled_reason,   "disabled_reason", TEXT, NULLS),
    { SHAPE_KEY("cluster", NULL), .since = MV_CLUSTERS },
    SHAPE_BY(put_replication,  "replication_status", TEXT, .has = is_volume_service),
    { SHAPE_KEY("active_backend_id", NULL), .has = is_volume_service },
    SERVICE(frozen,            "frozen",        BOOL, .has = is_volume_service),
    SHAPE_BY(put_state,        "backend_state", TEXT, .has = is_volume_service,
             .since = MV_BACKEND_STATE),
    SHAPES_END,
};
/* clang-format on */
static const struct shape service_shape = { "service", service_keys };

static int list_services(struct request *request, struct error *err) {
    struct service *services;
    int count = service_list(&request->work, request_query(request, "binary"),
                             request_query(request, "host"), &services, err);

    if (count < 0)
        return -1;
    answer_rows(request, services, (unsigned)count, sizeof(*services), 0);
    return 0;
}

/* ---- enable and disable ---- */

struct service_body {
    const char *host, *binary, *service, *cluster, *disabled_reason, *backend_id;
};

#define TEXT1(member, key, flags) FIELD_TEXT(struct service_body, member, key, flags, 1, 255)

static const struct field state_fields[] = {
    FIELD_HOST(struct service_body, host, "host", 0),
    TEXT1(binary, "binary", 0),
    TEXT1(service, "service", 0),
    FIELD_NAME0(struct service_body, cluster, "cluster", 0),
    FIELDS_END,
};

static const struct field reason_fields[] = {
    FIELD_HOST(struct service_body, host, "host", 0),
    TEXT1(binary, "binary", 0),
    TEXT1(service, "service", 0),
    FIELD_NAME0(struct service_body, cluster, "cluster", 0),
    TEXT1(disabled_reason, "disabled_reason", FIELD_REQUIRED | FIELD_NOT_BLANK),
    FIELDS_END,
};

static bool has_reason(const void *row) {
    const struct service *service = row;

    return service->disabled_reason != NULL;
}

/* As named by the request: "" for an omitted key. */
static void put_named_service(struct request *request, const void *row) {
    const struct service_body *body = request->body;

    (void)row;
    out_text(&request->out, body->service ? body->service : "");
}

static void put_named_binary(struct request *request, const void *row) {
    const struct service_body *body = request->body;

    (void)row;
    out_text(&request->out, body->binary ? body->binary : "");
}

static const struct shape_key state_keys[] = {
    SERVICE(host, "host", TEXT),
    SHAPE_BY(put_named_service, "service", TEXT),
    SHAPE_BY(put_named_binary, "binary", TEXT),
    SHAPE_BY(put_status, "status", TEXT),
    SERVICE(disabled, "disabled", BOOL),
    SERVICE(disabled_reason, "disabled_reason", TEXT, .has = has_reason),
    SHAPES_END,
};
static const struct shape state_shape = { NULL, state_keys };

static int set_disabled(struct request *request, bool disabled, const char *reason,
                        struct error *err) {
    const struct service_body *body = request->body;
    const char *binary = body->binary ? body->binary : body->service;
    struct service service;
    int found;

    if (!body->host)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Missing required element 'host' in request body.");
    if (!binary)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Missing required element 'binary' in request body.");
    found = service_find(&request->work, binary, body->host, &service, err);
    if (error_if_none(found, err, ERROR_NOT_FOUND, "Service %s could not be found on host %s.",
                      binary, body->host) < 0 ||
        service_set_disabled(&request->work, &service, disabled, reason, err) < 0)
        return -1;
    service.disabled = disabled;
    service.disabled_reason = reason;
    answer_row(request, &service, 0);
    return 0;
}

static int enable_service(struct request *request, struct error *err) {
    return set_disabled(request, false, NULL, err);
}

static int disable_service(struct request *request, struct error *err) {
    return set_disabled(request, true, NULL, err);
}

static int log_reason(struct request *request, struct error *err) {
    const struct service_body *body = request->body;

    return set_disabled(request, true, body->disabled_reason, err);
}

/* ---- freeze, thaw, fail over ---- */

/* clang-format off */
static const struct field freeze_fields[] = {
    FIELD_HOST(struct service_body, host, "host", 0),
    { .name = "cluster", .type = FIELD_TYPE_TEXT, .flags = FIELD_NULLABLE,
      .offset = offsetof(struct service_body, cluster), .max = 255, .since = MV_CLUSTER_REPLICATION },
    FIELDS_END,
};

static const struct field failover_fields[] = {
    FIELD_HOST(struct service_body, host, "host", 0),
    { .name = "cluster", .type = FIELD_TYPE_TEXT, .flags = FIELD_NULLABLE,
      .offset = offsetof(struct service_body, cluster), .max = 255, .since = MV_CLUSTER_REPLICATION },
    FIELD_NAME0(struct service_body, backend_id, "backend_id", 0),
    FIELDS_END,
};
/* clang-format on */

/* The volume service of `host`; there are no clusters here, so every cluster name is unknown. */
static int find_backend(struct request *request, struct service *ret, struct error *err) {
    const struct service_body *body = request->body;
    int found;

    if (!body->host == !body->cluster)
        return error_set(err, ERROR_BAD_REQUEST, "Exactly one of host and cluster must be given.");
    found = body->host ? service_find(&request->work, SERVICE_VOLUME, body->host, ret, err) : 0;
    return error_if_none(found, err, ERROR_BAD_REQUEST,
                         "No volume service could be found at %s %s.",
                         body->host ? "host" : "cluster", body->host ? body->host : body->cluster);
}

static int set_frozen(struct request *request, const char *rule, bool frozen, struct error *err) {
    struct service service;

    if (request_authorize(request, rule, NULL, err) < 0 || find_backend(request, &service, err) < 0)
        return -1;
    if (service.frozen == frozen)
        return error_set(err, ERROR_BAD_REQUEST, "Host %s is %s.", service.host,
                         frozen ? "frozen already" : "not frozen");
    return service_set_frozen(&request->work, &service, frozen, err);
}

static int freeze_host(struct request *request, struct error *err) {
    return set_frozen(request, "volume:freeze_host", true, err);
}

static int thaw_host(struct request *request, struct error *err) {
    return set_frozen(request, "volume:thaw_host", false, err);
}

static int fail_over_host(struct request *request, struct error *err) {
    struct service service;

    if (request_authorize(request, "volume:failover_host", NULL, err) < 0 ||
        find_backend(request, &service, err) < 0)
        return -1;
    return error_set(err, ERROR_BAD_REQUEST, "Host %s has no replication target to fail over to.",
                     service.host);
}

static int refuse_action(struct request *request, struct error *err) {
    return error_set(err, ERROR_BAD_REQUEST, "There is no such action on services: %s",
                     request->id);
}

/* ---- heartbeat of compute agents ---- */

struct report_body {
    const char *binary, *host, *endpoint, *zone;
};

static const char *const report_binaries[] = { SERVICE_COMPUTE, NULL };

static const struct field report_fields[] = {
    FIELD_WORD(struct report_body, binary, "binary", FIELD_REQUIRED, report_binaries),
    FIELD_TEXT(struct report_body, host, "host",
               FIELD_REQUIRED | FIELD_NOT_BLANK | FIELD_HOST_CHARS, 1, 255),
    FIELD_TEXT(struct report_body, endpoint, "endpoint", FIELD_NULLABLE | FIELD_PRINTABLE, 1, 2048),
    FIELD_TEXT(struct report_body, zone, "zone", FIELD_NULLABLE | FIELD_PRINTABLE, 1, 255),
    FIELDS_END,
};

static void put_up(struct request *request, const void *row) {
    (void)row;
    out_text(&request->out, "up");
}

static const struct shape_key report_keys[] = {
    SHAPE(struct report_body, binary, "binary", TEXT),
    SHAPE(struct report_body, host, "host", TEXT),
    SHAPE_BY(put_up, "state", TEXT),
    SHAPES_END,
};
static const struct shape report_shape = { NULL, report_keys };

static int report_service(struct request *request, struct error *err) {
    const struct report_body *body = request->body;

    const char *endpoint = body->endpoint, *own = request->work.settings->agent_endpoint;

    /* Target of events: HTTP only, and a Unix socket only for the agent of this process. */
    if (endpoint && !(own && strcmp(endpoint, own) == 0) && strncmp(endpoint, "http://", 7) != 0 &&
        strncmp(endpoint, "https://", 8) != 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid value for 'endpoint': it must begin with http:// or https://.");
    if (service_report(&request->work, body->binary, body->host, body->zone, body->endpoint, err) <
        0)
        return -1;
    answer_row(request, body, 0);
    return 0;
}

static const struct route_query service_queries[] = { { .name = "binary" },
                                                      { .name = "host" },
                                                      { .name = NULL } };
static const struct route_query host_queries[] = { { .name = "zone" }, { .name = NULL } };
static const struct route_query pool_queries[] = { { "detail", .is_boolean = true },
                                                   { "name", .since = MV_POOL_FILTERS },
                                                   { "volume_type", .since = MV_POOL_TYPE_FILTER },
                                                   { .name = NULL } };

/* clang-format off */
#define RULE "volume_extension:"
#define UNWRAPPED .flags = ROUTE_NO_WRAPPER
#define STATE UNWRAPPED, ANSWER(NULL, state_shape)
#define READ(path_, rule_, handler_, ...) \
    { .method = "GET", .path = path_, .rule = rule_, .handler = handler_, .status = 200, \
      __VA_ARGS__ }
#define CHANGE(name_, since_, type_, fields_, handler_, status_, ...) \
    { .method = "PUT", .path = "/os-services/" name_, .since = since_, \
      .rule = RULE "services:update", BODY(fields_, struct type_), \
      .handler = handler_, .status = status_, __VA_ARGS__ }

const struct route service_routes[] = {
    READ("/os-services", RULE "services:index", list_services, .queries = service_queries,
         ANSWER("services", service_shape), .flags = ROUTE_MANY),
    CHANGE("enable",             MV_LEAST,  service_body, state_fields,    enable_service,  200, STATE),
    CHANGE("disable",            MV_LEAST,  service_body, state_fields,    disable_service, 200, STATE),
    CHANGE("disable-log-reason", MV_LEAST,  service_body, reason_fields,   log_reason,      200, STATE),
    CHANGE("freeze",             MV_LEAST,  service_body, freeze_fields,   freeze_host,     200, UNWRAPPED),
    CHANGE("thaw",               MV_LEAST,  service_body, freeze_fields,   thaw_host,       200, UNWRAPPED),
    CHANGE("failover_host",      MV_LEAST,  service_body, failover_fields, fail_over_host,  202, UNWRAPPED),
    CHANGE("failover",           MV_CLUSTER_REPLICATION, service_body, failover_fields, fail_over_host,  202, UNWRAPPED),
    CHANGE("set-log",            MV_SERVICE_LOG, service_log_body, service_log_set_fields, service_log_set, 202, UNWRAPPED),
    CHANGE("get-log",            MV_SERVICE_LOG, service_log_body, service_log_get_fields, service_log_get, 200,
           UNWRAPPED | ROUTE_MANY, ANSWER("log_levels", service_log_shape)),
    CHANGE("report",             MV_LEAST,  report_body,  report_fields,   report_service,  200, UNWRAPPED, ANSWER(NULL, report_shape)),
    { .method = "PUT", .path = "/os-services/{id}", .rule = RULE "services:update",
      .handler = refuse_action, .status = 400, .flags = ROUTE_ANY_VALUE },

    READ("/os-hosts", RULE "hosts", hosts_list, .queries = host_queries, ANSWER("hosts", host_shape),
         .flags = ROUTE_MANY),
    READ("/os-hosts/{id}", RULE "hosts", hosts_show, ANSWER("host", host_resource_shape),
         .flags = ROUTE_MANY),
    ABSENT("POST", "/os-hosts"),
    ABSENT("PUT", "/os-hosts/{id}"),
    ABSENT("DELETE", "/os-hosts/{id}"),

    READ("/os-availability-zone", NULL, hosts_list_zones, ANSWER("availabilityZoneInfo", zone_shape),
         .flags = ROUTE_MANY), /* for all callers */
    ABSENT("POST", "/os-availability-zone"),
    ABSENT("GET", "/os-availability-zone/{id}"),
    ABSENT("PUT", "/os-availability-zone/{id}"),
    ABSENT("DELETE", "/os-availability-zone/{id}"),

    { .method = "GET", .path = "/scheduler-stats/get_pools", .resource = &pool_resource,
      .rule = "scheduler_extension:scheduler_stats:get_pools", .queries = pool_queries,
      ANSWER("pools", pool_shape), .flags = ROUTE_MANY, .handler = pools_list,
      .status = 200 },
    ABSENT("POST", "/scheduler-stats"),
    ABSENT("PUT", "/scheduler-stats/{id}"),
    ABSENT("DELETE", "/scheduler-stats/{id}"),

    READ("/capabilities/{id}", RULE "capabilities", pools_show_capabilities,
         ANSWER(NULL, capabilities_shape)),
    ABSENT("GET", "/capabilities"),
    ABSENT("POST", "/capabilities"),
    ABSENT("PUT", "/capabilities/{id}"),
    ABSENT("DELETE", "/capabilities/{id}"),
    ROUTES_END
};
/* clang-format on */
