#include "tests/lib/roles.h"

#include "common/cleanup.h"
#include "identity/identity.h"
#include "policy/rule.h"
#include "rest/router.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const stranger[] = { "stranger", NULL };
static const char *const reader[] = { "reader", NULL };
static const char *const member[] = { "member", "reader", NULL };
static const char *const service[] = { "service", "member", "reader", NULL };
static const char *const admin[] = { "admin", "member", "reader", NULL };
static const char *const *granted = stranger;

void roles_grant(const char *const *roles) {
    granted = roles;
}

static enum identity_outcome authenticate(const struct identity *identity,
                                          struct http_exchange *exchange, const char *path_project,
                                          const struct identity_later *later,
                                          struct context *context, struct error *err) {
    static const char *const *const all[] = { stranger, reader, member, service, admin };
    const char *token = http_header(exchange, "X-Auth-Token");
    size_t length = strcspn(token, ":");

    (void)identity, (void)path_project, (void)later;
    context->user_id = arena_text_n(exchange->arena, token, length);
    context->project_id = arena_text(exchange->arena, token + length + 1);
    context->from_service = strcmp(context->user_id, "service") == 0;
    context->is_admin_project = true;
    for (size_t i = 0; i < LENGTH(all); i++)
        if (strcmp(all[i][0], context->user_id) == 0) {
            context->roles = all[i];
            return IDENTITY_KNOWN;
        }
    if (strcmp(context->user_id, "granted") == 0) {
        context->roles = granted;
        return IDENTITY_KNOWN;
    }
    error_set(err, ERROR_UNAUTHORIZED, "no such role");
    return IDENTITY_FAILED;
}

const struct identity identity_roles = { .name = "roles", .authenticate = authenticate };

static int load_rules(const char *rules, bool enforce_new_defaults, struct policy **ret,
                      struct error *err) {
    char path[] = "/tmp/rules-XXXXXX.yaml";
    autoclose int fd = mkstemps(path, (int)strlen(".yaml"));
    const struct policy_settings settings = { .file = path,
                                              .enforce_new_defaults = enforce_new_defaults };
    int result = -1;

    if (fd >= 0 && write(fd, rules, strlen(rules)) == (ssize_t)strlen(rules))
        result = policy_load(&settings, ret, err);
    unlink(path);
    return result;
}

static void must(int result, const struct error *err) {
    if (result == 0)
        return;
    fprintf(stderr, "roles: %s\n", err->message);
    abort();
}

void roles_enter_with(struct world *world, const char *rules, bool enforce_new_defaults) {
    struct api_settings settings = world_api_settings(world);
    static struct policy *own; /* no world owns it */
    struct policy *former = own;
    struct error err = { .message = "the file cannot be written" };
    bool built_in = !rules && enforce_new_defaults;

    settings.identity = &identity_roles;
    if (!built_in) {
        must(load_rules(rules ? rules : "{}\n", enforce_new_defaults, &own, &err), &err);
        settings.policy = world->policy = own;
    }
    api_free(world->api);
    if (!built_in)
        policy_free(former);
    must(api_new(&settings, &world->api, &err), &err);
}

void roles_enter(struct world *world, const char *rules) {
    roles_enter_with(world, rules, true);
}
