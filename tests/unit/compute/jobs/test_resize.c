#include "tests/lib/check_main.h"

#include "common/gib.h"
#include "compute/jobs/resize.h"
#include "tests/lib/fake_hypervisor.h"

#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#define VOLUME   "11111111-1111-4111-8111-111111111111"
#define INSTANCE "22222222-2222-4222-8222-222222222222"

/* A host with a running guest that has a disk of 1 GiB, and a volume that shall have 3 GB. */
struct scene {
    struct fake_hypervisor *fake;
    struct arena *arena;
    struct disk disk;
    struct remote_attachment attachments[2];
    struct remote_volume volume;
    struct resize resize;
    struct error err;
    char folder[64];
};

static struct scene *scene_new(void) {
    struct scene *scene = calloc(1, sizeof(*scene));

    scene->fake = fake_hypervisor_new();
    scene->arena = arena_new();
    scene->disk = (struct disk){
        .state = DISK_RUNNING,
        .instance_uuid = INSTANCE,
        .target = "vda",
        .format = "raw",
        .capacity = GIB,
    };
    fake_hypervisor_put(scene->fake, VOLUME, &scene->disk);
    scene->attachments[0] = (struct remote_attachment){ .instance_uuid = INSTANCE, .host = "here" };
    scene->volume = (struct remote_volume){
        .id = VOLUME,
        .status = "extending",
        .size_gb = 1,
        .has_target = true,
        .target_gb = 3,
        .attachments = scene->attachments,
        .attachment_count = 1,
    };
    scene->resize = (struct resize){
        .hypervisor = fake_hypervisor_of(scene->fake),
        .host = "here",
        .instance_uuid = INSTANCE,
        .volume = &scene->volume,
    };
    return scene;
}

static void scene_end(struct scene *scene) {
    if (scene->folder[0]) {
        unlink(scene->disk.source);
        rmdir(scene->folder);
    }
    arena_free(scene->arena);
    fake_hypervisor_free(scene->fake);
    free(scene);
}

/* The guest is off; its image is a sparse file of `bytes`. */
static void turn_off(struct scene *scene, int64_t bytes) {
    FILE *file;

    strcpy(scene->folder, "/tmp/scoria-resize-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(scene->folder));
    snprintf(scene->disk.source, sizeof(scene->disk.source), "%s/image", scene->folder);
    file = fopen(scene->disk.source, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(ftruncate(fileno(file), bytes), 0);
    fclose(file);
    scene->disk.state = DISK_OFF;
    scene->disk.capacity = 0;
    fake_hypervisor_put(scene->fake, VOLUME, &scene->disk);
}

static int64_t file_size(const struct scene *scene) {
    struct stat status;

    ck_assert_int_eq(stat(scene->disk.source, &status), 0);
    return status.st_size;
}

static enum resize_outcome to_target(struct scene *scene) {
    return resize_to_target(&scene->resize, scene->arena, &scene->err);
}

static enum resize_outcome to_size(struct scene *scene) {
    return resize_to_size(&scene->resize, scene->arena, &scene->err);
}

static unsigned grows(const struct scene *scene) {
    return fake_hypervisor_count(scene->fake, FAKE_GROW_DISK);
}

static int64_t capacity(const struct scene *scene) {
    return fake_hypervisor_capacity(scene->fake, VOLUME);
}

START_TEST(a_running_disk_grows_to_the_target_not_to_the_size) {
    struct scene *scene = scene_new();

    ck_assert_int_eq(to_target(scene), RESIZE_DONE);
    ck_assert_int_eq(capacity(scene), 3 * GIB);
    ck_assert_uint_eq(grows(scene), 1);
    scene_end(scene);
}
END_TEST

START_TEST(a_target_that_is_no_larger_size_fails_untouched) {
    static const int64_t targets[] = { 0, 1 };

    for (size_t i = 0; i < LENGTH(targets); i++) {
        struct scene *scene = scene_new();

        scene->volume.target_gb = targets[i];
        ck_assert_int_eq(to_target(scene), RESIZE_FAILED);
        ck_assert_int_eq(scene->err.kind, ERROR_BAD_REQUEST);
        ck_assert_int_eq(capacity(scene), GIB);
        ck_assert_uint_eq(grows(scene), 0);
        scene_end(scene);
    }
}
END_TEST

START_TEST(a_capacity_equal_to_the_target_is_success_without_a_call) {
    struct scene *scene = scene_new();

    scene->disk.capacity = 3 * GIB;
    scene->disk.job = true; /* needs nothing, so waits for nothing */
    fake_hypervisor_put(scene->fake, VOLUME, &scene->disk);
    ck_assert_int_eq(to_target(scene), RESIZE_DONE);
    ck_assert_uint_eq(grows(scene), 0);
    scene_end(scene);
}
END_TEST

START_TEST(a_capacity_above_the_target_fails_untouched) {
    struct scene *scene = scene_new();

    scene->disk.capacity = 4 * GIB;
    fake_hypervisor_put(scene->fake, VOLUME, &scene->disk);
    ck_assert_int_eq(to_target(scene), RESIZE_FAILED);
    ck_assert_int_eq(capacity(scene), 4 * GIB);
    ck_assert_uint_eq(grows(scene), 0);
    scene_end(scene);
}
END_TEST

START_TEST(a_read_only_disk_fails_untouched) {
    struct scene *scene = scene_new();

    scene->disk.read_only = true;
    fake_hypervisor_put(scene->fake, VOLUME, &scene->disk);
    ck_assert_int_eq(to_target(scene), RESIZE_FAILED);
    ck_assert_int_eq(capacity(scene), GIB);
    ck_assert_uint_eq(grows(scene), 0);
    scene_end(scene);
}
END_TEST

START_TEST(a_block_job_is_waited_for) {
    struct scene *scene = scene_new();

    scene->disk.job = true;
    fake_hypervisor_put(scene->fake, VOLUME, &scene->disk);
    ck_assert_int_eq(to_target(scene), RESIZE_BUSY);
    ck_assert_int_eq(capacity(scene), GIB);
    ck_assert_uint_eq(grows(scene), 0);
    scene_end(scene);
}
END_TEST

START_TEST(success_is_verified_by_reading_back) {
    struct scene *scene = scene_new();

    fake_hypervisor_pretend(scene->fake);
    ck_assert_int_eq(to_target(scene), RESIZE_FAILED);
    ck_assert_ptr_nonnull(strstr(scene->err.message, "after it was grown"));
    scene_end(scene);
}
END_TEST

START_TEST(a_failure_that_took_effect_is_success) {
    struct scene *scene = scene_new();

    fake_hypervisor_fail(scene->fake, FAKE_GROW_DISK, ERROR_BACKEND, 1, true);
    ck_assert_int_eq(to_target(scene), RESIZE_DONE);
    ck_assert_int_eq(capacity(scene), 3 * GIB);
    scene_end(scene);
}
END_TEST

START_TEST(failures_of_the_call_are_distinguished) {
    static const struct {
        enum error_kind kind;
        enum resize_outcome outcome;
    } rows[] = {
        { ERROR_BACKEND, RESIZE_FAILED },
        { ERROR_CONFLICT, RESIZE_BUSY },
        { ERROR_UNAVAILABLE, RESIZE_UNREACHABLE },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct scene *scene = scene_new();

        fake_hypervisor_fail(scene->fake, FAKE_GROW_DISK, rows[i].kind, 1, false);
        ck_assert_int_eq(to_target(scene), rows[i].outcome);
        ck_assert_ptr_nonnull(strstr(scene->err.message, "a fault of the test"));
        ck_assert_int_eq(capacity(scene), GIB);
        scene_end(scene);
    }
}
END_TEST

static void *grow_to_target(void *arg) {
    struct scene *scene = arg;

    return (void *)(intptr_t)to_target(scene);
}

/* libvirt's error about a guest that ends in the call is any; the query after it decides. */
START_TEST(a_guest_that_goes_off_in_the_call_is_tried_again) {
    struct scene *scene = scene_new();
    pthread_t thread;
    void *outcome;

    fake_hypervisor_fail(scene->fake, FAKE_GROW_DISK, ERROR_BACKEND, 1, false);
    fake_hypervisor_hold(scene->fake);
    ck_assert_int_eq(pthread_create(&thread, NULL, grow_to_target, scene), 0);
    fake_hypervisor_await_held(scene->fake);
    turn_off(scene, GIB);
    fake_hypervisor_release(scene->fake);
    pthread_join(thread, &outcome);
    ck_assert_int_eq((intptr_t)outcome, RESIZE_BUSY);
    ck_assert_ptr_nonnull(strstr(scene->err.message, "a fault of the test"));
    ck_assert_int_eq(file_size(scene), GIB);
    ck_assert_int_eq(to_target(scene), RESIZE_DONE); /* the other way */
    ck_assert_int_eq(file_size(scene), 3 * GIB);
    scene_end(scene);
}
END_TEST

START_TEST(failures_of_queries_are_distinguished) {
    static const struct {
        enum error_kind kind;
        enum resize_outcome outcome;
    } rows[] = {
        { ERROR_BACKEND, RESIZE_FAILED },
        { ERROR_CONFLICT, RESIZE_BUSY },
        { ERROR_UNAVAILABLE, RESIZE_UNREACHABLE },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct scene *scene = scene_new();

        fake_hypervisor_fail(scene->fake, FAKE_FIND_DISK, rows[i].kind, 2, false);
        ck_assert_int_eq(to_target(scene), rows[i].outcome);
        ck_assert_int_eq(to_size(scene), rows[i].outcome);
        ck_assert_int_eq(capacity(scene), GIB);
        ck_assert_uint_eq(grows(scene), 0);
        scene_end(scene);
    }
}
END_TEST

START_TEST(an_unattached_disk_fails) {
    struct scene *scene = scene_new();

    fake_hypervisor_remove(scene->fake, VOLUME);
    ck_assert_int_eq(to_target(scene), RESIZE_FAILED);
    ck_assert_int_eq(scene->err.kind, ERROR_NOT_FOUND);
    scene->attachments[0].host = NULL;
    ck_assert_int_eq(to_target(scene), RESIZE_FAILED);
    scene->volume.attachment_count = 0;
    ck_assert_int_eq(to_target(scene), RESIZE_FAILED);
    scene_end(scene);
}
END_TEST

START_TEST(a_disk_on_another_host_is_left_to_it) {
    struct scene *scene = scene_new();

    fake_hypervisor_remove(scene->fake, VOLUME);
    scene->attachments[1] =
        (struct remote_attachment){ .instance_uuid = INSTANCE, .host = "there" };
    scene->volume.attachment_count = 2;
    ck_assert_int_eq(to_target(scene), RESIZE_NOT_OURS);
    scene_end(scene);
}
END_TEST

START_TEST(a_disk_of_another_instance_is_not_the_one) {
    struct scene *scene = scene_new();

    scene->resize.instance_uuid = "33333333-3333-4333-8333-333333333333";
    ck_assert_int_eq(to_target(scene), RESIZE_FAILED);
    ck_assert_uint_eq(grows(scene), 0);
    scene->resize.instance_uuid = NULL; /* any */
    ck_assert_int_eq(to_target(scene), RESIZE_DONE);
    scene_end(scene);
}
END_TEST

START_TEST(the_image_of_a_guest_that_is_off_is_grown_and_read_back) {
    struct scene *scene = scene_new();

    turn_off(scene, GIB);
    ck_assert_int_eq(to_target(scene), RESIZE_DONE);
    ck_assert_int_eq(file_size(scene), 3 * GIB);
    ck_assert_uint_eq(grows(scene), 0);
    scene_end(scene);
}
END_TEST

START_TEST(an_image_already_large_enough_is_success_and_a_larger_one_fails) {
    struct scene *scene = scene_new();

    turn_off(scene, 3 * GIB);
    ck_assert_int_eq(to_target(scene), RESIZE_DONE);
    ck_assert_int_eq(truncate(scene->disk.source, 5 * GIB), 0);
    ck_assert_int_eq(to_target(scene), RESIZE_FAILED);
    ck_assert_int_eq(file_size(scene), 5 * GIB);
    scene_end(scene);
}
END_TEST

START_TEST(an_image_that_cannot_be_reached_fails) {
    struct scene *scene = scene_new();

    turn_off(scene, GIB);
    unlink(scene->disk.source);
    ck_assert_int_eq(to_target(scene), RESIZE_FAILED);
    scene_end(scene);
}
END_TEST

START_TEST(any_other_status_follows_the_size_field) {
    struct scene *scene = scene_new();

    scene->volume.status = "in-use";
    scene->volume.size_gb = 2;
    ck_assert_int_eq(to_size(scene), RESIZE_DONE);
    ck_assert_int_eq(capacity(scene), 2 * GIB);
    scene_end(scene);
}
END_TEST

START_TEST(a_size_field_below_the_capacity_shrinks_nothing) {
    struct scene *scene = scene_new();

    scene->disk.capacity = 3 * GIB;
    fake_hypervisor_put(scene->fake, VOLUME, &scene->disk);
    ck_assert_int_eq(to_size(scene), RESIZE_DONE);
    ck_assert_int_eq(capacity(scene), 3 * GIB);
    ck_assert_uint_eq(grows(scene), 0);
    scene_end(scene);
}
END_TEST

START_TEST(the_size_field_means_nothing_to_a_guest_that_is_off) {
    struct scene *scene = scene_new();

    turn_off(scene, GIB);
    scene->volume.size_gb = 2;
    ck_assert_int_eq(to_size(scene), RESIZE_DONE);
    ck_assert_int_eq(file_size(scene), GIB);
    scene_end(scene);
}
END_TEST

START_TEST(the_image_decides_whether_the_target_was_reached) {
    struct scene *scene = scene_new();

    ck_assert(!resize_reached_target(&scene->resize, scene->arena)); /* never seen */
    turn_off(scene, GIB);
    scene->resize.disk = scene->disk;
    ck_assert(!resize_reached_target(&scene->resize, scene->arena));
    ck_assert_int_eq(truncate(scene->disk.source, 3 * GIB), 0);
    ck_assert(resize_reached_target(&scene->resize, scene->arena));
    unlink(scene->disk.source);
    ck_assert(!resize_reached_target(&scene->resize, scene->arena));
    scene_end(scene);
}
END_TEST

CHECK_MAIN("resize", a_running_disk_grows_to_the_target_not_to_the_size,
           a_target_that_is_no_larger_size_fails_untouched,
           a_capacity_equal_to_the_target_is_success_without_a_call,
           a_capacity_above_the_target_fails_untouched, a_read_only_disk_fails_untouched,
           a_block_job_is_waited_for, success_is_verified_by_reading_back,
           a_failure_that_took_effect_is_success, failures_of_the_call_are_distinguished,
           a_guest_that_goes_off_in_the_call_is_tried_again, failures_of_queries_are_distinguished,
           an_unattached_disk_fails, a_disk_on_another_host_is_left_to_it,
           a_disk_of_another_instance_is_not_the_one,
           the_image_of_a_guest_that_is_off_is_grown_and_read_back,
           an_image_already_large_enough_is_success_and_a_larger_one_fails,
           an_image_that_cannot_be_reached_fails, any_other_status_follows_the_size_field,
           a_size_field_below_the_capacity_shrinks_nothing,
           the_size_field_means_nothing_to_a_guest_that_is_off,
           the_image_decides_whether_the_target_was_reached)
