/*
 * The file that a guest writes, as its locks and the files show it, and the outcome of a snapshot
 * then.
 */
#include "drivers/file/chain_assist.h"

#include "tests/unit/drivers/file/chain_place.h"

static int prepare(struct place *place) {
    struct driver_assist assist = { 0 };
    int result = chain_assist_prepare(&place->directory, place->bench.arena, &place->volume,
                                      &place->snapshot, false, &assist, &place->bench.err);

    if (result == 0)
        ck_assert_str_eq(assist.new_file, OVERLAY);
    return result;
}

static int settle(struct place *place, enum driver_reported reported) {
    return chain_assist_complete(&place->directory, place->bench.arena, &place->volume,
                                 &place->snapshot, false, reported, &place->bench.err);
}

static void assert_undone(struct place *place) {
    ck_assert_str_eq(active(place), FILE_NAME);
    ck_assert(!has(place, OVERLAY) && !has(place, "." OVERLAY ".undone"));
}

static const enum driver_reported all_reports[] = { DRIVER_REPORTED_NOTHING, DRIVER_REPORTED_DONE,
                                                    DRIVER_REPORTED_FAILED };

START_TEST(a_guest_below_the_overlay_undoes_it_whatever_was_reported) {
    for (size_t i = 0; i < LENGTH(all_reports); i++) {
        autoplace struct place place;
        autoclose int guest = -1;

        open_place(&place);
        guest = guest_opens(&place, FILE_NAME);
        ck_assert_int_eq(prepare(&place), 0);
        ck_assert_str_eq(active(&place), OVERLAY);
        ck_assert_int_eq(settle(&place, all_reports[i]), 0);
        assert_undone(&place);
        ck_assert_int_eq(settle(&place, all_reports[i]), 0);
    }
}
END_TEST

START_TEST(a_guest_on_the_overlay_keeps_it_whatever_was_reported) {
    for (size_t i = 0; i < LENGTH(all_reports); i++) {
        autoplace struct place place;
        autoclose int guest = -1;

        open_place(&place);
        ck_assert_int_eq(prepare(&place), 0);
        guest = guest_opens(&place, OVERLAY);
        ck_assert_int_eq(settle(&place, all_reports[i]), 1);
        ck_assert_int_eq(settle(&place, all_reports[i]), 1);
        ck_assert_str_eq(active(&place), OVERLAY);
    }
}
END_TEST

START_TEST(between_two_files_nothing_is_decided) {
    for (size_t i = 0; i < LENGTH(all_reports); i++) {
        autoplace struct place place;
        autoclose int guest = -1, switching = -1;

        open_place(&place);
        guest = guest_opens(&place, FILE_NAME);
        ck_assert_int_eq(prepare(&place), 0);
        switching = guest_opens(&place, OVERLAY);
        ck_assert_int_eq(settle(&place, all_reports[i]), -1);
        ck_assert_str_eq(active(&place), OVERLAY);
        ck_assert(has(&place, OVERLAY));
    }
}
END_TEST

/* No guest has either open: the report counts, unless the overlay proves more. */
START_TEST(a_guest_that_is_off_has_left_its_traces) {
    for (size_t i = 0; i < LENGTH(all_reports); i++)
        for (int written = 0; written <= 1; written++) {
            autoplace struct place place;
            bool kept = written || all_reports[i] == DRIVER_REPORTED_DONE;

            open_place(&place);
            ck_assert_int_eq(prepare(&place), 0);
            if (written)
                guest_writes(&place, OVERLAY, "qcow2");
            ck_assert_int_eq(settle(&place, all_reports[i]), kept);
            if (kept)
                ck_assert_str_eq(active(&place), OVERLAY);
            else
                assert_undone(&place);
        }
}
END_TEST

/* It was on the overlay, and was started again from its former image. */
START_TEST(data_of_a_guest_is_never_discarded) {
    for (size_t i = 0; i < LENGTH(all_reports); i++) {
        autoplace struct place place;
        autoclose int guest = -1;

        open_place(&place);
        ck_assert_int_eq(prepare(&place), 0);
        guest_writes(&place, OVERLAY, "qcow2");
        guest = guest_opens(&place, FILE_NAME);
        ck_assert_int_eq(settle(&place, all_reports[i]), -1);
        ck_assert(has(&place, OVERLAY));
    }
}
END_TEST

START_TEST(locks_that_do_not_show_prove_nothing) {
    static const int wanted[] = { -1, 1, 0 };

    for (size_t i = 0; i < LENGTH(all_reports); i++)
        for (int written = 0; written <= 1; written++) {
            autoplace struct place place;

            open_place(&place);
            place.directory.locks_trusted = false;
            ck_assert_int_eq(prepare(&place), 0);
            if (written)
                guest_writes(&place, OVERLAY, "qcow2");
            ck_assert_int_eq(settle(&place, all_reports[i]), written ? 1 : wanted[i]);
        }
}
END_TEST

/* X27: as large as the file below, also when that is larger than its record. */
START_TEST(an_overlay_is_never_smaller_than_the_image_below) {
    autoplace struct place place;
    struct volume_image image;

    open_place(&place);
    ck_assert_int_eq(BENCH_RUN("truncate", "-s", "3G",
                               directory_path(&place.directory, place.bench.arena, FILE_NAME)),
                     0);
    ck_assert_int_eq(prepare(&place), 0);
    ck_assert_int_eq(volume_file_connect(&place.directory, place.bench.arena, &place.volume, &image,
                                         &place.bench.err),
                     0);
    ck_assert_int_eq(image.facts.virtual_bytes, 3 * GIB);
}
END_TEST

/* Power was lost between the overlay's name and the info; or between the link and the end of the
 * old name, where renames may replace files. */
START_TEST(an_undoing_goes_on_where_it_was) {
    for (int i = 0; i < 4; i++) {
        autoplace struct place place;
        bool deletes = i % 2, linked = i / 2;

        open_place(&place);
        ck_assert_int_eq(prepare(&place), 0);
        ck_assert_int_eq(
            linkat(place.directory.fd, OVERLAY, place.directory.fd, "." OVERLAY ".undone", 0), 0);
        if (!linked)
            ck_assert_int_eq(unlinkat(place.directory.fd, OVERLAY, 0), 0);
        if (deletes) {
            place.volume.attached = false;
            ck_assert_int_eq(snapshot_file_delete(&place.directory, place.bench.arena,
                                                  &place.volume, &place.snapshot, NULL,
                                                  &place.bench.err),
                             DRIVER_DONE);
        } else {
            ck_assert_int_eq(settle(&place, DRIVER_REPORTED_FAILED), 0);
        }
        assert_undone(&place);
    }
}
END_TEST

START_TEST(without_overlays_no_assist_is_requested) {
    autoplace struct place place;

    open_place(&place);
    place.settings.overlays = false;
    ck_assert_int_eq(prepare(&place), -1);
    ck_assert_int_eq(place.bench.err.kind, ERROR_CONFLICT);
    place.settings.overlays = true;
    place.volume.multiattach = true;
    ck_assert_int_eq(prepare(&place), -1);
    ck_assert_str_eq(active(&place), FILE_NAME);
}
END_TEST

/* ---- delete ---- */

START_TEST(the_newest_is_pulled_and_the_one_before_lives_on) {
    autoplace struct place place;
    struct driver_assist assist;

    open_chain(&place);
    ck_assert_int_eq(drop(&place, "t"), DRIVER_DEFERRED);
    for (int i = 0; i <= 1; i++) {
        ck_assert_int_eq(prepare_delete(&place, "t", &assist), 0);
        ck_assert_str_eq(assist.file_to_merge, FILE_NAME);
        ck_assert_ptr_null(assist.merge_target_file);
    }
    pull(&place, FILE_NAME ".t", FILE_NAME, "raw");
    ck_assert_int_eq(prepare_delete(&place, "t", &assist), 1);
    for (int i = 0; i <= 1; i++)
        ck_assert_int_eq(settle_delete(&place, "t", DRIVER_REPORTED_FAILED), 1);
    ck_assert_str_eq(active(&place), FILE_NAME ".t");
    ck_assert(!has(&place, FILE_NAME ".s"));
    ck_assert(reads(&place, FILE_NAME ".t", "qcow2", 3) && snapshot_reads(&place, "s", 1));
    ck_assert_str_eq(listed(&place), "s ");

    /* The last one: nothing is left below. */
    ck_assert_int_eq(prepare_delete(&place, "s", &assist), 0);
    ck_assert_ptr_null(assist.file_to_merge);
    ck_assert_ptr_null(assist.merge_target_file);
    pull(&place, FILE_NAME ".t", NULL, NULL);
    ck_assert_int_eq(settle_delete(&place, "s", DRIVER_REPORTED_DONE), 1);
    ck_assert(reads(&place, FILE_NAME ".t", "qcow2", 3));
    ck_assert_str_eq(listed(&place), "");
    ck_assert_str_eq(active(&place), FILE_NAME ".t");

    /* A repetition of an ended one removes nothing that bears its name. */
    ck_assert_int_eq(drop(&place, "t"), DRIVER_DONE);
    ck_assert(has(&place, FILE_NAME ".t"));

    /* It goes on as any other volume. */
    place.volume.attached = false;
    ck_assert_int_eq(drop(&place, "t"), DRIVER_DONE);
    ck_assert_int_eq(take_snapshot(&place, "u"), DRIVER_DONE);
    write_content(&place, 4);
    ck_assert(snapshot_reads(&place, "u", 3));
    ck_assert_int_eq(drop(&place, "u"), DRIVER_DONE);
    ck_assert(reads(&place, active(&place), "qcow2", 4));
    ck_assert_int_eq(
        volume_file_delete(&place.directory, place.bench.arena, &place.volume, &place.bench.err),
        0);
    ck_assert(!has(&place, FILE_NAME) && !has(&place, FILE_NAME ".t") &&
              !has(&place, FILE_NAME ".info"));
}
END_TEST

START_TEST(an_older_one_is_committed) {
    autoplace struct place place;
    struct driver_assist assist;

    open_chain(&place);
    for (int i = 0; i <= 1; i++) {
        ck_assert_int_eq(prepare_delete(&place, "s", &assist), 0);
        ck_assert_str_eq(assist.file_to_merge, FILE_NAME ".s");
        ck_assert_str_eq(assist.merge_target_file, FILE_NAME);
    }
    commit(&place, FILE_NAME ".s", FILE_NAME ".t", FILE_NAME);
    for (int i = 0; i <= 1; i++)
        ck_assert_int_eq(settle_delete(&place, "s", DRIVER_REPORTED_NOTHING), 1);
    ck_assert(!has(&place, FILE_NAME ".s"));
    ck_assert(reads(&place, FILE_NAME ".t", "qcow2", 3) && snapshot_reads(&place, "t", 2));
    ck_assert_str_eq(listed(&place), "t ");
}
END_TEST

/* Nothing goes that a header still names. */
START_TEST(files_that_were_not_merged_stay_whatever_was_reported) {
    static const char *const ids[] = { "s", "t" };

    for (size_t i = 0; i < LENGTH(all_reports); i++)
        for (size_t j = 0; j < LENGTH(ids); j++) {
            autoplace struct place place;
            struct driver_assist assist;

            open_chain(&place);
            ck_assert_int_eq(settle_delete(&place, ids[j], all_reports[i]), 0);
            ck_assert_int_eq(prepare_delete(&place, ids[j], &assist), 0);
            ck_assert_int_eq(settle_delete(&place, ids[j], all_reports[i]), 0);
            ck_assert(reads(&place, FILE_NAME ".t", "qcow2", 3));
            ck_assert(snapshot_reads(&place, "s", 1) && snapshot_reads(&place, "t", 2));
            /* Nor is it in the way of a delete without a guest. */
            place.volume.attached = false;
            ck_assert_int_eq(drop(&place, ids[j]), DRIVER_DONE);
            ck_assert(reads(&place, active(&place), "qcow2", 3));
            ck_assert_str_eq(listed(&place), j == 0 ? "t " : "s ");
        }
}
END_TEST

/* A host that is late has merged after all. */
START_TEST(a_late_merge_is_found) {
    autoplace struct place place;
    struct driver_assist assist;

    open_chain(&place);
    ck_assert_int_eq(prepare_delete(&place, "t", &assist), 0);
    ck_assert_int_eq(settle_delete(&place, "t", DRIVER_REPORTED_NOTHING), 0);
    pull(&place, FILE_NAME ".t", FILE_NAME, "raw");
    ck_assert(snapshot_reads(&place, "s", 1));
    ck_assert_int_eq(prepare_delete(&place, "t", &assist), 1);
    ck_assert_int_eq(settle_delete(&place, "t", DRIVER_REPORTED_DONE), 1);
    ck_assert(reads(&place, FILE_NAME ".t", "qcow2", 3) && snapshot_reads(&place, "s", 1));
}
END_TEST

/* Its making was given up while the guest was still below: no host has to be requested. */
START_TEST(an_overlay_that_no_guest_uses_is_only_undone) {
    autoplace struct place place;
    struct driver_assist assist;
    autoclose int guest = -1;

    open_place(&place);
    guest = guest_opens(&place, FILE_NAME);
    ck_assert_int_eq(prepare(&place), 0);
    ck_assert_int_eq(prepare_delete(&place, "s", &assist), 1);
    ck_assert_int_eq(settle_delete(&place, "s", DRIVER_REPORTED_DONE), 1);
    assert_undone(&place);
}
END_TEST

CHECK_MAIN("assisted chains", a_guest_below_the_overlay_undoes_it_whatever_was_reported,
           a_guest_on_the_overlay_keeps_it_whatever_was_reported,
           between_two_files_nothing_is_decided, a_guest_that_is_off_has_left_its_traces,
           data_of_a_guest_is_never_discarded, locks_that_do_not_show_prove_nothing,
           an_overlay_is_never_smaller_than_the_image_below, an_undoing_goes_on_where_it_was,
           without_overlays_no_assist_is_requested,
           the_newest_is_pulled_and_the_one_before_lives_on, an_older_one_is_committed,
           files_that_were_not_merged_stay_whatever_was_reported, a_late_merge_is_found,
           an_overlay_that_no_guest_uses_is_only_undone)
