/*
 * Existing storage becomes a volume, a volume is unmanaged, and manageable objects are listed.
 */
#include "common/cleanup.h"
#include "model/operations.h"
#include "model/volume/manage.h"
#include "tests/lib/exchange.h"
#include "tests/lib/memory_guests.h"
#include "tests/lib/roles.h"
#include "tests/lib/snapshots.h"

#include <sys/mman.h>
#include <unistd.h>

#define HOST "node@memory#pool"
#define MANAGE(more) \
    "{\"volume\": {\"host\": \"" HOST "\", \"ref\": {\"source-name\": \"disk\"}" more "}}"
#define UNMANAGE      "{\"os-unmanage\": {}}"
#define RESET(status) "{\"os-reset_status\": {\"status\": \"" status "\"}}"
#define COUNT(what)   world_count(world, "SELECT COUNT(*) FROM " what)
#define assert_rests(world)                         \
    do {                                            \
        ck_assert_int_eq(world_check(world), 0);    \
        ck_assert_int_eq(COUNT("operations"), 0);   \
        ck_assert_int_eq(COUNT("reservations"), 0); \
    } while (0)

static const char *string(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

/* The id of a volume that is to become of "disk". */
static const char *manage(struct world *world) {
    ck_assert_int_eq(world_call(world, "POST", "/os-volume-manage", MANAGE("")), 202);
    return world_answer_id(world, "volume");
}

static const char *managed(struct world *world, int64_t bytes) {
    const char *id;

    ck_assert(memory_put(world->memory, "disk", bytes, 7));
    id = manage(world);
    world_settle(world);
    return id;
}

/* ---- taken over ---- */

START_TEST(an_object_becomes_a_volume_with_its_content) {
    autoworld struct world *world = world_new(NULL);
    const json_t *volume;
    const char *id;

    memory_put(world->memory, "disk", 2 * GIB, 7);
    ck_assert_int_eq(world_call(world, "POST", "/manageable_volumes",
                                MANAGE(", \"name\": \"mine\", \"bootable\": true, "
                                       "\"metadata\": {\"a\": \"b\"}")),
                     202);
    volume = json_object_get(world->answer, "volume");
    id = world_answer_id(world, "volume");
    ck_assert_str_eq(string(volume, "status"), "creating");
    ck_assert_int_eq(json_integer_value(json_object_get(volume, "size")), 0);
    /* The view of 3.0, whatever the microversion. */
    ck_assert_ptr_null(json_object_get(volume, "group_id"));
    ck_assert_ptr_null(json_object_get(volume, "volume_type_id"));
    ck_assert_int_eq(world_in_use(world, "volumes"), 1);
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "available");
    ck_assert_int_eq(world_size(world, id), 2);
    ck_assert_int_eq(world_in_use(world, "gigabytes"), 2);
    ck_assert_int_eq(memory_read(world->memory, id), 7);
    ck_assert(!memory_has(world->memory, "disk"));
    volume = world_show(world, id);
    ck_assert_str_eq(string(volume, "name"), "mine");
    ck_assert_str_eq(string(volume, "bootable"), "true");
    ck_assert_str_eq(string(volume, "os-vol-host-attr:host"), HOST);
    ck_assert_str_eq(string(json_object_get(volume, "metadata"), "a"), "b");
    assert_rests(world);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s", id), NULL), 202);
    world_settle(world);
    ck_assert_uint_eq(memory_count(world->memory), 0);
    assert_rests(world);
}
END_TEST

START_TEST(a_part_of_a_gib_is_filled_up) {
    autoworld struct world *world = world_new(NULL);
    const char *id = managed(world, 2 * GIB + 1);

    ck_assert_str_eq(world_status(world, id), "available");
    ck_assert_int_eq(world_size(world, id), 3);
    ck_assert_int_eq(memory_bytes(world->memory, id), 3 * GIB);
    ck_assert_int_eq(memory_read(world->memory, id), 7);
    assert_rests(world);
}
END_TEST

START_TEST(invalid_references_are_refused_at_the_request) {
    static const struct {
        const char *body;
        int status;
    } bodies[] = {
        { "{\"volume\": {\"host\": \"" HOST "\"}}", 400 },
        { "{\"volume\": {\"ref\": {\"source-name\": \"disk\"}}}", 400 },
        { "{\"volume\": {\"host\": \"" HOST "\", \"ref\": {}}}", 400 },
        { "{\"volume\": {\"host\": \"" HOST "\", \"ref\": {\"source-name\": \"\"}}}", 400 },
        { "{\"volume\": {\"host\": \"" HOST "\", \"ref\": 5}}", 400 },
        { "{\"volume\": {\"host\": \"node@other#pool\", \"ref\": \"disk\"}}", 400 },
        { "{\"volume\": {\"cluster\": \"c\", \"ref\": \"disk\"}}", 400 },
        { MANAGE(", \"cluster\": \"c\""), 400 },
        { MANAGE(", \"volume_type\": \"none\""), 400 },
        { MANAGE(", \"availability_zone\": \"none\""), 400 },
        { MANAGE(", \"bootable\": \"perhaps\""), 400 },
        { MANAGE(", \"size\": 5"), 400 },
    };
    const struct world_settings settings = { .quota_volumes = 1 };
    autoworld struct world *world = world_new(&settings);

    world_volume(world, 1);
    memory_put(world->memory, "disk", GIB, 7);
    ck_assert_int_eq(world_call(world, "POST", "/os-volume-manage", MANAGE("")), 413);
    for (size_t i = 0; i < LENGTH(bodies); i++)
        ck_assert_msg(world_call(world, "POST", "/os-volume-manage", bodies[i].body) ==
                          bodies[i].status,
                      "%s: %d %s", bodies[i].body, world->status, world->answer_text);
    world_sql(world, "UPDATE services SET disabled = 1 WHERE binary_name = 'cinder-volume'");
    ck_assert_int_eq(world_call(world, "POST", "/os-volume-manage", MANAGE("")), 400);
    ck_assert_int_eq(world_call(world, "GET",
                                "/os-volume-manage?host="
                                "node@memory%23pool",
                                NULL),
                     400);
    ck_assert_int_eq(COUNT("volumes"), 1);
    ck_assert_int_eq(COUNT("operations WHERE phase <> 'answered'"), 0);
    ck_assert(memory_has(world->memory, "disk"));
}
END_TEST

START_TEST(refusals_of_the_backend_are_refused_at_the_request) {
    static const struct {
        int64_t bytes; /* -1: there is none */
        bool locked;
        const char *why;
    } objects[] = {
        { -1, false, "There is no object" },
        { 0, false, "is empty" },
        { GIB, true, "is open in a running guest" },
    };

    for (size_t i = 0; i < LENGTH(objects); i++) {
        autoworld struct world *world = world_new(NULL);

        if (objects[i].bytes >= 0)
            memory_put(world->memory, "disk", objects[i].bytes, 7);
        if (objects[i].locked)
            ck_assert(memory_lock_foreign(world->memory, "disk", true));
        ck_assert_int_eq(world_call(world, "POST", "/os-volume-manage", MANAGE("")), 400);
        ck_assert_ptr_nonnull(strstr(world->answer_text, "invalid backend reference disk: "));
        ck_assert_msg(strstr(world->answer_text, objects[i].why), "%s", world->answer_text);
        world_settle(world);
        ck_assert_int_eq(COUNT("volumes"), 0);
        ck_assert_int_eq(COUNT("messages"), 0);
        ck_assert_int_eq(world_in_use(world, "volumes"), 0);
        ck_assert_int_eq(memory_has(world->memory, "disk"), objects[i].bytes >= 0);
        world_advance(world, 181);
        assert_rests(world);
    }
}
END_TEST

/* The state decides how it ends. */
START_TEST(properties_unknown_to_the_backend_are_accepted) {
    autoworld struct world *world = world_new(NULL);
    const char *id;

    memory_put(world->memory, "disk", GIB, 7);
    memory_fail_next(world->memory, "get_manageable", ERROR_UNAVAILABLE);
    id = manage(world);
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "available");
    assert_rests(world);
}
END_TEST

START_TEST(a_query_that_ends_with_the_api_creates_nothing) {
    autoworld struct world *world = world_new(NULL);
    struct api_settings settings = world_api_settings(world);
    const struct http_header headers[] = { { "X-Auth-Token", world->token },
                                           { "Content-Type", "application/json" },
                                           { NULL, NULL } };
    struct test_exchange *exchange;
    struct error err;
    struct api *api;

    memory_put(world->memory, "disk", GIB, 7);
    ck_assert_int_eq(api_new(&settings, &api, &err), 0);
    exchange = test_exchange_new("POST", "/v3/os-volume-manage", headers, MANAGE(""));
    api_handle(api, test_exchange_of(exchange));
    ck_assert(!test_exchange_answered(exchange));
    api_free(api);
    ck_assert_int_eq(test_exchange_await(exchange), 503);
    ck_assert_str_eq(test_exchange_header(exchange, "Retry-After"), "5");
    test_exchange_free(exchange);
    world_settle(world);
    ck_assert_int_eq(COUNT("volumes"), 0);
    ck_assert(memory_has(world->memory, "disk"));
}
END_TEST

/* Between the answer and the work nothing keeps the object. */
START_TEST(a_failed_manage_leaves_the_object_unchanged) {
    static const int64_t sizes[] = { -1, 0, 5 * GIB };
    const struct world_settings settings = { .quota_gigabytes = 4 };

    for (size_t i = 0; i < LENGTH(sizes); i++) {
        autoworld struct world *world = world_new(&settings);
        const char *id;

        memory_put(world->memory, "disk", GIB, 7);
        id = manage(world);
        memory_take(world->memory, "disk");
        if (sizes[i] >= 0)
            memory_put(world->memory, "disk", sizes[i], 7);
        world_settle(world);
        ck_assert_str_eq(world_status(world, id), "error");
        ck_assert_int_eq(COUNT("volumes WHERE status = 'error_managing'"), 1);
        ck_assert(world_has_message(world, id,
                                    i == 2 ? "VOLUME_VOLUME_008_006" : "VOLUME_VOLUME_008_012"));
        ck_assert_int_eq(memory_has(world->memory, "disk"), sizes[i] >= 0);
        ck_assert_int_eq(world_in_use(world, "gigabytes"), 0);
        assert_rests(world);
        /* Of which nothing is destroyed, however often. */
        ck_assert_int_eq(world_action(world, id, i % 2 ? UNMANAGE : "{\"os-force_delete\": {}}"),
                         202);
        world_settle(world);
        ck_assert_int_eq(COUNT("volumes"), 0);
        ck_assert_int_eq(memory_has(world->memory, "disk"), sizes[i] >= 0);
        ck_assert_int_eq(world_in_use(world, "volumes"), 0);
        assert_rests(world);
    }
}
END_TEST

/* No request could have a volume of that size, and its bytes could not be counted. */
START_TEST(an_object_larger_than_any_volume_is_refused) {
    static const int64_t sizes[] = { INT64_MAX, INT64_C(2147483647) * GIB + 1 };

    for (size_t i = 0; i < LENGTH(sizes); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id;

        world->settings.quota_gigabytes = -1;
        id = managed(world, sizes[i]);
        ck_assert_str_eq(world_status(world, id), "error");
        ck_assert(memory_has(world->memory, "disk"));
        ck_assert_int_eq(world_in_use(world, "gigabytes"), 0);
        assert_rests(world);
    }
}
END_TEST

START_TEST(a_manage_that_fails_late_unmanages_the_object) {
    autoworld struct world *world = world_new(NULL);
    const char *id;

    memory_put(world->memory, "disk", GIB + 1, 7);
    memory_fail_next(world->memory, "extend_volume", ERROR_BACKEND);
    id = manage(world);
    world_settle(world);
    ck_assert_int_eq(COUNT("volumes WHERE status = 'error_managing'"), 1);
    ck_assert_uint_eq(memory_count(world->memory), 0);
    ck_assert(memory_has(world->memory, PATH("unmanaged-%s", id)));
    assert_rests(world);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s", id), NULL), 202);
    world_settle(world);
    ck_assert(memory_has(world->memory, PATH("unmanaged-%s", id)));
    assert_rests(world);
}
END_TEST

/* ---- unmanage ---- */

START_TEST(a_volume_is_unmanaged_and_managed_again) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2), *again;

    memory_write(world->memory, id, 9);
    ck_assert_int_eq(world_action(world, id, UNMANAGE), 202);
    ck_assert_str_eq(world_status(world, id), "unmanaging");
    world_settle(world);
    ck_assert_int_eq(COUNT("volumes"), 0);
    ck_assert_int_eq(world_in_use(world, "gigabytes"), 0);
    ck_assert_uint_eq(memory_count(world->memory), 0);
    assert_rests(world);
    ck_assert_int_eq(world_call(world, "POST", "/os-volume-manage",
                                PATH("{\"volume\": {\"host\": \"node@memory\", "
                                     "\"ref\": \"unmanaged-%s\"}}",
                                     id)),
                     202);
    again = world_answer_id(world, "volume");
    world_settle(world);
    ck_assert_str_eq(world_status(world, again), "available");
    ck_assert_int_eq(memory_read(world->memory, again), 9);
    assert_rests(world);
}
END_TEST

static int manage_named(struct world *world, const char *reference) {
    return world_call(world, "POST", "/os-volume-manage",
                      PATH("{\"volume\": {\"host\": \"node@memory\", "
                           "\"ref\": {\"source-name\": \"%s\"}}}",
                           reference));
}

/* Upstream's drivers leave it the name that it had. */
START_TEST(an_unmanaged_object_is_known_by_its_former_name) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2), *former = PATH("volume-%s", id), *again;

    memory_write(world->memory, id, 9);
    ck_assert_int_eq(manage_named(world, former), 400);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "is managed already"));
    ck_assert_int_eq(COUNT("volumes"), 1);
    ck_assert_int_eq(world_in_use(world, "volumes"), 1);
    ck_assert_int_eq(world_action(world, id, UNMANAGE), 202);
    world_settle(world);
    ck_assert_int_eq(manage_named(world, former), 202);
    again = world_answer_id(world, "volume");
    world_settle(world);
    ck_assert_str_eq(world_status(world, again), "available");
    ck_assert_int_eq(memory_read(world->memory, again), 9);
    assert_rests(world);
}
END_TEST

START_TEST(a_frozen_backend_unmanages_volumes_and_manages_none) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    memory_put(world->memory, "disk", GIB, 7);
    world_sql(world, "UPDATE services SET frozen = 1");
    ck_assert_int_eq(world_call(world, "POST", "/os-volume-manage", MANAGE("")), 400);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s", id), NULL), 400);
    ck_assert_int_eq(world_action(world, id, UNMANAGE), 202);
    world_settle(world);
    ck_assert_int_eq(COUNT("volumes"), 0);
    ck_assert(memory_has(world->memory, PATH("unmanaged-%s", id)));
    assert_rests(world);
}
END_TEST

START_TEST(a_volume_that_is_in_use_or_needed_is_not_unmanaged) {
    autoworld struct world *world = world_new(NULL);
    const char *attached = world_volume(world, 1), *with_snapshot = world_volume(world, 1);

    world_attach(world, attached, WORLD_INSTANCE);
    snapshot_of_volume(world, with_snapshot);
    ck_assert_int_eq(world_action(world, attached, UNMANAGE), 400);
    ck_assert_int_eq(world_action(world, with_snapshot, UNMANAGE), 400);
    world_sql(world, "UPDATE volumes SET encryption_key_id = 'k'");
    ck_assert_int_eq(world_action(world, with_snapshot, UNMANAGE), 400);
    world_sql(world, "UPDATE volumes SET encryption_key_id = NULL");
    ck_assert_uint_eq(memory_count(world->memory), 2);
    assert_rests(world);
}
END_TEST

static struct fault_decision neither_read_nor_unmanaged(void *arg, const char *call,
                                                        const char *volume_id) {
    bool fails = strcmp(call, "get_size") == 0 || strcmp(call, "unmanage_volume") == 0;

    (void)arg, (void)volume_id;
    return (struct fault_decision){ .action = fails ? FAULT_BEFORE : FAULT_PASS };
}

START_TEST(a_volume_that_can_never_be_read_is_not_unmanaged_for_ever) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    world->decide = neither_read_nor_unmanaged;
    ck_assert_int_eq(world_action(world, id, UNMANAGE), 202);
    for (int i = 0; i < 60; i++) {
        world_settle(world);
        world_advance(world, 11);
    }
    ck_assert_str_eq(world_status(world, id), "error_unmanaging");
    ck_assert(world_has_message(world, id, "VOLUME_VOLUME_006_906"));
    world->decide = NULL;
    ck_assert_int_eq(world_action(world, id, UNMANAGE), 202);
    world_settle(world);
    ck_assert_int_eq(COUNT("volumes"), 0);
    assert_rests(world);
}
END_TEST

START_TEST(a_volume_that_cannot_be_unmanaged_stays) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    ck_assert(memory_put(world->memory, PATH("unmanaged-%s", id), GIB, 1));
    ck_assert_int_eq(world_action(world, id, UNMANAGE), 202);
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "error_unmanaging");
    ck_assert_int_eq(world_action(world, id, UNMANAGE), 202); /* once more */
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "error_unmanaging");
    ck_assert(world_has_message(world, id, "VOLUME_VOLUME_006_906"));
    ck_assert_int_eq(world_in_use(world, "gigabytes"), 1);
    ck_assert_uint_eq(memory_count(world->memory), 1);
    assert_rests(world);
}
END_TEST

/* ---- deaths ---- */

static void do_one(struct world *world, int what, const char **ret_id) {
    world->may_wait = true; /* as long as it lives */
    if (what == 0)
        world_call(world, "POST", "/os-volume-manage", MANAGE(""));
    else
        world_action(world, *ret_id, UNMANAGE);
    if (what == 0 && world->status == 202)
        *ret_id = world_answer_id(world, "volume");
}

/* After any effect; the next worker ends it, and one object stays one. */
static bool die_after(int what, int64_t effects) {
    autoworld struct world *world = world_new(NULL);
    const char *id = NULL;
    bool died;

    if (what == 0)
        ck_assert(memory_put(world->memory, "disk", GIB + 1, 7));
    else
        id = world_volume(world, 2);
    world_die_after(world, effects);
    do_one(world, what, &id);
    world_settle(world);
    died = world->dead;
    if (died) {
        world_restart(world);
        world_settle(world);
        for (int i = 0; i < 10; i++)
            world_advance(world, 120);
        world_settle(world);
    }
    if (what == 0 && COUNT("volumes") == 1) {
        ck_assert_int_eq(COUNT("volumes WHERE status = 'available' AND size_gb = 2"), 1);
        ck_assert_uint_eq(memory_count(world->memory), 1);
        ck_assert(!memory_has(world->memory, "disk"));
    } else if (what == 0) {
        ck_assert(memory_has(world->memory, "disk"));
    } else if (COUNT("volumes") == 1) {
        ck_assert_str_eq(world_status(world, id), "available");
        ck_assert_uint_eq(memory_count(world->memory), 1);
    } else {
        ck_assert(memory_has(world->memory, PATH("unmanaged-%s", id)));
        ck_assert_uint_eq(memory_count(world->memory), 0);
    }
    assert_rests(world);
    return died;
}

START_TEST(a_manage_interrupted_anywhere_is_finished_by_the_next) {
    for (int what = 0; what <= 1; what++) {
        int64_t effects = 0;

        while (die_after(what, effects))
            ck_assert_int_lt(++effects, 100);
        ck_assert_int_gt(effects, 3);
    }
}
END_TEST

/* An operator gives up the work of a dead worker: the object of before is not destroyed. */
static bool given_up_after(int64_t effects, bool called_broken) {
    autoworld struct world *world = world_new(NULL);
    const char *id = NULL;
    bool died;

    ck_assert(memory_put(world->memory, "disk", GIB + 1, 7));
    world_die_after(world, effects);
    do_one(world, 0, &id);
    if (!world->dead)
        world_settle(world);
    died = world->dead;
    if (died)
        world_restart(world);
    if (!died || !id || COUNT("operations") == 0)
        return died;
    if (called_broken)
        ck_assert_int_eq(world_action(world, id, RESET("error_managing")), 202);
    ck_assert_int_eq(world_action(world, id, "{\"os-force_delete\": {}}"), 202);
    for (int i = 0; i < 10; i++) {
        world_settle(world);
        world_advance(world, 120);
    }
    ck_assert_int_eq(COUNT("volumes"), 0);
    ck_assert_uint_eq(memory_count(world->memory), 0);
    ck_assert(memory_has(world->memory, "disk") ||
              memory_has(world->memory, PATH("unmanaged-%s", id)));
    ck_assert_int_eq(world_in_use(world, "gigabytes"), 0);
    assert_rests(world);
    return true;
}

START_TEST(an_object_of_a_cancelled_manage_is_kept) {
    for (int i = 0; i <= 1; i++) {
        int64_t effects = 0;

        while (given_up_after(effects, i))
            ck_assert_int_lt(++effects, 100);
        ck_assert_int_gt(effects, 3);
    }
}
END_TEST

/* ---- lists ---- */

static const json_t *list(struct world *world, const char *path) {
    world_call(world, "GET", path, NULL);
    return json_object_get(world->answer, "manageable-volumes");
}

START_TEST(manageable_objects_are_listed) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2);
    const json_t *all, *first;

    memory_put(world->memory, "za", GIB + 1, 0);
    memory_put(world->memory, "zb", 0, 0);
    all = list(world, "/manageable_volumes/detail?host=node@memory%23pool&sort=size:asc");
    ck_assert_msg(json_array_size(all) == 3, "%d %s", world->status, world->answer_text);
    first = json_array_get(all, 0);
    ck_assert_str_eq(string(json_object_get(first, "reference"), "source-name"), "zb");
    ck_assert(json_is_false(json_object_get(first, "safe_to_manage")));
    ck_assert_str_eq(string(first, "reason_not_safe"), "is empty");
    ck_assert(json_is_null(json_object_get(first, "cinder_id")));
    for (size_t i = 1; i <= 2; i++) {
        const json_t *item = json_array_get(all, i);
        bool is_volume = string(item, "cinder_id") != NULL;

        ck_assert_int_eq(json_integer_value(json_object_get(item, "size")), 2);
        ck_assert_int_eq(json_is_true(json_object_get(item, "safe_to_manage")), !is_volume);
        if (is_volume) {
            ck_assert_str_eq(string(item, "cinder_id"), volume);
            ck_assert_str_eq(string(item, "reason_not_safe"), "already managed");
        }
    }
    all = list(world, "/os-volume-manage?host=node@memory&limit=1&offset=1&sort=reference:asc");
    ck_assert_uint_eq(json_array_size(all), 1);
    all = list(world, "/os-volume-manage?host=node@memory&marker=%7B%22source-name%22:%22zb%22%7D");
    ck_assert_uint_eq(json_array_size(all), 2);
    first = json_array_get(all, 0);
    ck_assert_str_eq(string(json_object_get(first, "reference"), "source-name"), "za");
    ck_assert_ptr_null(json_object_get(first, "cinder_id"));
}
END_TEST

/* The log lines of a complete list. */
static const char *log_of_list(struct world *world) {
    char *text = arena_alloc(world->arena, 4096);
    autoclose int fd = memfd_create("log", MFD_CLOEXEC);

    log_open(fd, LOG_WARNING, LOG_TEXT);
    ck_assert_uint_eq(json_array_size(list(world, "/os-volume-manage?host=node@memory")), 1000);
    log_open(-1, LOG_WARNING, LOG_TEXT);
    ck_assert_int_ge(pread(fd, text, 4095, 0), 0);
    return text;
}

START_TEST(a_cut_list_is_marked) {
    autoworld struct world *world = world_new(NULL);

    for (int i = 0; i < 100000; i++)
        memory_put(world->memory, PATH("disk-%d", i), GIB, 0);
    ck_assert_str_eq(log_of_list(world), "");
    memory_put(world->memory, "disk", GIB, 0);
    ck_assert_ptr_nonnull(strstr(log_of_list(world), "list of existing storage truncated"));
}
END_TEST

START_TEST(invalid_queries_are_refused) {
    static const char *const queries[] = {
        "",
        "?cluster=c",
        "?host=node@memory&cluster=c",
        "?host=unknown",
        "?host=node@memory&sort=name",
        "?host=node@memory&sort=size:up",
        "?host=node@memory&sort=size&sort_key=size",
        "?host=node@memory&limit=x",
        "?host=node@memory&offset=-1",
        "?host=node@memory&marker=%7B%22source%22:5%7D",
    };
    autoworld struct world *world = world_new(NULL);

    for (size_t i = 0; i < LENGTH(queries); i++)
        ck_assert_msg(world_call(world, "GET", PATH("/manageable_volumes%s", queries[i]), NULL) ==
                          400,
                      "%s: %d %s", queries[i], world->status, world->answer_text);
    memory_fail_next(world->memory, "list_manageable", ERROR_BACKEND);
    ck_assert_int_eq(world_call(world, "GET", "/manageable_volumes?host=node@memory", NULL), 500);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

/* An earlier attempt reserved its size and renamed it. */
START_TEST(an_object_that_is_emptied_meanwhile_is_refused) {
    struct operation held = { .kind = &kind_manage, .new_size_gb = 2 };
    struct manage_size size = { .gb = 0 };
    struct error err = { 0 };

    ck_assert_int_eq(volume_manage_sized(NULL, &held, &size, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
}
END_TEST

CHECK_MAIN("manage", refusals_of_the_backend_are_refused_at_the_request,
           properties_unknown_to_the_backend_are_accepted,
           a_query_that_ends_with_the_api_creates_nothing,
           an_object_becomes_a_volume_with_its_content, a_part_of_a_gib_is_filled_up,
           invalid_references_are_refused_at_the_request,
           a_failed_manage_leaves_the_object_unchanged,
           a_manage_that_fails_late_unmanages_the_object, a_volume_is_unmanaged_and_managed_again,
           an_unmanaged_object_is_known_by_its_former_name,
           a_frozen_backend_unmanages_volumes_and_manages_none,
           a_volume_that_is_in_use_or_needed_is_not_unmanaged,
           a_volume_that_can_never_be_read_is_not_unmanaged_for_ever,
           a_volume_that_cannot_be_unmanaged_stays, an_object_larger_than_any_volume_is_refused,
           a_manage_interrupted_anywhere_is_finished_by_the_next,
           an_object_of_a_cancelled_manage_is_kept, manageable_objects_are_listed,
           an_object_that_is_emptied_meanwhile_is_refused, a_cut_list_is_marked,
           invalid_queries_are_refused)
