#include "tests/unit/csi/driver_test.h"

static void expect_code(struct scene *scene, const char *path, const char *code) {
    autofree struct wire_answer *answer = scene_call(scene, path, "", 0);

    ck_assert_msg(strcmp(answer->status, code) == 0, "%s: %s: %s", path, answer->status,
                  answer->message);
}

static void expect_text(const struct wire_answer *answer, const char *text) {
    ck_assert_str_eq(answer->status, "0");
    ck_assert_ptr_nonnull(memmem(answer->body, answer->size, text, strlen(text)));
}

START_TEST(both_identities_report_the_same_name) {
    const char *const arguments[] = { "--csi.driver_name=block.example.org", NULL };
    struct scene *scene = scene_new(arguments);
    autofree struct wire_answer *csi = scene_call(scene, "/csi.v1.Identity/GetPluginInfo", "", 0);
    autofree struct wire_answer *addons =
        scene_call(scene, "/identity.Identity/GetIdentity", "", 0);

    expect_text(csi, "block.example.org");
    ck_assert_uint_eq(csi->size, addons->size);
    ck_assert_mem_eq(csi->body, addons->body, csi->size);
    scene_end(scene);
}
END_TEST

START_TEST(an_invalid_name_prevents_the_start) {
    static const char *const wrong[] = {
        "--csi.driver_name=1.example.org",
        "--csi.driver_name=example.org.",
        "--csi.driver_name=exa_mple.org",
        "--csi.driver_name=x",
        "--csi.driver_name=a23456789012345678901234567890123456789012345678901234567890123z",
    };

    for (size_t i = 0; i < LENGTH(wrong); i++) {
        const char *const arguments[] = { wrong[i], NULL };
        struct scene *scene = malloc(sizeof(*scene));
        struct error err = { .kind = ERROR_NONE };

        ck_assert_int_eq(scene_begin(scene, arguments, &err), -1);
        ck_assert_msg(strstr(err.message, "driver_name") != NULL, "%s", err.message);
        scene_end(scene);
    }
}
END_TEST

/* Each announcement is compared with the responses. */
START_TEST(announced_capabilities_are_offered) {
    struct scene *scene = scene_new(NULL);
    autofree struct wire_answer *plugin =
        scene_call(scene, "/csi.v1.Identity/GetPluginCapabilities", "", 0);
    autofree struct wire_answer *controller =
        scene_call(scene, "/csi.v1.Controller/ControllerGetCapabilities", "", 0);
    Csi__V1__GetPluginCapabilitiesResponse *plugins =
        scene_message(plugin, &csi__v1__get_plugin_capabilities_response__descriptor);
    Csi__V1__ControllerGetCapabilitiesResponse *abilities =
        scene_message(controller, &csi__v1__controller_get_capabilities_response__descriptor);

    ck_assert_int_eq(plugins->n_capabilities > 0, abilities->n_capabilities > 0);
    for (size_t i = 0; i < abilities->n_capabilities; i++)
        ck_assert_int_eq(abilities->capabilities[i]->type_case,
                         CSI__V1__CONTROLLER_SERVICE_CAPABILITY__TYPE_RPC);
    csi__v1__get_plugin_capabilities_response__free_unpacked(plugins, NULL);
    csi__v1__controller_get_capabilities_response__free_unpacked(abilities, NULL);
    expect_code(scene, "/csi.v1.Node/NodeGetCapabilities", "0");
    expect_code(scene, "/identity.Identity/GetCapabilities", "0");
    expect_code(scene, "/csi.v1.GroupController/GroupControllerGetCapabilities", "0");
    scene_end(scene);
}
END_TEST

START_TEST(a_service_serves_only_its_own_methods) {
    const char *const controller[] = { "--csi.controller=true", NULL };
    const char *const node[] = { "--csi.node=true", NULL };
    struct scene *scene = scene_new(controller);

    expect_code(scene, "/csi.v1.Controller/ControllerGetCapabilities", "0");
    expect_code(scene, "/csi.v1.Node/NodeGetCapabilities", "12");
    scene_end(scene);
    scene = scene_new(node);
    expect_code(scene, "/csi.v1.Controller/ControllerGetCapabilities", "12");
    expect_code(scene, "/csi.v1.GroupController/GroupControllerGetCapabilities", "12");
    expect_code(scene, "/volumegroup.Controller/ListVolumeGroups", "12");
    expect_code(scene, "/csi.v1.Node/NodeGetCapabilities", "0");
    scene_end(scene);
}
END_TEST

/* ---- health ---- */

static void expect_ready(struct scene *scene, const char *path, bool ready) {
    autofree struct wire_answer *answer = scene_call(scene, path, "", 0);
    Csi__V1__ProbeResponse *probe = scene_message(answer, &csi__v1__probe_response__descriptor);

    ck_assert_ptr_nonnull(probe->ready);
    ck_assert_int_eq(probe->ready->value, ready);
    csi__v1__probe_response__free_unpacked(probe, NULL);
}

static void expect_health(struct scene *scene, bool ready) {
    expect_ready(scene, "/csi.v1.Identity/Probe", ready);
    expect_ready(scene, "/identity.Identity/Probe", ready);
}

START_TEST(the_driver_is_ready_when_the_api_is) {
    struct scene *scene = scene_new(NULL);

    script_server_add(scene->api, &(struct script_rule){ "GET", "/v3/", 200, .body = VERSIONS });
    expect_health(scene, true);
    script_server_pause(scene->api);
    expect_health(scene, false);
    script_server_resume(scene->api);
    expect_health(scene, true);
    script_server_clear(scene->api);
    script_server_add(scene->api, &(struct script_rule){ .status = 503, .times = 0 });
    expect_health(scene, false);
    scene_end(scene);
}
END_TEST

START_TEST(a_node_without_controller_queries_no_api) {
    const char *const node[] = { "--csi.node=true", NULL };
    struct scene *scene = scene_new(node);

    script_server_pause(scene->api);
    expect_health(scene, true);
    ck_assert_ptr_null(script_server_request(scene->api, "GET", "/v3/", 0));
    scene_end(scene);
}
END_TEST

START_TEST(another_server_is_reported) {
    struct scene *scene = scene_new(NULL);

    script_server_add(scene->api, &(struct script_rule){ .status = 200, .body = "{}", .times = 1 });
    script_server_add(scene->api, &(struct script_rule){ .status = 200,
                                                         .body = "{\"versions\": [{\"id\": "
                                                                 "\"v2.0\"}]}",
                                                         .times = 1 });
    script_server_add(scene->api, &(struct script_rule){ .status = 404, .times = 1 });
    for (unsigned i = 0; i < 3; i++)
        expect_code(scene, "/csi.v1.Identity/Probe", "9");
    scene_end(scene);
}
END_TEST

START_TEST(the_request_id_is_forwarded) {
    struct scene *scene = scene_new(NULL);
    autofree struct wire_answer *answer = scene_call(scene, "/csi.v1.Identity/Probe", "", 0);
    const struct script_request *request = script_server_request(scene->api, "GET", "/v3/", 0);

    ck_assert_ptr_nonnull(request);
    ck_assert_str_ne(answer->request_id, "");
    ck_assert(script_request_has(request, "X-OpenStack-Request-ID", answer->request_id));
    scene_end(scene);
}
END_TEST

CHECK_MAIN("csi identity", both_identities_report_the_same_name, an_invalid_name_prevents_the_start,
           announced_capabilities_are_offered, a_service_serves_only_its_own_methods,
           the_driver_is_ready_when_the_api_is, a_node_without_controller_queries_no_api,
           another_server_is_reported, the_request_id_is_forwarded)
