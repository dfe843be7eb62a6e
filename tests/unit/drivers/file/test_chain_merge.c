/*
 * Merges of the host of a guest that end when their operation is over, and everything that may be
 * done with the chain before that is noticed.  Contents 1, 2 and 3, with snapshots s and t between
 * them.
 */
#include "drivers/file/chain_merge.h"

#include "tests/unit/drivers/file/chain_place.h"

#define S_FILE FILE_NAME ".s"
#define T_FILE FILE_NAME ".t"

static void clear_error(struct place *place) {
    place->bench.err = (struct error){ .kind = ERROR_NONE };
}

/* The host was requested to delete a snapshot, and its operation is over. */
static void request_and_give_up(struct place *place, const char *id) {
    struct driver_assist assist;

    ck_assert_msg(prepare_delete(place, id, &assist) == 0, "%s", place->bench.err.message);
    ck_assert_int_eq(settle_delete(place, id, DRIVER_REPORTED_NOTHING), 0);
}

/* The next operation finds the merge, and the other snapshot keeps its content. */
static void assert_only_s(struct place *place, int content) {
    const char *name = active(place);

    ck_assert_str_eq(listed(place), "s ");
    ck_assert(snapshot_reads(place, "s", 1));
    ck_assert(reads(place, name, "qcow2", content));
}

enum next { DELETE_AGAIN, DELETE_BELOW_GUEST, SNAPSHOT, SNAPSHOT_BELOW_GUEST, REVERT, NEXT_END };

static void do_next(struct place *place, enum next next) {
    const struct driver_snapshot s = named(place, "s");
    autosource struct image_source source = NO_SOURCE;
    struct driver_snapshot u = named(place, "u");
    struct driver_assist assist;

    place->volume.attached = next == DELETE_BELOW_GUEST || next == SNAPSHOT_BELOW_GUEST;
    switch (next) {
    case DELETE_AGAIN:
        ck_assert_msg(drop(place, "t") == DRIVER_DONE, "%s", place->bench.err.message);
        break;
    case DELETE_BELOW_GUEST:
        ck_assert_int_eq(prepare_delete(place, "t", &assist), 1);
        ck_assert_int_eq(settle_delete(place, "t", DRIVER_REPORTED_NOTHING), 1);
        break;
    case SNAPSHOT:
        ck_assert_msg(take_snapshot(place, "u") == DRIVER_DONE, "%s", place->bench.err.message);
        ck_assert_int_eq(drop(place, "u"), DRIVER_DONE);
        break;
    case SNAPSHOT_BELOW_GUEST:
        ck_assert_int_eq(chain_assist_prepare(&place->directory, place->bench.arena, &place->volume,
                                              &u, false, &assist, &place->bench.err),
                         0);
        ck_assert_int_eq(prepare_delete(place, "t", &assist), 1);
        place->volume.attached = false;
        ck_assert_int_eq(drop(place, "u"), DRIVER_DONE);
        break;
    case REVERT:
        ck_assert_int_eq(drop(place, "t"), DRIVER_DONE);
        ck_assert_int_eq(image_source_open_snapshot(&place->directory, place->bench.arena, &s, NULL,
                                                    &source, &place->bench.err),
                         0);
        ck_assert_msg(volume_file_revert(&place->directory, place->bench.arena, &place->volume,
                                         &source, NULL, &place->bench.err) == 0,
                      "%s", place->bench.err.message);
        break;
    case NEXT_END:
        break;
    }
}

START_TEST(a_late_pull_of_the_newest_is_found_by_the_next_operation) {
    for (int next = 0; next < NEXT_END; next++) {
        autoplace struct place place;

        open_chain(&place);
        request_and_give_up(&place, "t");
        pull(&place, T_FILE, FILE_NAME, "raw");
        ck_assert(snapshot_reads(&place, "s", 1));
        do_next(&place, (enum next)next);
        assert_only_s(&place, next == REVERT ? 1 : 3);
        ck_assert(!has(&place, S_FILE));
        place.volume.attached = false;
        ck_assert_int_eq(drop(&place, "s"), DRIVER_DONE);
        ck_assert_str_eq(listed(&place), "");
    }
}
END_TEST

START_TEST(a_late_commit_of_an_older_one_is_found_by_the_next_operation) {
    autoplace struct place place;

    open_chain(&place);
    request_and_give_up(&place, "s");
    commit(&place, S_FILE, T_FILE, FILE_NAME);
    place.volume.attached = false;
    ck_assert_msg(drop(&place, "t") == DRIVER_DONE, "%s", place.bench.err.message);
    ck_assert_str_eq(listed(&place), "");
    ck_assert(!has(&place, S_FILE) && !has(&place, T_FILE));
    ck_assert(reads(&place, active(&place), "raw", 3));
}
END_TEST

/* An older version, or another service, may have lost the note. */
START_TEST(without_a_note_no_content_of_a_snapshot_is_written_over) {
    autoplace struct place place;

    open_chain(&place);
    pull(&place, T_FILE, FILE_NAME, "raw");
    place.volume.attached = false;
    ck_assert_int_eq(drop(&place, "t"), DRIVER_FAILED);
    ck_assert_ptr_nonnull(strstr(place.bench.err.message, "content of snapshot s"));
    ck_assert(reads(&place, FILE_NAME, "raw", 1) && reads(&place, S_FILE, "qcow2", 2));
    clear_error(&place);
    ck_assert_msg(drop(&place, "s") == DRIVER_DONE, "%s", place.bench.err.message);
    ck_assert(snapshot_reads(&place, "t", 2) && reads(&place, T_FILE, "qcow2", 3));
    ck_assert_int_eq(drop(&place, "t"), DRIVER_DONE);
    ck_assert(reads(&place, active(&place), "raw", 3));
}
END_TEST

START_TEST(a_snapshot_whose_files_were_merged_is_not_read) {
    autoplace struct place place;
    struct driver_snapshot t;
    autosource struct image_source source = NO_SOURCE;

    open_chain(&place);
    request_and_give_up(&place, "t");
    ck_assert(snapshot_reads(&place, "t", 2));
    pull(&place, T_FILE, FILE_NAME, "raw");
    t = named(&place, "t");
    ck_assert_int_eq(image_source_open_snapshot(&place.directory, place.bench.arena, &t, NULL,
                                                &source, &place.bench.err),
                     -1);
    ck_assert_int_eq(place.bench.err.kind, ERROR_CONFLICT);
    ck_assert(snapshot_reads(&place, "s", 1));
}
END_TEST

/* Writes put above would be merged, too. */
START_TEST(nothing_is_begun_while_a_host_may_still_merge) {
    for (int reported = 0; reported <= 1; reported++) {
        autoplace struct place place;
        struct driver_assist assist;
        struct driver_snapshot u;
        autoclose int guest = -1;
        int wanted = reported ? 0 : -1;

        open_chain(&place);
        ck_assert_int_eq(prepare_delete(&place, "t", &assist), 0);
        guest = guest_opens(&place, T_FILE);
        ck_assert_int_eq(
            settle_delete(&place, "t", reported ? DRIVER_REPORTED_FAILED : DRIVER_REPORTED_NOTHING),
            0);
        u = named(&place, "u");
        ck_assert_int_eq(chain_assist_prepare(&place.directory, place.bench.arena, &place.volume,
                                              &u, false, &assist, &place.bench.err),
                         wanted);
        if (reported)
            continue;
        ck_assert_int_eq(place.bench.err.kind, ERROR_CONFLICT);
        ck_assert_int_eq(prepare_delete(&place, "s", &assist), -1);
        ck_assert_int_eq(prepare_delete(&place, "t", &assist), 0);
        ck_assert_str_eq(listed(&place), "s t ");
        /* No host can any more. */
        close(take_fd(guest));
        place.volume.attached = false;
        ck_assert_int_eq(take_snapshot(&place, "u"), DRIVER_DONE);
        ck_assert(snapshot_reads(&place, "u", 3) && snapshot_reads(&place, "t", 2));
    }
}
END_TEST

/* The overlays between are no longer below the guest's file, but hold the snapshots' contents. */
START_TEST(a_pull_past_a_later_snapshot_takes_nothing) {
    static const char *const ids[] = { "s", "t", "u" };
    autoplace struct place place;

    open_chain(&place);
    request_and_give_up(&place, "t");
    place.volume.attached = false;
    ck_assert_int_eq(take_snapshot(&place, "u"), DRIVER_DONE);
    write_content(&place, 4);
    pull(&place, FILE_NAME ".u", FILE_NAME, "raw");
    for (size_t i = 0; i < LENGTH(ids); i++) {
        const struct driver_snapshot snapshot = named(&place, ids[i]);
        autosource struct image_source source = NO_SOURCE;

        clear_error(&place);
        ck_assert_int_eq(drop(&place, ids[i]), DRIVER_FAILED);
        ck_assert_int_eq(image_source_open_snapshot(&place.directory, place.bench.arena, &snapshot,
                                                    NULL, &source, &place.bench.err),
                         strcmp(ids[i], "t") == 0 ? 0 : -1);
    }
    ck_assert(reads(&place, active(&place), "qcow2", 4) && reads(&place, T_FILE, "qcow2", 3));
    ck_assert(reads(&place, S_FILE, "qcow2", 2) && reads(&place, FILE_NAME, "raw", 1));
}
END_TEST

/* The volume's name has changed since. */
START_TEST(a_late_pull_is_found_under_any_name) {
    autoplace struct place place;

    open_chain(&place);
    request_and_give_up(&place, "t");
    pull(&place, T_FILE, FILE_NAME, "raw");
    ck_assert_int_eq(volume_file_rename(&place.directory, place.bench.arena, &place.volume, "other",
                                        &place.bench.err),
                     0);
    place.volume.name_id = "other";
    place.volume.attached = false;
    ck_assert_int_eq(drop(&place, "t"), DRIVER_DONE);
    assert_only_s(&place, 3);
}
END_TEST

/* The files are merged and the info has changed, but a process that reads the overlay, and began to
 * do so during the merge, keeps it from being removed. */
START_TEST(a_snapshot_whose_delete_has_merged_its_files_is_read_no_more) {
    autoplace struct place place;
    struct driver_snapshot snapshot;
    autosource struct image_source source = NO_SOURCE;
    struct flock reads = { .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 100, .l_len = 1 };
    struct error *err = &place.bench.err;
    int holder;

    open_chain(&place);
    place.volume.attached = false;
    holder = openat(place.directory.fd, OVERLAY, O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(fcntl(holder, F_OFD_SETLK, &reads), 0);
    ck_assert_int_eq(drop(&place, "s"), DRIVER_FAILED);
    ck_assert_ptr_nonnull(strstr(err->message, "suspended process has locked it"));
    ck_assert(has(&place, OVERLAY));

    snapshot = named(&place, "s");
    ck_assert_int_eq(image_source_open_snapshot(&place.directory, place.bench.arena, &snapshot,
                                                NULL, &source, err),
                     -1);
    ck_assert_int_eq(err->kind, ERROR_CONFLICT);
    ck_assert_msg(strstr(err->message, "Snapshot s is gone"), "%s", err->message);
    ck_assert(snapshot_reads(&place, "t", 2));

    close(holder);
    ck_assert_int_eq(drop(&place, "s"), DRIVER_DONE);
    ck_assert(!has(&place, OVERLAY));
    ck_assert(snapshot_reads(&place, "t", 2));
    ck_assert_int_eq(drop(&place, "t"), DRIVER_DONE);
}
END_TEST

CHECK_MAIN("merged chains", a_snapshot_whose_delete_has_merged_its_files_is_read_no_more,
           a_late_pull_of_the_newest_is_found_by_the_next_operation,
           a_late_commit_of_an_older_one_is_found_by_the_next_operation,
           without_a_note_no_content_of_a_snapshot_is_written_over,
           a_snapshot_whose_files_were_merged_is_not_read,
           nothing_is_begun_while_a_host_may_still_merge,
           a_pull_past_a_later_snapshot_takes_nothing, a_late_pull_is_found_under_any_name)
