#include "identity/keystone_auth.private.h"

#include "json/out.h"

static void put_domain(struct json_out *out, const char *id, const char *name) {
    out_key(out, "domain");
    out_begin_object(out);
    if (id)
        out_put_text(out, "id", id);
    else
        out_put_text(out, "name", name);
    out_end_object(out);
}

static void put_password(struct json_out *out, const struct keystone_settings *settings) {
    out_key(out, "password");
    out_begin_object(out);
    out_key(out, "user");
    out_begin_object(out);
    if (settings->user_id) {
        out_put_text(out, "id", settings->user_id);
    } else {
        out_put_text(out, "name", settings->username);
        put_domain(out, settings->user_domain_id, settings->user_domain_name);
    }
    out_put_text(out, "password", settings->password);
    out_end_object(out);
    out_end_object(out);
}

static void put_scope(struct json_out *out, const struct keystone_settings *settings) {
    out_key(out, "scope");
    out_begin_object(out);
    out_key_text(out, settings->system_scope ? "system" : "project");
    out_begin_object(out);
    if (settings->system_scope) {
        out_put_bool(out, "all", true);
    } else if (settings->project_id) {
        out_put_text(out, "id", settings->project_id);
    } else {
        out_put_text(out, "name", settings->project_name);
        put_domain(out, settings->project_domain_id, settings->project_domain_name);
    }
    out_end_object(out);
    out_end_object(out);
}

/* An application credential implies its scope. */
const char *keystone_auth_write(struct arena *arena, const struct keystone_settings *settings) {
    bool by_credential = settings->by_application_credential;
    struct json_out out;

    json_out_begin(&out, arena, "auth");
    out_key(&out, "identity");
    out_begin_object(&out);
    out_key(&out, "methods");
    out_begin_array(&out);
    out_text(&out, by_credential ? "application_credential" : "password");
    out_end_array(&out);
    if (by_credential) {
        out_key(&out, "application_credential");
        out_begin_object(&out);
        out_put_text(&out, "id", settings->application_credential_id);
        out_put_text(&out, "secret", settings->application_credential_secret);
        out_end_object(&out);
    } else {
        put_password(&out, settings);
    }
    out_end_object(&out);
    if (!by_credential)
        put_scope(&out, settings);
    return json_out_end(&out);
}
