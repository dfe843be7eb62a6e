#include "tests/lib/check_main.h"
#include "tests/lib/roles.h"
#include "tests/lib/world.h"

#include <string.h>

static const char *filters(struct world *world, const char *resource) {
    const char *path = arena_format(world->arena, "/resource_filters?resource=%s", resource);

    ck_assert_int_eq(world_call(world, "GET", path, NULL), 200);
    return world->answer_text;
}

START_TEST(every_list_has_its_filters) {
    autoworld struct world *world = world_new(NULL);
    const json_t *list;

    ck_assert_int_eq(world_call(world, "GET", "/resource_filters", NULL), 200);
    list = json_object_get(world->answer, "resource_filters");
    ck_assert_uint_ge(json_array_size(list), 8);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);

        ck_assert_uint_eq(json_object_size(one), 2);
        ck_assert(json_is_string(json_object_get(one, "resource")));
        ck_assert_uint_gt(json_array_size(json_object_get(one, "filters")), 0);
    }
}
END_TEST

START_TEST(one_resource_can_be_selected) {
    autoworld struct world *world = world_new(NULL);

    ck_assert_str_eq(filters(world, "attachment"),
                     "{\"resource_filters\":[{\"resource\":\"attachment\",\"filters\":"
                     "[\"volume_id\",\"status\",\"attach_status\",\"instance_id\"]}]}");
    ck_assert_str_eq(filters(world, "pool"), "{\"resource_filters\":[{\"resource\":\"pool\","
                                             "\"filters\":[\"name\",\"volume_type\"]}]}");
    ck_assert_str_eq(filters(world, "snapshot"),
                     "{\"resource_filters\":[{\"resource\":\"snapshot\",\"filters\":"
                     "[\"name\",\"status\",\"volume_id\",\"availability_zone\","
                     "\"consumes_quota\",\"metadata\"]}]}");
    ck_assert_str_eq(filters(world, "group"), "{\"resource_filters\":[{\"resource\":\"group\","
                                              "\"filters\":[\"name\"]}]}");
    ck_assert_ptr_nonnull(strstr(filters(world, "volume"), "\"metadata\"]"));
    ck_assert_ptr_nonnull(strstr(filters(world, "volume_type"), "[\"is_public\",\"extra_specs\"]"));
    ck_assert_ptr_null(strstr(filters(world, "volume"), "\"host\""));
    ck_assert_str_eq(filters(world, "nothing"), "{\"resource_filters\":[]}");
}
END_TEST

START_TEST(listed_filters_apply_for_all_callers) {
    autoworld struct world *world = world_new(NULL);
    static const char *const taken[] = { "name", "status", "metadata", "group_id", "size" };

    roles_enter(world, NULL);
    world->token = "reader:" WORLD_PROJECT;
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
        const char *quoted = arena_format(world->arena, "\"%s\"", taken[i]);

        ck_assert_ptr_nonnull(strstr(filters(world, "volume"), quoted));
        ck_assert_int_eq(
            world_call(world, "GET", arena_format(world->arena, "/volumes?%s=1", taken[i]), NULL),
            200);
    }
    ck_assert_int_eq(world_call(world, "GET", "/volumes?host=1", NULL), 400);
}
END_TEST

START_TEST(the_list_came_with_3_33) {
    autoworld struct world *world = world_new(NULL);

    world->minor = 32;
    ck_assert_int_eq(world_call(world, "GET", "/resource_filters", NULL), 404);
    world->minor = 33;
    ck_assert_int_eq(world_call(world, "GET", "/resource_filters", NULL), 200);
    ck_assert_int_eq(world_call(world, "DELETE", "/resource_filters/volume", NULL), 404);
}
END_TEST

CHECK_MAIN("resource_filters", every_list_has_its_filters, one_resource_can_be_selected,
           listed_filters_apply_for_all_callers, the_list_came_with_3_33)
