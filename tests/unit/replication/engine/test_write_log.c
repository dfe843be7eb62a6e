/*
 * A write log as the daemon appends to it and the other side reads it, with all possible faults of
 * its file.
 */
#include "replication/engine/write_log.h"
#include "replication/engine/write_log_shared.h"
#include "tests/lib/check_main.h"

#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define REPLICA "00000000-0000-4000-8000-00000000000a"

static char top[32], path[128];
static const char *directory;
static struct arena *arena;
static struct error err;
static const struct generation_id none = { 0 }, first = { 5, "abc" }, second = { 6, "def" };
static struct write_log_header *mapped;
static struct write_log_block blocks[64];

static void begin(void) {
    char run[64];

    strcpy(top, "/tmp/test-write-log-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(top));
    arena = arena_new();
    snprintf(run, sizeof(run), "%s/run", top);
    directory = write_log_directory(arena, run);
    snprintf(path, sizeof(path), "%s/%s", directory, REPLICA);
    write_log_prepare();
}

static int remove_one(const char *name, const struct stat *facts, int kind, struct FTW *place) {
    (void)facts, (void)kind, (void)place;
    return remove(name);
}

static void end(void) {
    if (mapped)
        munmap(mapped, WRITE_LOG_SIZE);
    mapped = NULL;
    arena_free(arena);
    nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void begin_log(const struct generation_id *before, const struct generation_id *next) {
    ck_assert_msg(write_log_begin(directory, REPLICA, before, next, &err) == 0, "%s", err.message);
    if (!mapped && next->number > 0)
        mapped = write_log_open(directory, path);
}

static void append(uint64_t offset, size_t size, unsigned char value) {
    static unsigned char data[65536];
    const struct iovec iov = { data, size };

    memset(data, value, size);
    write_log_append(mapped, offset, &iov, 1);
}

static struct write_log read_log(void) {
    struct write_log ret;

    write_log_read(arena, directory, REPLICA, &ret);
    return ret;
}

static unsigned list(void) {
    const struct write_log read = read_log();

    return write_log_blocks(&read, blocks, LENGTH(blocks));
}

static bool is_of(const struct generation_id *generation) {
    const struct write_log read = read_log();

    return generation_same(&read.generation, generation);
}

static uint32_t sum_of(unsigned char value) {
    unsigned char sector[WRITE_LOG_SECTOR];

    memset(sector, value, sizeof(sector));
    return write_log_sum_of(sector, sizeof(sector));
}

START_TEST(the_sum_is_crc_32c) {
    ck_assert_uint_eq(write_log_sum_slow((const unsigned char *)"123456789", 9), 0xe3069283);
    ck_assert_uint_eq(write_log_sum_of("123456789", 9), 0xe3069283);
}
END_TEST

START_TEST(the_newest_write_of_each_sector_counts) {
    begin_log(&none, &first);
    append(0, 4096, 1);
    append(8192, 8192, 2);
    append(512, 1024, 3);
    ck_assert_uint_eq(list(), 3);
    ck_assert_uint_eq(blocks[0].block, 0); /* written last */
    ck_assert_uint_eq(blocks[0].known, 0xff);
    ck_assert_uint_eq(blocks[0].sums[0], sum_of(1));
    ck_assert_uint_eq(blocks[0].sums[1], sum_of(3));
    ck_assert_uint_eq(blocks[0].sums[2], sum_of(3));
    ck_assert_uint_eq(blocks[0].sums[3], sum_of(1));
    ck_assert_uint_eq(blocks[1].block, 3);
    ck_assert_uint_eq(blocks[2].block, 2);
    ck_assert_uint_eq(blocks[2].sums[7], sum_of(2));
}
END_TEST

START_TEST(a_sector_written_in_part_has_no_sum) {
    begin_log(&none, &first);
    append(0, 4096, 1);
    append(300, 1000, 2); /* of the sectors 0 to 2 only 1 completely */
    ck_assert_uint_eq(list(), 1);
    ck_assert_uint_eq(blocks[0].mask, 0xff);
    ck_assert_uint_eq(blocks[0].known, 0xff & ~5u);
    ck_assert_uint_eq(blocks[0].sums[1], sum_of(2));
    ck_assert_uint_eq(blocks[0].sums[3], sum_of(1));
}
END_TEST

START_TEST(data_in_pieces_have_the_sums_of_the_whole) {
    static unsigned char data[12288];
    struct iovec iov[32];
    unsigned count = 0;
    size_t at = 0;

    begin_log(&none, &first);
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (unsigned char)(i * 7 + i / 512);
    for (size_t size = 1; at < sizeof(data); size = size * 3 + 1) {
        size_t length = size < sizeof(data) - at ? size : sizeof(data) - at;

        iov[count++] = (struct iovec){ data + at, length };
        iov[count++] = (struct iovec){ data, 0 };
        at += length;
    }
    write_log_append(mapped, 4096 + 1024, iov, count);
    ck_assert_uint_eq(list(), 4);
    ck_assert_uint_eq(blocks[0].block, 4);
    ck_assert_uint_eq(blocks[0].known, 3);
    ck_assert_uint_eq(blocks[3].known, 0xff & ~3u);
    for (unsigned i = 0; i < 8; i++)
        ck_assert_uint_eq(blocks[2].sums[i], write_log_sum_of(data + 3072 + (size_t)i * 512, 512));
}
END_TEST

START_TEST(a_discard_is_a_run_of_zeros) {
    begin_log(&none, &first);
    append(4096, 4096, 1);
    write_log_append_run(mapped, 1024, 4096 * 3, true);
    ck_assert_uint_eq(read_log().count, 4);
    ck_assert_uint_eq(list(), 4);
    for (unsigned i = 0; i < 4; i++) {
        unsigned wanted = blocks[i].block == 0 ? 0xfc : blocks[i].block == 3 ? 3 : 0xff;

        ck_assert_uint_eq(blocks[i].mask, wanted);
        ck_assert_uint_eq(blocks[i].known, wanted);
        ck_assert_uint_eq(blocks[i].sums[blocks[i].block == 3 ? 0 : 7], sum_of(0));
    }
    write_log_append_run(mapped, 0, 4096 * 2 + 512, false); /* and a copy, with unknown bytes */
    ck_assert_uint_eq(list(), 4);
    for (unsigned i = 0; i < 4; i++)
        ck_assert_uint_eq(blocks[i].known, blocks[i].block < 2    ? 0
                                           : blocks[i].block == 2 ? 0xfe
                                                                  : 3);
}
END_TEST

START_TEST(a_run_longer_than_the_list_counts_for_listed_blocks) {
    begin_log(&none, &first);
    write_log_append_run(mapped, 0, UINT64_C(1) << 60, true);
    append(4096000, 512, 1);
    ck_assert_uint_eq(list(), LENGTH(blocks));
    ck_assert_uint_eq(blocks[0].block, 1000);
    ck_assert_uint_eq(blocks[0].known, 0xff);
    ck_assert_uint_eq(blocks[0].sums[0], sum_of(1));
    ck_assert_uint_eq(blocks[0].sums[1], sum_of(0));
}
END_TEST

START_TEST(the_last_entries_are_kept_when_the_ring_is_full) {
    begin_log(&none, &first);
    for (unsigned i = 0; i < WRITE_LOG_ENTRIES + 100; i++)
        append((uint64_t)i * 4096, 512, (unsigned char)i);
    ck_assert_uint_eq(read_log().count, WRITE_LOG_ENTRIES);
    ck_assert_uint_eq(list(), LENGTH(blocks));
    ck_assert_uint_eq(blocks[0].block, WRITE_LOG_ENTRIES + 99);
    ck_assert_uint_eq(read_log().entries[0].where >> 16, 100);
}
END_TEST

START_TEST(entries_are_the_same_after_a_conversion_to_text) {
    struct write_log read, parsed = { 0 };
    char *text;

    begin_log(&none, &first);
    for (unsigned i = 0; i < 100; i++)
        append((uint64_t)i * 4096, 512, (unsigned char)i);
    read = read_log();
    text = arena_text(arena, write_log_text(arena, &read));
    write_log_parse(arena, text, &parsed);
    ck_assert_uint_eq(parsed.count, 100);
    ck_assert_mem_eq(parsed.entries, read.entries, 100 * sizeof(*read.entries));
    text[5] = text[5] == '0' ? '1' : '0';
    text[96 + 7] = 'x';
    text[96 * 99 + 50] = '\0'; /* cut off */
    write_log_parse(arena, text, &parsed);
    ck_assert_uint_eq(parsed.count, 97);
    write_log_parse(arena, "", &parsed);
    ck_assert_uint_eq(parsed.count, 0);
}
END_TEST

/* ---- generations ---- */

START_TEST(entries_of_another_generation_do_not_count) {
    begin_log(&none, &first);
    append(0, 4096, 1);
    begin_log(&none, &first); /* which it is already */
    ck_assert_uint_eq(list(), 1);
    ck_assert(is_of(&first));
    begin_log(&first, &second);
    ck_assert_uint_eq(list(), 1);
    ck_assert(is_of(&second));
    begin_log(&none, &first);
    ck_assert_uint_eq(list(), 0);
    append(0, 4096, 2);
    ck_assert_uint_eq(list(), 1);
    begin_log(&second, &second);
    ck_assert_uint_eq(list(), 0);
}
END_TEST

START_TEST(an_ended_log_is_inactive_and_empty) {
    begin_log(&none, &first);
    ck_assert(mapped->active);
    append(0, 4096, 1);
    begin_log(&none, &none);
    ck_assert(!mapped->active);
    ck_assert_int_eq(read_log().generation.number, 0);
    ck_assert_uint_eq(list(), 0);
    begin_log(&first, &second);
    ck_assert(mapped->active);
    ck_assert_uint_eq(list(), 0);
}
END_TEST

START_TEST(a_removed_log_leaves_no_file_and_starts_empty) {
    begin_log(&none, &first);
    append(0, 4096, 1);
    write_log_remove(directory, REPLICA);
    ck_assert_int_eq(access(directory, F_OK), -1);
    munmap(mapped, WRITE_LOG_SIZE);
    mapped = NULL;
    begin_log(&first, &second);
    ck_assert_uint_eq(list(), 0);
    append(0, 4096, 1);
    ck_assert_uint_eq(list(), 1);
}
END_TEST

START_TEST(no_log_is_created_for_an_unlogged_replica) {
    ck_assert_int_eq(write_log_begin(directory, REPLICA, &none, &none, &err), 0);
    ck_assert_int_eq(access(path, F_OK), -1);
    ck_assert_uint_eq(list(), 0);
}
END_TEST

/* ---- files ---- */

START_TEST(an_incomplete_entry_is_skipped) {
    begin_log(&none, &first);
    for (unsigned i = 0; i < 3; i++)
        append(i * UINT64_C(4096), 4096, 1);
    write_log_entries(mapped)[1].sums[3] ^= 1;
    ck_assert_uint_eq(list(), 2);
    write_log_entries(mapped)[2] = write_log_entries(mapped)[0]; /* of another number */
    ck_assert_uint_eq(list(), 1);
    atomic_fetch_add(&mapped->made, 1); /* an incomplete one */
    ck_assert_uint_eq(list(), 1);
}
END_TEST

START_TEST(an_invalid_counter_gives_no_entries) {
    begin_log(&none, &first);
    append(0, 4096, 1);
    atomic_store(&mapped->made, UINT64_MAX);
    ck_assert_uint_eq(list(), 0);
    atomic_store(&mapped->floor, UINT64_MAX);
    atomic_store(&mapped->made, 1);
    ck_assert_uint_eq(list(), 0);
    atomic_store(&mapped->floor, 0);
    ck_assert_uint_eq(list(), 1);
}
END_TEST

static void assert_replaced(void) {
    ck_assert_uint_eq(list(), 0);
    ck_assert_int_eq(read_log().generation.number, 0);
    begin_log(&first, &second);
    ck_assert_uint_eq(list(), 0);
    ck_assert(is_of(&second));
}

START_TEST(a_log_of_another_boot_or_version_is_replaced) {
    for (unsigned i = 0; i < 4; i++) {
        begin_log(&none, &first);
        append(0, 4096, 1);
        if (i == 0)
            mapped->magic++;
        else if (i == 1)
            mapped->version++;
        else if (i == 2)
            mapped->entries++;
        else
            mapped->boot[0] ^= 1;
        munmap(mapped, WRITE_LOG_SIZE);
        mapped = NULL;
        assert_replaced();
    }
}
END_TEST

START_TEST(a_truncated_log_is_replaced) {
    begin_log(&none, &first);
    append(0, 4096, 1);
    munmap(mapped, WRITE_LOG_SIZE);
    mapped = NULL;
    ck_assert_int_eq(truncate(path, 5000), 0);
    assert_replaced();
}
END_TEST

START_TEST(garbage_gives_no_entries) {
    begin_log(&none, &first);
    srandom(7);
    for (unsigned round = 0; round < 20; round++) {
        unsigned char *bytes = (unsigned char *)write_log_entries(mapped);

        for (size_t i = 0; i < WRITE_LOG_ENTRIES * sizeof(struct write_log_entry); i++)
            bytes[i] = (unsigned char)random();
        atomic_store(&mapped->made, (uint64_t)random() << 31 | (uint64_t)random());
        atomic_store(&mapped->floor, (uint64_t)random());
        ck_assert_uint_eq(list(), 0);
    }
}
END_TEST

START_TEST(only_a_plain_file_is_a_log) {
    begin_log(&none, &first);
    munmap(mapped, WRITE_LOG_SIZE);
    mapped = NULL;
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(symlink("/etc/passwd", path), 0);
    ck_assert_uint_eq(list(), 0);
    assert_replaced();
    write_log_remove(directory, REPLICA);
    ck_assert_int_eq(mkdir(directory, 0700), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(write_log_begin(directory, REPLICA, &none, &first, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_BACKEND);
}
END_TEST

/* ---- entries of one request for several logs ---- */

#define SLOTS 4

static unsigned taken, slots = SLOTS, slot_mask = SLOTS - 1;
static uint64_t completions[SLOTS][2]; /* the first half of one is its user_data */
static struct write_log_ring ring;
static struct write_log_shared latest;
static unsigned char shared_data[WRITE_LOG_BLOCK];

static void begin_shared(void) {
    begin_log(&none, &first);
    taken = 1000;
    ring = (struct write_log_ring){ .submitted.end = taken,
                                    .completed = { .head = &taken,
                                                   .mask = &slot_mask,
                                                   .entries = &slots,
                                                   .cqes = (const void *)completions } };
    write_log_forget(&latest);
}

static void submit(uint64_t write, uint64_t offset, const void *data, size_t size) {
    const struct iovec iov = { (void *)(uintptr_t)data, size };

    ring.submitted.end++;
    write_log_append_shared(mapped, &latest, &ring, write, offset, &iov, 1);
}

static void take_completion(uint64_t write) {
    completions[taken++ % SLOTS][0] = write;
}

/* Writes the block, and has it filled with something else afterwards, which QEMU never does before
 * the completion. */
static void submit_and_fill(uint64_t write, unsigned char next) {
    submit(write, 0, shared_data, sizeof(shared_data));
    memset(shared_data, next, sizeof(shared_data));
}

static uint32_t latest_sum(void) {
    const struct write_log read = read_log();

    ck_assert_uint_gt(read.count, 0);
    return read.entries[read.count - 1].sums[7];
}

START_TEST(a_write_in_flight_is_summed_once) {
    begin_shared();
    memset(shared_data, 1, sizeof(shared_data));
    submit_and_fill(10, 2);
    submit_and_fill(11, 3);
    submit_and_fill(12, 4);
    ck_assert_uint_eq(read_log().count, 3);
    ck_assert_uint_eq(latest_sum(), sum_of(1));
}
END_TEST

START_TEST(a_completed_write_is_summed_again) {
    begin_shared();
    memset(shared_data, 1, sizeof(shared_data));
    submit_and_fill(10, 2);
    take_completion(10);
    submit_and_fill(10, 3);
    ck_assert_uint_eq(latest_sum(), sum_of(2));
}
END_TEST

START_TEST(completions_of_others_leave_a_write_in_flight) {
    begin_shared();
    memset(shared_data, 1, sizeof(shared_data));
    submit_and_fill(10, 2);
    take_completion(9);
    submit_and_fill(11, 3);
    take_completion(10); /* the latest one is another */
    take_completion(8);
    submit_and_fill(12, 4);
    ck_assert_uint_eq(latest_sum(), sum_of(1));
    take_completion(12);
    submit_and_fill(13, 5);
    ck_assert_uint_eq(latest_sum(), sum_of(4));
}
END_TEST

START_TEST(a_completion_that_may_be_overwritten_counts_as_taken) {
    begin_shared();
    memset(shared_data, 1, sizeof(shared_data));
    submit_and_fill(10, 2);
    ring.submitted.end += SLOTS;
    submit_and_fill(11, 3);
    ck_assert_uint_eq(latest_sum(), sum_of(2));
}
END_TEST

START_TEST(more_completions_than_submissions_end_the_sharing) {
    begin_shared();
    memset(shared_data, 1, sizeof(shared_data));
    submit_and_fill(10, 2);
    for (uint64_t i = 0; i < SLOTS; i++)
        take_completion(i);
    submit_and_fill(11, 3);
    ck_assert_uint_eq(latest_sum(), sum_of(2));
}
END_TEST

START_TEST(a_write_after_a_failed_submission_is_summed_again) {
    begin_shared();
    memset(shared_data, 1, sizeof(shared_data));
    submit_and_fill(10, 2);
    write_log_forget(&latest);
    submit_and_fill(11, 3);
    ck_assert_uint_eq(latest_sum(), sum_of(2));
}
END_TEST

START_TEST(writes_of_other_data_share_no_sums) {
    static unsigned char data[2 * WRITE_LOG_BLOCK];
    struct write_log_ring other;

    begin_shared();
    memset(data, 1, WRITE_LOG_BLOCK);
    memset(data + WRITE_LOG_BLOCK, 2, WRITE_LOG_BLOCK);
    submit(10, 0, data, WRITE_LOG_BLOCK);
    submit(11, 0, data + WRITE_LOG_BLOCK, WRITE_LOG_BLOCK); /* another address, */
    ck_assert_uint_eq(latest_sum(), sum_of(2));
    submit(12, 0, data + WRITE_LOG_BLOCK, 512); /* another size, */
    ck_assert_uint_eq(latest_sum(), 0);
    submit(13, 512, data + WRITE_LOG_BLOCK, 512); /* another offset, */
    ck_assert_uint_eq(read_log().entries[3].sums[1], sum_of(2));
    submit(14, 0, shared_data, WRITE_LOG_BLOCK);
    memset(shared_data, 7, sizeof(shared_data));
    other = ring; /* and another ring */
    write_log_append_shared(mapped, &latest, &other, 15, 0,
                            &(struct iovec){ shared_data, WRITE_LOG_BLOCK }, 1);
    ck_assert_uint_eq(latest_sum(), sum_of(7));
}
END_TEST

/* ---- requests at random, as QEMU makes them ---- */

#define BUFFERS   3
#define OFFSETS   2
#define REQUESTS  6 /* more than the ring of completions has slots */
#define NUMBERS   8 /* of user_data: soon used again */
#define WALKS     200
#define STEPS     300
#define COMPLETED (-1)

/* A client's request has one buffer, and one write to each replica. The buffer is filled again when
 * all of them have completed, or have failed in their submission. */
static struct {
    int of[NUMBERS];   /* the buffer of a write in flight, or COMPLETED */
    int done[NUMBERS]; /* completed in this order, not yet taken */
    unsigned done_count;
    unsigned writes[BUFFERS]; /* in flight */
    unsigned char fill[BUFFERS];
} world;
static unsigned char buffers[BUFFERS][WRITE_LOG_BLOCK];

static unsigned pick(unsigned count) {
    return (unsigned)random() % count;
}

static void fill_if_unused(unsigned buffer) {
    if (world.writes[buffer] > 0)
        return;
    world.fill[buffer]++;
    memset(buffers[buffer], world.fill[buffer], WRITE_LOG_BLOCK);
}

static unsigned in_flight(void) {
    unsigned count = 0;

    for (unsigned i = 0; i < BUFFERS; i++)
        count += world.writes[i];
    return count;
}

static uint32_t newest_sum(void) {
    uint64_t made = atomic_load(&mapped->made);

    return write_log_entries(mapped)[(made - 1) % WRITE_LOG_ENTRIES].sums[7];
}

static void walk_submit(unsigned buffer) {
    unsigned number = pick(NUMBERS);

    if (in_flight() == REQUESTS || world.of[number] != COMPLETED)
        return;
    submit(number, pick(OFFSETS) * WRITE_LOG_BLOCK, buffers[buffer], WRITE_LOG_BLOCK);
    ck_assert_uint_eq(newest_sum(), sum_of(world.fill[buffer]));
    if (pick(20) == 0) { /* the submission fails */
        ring.submitted.end--;
        write_log_forget(&latest);
        return;
    }
    world.of[number] = (int)buffer;
    world.writes[buffer]++;
}

static bool is_done(int number) {
    for (unsigned i = 0; i < world.done_count; i++) {
        if (world.done[i] == number)
            return true;
    }
    return false;
}

/* The kernel does it, in any order; QEMU takes it later. */
static void walk_complete(void) {
    int number = (int)pick(NUMBERS);

    if (world.of[number] == COMPLETED || is_done(number))
        return;
    if (world.done_count < SLOTS) /* others wait in the kernel */
        completions[(taken + world.done_count) % SLOTS][0] = (uint64_t)number;
    else
        return;
    world.done[world.done_count++] = number;
}

static void walk_take(void) {
    int number = world.done[0];

    if (world.done_count == 0)
        return;
    taken++;
    memmove(world.done, world.done + 1, --world.done_count * sizeof(world.done[0]));
    world.writes[world.of[number]]--;
    world.of[number] = COMPLETED;
}

static void walk(void) {
    write_log_forget(&latest);
    ring.submitted.end = taken;
    memset(&world, 0, sizeof(world));
    for (unsigned i = 0; i < NUMBERS; i++)
        world.of[i] = COMPLETED;
    for (unsigned i = 0; i < BUFFERS; i++)
        fill_if_unused(i);
    for (unsigned i = 0; i < STEPS; i++) {
        unsigned buffer = pick(BUFFERS);

        if (pick(2) == 0)
            walk_submit(buffer);
        if (pick(2) == 0)
            walk_complete();
        if (pick(2) == 0)
            walk_take();
        fill_if_unused(pick(BUFFERS));
    }
}
START_TEST(entries_of_random_writes_have_the_sums_of_their_data) {
    srandom(26);
    begin_shared();
    for (unsigned i = 0; i < WALKS; i++)
        walk();
}
END_TEST

/* More than are shared, and more than are appended at once. */
START_TEST(a_long_write_has_an_entry_for_each_block) {
    const unsigned count = WRITE_LOG_SHARED + 3;
    unsigned char *data = arena_alloc(arena, (size_t)count * WRITE_LOG_BLOCK);
    struct write_log read;

    begin_shared();
    for (unsigned i = 0; i < count; i++)
        memset(data + (size_t)i * WRITE_LOG_BLOCK, (int)(i % 251), WRITE_LOG_BLOCK);
    submit(10, 0, data, (size_t)count * WRITE_LOG_BLOCK);
    submit(11, 512, data, (size_t)(WRITE_LOG_SHARED - 1) * WRITE_LOG_BLOCK);
    read = read_log();
    ck_assert_uint_eq(read.count, count + WRITE_LOG_SHARED);
    for (unsigned i = 0; i < count; i++) {
        ck_assert_uint_eq(read.entries[i].where, write_log_where(i, 0xff, 0xff));
        ck_assert_uint_eq(read.entries[i].sums[3], sum_of((unsigned char)(i % 251)));
    }
    for (unsigned i = 0; i < WRITE_LOG_SHARED; i++) {
        unsigned mask = i == 0 ? 0xfe : i == WRITE_LOG_SHARED - 1 ? 1 : 0xff;

        ck_assert_uint_eq(read.entries[count + i].where, write_log_where(i, mask, mask));
    }
}
END_TEST

/* ---- several that make one ---- */

#define MAKERS 8

static pthread_barrier_t all_begin;

/* Opens the log when the others do, and appends one entry. */
static void *make_and_append(void *arg) {
    static const unsigned char data[WRITE_LOG_BLOCK];
    const struct iovec iov = { (void *)(uintptr_t)data, sizeof(data) };
    struct write_log_header **log = arg;

    pthread_barrier_wait(&all_begin);
    *log = write_log_open_in(directory, REPLICA);
    if (*log)
        write_log_append(*log, 0, &iov, 1);
    return NULL;
}

static void make_at_once(void) {
    struct write_log_header *logs[MAKERS], *log;
    pthread_t threads[MAKERS];

    pthread_barrier_init(&all_begin, NULL, MAKERS);
    for (int i = 0; i < MAKERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, make_and_append, &logs[i]), 0);
    for (int i = 0; i < MAKERS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&all_begin);
    log = write_log_map(path);
    ck_assert_ptr_nonnull(log);
    ck_assert_uint_eq(log->made, MAKERS);
    munmap(log, WRITE_LOG_SIZE);
    for (int i = 0; i < MAKERS; i++) {
        ck_assert_ptr_nonnull(logs[i]);
        munmap(logs[i], WRITE_LOG_SIZE);
    }
}

/* Two concurrent creations truncated each other's log, which ended the daemon (SIGBUS). */
START_TEST(threads_that_create_a_log_concurrently_share_it) {
    for (int round = 0; round < 200; round++) {
        make_at_once();
        write_log_remove(directory, REPLICA);
        ck_assert_int_lt(access(directory, F_OK), 0);
    }
}
END_TEST

START_TEST(threads_that_replace_an_invalid_log_concurrently_share_it) {
    for (int round = 0; round < 200; round++) {
        FILE *file;

        mkdir(directory, 0700);
        file = fopen(path, "w");
        ck_assert_ptr_nonnull(file);
        fclose(file);
        make_at_once();
        write_log_remove(directory, REPLICA);
    }
}
END_TEST

START_TEST(a_log_that_was_half_made_by_a_killed_process_is_removed) {
    const char *half_made = arena_join(arena, path, WRITE_LOG_NEW, NULL);
    FILE *file;

    mkdir(directory, 0700);
    file = fopen(half_made, "w");
    ck_assert_ptr_nonnull(file);
    fclose(file);
    ck_assert_int_eq(write_log_remove(directory, REPLICA), 0);
    ck_assert_int_lt(access(directory, F_OK), 0);
}
END_TEST

CHECK_MAIN_WITH(
    "write log", true, begin, end, the_sum_is_crc_32c, the_newest_write_of_each_sector_counts,
    a_sector_written_in_part_has_no_sum, data_in_pieces_have_the_sums_of_the_whole,
    a_discard_is_a_run_of_zeros, a_run_longer_than_the_list_counts_for_listed_blocks,
    the_last_entries_are_kept_when_the_ring_is_full,
    entries_are_the_same_after_a_conversion_to_text, entries_of_another_generation_do_not_count,
    an_ended_log_is_inactive_and_empty, a_removed_log_leaves_no_file_and_starts_empty,
    no_log_is_created_for_an_unlogged_replica, an_incomplete_entry_is_skipped,
    an_invalid_counter_gives_no_entries, a_log_of_another_boot_or_version_is_replaced,
    a_truncated_log_is_replaced, garbage_gives_no_entries, only_a_plain_file_is_a_log,
    a_write_in_flight_is_summed_once, a_completed_write_is_summed_again,
    completions_of_others_leave_a_write_in_flight,
    a_completion_that_may_be_overwritten_counts_as_taken,
    more_completions_than_submissions_end_the_sharing,
    a_write_after_a_failed_submission_is_summed_again, writes_of_other_data_share_no_sums,
    entries_of_random_writes_have_the_sums_of_their_data, a_long_write_has_an_entry_for_each_block,
    threads_that_create_a_log_concurrently_share_it,
    threads_that_replace_an_invalid_log_concurrently_share_it,
    a_log_that_was_half_made_by_a_killed_process_is_removed)
