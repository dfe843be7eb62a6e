#include "client/key_manager.h"

#include "client/client.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/words.h"
#include "identity/own_user.h"
#include "json/json.h"

#include <stdlib.h>
#include <string.h>

#define SECTION "barbican"
#define USER    "barbican_service_user"
#define REPEATS 2
/* A secret without its payload, or a payload: a peer's JSON takes sixty times its bytes. */
#define ANSWER_MOST ((size_t)64 << 10)

static const char *const backends[] = { "barbican",
                                        "castellan.key_manager.barbican_key_manager."
                                        "BarbicanKeyManager",
                                        "cinder.keymgr.conf_key_mgr.ConfKeyManager", NULL };
static const char *const versions[] = { "v1", NULL };
static const char *const types[] = { "key-manager", NULL };

struct key_manager {
    struct client client;
    const char *version;
};

/* clang-format off */
const struct option key_manager_options[] = {
    { .section = "key_manager", .key = "backend", .type = OPTION_WORD, .fallback = "barbican", .words = backends,
      .help = "Where certificates of signed images are: barbican, which Cinder names by its class. "
              "ConfKeyManager has none." },
    { .section = SECTION, .key = "barbican_endpoint", .type = OPTION_TEXT,
      .help = "URL of the key manager. Unset: the endpoint of type key-manager in the catalog, for the user of section "
              "barbican_service_user; without that user there is no key manager." },
    { .section = SECTION, .key = "barbican_api_version", .type = OPTION_WORD, OPTION_FILLS(struct key_manager, version),
      .fallback = "v1", .words = versions, .help = "Version of the key manager's API." },
    { .section = SECTION, .key = "barbican_request_timeout", .type = OPTION_SECONDS, OPTION_FILLS(struct key_manager, client.timeout_ms),
      .unit = 1000, .fallback = "10", .min = 1, .max = 3600,
      .help = "Seconds to wait for the key manager when a request needs a certificate." },
    OPTIONS_END,
};
/* clang-format on */

/* ---- configuration ---- */

int key_manager_new(const struct config *config, struct key_manager **ret, struct error *err) {
    struct key_manager *manager = heap_new(sizeof(*manager));
    const char *backend = config_text(config, "key_manager", "backend");
    bool is_barbican = strcmp(backend, backends[0]) == 0 || strcmp(backend, backends[1]) == 0;

    *ret = NULL;
    config_fill(config, NULL, key_manager_options, manager);
    manager->client.name = "the key manager";
    manager->client.types = types;
    manager->client.repeats = REPEATS;
    manager->client.url = config_text(config, SECTION, "barbican_endpoint");
    if (own_user_new(config, USER, &manager->client.user, err) < 0) {
        key_manager_free(manager);
        return -1;
    }
    if (is_barbican && (manager->client.url || own_user_is_known(manager->client.user) ||
                        config_text(config, USER, "endpoint_override")))
        *ret = manager;
    else
        key_manager_free(manager);
    return 0;
}

void key_manager_free(struct key_manager *manager) {
    if (manager)
        own_user_free(manager->client.user);
    free(manager);
}

/* ---- requests ---- */

/* The root of this version, which an endpoint may have in its URL. */
static int find_root(const struct key_manager *manager, struct arena *arena, const char **ret,
                     struct error *err) {
    size_t length, end = strlen(manager->version);
    const char *url;

    if (client_find(&manager->client, arena, &url, err) < 0)
        return -1;
    length = http_length(url);
    if (length > end && url[length - end - 1] == '/' &&
        strncmp(url + length - end, manager->version, end) == 0)
        length -= end + 1;
    *ret = arena_format(arena, "%.*s/%s", (int)length, url, manager->version);
    return 0;
}

static int get(const struct client *client, struct arena *arena,
               const struct key_manager_call *call, const char *behind, const char *type,
               struct http_answer *ret, struct error *err) {
    const struct client_call sent = {
        .method = "GET",
        .path = "/secrets",
        .id = call->id,
        .behind = behind,
        .token = call->token,
        .request_id = call->request_id,
        .header = { "Accept", type },
        .answer_most = ANSWER_MOST,
    };
    enum error_kind kind;

    if (client_send(client, arena, &sent, ret, err) != 0)
        return -1;
    if (ret->status == 200)
        return 0;
    kind = ret->status == 404                         ? ERROR_NOT_FOUND
           : ret->status == 401 || ret->status == 403 ? ERROR_FORBIDDEN
                                                      : ERROR_UNAVAILABLE;
    return error_set(err, kind, "the key manager answered %d for secret %.64s", ret->status,
                     call->id);
}

/* The type in which it can be read.  Another kind of secret is not for the rows of an operation. */
static const char *read_type(struct arena *arena, const struct http_answer *answer,
                             struct error *err) {
    static const char *const readable[] = { "application/octet-stream", "application/pkix-cert",
                                            "text/plain", "text/plain;charset=utf-8",
                                            "text/plain; charset=utf-8" };
    const json_t *secret = json_parse(arena, answer->body, answer->body_size, NULL);
    const char *type = json_text_of(json_object_get(secret, "content_types"), "default");

    if (!secret)
        error_set(err, ERROR_UNAVAILABLE, "the response of the key manager is not JSON");
    else if (json_text_is(secret, "secret_type", "certificate") && type &&
             words_have(readable, LENGTH(readable), type))
        return type;
    else
        error_set(err, ERROR_BAD_REQUEST, "the secret is not a certificate with content");
    return NULL;
}

const void *key_manager_certificate(struct key_manager *manager, struct arena *arena,
                                    const struct key_manager_call *call, size_t *ret_size,
                                    struct error *err) {
    int64_t until_us = clock_monotonic_us() + manager->client.timeout_ms * 1000;
    struct client client = manager->client;
    struct http_answer answer;
    const char *type;
    int64_t left_ms;

    client.until_us = &until_us;
    if (!uuid_parse(call->id, NULL)) {
        error_set(err, ERROR_BAD_REQUEST, "the id of the certificate is not a UUID");
        return NULL;
    }
    if (find_root(manager, arena, &client.url, err) < 0 ||
        get(&client, arena, call, NULL, "application/json", &answer, err) < 0)
        return NULL;
    type = read_type(arena, &answer, err);
    if (!type)
        return NULL;
    left_ms = (until_us - clock_monotonic_us()) / 1000;
    client.timeout_ms = left_ms > 0 ? left_ms : 1;
    if (get(&client, arena, call, "/payload", type, &answer, err) < 0)
        return NULL;
    if (answer.body_size <= KEY_MANAGER_CERTIFICATE_MOST) {
        *ret_size = answer.body_size;
        return answer.body;
    }
    error_set(err, ERROR_TOO_LARGE, "the certificate has %zu bytes, more than %zu",
              answer.body_size, KEY_MANAGER_CERTIFICATE_MOST);
    return NULL;
}
