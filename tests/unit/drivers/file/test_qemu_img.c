#include "drivers/file/qemu_img.h"

#include "tests/unit/drivers/driver_test.h"

/* The output of the real program, with the meaning of each (exit status 1 throughout). */
static const struct {
    const char *errors;
    bool locked;
} prints[] = {
    { "qemu-img: Could not open '/d/f': Failed to get \"write\" lock\n"
      "Is another process using the image [/d/f]?\n",
      true },
    { "qemu-img: Could not open '/d/f': Failed to get \"resize\" lock\n", true },
    { "qemu-img: Could not open '/d/f': Failed to get shared \"write\" lock", true },
    { "WARNING: Image format was not specified for '/d/f' and probing guessed raw.\n"
      "         Automatically detecting the format is dangerous for raw images.\n"
      "         Specify the 'raw' format explicitly to remove the restrictions.\n"
      "qemu-img: Could not open '/d/f': Failed to get \"write\" lock\n",
      true },
    { "qemu-img: Could not open '/d/f': Failed to lock byte 100: No locks available\n", false },
    { "qemu-img: Could not open '/d/f': Failed to get \"write\" lock: No locks available\n",
      false },
    { "qemu-img: Could not open '/d/f': Failed to lock byte 100\n", false },
    { "qemu-img: Could not open '/d/f': Failed to get shared \"write\" lock: Input/output error\n",
      false },
    { "qemu-img: Use the --shrink option to perform a shrink operation.\n", false },
    { "qemu-img: Could not preallocate new data: No space left on device\n", false },
    { "qemu-img: The new size must be a multiple of 512\n", false },
    { "qemu-img: Can't resize a v2 image which has snapshots\n", false },
    { "qemu-img: Could not open '/d/f': Image is not in qcow2 format\n", false },
    { "qemu-img: Could not open '/d/f': Permission denied\n", false },
    { "qemu-img: Parameter 'encrypt.key-secret' is required for cipher\n", false },
    { "Failed to get \"write\n\" lock\n", false },
    { "Failed to get \"a\" b\" lock\n", false },
    { "something else\" lock\n", false },
    { "\" lock", false },
    { "", false },
};

/* A program that prints `errors` and ends with the status. */
static void fake(const struct bench *bench, const char *errors, int status) {
    bench_write(bench, "errors", errors, 0600);
    bench_write(bench, "qemu-img",
                arena_format(bench->arena, "#!/bin/sh\ncat ${0%%/*}/errors >&2\nexit %d\n", status),
                0755);
}

START_TEST(only_a_guest_defers) {
    autobench struct bench bench;
    struct qemu_img tool = { .timeout_s = 30 };

    bench_new(&bench);
    tool.program = bench_path(&bench, "qemu-img");
    for (size_t i = 0; i < LENGTH(prints); i++) {
        enum driver_outcome expected = prints[i].locked ? DRIVER_DEFERRED : DRIVER_FAILED;

        ck_assert_int_eq(image_lock_reported(prints[i].errors), prints[i].locked);
        fake(&bench, prints[i].errors, 1);
        ck_assert_int_eq(qemu_img_resize(bench.arena, &tool, "/d/f", "qcow2", GIB, &bench.err),
                         expected);
    }
}
END_TEST

START_TEST(the_exit_status_decides_before_the_output) {
    autobench struct bench bench;
    struct qemu_img tool = { .timeout_s = 30 };

    bench_new(&bench);
    tool.program = bench_path(&bench, "qemu-img");
    fake(&bench, prints[0].errors, 0);
    ck_assert_int_eq(qemu_img_resize(bench.arena, &tool, "/d/f", "raw", GIB, &bench.err),
                     DRIVER_DONE);
    fake(&bench, prints[0].errors, 2);
    ck_assert_int_eq(qemu_img_resize(bench.arena, &tool, "/d/f", "raw", GIB, &bench.err),
                     DRIVER_FAILED);
    ck_assert_str_eq(bench.err.message, "qemu-img resize ended with status 2: "
                                        "Could not open '/d/f': Failed to get \"write\" lock");
    fake(&bench,
         "qemu-img: Error when deleting file /proc/1/fd/3: Operation not permitted\n"
         "qemu-img: /proc/1/fd/3: Could not write qcow2 header: No space left on device\n",
         1);
    ck_assert_int_eq(qemu_img_create(bench.arena, &tool, "/d/f", GIB, &bench.err), -1);
    ck_assert_str_eq(bench.err.message,
                     "qemu-img create ended with status 1: "
                     "/proc/1/fd/3: Could not write qcow2 header: No space left on device");
    fake(&bench, "", 1);
    ck_assert_int_eq(qemu_img_create(bench.arena, &tool, "/d/f", GIB, &bench.err), -1);
    ck_assert_str_eq(bench.err.message, "qemu-img create ended with status 1: no message");
    ck_assert_int_eq(bench.err.kind, ERROR_BACKEND);
}
END_TEST

START_TEST(a_program_that_hangs_or_is_missing_is_a_failure) {
    autobench struct bench bench;
    struct qemu_img tool = { .timeout_s = 1 };
    struct image_facts facts;

    bench_new(&bench);
    tool.program = bench_path(&bench, "qemu-img");
    ck_assert_int_eq(qemu_img_create(bench.arena, &tool, "/d/f", GIB, &bench.err), -1);
    ck_assert_int_eq(qemu_img_resize(bench.arena, &tool, "/d/f", "raw", GIB, &bench.err),
                     DRIVER_FAILED);
    ck_assert_int_eq(qemu_img_info(bench.arena, &tool, "/d/f", "raw", &facts, &bench.err), -1);
    bench_write(&bench, "qemu-img", "#!/bin/sh\nexec sleep 60\n", 0755);
    ck_assert_int_eq(qemu_img_resize(bench.arena, &tool, "/d/f", "raw", GIB, &bench.err),
                     DRIVER_FAILED);
    ck_assert_int_eq(bench.err.kind, ERROR_UNAVAILABLE);
}
END_TEST

static int parse(struct bench *bench, const char *text, struct image_facts *facts) {
    return qemu_img_parse_info(text, strlen(text), "qcow2", facts, &bench->err);
}

START_TEST(qemu_img_info_is_verified) {
    static const char *const bad[] = {
        "",
        "garbage",
        "[]",
        "{\"virtual-size\": 1, \"format\": \"qcow2\"",
        "{\"virtual-size\": 1, \"virtual-size\": 2, \"format\": \"qcow2\"}",
        "{\"format\": \"qcow2\"}",
        "{\"virtual-size\": -1, \"format\": \"qcow2\"}",
        "{\"virtual-size\": 1.5, \"format\": \"qcow2\"}",
        "{\"virtual-size\": \"1\", \"format\": \"qcow2\"}",
        "{\"virtual-size\": 1}",
        "{\"virtual-size\": 1, \"format\": \"raw\"}",
    };
    autobench struct bench bench;
    struct image_facts facts = { .virtual_bytes = 77 };

    bench_new(&bench);
    for (size_t i = 0; i < LENGTH(bad); i++) {
        bench.err.kind = ERROR_NONE;
        ck_assert_int_eq(parse(&bench, bad[i], &facts), -1);
        ck_assert_int_eq(bench.err.kind, ERROR_BACKEND);
    }
    ck_assert_int_eq(parse(&bench,
                           arena_format(bench.arena,
                                        "{\"virtual-size\": 1, \"format\": \"qcow2\", "
                                        "\"backing-filename\": \"%01024d\"}",
                                        0),
                           &facts),
                     -1);
    ck_assert_int_eq(facts.virtual_bytes, 77);

    ck_assert_int_eq(parse(&bench,
                           "{\"virtual-size\": 1073741824, \"format\": \"qcow2\", "
                           "\"encrypted\": true, \"backing-filename\": \"below\", "
                           "\"format-specific\": {\"data\": {\"data-file\": \"x\"}}}",
                           &facts),
                     0);
    ck_assert_int_eq(facts.virtual_bytes, GIB);
    ck_assert(facts.encrypted && facts.external_data);
    ck_assert_str_eq(facts.backing, "below");
}
END_TEST

START_TEST(the_real_qemu_img_creates_grows_and_reports) {
    autobench struct bench bench;
    const struct qemu_img tool = { .program = "qemu-img", .timeout_s = 60 };
    struct image_facts facts;
    const char *path;

    bench_new(&bench);
    path = bench_path(&bench, "image");
    ck_assert_msg(qemu_img_create(bench.arena, &tool, path, GIB, &bench.err) == 0, "%s",
                  bench.err.message);
    ck_assert_int_eq(qemu_img_resize(bench.arena, &tool, path, "qcow2", 2 * GIB, &bench.err),
                     DRIVER_DONE);
    ck_assert_int_eq(qemu_img_info(bench.arena, &tool, path, "qcow2", &facts, &bench.err), 0);
    ck_assert_int_eq(facts.virtual_bytes, 2 * GIB);
    ck_assert(!facts.encrypted && !facts.external_data && !facts.backing[0]);

    ck_assert_int_eq(qemu_img_resize(bench.arena, &tool, path, "qcow2", GIB, &bench.err),
                     DRIVER_FAILED);
    ck_assert_int_eq(qemu_img_info(bench.arena, &tool, path, "luks", &facts, &bench.err), -1);
    ck_assert_int_eq(qemu_img_info(bench.arena, &tool, "/nowhere/f", "raw", &facts, &bench.err),
                     -1);
}
END_TEST

CHECK_MAIN("qemu_img", only_a_guest_defers, the_exit_status_decides_before_the_output,
           a_program_that_hangs_or_is_missing_is_a_failure, qemu_img_info_is_verified,
           the_real_qemu_img_creates_grows_and_reports)
