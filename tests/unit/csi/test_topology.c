#include "csi/topology.private.h"

#include "tests/lib/check_main.h"
#include "json/json.h"

enum { POOLS = 1000 };

START_TEST(as_many_pools_are_named_as_a_hint_may_have) {
    autoarena struct arena *arena = arena_new();
    const struct csi_driver driver = { .segments = "topology.example.org/",
                                       .has_topology = true,
                                       .has_segment = { [SEGMENT_HOST] = true } };
    struct remote_pool *pools = arena_alloc(arena, POOLS * sizeof(*pools));
    const struct topology_pools places = {
        .driver = &driver, .pools = pools, .count = POOLS, .known = true
    };
    Csi__V1__Topology anywhere = CSI__V1__TOPOLOGY__INIT, *preferred[] = { &anywhere };
    Csi__V1__TopologyRequirement requirement = CSI__V1__TOPOLOGY_REQUIREMENT__INIT;
    struct remote_volume_new volume = { .size_gb = 10 };
    struct error err;
    const json_t *term;

    requirement.n_preferred = 1;
    requirement.preferred = preferred;
    for (unsigned i = 0; i < POOLS; i++)
        pools[i] = (struct remote_pool){ .name = arena_format(arena, "n@b#%u", i),
                                         .free_gb = i % 2 ? 10 : 9 };
    ck_assert_int_eq(topology_pools_choose(&places, arena, &requirement, &volume, &err), 0);
    term = json_parse(arena, volume.query, strlen(volume.query), &err);
    ck_assert_uint_eq(json_array_size(term), 2 + 400);
    ck_assert_str_eq(json_string_value(json_array_get(term, 2)), "n@b#1");
    ck_assert_uint_lt(json_values(volume.query, strlen(volume.query)), 500);
}
END_TEST

CHECK_MAIN("topology", as_many_pools_are_named_as_a_hint_may_have)
