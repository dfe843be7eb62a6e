/*
 * What a bit of struct driver's features promises, asked of every driver that sets it.
 */
#include "tests/contract/driver_subject.h"

/* What the only pool reports of itself. */
static bool reports(struct place *place, const char *capability) {
    struct bench *bench = &place->bench;
    struct driver_pool *pools;
    bool result;

    ck_assert_int_eq(bench->driver->get_pools(bench->handle, bench->arena, &pools, &bench->err), 1);
    result = json_is_true(json_object_get(pools->capabilities, capability));
    json_decref(pools->capabilities);
    return result;
}

/* Grown here, or left to the compute side as it is. */
static void extend_attached(struct place *place, bool reported) {
    struct driver_volume volume = a_volume(place);
    enum driver_outcome outcome;

    ck_assert(reported);
    assert_created(place, &volume);
    volume.attached = true;
    outcome = bench_extend(&place->bench, &volume, 2);
    ck_assert_msg(outcome != DRIVER_FAILED, "%s: %s", place->subject->name,
                  place->bench.err.message);
    ck_assert_int_eq(bench_size(&place->bench, &volume), outcome == DRIVER_DONE ? 2 * GIB : GIB);
}

/* Made for several guests and given to more than one, or refused by a pool that says so. */
static void share_volume(struct place *place, bool reported) {
    struct driver_volume volume = a_volume(place);

    volume.multiattach = true;
    if (!reported) {
        ck_assert_int_eq(bench_create(&place->bench, &volume), -1);
        ck_assert_int_eq(place->bench.err.kind, ERROR_BAD_REQUEST);
        return;
    }
    assert_created(place, &volume);
    volume.attached = true;
    for (int i = 0; i <= 1; i++) {
        json_t *info = NULL;

        ck_assert_int_eq(connect_volume(place, &volume, &info), 0);
        json_decref(info);
    }
}

static int64_t room_taken(struct place *place) {
    struct driver_volume volume = a_volume(place);
    struct stat status;
    autoclose int fd = -1;

    assert_created(place, &volume);
    fd = open_image(place);
    ck_assert_int_eq(fstat(fd, &status), 0);
    return (int64_t)status.st_blocks * 512;
}

static void take_room_late(struct place *place, bool reported) {
    if (reported && place->subject->driver != &memory_driver)
        ck_assert_int_lt(room_taken(place), GIB / 4);
}

static void take_room_at_once(struct place *place, bool reported) {
    if (reported && place->subject->driver != &memory_driver)
        ck_assert_int_ge(room_taken(place), GIB);
}

/* One row for each of driver_features. */
static const struct {
    unsigned bit;
    void (*promise)(struct place *place, bool reported);
} promises[] = {
    { DRIVER_MULTIATTACH, share_volume },
    { DRIVER_ONLINE_EXTEND, extend_attached },
    { DRIVER_THIN, take_room_late },
    { DRIVER_THICK, take_room_at_once },
};

/* What pools report is true only where the bit is set. */
static void keep_promise(size_t i, const struct driver_feature_row *row,
                         const struct subject *subject, bool filtered) {
    struct place place;
    bool reported;

    open_place(&place, subject, filtered);
    reported = row->capability && reports(&place, row->capability);
    if (subject->driver->features & row->bit)
        promises[i].promise(&place, reported);
    else
        ck_assert_msg(!reported, "%s: %s", subject->name, row->name);
    bench_close(&place.bench);
}

START_TEST(whoever_sets_a_bit_keeps_its_promise) {
    unsigned known = 0;

    for (const struct driver_feature_row *row = driver_features; row->name; row++) {
        size_t i = 0;

        while (i < LENGTH(promises) && promises[i].bit != row->bit)
            i++;
        ck_assert_msg(i < LENGTH(promises), "%s is not tested", row->name);
        known |= row->bit;
        for (size_t j = 0; j < LENGTH(subjects) * 2; j++)
            keep_promise(i, row, &subjects[j / 2], j % 2);
    }
    for (size_t i = 0; drivers[i]; i++)
        ck_assert_msg((drivers[i]->features & ~known) == 0, "%s has a feature without a name",
                      drivers[i]->name);
}
END_TEST

static bool is_subject(const struct driver *driver) {
    for (size_t i = 0; i < LENGTH(subjects); i++) {
        if (subjects[i].driver == driver)
            return true;
    }
    return false;
}

START_TEST(every_driver_is_asked) {
    for (size_t i = 0; drivers[i]; i++)
        ck_assert_msg(is_subject(drivers[i]) || drivers[i] == &fault_driver, "%s",
                      drivers[i]->name);
}
END_TEST

CHECK_MAIN("driver features", whoever_sets_a_bit_keeps_its_promise, every_driver_is_asked)
