#include "drivers/file/chain.h"

#include "drivers/file/snapshot_file.h"
#include "tests/unit/drivers/driver_test.h"

struct place {
    struct bench bench;
    struct directory_settings settings;
    struct directory directory;
    struct driver_volume volume;
};

static void close_place(struct place *place) {
    close(place->directory.fd);
    bench_close(&place->bench);
}
#define autoplace __attribute__((cleanup(close_place)))

/* With a raw volume. */
static void open_place(struct place *place) {
    struct bench *bench = &place->bench;

    *place = (struct place){ .volume = A_VOLUME };
    bench_new(bench);
    bench_configure(bench, &file_driver, NULL);
    directory_settings_load(&bench->backend, &place->settings);
    place->settings.overlays = true;
    ck_assert_int_eq(mkdir(bench_path(bench, "d"), 0700), 0);
    ck_assert_int_eq(
        directory_open(bench_path(bench, "d"), &place->settings, &place->directory, &bench->err),
        0);
    ck_assert_int_eq(volume_file_create(&place->directory, bench->arena, &place->volume,
                                        &place->volume.format, &bench->err),
                     0);
    place->volume.provider_location = place->directory.path;
}

static void put(const struct place *place, const char *name, const void *bytes, size_t size) {
    autoclose int fd =
        openat(place->directory.fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    ck_assert_int_eq(pwrite(fd, bytes, size, 0), (ssize_t)size);
}

static void put_text(const struct place *place, const char *name, const char *text) {
    put(place, name, text, strlen(text));
}

static void put_number(unsigned char *at, unsigned size, uint64_t value) {
    while (size-- > 0) {
        at[size] = (unsigned char)value;
        value >>= 8;
    }
}

/* A qcow2 header above `backing`, whose recorded format is `format` (NULL: none). */
static void put_image(const struct place *place, const char *name, const char *backing,
                      const char *format) {
    unsigned char bytes[4096] = { 'Q', 'F', 'I', 0xfb };

    put_number(bytes + 4, 4, 3);
    put_number(bytes + 8, 8, 1024);
    put_number(bytes + 16, 4, strlen(backing));
    put_number(bytes + 20, 4, 16);
    put_number(bytes + 24, 8, GIB);
    put_number(bytes + 100, 4, 104);
    if (format) {
        put_number(bytes + 104, 4, 0xe2792aca);
        put_number(bytes + 108, 4, strlen(format));
        memcpy(bytes + 112, format, strlen(format));
    }
    memcpy(bytes + 1024, backing, strlen(backing));
    put(place, name, bytes, sizeof(bytes));
}

static int connect_volume(struct place *place) {
    struct volume_image image;

    place->bench.err = (struct error){ .kind = ERROR_NONE };
    return volume_file_connect(&place->directory, place->bench.arena, &place->volume, &image,
                               &place->bench.err);
}

static enum driver_outcome take_snapshot(struct place *place, const char *id) {
    const struct driver_snapshot snapshot = { .id = id, .name_id = id, .size_gb = 1 };

    return snapshot_file_create(&place->directory, place->bench.arena, &place->volume, &snapshot,
                                NULL, &place->bench.err);
}

#define ASSERT_ERROR(place, words) \
    ck_assert_msg(strstr((place)->bench.err.message, words), "%s", (place)->bench.err.message)

#define INFO  FILE_NAME ".info"
#define ABOVE "{\"active\": \"" FILE_NAME ".s\", \"s\": \"" FILE_NAME ".s\"}"

/* ---- headers ---- */

START_TEST(a_header_leads_nowhere_else) {
    static const struct {
        const char *backing, *format, *words;
    } cases[] = {
        { FILE_NAME, "raw", NULL },
        { FILE_NAME, NULL, "does not say" },
        { FILE_NAME, "qcow2", "does not say" },
        { FILE_NAME, "vmdk", "does not say" },
        { FILE_NAME, "a-format-with-a-long-name", "wrong backing format" },
        { "", "raw", NULL },
        { "/etc/passwd", "raw", "not the volume's" },
        { "../" FILE_NAME, "raw", "not the volume's" },
        { "./" FILE_NAME, "raw", "not the volume's" },
        { "json:{\"driver\": \"file\", \"filename\": \"/etc/passwd\"}", "raw", "not the volume's" },
        { "nbd://localhost/x", "raw", "not the volume's" },
        { "volume-other", "raw", "not the volume's" },
        { FILE_NAME "x", "raw", "not the volume's" },
        { FILE_NAME ".", "qcow2", "not the volume's" },
        { FILE_NAME ".a/b", "qcow2", "not the volume's" },
        { FILE_NAME ".info", "qcow2", "not the volume's" },
        { FILE_NAME ".t", "qcow2", "is missing" },
        { FILE_NAME ".s", "qcow2", "More than" },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        autoplace struct place place;

        open_place(&place);
        put_text(&place, INFO, ABOVE);
        put_image(&place, FILE_NAME ".s", cases[i].backing, cases[i].format);
        ck_assert_msg(connect_volume(&place) == (cases[i].words ? -1 : 0), "%s: %s",
                      cases[i].backing, place.bench.err.message);
        if (cases[i].words) {
            ASSERT_ERROR(&place, cases[i].words);
            ck_assert_int_eq(take_snapshot(&place, "new"), DRIVER_FAILED);
            ck_assert_int_eq(volume_file_extend(&place.directory, place.bench.arena, &place.volume,
                                                2, &place.bench.err),
                             DRIVER_FAILED);
        }
    }
}
END_TEST

START_TEST(only_regular_files_lie_below) {
    autoplace struct place place;

    open_place(&place);
    put_text(&place, INFO, ABOVE);
    put_image(&place, FILE_NAME ".s", FILE_NAME ".t", "qcow2");
    ck_assert_int_eq(symlinkat("/etc/passwd", place.directory.fd, FILE_NAME ".t"), 0);
    ck_assert_int_eq(connect_volume(&place), -1);
    ck_assert_int_eq(unlinkat(place.directory.fd, FILE_NAME ".t", 0), 0);
    ck_assert_int_eq(mkfifoat(place.directory.fd, FILE_NAME ".t", 0600), 0);
    ck_assert_int_eq(connect_volume(&place), -1);
    ASSERT_ERROR(&place, "not a regular file");
}
END_TEST

/* The guest chose the content of a raw volume. */
START_TEST(a_raw_base_is_read_as_nothing_else) {
    autoplace struct place place;

    open_place(&place);
    put_text(&place, INFO, ABOVE);
    put_image(&place, FILE_NAME ".s", FILE_NAME, "raw");
    put_image(&place, FILE_NAME, "/etc/passwd", "raw");
    ck_assert_int_eq(connect_volume(&place), 0);
    place.volume.format = "qcow2";
    ck_assert_int_eq(connect_volume(&place), -1);
    put_image(&place, FILE_NAME ".s", FILE_NAME, "qcow2");
    ck_assert_int_eq(connect_volume(&place), -1);
    ASSERT_ERROR(&place, "another file");
}
END_TEST

/* ---- infos ---- */

START_TEST(an_invalid_chain_file_is_refused) {
    static const char *const infos[] = {
        "",
        "{",
        "[]",
        "{}",
        "{\"active\": 1}",
        "{\"active\": \"\"}",
        "{\"active\": \"/etc/passwd\"}",
        "{\"active\": \"../" FILE_NAME "\"}",
        "{\"active\": \"snapshot-s\"}",
        "{\"active\": \"volume-\"}",
        "{\"active\": \"volume-a/../b\"}",
        "{\"active\": \"" FILE_NAME ".info\"}",
        "{\"active\": \"" FILE_NAME ".s.t\"}",
    };
    autoplace struct place place;

    open_place(&place);
    for (size_t i = 0; i < LENGTH(infos); i++) {
        put_text(&place, INFO, infos[i]);
        ck_assert_msg(connect_volume(&place) < 0, "%s", infos[i]);
        ASSERT_ERROR(&place, "Invalid chain file");
        ck_assert_int_eq(volume_file_delete(&place.directory, place.bench.arena, &place.volume,
                                            &place.bench.err),
                         -1);
    }
    ck_assert_int_eq(truncate(bench_path(&place.bench, "d/" INFO), 1 << 20), 0);
    ck_assert_int_eq(connect_volume(&place), -1);
    ck_assert_int_eq(unlinkat(place.directory.fd, INFO, 0), 0);
    ck_assert_int_eq(symlinkat("/etc/passwd", place.directory.fd, INFO), 0);
    ck_assert_int_eq(connect_volume(&place), -1);
    ck_assert(bench_has(&place.bench, "d/" FILE_NAME));
}
END_TEST

START_TEST(an_info_file_keeps_unknown_keys) {
    autoplace struct place place;
    const char *info;

    open_place(&place);
    put_text(&place, INFO, "{\"active\": \"" FILE_NAME "\", \"other\": [1]}");
    ck_assert_int_eq(connect_volume(&place), 0);
    put_text(&place, INFO,
             "{\"active\": \"" FILE_NAME ".s\", \"s\": \"" FILE_NAME ".s\", \"other\": [1]}");
    put_image(&place, FILE_NAME ".s", FILE_NAME, "raw");
    ck_assert_msg(take_snapshot(&place, "t") == DRIVER_DONE, "%s", place.bench.err.message);
    info = bench_read(&place.bench, "d/" INFO);
    ck_assert_str_eq(info, "{\"active\":\"" FILE_NAME ".t\",\"s\":\"" FILE_NAME
                           ".s\",\"other\":[1],\"t\":\"" FILE_NAME ".t\"}");
}
END_TEST

/* ---- depth ---- */

START_TEST(a_hundred_snapshots_and_no_more) {
    autoplace struct place place;
    const char *below = FILE_NAME;
    char *info;

    open_place(&place);
    info = arena_text(place.bench.arena, "");
    for (int i = 1; i < CHAIN_SNAPSHOTS_MOST; i++) {
        char *name = arena_format(place.bench.arena, FILE_NAME ".%d", i);

        put_image(&place, name, below, i == 1 ? "raw" : "qcow2");
        info = arena_format(place.bench.arena, "%s, \"%d\": \"%s\"", info, i, name);
        below = name;
    }
    put_text(&place, INFO, arena_format(place.bench.arena, "{\"active\": \"%s\"%s}", below, info));
    ck_assert_msg(take_snapshot(&place, "100") == DRIVER_DONE, "%s", place.bench.err.message);
    ck_assert_msg(connect_volume(&place) == 0, "%s", place.bench.err.message);
    ck_assert_int_eq(take_snapshot(&place, "101"), DRIVER_FAILED);
    ck_assert_int_eq(place.bench.err.kind, ERROR_BAD_REQUEST);
    ck_assert_int_eq(take_snapshot(&place, "100"), DRIVER_DONE);
    ck_assert(!bench_has(&place.bench, "d/" FILE_NAME ".101"));
    ck_assert_int_eq(
        volume_file_delete(&place.directory, place.bench.arena, &place.volume, &place.bench.err),
        0);
    ck_assert(!bench_has(&place.bench, "d/" FILE_NAME ".100"));
}
END_TEST

/* ---- workers ---- */

/* A call that reads a snapshot for long does so beside others; one that changes the chain is made
 * again later. */
START_TEST(files_that_are_read_are_not_changed) {
    autoplace struct place place;
    const struct driver_volume copy = { .id = "c", .name_id = "c", .size_gb = 1 };
    struct driver_snapshot snapshot = { .id = "s", .name_id = "s", .size_gb = 1, .format = "raw" };
    autosource struct image_source one = NO_SOURCE, other = NO_SOURCE;
    int lock = -1;

    open_place(&place);
    put_text(&place, INFO, ABOVE);
    put_image(&place, FILE_NAME ".s", FILE_NAME, "raw");
    for (int i = 0; i < 2; i++)
        ck_assert_msg(image_source_open_snapshot(&place.directory, place.bench.arena, &snapshot,
                                                 &copy, i ? &one : &other, &place.bench.err) == 0,
                      "%s", place.bench.err.message);
    ck_assert_int_eq(snapshot_file_delete(&place.directory, place.bench.arena, &place.volume,
                                          &snapshot, NULL, &place.bench.err),
                     DRIVER_FAILED);
    ck_assert_int_eq(place.bench.err.kind, ERROR_BUSY);
    ck_assert(bench_has(&place.bench, "d/" FILE_NAME ".s"));
    ck_assert_int_eq(connect_volume(&place), 0);
    image_source_close(&one);
    image_source_close(&other);
    one = other = NO_SOURCE;
    ck_assert_int_eq(volume_image_lock(&place.directory, place.bench.arena, &place.volume,
                                       VOLUME_ALONE, NULL, &lock, &place.bench.err),
                     0);
    ck_assert_int_ge(lock, 0);
    close(lock);
}
END_TEST

/* ---- names ---- */

static void note(void *arg, const char *name_id, int64_t bytes) {
    struct bench *bench = arg;

    (void)bytes;
    bench_write(bench, "listed",
                arena_format(bench->arena, "%s%s\n", bench_read(bench, "listed"), name_id), 0600);
}

START_TEST(a_chain_is_one_volume_under_any_name) {
    autoplace struct place place;
    struct driver_volume other = A_VOLUME;
    int64_t bytes;

    open_place(&place);
    put_text(&place, INFO, ABOVE);
    put_image(&place, FILE_NAME ".s", FILE_NAME, "raw");
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(volume_file_rename(&place.directory, place.bench.arena, &place.volume,
                                            "other", &place.bench.err),
                         0);
    other.name_id = "other";
    other.format = "raw";
    ck_assert_int_eq(
        volume_file_get_size(&place.directory, place.bench.arena, &other, &bytes, &place.bench.err),
        0);
    bench_write(&place.bench, "listed", "", 0600);
    ck_assert_int_eq(volume_file_list(&place.directory, note, &place.bench, &place.bench.err), 0);
    ck_assert_int_eq(snapshot_file_list(&place.directory, place.bench.arena, note, &place.bench,
                                        &place.bench.err),
                     0);
    ck_assert_str_eq(bench_read(&place.bench, "listed"), "other\ns\n");
    ck_assert_int_eq(
        volume_file_delete(&place.directory, place.bench.arena, &other, &place.bench.err), 0);
    ck_assert(!bench_has(&place.bench, "d/" FILE_NAME));
    ck_assert(!bench_has(&place.bench, "d/" FILE_NAME ".s"));
    ck_assert(!bench_has(&place.bench, "d/volume-other.info"));
}
END_TEST

START_TEST(a_volume_being_deleted_cannot_be_used) {
    autoplace struct place place;

    open_place(&place);
    put_text(&place, INFO, "{\"deleted\": \"" FILE_NAME ".s\", \"s\": \"" FILE_NAME ".s\"}");
    ck_assert_int_eq(connect_volume(&place), -1);
    ck_assert_int_eq(place.bench.err.kind, ERROR_NOT_FOUND);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(volume_file_delete(&place.directory, place.bench.arena, &place.volume,
                                            &place.bench.err),
                         0);
    ck_assert(!bench_has(&place.bench, "d/" FILE_NAME));
}
END_TEST

/* Not even its size is known then. */
START_TEST(a_failed_delete_reports_that_files_are_left) {
    autoplace struct place place;
    autoclose int held = -1;
    int64_t bytes;

    open_place(&place);
    put_text(&place, INFO, ABOVE);
    put_image(&place, FILE_NAME ".s", FILE_NAME, "raw");
    held = image_open(place.directory.fd, FILE_NAME, O_RDWR, &place.bench.err);
    ck_assert_int_eq(image_lock_writer(held, false, &place.bench.err), IMAGE_LOCKED);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(volume_file_delete(&place.directory, place.bench.arena, &place.volume,
                                            &place.bench.err),
                         -1);
        ck_assert_int_eq(place.bench.err.kind, ERROR_CONFLICT);
    }
    ck_assert_int_eq(volume_file_get_size(&place.directory, place.bench.arena, &place.volume,
                                          &bytes, &place.bench.err),
                     -1);
    ck_assert_int_eq(place.bench.err.kind, ERROR_NOT_FOUND);
    ck_assert(bench_has(&place.bench, "d/" FILE_NAME));
    ck_assert(!bench_has(&place.bench, "d/" FILE_NAME ".s"));
}
END_TEST

/* Also one whose files an earlier attempt has removed in part. */
START_TEST(a_chain_goes_with_its_volume_without_a_write) {
    static const struct {
        const char *id;
        bool attached, merging, without_active;
        enum driver_outcome outcome;
    } cases[] = {
        { "s", false, false, false, DRIVER_WITH_VOLUME },
        { "s", false, true, false, DRIVER_WITH_VOLUME },
        { "s", false, false, true, DRIVER_WITH_VOLUME },
        { "s", true, false, false, DRIVER_DEFERRED },
        { "t", false, true, false, DRIVER_DONE },
    };
    static const char merging[] = "{\"active\": \"" FILE_NAME ".s\", \"s\": \"" FILE_NAME
                                  ".s\", \"merging\": {\"u\": \"" FILE_NAME ".u\"}}";

    for (size_t i = 0; i < LENGTH(cases); i++) {
        const char *info = cases[i].merging ? merging : ABOVE;
        const struct driver_snapshot snapshot = {
            .id = cases[i].id, .name_id = cases[i].id, .size_gb = 1, .with_volume = true
        };
        autoplace struct place place;

        open_place(&place);
        put_text(&place, INFO, info);
        if (!cases[i].without_active)
            put_image(&place, FILE_NAME ".s", FILE_NAME, "raw");
        place.volume.attached = cases[i].attached;
        ck_assert_int_eq(snapshot_file_delete(&place.directory, place.bench.arena, &place.volume,
                                              &snapshot, NULL, &place.bench.err),
                         cases[i].outcome);
        ck_assert_str_eq(bench_read(&place.bench, "d/" INFO), info);
        ck_assert(bench_has(&place.bench, "d/" FILE_NAME ".s") != cases[i].without_active);
        ck_assert(bench_has(&place.bench, "d/" FILE_NAME));
    }
}
END_TEST

/* X27 */
START_TEST(an_overlay_is_never_smaller_than_the_image_below) {
    autoplace struct place place;
    int64_t bytes = 0;

    open_place(&place);
    ck_assert_int_eq(truncate(bench_path(&place.bench, "d/" FILE_NAME), 3 * GIB), 0);
    put_text(&place, INFO, ABOVE);
    ck_assert_int_eq(BENCH_RUN("qemu-img", "create", "-q", "-f", "qcow2", "-u", "-b", FILE_NAME,
                               "-F", "raw", bench_path(&place.bench, "d/" FILE_NAME ".s"), "3G"),
                     0);
    ck_assert_msg(take_snapshot(&place, "t") == DRIVER_DONE, "%s", place.bench.err.message);
    ck_assert_int_eq(volume_file_get_size(&place.directory, place.bench.arena, &place.volume,
                                          &bytes, &place.bench.err),
                     0);
    ck_assert_int_eq(bytes, 3 * GIB);
}
END_TEST

/* ---- lists ---- */

static void note_bytes(void *arg, const char *name_id, int64_t bytes) {
    json_object_set_new(arg, name_id, json_integer(bytes));
}

/* A check for damage names the snapshots that have lost their content. */
START_TEST(a_list_has_the_size_of_complete_chains_only) {
    static const char whole[] =
        "{\"active\": \"" FILE_NAME ".t\", \"s\": \"" FILE_NAME ".s\", \"t\": \"" FILE_NAME ".t\"}";
    static const struct {
        const char *info, *removed, *above; /* `above`: the file above t */
        int64_t s_bytes, t_bytes;
    } cases[] = {
        { whole, "none", FILE_NAME ".s", GIB, GIB },
        { whole, INFO, FILE_NAME ".s", 0, 0 },
        { whole, FILE_NAME, FILE_NAME ".s", 0, 0 },
        { whole, FILE_NAME ".s", FILE_NAME ".s", -1, 0 },
        { whole, "none", FILE_NAME, 0, 0 },
        { "{}", "none", FILE_NAME ".s", 0, 0 },
        { ABOVE, "none", FILE_NAME ".s", GIB, 0 },
        { "{\"active\": \"" FILE_NAME ".t\", \"t\": \"" FILE_NAME ".t\"}", "none", FILE_NAME ".s",
          0, GIB },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        autoplace struct place place;
        json_t *listed = json_object();

        open_place(&place);
        put_text(&place, INFO, cases[i].info);
        put_image(&place, FILE_NAME ".s", FILE_NAME, "raw");
        put_image(&place, FILE_NAME ".t", cases[i].above, "qcow2");
        unlinkat(place.directory.fd, cases[i].removed, 0);
        ck_assert_int_eq(snapshot_file_list(&place.directory, place.bench.arena, note_bytes, listed,
                                            &place.bench.err),
                         0);
        ck_assert_int_eq(json_object_get(listed, "s") != NULL, cases[i].s_bytes >= 0);
        if (cases[i].s_bytes >= 0)
            ck_assert_int_eq(json_integer_value(json_object_get(listed, "s")), cases[i].s_bytes);
        ck_assert_int_eq(json_integer_value(json_object_get(listed, "t")), cases[i].t_bytes);
        json_decref(listed);
    }
}
END_TEST

CHECK_MAIN("chain", a_header_leads_nowhere_else, only_regular_files_lie_below,
           a_raw_base_is_read_as_nothing_else, an_invalid_chain_file_is_refused,
           an_info_file_keeps_unknown_keys, a_hundred_snapshots_and_no_more,
           files_that_are_read_are_not_changed, a_chain_is_one_volume_under_any_name,
           a_volume_being_deleted_cannot_be_used, a_failed_delete_reports_that_files_are_left,
           a_chain_goes_with_its_volume_without_a_write,
           an_overlay_is_never_smaller_than_the_image_below,
           a_list_has_the_size_of_complete_chains_only)
