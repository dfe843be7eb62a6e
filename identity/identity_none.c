#include "identity/identity.h"

#include <ctype.h>
#include <string.h>

#define NAME_MOST    255
#define ADMIN        "admin"
#define SERVICE      "service"
#define HOST_DEFAULT "localhost:8776"
#define TOKEN_NONE   "notused" /* token of clients that authenticate with "none" (keystoneauth) */

/* clang-format off */
const struct option identity_options[] = {
    { .section = "DEFAULT", .key = "auth_strategy", .type = OPTION_WORD, .fallback = "noauth",
      .words = (const char *const[]){ "keystone", "noauth", "none", NULL },
      .help = "How callers are authenticated. keystone: by their Keystone tokens. noauth, none: not at all; every "
              "caller is an administrator of the project it names, so only this machine can connect unless "
              "allow_insecure_listen is true." },
    OPTIONS_END,
};
/* clang-format on */

static bool host_is_plain(const char *host) {
    size_t length = 0;

    while (host[length] && (isalnum((unsigned char)host[length]) || strchr("-._:[]", host[length])))
        length++;
    return length > 0 && length <= NAME_MOST && host[length] == '\0';
}

const char *identity_base_url(struct http_exchange *exchange) {
    const char *host = http_header(exchange, "Host");

    return arena_join(exchange->arena, exchange->secure ? "https://" : "http://",
                      host && host_is_plain(host) ? host : HOST_DEFAULT, NULL);
}

/* Names of users and projects are used in rows, logs and headers. */
static bool name_is_plain(const char *name) {
    size_t length = 0;

    while (name[length] > ' ' && name[length] <= '~')
        length++;
    return length > 0 && length <= NAME_MOST && name[length] == '\0';
}

static int name_refuse(struct error *err) {
    return error_set(err, ERROR_UNAUTHORIZED,
                     "User and project must be 1 to %d visible ASCII characters.", NAME_MOST);
}

static const char *header_or_admin(const struct http_exchange *exchange, const char *name) {
    const char *value = http_header(exchange, name);

    return value && *value ? value : ADMIN;
}

static enum identity_outcome handshake(struct http_exchange *exchange, struct error *err) {
    const char *user = header_or_admin(exchange, "X-Auth-User");
    const char *project = header_or_admin(exchange, "X-Auth-Project-Id");
    size_t length = strlen(exchange->path);

    if (!name_is_plain(user) || !name_is_plain(project) || strchr(user, ':'))
        return name_refuse(err);
    if (length > 0 && exchange->path[length - 1] == '/')
        length--;
    exchange->status = 204;
    exchange->reply_body = "";
    http_add_header(exchange, "X-Auth-Token",
                    arena_format(exchange->arena, "%s:%s", user, project));
    http_add_header(exchange, "X-Server-Management-Url",
                    arena_format(exchange->arena, "%s%.*s", identity_base_url(exchange),
                                 (int)length, exchange->path));
    http_add_header(exchange, "Content-Type", "text/plain");
    return IDENTITY_ANSWERED;
}

/* The roles that a service claims beside the user's token: unverified, like the administrator role
 * of every caller. */
static bool names_service_role(const struct http_exchange *exchange) {
    const char *roles = http_header(exchange, "X-Service-Roles");

    while (roles && *roles) {
        size_t length;

        roles += strspn(roles, ", \t");
        length = strcspn(roles, ", \t");
        if (length == strlen(SERVICE) && strncmp(roles, SERVICE, length) == 0)
            return true;
        roles += length;
    }
    return false;
}

static enum identity_outcome become(const struct http_exchange *exchange, struct context *context,
                                    const char *user, const char *project, struct error *err) {
    static const char *const roles[] = { ADMIN, NULL };

    if (!name_is_plain(user) || !name_is_plain(project))
        return name_refuse(err);
    context->user_id = user;
    context->project_id = project;
    context->roles = roles;
    context->is_admin_project = true;
    context->from_service = names_service_role(exchange);
    return IDENTITY_KNOWN;
}

static enum identity_outcome none_authenticate(const struct identity *identity,
                                               struct http_exchange *exchange,
                                               const char *path_project,
                                               const struct identity_later *later,
                                               struct context *context, struct error *err) {
    const char *token = http_header(exchange, "X-Auth-Token");
    const char *colon;

    (void)identity, (void)later;
    if (token && *token && strcmp(token, TOKEN_NONE) != 0) {
        colon = strchr(token, ':');
        if (!colon)
            return become(exchange, context, token, token, err);
        return become(
            exchange, context,
            colon == token ? ADMIN : arena_text_n(exchange->arena, token, (size_t)(colon - token)),
            colon + 1, err);
    }
    /* A client of the old kind requests a token first. */
    if (http_header(exchange, "X-Auth-User") || http_header(exchange, "X-Auth-Key") ||
        http_header(exchange, "X-Auth-Project-Id"))
        return handshake(exchange, err);
    return become(exchange, context, ADMIN, path_project ? path_project : ADMIN, err);
}

const struct identity identity_none = {
    .name = "noauth",
    .authenticate = none_authenticate,
};
