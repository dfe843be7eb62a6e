/*
 * Contents as qcow2 images, read back with a real qemu-nbd and checked with qemu-img.
 */
#include "data/qcow2_image_io.h"

#include "common/cleanup.h"
#include "common/process.h"
#include "data/chain_io.h"
#include "data/copy.h"
#include "data/image_inspect.h"
#include "tests/unit/data/image_file.h"
#include "tests/unit/data/volume_data.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define CLUSTER (64 * KIB)

/* ---- contents ---- */

struct piece {
    int64_t begin, size;
};

static const struct content {
    const char *name;
    int64_t size;
    struct piece pieces[4];
} contents[] = {
    { "zeros", 8 * MIB, { { 0, 0 } } },
    { "data alone", 2 * MIB, { { 0, 2 * MIB } } },
    { "an end within a cluster", 3 * MIB + 512, { { 3 * MIB, 512 } } },
    { "clusters that are cut",
      8 * MIB,
      { { 1000, 10 }, { CLUSTER * 3 - 1, 2 }, { 5 * MIB, MIB } } },
    { "several tables, one of them missing",
      1088 * MIB,
      { { 0, CLUSTER }, { 511 * MIB, MIB }, { 1024 * MIB, CLUSTER + 1 } } },
};

static struct volume_io *content_of(const struct content *content) {
    struct volume_io *io = memory_volume(content->size);

    for (size_t i = 0; i < LENGTH(content->pieces); i++)
        fill(io, content->pieces[i].begin, content->pieces[i].size, (unsigned)i + 1);
    return io;
}

/* ---- images ---- */

static struct volume_io *image_of(const struct content *content) {
    struct error err = { 0 };
    struct volume_io *io = qcow2_image_io_open(content_of(content), &err);

    ck_assert_msg(io != NULL, "%s: %s", content->name, err.message);
    return io;
}

static void store(struct volume_io *image) {
    static const struct copy_position beginning;
    struct error err = { 0 };
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    autovolumeio struct volume_io *file = NULL;
    struct copy copy = { .from = image, .blank = true };

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, image->size), 0);
    file = file_io_open(fd, true, true, &err);
    ck_assert_msg(file != NULL, "%s", err.message);
    copy.to = file;
    ck_assert_msg(copy_run(&copy, &beginning, &err) == 0, "%s", err.message);
}

static void assert_clean(const char *name) {
    const char *const arguments[] = { "qemu-img", "check", "-q", "-f", "qcow2", path, NULL };
    const struct process_limits limits = { .timeout_ms = 600000 };
    struct process_result result;
    struct error err = { 0 };

    ck_assert_msg(process_run(arena, arguments, &limits, &result, &err) == 0, "%s: %s", name,
                  err.message);
    ck_assert_msg(result.exit_status == 0, "%s: qemu-img check: %d", name, result.exit_status);
}

START_TEST(an_image_has_the_content_and_no_error) {
    static const struct chain_io_settings settings = { "qemu-nbd", 600000, 0 };

    for (size_t i = 0; i < LENGTH(contents); i++) {
        autovolumeio struct volume_io *content = content_of(&contents[i]);
        autovolumeio struct volume_io *image = image_of(&contents[i]), *found = NULL;
        const struct chain_io_file file = { path, "qcow2" };
        struct error err = { 0 };

        store(image);
        assert_clean(contents[i].name);
        found = chain_io_open(&settings, &file, 1, false, &err);
        ck_assert_msg(found != NULL, "%s: %s", contents[i].name, err.message);
        ck_assert_int_eq(found->size, content->size);
        assert_same_bytes(found, content, content->size);
    }
}
END_TEST

START_TEST(an_image_is_one_of_those_that_are_accepted) {
    for (size_t i = 0; i < LENGTH(contents); i++) {
        autovolumeio struct volume_io *image = image_of(&contents[i]);
        autoclose int fd = -1;
        struct image_finding finding;
        struct error err = { 0 };

        store(image);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        ck_assert_msg(
            image_inspect(&(struct image_bytes){ fd, image->size }, "qcow2", &finding, &err) == 0,
            "%s: %s", contents[i].name, err.message);
        ck_assert_int_eq(finding.virtual_bytes, contents[i].size);
    }
}
END_TEST

START_TEST(zeros_take_no_space) {
    autovolumeio struct volume_io *zeros = image_of(&contents[0]);
    autovolumeio struct volume_io *tables = image_of(&contents[4]);

    ck_assert_int_eq(zeros->size, 4 * CLUSTER); /* head, two of reference counts, first level */
    ck_assert_int_lt(tables->size, 4 * MIB);
}
END_TEST

START_TEST(an_image_is_the_same_in_pieces_of_any_size) {
    static const size_t sizes[] = { 1, 511, 64 * KIB, 64 * KIB + 1, VOLUME_IO_MOST };
    static unsigned char bytes[VOLUME_IO_MOST];
    autovolumeio struct volume_io *image = image_of(&contents[3]);
    autovolumeio struct volume_io *whole = memory_volume(image->size);
    static const struct copy_position beginning;
    const struct copy copy = { .from = image, .to = whole, .blank = true };
    struct error err = { 0 };

    ck_assert_int_eq(copy_run(&copy, &beginning, &err), 0);
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        int64_t step = i == 0 ? 4099 : (int64_t)sizes[i]; /* of single bytes some are enough */

        for (int64_t at = 0; at < image->size; at += step) {
            int64_t left = image->size - at;
            size_t part = left < (int64_t)sizes[i] ? (size_t)left : sizes[i];
            static unsigned char expected[VOLUME_IO_MOST];

            ck_assert_int_eq(volume_io_read(image, bytes, part, at, &err), 0);
            ck_assert_int_eq(volume_io_read(whole, expected, part, at, &err), 0);
            ck_assert_msg(memcmp(bytes, expected, part) == 0, "%zu bytes at %jd", part,
                          (intmax_t)at);
        }
    }
}
END_TEST

/* As a file may have become that others have cut. */
START_TEST(a_content_of_no_whole_sectors_is_refused) {
    static const int64_t sizes[] = { 0, 1, 511, CLUSTER + 1 };

    for (size_t i = 0; i < LENGTH(sizes); i++) {
        struct error err = { 0 };

        ck_assert_ptr_null(qcow2_image_io_open(memory_volume(sizes[i]), &err));
        ck_assert_int_eq(err.kind, ERROR_BACKEND);
    }
}
END_TEST

CHECK_MAIN_WITH("qcow2_image_io", true, begin, end, an_image_has_the_content_and_no_error,
                an_image_is_one_of_those_that_are_accepted, zeros_take_no_space,
                an_image_is_the_same_in_pieces_of_any_size,
                a_content_of_no_whole_sectors_is_refused)
