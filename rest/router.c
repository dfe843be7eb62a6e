#include "rest/router.h"

#include "common/worker.h"
#include "identity/identity.h"
#include "rest/call.h"
#include "rest/fault.h"
#include "rest/places.h"
#include "rest/route.h"
#include "rest/url.h"

#include <string.h>
#include <strings.h>
#include <time.h>

#define WATCHERS_MOST      500
#define ASKERS             4 /* threads for queries to a service */
#define ASKED              3 /* the compute service, the image service, the key manager */
#define PROJECT_REGEX      "[0-9a-f\\-]+"
#define PROJECT_CHARACTERS "0123456789abcdef-"

/* ---- path ---- */

static bool segment_is_project(const struct api *api, const char *segment) {
    if (route_table_knows(api->routes, segment))
        return false;
    if (!api->own_project_regex)
        return segment[strspn(segment, PROJECT_CHARACTERS)] == '\0';
    return regexec(&api->project_regex, segment, 0, NULL, 0) == 0;
}

static bool text_begins(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

/* Repeated slashes count as one. */
static const char *path_squeeze(struct arena *arena, const char *path) {
    char *squeezed, *end;

    if (!strstr(path, "//"))
        return path;
    squeezed = end = arena_alloc(arena, strlen(path) + 1);
    for (; *path; path++)
        if (!(path[0] == '/' && path[1] == '/'))
            *end++ = *path;
    *end = '\0';
    return squeezed;
}

/* Removes "/v3" and the project from the path; false for a path outside of the API. */
static bool call_split_path(struct call *call) {
    struct request *request = &call->request;
    const char *path = call->whole_path;

    if (!text_begins(path, "/v3/") ||
        !url_split(request->http->arena, path + strlen("/v3"), &call->path))
        return false;
    if (call->path.count > 1 && segment_is_project(request->api, call->path.segments[0])) {
        request->path_project = call->path.segments[0];
        call->path.count--;
        memmove(call->path.segments, call->path.segments + 1,
                call->path.count * sizeof(call->path.segments[0]));
    }
    return true;
}

/* ---- caller ---- */

#define REQUEST_ID_PREFIX "req-"

/* The client's own request id, when it is well-formed. */
static const char *request_id_given(const struct http_exchange *http) {
    const char *given = http_header(http, "X-OpenStack-Request-ID");

    if (!given || strlen(given) != strlen(REQUEST_ID_PREFIX) + UUID_SIZE - 1 ||
        !text_begins(given, REQUEST_ID_PREFIX))
        return NULL;
    return uuid_parse(given + strlen(REQUEST_ID_PREFIX), NULL) ? given : NULL;
}

static struct call *call_new(struct api *api, struct http_exchange *http) {
    struct call *call = arena_alloc(http->arena, sizeof(*call));
    struct request *request = &call->request;
    char *id = arena_alloc(http->arena, strlen(REQUEST_ID_PREFIX) + UUID_SIZE);

    strcpy(id, REQUEST_ID_PREFIX);
    clock_uuid(api->settings.settings->clock, id + strlen(REQUEST_ID_PREFIX));
    *request = (struct request){ .api = api, .policy = api->settings.policy, .http = http };
    request->context.request_id = request->context.log.request_id = id;
    request->context.global_request_id = request_id_given(http);
    call->whole_path = path_squeeze(http->arena, http->path);
    request->base_url = api->public_endpoint ? api->public_endpoint : identity_base_url(http);
    http_add_header(http, "x-openstack-request-id", id);
    call->headers = http->reply_header_count;
    return call;
}

/* ---- media type ---- */

static bool media_type_is(const char *header, const char *type) {
    size_t length = strlen(type);

    return strncasecmp(header, type, length) == 0 && strchr("; \t", header[length]);
}

/* ---- the order of checks ---- */

static int not_found(struct error *err) {
    return error_set(err, ERROR_NOT_FOUND, "The resource could not be found.");
}

/* All checks defined by the tables, in the order of the API's rules; these cost nothing. */
static int call_check_head(struct call *call, struct error *err) {
    const struct request *request = &call->request;
    const char *project = request->path_project;

    const char *type = http_header(request->http, "Content-Type");

    if (call_negotiate(call, err) < 0)
        return -1;
    if (request->http->body_size > 0 && type && !media_type_is(type, "application/json") &&
        !media_type_is(type, "application/vnd.openstack.volume+json"))
        return error_set(err, ERROR_BAD_MEDIA_TYPE, "Unsupported Content-Type: %s", type);
    if (request->route && request->route->flags & ROUTE_ABSENT)
        return not_found(err);
    if (project &&
        (!request->context.project_id || strcmp(project, request->context.project_id) != 0))
        return error_set(err, ERROR_BAD_REQUEST, "Malformed request url");
    return 0;
}

static int call_check_body(struct call *call, struct error *err) {
    struct request *request = &call->request;
    int count;

    if (body_parse(request, err) < 0)
        return -1;
    if (!request->route && body_find_action(request, call->node, err) < 0)
        return -1;
    if (request->minor < request->route->since || request->route->flags & ROUTE_ABSENT)
        return not_found(err);
    count = url_queries(request->http->arena, request->http->query, &request->queries, err);
    request->query_count = count < 0 ? 0 : (unsigned)count;
    if (count < 0)
        return -1;
    return body_decode(request, err);
}

static void call_handle(struct call *call) {
    struct error err = { .kind = ERROR_NONE };

    if (call_check_body(call, &err) < 0)
        call_fail(call, &err);
    else
        call_run(call);
}

/* Upstream routes a form for each object, …/{id}/edit, without a response: 404 as for a missing
 * object. */
static bool route_find_form(struct call *call, struct route_match *ret) {
    static const struct route form = { .flags = ROUTE_ABSENT };
    const struct request *request = &call->request;
    struct url_path path = call->path;

    if (strcmp(request->http->method, "GET") != 0 || path.count < 2 ||
        strcmp(path.segments[path.count - 1], "edit") != 0)
        return false;
    path.count--;
    if (!route_table_find(request->api->routes, request->http->arena, request->http->method, &path,
                          ret) ||
        !ret->route)
        return false;
    ret->route = &form;
    return true;
}

static void call_route(struct call *call) {
    struct request *request = &call->request;
    struct http_exchange *http = request->http;
    struct route_match match;
    struct error err = { .kind = ERROR_NONE };

    if (!route_table_find(request->api->routes, http->arena, http->method, &call->path, &match) &&
        !route_find_form(call, &match)) {
        fault_render_unrouted(http);
        call_reply(call);
        return;
    }
    request->route = match.route;
    request->id = match.id;
    request->key = match.key;
    call->node = match.node;
    call_reach(call);
    if (call_check_head(call, &err) < 0)
        call_fail(call, &err);
    else if (request->api->readers && body_is_large(request))
        call_queue(call, call_handle);
    else
        call_handle(call);
}

/* ---- from the caller to the route ---- */

/* The caller is authenticated. */
static void call_enter(struct call *call) {
    struct context *context = &call->request.context;

    context->is_admin =
        policy_allows(call->request.api->settings.policy, "context_is_admin", context, NULL);
    context->log.project_id = context->project_id;
    if (places_answer(call))
        return;
    if (call->split) {
        call_route(call);
    } else {
        fault_render_unrouted(call->request.http);
        call_reply(call);
    }
}

static void call_identified(void *arg, enum identity_outcome outcome, const struct error *err) {
    struct call *call = arg;

    if (outcome == IDENTITY_KNOWN) {
        call_enter(call);
    } else if (outcome == IDENTITY_ANSWERED) {
        call_reply(call);
    } else {
        call->headers = call->request.http->reply_header_count; /* headers of the identity engine
                                                                 * are kept */
        call_fail(call, err);
    }
}

void api_handle(void *arg, struct http_exchange *http) {
    struct call *call = call_new(arg, http);
    const struct api_settings *settings = &call->request.api->settings;
    const struct identity *identity = settings->identity;
    const char *why = settings->origin ? http_origin_fault(http, settings->origin) : NULL;
    struct error err = { .kind = ERROR_NONE };
    enum identity_outcome outcome;

    if (http->malformed) {
        error_set(&err, ERROR_BAD_REQUEST, "%s", http->malformed);
        call_fail(call, &err);
        return;
    }
    if (places_answer_open(call))
        return;
    if (http->over_limit) {
        error_set(&err, ERROR_TRY_LATER, "There are too many clients; try again.");
        call_fail(call, &err);
        return;
    }
    if (why) {
        error_set(&err, ERROR_FORBIDDEN, "%s", why);
        call_fail(call, &err);
        return;
    }
    if (http->too_large) {
        fault_render_too_large(http);
        call_reply(call);
        return;
    }
    call->split = call_split_path(call);
    call->later = (struct identity_later){ .tell = call_identified, .arg = call };
    outcome = identity->authenticate(identity, http, call->request.path_project, &call->later,
                                     &call->request.context, &err);
    if (outcome != IDENTITY_LATER)
        call_identified(call, outcome, &err);
}

void api_documents_changed(struct api *api) {
    if (api->watchers)
        api->settings.watches->look(api->watchers);
}

void api_operations_ended(struct api *api) {
    waiting_look(api->waiting);
}

/* ---- start and end ---- */

/* The whole segment must match.  In a POSIX bracket a backslash is an ordinary character: the one
 * that other dialects need before a hyphen is removed. */
static int api_compile_project(struct api *api, const char *regex, struct error *err) {
    char *text = arena_format(api->arena, "^(%s)$", regex);
    char *end = text;
    char reason[128];
    int failed;

    for (const char *at = text; *at; at++)
        if (!(at[0] == '\\' && at[1] == '-'))
            *end++ = *at;
    *end = '\0';
    failed = regcomp(&api->project_regex, text, REG_EXTENDED | REG_NOSUB);
    if (failed) {
        regerror(failed, &api->project_regex, reason, sizeof(reason));
        return error_set(err, ERROR_BAD_REQUEST, "project_id_regex %s: %s", regex, reason);
    }
    api->own_project_regex = true;
    return 0;
}

static int api_prepare(struct api *api, struct error *err) {
    const char *regex = api->settings.project_id_regex;
    unsigned readers = api->settings.readers;

    if (api->settings.public_endpoint) {
        size_t length = strlen(api->settings.public_endpoint);

        while (length > 0 && api->settings.public_endpoint[length - 1] == '/')
            length--;
        api->public_endpoint = arena_text_n(api->arena, api->settings.public_endpoint, length);
    }
    if (regex && strcmp(regex, PROJECT_REGEX) != 0 && api_compile_project(api, regex, err) < 0)
        return -1;
    if (route_table_new(api_routes, &api->routes, err) < 0)
        return -1;
    api->waiting = waiting_new(call_check, !api->settings.inline_transactions);
    if (api->settings.confirm && !api->settings.inline_transactions)
        api->askers = worker_pool_new_shared("queries", ASKERS * ASKED, ASKERS);
    if (readers > 0 && !api->settings.inline_transactions)
        api->readers = worker_pool_new_shared("reads", readers, readers > 1 ? readers - 1 : 1);
    if (api->settings.slots > 0)
        api->slots = request_slots_new(api->settings.slots);
    if (api->settings.watches)
        api->watchers = api->settings.watches->open(
            api->settings.db, api->settings.settings,
            api->settings.watchers > 0 ? api->settings.watchers : WATCHERS_MOST,
            !api->settings.inline_transactions);
    return api->waiting && (api->watchers || !api->settings.watches)
               ? 0
               : error_set(err, ERROR_UNAVAILABLE, "Cannot start a thread of the API.");
}

int api_new(const struct api_settings *settings, struct api **ret, struct error *err) {
    struct arena *arena = arena_new();
    struct api *api = arena_alloc(arena, sizeof(*api));

    api->arena = arena;
    api->settings = *settings;
    if (api_prepare(api, err) < 0) {
        api_free(api);
        return -1;
    }
    *ret = api;
    return 0;
}

static void await_writes(struct api *api) {
    const struct timespec moment = { .tv_nsec = 1000000 };

    while (atomic_load(&api->in_flight) > 0)
        nanosleep(&moment, NULL);
}

void api_free(struct api *api) {
    if (!api)
        return;
    atomic_store(&api->stops, true);
    await_writes(api);
    if (api->askers)
        worker_pool_stop(api->askers);
    if (api->readers)
        worker_pool_stop(api->readers);
    if (api->watchers)
        api->settings.watches->close(api->watchers);
    if (api->waiting)
        waiting_free(api->waiting);
    await_writes(api); /* the last parked request may have started one */
    request_slots_free(api->slots);
    if (api->routes)
        route_table_free(api->routes);
    if (api->own_project_regex)
        regfree(&api->project_regex);
    arena_free(api->arena);
}
