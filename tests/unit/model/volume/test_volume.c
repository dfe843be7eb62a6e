#include "model/volume/volume.h"

#include "model/group/group.h"
#include "tests/lib/work_test.h"

static void put_made(struct work *work, const char *id, const char *host) {
    put_volume(work, id, PROJECT, NULL, 1, true, host);
    sql(work, "UPDATE volumes SET provider_location = 'at-%s' WHERE id = '%s'", id, id);
}

/* Whatever order the column has: the text at another place of a sorted list is the same or not. */
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

WORK_TEST(a_recorded_volume_is_found_by_its_location_and_name) {
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

/* Of a group of thousands that would be very much, and each operation on it queries their use. */
WORK_TEST(members_of_a_group_are_read_without_their_metadata) {
    struct volume *members;

    for (int i = 0; i < 3; i++) {
        put_made(work, i == 0 ? "v1" : i == 1 ? "v2" : "v3", "node@b#pool");
        sql(work, "INSERT INTO volume_metadata VALUES ('v%d', 'k', 'v', '" PROJECT "', 1)", i + 1);
        sql(work,
            "INSERT INTO attachments (id, volume_id, project_id, attach_status, attach_mode, "
            "created_at) VALUES ('a%d', 'v%d', '" PROJECT "', 'attached', 'rw', %d)",
            i, i + 1, i);
    }
    sql(work, "UPDATE volumes SET group_id = 'g' WHERE id <> 'v3'");
    ck_assert_int_eq(group_members(work, "g", &members, err), 2);
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_eq(members[i].attachment_count, 1);
        ck_assert_uint_eq(members[i].metadata.count, 0);
    }
}

CHECK_MAIN("volume", only_a_backends_own_volumes_are_recorded_there,
           a_recorded_volume_is_found_by_its_location_and_name,
           members_of_a_group_are_read_without_their_metadata)
