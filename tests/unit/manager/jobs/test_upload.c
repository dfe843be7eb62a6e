/*
 * Uploads whose image service is away, and what is left of them: the former status, a message, no
 * snapshot.  Uploads that arrive are in tests/e2e/test_images.py.
 */
#include "client/images.h"
#include "common/cleanup.h"
#include "identity/own_user.h"
#include "tests/lib/check_main.h"
#include "tests/lib/images.h"
#include "tests/lib/memory_guests.h"
#include "tests/lib/other_manager.h"
#include "tests/lib/script_server.h"
#include "tests/lib/snapshots.h"

#include <stdio.h>

#define UPLOAD                                                               \
    "{\"os-volume_upload_image\": {\"image_name\": \"i\", \"force\": true, " \
    "\"disk_format\": \"%s\"}}"
#define RESET(status) "{\"os-reset_status\": {\"status\": \"" status "\"}}"

static struct world *world_with_images(void) {
    struct world *world = world_new(NULL);

    world->settings.enable_force_upload = true;
    return world;
}

static const char *volume_of(struct world *world, bool attached) {
    const char *id = world_volume(world, 2);

    ck_assert(memory_write(world->memory, id, 7));
    if (attached)
        world_attach(world, id, WORLD_INSTANCE);
    images_begin(world);
    return id;
}

static void assert_former(struct world *world, const char *id, bool attached) {
    ck_assert_str_eq(world_status(world, id), attached ? "in-use" : "available");
    ck_assert_int_eq(memory_read(world->memory, id), 7);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    ck_assert_int_eq(world_in_use(world, "gigabytes"), 2);
    ck_assert_int_eq(world_reserved(world, "gigabytes"), 0);
    ck_assert_int_eq(world_check(world), 0);
}

START_TEST(a_failed_upload_leaves_the_former_status_and_a_message) {
    for (int attached = 0; attached <= 1; attached++) {
        autoworld struct world *world = world_with_images();
        const char *id = volume_of(world, attached);

        ck_assert_int_eq(world_action(world, id, "%s", IMAGES_UPLOAD), 202);
        ck_assert_str_eq(world_status(world, id), "uploading");
        world_settle(world);
        assert_former(world, id, attached);
        ck_assert(world_has_message(world, id, "VOLUME_VOLUME_003_004"));
    }
}
END_TEST

/* Whichever directory has none; the image service is away in the first case. */
START_TEST(a_message_names_the_place_without_space) {
    static const char *const calls[] = { NULL, "open_volume_data", "create_snapshot" };

    for (size_t i = 0; i < LENGTH(calls); i++) {
        autoworld struct world *world = world_with_images();
        const char *id = volume_of(world, i == 2);

        if (calls[i])
            memory_fill_before(world->memory, calls[i]);
        ck_assert_int_eq(world_action(world, id, "%s", IMAGES_UPLOAD), 202);
        world_settle(world);
        assert_former(world, id, i == 2);
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM messages"), 1);
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM messages WHERE reason = "
                                            "'No space is left on the storage of the backend.'"),
                         calls[i] != NULL);
    }
}
END_TEST

START_TEST(an_attached_volume_needs_a_snapshot_below_its_guest) {
    autoworld struct world *world = world_with_images();
    const char *id = volume_of(world, true);

    memory_defer_snapshots(world->memory, true);
    ck_assert_int_eq(world_action(world, id, "%s", IMAGES_UPLOAD), 202);
    world_settle(world);
    assert_former(world, id, true);
    ck_assert(world_has_message(world, id, "VOLUME_VOLUME_003_004"));
}
END_TEST

START_TEST(a_stop_between_any_two_steps_leaves_the_former_status) {
    for (int attached = 0; attached <= 1; attached++) {
        bool died = true;

        for (int effects = 1; died; effects++) {
            autoworld struct world *world = world_with_images();
            const char *id = volume_of(world, attached);

            ck_assert_int_eq(world_action(world, id, "%s", IMAGES_UPLOAD), 202);
            world_die_after(world, effects);
            world_settle(world);
            died = world->dead;
            world_restart(world);
            for (int i = 0; i < 6; i++) {
                world_advance(world, 31);
                world_settle(world);
            }
            assert_former(world, id, attached);
        }
    }
}
END_TEST

static struct fault_decision reset_during_the_call(void *arg, const char *call,
                                                   const char *volume_id) {
    struct world *world = arg;

    if (strcmp(call, "open_volume_data") == 0 || strcmp(call, "open_snapshot_data") == 0) {
        world->decide = NULL;
        ck_assert_int_eq(world_action(world, volume_id, RESET("error")), 202);
    }
    return (struct fault_decision){ .action = FAULT_PASS };
}

START_TEST(an_upload_that_is_reset_leaves_no_snapshot) {
    for (int attached = 0; attached <= 1; attached++) {
        autoworld struct world *world = world_with_images();
        const char *id = volume_of(world, attached);

        world->decide = reset_during_the_call;
        ck_assert_int_eq(world_action(world, id, "%s", IMAGES_UPLOAD), 202);
        world_settle(world);
        ck_assert_str_eq(world_status(world, id), "error");
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
        ck_assert_int_eq(world_check(world), 0);
    }
}
END_TEST

static struct fault_decision reset_and_detached(void *arg, const char *call,
                                                const char *volume_id) {
    struct world *world = arg;

    if (strcmp(call, "open_snapshot_data") == 0) {
        world->decide = NULL;
        ck_assert_int_eq(world_action(world, volume_id, RESET("available")), 202);
        ck_assert_int_eq(world_action(world, volume_id, "{\"os-detach\": {}}"), 202);
    }
    return (struct fault_decision){ .action = FAULT_PASS };
}

START_TEST(an_upload_whose_volume_was_detached_leaves_no_snapshot) {
    autoworld struct world *world = world_with_images();
    const char *id = volume_of(world, true);

    world->decide = reset_and_detached;
    ck_assert_int_eq(world_action(world, id, "%s", IMAGES_UPLOAD), 202);
    for (int i = 0; i < 3; i++) {
        world_settle(world);
        world_advance(world, 31);
    }
    assert_former(world, id, false);
}
END_TEST

/* ---- late workers, busy storage ---- */

static bool suspend_snapshot(void *arg, enum memory_point point, const char *call,
                             const char *name_id) {
    struct world *world = arg;

    (void)name_id;
    if (point != MEMORY_FENCED || strcmp(call, "create_snapshot") != 0)
        return true;
    memory_watch(world->memory, NULL, NULL);
    other_manager_works(world);
    return true;
}

/* Its snapshot is made when the operation has ended. */
START_TEST(a_late_worker_leaves_no_snapshot) {
    autoworld struct world *world = world_with_images();
    const char *id = volume_of(world, true);

    memory_watch(world->memory, suspend_snapshot, world);
    ck_assert_int_eq(world_action(world, id, "%s", IMAGES_UPLOAD), 202);
    world_settle(world);
    assert_former(world, id, true);
}
END_TEST

static bool fail_behind_others(void *arg, enum memory_point point, const char *call,
                               const char *name_id) {
    const struct world *world = arg;

    if (point == MEMORY_FENCED && strcmp(call, "create_snapshot") == 0) {
        suspend_snapshot(arg, point, call, name_id);
        memory_fail_next(world->memory, "delete_snapshot", ERROR_BACKEND);
    }
    return true;
}

/* No other worker knows of the snapshot. */
START_TEST(a_late_worker_repeats_its_clean_up) {
    autoworld struct world *world = world_with_images();
    const char *id = volume_of(world, true);

    memory_watch(world->memory, fail_behind_others, world);
    ck_assert_int_eq(world_action(world, id, "%s", IMAGES_UPLOAD), 202);
    world_settle(world);
    assert_former(world, id, true);
}
END_TEST

START_TEST(a_snapshot_is_deleted_when_the_storage_permits) {
    for (int reset = 0; reset <= 1; reset++) {
        autoworld struct world *world = world_with_images();
        const char *id = volume_of(world, true);

        world->decide = reset ? reset_during_the_call : NULL;
        memory_fail_next(world->memory, "delete_snapshot", ERROR_BUSY);
        ck_assert_int_eq(world_action(world, id, "%s", IMAGES_UPLOAD), 202);
        for (int i = 0; i < 6; i++) {
            world_settle(world);
            world_advance(world, 31);
        }
        ck_assert_str_eq(world_status(world, id), reset ? "error" : "in-use");
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
        ck_assert_int_eq(world_check(world), 0);
    }
}
END_TEST

/* ---- an image service that responds ---- */

#define BY_ID              "/v2/images/" IMAGES_ID
#define DESCRIBED(members) "{\"id\": \"" IMAGES_ID "\", " members "}"

struct glance {
    struct script_server *server;
    struct config *config;
    struct images *images;
};

static void glance_begin(struct glance *glance, struct world *world) {
    static const struct option *const tables[] = { images_options, own_user_options, NULL };
    char servers[128];
    struct error err;

    glance->server = script_server_new();
    snprintf(servers, sizeof(servers), "--glance_api_servers=%s",
             script_server_url(glance->server));
    ck_assert_int_eq(config_load(tables, NULL,
                                 (const char *const[]){ servers, "--glance_num_retries=0", NULL },
                                 &glance->config, &err),
                     0);
    ck_assert_int_eq(images_new(glance->config, &glance->images, &err), 0);
    world->images = glance->images;
    world_restart(world);
    images_begin(world);
    script_server_add(glance->server, &(struct script_rule){ "DELETE", BY_ID, 204, .body = "" });
}

/* After the world. */
static void glance_end(struct glance *glance) {
    images_free(glance->images);
    config_free(glance->config);
    script_server_free(glance->server);
}

static void show(struct glance *glance, const char *image, unsigned times) {
    script_server_add(glance->server,
                      &(struct script_rule){ "GET", BY_ID, 200, .body = image, .times = times });
}

static unsigned deleted(struct glance *glance) {
    return script_server_count(glance->server, "DELETE", BY_ID);
}

static void settle_for_minutes(struct world *world) {
    for (int i = 0; i < 6; i++) {
        world_settle(world);
        world_advance(world, 31);
    }
}

static void suspend(void *arg) {
    struct world *world = arg;

    world->now_us += 300 * INT64_C(1000000);
}

/* Another worker may have filled the image meanwhile. */
START_TEST(a_worker_suspended_before_its_effect_deletes_no_image) {
    for (int suspended = 0; suspended <= 1; suspended++) {
        struct world *world = world_with_images();
        const char *id = volume_of(world, false);
        struct glance glance;

        glance_begin(&glance, world);
        show(&glance, DESCRIBED("\"status\": \"killed\""), 1);
        script_server_add(glance.server, &(struct script_rule){
                                             "GET", BY_ID, 200, .times = 1,
                                             .body = DESCRIBED("\"status\": \"queued\""),
                                             .before = suspended ? suspend : NULL, .arg = world });
        show(&glance, DESCRIBED("\"status\": \"active\", \"size\": 2147483648"), 0);
        ck_assert_int_eq(world_action(world, id, "%s", IMAGES_UPLOAD), 202);
        settle_for_minutes(world);
        assert_former(world, id, false);
        ck_assert_uint_eq(deleted(&glance), suspended ? 0 : 1);
        ck_assert(world_has_message(world, id, "VOLUME_VOLUME_003_004") == !suspended);
        world_free(world);
        glance_end(&glance);
    }
}
END_TEST

/* The connection may have ended with the worker, and the image service may have kept a part. */
START_TEST(an_image_of_an_earlier_worker_is_complete_or_deleted) {
    static const struct {
        const char *format;
        bool attached;
        int64_t noted, size; /* 0: no note, as by an earlier release */
        bool is_complete;
    } rows[] = {
        { "raw", false, 0, 2147483648, true },
        { "raw", false, 0, 2147483136, false },
        { "raw", true, 0, 2147483648, true },
        { "raw", true, 0, 2147483136, false },
        { "raw", false, 2147483648, 2147483648, true },
        { "raw", false, 2147483648, 2147483647, false },
        { "qcow2", false, 0, 393216, true },
        { "qcow2", false, 0, 393215, false },
        { "qcow2", true, 0, 65536, true }, /* of a snapshot, which may be gone */
        { "qcow2", true, 65536, 65536, true },
        { "qcow2", true, 65536, 65535, false },
        /* never converted again */
        { "vmdk", false, 0, 65536, true },
        { "vmdk", false, 65536, 65536, true },
        { "vmdk", false, 65536, 65535, false },
        { "vmdk", false, 65536, 65537, false },
        { "vhdx", true, 0, 65536, true },
        { "vhdx", true, 65536, 65535, false },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct world *world = world_with_images();
        const char *id = volume_of(world, rows[i].attached);
        struct glance glance;

        glance_begin(&glance, world);
        show(&glance,
             arena_format(world->arena, DESCRIBED("\"status\": \"active\", \"size\": %jd"),
                          (intmax_t)rows[i].size),
             0);
        ck_assert_int_eq(world_action(world, id, UPLOAD, rows[i].format), 202);
        world_sql(world, "UPDATE operations SET attempts = 1");
        if (rows[i].noted)
            world_sql(world,
                      arena_format(world->arena,
                                   "UPDATE operations SET arguments = '{\"image_id\": \"%s\", "
                                   "\"disk_format\": \"%s\", \"bytes\": %jd}'",
                                   IMAGES_ID, rows[i].format, (intmax_t)rows[i].noted));
        settle_for_minutes(world);
        assert_former(world, id, rows[i].attached);
        ck_assert_msg(deleted(&glance) == !rows[i].is_complete, "row %zu", i);
        ck_assert_msg(world_has_message(world, id, "VOLUME_VOLUME_003_004") == !rows[i].is_complete,
                      "row %zu", i);
        world_free(world);
        glance_end(&glance);
    }
}
END_TEST

START_TEST(the_size_of_an_image_is_noted_before_it_is_sent) {
    struct world *world = world_with_images();
    const char *id = volume_of(world, false);
    struct glance glance;

    glance_begin(&glance, world);
    show(&glance, DESCRIBED("\"status\": \"queued\""), 1);
    show(&glance, DESCRIBED("\"status\": \"active\", \"size\": 393216"), 0);
    script_server_add(glance.server,
                      &(struct script_rule){ "PUT", BY_ID "/file", .manner = SCRIPT_CLOSE });
    ck_assert_int_eq(world_action(world, id, UPLOAD, "qcow2"), 202);
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "uploading");
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations WHERE arguments = "
                                        "'{\"image_id\":\"" IMAGES_ID "\",\"disk_format\":"
                                        "\"qcow2\",\"project_id\":\"" WORLD_PROJECT
                                        "\",\"bytes\":393216}'"),
                     1);
    settle_for_minutes(world);
    assert_former(world, id, false);
    ck_assert_uint_eq(deleted(&glance), 0);
    ck_assert(!world_has_message(world, id, "VOLUME_VOLUME_003_004"));
    world_free(world);
    glance_end(&glance);
}
END_TEST

CHECK_MAIN("upload", a_failed_upload_leaves_the_former_status_and_a_message,
           a_message_names_the_place_without_space,
           an_attached_volume_needs_a_snapshot_below_its_guest,
           a_stop_between_any_two_steps_leaves_the_former_status,
           an_upload_that_is_reset_leaves_no_snapshot,
           an_upload_whose_volume_was_detached_leaves_no_snapshot, a_late_worker_leaves_no_snapshot,
           a_late_worker_repeats_its_clean_up, a_snapshot_is_deleted_when_the_storage_permits,
           a_worker_suspended_before_its_effect_deletes_no_image,
           an_image_of_an_earlier_worker_is_complete_or_deleted,
           the_size_of_an_image_is_noted_before_it_is_sent)
