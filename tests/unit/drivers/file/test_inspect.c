/*
 * Files that another service has made, checked where they are.
 */
#include "tests/unit/drivers/driver_test.h"

#define SNAPSHOT  "0d4a1f3e-6a54-4c0c-8c0e-7b0f6f1d2c33"
#define SNAPSHOT2 "5b7c9f0a-1d22-4b8e-9e71-2f3a4b5c6d77"

static const char *const none[] = { NULL };
static const char *const one[] = { SNAPSHOT, NULL };

/* "raw", or "qcow2 base raw": that of the volume, then that of its base. */
static int inspect(struct bench *bench, const char *format, const char *const *snapshots,
                   struct driver_inspected *ret) {
    const char *base = format ? strstr(format, " base ") : NULL;
    const struct driver_recorded recorded = { base ? base + strlen(" base ") : NULL, snapshots };
    struct driver_volume volume = A_VOLUME;

    volume.format = base ? arena_text_n(bench->arena, format, (size_t)(base - format)) : format;
    volume.provider_location = bench_path(bench, "volumes");
    return file_driver.inspect_volume(bench->handle, bench->arena, &volume, &recorded, ret,
                                      &bench->err);
}

static void assert_found(struct bench *bench, const char *recorded, const char *const *snapshots,
                         const char *format) {
    struct driver_inspected found;

    ck_assert_msg(inspect(bench, recorded, snapshots, &found) == 0, "%s", bench->err.message);
    ck_assert_str_eq(found.format, format);
    ck_assert_int_eq(found.bytes, GIB);
}

static void assert_refused(struct bench *bench, const char *recorded, const char *const *snapshots,
                           const char *why) {
    struct driver_inspected found;

    ck_assert_int_eq(inspect(bench, recorded, snapshots, &found), -1);
    ck_assert_int_eq(bench->err.kind, ERROR_BAD_REQUEST);
    ck_assert_msg(strstr(bench->err.message, why), "%s", bench->err.message);
}

static const char *at(const struct bench *bench, const char *name) {
    return bench_path(bench, arena_format(bench->arena, "volumes/%s", name));
}

static void put_raw(const struct bench *bench, const char *head) {
    bench_write(bench, "volumes/" FILE_NAME, head, 0660);
    ck_assert_int_eq(truncate(at(bench, FILE_NAME), GIB), 0);
}

static void make_above(const struct bench *bench, const char *name, const char *below,
                       const char *format) {
    ck_assert_int_eq(BENCH_RUN("qemu-img", "create", "-q", "-f", "qcow2", "-b", below, "-F", format,
                               at(bench, name)),
                     0);
}

static void put_info(const struct bench *bench, const char *text) {
    bench_write(bench, "volumes/" FILE_NAME ".info", text, 0666);
}

START_TEST(a_raw_file_is_raw_whatever_a_guest_has_written_into_it) {
    autobench struct bench bench;

    BENCH_OPEN(&bench, &file_driver, NULL);
    assert_refused(&bench, "raw", none, "is missing");
    put_raw(&bench, "a");
    assert_found(&bench, "raw", none, "raw");
    assert_found(&bench, NULL, none, "raw");
    assert_found(&bench, "qcow2", none, "raw"); /* the record of an overlay that has gone */
    assert_refused(&bench, "raw", one, "has no file");
    put_raw(&bench, "QFI\xfb");
    assert_found(&bench, "raw", none, "raw");
    assert_refused(&bench, NULL, none, "no format is recorded");
    assert_found(&bench, "qcow2 base raw", none, "raw");
    put_info(&bench, "{\"active\": \"" FILE_NAME "\"}"); /* it had snapshots */
    assert_found(&bench, "raw", none, "raw");
    assert_found(&bench, "qcow2 base raw", none, "raw");
    assert_refused(&bench, "qcow2", none, "may be of a snapshot");
    ck_assert_int_eq(link(at(&bench, FILE_NAME), at(&bench, "other")), 0);
    assert_refused(&bench, "raw", none, "more than one name");
}
END_TEST

START_TEST(a_qcow2_file_with_parts_elsewhere_is_refused) {
    autobench struct bench bench;

    BENCH_OPEN(&bench, &file_driver, NULL);
    ck_assert_int_eq(
        BENCH_RUN("qemu-img", "create", "-q", "-f", "qcow2", at(&bench, FILE_NAME), "1G"), 0);
    assert_found(&bench, "qcow2", none, "qcow2");
    ck_assert_int_eq(BENCH_RUN("qemu-img", "create", "-q", "-f", "raw", at(&bench, "secret"), "1G"),
                     0);
    ck_assert_int_eq(unlink(at(&bench, FILE_NAME)), 0);
    make_above(&bench, FILE_NAME, "secret", "raw");
    assert_refused(&bench, "qcow2", none, "needs other files");
}
END_TEST

START_TEST(a_chain_has_the_format_of_its_base_and_the_recorded_snapshots) {
    autobench struct bench bench;

    BENCH_OPEN(&bench, &file_driver, NULL);
    put_raw(&bench, "a");
    make_above(&bench, FILE_NAME "." SNAPSHOT, FILE_NAME, "raw");
    put_info(&bench, "{\"active\": \"" FILE_NAME "." SNAPSHOT "\", \"" SNAPSHOT "\": \"" FILE_NAME
                     "." SNAPSHOT "\"}");
    assert_found(&bench, "raw", one, "raw");
    assert_found(&bench, "qcow2", one, "raw");
    assert_refused(&bench, "raw", none, "is not recorded");
    assert_refused(&bench, "raw", (const char *const[]){ SNAPSHOT, SNAPSHOT2, NULL },
                   "Snapshot " SNAPSHOT2 " has no file");
}
END_TEST

/* An overlay of the other service states a format that it has guessed from the content. */
START_TEST(a_base_is_qcow2_by_its_record_alone) {
    static const struct {
        const char *recorded, *refusal;
    } rows[] = {
        { "raw", "does not say" }, { NULL, "does not say" },   { "qcow2 base raw", "does not say" },
        { "qcow2", NULL },         { "raw base qcow2", NULL }, { "qcow2 base qcow2", NULL },
    };
    autobench struct bench bench;

    BENCH_OPEN(&bench, &file_driver, NULL);
    ck_assert_int_eq(
        BENCH_RUN("qemu-img", "create", "-q", "-f", "qcow2", at(&bench, FILE_NAME), "1G"), 0);
    make_above(&bench, FILE_NAME "." SNAPSHOT, FILE_NAME, "qcow2");
    put_info(&bench, "{\"active\": \"" FILE_NAME "." SNAPSHOT "\", \"" SNAPSHOT "\": \"" FILE_NAME
                     "." SNAPSHOT "\"}");
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct driver_inspected found;

        if (!rows[i].refusal) {
            assert_found(&bench, rows[i].recorded, one, "qcow2");
            continue;
        }
        ck_assert_int_eq(inspect(&bench, rows[i].recorded, one, &found), -1);
        ck_assert_msg(strstr(bench.err.message, rows[i].refusal), "%s", bench.err.message);
    }
}
END_TEST

START_TEST(an_overlay_without_its_base_is_refused) {
    autobench struct bench bench;

    BENCH_OPEN(&bench, &file_driver, NULL);
    ck_assert_int_eq(BENCH_RUN("qemu-img", "create", "-q", "-f", "qcow2",
                               at(&bench, FILE_NAME "." SNAPSHOT), "1G"),
                     0);
    put_info(&bench, "{\"active\": \"" FILE_NAME "." SNAPSHOT "\"}");
    assert_refused(&bench, "qcow2", none, "copy the volume");
    put_info(&bench, "{\"deleted\": \"" FILE_NAME "." SNAPSHOT "\"}");
    assert_refused(&bench, "qcow2", none, "is being deleted");
}
END_TEST

START_TEST(a_volume_whose_info_names_a_file_of_another_is_refused) {
    autobench struct bench bench;

    BENCH_OPEN(&bench, &file_driver, NULL);
    put_raw(&bench, "a");
    bench_write(&bench, "volumes/volume-other", "b", 0660);
    put_info(&bench, "{\"active\": \"volume-other\"}");
    assert_refused(&bench, "raw", none, "a file of another volume");
}
END_TEST

CHECK_MAIN("files of another service", a_raw_file_is_raw_whatever_a_guest_has_written_into_it,
           a_qcow2_file_with_parts_elsewhere_is_refused,
           a_chain_has_the_format_of_its_base_and_the_recorded_snapshots,
           a_base_is_qcow2_by_its_record_alone, an_overlay_without_its_base_is_refused,
           a_volume_whose_info_names_a_file_of_another_is_refused)
