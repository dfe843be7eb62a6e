#include "identity/keystone_auth.private.h"

#include "json/out.h"

/* A user or a project: by its id, or by its name in a domain. */
static void put_named(struct json_out *out, const char *id, const char *name, const char *domain_id,
                      const char *domain_name) {
    if (id) {
        out_put_text(out, "id", id);
        return;
    }
    out_put_text(out, "name", name);
    out_open_object(out, "domain");
    if (domain_id)
        out_put_text(out, "id", domain_id);
    else
        out_put_text(out, "name", domain_name);
    out_end_object(out);
}

/* An application credential implies its scope. */
const char *keystone_auth_write(struct arena *arena, const struct keystone_settings *settings) {
    bool by_credential = settings->by_application_credential;
    struct json_out out;

    json_out_begin(&out, arena, "auth");
    out_open_object(&out, "identity");
    out_open_array(&out, "methods");
    out_text(&out, by_credential ? "application_credential" : "password");
    out_end_array(&out);
    if (by_credential) {
        out_open_object(&out, "application_credential");
        out_put_text(&out, "id", settings->application_credential_id);
        out_put_text(&out, "secret", settings->application_credential_secret);
        out_end_object(&out);
    } else {
        out_open_object(&out, "password");
        out_open_object(&out, "user");
        put_named(&out, settings->user_id, settings->username, settings->user_domain_id,
                  settings->user_domain_name);
        out_put_text(&out, "password", settings->password);
        out_end_object(&out);
        out_end_object(&out);
    }
    out_end_object(&out);
    if (!by_credential) {
        out_open_object(&out, "scope");
        out_key_text(&out, settings->system_scope ? "system" : "project");
        out_begin_object(&out);
        if (settings->system_scope)
            out_put_bool(&out, "all", true);
        else
            put_named(&out, settings->project_id, settings->project_name,
                      settings->project_domain_id, settings->project_domain_name);
        out_end_object(&out);
        out_end_object(&out);
    }
    return json_out_end(&out);
}
