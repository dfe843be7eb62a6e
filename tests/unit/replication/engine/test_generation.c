#include "replication/engine/generation.h"

#include "tests/lib/check_main.h"

#include <string.h>

#define VOLUME "00000000-0000-4000-8000-00000000f000"
#define ONE    "00000000-0000-4000-8000-000000000001"
#define TWO    "00000000-0000-4000-8000-000000000002"

static const char *const uids[] = { ONE, TWO };

static struct replica_state some_state(void) {
    struct replica_state state = { .volume = VOLUME, .replica = TWO, .mark = REPLICA_DIRTY };
    struct generation first;

    generation_first(VOLUME, INT64_C(5) << 30, uids, 2, &first);
    generation_next(&first, &clock_system, &state.generation);
    generation_add(&state.generation, ONE);
    return state;
}

START_TEST(a_state_is_read_as_it_was_written) {
    autoarena struct arena *arena = arena_new();
    const struct replica_state state = some_state();
    const char *text = replica_state_text(arena, &state);
    struct replica_state read;
    struct error err;

    ck_assert_int_eq(replica_state_parse(arena, text, strlen(text), &read, &err), 0);
    ck_assert_mem_eq(&read, &state, sizeof(state));
}
END_TEST

START_TEST(a_state_with_any_byte_changed_or_missing_is_refused) {
    autoarena struct arena *arena = arena_new();
    const struct replica_state state = some_state();
    char *text = arena_text(arena, replica_state_text(arena, &state));
    size_t size = strlen(text);
    struct replica_state read;
    struct error err;

    for (size_t i = 0; i < size; i++) {
        ck_assert_int_eq(replica_state_parse(arena, text, i, &read, &err), -1);
        text[i] ^= 1;
        ck_assert_int_eq(replica_state_parse(arena, text, size, &read, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_BACKEND);
        text[i] ^= 1;
    }
}
END_TEST

START_TEST(first_generations_are_equal_and_later_ones_unique) {
    struct generation first, again, one, two;

    generation_first(VOLUME, 1, uids, 2, &first);
    generation_first(VOLUME, 1, uids, 2, &again);
    ck_assert_mem_eq(&first, &again, sizeof(first));

    generation_next(&first, &clock_system, &one);
    generation_next(&first, &clock_system, &two);
    ck_assert_int_eq(one.id.number, 2);
    ck_assert(generation_same(&one.base, &first.id));
    ck_assert(!generation_same(&one.id, &two.id));
    ck_assert_uint_eq(one.count, 0);
}
END_TEST

CHECK_MAIN("generation", a_state_is_read_as_it_was_written,
           a_state_with_any_byte_changed_or_missing_is_refused,
           first_generations_are_equal_and_later_ones_unique)
