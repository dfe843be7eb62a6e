#include "drivers/file/volume_file.h"

#include "tests/unit/drivers/driver_test.h"

#include <dirent.h>
#include <sys/resource.h>

#define UNFINISHED "." FILE_NAME ".new"

/* A directory of volumes in d below the bench, with a qemu-img that is the real one or a script. */
struct place {
    struct bench bench;
    struct directory_settings settings;
    struct directory directory;
    struct driver_volume volume;
    unsigned looked;
};

struct watcher {
    struct driver_fence fence;
    struct place *place;
};

static void close_place(struct place *place) {
    close(place->directory.fd);
    bench_close(&place->bench);
}
#define autoplace __attribute__((cleanup(close_place)))

static void open_place(struct place *place, const char *script) {
    struct bench *bench = &place->bench;
    const char *path;

    *place = (struct place){ .volume = A_VOLUME };
    bench_new(bench);
    bench_configure(bench, &file_driver, NULL);
    directory_settings_load(&bench->backend, &place->settings);
    if (script) {
        bench_write(bench, "qemu-img", script, 0755);
        place->settings.qemu_img.program = bench_path(bench, "qemu-img");
        place->settings.qcow2 = true;
    }
    path = bench_path(bench, "d");
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(directory_open(path, &place->settings, &place->directory, &bench->err), 0);
}

static int create(struct place *place) {
    struct driver_volume *volume = &place->volume;

    return volume_file_create(&place->directory, place->bench.arena, volume, &volume->format,
                              &place->bench.err);
}

static enum driver_outcome extend(struct place *place, int64_t new_gb) {
    place->bench.err.message[0] = '\0';
    return volume_file_extend(&place->directory, place->bench.arena, &place->volume, new_gb,
                              &place->bench.err);
}

static int64_t size_of(struct place *place) {
    int64_t bytes = -1;

    volume_file_get_size(&place->directory, place->bench.arena, &place->volume, &bytes,
                         &place->bench.err);
    return bytes;
}

static bool has(struct place *place, const char *name) {
    return faccessat(place->directory.fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static struct stat look(struct place *place) {
    struct stat status;

    ck_assert_int_eq(fstatat(place->directory.fd, FILE_NAME, &status, 0), 0);
    return status;
}

#define ASSERT_ERROR(place, words) \
    ck_assert_msg(strstr((place)->bench.err.message, words), "%s", (place)->bench.err.message)

/* ---- create ---- */

START_TEST(a_file_has_the_configured_mode) {
    static const mode_t modes[] = { 0600, 0660, 0666 };

    umask(077);
    for (size_t i = 0; i < LENGTH(modes); i++) {
        autoplace struct place place;

        open_place(&place, NULL);
        place.settings.mode = modes[i];
        place.settings.sparse = i != 1;
        ck_assert_int_eq(create(&place), 0);
        ck_assert_uint_eq(look(&place).st_mode, S_IFREG | modes[i]);
    }
}
END_TEST

START_TEST(sparse_allocates_nothing_and_thick_everything) {
    autoplace struct place place;

    open_place(&place, NULL);
    ck_assert_int_eq(create(&place), 0);
    ck_assert_int_lt(look(&place).st_blocks * 512, 1 << 20);
    place.settings.sparse = false;
    place.volume.name_id = "thick";
    ck_assert_int_eq(create(&place), 0);
    place.volume.name_id = place.volume.id;
    ck_assert_int_eq(unlinkat(place.directory.fd, FILE_NAME, 0), 0);
    ck_assert_int_eq(renameat(place.directory.fd, "volume-thick", place.directory.fd, FILE_NAME),
                     0);
    ck_assert_int_ge(look(&place).st_blocks * 512, GIB);
}
END_TEST

START_TEST(an_incomplete_file_is_recreated) {
    autoplace struct place place;

    open_place(&place, NULL);
    bench_write(&place.bench, "d/" FILE_NAME, "", 0600); /* before its size */
    ck_assert_int_eq(create(&place), 0);
    ck_assert_int_eq(size_of(&place), GIB);

    ck_assert_int_eq(unlinkat(place.directory.fd, FILE_NAME, 0), 0);
    bench_write(&place.bench, "d/" UNFINISHED, "half", 0600); /* before its name */
    place.settings.sparse = false;
    ck_assert_int_eq(create(&place), 0);
    ck_assert_int_eq(size_of(&place), GIB);
    ck_assert(!has(&place, UNFINISHED));
}
END_TEST

static unsigned count_files(struct place *place) {
    autodirectory DIR *stream = opendir(bench_path(&place->bench, "d"));
    unsigned count = 0;

    ck_assert_ptr_nonnull(stream);
    for (const struct dirent *entry; (entry = readdir(stream));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    return count;
}

static bool sees_no_file(const struct driver_fence *fence) {
    const struct watcher *watcher = (const struct watcher *)fence;

    watcher->place->looked++;
    ck_assert_uint_eq(count_files(watcher->place), 0);
    return true;
}

START_TEST(a_file_has_no_name_before_it_is_made) {
    autoplace struct place place;
    struct watcher watcher = { { .holds = sees_no_file }, &place };

    open_place(&place, NULL);
    place.directory.keeps_unnamed = true;
    place.settings.mode = 0660;
    place.volume.fence = &watcher.fence;
    ck_assert_int_eq(create(&place), 0);
    ck_assert_uint_eq(place.looked, 1);
    ck_assert_int_eq(size_of(&place), GIB);
    ck_assert_uint_eq(look(&place).st_mode, S_IFREG | 0660);
    ck_assert_int_eq(look(&place).st_blocks, 0);
    ck_assert_uint_eq(count_files(&place), 1);
}
END_TEST

START_TEST(a_foreign_file_is_not_touched) {
    autoplace struct place place;

    open_place(&place, NULL);
    bench_write(&place.bench, "d/" FILE_NAME, "precious", 0600);
    ck_assert_int_eq(create(&place), -1);
    ASSERT_ERROR(&place, "exists already with 8 instead of 1073741824 bytes");
    place.settings.qcow2 = true;
    ck_assert_int_eq(create(&place), -1);
    ASSERT_ERROR(&place, "is not");
    ck_assert_str_eq(bench_read(&place.bench, "d/" FILE_NAME), "precious");

    ck_assert_int_eq(unlinkat(place.directory.fd, FILE_NAME, 0), 0);
    ck_assert_int_eq(symlinkat("../target", place.directory.fd, FILE_NAME), 0);
    place.settings.qcow2 = false;
    ck_assert_int_eq(create(&place), -1);
    ck_assert_int_eq(mkdirat(place.directory.fd, UNFINISHED, 0700), 0);
    ck_assert_int_eq(unlinkat(place.directory.fd, FILE_NAME, 0), 0);
    place.settings.sparse = false;
    ck_assert_int_eq(create(&place), -1);
    ASSERT_ERROR(&place, "removing " UNFINISHED);
    ck_assert(!bench_has(&place.bench, "target"));
}
END_TEST

START_TEST(a_create_that_fails_leaves_nothing) {
    const struct rlimit limit = { .rlim_cur = 1 << 20, .rlim_max = RLIM_INFINITY };
    autoplace struct place place;

    open_place(&place, NULL);
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(create(&place), -1);
    place.settings.sparse = false;
    ck_assert_int_eq(create(&place), -1);
    ck_assert(!has(&place, FILE_NAME) && !has(&place, UNFINISHED));
    place.volume.size_gb = 1 << 30;
    ck_assert_int_eq(create(&place), -1);
    ASSERT_ERROR(&place, "no space");
    ck_assert(!has(&place, FILE_NAME) && !has(&place, UNFINISHED));
}
END_TEST

#define MAKES_ANOTHER_SIZE                                       \
    "#!/bin/sh\nfor size; do path=$before; before=$size; done\n" \
    "exec qemu-img create -q -f qcow2 $path 4096\n"

START_TEST(a_broken_qemu_img_makes_nothing) {
    static const char *const scripts[] = {
        "#!/bin/sh\necho 'qemu-img: No space left on device' >&2\nexit 1\n",
        "#!/bin/sh\necho Formatting\n", /* reports success, and did nothing */
        MAKES_ANOTHER_SIZE,
    };

    for (size_t i = 0; i < LENGTH(scripts); i++) {
        autoplace struct place place;

        open_place(&place, scripts[i]);
        ck_assert_int_eq(create(&place), -1);
        ck_assert_ptr_null(place.volume.format);
        ck_assert(!has(&place, FILE_NAME) && !has(&place, UNFINISHED));
    }
}
END_TEST

START_TEST(unsupported_volumes_are_refused) {
    autoplace struct place place;

    open_place(&place, NULL);
    place.volume.encrypted = true;
    ck_assert_int_eq(create(&place), -1);
    ck_assert_int_eq(place.bench.err.kind, ERROR_BAD_REQUEST);
    place.volume.encrypted = false;
    place.volume.multiattach = true;
    place.settings.qcow2 = true;
    ck_assert_int_eq(create(&place), -1);
    ck_assert_int_eq(place.bench.err.kind, ERROR_BAD_REQUEST);
    place.settings.qcow2 = false;
    ck_assert_int_eq(create(&place), 0);
}
END_TEST

START_TEST(delete_removes_incomplete_files_too) {
    autoplace struct place place;

    open_place(&place, NULL);
    ck_assert_int_eq(create(&place), 0);
    bench_write(&place.bench, "d/" UNFINISHED, "half", 0600);
    ck_assert_int_eq(
        volume_file_exists(&place.directory, place.bench.arena, &place.volume, &place.bench.err),
        1);
    ck_assert_int_eq(
        volume_file_delete(&place.directory, place.bench.arena, &place.volume, &place.bench.err),
        0);
    ck_assert(!has(&place, FILE_NAME) && !has(&place, UNFINISHED));
    ck_assert_int_eq(
        volume_file_exists(&place.directory, place.bench.arena, &place.volume, &place.bench.err),
        0);
    ck_assert_int_eq(mkdirat(place.directory.fd, UNFINISHED, 0700), 0);
    ck_assert_int_eq(
        volume_file_delete(&place.directory, place.bench.arena, &place.volume, &place.bench.err),
        -1);
    ck_assert_int_eq(mkdirat(place.directory.fd, FILE_NAME, 0700), 0);
    ck_assert_int_eq(
        volume_file_delete(&place.directory, place.bench.arena, &place.volume, &place.bench.err),
        -1);
}
END_TEST

START_TEST(a_closed_directory_fails_every_call) {
    struct place place;
    struct volume_image image;

    open_place(&place, NULL);
    ck_assert_int_eq(create(&place), 0);
    close(place.directory.fd);
    ck_assert_int_eq(create(&place), -1);
    ck_assert_int_eq(
        volume_file_exists(&place.directory, place.bench.arena, &place.volume, &place.bench.err),
        -1);
    ck_assert_int_eq(size_of(&place), -1);
    ck_assert_int_eq(extend(&place, 2), DRIVER_FAILED);
    ck_assert_int_eq(volume_file_connect(&place.directory, place.bench.arena, &place.volume, &image,
                                         &place.bench.err),
                     -1);
    ck_assert_int_eq(
        volume_file_delete(&place.directory, place.bench.arena, &place.volume, &place.bench.err),
        -1);
    bench_close(&place.bench);
}
END_TEST

/* ---- extend ---- */

START_TEST(a_raw_volume_with_a_qcow2_header_stays_raw) {
    autoplace struct place place;
    unsigned char evil[104] = { 'Q', 'F', 'I', 0xfb, 0, 0, 0, 3 };
    autoclose int fd = -1;
    struct volume_image image;

    open_place(&place, NULL);
    ck_assert_int_eq(create(&place), 0);
    evil[24] = 0x10; /* a huge virtual size */
    evil[23] = 16;
    fd = openat(place.directory.fd, FILE_NAME, O_WRONLY | O_CLOEXEC);
    ck_assert_int_eq(pwrite(fd, evil, sizeof(evil), 0), sizeof(evil));
    ck_assert_int_eq(size_of(&place), GIB);
    ck_assert_int_eq(extend(&place, 2), DRIVER_DONE);
    ck_assert_int_eq(look(&place).st_size, 2 * GIB);
    ck_assert_int_eq(volume_file_connect(&place.directory, place.bench.arena, &place.volume, &image,
                                         &place.bench.err),
                     0);
    ck_assert_str_eq(image.name, FILE_NAME);
    ck_assert_str_eq(image.format, place.volume.format);
}
END_TEST

START_TEST(an_inconsistent_record_is_refused) {
    autoplace struct place place;

    open_place(&place, NULL);
    ck_assert_int_eq(create(&place), 0);
    place.volume.format = "qcow2";
    ck_assert_int_eq(extend(&place, 2), DRIVER_FAILED);
    ASSERT_ERROR(&place, "recorded as qcow2 but is not");
    place.volume.format = "vmdk";
    ck_assert_int_eq(extend(&place, 2), DRIVER_FAILED);
    ASSERT_ERROR(&place, "with the format vmdk");
    place.volume.format = NULL;
    ck_assert_int_eq(extend(&place, 2), DRIVER_FAILED);
    ASSERT_ERROR(&place, "with the format (none)");
    ck_assert_int_eq(look(&place).st_size, GIB);
}
END_TEST

static void make_by_hand(struct place *place, const char *options) {
    const char *path = bench_path(&place->bench, "d/" FILE_NAME);

    ck_assert_int_eq(
        BENCH_RUN("qemu-img", "create", "-q", "-f", "qcow2", "-o", options, path, "1G"), 0);
    place->volume.format = "qcow2";
}

static void put(unsigned char *place, uint32_t value) {
    for (int i = 0; i < 4; i++)
        place[i] = (unsigned char)(value >> (24 - 8 * i));
}

#define LUKS_PAYLOAD 4096 /* sectors before the content */

/* A raw file with LUKS around 1 GiB: the header that QEMU wants to see, without any key (making one
 * with qemu-img measures the processor, and fails on a busy one). */
static void make_luks(struct place *place) {
    unsigned char header[592] = { 'L', 'U', 'K', 'S', 0xba, 0xbe, 0, 1 };
    autoclose int fd = openat(place->directory.fd, FILE_NAME, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    strcpy((char *)header + 8, "aes");
    strcpy((char *)header + 40, "xts-plain64");
    strcpy((char *)header + 72, "sha256");
    put(header + 104, LUKS_PAYLOAD);
    put(header + 108, 64);   /* bytes of the key */
    put(header + 164, 1000); /* iterations of its digest */
    strcpy((char *)header + 168, "7a1e1c88-2d6b-4f0e-9c86-3d5e7f0a9b11");
    for (uint32_t slot = 0; slot < 8; slot++) {
        put(header + 208 + 48 * slot, 0xdead); /* unused */
        put(header + 208 + 48 * slot + 40, 8 + 504 * slot);
        put(header + 208 + 48 * slot + 44, 4000);
    }
    ck_assert_int_eq(pwrite(fd, header, sizeof(header), 0), sizeof(header));
    ck_assert_int_eq(ftruncate(fd, LUKS_PAYLOAD * 512 + GIB), 0);
    place->volume.format = "raw";
}

/* Marks LUKS inside in the header of a qcow2 file. */
static void mark_encrypted(struct place *place) {
    autoclose int fd = openat(place->directory.fd, FILE_NAME, O_RDWR | O_CLOEXEC);

    ck_assert_int_eq(pwrite(fd, "\2", 1, 35), 1);
}

START_TEST(encrypted_volumes_grow_on_the_compute_side_only) {
    autoplace struct place place;
    struct stat before;

    open_place(&place, NULL);
    place.volume.encrypted = true;
    make_luks(&place);
    before = look(&place);
    ck_assert_int_gt(before.st_size, GIB);
    ck_assert_int_eq(size_of(&place), GIB); /* without the header */
    ck_assert_int_eq(extend(&place, 1), DRIVER_DONE);
    ck_assert_int_eq(extend(&place, 2), DRIVER_FAILED);
    ASSERT_ERROR(&place, "grow only while attached");
    place.volume.attached = true;
    ck_assert_int_eq(extend(&place, 2), DRIVER_DEFERRED);
    ck_assert_int_eq(look(&place).st_size, before.st_size);

    place.settings.qemu_img.program = "/nowhere/qemu-img";
    ck_assert_int_eq(size_of(&place), -1);
}
END_TEST

START_TEST(qcow2_with_luks_inside_needs_its_record) {
    autoplace struct place place;

    open_place(&place, NULL);
    make_by_hand(&place, "preallocation=off");
    mark_encrypted(&place);
    place.volume.encrypted = true;
    place.volume.attached = true;
    place.volume.format = "raw"; /* as upstream records it (D12) */
    ck_assert_int_eq(extend(&place, 2), DRIVER_FAILED);
    ASSERT_ERROR(&place, "recorded as raw but is qcow2");
    place.volume.format = "qcow2";
    ck_assert_int_eq(size_of(&place), GIB);
    ck_assert_int_eq(extend(&place, 2), DRIVER_DEFERRED);
    place.volume.encrypted = false;
    ck_assert_int_eq(extend(&place, 2), DRIVER_FAILED);
    ASSERT_ERROR(&place, "encrypted but not recorded so");
    ck_assert_int_eq(size_of(&place), GIB);
}
END_TEST

START_TEST(parts_of_unknown_origin_are_refused) {
    autoplace struct place place;
    struct volume_image image;

    open_place(&place, NULL);
    bench_write(&place.bench, "base", "secret of the host", 0600);
    make_by_hand(&place, "backing_file=../base,backing_fmt=raw");
    ck_assert_int_eq(extend(&place, 2), DRIVER_FAILED);
    ASSERT_ERROR(&place, "unrecorded backing image");
    ck_assert_int_eq(volume_file_connect(&place.directory, place.bench.arena, &place.volume, &image,
                                         &place.bench.err),
                     -1);
    ck_assert_int_eq(size_of(&place), GIB);

    ck_assert_int_eq(unlinkat(place.directory.fd, FILE_NAME, 0), 0);
    make_by_hand(&place, arena_format(place.bench.arena, "data_file=%s,data_file_raw=on",
                                      bench_path(&place.bench, "data")));
    ck_assert_int_eq(extend(&place, 2), DRIVER_FAILED);
    ASSERT_ERROR(&place, "keeps its data in another file");
}
END_TEST

START_TEST(locks_without_evidence_leave_attached_volumes_alone) {
    autoplace struct place place;

    open_place(&place, NULL);
    ck_assert_int_eq(create(&place), 0);
    place.directory.locks_trusted = false;
    place.volume.attached = true;
    ck_assert_int_eq(extend(&place, 1), DRIVER_DONE);
    ck_assert_int_eq(extend(&place, 2), DRIVER_DEFERRED);
    ck_assert_int_eq(size_of(&place), GIB);
    place.volume.multiattach = true;
    ck_assert_int_eq(extend(&place, 2), DRIVER_DONE);
    place.volume.attached = place.volume.multiattach = false;
    ck_assert_int_eq(extend(&place, 3), DRIVER_DONE);
    ck_assert_int_eq(size_of(&place), 3 * GIB);
}
END_TEST

START_TEST(a_lock_that_is_no_guests_fails) {
    autoplace struct place place;
    autoclose int fd = -1;
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 201, .l_len = 1 };

    open_place(&place, NULL);
    ck_assert_int_eq(create(&place), 0);
    place.volume.attached = true;
    fd = openat(place.directory.fd, FILE_NAME, O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &lock), 0);
    ck_assert_int_eq(extend(&place, 2), DRIVER_FAILED);
    lock.l_type = F_RDLCK;
    ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &lock), 0);
    ck_assert_int_eq(extend(&place, 2), DRIVER_DEFERRED);
    ck_assert_int_eq(size_of(&place), GIB);
}
END_TEST

START_TEST(growth_is_read_back) {
    autoplace struct place place;

    open_place(&place, NULL);
    place.settings.qcow2 = true;
    ck_assert_int_eq(create(&place), 0);
    bench_write(&place.bench, "qemu-img", "#!/bin/sh\necho 'Image resized.'\n", 0755);
    place.settings.qemu_img.program = bench_path(&place.bench, "qemu-img");
    ck_assert_int_eq(extend(&place, 2), DRIVER_FAILED);
    ASSERT_ERROR(&place, "still has 1073741824 bytes after the resize to 2147483648");

    bench_write(&place.bench, "qemu-img",
                arena_format(place.bench.arena, "#!/bin/sh\nrm %s\n",
                             bench_path(&place.bench, "d/" FILE_NAME)),
                0755);
    ck_assert_int_eq(extend(&place, 2), DRIVER_FAILED);
    ASSERT_ERROR(&place, "reading the size back: There is no file");
}
END_TEST

START_TEST(the_result_of_the_resize_is_the_outcome) {
    static const struct {
        const char *script;
        enum driver_outcome outcome;
        int64_t timeout_s;
    } runs[] = {
        { "#!/bin/sh\necho \"qemu-img: Could not open '/f': Failed to get \\\"write\\\" lock\" >&2\n"
          "exit 1\n",
          DRIVER_DEFERRED, 30 },
        { "#!/bin/sh\necho \"qemu-img: Failed to lock byte 100: No locks available\" >&2\nexit 1\n",
          DRIVER_FAILED, 30 },
        { "#!/bin/sh\nexec sleep 60\n", DRIVER_FAILED, 1 },
        { "#!/bin/sh\nkill -9 $$\n", DRIVER_FAILED, 30 },
    };
    autoplace struct place place;

    open_place(&place, NULL);
    place.settings.qcow2 = true;
    ck_assert_int_eq(create(&place), 0);
    place.settings.qemu_img.program = bench_path(&place.bench, "qemu-img");
    for (size_t i = 0; i < LENGTH(runs); i++) {
        place.settings.qemu_img.timeout_s = runs[i].timeout_s;
        bench_write(&place.bench, "qemu-img", runs[i].script, 0755);
        ck_assert_int_eq(extend(&place, 2), runs[i].outcome);
        ck_assert_int_eq(size_of(&place), GIB);
    }
    ck_assert_int_eq(extend(&place, 1), DRIVER_DONE); /* without a run */
}
END_TEST

/* ---- list ---- */

static void collect(void *arg, const char *name_id, int64_t bytes) {
    struct bench *bench = arg;

    bench->backend.name =
        arena_format(bench->arena, "%s %s=%jd", bench->backend.name, name_id, (intmax_t)bytes);
}

START_TEST(only_volume_files_are_listed) {
    autoplace struct place place;
    struct bench *bench = &place.bench;

    open_place(&place, NULL);
    bench_write(bench, "d/volume-one", "12345", 0600);
    bench_write(bench, "d/volume-one.info", "", 0600);
    bench_write(bench, "d/.volume-two.new", "", 0600);
    bench_write(bench, "d/volume-", "", 0600);
    bench_write(bench, "d/other", "", 0600);
    bench->backend.name = "";
    ck_assert_int_eq(volume_file_list(&place.directory, collect, bench, &bench->err), 0);
    ck_assert_str_eq(bench->backend.name, " one=5");

    bench_write(bench, "d/volume-one", "QFI\xfb", 0600);
    bench->backend.name = "";
    ck_assert_int_eq(volume_file_list(&place.directory, collect, bench, &bench->err), 0);
    ck_assert_str_eq(bench->backend.name, " one=-1");
    ck_assert_int_eq(remove(bench_path(bench, "d/volume-one")), 0);
    ck_assert_int_eq(symlink("other", bench_path(bench, "d/volume-one")), 0);
    bench->backend.name = "";
    ck_assert_int_eq(volume_file_list(&place.directory, collect, bench, &bench->err), 0);
    ck_assert_str_eq(bench->backend.name, " one=-1");
    close(place.directory.fd);
    ck_assert_int_eq(volume_file_list(&place.directory, collect, bench, &bench->err), -1);
}
END_TEST

CHECK_MAIN("volume_file", a_file_has_the_configured_mode,
           sparse_allocates_nothing_and_thick_everything, an_incomplete_file_is_recreated,
           a_file_has_no_name_before_it_is_made, a_foreign_file_is_not_touched,
           a_create_that_fails_leaves_nothing, a_broken_qemu_img_makes_nothing,
           unsupported_volumes_are_refused, delete_removes_incomplete_files_too,
           a_closed_directory_fails_every_call, a_raw_volume_with_a_qcow2_header_stays_raw,
           an_inconsistent_record_is_refused, encrypted_volumes_grow_on_the_compute_side_only,
           qcow2_with_luks_inside_needs_its_record, parts_of_unknown_origin_are_refused,
           locks_without_evidence_leave_attached_volumes_alone, a_lock_that_is_no_guests_fails,
           growth_is_read_back, the_result_of_the_resize_is_the_outcome,
           only_volume_files_are_listed)
