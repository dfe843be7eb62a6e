#include "client/images.h"

#include "client/answer.h"
#include "client/client.h"
#include "common/assert.h"
#include "common/clock.h"
#include "common/heap.h"
#include "identity/own_user.h"
#include "json/json.h"

#include <stdlib.h>
#include <string.h>

#define SECTION      "DEFAULT"
#define SERVERS_MOST 8

static const char *const types[] = { "image", NULL };

struct images {
    struct client client;
    const char *servers[SERVERS_MOST]; /* URLs; none: the catalog's endpoint */
    unsigned count;
};

#define FILLS(member_) OPTION_FILLS(struct client, member_)

/* clang-format off */
const struct option images_options[] = {
    { .section = SECTION, .key = "glance_api_servers", .type = OPTION_LIST,
      .help = "URLs of the image service's API, of which one is used and the others when it does not respond. "
              "Unset: the endpoint of type image in the catalog, for the user of section glance; "
              "without that user there is no image service." },
    { .section = SECTION, .key = "glance_num_retries", .type = OPTION_INT, .fallback = "3", .min = 0, .max = 100,
      .help = "How often a request to the image service is repeated that it did not respond to." },
    { .section = SECTION, .key = "glance_request_timeout", .type = OPTION_SECONDS, FILLS(timeout_ms), .unit = 1000, .fallback = "30", .min = 1, .max = 3600,
      .help = "Seconds to wait for the image service's response to a request, and for each part of "
              "an image." },
    OPTIONS_END,
};
/* clang-format on */

/* ---- configuration ---- */

static int read_servers(const struct config *config, struct images *images, struct error *err) {
    const char *server;

    for (size_t i = 0; (server = config_item(config, SECTION, "glance_api_servers", i)); i++) {
        if (i == SERVERS_MOST)
            return error_set(err, ERROR_BAD_REQUEST,
                             "glance_api_servers: there are more than %d servers", SERVERS_MOST);
        if (strncmp(server, "http", 4) != 0)
            return error_set(err, ERROR_BAD_REQUEST, "glance_api_servers: %s is not a URL", server);
        images->servers[images->count++] = server;
    }
    return 0;
}

int images_new(const struct config *config, struct images **ret, struct error *err) {
    struct images *images = heap_new(sizeof(*images));

    *ret = NULL;
    config_fill(config, NULL, images_options, &images->client);
    images->client.name = "the image service";
    images->client.types = types;
    images->client.repeats = (unsigned)config_int(config, SECTION, "glance_num_retries");
    if (read_servers(config, images, err) < 0 ||
        own_user_new(config, "glance", &images->client.user, err) < 0) {
        images_free(images);
        return -1;
    }
    if (images->count == 0 && !own_user_is_known(images->client.user) &&
        !config_text(config, "glance", "endpoint_override")) {
        images_free(images);
        return 0;
    }
    *ret = images;
    return 0;
}

void images_free(struct images *images) {
    if (images)
        own_user_free(images->client.user);
    free(images);
}

/* ---- one request ---- */

unsigned images_turn(void) {
    return (unsigned)(clock_monotonic_us() / 1000000);
}

/* At least one: without configured ones it is the catalog's. */
static unsigned count_servers(const struct images *images) {
    return images->count > 0 ? images->count : 1;
}

/* The root of the API below which v2 is; `turn` selects among several servers. */
static int find_root(const struct images *images, struct arena *arena, unsigned turn,
                     const char **ret, struct error *err) {
    const char *url;
    size_t size;

    if (images->count > 0)
        url = images->servers[turn % images->count];
    else if (client_find(&images->client, arena, &url, err) < 0)
        return -1;
    size = http_length(url);
    if (size > 3 && strncmp(url + size - 3, "/v2", 3) == 0)
        size -= 3;
    *ret = arena_text_n(arena, url, size);
    return 0;
}

struct asking {
    const struct images *images;
    struct arena *arena;
    const struct images_caller *caller;
    int64_t until_us; /* of all requests together */
    unsigned turn;
};

static struct asking asking_of(const struct images *images, struct arena *arena,
                               const struct images_caller *caller) {
    return (struct asking){ images, arena, caller,
                            clock_monotonic_us() + images->client.timeout_ms * 1000,
                            images_turn() };
}

/* The server of this attempt, with a part of the time that is left: those behind it have theirs. */
static int select_server(const struct asking *asking, unsigned attempt, struct client *client,
                         struct error *err) {
    int64_t left_ms = (asking->until_us - clock_monotonic_us()) / 1000;

    client->timeout_ms = left_ms / (count_servers(asking->images) - attempt);
    if (client->timeout_ms <= 0)
        return error_set(err, ERROR_UNAVAILABLE, "%s does not respond in time", client->name);
    return find_root(asking->images, asking->arena, asking->turn + attempt, &client->url, err);
}

/* NULL: see err; ERROR_UNAVAILABLE: no response. */
static const json_t *get(const struct asking *asking, const struct client_call *call,
                         struct error *err) {
    struct client client = asking->images->client;

    for (unsigned attempt = 0; attempt < count_servers(asking->images); attempt++) {
        struct http_answer answer = { 0 };
        const json_t *root;

        if (select_server(asking, attempt, &client, err) < 0)
            return NULL;
        root = client_ask(&client, asking->arena, call, &answer, err);
        /* the image service refuses in HTML */
        if (!root && answer.status >= 300 && answer_kind_of(answer.status) != ERROR_UNAVAILABLE)
            err->kind = ERROR_BAD_REQUEST;
        if (root || err->kind != ERROR_UNAVAILABLE)
            return root;
    }
    return NULL;
}

/* ---- visibility without tokens ---- */

static bool owns(const json_t *image, const char *key, const char *id) {
    return id && json_text_is(image, key, id);
}

static struct client_call call_of(const char *method, const char *id,
                                  const struct images_caller *caller) {
    return (struct client_call){ .method = method,
                                 .path = "/v2/images",
                                 .id = id,
                                 .token = caller->token,
                                 .request_id = caller->request_id };
}

/* The service's own user sees more than the caller may. */
static bool is_visible(const struct asking *asking, const json_t *image) {
    const struct images_caller *caller = asking->caller;
    struct client_call members = call_of("GET", json_text_of(image, "id"), caller);
    struct error err = { 0 };

    if (caller->token || caller->is_admin || json_text_is(image, "visibility", "public") ||
        owns(image, "owner", caller->project_id) || owns(image, "owner_id", caller->project_id) ||
        owns(image, "project_id", caller->project_id) || owns(image, "user_id", caller->user_id))
        return true;
    if (!json_text_is(image, "visibility", "shared") || !members.id)
        return false;
    members.behind = arena_join(asking->arena, "/members/",
                                http_encode(asking->arena, caller->project_id), NULL);
    return json_text_is(get(asking, &members, &err), "status", "accepted");
}

/* ---- images by id or name ---- */

static const json_t *find_by_id(const struct asking *asking, const char *id, struct error *err) {
    const struct client_call call = call_of("GET", id, asking->caller);
    const json_t *image = get(asking, &call, err);
    const char *text = json_text_of(image, "id");
    char found[UUID_SIZE], wanted[UUID_SIZE];

    if (!image || (text && uuid_parse(text, found) && uuid_parse(id, wanted) &&
                   strcmp(found, wanted) == 0 && is_visible(asking, image)))
        return image;
    error_set(err, ERROR_NOT_FOUND, "%s has no such image", asking->images->client.name);
    return NULL;
}

static const json_t *find_by_name(const struct asking *asking, const char *name,
                                  struct error *err) {
    const struct client_call call = {
        .method = "GET",
        .path = arena_join(asking->arena,
                           "/v2/images?limit=100&name=", http_encode(asking->arena, name), NULL),
        .token = asking->caller->token,
        .request_id = asking->caller->request_id,
    };
    const json_t *list = json_object_get(get(asking, &call, err), "images"), *found = NULL;

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *image = json_array_get(list, i);

        if (!json_text_is(image, "name", name) || !is_visible(asking, image))
            continue;
        if (found) {
            error_set(err, ERROR_CONFLICT, "Multiple images named '%s' found.", name);
            return NULL;
        }
        found = image;
    }
    if (!found && list)
        error_set(err, ERROR_NOT_FOUND, "%s has no image of that name",
                  asking->images->client.name);
    return found;
}

const json_t *images_find(struct images *images, struct arena *arena, const char *reference,
                          const struct images_caller *caller, struct error *err) {
    const struct asking asking = asking_of(images, arena, caller);
    const char *slash = strrchr(reference, '/'), *id = slash ? slash + 1 : reference;
    struct error by_id = { 0 }, by_name = { 0 };
    const json_t *image = NULL;

    if (uuid_parse(id, NULL))
        image = find_by_id(&asking, id, &by_id);
    if (!image && by_id.kind != ERROR_UNAVAILABLE) /* it does not know names either */
        image = find_by_name(&asking, reference, &by_name);
    if (image)
        return image;
    if (by_id.kind == ERROR_UNAVAILABLE)
        error_pass(err, &by_id);
    else if (by_name.kind == ERROR_CONFLICT || by_name.kind == ERROR_UNAVAILABLE)
        error_pass(err, &by_name);
    else
        error_set(err, ERROR_BAD_REQUEST,
                  "Invalid image identifier or unable to access requested image.");
    return NULL;
}

/* ---- one image ---- */

/* Any response.  A request that may have arrived is repeated at another server only where it may
 * come twice. */
static int ask(const struct asking *asking, const struct client_call *call, struct http_answer *ret,
               struct error *err) {
    struct client client = asking->images->client;
    unsigned servers = count_servers(asking->images);
    int outcome = HTTP_NOT_SENT;

    for (unsigned attempt = 0; attempt < servers && outcome != 0; attempt++) {
        if (outcome != HTTP_NOT_SENT && !client_is_repeatable(call->method))
            break;
        if (select_server(asking, attempt, &client, err) < 0)
            return -1;
        outcome = client_send(&client, asking->arena, call, ret, err);
    }
    if (outcome == 0)
        return 0;
    err->kind = ERROR_UNAVAILABLE;
    return -1;
}

static int refused(const struct asking *asking, const struct client_call *call, int status,
                   struct error *err) {
    enum error_kind kind = status == 404                                 ? ERROR_NOT_FOUND
                           : answer_kind_of(status) == ERROR_UNAVAILABLE ? ERROR_UNAVAILABLE
                                                                         : ERROR_BACKEND;

    return error_set(err, kind, "%s of image %s: %s answered %d", call->method,
                     call->id ? call->id : "-", asking->images->client.name, status);
}

static const json_t *read_image(const struct asking *asking, const struct http_answer *answer,
                                struct error *err) {
    const json_t *image = json_parse(asking->arena, answer->body, answer->body_size, NULL);
    const char *id = json_text_of(image, "id");

    if (id && uuid_parse(id, NULL))
        return image;
    error_set(err, ERROR_UNAVAILABLE, "%s: the response is not an image",
              asking->images->client.name);
    return NULL;
}

static const json_t *create(struct images *images, struct arena *arena, const char *description,
                            const struct images_caller *caller, struct error *err) {
    const struct asking asking = asking_of(images, arena, caller);
    struct client_call call = call_of("POST", NULL, caller);
    struct http_answer answer;

    call.body = description;
    if (ask(&asking, &call, &answer, err) < 0)
        return NULL;
    if (answer.status == 201)
        return read_image(&asking, &answer, err);
    error_set(err,
              answer_kind_of(answer.status) == ERROR_UNAVAILABLE ? ERROR_UNAVAILABLE
                                                                 : ERROR_BAD_REQUEST,
              "The image service has refused the image (%d).", answer.status);
    return NULL;
}

const json_t *images_get(struct images *images, struct arena *arena, const char *id,
                         const struct images_caller *caller, struct error *err) {
    const struct asking asking = asking_of(images, arena, caller);
    const struct client_call call = call_of("GET", id, caller);
    struct http_answer answer;

    assert(uuid_parse(id, NULL));
    if (ask(&asking, &call, &answer, err) < 0)
        return NULL;
    if (answer.status == 200)
        return read_image(&asking, &answer, err);
    refused(&asking, &call, answer.status, err);
    return NULL;
}

/* Locations have routes of their own since Glance 2.17; before, they are a member of the image. */
int images_add_location(struct images *images, struct arena *arena, const char *id, const char *url,
                        const struct images_caller *caller, struct error *err) {
    const struct asking asking = asking_of(images, arena, caller);
    struct client_call call = call_of("POST", id, caller);
    json_t *location = json_pack("{s:s, s:{}}", "url", url, "metadata");
    struct http_answer answer;

    assert(location && uuid_parse(id, NULL));
    call.behind = "/locations";
    call.body = json_text(arena, json_keep(arena, location));
    if (ask(&asking, &call, &answer, err) < 0)
        return -1;
    if (answer.status == 404 || answer.status == 405 || answer.status == 501) {
        json_t *changes =
            json_pack("[{s:s, s:s, s:O}]", "op", "add", "path", "/locations/-", "value", location);

        assert(changes);
        call = call_of("PATCH", id, caller);
        call.body = json_text(arena, json_keep(arena, changes));
        call.header =
            (struct http_header){ "Content-Type", "application/openstack-images-v2.1-json-patch" };
        if (ask(&asking, &call, &answer, err) < 0)
            return -1;
    }
    return answer.status >= 200 && answer.status <= 299
               ? 0
               : refused(&asking, &call, answer.status, err);
}

int images_delete(struct images *images, struct arena *arena, const char *id,
                  const struct images_caller *caller, struct error *err) {
    const struct asking asking = asking_of(images, arena, caller);
    struct client_call call = call_of("DELETE", id, caller);
    struct http_answer answer;

    assert(uuid_parse(id, NULL));
    if (ask(&asking, &call, &answer, err) < 0)
        return -1;
    if (call.token && (answer.status == 401 || answer.status == 403)) {
        call.token = NULL;
        if (ask(&asking, &call, &answer, err) < 0)
            return -1;
    }
    return answer.status == 204 || answer.status == 404
               ? 0
               : refused(&asking, &call, answer.status, err);
}

const json_t *images_create(struct images *images, struct arena *arena, const char *description,
                            const struct images_caller *caller, struct error *err) {
    json_t *sent = json_parse(arena, description, strlen(description), NULL);
    char id[UUID_SIZE];
    const json_t *image;
    struct error failure;

    clock_uuid(&clock_system, id);
    if (json_object_set_new(sent, "id", json_string(id)) == 0)
        description = json_text(arena, sent);
    image = create(images, arena, description, caller, err);
    if (!image && err->kind == ERROR_UNAVAILABLE && /* it may exist */
        images_delete(images, arena, id, caller, &failure) < 0)
        error_context(err, "image %s, which may be left without data", id);
    return image;
}

/* ---- bytes ---- */

unsigned images_attempts(const struct images *images) {
    return count_servers(images) * (images->client.repeats + 1);
}

int images_prepare_transfer(struct images *images, struct arena *arena, const char *id,
                            unsigned turn, struct http_transfer_call *ret, struct error *err) {
    const char *root;

    assert(uuid_parse(id, NULL));
    *ret = (struct http_transfer_call){ .timeout_ms = images->client.timeout_ms };
    if (find_root(images, arena, turn, &root, err) < 0)
        return -1;
    ret->url = arena_join(arena, root, "/v2/images/", id, "/file", NULL);
    return own_user_prepare(images->client.user, arena, NULL, ret, err);
}

int images_renew_transfer(struct images *images, struct arena *arena,
                          struct http_transfer_call *transfer, struct error *err) {
    if (!own_user_is_known(images->client.user))
        return error_set(err, ERROR_UNAUTHORIZED, "%s takes no token that can be renewed",
                         images->client.name);
    own_user_refused(images->client.user, transfer->headers);
    transfer->headers = NULL;
    return own_user_prepare(images->client.user, arena, NULL, transfer, err);
}
