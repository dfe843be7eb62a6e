#include "rest/places.h"

#include "rest/accept.h"
#include "rest/fault.h"
#include "rest/openapi.h"
#include "rest/versions.h"

#include <string.h>

static void answer_versions(struct call *call, int status) {
    struct error err;

    call_reach(call);
    if (call_negotiate(call, &err) < 0) {
        call_fail(call, &err);
        return;
    }
    version_render(call->request.http, call->request.base_url, status);
    call_reply(call);
}

static void answer_root(struct call *call) {
    answer_versions(call, 300);
}

static void answer_v3(struct call *call) {
    answer_versions(call, 200);
}

static void answer_redirect(struct call *call) {
    struct http_exchange *http = call->request.http;

    http->status = 302;
    http->reply_body = "";
    http_add_header(http, "Content-Type", "text/plain; charset=UTF-8");
    http_add_header(http, "Location", arena_format(http->arena, "%s/v3/", call->request.base_url));
    call_reply(call);
}

/* HEAD gets 204, as upstream. */
static void answer_health(struct call *call) {
    static const char *const offers[] = { "text/plain", "text/html", MEDIA_TYPE, NULL };
    static const char page[] = "<html><body>OK</body></html>\n",
                      json[] = "{\"detailed\": false, \"reasons\": [\"OK\"]}\n";
    struct http_exchange *http = call->request.http;
    const char *type = accept_best(http, offers);
    bool plain = !type || type == offers[0];

    http->status = strcmp(http->method, "HEAD") == 0 ? 204 : 200;
    http->reply_body = plain ? "OK" : type == offers[1] ? page : json;
    http->reply_size = http->status == 204 ? 0 : strlen(http->reply_body);
    http_add_header(http, "Content-Type",
                    plain               ? "text/plain; charset=UTF-8"
                    : type == offers[1] ? "text/html; charset=UTF-8"
                                        : MEDIA_TYPE);
    call_reply(call);
}

/* Public and cached: a slow reader uses only the memory of waiting responses (call_refuse()). */
static void answer_openapi(struct call *call) {
    struct http_exchange *http = call->request.http;

    http->status = 200;
    http->reply_body = openapi_text(&http->reply_size);
    http->refuse = call_refuse;
    http->refuse_arg = call;
    http_add_header(http, "Content-Type", MEDIA_TYPE);
    call_reply(call);
}

struct place {
    const char *path;
    void (*answer)(struct call *call);
    bool large; /* not served over the connection limit */
};

static const struct place open_places[] = { { "/", answer_root, false },
                                            { "/healthcheck", answer_health, false },
                                            { "/openapi.json", answer_openapi, true },
                                            { NULL, NULL, false } };
static const struct place places[] = { { "/v3", answer_redirect, false },
                                       { "/v3/", answer_v3, false },
                                       { NULL, NULL, false } };

static bool answer_at(const struct place *place, struct call *call) {
    const struct http_exchange *http = call->request.http;

    if (strcmp(http->method, "GET") != 0 && strcmp(http->method, "HEAD") != 0)
        return false;
    for (; place->path; place++)
        if (strcmp(place->path, call->whole_path) == 0 && !(place->large && http->over_limit)) {
            place->answer(call);
            return true;
        }
    return false;
}

bool places_answer_open(struct call *call) {
    return answer_at(open_places, call);
}

bool places_answer(struct call *call) {
    return answer_at(places, call);
}
