#include "drivers/file/draft.h"

#include "drivers/file/volume_file.h"
#include "drivers/file/volume_name.h"
#include "tests/unit/drivers/driver_test.h"

#include <unistd.h>

struct place {
    struct bench bench;
    struct directory_settings settings;
    struct directory directory;
};

static void close_place(struct place *place) {
    close(place->directory.fd);
    bench_close(&place->bench);
}
#define autoplace __attribute__((cleanup(close_place)))

static void open_place(struct place *place) {
    struct bench *bench = &place->bench;

    *place = (struct place){ .settings = { .mode = 0600 } };
    bench_new(bench);
    bench_configure(bench, &file_driver, NULL);
    directory_settings_load(&bench->backend, &place->settings);
    ck_assert_int_eq(directory_open(bench->path, &place->settings, &place->directory, &bench->err),
                     0);
}

static void open_draft(struct place *place, unsigned attempt, struct draft *ret) {
    ck_assert_msg(draft_open(&place->directory, place->bench.arena, FILE_NAME, attempt, ret,
                             &place->bench.err) == 0,
                  "%s", place->bench.err.message);
}

static void fill(const struct draft *draft, const char *text) {
    ck_assert_int_eq(pwrite(draft->fd, text, strlen(text), 0), (ssize_t)strlen(text));
}

/* ---- names ---- */

START_TEST(no_two_attempts_share_a_name) {
    autoplace struct place place;
    struct arena *arena;

    open_place(&place);
    arena = place.bench.arena;
    for (unsigned one = 1; one < 70; one++)
        for (unsigned other = one + 1; other < 70; other++)
            ck_assert_str_ne(volume_name_unfinished(arena, FILE_NAME, one),
                             volume_name_unfinished(arena, FILE_NAME, other));
}
END_TEST

START_TEST(drafts_of_every_attempt_are_removed) {
    static const unsigned attempts[] = { 1, 2, 15, 16, 17, 32, 4711 };

    for (size_t i = 0; i < LENGTH(attempts); i++) {
        autoplace struct place place;
        struct draft left; /* its process has ended */
        const char *name;

        open_place(&place);
        open_draft(&place, attempts[i], &left);
        name = left.unfinished;
        ck_assert(bench_has(&place.bench, name));
        if (i + 1 < LENGTH(attempts)) {
            autodraft struct draft next = { 0 };

            open_draft(&place, attempts[i + 1], &next);
            ck_assert(!bench_has(&place.bench, name));
            name = next.unfinished;
            next.unfinished = NULL;
        }
        ck_assert_int_eq(volume_name_remove_unfinished(&place.directory, place.bench.arena,
                                                       FILE_NAME, &place.bench.err),
                         0);
        ck_assert(!bench_has(&place.bench, name));
        ck_assert(!bench_has(&place.bench, "." FILE_NAME ".many.new"));
        close(left.fd);
    }
}
END_TEST

/* ---- a worker that is paused while another operation has a draft of the same name ---- */

START_TEST(a_late_worker_publishes_no_draft_of_another) {
    for (int replaces = 0; replaces <= 1; replaces++) {
        autoplace struct place place;
        struct draft late = { 0 };
        autodraft struct draft other = { 0 };

        open_place(&place);
        if (replaces)
            bench_write(&place.bench, FILE_NAME, "before", 0600);
        open_draft(&place, 1, &late);
        fill(&late, "late");
        open_draft(&place, 1, &other);
        fill(&other, "half");
        ck_assert_int_eq(replaces ? draft_replace(&late, NULL, &place.bench.err)
                                  : draft_publish(&late, NULL, &place.bench.err),
                         -1);
        ck_assert_int_eq(place.bench.err.kind, ERROR_CONFLICT);
        ck_assert_int_eq(bench_has(&place.bench, FILE_NAME), replaces);
        draft_end(&late);
        ck_assert_str_eq(bench_read(&place.bench, other.unfinished), "half");
        ck_assert_int_eq(replaces ? draft_replace(&other, NULL, &place.bench.err)
                                  : draft_publish(&other, NULL, &place.bench.err),
                         0);
        ck_assert_str_eq(bench_read(&place.bench, FILE_NAME), "half");
    }
}
END_TEST

START_TEST(a_replaced_file_is_removed_with_the_draft) {
    autoplace struct place place;
    struct draft draft = { 0 };

    open_place(&place);
    bench_write(&place.bench, FILE_NAME, "before", 0600);
    open_draft(&place, 1, &draft);
    fill(&draft, "after");
    ck_assert_int_eq(draft_replace(&draft, NULL, &place.bench.err), 0);
    draft_end(&draft);
    ck_assert_str_eq(bench_read(&place.bench, FILE_NAME), "after");
    ck_assert(!bench_has(&place.bench, "." FILE_NAME ".new"));
}
END_TEST

/* ---- lists ---- */

static void note(void *arg, const struct driver_draft *draft) {
    struct bench *bench = arg;

    bench_write(bench, "listed",
                arena_format(bench->arena, "%s%s %s\n", bench_read(bench, "listed"), draft->name_id,
                             strrchr(draft->where, '/') + 1),
                0600);
}

START_TEST(an_overlay_that_has_lost_its_name_is_listed) {
    autoplace struct place place;

    open_place(&place);
    bench_write(&place.bench, "." FILE_NAME ".s.undone", "", 0600);
    bench_write(&place.bench, "." FILE_NAME ".s.other", "", 0600);
    bench_write(&place.bench, "listed", "", 0600);
    ck_assert_int_eq(
        draft_list(&place.directory, place.bench.arena, note, &place.bench, &place.bench.err), 0);
    ck_assert_str_eq(bench_read(&place.bench, "listed"),
                     arena_format(place.bench.arena, "%s .%s.s.undone\n",
                                  &FILE_NAME[strlen(VOLUME_NAME_PREFIX)], FILE_NAME));
}
END_TEST

CHECK_MAIN("drafts", no_two_attempts_share_a_name, drafts_of_every_attempt_are_removed,
           a_late_worker_publishes_no_draft_of_another, a_replaced_file_is_removed_with_the_draft,
           an_overlay_that_has_lost_its_name_is_listed)
