/*
 * A section of credentials for Keystone, with the key names of keystoneauth.
 */
#pragma once

#include "config/config.h"
#include "http/client.h"

struct keystone_settings {
    const char *auth_url;
    const char *user_id, *username, *password;
    const char *user_domain_id, *user_domain_name;
    const char *project_id, *project_name;
    const char *project_domain_id, *project_domain_name;
    const char *application_credential_id, *application_credential_secret;
    bool by_application_credential;
    bool system_scope;
    const char *interface, *region; /* of endpoints; region NULL: any */
    struct http_peer peer;
    unsigned retries; /* of refused connections */
};

/* The rows of its options. */
/* clang-format off */
#define KEYSTONE_OPTIONS(section_) \
    { .section = section_, .key = "auth_type", .type = OPTION_WORD, .fallback = "password", \
      .words = keystone_auth_types, \
      .help = "How the service authenticates with Keystone." }, \
    { .section = section_, .key = "auth_section", .type = OPTION_TEXT, \
      .help = "Another section with the credentials: the same keys are read there." }, \
    { .section = section_, .key = "auth_url", .type = OPTION_TEXT, \
      .help = "URL of Keystone, with or without /v3." }, \
    { .section = section_, .key = "username", .type = OPTION_TEXT, .help = "User of the service." }, \
    { .section = section_, .key = "user_id", .type = OPTION_TEXT, \
      .help = "Id of the user, instead of name and domain." }, \
    { .section = section_, .key = "password", .type = OPTION_TEXT, .secret = true, \
      .help = "Password of the user." }, \
    { .section = section_, .key = "user_domain_id", .type = OPTION_TEXT, \
      .help = "Domain of the user. Unset, and without a name too: default." }, \
    { .section = section_, .key = "user_domain_name", .type = OPTION_TEXT, \
      .help = "Name of that domain." }, \
    { .section = section_, .key = "project_name", .type = OPTION_TEXT, \
      .help = "Project of the token." }, \
    { .section = section_, .key = "project_id", .type = OPTION_TEXT, \
      .help = "Its id, instead of name and domain." }, \
    { .section = section_, .key = "project_domain_id", .type = OPTION_TEXT, \
      .help = "Domain of that project. Unset, and without a name too: default." }, \
    { .section = section_, .key = "project_domain_name", .type = OPTION_TEXT, \
      .help = "Name of that domain." }, \
    { .section = section_, .key = "system_scope", .type = OPTION_TEXT, \
      .help = "all: the token is for the whole system instead of a project." }, \
    { .section = section_, .key = "application_credential_id", .type = OPTION_TEXT, \
      .help = "For auth_type = v3applicationcredential." }, \
    { .section = section_, .key = "application_credential_secret", .type = OPTION_TEXT, \
      .secret = true, .help = "Its secret." }, \
    { .section = section_, .key = "cafile", .type = OPTION_TEXT, \
      .help = "File of the certificates that are trusted. Unset: the system's." }, \
    { .section = section_, .key = "certfile", .type = OPTION_TEXT, \
      .help = "Client certificate, when Keystone requires one." }, \
    { .section = section_, .key = "keyfile", .type = OPTION_TEXT, \
      .help = "Its key. Unset: in certfile." }, \
    { .section = section_, .key = "insecure", .type = OPTION_BOOL, .fallback = "false", \
      .help = "Whether the peer's certificate is not verified. Not for production." }, \
    { .section = section_, .key = "region_name", .type = OPTION_TEXT, \
      .help = "Region whose endpoints are used. Unset: any." }
/* clang-format on */

extern const char *const keystone_auth_types[];

/*
 * Reads a section with KEYSTONE_OPTIONS and `interface`; texts belong to the config.  0; 1: no
 * auth_url, no user is configured; -1: ERROR_BAD_REQUEST names the missing key.
 */
int keystone_settings_read(const struct config *config, const char *section,
                           struct keystone_settings *ret, struct error *err);
