#include "api/service_log.h"

#include "rest/answer.h"

#include "operation/service_log.h"

#include <string.h>

/* "" and "*" mean all of them. */
static const char *const binaries[] = {
    SERVICE_API, SERVICE_SCHEDULER, SERVICE_VOLUME, "cinder-backup", "", "*", NULL,
};

/* clang-format off */
#define WHICH \
    FIELD_WORD(struct service_log_body, binary, "binary", FIELD_NULLABLE, binaries), \
    FIELD_NAME0(struct service_log_body, server, "server", 0), \
    FIELD_NAME0(struct service_log_body, prefix, "prefix", 0)

const struct field service_log_set_fields[] = {
    WHICH, FIELD_NAME0(struct service_log_body, level, "level", 0), FIELDS_END
};
const struct field service_log_get_fields[] = { WHICH, FIELDS_END };
/* clang-format on */

static const char *own_host(const struct request *request) {
    const char *node = request->work.settings->node;

    return node ? node : "localhost";
}

static bool asks_for(const struct service_log_body *body, const char *binary) {
    const char *wanted = body->binary;

    return !wanted || !*wanted || strcmp(wanted, "*") == 0 || strcmp(wanted, binary) == 0;
}

static bool asks_for_us(const struct request *request) {
    const struct service_log_body *body = request->body;

    return asks_for(body, SERVICE_API) &&
           (!body->server || !*body->server || strcmp(body->server, own_host(request)) == 0);
}

/* Services with a log that can be set: not the agents, as their hosts have no database. */
static int find_services(struct request *request, struct service **ret, struct error *err) {
    const struct service_log_body *body = request->body;
    const char *host = text_or_null(body->server);
    int count = service_list(&request->work, NULL, host, ret, err), kept = 0;

    for (int i = 0; i < count; i++)
        if (strcmp((*ret)[i].binary, SERVICE_COMPUTE) != 0 && asks_for(body, (*ret)[i].binary))
            (*ret)[kept++] = (*ret)[i];
    return count < 0 ? -1 : kept;
}

static bool is_here(const struct request *request, const struct service *service) {
    const char *node = own_host(request);
    size_t length = strlen(node);

    return request->work.settings->one_process && strncmp(service->host, node, length) == 0 &&
           (service->host[length] == '\0' || service->host[length] == '@');
}

static const char *prefix_of(const struct service_log_body *body) {
    return body->prefix ? body->prefix : "";
}

/* ---- set ---- */

/* Levels of this process are not part of the transaction; setting them is idempotent, and no
 * refusal can follow. */
int service_log_set(struct request *request, struct error *err) {
    const struct service_log_body *body = request->body;
    bool here = asks_for_us(request);
    struct service_levels wanted;
    struct service *services;
    enum log_level level;
    int count;

    if (!body->level || !log_level_parse(body->level, &level))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid value for 'level': it must be one of DEBUG, INFO, WARNING, "
                         "ERROR.");
    wanted = service_levels_of(prefix_of(body), level);
    count = find_services(request, &services, err);
    if (count < 0)
        return -1;
    for (int i = 0; i < count; i++) {
        if (is_here(request, &services[i]))
            here = true;
        else if (service_levels_request(&request->work, &services[i], &wanted, err) < 0)
            return -1;
    }
    if (here)
        service_levels_apply(&wanted);
    return 0;
}

/* ---- get ---- */

struct levels_row {
    const char *host, *binary;
    const struct service_levels *levels;
};

static void put_loggers(struct request *request, const void *row) {
    const struct levels_row *said = row;
    const char *prefix = prefix_of(request->body);
    struct json_out *out = &request->out;

    out_begin_object(out);
    for (unsigned i = 0; i < log_loggers(); i++) {
        if (said->levels->of[i] == SERVICE_LEVEL_UNNAMED ||
            strncmp(log_logger(i), prefix, strlen(prefix)) != 0)
            continue;
        out_key_text(out, log_logger(i));
        out_text(out, log_level_name((enum log_level)said->levels->of[i]));
    }
    out_end_object(out);
}

static const struct shape_key keys[] = {
    SHAPE(struct levels_row, host, "host", TEXT),
    SHAPE(struct levels_row, binary, "binary", TEXT),
    SHAPE_BY(put_loggers, "levels", PAIRS),
    SHAPES_END,
};
const struct shape service_log_shape = { NULL, keys };

static void put_levels(struct request *request, const char *binary, const char *host,
                       const struct service_levels *levels) {
    shape_put(request, &service_log_shape, &(struct levels_row){ host, binary, levels }, 0);
}

/* A service that is down has no levels. */
static int put_service(struct request *request, const struct service *service, struct error *err) {
    struct service_levels levels = service_levels_now();

    if (!service->up)
        return 0;
    if (!is_here(request, service)) {
        int said = service_levels_reported(&request->work, service, &levels, err);

        if (said <= 0)
            return said;
    }
    put_levels(request, service->binary, service->host, &levels);
    return 0;
}

int service_log_get(struct request *request, struct error *err) {
    struct service_levels own = service_levels_now();
    struct service *services;
    int count = find_services(request, &services, err);

    if (count < 0)
        return -1;
    answer_open(request);
    if (asks_for_us(request))
        put_levels(request, SERVICE_API, own_host(request), &own);
    for (int i = 0; i < count; i++)
        if (put_service(request, &services[i], err) < 0)
            return -1;
    answer_close(request);
    return 0;
}
