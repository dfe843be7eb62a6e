#include "client/compute_events.h"

#include "client/version_range.h"
#include "common/cleanup.h"
#include "common/heap.h"
#include "identity/own_user.h"
#include "json/out.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SECTION       "compute"
#define AGENT_VERSION "2.93" /* the agent's newest: its contract includes the callback */
#define PLAIN_VERSION "2.51" /* the first with volume-extended */
#define NAMED_VERSION "2.93" /* the first with volume-reimaged */

/* Of a hanging host: calls to it must not occupy the workers of others. */
#define AGAIN_TIMEOUT_MS 5000

static const char *const services[] = { "agent", "nova", NULL };
static const char *const snapshots[] = { "service", "nova", NULL };

#define FILLS(member_) OPTION_FILLS(struct client, member_)

/* clang-format off */
const struct option compute_client_options[] = {
    { .section = SECTION, .key = "service", .type = OPTION_WORD, .fallback = "agent", .words = services,
      .help = "Component that grows the disks of running guests: the agent registered for the "
              "guest's host, or a compute service (nova) that reports back when it is done." },
    { .section = SECTION, .key = "snapshots", .type = OPTION_WORD, .fallback = "service", .words = snapshots,
      .help = "Component that takes and merges snapshots below running guests. service: that of option service. "
              "nova: Nova; required for Nova's own servers where service is agent, as Nova records the file of each "
              "disk." },
    { .section = SECTION, .key = "endpoint", .type = OPTION_TEXT, FILLS(url),
      .help = "URL of the compute service, with /v2.1, for service = nova, snapshots = nova and the event "
              "volume-reimaged. Unset: the catalog's endpoint for the user of section nova." },
    { .section = SECTION, .key = "extend_completion_microversion", .type = OPTION_TEXT,
      .help = "Compute microversion with which the compute side reports completion, such as 2.104; no release has "
              "fixed its number. Unset: with service = nova the growth of a guest's locked disk is rolled back." },
    { .section = SECTION, .key = "token", .type = OPTION_TEXT, FILLS(token), .secret = true,
      .help = "Sent to the compute side as X-Auth-Token, when section nova has no user. Unset: "
              "none." },
    { .section = SECTION, .key = "event_timeout", .type = OPTION_SECONDS, FILLS(timeout_ms), .unit = 1000, .fallback = "30", .min = 1, .max = 3600,
      .help = "Seconds to wait for the compute side's answer to an event." },
    OPTIONS_END,
};
/* clang-format on */

struct event_sender {
    struct compute_sender sender; /* first: a pointer to it is a pointer to this */
    struct client client;
    const char *microversion; /* with the callback; NULL: unset */
    int64_t wanted;           /* the same as a number */
    struct version_range range;
};

/* Does the service guarantee the callback?  Only then the extend may be deferred to it (R36,
 * D11). */
static int check_promise(struct event_sender *events, const struct client *client,
                         struct arena *arena, struct error *err) {
    int outcome;

    if (!events->microversion)
        return error_set(err, ERROR_UNAVAILABLE,
                         "[compute] extend_completion_microversion is not set: the compute service "
                         "does not report back");
    outcome = version_range_has(&events->range, client, arena, events->wanted, err);
    if (outcome > 0)
        return error_set(err, ERROR_UNAVAILABLE,
                         "the compute service does not offer microversion %s: it does not report "
                         "back",
                         events->microversion);
    return outcome;
}

static const char *name_of(const struct compute_event *event) {
    return event->name ? event->name : "volume-extended";
}

/* The code of this event in the response; 0 when it is missing. */
static int64_t find_code(const json_t *root, const struct compute_event *event) {
    const json_t *list = json_object_get(root, "events");

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *instance = json_text_of(item, "server_uuid");
        const char *tag = json_text_of(item, "tag");

        if (json_text_is(item, "name", name_of(event)) && instance && tag &&
            strcasecmp(instance, event->instance_uuid) == 0 &&
            strcasecmp(tag, event->volume_id) == 0)
            return json_int_at(item, "code");
    }
    return 0;
}

/* Accepted is only a complete 200 with the code 200 for this event (X17). */
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
    return listed || compute_answer_refuses(answer, root) ? EVENT_REFUSED : EVENT_UNKNOWN;
}

static enum event_verdict post_event(const struct client *client, struct arena *arena,
                                     const struct compute_event *event, struct error *err) {
    struct client_call call = {
        .method = "POST",
        .path = "/os-server-external-events",
        .request_id = event->request_id,
        .header = { "X-OpenStack-Nova-API-Version", client->version },
    };
    struct http_answer answer;
    struct json_out out;
    int outcome;

    json_out_begin(&out, arena, NULL);
    out_open_array(&out, "events");
    out_begin_object(&out);
    out_put_text(&out, "name", name_of(event));
    out_put_text(&out, "server_uuid", event->instance_uuid);
    out_put_text(&out, "tag", event->volume_id);
    if (event->failed)
        out_put_text(&out, "status", "failed");
    out_end_object(&out);
    out_end_array(&out);
    call.body = json_out_end(&out);
    outcome = client_send(client, arena, &call, &answer, err);
    if (outcome == 0)
        return judge(arena, event, &answer, err);
    error_context(err, "sending the event for host %s", event->host ? event->host : "-");
    return outcome == HTTP_NOT_SENT ? EVENT_REFUSED : EVENT_UNKNOWN;
}

/* The agent's, the configured one, or the catalog's. */
static int find_endpoint(const struct event_sender *events, bool to_agent, struct arena *arena,
                         const char *host, const char *endpoint, const char **ret,
                         struct error *err) {
    if (!to_agent)
        return client_find(&events->client, arena, ret, err);
    if (!endpoint)
        return error_set(err, ERROR_UNAVAILABLE, "no compute agent is registered for host %s",
                         host ? host : "-");
    *ret = endpoint;
    return 0;
}

/* The compute service's own, also where agents grow the disks. */
static enum event_verdict send_named(const struct event_sender *events, struct arena *arena,
                                     const struct compute_event *event, struct error *err) {
    struct client client = events->client;

    client.version = NAMED_VERSION;
    if (!client.url && !own_user_is_known(client.user)) {
        error_set(err, ERROR_UNAVAILABLE,
                  "[compute] endpoint, or [nova] auth_url, is not set: there is no compute "
                  "service");
        return EVENT_REFUSED;
    }
    return client_find(&events->client, arena, &client.url, err) < 0
               ? EVENT_REFUSED
               : post_event(&client, arena, event, err);
}

static enum event_verdict send_event(struct compute_sender *sender, struct arena *arena,
                                     const struct compute_event *event, struct error *err) {
    struct event_sender *events = (struct event_sender *)sender;
    struct client client = events->client;

    if (event->name)
        return send_named(events, arena, event, err);
    client.version = PLAIN_VERSION;
    if (find_endpoint(events, sender->asks_again, arena, event->host, event->endpoint, &client.url,
                      err) < 0)
        return EVENT_REFUSED;
    if (event->wants_completion) {
        client.version = sender->asks_again ? AGENT_VERSION : events->microversion;
        if (!sender->asks_again && check_promise(events, &client, arena, err) < 0)
            return EVENT_REFUSED;
    }
    return post_event(&client, arena, event, err);
}

static enum event_verdict send_assist(struct compute_sender *sender, struct arena *arena,
                                      const struct compute_assist *assist, struct error *err) {
    struct event_sender *events = (struct event_sender *)sender;
    struct client client = events->client;

    client.version = PLAIN_VERSION;
    if (assist->again && client.timeout_ms > AGAIN_TIMEOUT_MS)
        client.timeout_ms = AGAIN_TIMEOUT_MS;
    if (find_endpoint(events, compute_assists_again(sender), arena, assist->host, assist->endpoint,
                      &client.url, err) < 0)
        return EVENT_REFUSED;
    return compute_snapshot_ask(&client, arena, assist, err);
}

static enum event_verdict send_trim(struct compute_sender *sender, struct arena *arena,
                                    const struct compute_trim *trim, struct error *err) {
    struct event_sender *events = (struct event_sender *)sender;
    struct client client = events->client;

    if (!sender->asks_again) {
        error_set(err, ERROR_BAD_REQUEST,
                  "[compute] service is nova, which cannot have a guest give back room");
        return EVENT_REFUSED;
    }
    client.version = AGENT_VERSION;
    if (trim->again && client.timeout_ms > AGAIN_TIMEOUT_MS)
        client.timeout_ms = AGAIN_TIMEOUT_MS;
    if (find_endpoint(events, true, arena, trim->host, trim->endpoint, &client.url, err) < 0)
        return EVENT_REFUSED;
    return compute_trim_ask(&client, arena, trim, err);
}

static int check_options(struct event_sender *events, struct error *err) {
    bool to_nova = !compute_assists_again(&events->sender);

    if (to_nova && !events->client.url && !own_user_is_known(events->client.user))
        return error_set(err, ERROR_BAD_REQUEST,
                         "[compute] endpoint, or [nova] auth_url, must be set when %s is nova.",
                         events->sender.asks_again ? "snapshots" : "service");
    if (events->microversion && !version_read(events->microversion, &events->wanted))
        return error_set(err, ERROR_BAD_REQUEST,
                         "[compute] extend_completion_microversion: '%s' is no microversion such "
                         "as 2.104.",
                         events->microversion);
    return 0;
}

int compute_client_open(const struct config *config, struct client *ret, struct error *err) {
    static const char *const types[] = { "compute", NULL };

    *ret = (struct client){
        .name = "the compute service",
        .service = "compute",
        .types = types,
    };
    config_fill(config, NULL, compute_client_options, ret);
    return own_user_new(config, "nova", &ret->user, err);
}

static bool goes_to(const struct config *config, const char *key, const char *component) {
    return strcmp(config_text(config, SECTION, key), component) == 0;
}

bool compute_snapshots_are_novas(const struct config *config) {
    return goes_to(config, "service", "nova") || goes_to(config, "snapshots", "nova");
}

int compute_sender_new(const struct config *config, struct compute_sender **ret,
                       struct error *err) {
    struct event_sender options = {
        .sender = { .send = send_event,
                    .assist = send_assist,
                    .trim = send_trim,
                    .asks_again = goes_to(config, "service", "agent"),
                    .assists_once = goes_to(config, "snapshots", "nova") },
        .microversion = config_text(config, SECTION, "extend_completion_microversion"),
    };
    struct event_sender *events;

    if (compute_client_open(config, &options.client, err) < 0)
        return -1;
    if (check_options(&options, err) < 0) {
        own_user_free(options.client.user);
        return -1;
    }
    events = heap_new(sizeof(*events));
    *events = options;
    version_range_init(&events->range);
    *ret = &events->sender;
    return 0;
}

void compute_sender_free(struct compute_sender *sender) {
    struct event_sender *events = (struct event_sender *)sender;

    if (!events)
        return;
    own_user_free(events->client.user);
    version_range_end(&events->range);
    free(events);
}
