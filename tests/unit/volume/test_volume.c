#include "volume/volume.h"

#include "tests/lib/work_test.h"

static void put_made(struct work *work, const char *id, const char *host) {
    put_volume(work, id, PROJECT, NULL, 1, true, host);
    sql(work, "UPDATE volumes SET provider_location = 'at-%s' WHERE id = '%s'", id, id);
}

/* Whatever order the column has: what stands elsewhere in a sorted list is the same text or not. */
WORK_TEST(only_a_backends_own_volumes_are_recorded_there) {
    if (postgresql_given())
        sql(work, "ALTER TABLE volumes ALTER COLUMN host TYPE TEXT COLLATE \"en-x-icu\"");
    put_made(work, "v1", "node@FAST#pool");
    put_made(work, "v2", "node@fast-2#pool");
    put_made(work, "v3", "node@fas");
    put_volume(work, "v4", PROJECT, NULL, 1, true, "node@fast#pool"); /* never made */
    put_volume(work, "v5", PROJECT, NULL, 1, true, NULL);
    ck_assert_int_eq(volume_recorded(work, "node@fast", NULL, NULL, err), 0);
    ck_assert_int_eq(volume_recorded(work, "node@FAST", NULL, NULL, err), 1);
    ck_assert_int_eq(volume_recorded(work, "node@fast-2", NULL, NULL, err), 1);
    put_made(work, "v6", "node@fast#Pool");
    ck_assert_int_eq(volume_recorded(work, "node@fast", NULL, NULL, err), 1);
}

WORK_TEST(a_recorded_volume_is_found_by_its_place_and_its_name) {
    put_made(work, "v1", "node@b#pool");
    put_made(work, "v2", "node@b#pool");
    sql(work, "UPDATE volumes SET name_id = 'n2' WHERE id = 'v2'");
    ck_assert_int_eq(volume_recorded(work, "node@b", "at-v1", NULL, err), 1);
    ck_assert_int_eq(volume_recorded(work, "node@b", "at-v3", NULL, err), 0);
    ck_assert_int_eq(volume_recorded(work, "node@b", NULL, "v1", err), 1);
    ck_assert_int_eq(volume_recorded(work, "node@b", NULL, "n2", err), 1);
    ck_assert_int_eq(volume_recorded(work, "node@b", NULL, "v2", err), 0);
    ck_assert_int_eq(volume_recorded(work, "node@b", "at-v1", "n2", err), 0);
}

CHECK_MAIN("volume", only_a_backends_own_volumes_are_recorded_there,
           a_recorded_volume_is_found_by_its_place_and_its_name)
