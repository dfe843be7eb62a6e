#include "client/servers.h"

#include "client/client.h"
#include "client/compute_events.h"
#include "common/clock.h"
#include "common/heap.h"
#include "identity/own_user.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define VERSION     "2.89" /* the first that returns the attachment of a server's volume */
#define PATIENCE_MS 10000

struct servers {
    struct client client;
};

int servers_new(const struct config *config, struct servers **ret, struct error *err) {
    struct client client;

    *ret = NULL;
    if (compute_client_open(config, &client, err) < 0)
        return -1;
    if (!client.url && !own_user_is_known(client.user)) {
        own_user_free(client.user);
        return 0;
    }
    client.version = VERSION;
    *ret = heap_new(sizeof(**ret));
    (*ret)->client = client;
    return 0;
}

void servers_free(struct servers *servers) {
    if (servers)
        own_user_free(servers->client.user);
    free(servers);
}

/* ---- one query ---- */

struct asking {
    struct client client; /* with the remaining time */
    struct arena *arena;
    const struct server_question *question;
    int64_t until_us;
};

/* NULL: see err. */
static const json_t *get(struct asking *asking, const char *path, struct error *err) {
    const struct client_call call = { .method = "GET",
                                      .path = path,
                                      .request_id = asking->question->request_id };
    struct http_answer answer;

    asking->client.timeout_ms = (asking->until_us - clock_monotonic_us()) / 1000;
    if (asking->client.timeout_ms <= 0) {
        error_set(err, ERROR_UNAVAILABLE, "%s did not answer in time", asking->client.name);
        return NULL;
    }
    return client_ask(&asking->client, asking->arena, &call, &answer, err);
}

static bool is_id(const json_t *object, const char *key, const char *id) {
    const char *text = json_text_of(object, key);

    return text && strcasecmp(text, id) == 0;
}

/* The attachment that the server has of the volume: 1 this one, 0 another one, or none, if the
 * server is hidden from the user. */
static enum server_use look_for_volume(struct asking *asking, struct error *err) {
    const struct server_question *question = asking->question;
    const char *path = arena_format(asking->arena, "/servers/%s/os-volume_attachments/%s",
                                    question->server_id, question->volume_id);
    const json_t *attachment;
    const json_t *root = get(asking, path, err);

    if (!root)
        return err->kind == ERROR_NOT_FOUND ? SERVER_USES_NOT : SERVER_USE_UNKNOWN;
    attachment = json_object_get(root, "volumeAttachment");
    if (!json_is_string(json_object_get(attachment, "attachment_id"))) {
        error_set(err, ERROR_BACKEND, "%s does not return the attachment", asking->client.name);
        return SERVER_USE_UNKNOWN;
    }
    return is_id(attachment, "attachment_id", question->attachment_id) ? SERVER_USES
                                                                       : SERVER_USES_NOT;
}

/* Listing all projects is refused to users without that right.  A migrating server has two
 * attachments of the volume, of which only one is returned. */
static enum server_use look_for_server(struct asking *asking, bool other_attachment,
                                       struct error *err) {
    const struct server_question *question = asking->question;
    const char *path =
        arena_format(asking->arena, "/servers/detail?all_tenants=True&soft_deleted=True&uuid=%s",
                     question->server_id);
    const json_t *root = get(asking, path, err);
    const json_t *list = json_object_get(root, "servers"), *server = json_array_get(list, 0);
    const json_t *volumes = json_object_get(server, "os-extended-volumes:volumes_attached");
    bool has_volume = !json_is_array(volumes); /* a response without the attachment */

    if (!root)
        return SERVER_USE_UNKNOWN;
    if (json_is_array(list) && json_array_size(list) == 0 && !other_attachment)
        return SERVER_USES_NOT;
    for (size_t i = 0; i < json_array_size(volumes) && !has_volume; i++)
        has_volume = is_id(json_array_get(volumes, i), "id", question->volume_id);
    if (json_array_size(list) == 1 && is_id(server, "id", question->server_id) &&
        json_is_null(json_object_get(server, "OS-EXT-STS:task_state")) &&
        (other_attachment || !has_volume))
        return SERVER_USES_NOT;
    error_set(err, ERROR_BACKEND, "%s does not state for certain what the server uses",
              asking->client.name);
    return SERVER_USE_UNKNOWN;
}

enum server_use servers_ask(struct servers *servers, struct arena *arena,
                            const struct server_question *question, struct error *err) {
    struct asking asking = {
        .client = servers->client,
        .arena = arena,
        .question = question,
        .until_us = clock_monotonic_us() + PATIENCE_MS * 1000,
    };
    struct error none = { .kind = ERROR_NONE };
    enum server_use use;

    /* an invalid id would lead to another path */
    if (!uuid_parse(question->server_id, NULL) || !uuid_parse(question->volume_id, NULL)) {
        error_set(err, ERROR_BAD_REQUEST, "server %s: no id", question->server_id);
        return SERVER_USE_UNKNOWN;
    }
    use = look_for_volume(&asking, &none);
    if (use == SERVER_USES_NOT)
        return look_for_server(&asking, none.kind == ERROR_NONE, err);
    if (use == SERVER_USE_UNKNOWN)
        *err = none;
    return use;
}
