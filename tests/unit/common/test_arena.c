#include "common/arena.h"

#include "tests/lib/check_main.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <wchar.h>

static bool is_zero(const char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != 0)
            return false;
    }
    return true;
}

START_TEST(pieces_are_zeroed_aligned_and_apart) {
    autoarena struct arena *arena = arena_new();
    char *pieces[400];

    for (size_t i = 0; i < LENGTH(pieces); i++) {
        arena_text_n(arena, "odd", i % 3);
        pieces[i] = arena_alloc(arena, i * 3);
        ck_assert_uint_eq((uintptr_t)pieces[i] % _Alignof(max_align_t), 0);
        ck_assert(is_zero(pieces[i], i * 3));
        memset(pieces[i], (int)(i % 255 + 1), i * 3);
    }
    for (size_t i = 0; i < LENGTH(pieces); i++) {
        for (size_t at = 0; at < i * 3; at++)
            ck_assert_int_eq((unsigned char)pieces[i][at], (int)(i % 255 + 1));
    }
}
END_TEST

START_TEST(large_pieces_leave_the_block_in_use) {
    autoarena struct arena *arena = arena_new();
    char *small = arena_text(arena, "small");
    char *large = arena_alloc(arena, 3000000);
    char *next = arena_text(arena, "next");

    memset(large, 1, 3000000);
    ck_assert_str_eq(small, "small");
    ck_assert_str_eq(next, "next");
}
END_TEST

START_TEST(a_reset_arena_is_used_again) {
    autoarena struct arena *arena = arena_new();

    for (int round = 0; round < 50; round++) {
        for (size_t i = 0; i < 3000; i++) {
            char *piece = arena_alloc(arena, 40);

            ck_assert(is_zero(piece, 40));
            memset(piece, 'x', 40);
        }
        arena_reset(arena);
    }
    ck_assert_str_eq(arena_text(arena, "alive"), "alive");
}
END_TEST

START_TEST(copies_do_not_follow_their_source) {
    autoarena struct arena *arena = arena_new();
    char source[] = "source";
    int numbers[] = { 1, 2, 3 };
    char *text = arena_text(arena, source);
    char *part = arena_text_n(arena, source, 3);
    int *copy = arena_copy(arena, numbers, sizeof(numbers));

    memset(source, 'x', sizeof(source) - 1);
    numbers[1] = 9;
    ck_assert_str_eq(text, "source");
    ck_assert_str_eq(part, "sou");
    ck_assert_int_eq(copy[1], 2);
}
END_TEST

START_TEST(nothing_is_copied_as_nothing) {
    autoarena struct arena *arena = arena_new();

    ck_assert_ptr_null(arena_text(arena, NULL));
    ck_assert_str_eq(arena_text_n(arena, NULL, 0), "");
    ck_assert_ptr_nonnull(arena_copy(arena, NULL, 0));
    ck_assert_ptr_nonnull(arena_alloc(arena, 0));
    arena_free(NULL);
}
END_TEST

START_TEST(formats_of_any_length_are_whole) {
    autoarena struct arena *arena = arena_new();

    for (int width = 0; width < 20000; width += 37) {
        char *text = arena_format(arena, "%*d|%s", width, 7, "end");

        ck_assert_uint_eq(strlen(text), (size_t)(width > 0 ? width : 1) + 4);
        ck_assert_str_eq(text + strlen(text) - 5, "7|end");
    }
}
END_TEST

START_TEST(joined_texts_stand_one_behind_the_other) {
    autoarena struct arena *arena = arena_new();
    char *none = arena_join(arena, NULL);
    char *large = arena_format(arena, "%*d", 20000, 7);

    ck_assert_str_eq(none, "");
    ck_assert_str_eq(arena_join(arena, "a", "", "bc", NULL), "abc");
    ck_assert_uint_eq(strlen(arena_join(arena, large, "x", large, NULL)), 40001);
    ck_assert_str_eq(none, "");
}
END_TEST

static void note(void *object) {
    char **end = object;

    *(*end)++ = 'n';
}

static char release_order[8];
static size_t releases;

static void release_letter(void *letter) {
    release_order[releases++] = *(const char *)letter;
}

START_TEST(a_copy_in_lower_case_leaves_its_source) {
    autoarena struct arena *arena = arena_new();
    const char *source = "Error_DELETING-9 \xc3\x84";

    ck_assert_str_eq(arena_lower(arena, source), "error_deleting-9 \xc3\x84");
    ck_assert_str_eq(arena_lower(arena, ""), "");
    ck_assert_str_eq(source, "Error_DELETING-9 \xc3\x84");
}
END_TEST

START_TEST(deferred_releases_run_once_and_backwards) {
    struct arena *arena = arena_new();

    arena_defer(arena, release_letter, arena_text(arena, "a"));
    arena_defer(arena, release_letter, arena_text(arena, "b"));
    arena_reset(arena);
    ck_assert_str_eq(release_order, "ba");
    arena_defer(arena, release_letter, arena_text(arena, "c"));
    arena_free(arena);
    ck_assert_str_eq(release_order, "bac");
}
END_TEST

START_TEST(leaving_the_scope_frees_the_arena) {
    char notes[4] = "";
    char *end = notes;

    {
        autoarena struct arena *arena = arena_new();

        arena_defer(arena, note, &end);
    }
    ck_assert_str_eq(notes, "n");
}
END_TEST

static void allocate_impossible_size(void) {
    volatile size_t size = SIZE_MAX / 2 + 1;

    arena_alloc(arena_new(), size);
}

static void format_impossible_text(void) {
    arena_format(arena_new(), "%ls", L"\x20ac"); /* the C locale has no such character */
}

static void assert_aborts(void (*call)(void)) {
    pid_t child = fork();
    int status;

    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        fclose(stderr);
        call();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGABRT);
}

START_TEST(a_size_beyond_memory_stops_the_process) {
    assert_aborts(allocate_impossible_size);
    assert_aborts(format_impossible_text);
}
END_TEST

CHECK_MAIN("arena", pieces_are_zeroed_aligned_and_apart, large_pieces_leave_the_block_in_use,
           a_reset_arena_is_used_again, copies_do_not_follow_their_source,
           nothing_is_copied_as_nothing, formats_of_any_length_are_whole,
           joined_texts_stand_one_behind_the_other, a_copy_in_lower_case_leaves_its_source,
           deferred_releases_run_once_and_backwards, leaving_the_scope_frees_the_arena,
           a_size_beyond_memory_stops_the_process)
