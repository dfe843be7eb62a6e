/*
 * A failed flush of a program is reported to the descriptors that were open before it wrote: each
 * file that qemu-img writes is open when it runs.
 */
#include "tests/unit/drivers/file/chain_place.h"

/* Runs qemu-img, and notes each command whose file its caller has not open. */
static const char script[] = "#!/bin/sh\n"
                             "for word; do before=$last last=$word; done\n"
                             "case $1 in\n"
                             "info) exec qemu-img \"$@\" ;;\n"
                             "commit) file=${last%.*} ;;\n"
                             "create|resize) file=$before ;;\n"
                             "*) file=$last ;;\n"
                             "esac\n"
                             "file=$(readlink -f \"$file\")\n"
                             "ls -l /proc/$PPID/fd | grep -qF -- \"-> $file\" || \n"
                             "    echo \"$1 $file\" >>${0%/*}/unopened\n"
                             "echo \"$1\" >>${0%/*}/commands\n"
                             "exec qemu-img \"$@\"\n";

static void open_watched(struct place *place) {
    open_place(place);
    place->volume.attached = false;
    bench_write(&place->bench, "qemu-img", script, 0700);
    place->settings.qemu_img.program = bench_path(&place->bench, "qemu-img");
}

static void assert_opened(struct place *place, const char *commands) {
    ck_assert_str_eq(bench_read(&place->bench, "unopened"), "");
    ck_assert_str_eq(bench_read(&place->bench, "commands"), commands);
}

START_TEST(files_that_are_merged_are_open_before) {
    autoplace struct place place;

    open_watched(&place);
    for (int i = 1; i <= 2; i++) {
        ck_assert_int_eq(take_snapshot(&place, i == 1 ? "s" : "t"), DRIVER_DONE);
        write_content(&place, i);
    }
    if (!has(&place, FILE_NAME ".s"))
        return; /* the file system shares blocks */
    assert_opened(&place, "create\ncreate\n");
    ck_assert_msg(drop(&place, "s") == DRIVER_DONE, "%s", place.bench.err.message);
    assert_opened(&place, "create\ncreate\ncommit\nrebase\n");
}
END_TEST

START_TEST(a_file_that_is_made_or_grown_is_open_before) {
    autoplace struct place place;
    struct driver_volume other = { .id = "c", .name_id = "c", .size_gb = 1 };

    open_watched(&place);
    place.settings.qcow2 = true;
    ck_assert_msg(volume_file_create(&place.directory, place.bench.arena, &other, &other.format,
                                     &place.bench.err) == 0,
                  "%s", place.bench.err.message);
    ck_assert_msg(volume_file_extend(&place.directory, place.bench.arena, &other, 2,
                                     &place.bench.err) == DRIVER_DONE,
                  "%s", place.bench.err.message);
    assert_opened(&place, "create\nresize\n");
}
END_TEST

static int copy_to_other(struct place *place) {
    const struct driver_volume other = { .id = "c", .name_id = "c", .size_gb = 1 };
    autosource struct image_source source = NO_SOURCE;

    ck_assert_int_eq(image_source_open_volume(&place->directory, place->bench.arena, &place->volume,
                                              NULL, &source, &place->bench.err),
                     0);
    return volume_file_clone(&place->directory, place->bench.arena, &other, &source, NULL,
                             &place->bench.err);
}

START_TEST(a_copy_of_a_chain_is_open_before) {
    autoplace struct place place;

    open_watched(&place);
    ck_assert_int_eq(take_snapshot(&place, "s"), DRIVER_DONE);
    if (!has(&place, FILE_NAME ".s"))
        return;
    ck_assert_msg(copy_to_other(&place) == 0, "%s", place.bench.err.message);
    assert_opened(&place, "create\nconvert\n");
}
END_TEST

static void remove_drafts_before(struct place *place, const char *command) {
    bench_write(&place->bench, "qemu-img",
                arena_format(place->bench.arena,
                             "#!/bin/sh\n"
                             "case $1 in %s) rm -f ${0%%/*}/d/.*.new ;; esac\n"
                             "exec qemu-img \"$@\"\n",
                             command),
                0700);
}

/* A rename of the volume, or its end, has removed the draft: no program makes it anew. */
START_TEST(a_removed_draft_is_not_made_anew) {
    autoplace struct place place;
    struct driver_volume other = { .id = "c", .name_id = "c", .size_gb = 1 };

    open_watched(&place);
    remove_drafts_before(&place, "create");
    place.settings.qcow2 = true;
    ck_assert_int_lt(volume_file_create(&place.directory, place.bench.arena, &other, &other.format,
                                        &place.bench.err),
                     0);
    ck_assert(!has(&place, ".volume-c.new"));
    ck_assert(!has(&place, "volume-c"));
    if (take_snapshot(&place, "s") == DRIVER_DONE)
        return; /* the file system shares blocks */
    ck_assert(!has(&place, "." FILE_NAME ".s.new"));
    ck_assert(!has(&place, FILE_NAME ".s"));
}
END_TEST

START_TEST(a_removed_copy_of_a_chain_is_not_made_anew) {
    autoplace struct place place;

    open_watched(&place);
    ck_assert_int_eq(take_snapshot(&place, "s"), DRIVER_DONE);
    if (!has(&place, FILE_NAME ".s"))
        return; /* the file system shares blocks */
    remove_drafts_before(&place, "convert");
    ck_assert_int_lt(copy_to_other(&place), 0);
    ck_assert(!has(&place, ".volume-c.new"));
    ck_assert(!has(&place, "volume-c"));
}
END_TEST

CHECK_MAIN("flushes", files_that_are_merged_are_open_before,
           a_file_that_is_made_or_grown_is_open_before, a_copy_of_a_chain_is_open_before,
           a_removed_draft_is_not_made_anew, a_removed_copy_of_a_chain_is_not_made_anew)
