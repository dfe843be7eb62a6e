/*
 * Merges of the host of a guest that end when their operation is over, and everything that may be
 * done with the chain before that is noticed.  Contents 1, 2 and 3, with snapshots s and t between
 * them.
 */
#include "drivers/file/chain_merge.h"
#include "drivers/file/image_data.h"

#include "drivers/file/snapshot_file_manage.h"
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

/* ---- merged, and not flushed ---- */

#define U_FILE FILE_NAME ".u"

/* As open_chain(); the base and the first overlay have more, which only a merge gives to others. */
static void open_wide_chain(struct place *place) {
    open_chain(place);
    write_at(place, FILE_NAME, "raw", "3M", 1);
    write_at(place, S_FILE, "qcow2", "2M", 2);
}

/* Whatever the files. */
static void assert_guest_data(struct place *place) {
    ck_assert(
        reads(place, active(place), strcmp(active(place), FILE_NAME) == 0 ? "raw" : "qcow2", 3));
    ck_assert(reads_at(place, "2M", 2) && reads_at(place, "3M", 1));
}

static void note_candidate(void *arg, const struct driver_candidate *candidate) {
    const char **id = arg;

    ck_assert(!*id && !candidate->refusal && candidate->bytes == GIB);
    *id = candidate->name_id;
}

static void assert_manageable(struct place *place, const char *only) {
    const char *id = NULL;

    ck_assert_int_eq(snapshot_file_list_manageable(&place->directory, place->bench.arena,
                                                   note_candidate, &id, &place->bench.err),
                     0);
    ck_assert_str_eq(id, only);
}

/* The newest is pulled below a guest, which has not flushed since; its locks are the caller's. */
static void pull_unflushed(struct place *place, enum driver_reported reported, int *ret_guest) {
    struct driver_assist assist;

    ck_assert_int_eq(prepare_delete(place, "t", &assist), 0);
    point(place, T_FILE, FILE_NAME);
    *ret_guest = guest_opens(place, T_FILE);
    ck_assert_msg(settle_delete(place, "t", reported) == 1, "%s", place->bench.err.message);
    ck_assert(has(place, S_FILE));
}

START_TEST(a_pulled_file_stays_until_the_guest_has_flushed) {
    static const enum driver_reported reports[] = { DRIVER_REPORTED_NOTHING, DRIVER_REPORTED_DONE,
                                                    DRIVER_REPORTED_FAILED };

    for (size_t i = 0; i < LENGTH(reports); i++) {
        autoplace struct place place;
        struct driver_assist assist;
        autoclose int guest = -1;

        open_wide_chain(&place);
        pull_unflushed(&place, reports[i], &guest);
        for (int again = 0; again <= 1; again++) {
            ck_assert_int_eq(prepare_delete(&place, "t", &assist), 1);
            ck_assert_int_eq(settle_delete(&place, "t", reports[i]), 1);
            ck_assert_str_eq(active(&place), T_FILE);
            ck_assert(has(&place, S_FILE));
        }
        /* It is deleted, and no other snapshot is harmed. */
        ck_assert_str_eq(listed(&place), "s ");
        assert_manageable(&place, "s");
        ck_assert(snapshot_reads(&place, "s", 1));

        /* The guest flushes; the next operation removes the file. */
        write_at(&place, T_FILE, "qcow2", "2M", 2);
        ck_assert_int_eq(prepare_delete(&place, "s", &assist), 0);
        ck_assert_ptr_null(assist.file_to_merge);
        ck_assert(!has(&place, S_FILE));
        ck_assert(snapshot_reads(&place, "s", 1));
        ck_assert_str_eq(listed(&place), "s ");
        assert_guest_data(&place);
    }
}
END_TEST

/* It was killed, or the power failed: what it has read before is there again. */
START_TEST(a_guest_that_has_not_flushed_a_pull_loses_nothing) {
    enum { CONNECT = NEXT_END, CLONE, WRITE, END };

    for (int next = 0; next < END; next++) {
        for (int reported = 0; reported <= 1; reported++) {
            autoplace struct place place;
            struct driver_assist assist;
            autoclose int guest = -1;

            open_wide_chain(&place);
            if (reported) {
                pull_unflushed(&place, DRIVER_REPORTED_DONE, &guest);
                close(take_fd(guest));
            } else {
                ck_assert_int_eq(prepare_delete(&place, "t", &assist), 0);
                point(&place, T_FILE, FILE_NAME);
            }
            place.volume.attached = false;
            if (next == CLONE) {
                const struct driver_volume copy = { .id = "c", .name_id = "c", .size_gb = 1 };
                autosource struct image_source source = NO_SOURCE;

                ck_assert_int_eq(image_source_open_volume(&place.directory, place.bench.arena,
                                                          &place.volume, &copy, &source,
                                                          &place.bench.err),
                                 0);
            } else if (next == WRITE) {
                struct volume_io *io;

                ck_assert_int_eq(image_data_open_volume(&place.directory, place.bench.arena,
                                                        &place.volume, true, &io, &place.bench.err),
                                 0);
                volume_io_close(io);
            } else if (next < CONNECT && (reported || next == DELETE_AGAIN || next == REVERT)) {
                if (next == REVERT)
                    ck_assert_int_eq(reads_at(&place, "2M", 2), 1);
                if (next == DELETE_BELOW_GUEST || next == SNAPSHOT_BELOW_GUEST)
                    ck_assert_int_eq(prepare_delete(&place, "t", &assist), 1);
                else
                    do_next(&place, (enum next)next);
                place.volume.attached = false;
            } else if (next < CONNECT) {
                ck_assert_int_eq(settle_delete(&place, "t", DRIVER_REPORTED_DONE), 0);
            }
            ck_assert(snapshot_reads(&place, "s", 1));
            if (next == REVERT)
                ck_assert(reads(&place, active(&place), "qcow2", 1) && reads_at(&place, "2M", 0));
            else
                assert_guest_data(&place);
            /* The rest of the delete, if there is one. */
            place.bench.err = (struct error){ .kind = ERROR_NONE };
            ck_assert_msg(drop(&place, "t") == DRIVER_DONE, "%s", place.bench.err.message);
            ck_assert_str_eq(listed(&place), "s ");
            ck_assert(snapshot_reads(&place, "s", 1));
            if (next != REVERT)
                assert_guest_data(&place);
            ck_assert_int_eq(drop(&place, "s"), DRIVER_DONE);
            ck_assert_str_eq(active(&place), FILE_NAME);
            ck_assert(!has(&place, S_FILE) && !has(&place, T_FILE));
        }
    }
}
END_TEST

/* A process died behind the header, or a guest was started then. */
START_TEST(a_pull_that_is_undone_is_made_by_any_later_operation) {
    for (int started = 0; started <= 1; started++) {
        autoplace struct place place;
        struct driver_assist assist;
        autoclose int guest = -1;

        open_wide_chain(&place);
        pull_unflushed(&place, DRIVER_REPORTED_DONE, &guest);
        close(take_fd(guest));
        assert_guest_data(&place); /* connects it */
        if (started) {
            guest = guest_opens(&place, T_FILE);
            /* The older one is committed as usual. */
            ck_assert_int_eq(prepare_delete(&place, "s", &assist), 0);
            ck_assert_str_eq(assist.file_to_merge, S_FILE);
            ck_assert_str_eq(assist.merge_target_file, FILE_NAME);
            close(take_fd(guest));
            commit(&place, S_FILE, T_FILE, FILE_NAME);
            ck_assert_int_eq(settle_delete(&place, "s", DRIVER_REPORTED_DONE), 1);
            ck_assert(!has(&place, S_FILE));
        }
        place.volume.attached = false;
        assert_guest_data(&place);
        ck_assert_int_eq(take_snapshot(&place, "u"), DRIVER_DONE);
        ck_assert_str_eq(listed(&place), started ? "u " : "s u ");
        ck_assert_int_eq(drop(&place, "u"), DRIVER_DONE);
        assert_guest_data(&place);
        ck_assert(!has(&place, T_FILE));
        ck_assert_int_eq(drop(&place, "s"), DRIVER_DONE);
        ck_assert(!has(&place, S_FILE));
        assert_guest_data(&place);
        ck_assert_str_eq(active(&place), FILE_NAME);
    }
}
END_TEST

/* All are pulled into the same file, which has the clusters of none on the disk. */
START_TEST(several_pulls_without_a_flush_lose_nothing) {
    for (int flushed = 0; flushed <= 1; flushed++) {
        autoplace struct place place;
        struct driver_assist assist;
        autoclose int guest = -1;

        open_wide_chain(&place);
        pull_unflushed(&place, DRIVER_REPORTED_DONE, &guest);
        ck_assert_msg(prepare_delete(&place, "s", &assist) == 0, "%s", place.bench.err.message);
        ck_assert_ptr_null(assist.file_to_merge);
        ck_assert_ptr_null(assist.merge_target_file);
        close(take_fd(guest));
        point(&place, T_FILE, NULL);
        guest = guest_opens(&place, T_FILE);
        ck_assert_int_eq(settle_delete(&place, "s", DRIVER_REPORTED_DONE), 1);
        ck_assert_str_eq(listed(&place), "");
        ck_assert(has(&place, S_FILE) && reads(&place, FILE_NAME, "raw", 1));
        close(take_fd(guest));
        if (flushed) {
            write_at(&place, T_FILE, "qcow2", "2M", 2);
            write_at(&place, T_FILE, "qcow2", "3M", 1);
        }
        place.volume.attached = false;
        assert_guest_data(&place);
        ck_assert_int_eq(take_snapshot(&place, "u"), DRIVER_DONE);
        ck_assert_int_eq(drop(&place, "u"), DRIVER_DONE);
        ck_assert(!has(&place, S_FILE) && has(&place, T_FILE) == flushed);
        ck_assert_str_eq(active(&place), flushed ? T_FILE : FILE_NAME);
        assert_guest_data(&place);
        ck_assert_str_eq(bench_read(&place.bench, "d/" FILE_NAME ".info"),
                         flushed ? "{\"active\":\"" T_FILE "\"}"
                                 : "{\"active\":\"" FILE_NAME "\"}");
    }
}
END_TEST

START_TEST(a_reclaim_merges_the_files_of_deleted_snapshots) {
    for (int flushed = 0; flushed <= 1; flushed++) {
        autoplace struct place place;
        autoclose int guest = -1;

        open_wide_chain(&place);
        pull_unflushed(&place, DRIVER_REPORTED_DONE, &guest);
        close(take_fd(guest));
        if (flushed)
            write_at(&place, T_FILE, "qcow2", "2M", 2);
        place.volume.attached = false;
        ck_assert_msg(volume_file_reclaim(&place.directory, place.bench.arena, &place.volume, NULL,
                                          &place.bench.err) == 0,
                      "%s", place.bench.err.message);
        ck_assert(has(&place, S_FILE) != has(&place, T_FILE));
        ck_assert_str_eq(active(&place), flushed ? T_FILE : S_FILE);
        assert_guest_data(&place);
        ck_assert(snapshot_reads(&place, "s", 1));
    }
}
END_TEST

/* A snapshot above has QEMU flush the file; a merge in the middle waits for a flush. */
START_TEST(other_snapshots_go_on_before_the_flush) {
    autoplace struct place place;
    struct driver_snapshot u;
    struct driver_assist assist;
    autoclose int guest = -1;

    open_wide_chain(&place);
    pull_unflushed(&place, DRIVER_REPORTED_DONE, &guest);
    u = named(&place, "u");
    ck_assert_msg(chain_assist_prepare(&place.directory, place.bench.arena, &place.volume, &u,
                                       false, &assist, &place.bench.err) == 0,
                  "%s", place.bench.err.message);
    close(take_fd(guest));
    guest = guest_opens(&place, U_FILE);
    ck_assert_int_eq(prepare_delete(&place, "s", &assist), -1);
    ck_assert_int_eq(place.bench.err.kind, ERROR_CONFLICT);
    ck_assert_ptr_nonnull(strstr(place.bench.err.message, "has not flushed its disk"));
    ck_assert_str_eq(listed(&place), "s u ");
    write_at(&place, T_FILE, "qcow2", "2M", 2);
    ck_assert_int_eq(prepare_delete(&place, "s", &assist), 0);
    ck_assert_str_eq(assist.file_to_merge, T_FILE);
    ck_assert(!has(&place, S_FILE));
    ck_assert(snapshot_reads(&place, "s", 1) && snapshot_reads(&place, "u", 3));
}
END_TEST

START_TEST(a_committed_file_stays_until_the_tables_are_written) {
    for (int flushed = 0; flushed <= 1; flushed++) {
        autoplace struct place place;
        struct driver_assist assist;
        autoclose int guest = -1;

        open_wide_chain(&place);
        place.volume.attached = false;
        write_at(&place, T_FILE, "qcow2", "4M", 3);
        ck_assert_int_eq(take_snapshot(&place, "u"), DRIVER_DONE);
        write_content(&place, 3);
        place.volume.attached = true;
        ck_assert_int_eq(prepare_delete(&place, "t", &assist), 0);
        ck_assert_str_eq(assist.file_to_merge, T_FILE);
        ck_assert_str_eq(assist.merge_target_file, S_FILE);
        write_at(&place, S_FILE, "qcow2", "1M", 3); /* in place */
        point(&place, U_FILE, S_FILE);
        guest = guest_opens(&place, U_FILE);
        ck_assert_int_eq(settle_delete(&place, "t", DRIVER_REPORTED_DONE), 1);
        ck_assert(has(&place, T_FILE));
        ck_assert_str_eq(listed(&place), "s u ");
        ck_assert(snapshot_reads_at(&place, "u", "4M", 3) && snapshot_reads(&place, "s", 1));
        ck_assert_int_eq(prepare_delete(&place, "s", &assist), -1);
        if (flushed) {
            write_at(&place, S_FILE, "qcow2", "4M", 3);
            ck_assert_int_eq(prepare_delete(&place, "s", &assist), 0);
            ck_assert(!has(&place, T_FILE));
        }
        close(take_fd(guest));
        place.volume.attached = false;
        ck_assert(snapshot_reads_at(&place, "u", "4M", 3));
        assert_guest_data(&place);
        ck_assert(reads_at(&place, "4M", 3) && snapshot_reads_at(&place, "u", "4M", 3));
        ck_assert_msg(drop(&place, "s") == DRIVER_DONE, "%s", place.bench.err.message);
        ck_assert(!has(&place, T_FILE));
        assert_guest_data(&place);
        ck_assert(reads_at(&place, "4M", 3) && snapshot_reads(&place, "u", 3));
        ck_assert_str_eq(listed(&place), "u ");
    }
}
END_TEST

/* One that waits for its merge without a guest is pulled by the delete of a later snapshot. */
START_TEST(a_file_of_two_merges_stays_until_the_later_one_is_flushed) {
    autoplace struct place place;
    struct driver_snapshot u;
    struct driver_assist assist;
    autoclose int guest = -1;

    open_wide_chain(&place);
    pull_unflushed(&place, DRIVER_REPORTED_DONE, &guest);
    close(take_fd(guest));
    assert_guest_data(&place); /* connects it */
    u = named(&place, "u");
    ck_assert_int_eq(chain_assist_prepare(&place.directory, place.bench.arena, &place.volume, &u,
                                          false, &assist, &place.bench.err),
                     0);
    guest = guest_opens(&place, U_FILE);
    ck_assert_int_eq(prepare_delete(&place, "u", &assist), 0);
    ck_assert_str_eq(assist.file_to_merge, S_FILE);
    close(take_fd(guest));
    point(&place, U_FILE, S_FILE);
    guest = guest_opens(&place, U_FILE);
    ck_assert_int_eq(settle_delete(&place, "u", DRIVER_REPORTED_DONE), 1);
    ck_assert(has(&place, T_FILE));
    ck_assert_str_eq(listed(&place), "s ");
    close(take_fd(guest));
    place.volume.attached = false;
    assert_guest_data(&place);
    ck_assert_int_eq(drop(&place, "s"), DRIVER_DONE);
    ck_assert(!has(&place, S_FILE) && !has(&place, T_FILE) && !has(&place, U_FILE));
    assert_guest_data(&place);
}
END_TEST

/* Nothing is to be repaired, so a long copy of a snapshot delays no second connection. */
START_TEST(a_volume_in_use_is_connected_beside_a_reader) {
    autoplace struct place place;
    const struct driver_volume copy = { .id = "c", .name_id = "c", .size_gb = 1 };
    struct driver_snapshot s;
    autosource struct image_source source = NO_SOURCE;
    autoclose int guest = -1;

    open_wide_chain(&place);
    pull_unflushed(&place, DRIVER_REPORTED_DONE, &guest);
    s = named(&place, "s");
    ck_assert_int_eq(image_source_open_snapshot(&place.directory, place.bench.arena, &s, &copy,
                                                &source, &place.bench.err),
                     0);
    ck_assert_str_eq(active(&place), T_FILE);
}
END_TEST

START_TEST(a_volume_is_reverted_where_a_merge_was_flushed_last) {
    autoplace struct place place;
    struct driver_snapshot s;
    autosource struct image_source source = NO_SOURCE;
    autoclose int guest = -1;

    open_wide_chain(&place);
    pull_unflushed(&place, DRIVER_REPORTED_DONE, &guest);
    write_at(&place, T_FILE, "qcow2", "2M", 2);
    close(take_fd(guest));
    place.volume.attached = false;
    s = named(&place, "s");
    ck_assert_int_eq(image_source_open_snapshot(&place.directory, place.bench.arena, &s, NULL,
                                                &source, &place.bench.err),
                     0);
    ck_assert_msg(volume_file_revert(&place.directory, place.bench.arena, &place.volume, &source,
                                     NULL, &place.bench.err) == 0,
                  "%s", place.bench.err.message);
    ck_assert(reads_at(&place, "1M", 1) && reads_at(&place, "2M", 0) && reads_at(&place, "3M", 1));
    ck_assert(!has(&place, S_FILE));
}
END_TEST

/* Its host has declined the pull of the file that the delete of an older one commits later. */
START_TEST(a_declined_delete_ends_by_no_merge_for_another_snapshot) {
    for (int online = 0; online <= 1; online++) {
        autoplace struct place place;
        struct driver_assist assist;
        autoclose int guest = -1;

        open_wide_chain(&place);
        ck_assert_int_eq(prepare_delete(&place, "t", &assist), 0);
        ck_assert_int_eq(settle_delete(&place, "t", DRIVER_REPORTED_FAILED), 0);
        if (online) {
            ck_assert_int_eq(prepare_delete(&place, "s", &assist), 0);
            ck_assert_str_eq(assist.file_to_merge, S_FILE);
            commit(&place, S_FILE, T_FILE, FILE_NAME);
            guest = guest_opens(&place, T_FILE);
            ck_assert_int_eq(settle_delete(&place, "s", DRIVER_REPORTED_DONE), 1);
            close(take_fd(guest));
        }
        place.volume.attached = false;
        if (!online)
            ck_assert_int_eq(drop(&place, "s"), DRIVER_DONE);
        ck_assert(!has(&place, S_FILE));
        ck_assert_int_eq(take_snapshot(&place, "u"), DRIVER_DONE);
        ck_assert_str_eq(listed(&place), "t u ");
        ck_assert(snapshot_reads(&place, "t", 2) && snapshot_reads(&place, "u", 3));
        assert_guest_data(&place);
        ck_assert_int_eq(drop(&place, "t"), DRIVER_DONE);
        ck_assert_int_eq(drop(&place, "u"), DRIVER_DONE);
        assert_guest_data(&place);
    }
}
END_TEST

/* A worker was killed between the two steps of an undoing, while a declined delete is noted. */
START_TEST(an_undoing_beside_a_declined_delete_goes_on) {
    autoplace struct place place;
    struct driver_assist assist;
    struct driver_snapshot u;
    autoclose int guest = -1;

    open_wide_chain(&place);
    u = named(&place, "u");
    guest = guest_opens(&place, T_FILE);
    ck_assert_int_eq(prepare_delete(&place, "s", &assist), 0);
    ck_assert_str_eq(assist.file_to_merge, S_FILE);
    ck_assert_int_eq(settle_delete(&place, "s", DRIVER_REPORTED_FAILED), 0);
    ck_assert_int_eq(chain_assist_prepare(&place.directory, place.bench.arena, &place.volume, &u,
                                          false, &assist, &place.bench.err),
                     0);
    ck_assert_int_eq(renameat(place.directory.fd, U_FILE, place.directory.fd, "." U_FILE ".undone"),
                     0);
    ck_assert_msg(chain_assist_complete(&place.directory, place.bench.arena, &place.volume, &u,
                                        false, DRIVER_REPORTED_FAILED, &place.bench.err) == 0,
                  "%s", place.bench.err.message);
    ck_assert_str_eq(active(&place), T_FILE);
    ck_assert_str_eq(listed(&place), "s t ");
    assert_guest_data(&place);
}
END_TEST

START_TEST(untrusted_locks_leave_it_to_the_attachment) {
    autoplace struct place place;
    autoclose int guest = -1;

    open_wide_chain(&place);
    place.directory.locks_trusted = false;
    pull_unflushed(&place, DRIVER_REPORTED_DONE, &guest);
    close(take_fd(guest));
    ck_assert(!reads_at(&place, "2M", 2));
    place.volume.attached = false;
    assert_guest_data(&place);
}
END_TEST

START_TEST(a_volume_is_deleted_with_files_that_were_not_flushed) {
    autoplace struct place place;
    autoclose int guest = -1;

    open_wide_chain(&place);
    pull_unflushed(&place, DRIVER_REPORTED_DONE, &guest);
    close(take_fd(guest));
    place.volume.attached = false;
    ck_assert_msg(volume_file_delete(&place.directory, place.bench.arena, &place.volume,
                                     &place.bench.err) == 0,
                  "%s", place.bench.err.message);
    ck_assert(!has(&place, FILE_NAME) && !has(&place, S_FILE) && !has(&place, T_FILE) &&
              !has(&place, FILE_NAME ".info"));
}
END_TEST

CHECK_MAIN("merged chains", a_pulled_file_stays_until_the_guest_has_flushed,
           a_guest_that_has_not_flushed_a_pull_loses_nothing,
           a_pull_that_is_undone_is_made_by_any_later_operation,
           several_pulls_without_a_flush_lose_nothing,
           a_reclaim_merges_the_files_of_deleted_snapshots, other_snapshots_go_on_before_the_flush,
           a_committed_file_stays_until_the_tables_are_written,
           a_file_of_two_merges_stays_until_the_later_one_is_flushed,
           a_volume_in_use_is_connected_beside_a_reader,
           a_volume_is_reverted_where_a_merge_was_flushed_last,
           a_declined_delete_ends_by_no_merge_for_another_snapshot,
           an_undoing_beside_a_declined_delete_goes_on, untrusted_locks_leave_it_to_the_attachment,
           a_volume_is_deleted_with_files_that_were_not_flushed,
           a_snapshot_whose_delete_has_merged_its_files_is_read_no_more,
           a_late_pull_of_the_newest_is_found_by_the_next_operation,
           a_late_commit_of_an_older_one_is_found_by_the_next_operation,
           without_a_note_no_content_of_a_snapshot_is_written_over,
           a_snapshot_whose_files_were_merged_is_not_read,
           nothing_is_begun_while_a_host_may_still_merge,
           a_pull_past_a_later_snapshot_takes_nothing, a_late_pull_is_found_under_any_name)
