#include "identity/authtoken.h"

#include "common/clock.h"

#define SECTION     "keystone_authtoken"
#define SHUTDOWN_US (INT64_C(1000) * 1000)

#define FILLS(member_) OPTION_FILLS(struct token_checker_settings, member_)

/* clang-format off */
const struct option authtoken_options[] = {
    { .section = SECTION, .key = "www_authenticate_uri", .type = OPTION_TEXT,
      .help = "URL of Keystone for callers without a valid token (WWW-Authenticate). Unset: "
              "auth_url." },
    KEYSTONE_OPTIONS(SECTION),
    { .section = SECTION, .key = "interface", .type = OPTION_WORD, .fallback = "internal",
      .words = (const char *const[]){ "internal", "public", "admin", NULL },
      .help = "Accepted because other services have it; tokens are validated where auth_url leads." },
    { .section = SECTION, .key = "token_cache_time", .type = OPTION_INT, FILLS(cache_ms), .unit = 1000, .fallback = "300", .min = -1,
      .max = 86400,
      .help = "Seconds for which a validated token is cached; a revoked one may be accepted "
              "for as long. -1: each is validated each time." },
    { .section = SECTION, .key = "http_connect_timeout", .type = OPTION_SECONDS, FILLS(deadline_ms), .unit = 1000, .fallback = "10",
      .min = 1, .max = 300,
      .help = "Seconds to validate a token; then the response is 503." },
    { .section = SECTION, .key = "http_request_max_retries", .type = OPTION_INT, .fallback = "3",
      .max = 100, .help = "Retries of a connection that Keystone refused." },
    { .section = SECTION, .key = "include_service_catalog", .type = OPTION_BOOL, FILLS(catalog), .fallback = "true",
      .help = "Whether the catalog is requested with each token; without it no token with "
              "access rules is accepted." },
    { .section = SECTION, .key = "service_type", .type = OPTION_TEXT, FILLS(service_type),
      .help = "Type of this service in the catalog and in access rules, such as volumev3. "
              "Unset: no token with access rules is accepted." },
    { .section = SECTION, .key = "service_token_roles", .type = OPTION_LIST, .fallback = "service",
      .help = "Roles of which a token in X-Service-Token needs one to be a service's." },
    { .section = SECTION, .key = "service_token_roles_required", .type = OPTION_BOOL,
      .fallback = "true",
      .help = "Whether a request with a service token that has none of these roles is refused." },
    { .section = SECTION, .key = "memcached_servers", .type = OPTION_TEXT,
      .help = "Accepted because other services have it; validated tokens are cached in the "
              "process itself." },
    OPTIONS_END,
};
/* clang-format on */

int authtoken_new(const struct config *config, unsigned queue, struct authtoken **ret,
                  struct error *err) {
    const char *uri = config_text(config, SECTION, "www_authenticate_uri");
    struct token_checker_settings checker = { .queue = queue };
    struct keystone_settings settings;
    struct arena *arena;
    struct authtoken *authtoken;
    int result = keystone_settings_read(config, SECTION, &settings, err);

    if (result < 0)
        return -1;
    if (result > 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "[" SECTION "] auth_url must be set when auth_strategy is keystone.");
    settings.retries = (unsigned)config_int(config, SECTION, "http_request_max_retries");
    arena = arena_new();
    authtoken = arena_alloc(arena, sizeof(*authtoken));
    authtoken->arena = arena;
    authtoken->challenge =
        arena_format(arena, "Keystone uri=\"%s\"", uri ? uri : settings.auth_url);
    authtoken->config = config;
    authtoken->roles_required = config_bool(config, SECTION, "service_token_roles_required");
    authtoken->keystone = keystone_new(&settings);
    checker.keystone = authtoken->keystone;
    config_fill(config, NULL, authtoken_options, &checker);
    if (checker.cache_ms < 0)
        checker.cache_ms = 0;
    authtoken->checker = token_checker_new(&checker);
    *ret = authtoken;
    return 0;
}

bool authtoken_is_service(const struct authtoken *authtoken, const struct token *token) {
    const char *role;

    for (size_t i = 0; (role = config_item(authtoken->config, SECTION, "service_token_roles", i));
         i++)
        if (token_has_role(token, role))
            return true;
    return false;
}

void authtoken_set_deadline(struct authtoken *authtoken) {
    keystone_set_deadline(authtoken->keystone, clock_monotonic_us() + SHUTDOWN_US);
}

void authtoken_close(struct authtoken *authtoken) {
    token_checker_free(authtoken->checker);
    authtoken->checker = NULL;
}

void authtoken_free(struct authtoken *authtoken) {
    if (!authtoken)
        return;
    token_checker_free(authtoken->checker);
    keystone_free(authtoken->keystone);
    arena_free(authtoken->arena);
}
