#include "client/compute_events.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "http/client.h"
#include "identity/own_user.h"
#include "json/json.h"
#include "json/out.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SECTION       "compute"
#define RANGE_LIFE_US (INT64_C(60) * 1000 * 1000)
#define AGENT_VERSION "2.93" /* our agent's newest: its contract has the callback */
#define PLAIN_VERSION "2.51" /* the first that knows volume-extended */

static const char *const services[] = { "agent", "nova", NULL };

const struct option compute_client_options[] = {
    { .section = SECTION,
      .key = "service",
      .type = OPTION_WORD,
      .fallback = "agent",
      .words = services,
      .help =
          "Who grows the disks of running guests: the agent registered for the guest's host, or "
          "a compute service (nova) that reports back when it is done." },
    { .section = SECTION,
      .key = "endpoint",
      .type = OPTION_TEXT,
      .help =
          "URL of the compute service, with /v2.1. Unset, with service = nova: what the catalog "
          "says to the user of section nova." },
    { .section = SECTION,
      .key = "extend_completion_microversion",
      .type = OPTION_TEXT,
      .help = "Compute microversion that promises the report back, such as 2.104; no release has "
              "fixed its number. Unset: with service = nova the growth of a guest's locked disk is "
              "rolled back." },
    { .section = SECTION,
      .key = "token",
      .type = OPTION_TEXT,
      .secret = true,
      .help = "Sent to the compute side as X-Auth-Token, when section nova has no user. Unset: "
              "none." },
    { .section = SECTION,
      .key = "event_timeout",
      .type = OPTION_SECONDS,
      .fallback = "30",
      .min = 1,
      .max = 3600,
      .help = "Seconds to wait for the compute side's answer to an event." },
    OPTIONS_END,
};

/* A microversion as one number, so that 2.9 < 2.51. */
#define VERSION(major, minor) (((major) << 32) | (minor))

struct nova_sender {
    struct compute_sender sender; /* first: a pointer to it is a pointer to this */
    bool to_agent;
    const char *endpoint;
    const char *microversion; /* that promises the report; NULL: unset */
    int64_t wanted;           /* the same as a number */
    const char *token;
    struct own_user *user;
    int64_t timeout_ms;

    pthread_mutex_t lock;   /* guards the three below */
    int64_t range_until_us; /* monotonic; until then the range is taken as read */
    int64_t least, newest;
};

static bool read_part(const char *text, size_t length, int64_t *ret) {
    char digits[10];

    if (length == 0 || length >= sizeof(digits))
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    return json_digits(digits, ret);
}

static bool read_version(const char *text, int64_t *ret) {
    const char *dot = text ? strchr(text, '.') : NULL;
    int64_t major, minor;

    if (!dot || !read_part(text, (size_t)(dot - text), &major) ||
        !read_part(dot + 1, strlen(dot + 1), &minor))
        return false;
    *ret = VERSION(major, minor);
    return true;
}

/* "…/v2.1/<project>" is cut back to "…/v2.1/", where the version document stands. */
static char *document_url(struct arena *arena, const char *endpoint) {
    const char *version = strstr(endpoint, "/v2.1");

    for (; version; version = strstr(version + 1, "/v2.1"))
        if (version[5] == '/' || version[5] == '\0')
            return arena_format(arena, "%.*s/", (int)(version - endpoint) + 5, endpoint);
    return arena_format(arena, "%s/", endpoint);
}

static int parse_range(struct arena *arena, const struct http_answer *answer, int64_t *ret_least,
                       int64_t *ret_newest, struct error *err) {
    const json_t *root = json_parse(arena, answer->body, answer->body_size, NULL);
    const json_t *entry = json_object_get(root, "version");

    if (answer->status != 200 ||
        !read_version(json_string_value(json_object_get(entry, "min_version")), ret_least) ||
        !read_version(json_string_value(json_object_get(entry, "version")), ret_newest))
        return error_set(err, ERROR_UNAVAILABLE,
                         "the compute service's version document cannot be read (status %d)",
                         answer->status);
    return 0;
}

static int fetch_range(struct nova_sender *nova, struct arena *arena, const char *endpoint,
                       int64_t *ret_least, int64_t *ret_newest, struct error *err) {
    struct http_call call = {
        .method = "GET",
        .url = document_url(arena, endpoint),
        .timeout_ms = nova->timeout_ms,
    };
    struct http_answer answer;

    if (own_user_call(nova->user, arena, &call, &answer, err) != 0)
        return error_context(err, "asking the compute service for its versions");
    return parse_range(arena, &answer, ret_least, ret_newest, err);
}

static bool recall_range(struct nova_sender *nova, int64_t *ret_least, int64_t *ret_newest) {
    bool fresh;

    pthread_mutex_lock(&nova->lock);
    fresh = clock_monotonic_us() < nova->range_until_us;
    *ret_least = nova->least;
    *ret_newest = nova->newest;
    pthread_mutex_unlock(&nova->lock);
    return fresh;
}

static void keep_range(struct nova_sender *nova, int64_t least, int64_t newest) {
    pthread_mutex_lock(&nova->lock);
    nova->range_until_us = clock_monotonic_us() + RANGE_LIFE_US;
    nova->least = least;
    nova->newest = newest;
    pthread_mutex_unlock(&nova->lock);
}

/* Does the service promise to report back? Only then the extend may be left to it (R36, D11). */
static int check_promise(struct nova_sender *nova, struct arena *arena, const char *endpoint,
                         struct error *err) {
    int64_t least, newest;

    if (!nova->microversion)
        return error_set(err, ERROR_UNAVAILABLE,
                         "[compute] extend_completion_microversion is not set: the compute service "
                         "does not report back");
    if (!recall_range(nova, &least, &newest)) {
        if (fetch_range(nova, arena, endpoint, &least, &newest, err) < 0)
            return -1;
        keep_range(nova, least, newest);
    }
    if (nova->wanted < least || nova->wanted > newest)
        return error_set(err, ERROR_UNAVAILABLE,
                         "the compute service does not offer microversion %s: it does not report "
                         "back",
                         nova->microversion);
    return 0;
}

static bool is_our_event(const json_t *item, const struct compute_event *event) {
    const char *name = json_string_value(json_object_get(item, "name"));
    const char *instance = json_string_value(json_object_get(item, "server_uuid"));
    const char *tag = json_string_value(json_object_get(item, "tag"));

    return name && instance && tag && strcmp(name, "volume-extended") == 0 &&
           strcasecmp(instance, event->instance_uuid) == 0 &&
           strcasecmp(tag, event->volume_id) == 0;
}

/* The code of our event in the answer; 0 when it is not there or has none. */
static int64_t find_code(const json_t *root, const struct compute_event *event) {
    const json_t *list = json_object_get(root, "events");

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);

        if (is_our_event(item, event))
            return json_integer_value(json_object_get(item, "code"));
    }
    return 0;
}

/* The compute service's own "not now", before it has begun with anything; a proxy's 503 has no such
 * form. */
static bool is_own_unavailable(const struct http_answer *answer, const json_t *root) {
    return answer->status == 503 &&
           json_integer_value(
               json_object_get(json_object_get(root, "serviceUnavailable"), "code")) == 503;
}

/*
 * Certain is only what says that the compute service itself has not acted and will not: its list of
 * events, or a status that means that the request was turned away at the door.  Anything else may
 * come from somebody on the way who has passed the event on, and is a matter for the deadline.
 */
static bool is_turned_away(const struct http_answer *answer, const json_t *root) {
    static const int at_the_door[] = { 301, 302, 307, 308, 400, 401, 403, 404, 405, 406,
                                       409, 410, 411, 413, 414, 415, 422, 426, 429, 431 };

    for (unsigned i = 0; i < LENGTH(at_the_door); i++)
        if (answer->status == at_the_door[i])
            return true;
    return is_own_unavailable(answer, root);
}

/* Accepted is only a whole 200 that says 200 of our own event (X17). */
static enum event_verdict judge(struct arena *arena, const struct compute_event *event,
                                const struct http_answer *answer, struct error *err) {
    const json_t *root = json_parse(arena, answer->body, answer->body_size, NULL);
    bool listed = (answer->status == 200 || answer->status == 207) &&
                  json_is_array(json_object_get(root, "events"));
    int64_t code = listed ? find_code(root, event) : 0;

    if (answer->status == 200 && code == 200)
        return EVENT_ACCEPTED;
    if (listed)
        error_set(err, ERROR_BACKEND, "the compute side answered %d with code %jd for the event",
                  answer->status, (intmax_t)code);
    else
        error_set(err, ERROR_BACKEND, "the compute side answered the event with %d: %.200s",
                  answer->status, answer->body);
    return listed || is_turned_away(answer, root) ? EVENT_REFUSED : EVENT_UNKNOWN;
}

static const char *write_event(struct arena *arena, const struct compute_event *event) {
    struct json_out out;

    json_out_init(&out, arena, 256);
    out_begin_object(&out);
    out_key(&out, "events");
    out_begin_array(&out);
    out_begin_object(&out);
    out_put_text(&out, "name", "volume-extended");
    out_put_text(&out, "server_uuid", event->instance_uuid);
    out_put_text(&out, "tag", event->volume_id);
    out_end_object(&out);
    out_end_array(&out);
    out_end_object(&out);
    return json_out_text(&out);
}

static char *event_url(struct arena *arena, const char *endpoint) {
    size_t length = strlen(endpoint);

    while (length > 0 && endpoint[length - 1] == '/')
        length--;
    return arena_format(arena, "%.*s/os-server-external-events", (int)length, endpoint);
}

static enum event_verdict post_event(struct nova_sender *nova, struct arena *arena,
                                     const struct compute_event *event, const char *endpoint,
                                     const char *microversion, struct error *err) {
    struct http_header headers[5] = {
        { "OpenStack-API-Version", arena_format(arena, "compute %s", microversion) },
        { "X-OpenStack-Nova-API-Version", microversion },
    };
    struct http_call call = {
        .method = "POST",
        .url = event_url(arena, endpoint),
        .headers = headers,
        .body = write_event(arena, event),
        .timeout_ms = nova->timeout_ms,
    };
    unsigned count = 2;
    struct http_answer answer;
    int outcome;

    if (event->request_id)
        headers[count++] = (struct http_header){ "X-OpenStack-Request-ID", event->request_id };
    if (nova->token && !own_user_is_known(nova->user))
        headers[count++] = (struct http_header){ "X-Auth-Token", nova->token };
    outcome = own_user_call(nova->user, arena, &call, &answer, err);
    if (outcome == 0)
        return judge(arena, event, &answer, err);
    error_context(err, "sending the event for host %s", event->host ? event->host : "-");
    return outcome == HTTP_NOT_SENT ? EVENT_REFUSED : EVENT_UNKNOWN;
}

/* The agent's own, the configured one, or the catalog's. */
static int find_endpoint(struct nova_sender *nova, struct arena *arena,
                         const struct compute_event *event, const char **ret, struct error *err) {
    static const char *const types[] = { "compute", NULL };

    *ret = nova->to_agent ? event->endpoint : nova->endpoint;
    if (*ret)
        return 0;
    if (nova->to_agent)
        return error_set(err, ERROR_UNAVAILABLE, "no compute agent is registered for host %s",
                         event->host ? event->host : "-");
    return own_user_endpoint(nova->user, arena, types, nova->timeout_ms, ret, err);
}

static enum event_verdict nova_send(struct compute_sender *sender, struct arena *arena,
                                    const struct compute_event *event, struct error *err) {
    struct nova_sender *nova = (struct nova_sender *)sender;
    const char *promising = nova->to_agent ? AGENT_VERSION : nova->microversion;
    const char *endpoint;

    if (find_endpoint(nova, arena, event, &endpoint, err) < 0)
        return EVENT_REFUSED;
    if (!event->wants_completion)
        return post_event(nova, arena, event, endpoint, PLAIN_VERSION, err);
    if (!nova->to_agent && check_promise(nova, arena, endpoint, err) < 0)
        return EVENT_REFUSED;
    return post_event(nova, arena, event, endpoint, promising, err);
}

static int check_options(struct nova_sender *nova, struct error *err) {
    if (!nova->to_agent && !nova->endpoint && !own_user_is_known(nova->user))
        return error_set(err, ERROR_BAD_REQUEST,
                         "[compute] endpoint, or [nova] auth_url, must be set when service is "
                         "nova.");
    if (nova->microversion && !read_version(nova->microversion, &nova->wanted))
        return error_set(err, ERROR_BAD_REQUEST,
                         "[compute] extend_completion_microversion: '%s' is no microversion such "
                         "as 2.104.",
                         nova->microversion);
    return 0;
}

int compute_sender_new(const struct config *config, struct compute_sender **ret, struct error *err) {
    struct nova_sender options = {
        .sender = { .send = nova_send },
        .to_agent = strcmp(config_text(config, SECTION, "service"), "agent") == 0,
        .endpoint = config_text(config, SECTION, "endpoint"),
        .microversion = config_text(config, SECTION, "extend_completion_microversion"),
        .token = config_text(config, SECTION, "token"),
        .timeout_ms = config_int(config, SECTION, "event_timeout") * 1000,
    };
    struct nova_sender *nova;

    if (own_user_new(config, "nova", &options.user, err) < 0)
        return -1;
    if (check_options(&options, err) < 0) {
        own_user_free(options.user);
        return -1;
    }
    nova = malloc(sizeof(*nova));
    assert(nova);
    *nova = options;
    pthread_mutex_init(&nova->lock, NULL);
    *ret = &nova->sender;
    return 0;
}

void compute_sender_free(struct compute_sender *sender) {
    struct nova_sender *nova = (struct nova_sender *)sender;

    if (!nova)
        return;
    own_user_free(nova->user);
    pthread_mutex_destroy(&nova->lock);
    free(nova);
}
