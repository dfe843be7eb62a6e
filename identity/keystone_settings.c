#include "identity/keystone_settings.h"

#include <string.h>

const char *const keystone_auth_types[] = { "password", "v3password", "v3applicationcredential",
                                            NULL };

static const char *read_text(const struct config *config, const char *section, const char *key) {
    const char *text = config_text(config, section, key);

    return text && *text ? text : NULL;
}

static int keystone_settings_refuse(const char *section, const char *key, struct error *err) {
    return error_set(err, ERROR_BAD_REQUEST, "[%s] %s must be set when auth_url is.", section, key);
}

static int check_user(const struct config *config, const char *section,
                      const struct keystone_settings *settings, struct error *err) {
    const char *system = read_text(config, section, "system_scope");

    if (settings->by_application_credential) {
        if (!settings->application_credential_id)
            return keystone_settings_refuse(section, "application_credential_id", err);
        if (!settings->application_credential_secret)
            return keystone_settings_refuse(section, "application_credential_secret", err);
        return 0;
    }
    if (!settings->user_id && !settings->username)
        return keystone_settings_refuse(section, "username", err);
    if (!settings->password)
        return keystone_settings_refuse(section, "password", err);
    if (system && strcmp(system, "all") != 0)
        return error_set(err, ERROR_BAD_REQUEST, "[%s] system_scope: %s is not all.", section,
                         system);
    if (!system && !settings->project_id && !settings->project_name)
        return keystone_settings_refuse(section, "project_name", err);
    return 0;
}

static void read_domain(const struct config *config, const char *section, const char *id_key,
                        const char *name_key, const char **ret_id, const char **ret_name) {
    *ret_id = read_text(config, section, id_key);
    *ret_name = read_text(config, section, name_key);
    if (!*ret_id && !*ret_name)
        *ret_id = "default";
}

/* Sections with such keys, which auth_section may name. */
static const char *const sections[] = { "keystone_authtoken", "nova", "service_user", NULL };

static int find_section(const struct config *config, const char **section, struct error *err) {
    const char *other = read_text(config, *section, "auth_section");

    if (!other)
        return 0;
    for (const char *const *known = sections; *known; known++)
        if (strcmp(*known, other) == 0) {
            *section = *known;
            return 0;
        }
    return error_set(err, ERROR_BAD_REQUEST, "[%s] auth_section: there is no section [%s].",
                     *section, other);
}

int keystone_settings_read(const struct config *config, const char *section,
                           struct keystone_settings *ret, struct error *err) {
    const char *own = section;
    struct keystone_settings settings;

    if (find_section(config, &section, err) < 0)
        return -1;
    settings = (struct keystone_settings){
        .auth_url = read_text(config, section, "auth_url"),
        .user_id = read_text(config, section, "user_id"),
        .username = read_text(config, section, "username"),
        .password = read_text(config, section, "password"),
        .project_id = read_text(config, section, "project_id"),
        .project_name = read_text(config, section, "project_name"),
        .application_credential_id = read_text(config, section, "application_credential_id"),
        .application_credential_secret =
            read_text(config, section, "application_credential_secret"),
        .by_application_credential =
            strcmp(config_text(config, section, "auth_type"), "v3applicationcredential") == 0,
        .system_scope = read_text(config, section, "system_scope") != NULL,
        .interface = config_text(config, own, "interface"),
        .region = read_text(config, own, "region_name"),
        .peer = { .ca_file = read_text(config, section, "cafile"),
                  .cert_file = read_text(config, section, "certfile"),
                  .key_file = read_text(config, section, "keyfile"),
                  .insecure = config_bool(config, section, "insecure") },
        .retries = 3,
    };
    if (!settings.auth_url)
        return 1;
    read_domain(config, section, "user_domain_id", "user_domain_name", &settings.user_domain_id,
                &settings.user_domain_name);
    read_domain(config, section, "project_domain_id", "project_domain_name",
                &settings.project_domain_id, &settings.project_domain_name);
    if (check_user(config, section, &settings, err) < 0)
        return -1;
    *ret = settings;
    return 0;
}
