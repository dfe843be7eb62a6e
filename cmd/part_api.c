#include "api/confirm.h"
#include "api/documents/watchers.h"
#include "client/images.h"
#include "client/key_manager.h"
#include "client/servers.h"
#include "cmd/part.h"
#include "common/arena.h"
#include "common/base64.h"
#include "db/db.h"
#include "identity/authtoken.h"
#include "identity/identity.h"
#include "model/attachment/attachment.h"
#include "policy/rule.h"
#include "rest/router.h"
#include "json/json.h"

#include <string.h>
#include <unistd.h>

/* ---- authentication ---- */

static unsigned quarter_of_clients(const struct parts *parts) {
    return (unsigned)config_int(parts->config, "DEFAULT", "osapi_volume_connections") / 4;
}

/* At most half of the clients may wait for a validation by Keystone: a quarter with tokens of their
 * own, a quarter sharing one. */
int part_gate_start(struct parts *parts, struct error *err) {
    if (!part_knows_callers(parts))
        return 0;
    return authtoken_new(parts->config, quarter_of_clients(parts), &parts->authtoken, err);
}

void part_gate_set_deadline(struct parts *parts) {
    if (parts->authtoken)
        authtoken_set_deadline(parts->authtoken);
}

void part_gate_close(struct parts *parts) {
    if (parts->authtoken)
        authtoken_close(parts->authtoken);
}

void part_gate_stop(struct parts *parts) {
    authtoken_free(parts->authtoken);
}

/* ---- API ---- */

/* A relative path of a policy file is resolved beside the configuration file, never in the current
 * directory. */
static const char *policy_path(const struct parts *parts, const char *key) {
    const char *path = config_text(parts->config, "oslo_policy", key);
    const char *file = config_file(parts->config);
    const char *slash = file ? strrchr(file, '/') : NULL;

    if (!path || *path == '/')
        return path;
    if (!slash)
        return arena_format(parts->arena, SYSCONFDIR "/scoria/%s", path);
    return arena_format(parts->arena, "%.*s/%s", (int)(slash - file), file, path);
}

static int server_uses(void *servers, struct arena *arena, const struct attachment *attachment,
                       const char *request_id, struct error *err) {
    const struct server_question question = {
        .server_id = attachment->instance_uuid,
        .volume_id = attachment->volume_id,
        .attachment_id = attachment->id,
        .request_id = request_id,
    };

    return servers_ask(servers, arena, &question, err);
}

/* Callers without identity have no token that the image service knows. */
static struct images_caller image_caller(const struct parts *parts, const struct request *request) {
    return (struct images_caller){
        .token = parts->authtoken ? http_header(request->http, "X-Auth-Token") : NULL,
        .project_id = request->context.project_id,
        .user_id = request->context.user_id,
        .is_admin = request->context.is_admin,
        .request_id = request->context.request_id,
    };
}

static const json_t *find_image(void *arg, const struct request *request, const char *reference,
                                struct error *err) {
    const struct parts *parts = arg;
    const struct images_caller caller = image_caller(parts, request);

    return images_find(parts->images, request->http->arena, reference, &caller, err);
}

static const json_t *make_image(void *arg, const struct request *request, const char *description,
                                struct error *err) {
    const struct parts *parts = arg;
    const struct images_caller caller = image_caller(parts, request);
    const json_t *image =
        images_create(parts->images, request->http->arena, description, &caller, err);

    if (!image)
        log_error(&request->context.log, "image not created", "reason", err->message, NULL);
    if (!image && err->kind == ERROR_UNAVAILABLE)
        error_set(err, ERROR_BAD_REQUEST, "The image service has not created the image.");
    return image;
}

static void discard_image(void *arg, const struct request *request, const json_t *image) {
    const struct parts *parts = arg;
    const struct images_caller caller = image_caller(parts, request);
    const char *id = json_text_of(image, "id");
    struct error err;

    if (images_delete(parts->images, request->http->arena, id, &caller, &err) < 0)
        log_error(&request->context.log, "image of a failed request not deleted", "image_id", id,
                  "reason", err.message, NULL);
}

static const char *find_certificate(void *arg, const struct request *request, const char *id,
                                    struct error *err) {
    const struct parts *parts = arg;
    const struct key_manager_call call = { .id = id,
                                           .token = image_caller(parts, request).token,
                                           .request_id = request->context.request_id };
    struct arena *arena = request->http->arena;
    const void *bytes;
    size_t size;

    bytes = key_manager_certificate(parts->key_manager, arena, &call, &size, err);
    return bytes ? base64_text(arena, bytes, size) : NULL;
}

/* In another process. */
static void operation_ended_elsewhere(void *arg) {
    api_operations_ended(arg);
}

/* One more than processors: a project may use all but one.  At most half of the sessions of a
 * PostgreSQL server, which small reads need, too. */
static unsigned readers(const struct parts *parts) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned sessions = (unsigned)config_int(parts->config, "database", "max_pool_size");
    unsigned wanted = processors > 1 ? (unsigned)processors + 1 : 2;

    return wanted < sessions / 2 ? wanted : sessions / 2 ? sessions / 2 : 1;
}

int part_api_start(struct parts *parts, struct error *err) {
    struct policy_settings policy = {
        .file = policy_path(parts, "policy_file"),
        .optional = !config_given(parts->config, "oslo_policy", "policy_file"),
        .directory = policy_path(parts, "policy_dirs"),
        .look_ms = 1000,
        .enforce_new_defaults = config_bool(parts->config, "oslo_policy", "enforce_new_defaults"),
    };
    struct api_settings settings = {
        .db = parts->db,
        .settings = &parts->settings,
        .identity = &identity_none,
        .origin = parts->authtoken ? NULL : &parts->origin,
        .public_endpoint = part_text(parts, "public_endpoint"),
        .slots = quarter_of_clients(parts),
        .readers = readers(parts),
        .watches = &document_watchers,
        .watchers = 2 * quarter_of_clients(parts),
    };

    if (policy_load(&policy, &parts->policy, err) < 0)
        return error_context(err, "policy_file and policy_dirs of [oslo_policy]");
    if ((parts->settings.only_services_detach &&
         servers_new(parts->config, &parts->servers, err) < 0) ||
        images_new(parts->config, &parts->images, err) < 0 ||
        key_manager_new(parts->config, &parts->key_manager, err) < 0)
        return -1;
    if (parts->servers || parts->images) {
        const struct confirm confirm = {
            .release = { parts->servers ? server_uses : NULL, parts->servers },
            .images = { parts->images ? find_image : NULL, make_image, discard_image,
                        parts->key_manager ? find_certificate : NULL, parts },
        };

        settings.confirm = api_confirm;
        settings.withdraw = api_withdraw;
        settings.confirm_arg = arena_copy(parts->arena, &confirm, sizeof(confirm));
    }
    if (parts->authtoken) {
        parts->keystone = identity_keystone_new(parts->config, parts->authtoken);
        settings.identity = parts->keystone;
    }
    settings.policy = parts->policy;
    if (api_new(&settings, &parts->api, err) < 0)
        return -1;
    db_on_event(parts->db, DB_ENDED, operation_ended_elsewhere, parts->api);
    return 0;
}

void part_api_stop(struct parts *parts) {
    if (parts->api) {
        db_on_event(parts->db, DB_ENDED, NULL, NULL);
        api_free(parts->api);
    }
    servers_free(parts->servers);
    images_free(parts->images);
    key_manager_free(parts->key_manager);
    identity_keystone_free(parts->keystone);
    policy_free(parts->policy);
}
