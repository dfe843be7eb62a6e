/*
 * The contract of driver.h, tested with every driver, alone and behind the fault filter.
 */
#include "tests/contract/driver_subject.h"

#include <pthread.h>

struct listed {
    unsigned count;
    int64_t bytes;
    char name_id[64];
};

static void note(void *arg, const char *name_id, int64_t bytes) {
    struct listed *listed = arg;

    listed->count++;
    listed->bytes = bytes;
    snprintf(listed->name_id, sizeof(listed->name_id), "%s", name_id);
}

static void assert_listed(struct place *place, const struct driver_volume *volume,
                          int64_t size_gb) {
    struct bench *bench = &place->bench;
    struct listed listed = { .count = 0 };
    bool qcow2 = strcmp(place->subject->format, "qcow2") == 0;

    ck_assert_int_eq(
        bench->driver->list_volumes(bench->handle, bench->arena, note, &listed, &bench->err), 0);
    ck_assert_uint_eq(listed.count, size_gb > 0);
    if (size_gb == 0)
        return;
    ck_assert_str_eq(listed.name_id, volume->name_id);
    ck_assert_int_eq(listed.bytes, qcow2 ? -1 : size_gb * GIB);
}

static void assert_gone(struct place *place, const struct driver_volume *volume) {
    place->bench.err.kind = ERROR_NONE;
    ck_assert_int_eq(bench_size(&place->bench, volume), -1);
    ck_assert_int_eq(place->bench.err.kind, ERROR_NOT_FOUND);
    assert_listed(place, volume, 0);
}

static void create_twice(struct place *place) {
    struct driver_volume volume = a_volume(place), again = a_volume(place);

    assert_created(place, &volume);
    ck_assert_str_eq(volume.format, place->subject->format);
    ck_assert_int_eq(bench_size(&place->bench, &volume), GIB);
    assert_created(place, &again);
    ck_assert_str_eq(again.format, volume.format);
    ck_assert_str_eq(again.provider_location, volume.provider_location);
    ck_assert_int_eq(bench_size(&place->bench, &again), GIB);
    assert_listed(place, &volume, 1);

    again.size_gb = 2;
    ck_assert_int_eq(bench_create(&place->bench, &again), -1);
    ck_assert_int_eq(place->bench.err.kind, ERROR_BACKEND);
    ck_assert_int_eq(bench_size(&place->bench, &volume), GIB);
    assert_listed(place, &volume, 1);
}

START_TEST(create_twice_makes_one_volume) {
    each_subject(create_twice);
}
END_TEST

static void delete_twice(struct place *place) {
    struct driver_volume volume = a_volume(place), unmade = a_volume(place);

    ck_assert_int_eq(bench_delete(&place->bench, &unmade), 0);
    assert_created(place, &volume);
    ck_assert_int_eq(bench_delete(&place->bench, &volume), 0);
    assert_gone(place, &volume);
    ck_assert_int_eq(bench_delete(&place->bench, &volume), 0);

    /* The create's answer was lost: the record knows neither place nor format. */
    assert_created(place, &volume);
    ck_assert_int_eq(bench_delete(&place->bench, &unmade), 0);
    assert_gone(place, &volume);
}

START_TEST(delete_twice_is_fine) {
    each_subject(delete_twice);
}
END_TEST

static void extend_twice(struct place *place) {
    struct driver_volume volume = a_volume(place);

    assert_created(place, &volume);
    ck_assert_msg(bench_extend(&place->bench, &volume, 3) == DRIVER_DONE, "%s: %s",
                  place->subject->name, place->bench.err.message);
    ck_assert_int_eq(bench_size(&place->bench, &volume), 3 * GIB);
    ck_assert_int_eq(bench_extend(&place->bench, &volume, 3), DRIVER_DONE);
    ck_assert_int_eq(bench_extend(&place->bench, &volume, 2), DRIVER_DONE);
    ck_assert_int_eq(bench_size(&place->bench, &volume), 3 * GIB);
    assert_listed(place, &volume, 3);

    ck_assert_int_eq(bench_delete(&place->bench, &volume), 0);
    place->bench.err.kind = ERROR_NONE;
    ck_assert_int_eq(bench_extend(&place->bench, &volume, 4), DRIVER_FAILED);
    ck_assert_int_eq(place->bench.err.kind, ERROR_NOT_FOUND);
    assert_gone(place, &volume);
}

START_TEST(extend_twice_grows_once_and_never_shrinks) {
    each_subject(extend_twice);
}
END_TEST

/* Holds the bytes that a running guest holds: those of its own accesses, and those that it denies
 * to others. */
static void hold_image(const struct place *place, int fd) {
    static const int bytes[] = { 100, 101, 201, 203 };

    for (size_t i = 0; i < LENGTH(bytes); i++) {
        struct flock lock = {
            .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = bytes[i], .l_len = 1
        };

        ck_assert_msg(fcntl(fd, F_OFD_SETLK, &lock) == 0, "%s", place->subject->name);
    }
}

static void defer_to_guest(struct place *place) {
    struct driver_volume volume = a_volume(place);

    if (place->subject->contents)
        return;
    assert_created(place, &volume);
    volume.attached = true;
    {
        autoclose int guest = open_image(place);

        hold_image(place, guest);
        ck_assert_msg(bench_extend(&place->bench, &volume, 2) == DRIVER_DEFERRED, "%s: %s",
                      place->subject->name, place->bench.err.message);
        ck_assert_int_eq(bench_size(&place->bench, &volume), GIB);
    }
    ck_assert_msg(bench_extend(&place->bench, &volume, 2) == DRIVER_DONE, "%s: %s",
                  place->subject->name, place->bench.err.message);
    ck_assert_int_eq(bench_size(&place->bench, &volume), 2 * GIB);
}

/* R27, R28: attached is no reason to refuse, and a guest's lock is one to defer. */
START_TEST(an_image_that_a_guest_holds_is_deferred) {
    each_subject(defer_to_guest);
}
END_TEST

static void keep_for_guest(struct place *place) {
    struct driver_volume volume = a_volume(place);

    if (place->subject->contents)
        return;
    assert_created(place, &volume);
    {
        autoclose int guest = open_image(place);

        hold_image(place, guest);
        ck_assert_int_eq(bench_delete(&place->bench, &volume), -1);
        ck_assert_int_eq(place->bench.err.kind, ERROR_BACKEND);
        ck_assert_int_eq(bench_size(&place->bench, &volume), GIB);
    }
    ck_assert_msg(bench_delete(&place->bench, &volume) == 0, "%s: %s", place->subject->name,
                  place->bench.err.message);
    ck_assert_int_eq(bench_delete(&place->bench, &volume), 0);
}

START_TEST(an_image_that_a_guest_holds_is_not_deleted) {
    each_subject(keep_for_guest);
}
END_TEST

static int rename_volume(struct place *place, const struct driver_volume *volume, const char *to) {
    struct bench *bench = &place->bench;

    return bench->driver->rename_volume(bench->handle, bench->arena, volume, to, &bench->err);
}

static const char *const names[] = { "other-name", "third-name" };

static void rename_twice(struct place *place) {
    struct driver_volume volume = a_volume(place), old;
    json_t *info = NULL;
    const char *name;

    assert_created(place, &volume);
    old = volume;
    volume.name_id = names[0];
    for (int i = 0; i <= 1; i++) {
        ck_assert_msg(rename_volume(place, &old, names[0]) == 0, "%s: %s", place->subject->name,
                      place->bench.err.message);
        ck_assert_int_eq(bench_size(&place->bench, &volume), GIB);
        assert_listed(place, &volume, 1);
    }
    /* A late call under the old name finds nothing. */
    ck_assert_int_eq(bench_delete(&place->bench, &old), 0);
    ck_assert_int_eq(rename_volume(place, &old, names[1]), 0);
    ck_assert_int_eq(bench_extend(&place->bench, &old, 2), DRIVER_FAILED);
    ck_assert_int_eq(bench_size(&place->bench, &volume), GIB);
    assert_listed(place, &volume, 1);

    ck_assert_int_eq(connect_volume(place, &volume, &info), 0);
    name = json_string_value(json_object_get(json_object_get(info, "data"), "name"));
    ck_assert_ptr_nonnull(strstr(name, names[0]));
    json_decref(info);
    ck_assert_int_eq(bench_extend(&place->bench, &volume, 2), DRIVER_DONE);
    ck_assert_int_eq(bench_delete(&place->bench, &volume), 0);
    assert_gone(place, &volume);
    ck_assert_int_eq(rename_volume(place, &volume, names[1]), 0);
    assert_gone(place, &volume);
}

START_TEST(rename_twice_gives_one_name) {
    each_subject(rename_twice);
}
END_TEST

static void rename_over_another(struct place *place) {
    struct driver_volume volume = a_volume(place), other = a_volume(place);

    other.name_id = names[0];
    other.size_gb = 2;
    assert_created(place, &volume);
    assert_created(place, &other);
    ck_assert_int_eq(rename_volume(place, &volume, names[0]), -1);
    ck_assert_int_eq(place->bench.err.kind, ERROR_BACKEND);
    ck_assert_int_eq(bench_size(&place->bench, &volume), GIB);
    ck_assert_int_eq(bench_size(&place->bench, &other), 2 * GIB);
    ck_assert_int_eq(bench_delete(&place->bench, &other), 0);
}

START_TEST(rename_replaces_nothing) {
    each_subject(rename_over_another);
}
END_TEST

static void rename_to_itself(struct place *place) {
    struct driver_volume volume = a_volume(place);

    assert_created(place, &volume);
    ck_assert_int_eq(rename_volume(place, &volume, volume.name_id), 0);
    ck_assert_int_eq(bench_size(&place->bench, &volume), GIB);
    assert_listed(place, &volume, 1);
}

START_TEST(a_rename_to_its_own_name_keeps_an_object) {
    each_subject(rename_to_itself);
}
END_TEST

static void rename_fenced_off(struct place *place) {
    const struct driver_fence fence = { .holds = never_holds };
    struct driver_volume volume = a_volume(place);

    assert_created(place, &volume);
    volume.fence = &fence;
    ck_assert_int_eq(rename_volume(place, &volume, names[0]), -1);
    ck_assert_int_eq(place->bench.err.kind, ERROR_CONFLICT);
    ck_assert_int_eq(bench_size(&place->bench, &volume), GIB);
}

START_TEST(a_worker_without_its_lease_renames_nothing) {
    each_subject(rename_fenced_off);
}
END_TEST

static void rename_for_guest(struct place *place) {
    struct driver_volume volume = a_volume(place), old;

    if (place->subject->contents)
        return;
    assert_created(place, &volume);
    old = volume;
    {
        autoclose int guest = open_image(place);

        hold_image(place, guest);
        ck_assert_int_eq(rename_volume(place, &old, names[0]), 0);
        volume.name_id = names[0];
        ck_assert_int_eq(bench_delete(&place->bench, &volume), -1);
        ck_assert_int_eq(bench_size(&place->bench, &volume), GIB);
    }
}

START_TEST(an_image_that_a_guest_holds_is_renamed_below_it) {
    each_subject(rename_for_guest);
}
END_TEST

static void extend_too_far(struct place *place) {
    struct driver_volume volume = a_volume(place);

    assert_created(place, &volume);
    place->bench.err.kind = ERROR_NONE;
    ck_assert_int_eq(bench_extend(&place->bench, &volume, 1 << 30), DRIVER_FAILED);
    ck_assert_int_eq(place->bench.err.kind, ERROR_BACKEND);
    ck_assert_int_eq(bench_size(&place->bench, &volume), GIB);
}

START_TEST(extend_beyond_the_capacity_changes_nothing) {
    each_subject(extend_too_far);
}
END_TEST

/* The keys by which guests' hosts find the image, as in driver.h. */
static void assert_found_by(const json_t *info) {
    const char *type = json_string_value(json_object_get(info, "driver_volume_type"));
    const json_t *data = json_object_get(info, "data");

    if (strcmp(type, "local") == 0 || strcmp(type, "gpfs") == 0) {
        ck_assert(json_is_string(json_object_get(data, "device_path")));
        return;
    }
    ck_assert(strcmp(type, "nfs") == 0 || strcmp(type, "quobyte") == 0);
    ck_assert(json_is_string(json_object_get(data, "export")));
    ck_assert(json_is_string(json_object_get(info, "mount_point_base")));
}

static void connect_twice(struct place *place) {
    struct driver_volume volume = a_volume(place);
    json_t *first, *second, *data, *none = NULL;

    assert_created(place, &volume);
    ck_assert_msg(connect_volume(place, &volume, &first) == 0, "%s: %s", place->subject->name,
                  place->bench.err.message);
    ck_assert_int_eq(connect_volume(place, &volume, &second), 0);
    ck_assert(json_equal(first, second));
    ck_assert(json_is_string(json_object_get(first, "driver_volume_type")));
    data = json_object_get(first, "data");
    ck_assert_str_eq(json_string_value(json_object_get(data, "format")), place->subject->format);
    ck_assert(json_is_string(json_object_get(data, "name")));
    assert_found_by(first);
    json_decref(second);

    ck_assert_int_eq(bench_extend(&place->bench, &volume, 2), DRIVER_DONE);
    ck_assert_int_eq(connect_volume(place, &volume, &second), 0); /* X24: larger than its record */
    ck_assert(json_equal(first, second));
    json_decref(first);
    json_decref(second);

    ck_assert_int_eq(bench_delete(&place->bench, &volume), 0);
    ck_assert_int_eq(connect_volume(place, &volume, &none), -1);
    ck_assert_int_eq(place->bench.err.kind, ERROR_NOT_FOUND);
}

START_TEST(connect_takes_an_image_larger_than_its_record) {
    each_subject(connect_twice);
}
END_TEST

static void report_pools(struct place *place) {
    struct bench *bench = &place->bench;
    struct driver_pool *pools;
    int count = bench->driver->get_pools(bench->handle, bench->arena, &pools, &bench->err);

    ck_assert_int_eq(count, 1);
    ck_assert_str_eq(pools[0].name, a_volume(place).pool);
    ck_assert(pools[0].total_gb > 0 && pools[0].free_gb <= pools[0].total_gb);
    ck_assert(json_is_true(json_object_get(pools[0].capabilities, "online_extend_support")));
    ck_assert(json_is_boolean(json_object_get(pools[0].capabilities, "multiattach")));
    json_decref(pools[0].capabilities);
}

START_TEST(pools_report_their_capacity) {
    each_subject(report_pools);
}
END_TEST

/* One character too many. */
#define LONG_ID "01234567890123456789012345678901234567890123456789012345678901234"

static void refuse_tricks(struct place *place) {
    static const char *const tricks[] = { "../x", "a/b", "..", "", ".new", "a b", "a.b", LONG_ID };
    struct driver_volume volume = a_volume(place);
    int64_t bytes;
    json_t *info;

    if (place->subject->contents)
        return; /* a name is no path there */
    assert_created(place, &volume);
    for (size_t i = 0; i < LENGTH(tricks); i++) {
        struct bench *bench = &place->bench;
        struct driver_created created;

        volume.name_id = tricks[i];
        ck_assert_int_eq(bench->driver->create_volume(bench->handle, bench->arena, &volume,
                                                      &created, &bench->err),
                         -1);
        ck_assert_int_eq(bench_delete(&place->bench, &volume), -1);
        ck_assert_int_eq(bench_extend(bench, &volume, 2), DRIVER_FAILED);
        ck_assert_int_eq(
            bench->driver->get_size(bench->handle, bench->arena, &volume, &bytes, &bench->err), -1);
        ck_assert_int_eq(connect_volume(place, &volume, &info), -1);
        ck_assert_int_eq(bench->err.kind, ERROR_BAD_REQUEST);
    }
    volume = a_volume(place);
    assert_listed(place, &volume, 1);
}

START_TEST(an_id_that_is_a_path_is_refused) {
    each_subject(refuse_tricks);
}
END_TEST

/* ---- faults ---- */

static void order(struct place *place, const char *call, enum fault_action action) {
    place->order = (struct fault_order){ .call = call, .action = action };
}

/* Done and reported as failed: the repeat must end where one good call would have. */
static void repeat_after_lost_answers(struct place *place) {
    struct driver_volume volume = a_volume(place);
    json_t *info = NULL;

    order(place, "create_volume", FAULT_AFTER);
    ck_assert_int_eq(bench_create(&place->bench, &volume), -1);
    assert_created(place, &volume);
    assert_listed(place, &volume, 1);

    order(place, "extend_volume", FAULT_AFTER);
    ck_assert_int_eq(bench_extend(&place->bench, &volume, 2), DRIVER_FAILED);
    ck_assert_int_eq(bench_size(&place->bench, &volume), 2 * GIB);
    ck_assert_int_eq(bench_extend(&place->bench, &volume, 2), DRIVER_DONE);
    ck_assert_int_eq(bench_size(&place->bench, &volume), 2 * GIB);

    order(place, "connect", FAULT_AFTER);
    ck_assert_int_eq(connect_volume(place, &volume, &info), -1);
    ck_assert_ptr_null(info);
    order(place, "get_size", FAULT_AFTER);
    ck_assert_int_eq(bench_size(&place->bench, &volume), -1);

    order(place, "delete_volume", FAULT_AFTER);
    ck_assert_int_eq(bench_delete(&place->bench, &volume), -1);
    ck_assert_int_eq(bench_delete(&place->bench, &volume), 0);
    assert_gone(place, &volume);
}

START_TEST(a_repeat_after_a_lost_answer_does_nothing) {
    each_subject_filtered(repeat_after_lost_answers);
}
END_TEST

static void fail_before(struct place *place) {
    struct driver_volume volume = a_volume(place);

    order(place, "create_volume", FAULT_BEFORE);
    ck_assert_int_eq(bench_create(&place->bench, &volume), -1);
    assert_listed(place, &volume, 0);
    assert_created(place, &volume);
    order(place, "extend_volume", FAULT_BEFORE);
    ck_assert_int_eq(bench_extend(&place->bench, &volume, 2), DRIVER_FAILED);
    ck_assert_int_eq(bench_size(&place->bench, &volume), GIB);
    order(place, "delete_volume", FAULT_BEFORE);
    ck_assert_int_eq(bench_delete(&place->bench, &volume), -1);
    assert_listed(place, &volume, 1);
}

START_TEST(a_fault_before_changes_nothing) {
    each_subject_filtered(fail_before);
}
END_TEST

static void crash_and_return(struct place *place) {
    struct driver_volume volume = a_volume(place);

    assert_created(place, &volume);
    order(place, "extend_volume", FAULT_CRASH_AFTER);
    ck_assert_int_eq(bench_extend(&place->bench, &volume, 2), DRIVER_FAILED);
    ck_assert(fault_crashed(place->bench.handle));
    ck_assert_int_eq(bench_size(&place->bench, &volume), -1);
    ck_assert_int_eq(place->bench.err.kind, ERROR_UNAVAILABLE);
    fault_reset(place->bench.handle);
    ck_assert_int_eq(bench_size(&place->bench, &volume), 2 * GIB);
}

START_TEST(after_a_crash_every_call_fails_until_the_restart) {
    each_subject_filtered(crash_and_return);
}
END_TEST

/* ---- files only ---- */

static void reopen(struct place *place) {
    struct driver_volume volume = a_volume(place);

    if (place->subject->contents)
        return;
    assert_created(place, &volume);
    place->bench.driver->close(place->bench.handle);
    place->bench.handle = NULL;
    place->bench.driver = place->subject->driver;
    ck_assert_int_eq(bench_try_open(&place->bench), 0);
    ck_assert_int_eq(bench_size(&place->bench, &volume), GIB);
    assert_created(place, &volume);
    assert_listed(place, &volume, 1);
}

START_TEST(a_restart_needs_nothing_but_the_files) {
    each_subject(reopen);
}
END_TEST

/* ---- threads ---- */

#define THREADS 4
#define ROUNDS  5

struct rider {
    struct place *place;
    pthread_t thread;
    char name_id[24];
    int failures;
};

/* One volume's whole life, again and again, with a look at the pools between. */
static void *ride(void *arg) {
    struct rider *rider = arg;
    struct bench bench = rider->place->bench; /* the same handle; arena and error of its own */
    struct driver_pool *pools;

    bench.arena = arena_new();
    for (int i = 0; i < ROUNDS; i++) {
        struct driver_volume volume = a_volume(rider->place);

        volume.name_id = rider->name_id;
        rider->failures += bench_create(&bench, &volume) != 0;
        rider->failures += bench_extend(&bench, &volume, 2) != DRIVER_DONE;
        rider->failures += bench_size(&bench, &volume) != 2 * GIB;
        if (bench.driver->get_pools(bench.handle, bench.arena, &pools, &bench.err) == 1)
            json_decref(pools->capabilities);
        else
            rider->failures++;
        rider->failures +=
            bench.driver->delete_volume(bench.handle, bench.arena, &volume, &bench.err) != 0;
    }
    arena_free(bench.arena);
    return NULL;
}

static void ride_together(struct place *place) {
    struct rider riders[THREADS];

    for (int i = 0; i < THREADS; i++) {
        riders[i] = (struct rider){ .place = place };
        snprintf(riders[i].name_id, sizeof(riders[i].name_id), "rider-%d", i);
        ck_assert_int_eq(pthread_create(&riders[i].thread, NULL, ride, &riders[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(riders[i].thread, NULL), 0);
        ck_assert_int_eq(riders[i].failures, 0);
    }
    assert_listed(place, NULL, 0);
}

START_TEST(different_volumes_do_not_disturb_each_other) {
    each_subject(ride_together);
}
END_TEST

CHECK_MAIN("driver contract", create_twice_makes_one_volume, delete_twice_is_fine,
           extend_twice_grows_once_and_never_shrinks, an_image_that_a_guest_holds_is_deferred,
           an_image_that_a_guest_holds_is_not_deleted, rename_twice_gives_one_name,
           rename_replaces_nothing, a_rename_to_its_own_name_keeps_an_object,
           a_worker_without_its_lease_renames_nothing,
           an_image_that_a_guest_holds_is_renamed_below_it,
           extend_beyond_the_capacity_changes_nothing,
           connect_takes_an_image_larger_than_its_record, pools_report_their_capacity,
           an_id_that_is_a_path_is_refused, a_repeat_after_a_lost_answer_does_nothing,
           a_fault_before_changes_nothing, after_a_crash_every_call_fails_until_the_restart,
           a_restart_needs_nothing_but_the_files, different_volumes_do_not_disturb_each_other)
