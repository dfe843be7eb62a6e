#include "common/worker.h"

#include "common/clock.h"
#include "tests/lib/check_main.h"

#include <dirent.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ITEMS 500

static void put_of(struct worker_pool *pool, const char *group, const char *key,
                   void (*run)(void *arg), void *arg) {
    const struct work_item item = { .key = key, .group = group, .run = run, .arg = arg };

    worker_pool_put(pool, &item);
}

static void put(struct worker_pool *pool, const char *key, void (*run)(void *arg), void *arg) {
    put_of(pool, NULL, key, run, arg);
}

static void post(void *semaphore) {
    sem_post(semaphore);
}

static void wait_for(void *semaphore) {
    while (sem_wait(semaphore) != 0)
        ;
}

static void open_semaphores(sem_t *semaphores, size_t count) {
    for (size_t i = 0; i < count; i++)
        sem_init(&semaphores[i], 0, 0);
}

/* ---- order ---- */

struct ledger {
    const char *key;
    atomic_int running, overlaps;
    int next; /* guarded by the order of the key itself */
    int disorder;
    sem_t done;
};

struct entry {
    struct ledger *ledger;
    int number;
};

static void check_in(void *arg) {
    struct entry *entry = arg;
    struct ledger *ledger = entry->ledger;

    if (atomic_fetch_add(&ledger->running, 1) > 0)
        atomic_fetch_add(&ledger->overlaps, 1);
    if (ledger->next++ != entry->number)
        ledger->disorder++;
    sched_yield();
    atomic_fetch_sub(&ledger->running, 1);
    sem_post(&ledger->done);
}

/* Whichever group they are of. */
START_TEST(works_of_one_key_run_one_by_one_in_order) {
    static const char *const groups[] = { NULL, "one", "another", "one", "third" };
    static struct entry entries[3][ITEMS];
    struct ledger ledgers[3] = { { .key = "a" }, { .key = "b" }, { .key = "long key" } };
    struct worker_pool *pool = worker_pool_new("order", 4);

    for (size_t k = 0; k < LENGTH(ledgers); k++)
        sem_init(&ledgers[k].done, 0, 0);
    for (int i = 0; i < ITEMS; i++) {
        for (size_t k = 0; k < LENGTH(ledgers); k++) {
            entries[k][i] = (struct entry){ &ledgers[k], i };
            put_of(pool, groups[(size_t)i % LENGTH(groups)], ledgers[k].key, check_in,
                   &entries[k][i]);
        }
    }
    for (size_t k = 0; k < LENGTH(ledgers); k++) {
        for (int i = 0; i < ITEMS; i++)
            wait_for(&ledgers[k].done);
        ck_assert_int_eq(ledgers[k].overlaps, 0);
        ck_assert_int_eq(ledgers[k].disorder, 0);
        ck_assert_int_eq(ledgers[k].next, ITEMS);
    }
    worker_pool_stop(pool);
}
END_TEST

/* Each goes on only when the other has come: they must run at the same time. */
static sem_t meeting[2];

static void meet_first(void *arg) {
    sem_post(&meeting[0]);
    wait_for(&meeting[1]);
    sem_post(arg);
}

static void meet_second(void *arg) {
    sem_post(&meeting[1]);
    wait_for(&meeting[0]);
    sem_post(arg);
}

START_TEST(works_of_different_keys_and_of_none_run_at_the_same_time) {
    static const char *const keys[][2] = { { "a", "b" }, { NULL, NULL }, { "", "" }, { "a", "" } };
    struct worker_pool *pool = worker_pool_new("meet", 2);
    sem_t done;

    sem_init(&done, 0, 0);
    open_semaphores(meeting, 2);
    for (size_t i = 0; i < LENGTH(keys); i++) {
        put(pool, keys[i][0], meet_first, &done);
        put(pool, keys[i][1], meet_second, &done);
        wait_for(&done);
        wait_for(&done);
    }
    worker_pool_stop(pool);
}
END_TEST

START_TEST(key_is_copied) {
    struct worker_pool *pool = worker_pool_new("copy", 1);
    char key[] = "volume";
    sem_t gate, done;

    sem_init(&gate, 0, 0);
    sem_init(&done, 0, 0);
    put(pool, key, wait_for, &gate);
    put(pool, key, post, &done);
    memset(key, 'x', sizeof(key) - 1);
    put(pool, key, post, &done);
    sem_post(&gate);
    wait_for(&done);
    wait_for(&done);
    worker_pool_stop(pool);
}
END_TEST

/* ---- groups ---- */

/* Each work writes its letter and that it runs, and ends when it may. */
struct player {
    struct play *play;
    char letter;
    bool ends; /* of the test's thread */
    sem_t may_end;
};

struct play {
    pthread_mutex_t lock;
    char text[64]; /* guarded by lock */
    sem_t spoke;
    unsigned count;
    struct player players[64];
};

static void play_init(struct play *play) {
    memset(play, 0, sizeof(*play));
    pthread_mutex_init(&play->lock, NULL);
    sem_init(&play->spoke, 0, 0);
}

static void speak(void *arg) {
    struct player *player = arg;
    struct play *play = player->play;

    pthread_mutex_lock(&play->lock);
    play->text[strlen(play->text)] = player->letter;
    pthread_mutex_unlock(&play->lock);
    sem_post(&play->spoke);
    wait_for(&player->may_end);
}

/* A work for each letter, of the group of that name. */
static void put_letters(struct worker_pool *pool, struct play *play, const char *letters) {
    for (; *letters; letters++) {
        struct player *player = &play->players[play->count++];
        const char group[] = { *letters, '\0' };

        player->play = play;
        player->letter = *letters;
        sem_init(&player->may_end, 0, 0);
        put_of(pool, group, NULL, speak, player);
    }
}

/* The next of a letter ends: the oldest that may not yet. */
static void end_letter(struct play *play, char letter) {
    struct player *player = play->players;

    while (player->letter != letter || player->ends)
        player++;
    player->ends = true;
    sem_post(&player->may_end);
}

/* So many more have begun since the last call, and all of them were these. */
static void assert_text(struct play *play, unsigned more, const char *text) {
    while (more-- > 0)
        wait_for(&play->spoke);
    pthread_mutex_lock(&play->lock);
    ck_assert_str_eq(play->text, text);
    pthread_mutex_unlock(&play->lock);
}

static void end_and_stop(struct worker_pool *pool, struct play *play) {
    for (unsigned i = 0; i < play->count; i++)
        sem_post(&play->players[i].may_end);
    while (worker_pool_pending(pool) > 0)
        sched_yield();
    worker_pool_stop(pool);
}

START_TEST(groups_take_turns_however_much_one_of_them_wants) {
    struct worker_pool *pool = worker_pool_new("turns", 1);
    struct play play;

    play_init(&play);
    put_letters(pool, &play, "aaaaaaaa");
    assert_text(&play, 1, "a");
    put_letters(pool, &play, "bbcb"); /* they come late, behind the whole queue of another */
    for (const char *next = "ab"
                            "cab"
                            "a";
         *next; next++)
        end_letter(&play, *next);
    assert_text(&play, 6, "abcabab");
    put_letters(pool, &play, "c"); /* one turn, again */
    end_letter(&play, 'b');
    end_letter(&play, 'a');
    assert_text(&play, 2, "abcababac");
    end_and_stop(pool, &play);
}
END_TEST

START_TEST(a_group_that_is_alone_has_every_thread) {
    struct worker_pool *pool = worker_pool_new("alone", 3);
    struct play play;

    play_init(&play);
    put_letters(pool, &play, "aaaa");
    assert_text(&play, 3, "aaa");
    end_and_stop(pool, &play);
}
END_TEST

START_TEST(a_share_leaves_a_thread_to_the_other_groups) {
    struct worker_pool *pool = worker_pool_new_shared("shared", 3, 2);
    struct play play;

    play_init(&play);
    put_letters(pool, &play, "aaaa");
    assert_text(&play, 2, "aa");
    put_letters(pool, &play, "b");
    assert_text(&play, 1, "aab");
    end_letter(&play, 'b');
    put_letters(pool, &play, "c");
    assert_text(&play, 1, "aabc");
    end_letter(&play, 'a');
    assert_text(&play, 1, "aabca");
    end_and_stop(pool, &play);
}
END_TEST

/* Long works do not take all threads in the end, one turn after the other. */
START_TEST(the_group_with_the_fewest_threads_is_next) {
    struct worker_pool *pool = worker_pool_new("fewest", 3);
    struct play play;

    play_init(&play);
    put_letters(pool, &play, "aaaaaa");
    assert_text(&play, 3, "aaa");
    put_letters(pool, &play, "bbbbbc");
    end_letter(&play, 'a');
    assert_text(&play, 1, "aaab");
    end_letter(&play, 'b'); /* c has none either, and waits longer */
    assert_text(&play, 1, "aaabc");
    end_letter(&play, 'c');
    assert_text(&play, 1, "aaabcb");
    end_letter(&play, 'b');
    assert_text(&play, 1, "aaabcbb");
    end_letter(&play, 'a'); /* as many of both: b waits longer */
    assert_text(&play, 1, "aaabcbbb");
    end_letter(&play, 'b'); /* and now a does */
    assert_text(&play, 1, "aaabcbbba");
    end_and_stop(pool, &play);
}
END_TEST

/* It is in front of its whole group, and delays no other item of that. */
START_TEST(a_queued_key_does_not_block_other_items_of_its_group) {
    struct worker_pool *pool = worker_pool_new("behind", 2);
    sem_t gate, begun, other;

    sem_init(&gate, 0, 0);
    sem_init(&begun, 0, 0);
    sem_init(&other, 0, 0);
    put_of(pool, "a", "volume", wait_for, &gate);
    put_of(pool, "b", "volume", post, &begun);
    put_of(pool, "b", NULL, post, &other);
    wait_for(&other);
    ck_assert_int_ne(sem_trywait(&begun), 0);
    sem_post(&gate);
    wait_for(&begun);
    worker_pool_stop(pool);
}
END_TEST

START_TEST(delayed_work_is_of_its_group) {
    struct worker_pool *pool = worker_pool_new("both", 1);
    struct play play;
    sem_t came;

    play_init(&play);
    sem_init(&came, 0, 0);
    put_letters(pool, &play, "aaaa");
    assert_text(&play, 1, "a");
    worker_pool_put_later(pool, &(struct work_item){ .group = "b", .run = post, .arg = &came }, 0);
    end_letter(&play, 'a'); /* the thread moves due items behind the next turn */
    assert_text(&play, 1, "aa");
    end_letter(&play, 'a');
    wait_for(&came);
    assert_text(&play, 1, "aaa");
    worker_pool_put_later(pool, &(struct work_item){ .group = "c", .run = post }, 1000000);
    end_letter(&play, 'a');
    assert_text(&play, 1, "aaaa");
    end_letter(&play, 'a');
    worker_pool_stop(pool);
}
END_TEST

/* ---- later ---- */

struct alarm {
    int64_t earliest_us, latest_us; /* when it is due: between these */
    int64_t rang_us;
    int place; /* in the order in which they rang */
    sem_t *done;
};

static void ring(void *arg) {
    static int rung; /* guarded by the order of their key */
    struct alarm *alarm = arg;

    alarm->rang_us = clock_monotonic_us();
    alarm->place = rung++;
    sem_post(alarm->done);
}

static void set_alarm(struct worker_pool *pool, struct alarm *alarm, int64_t delay_ms) {
    const struct work_item item = { .key = "k", .run = ring, .arg = alarm };

    alarm->earliest_us = clock_monotonic_us() + delay_ms * 1000;
    worker_pool_put_later(pool, &item, delay_ms);
    alarm->latest_us = clock_monotonic_us() + delay_ms * 1000;
}

/* Was this one certainly due first? Items due at the same instant ring in the order they were
 * set. */
static bool goes_before(const struct alarm *one, const struct alarm *other) {
    return one->latest_us < other->earliest_us ||
           (one < other && one->latest_us <= other->earliest_us);
}

START_TEST(delayed_work_runs_when_it_is_due_and_not_before) {
    static const int64_t delays_ms[] = { 60, 20, 40, 0, 20 };
    struct worker_pool *pool = worker_pool_new("later", 2);
    struct alarm alarms[LENGTH(delays_ms)];
    sem_t gate, done;

    sem_init(&done, 0, 0);
    sem_init(&gate, 0, 0);
    for (size_t i = 0; i < LENGTH(delays_ms); i++) {
        alarms[i].done = &done;
        set_alarm(pool, &alarms[i], delays_ms[i]);
    }
    put(pool, NULL, wait_for, &gate); /* one thread is busy: the other watches the clock */
    for (size_t i = 0; i < LENGTH(delays_ms); i++)
        wait_for(&done);
    sem_post(&gate);
    for (size_t i = 0; i < LENGTH(alarms); i++) {
        ck_assert_int_ge(alarms[i].rang_us, alarms[i].earliest_us);
        for (size_t j = 0; j < LENGTH(alarms); j++)
            if (goes_before(&alarms[i], &alarms[j]))
                ck_assert_int_lt(alarms[i].place, alarms[j].place);
    }
    worker_pool_stop(pool);
}
END_TEST

/* ---- counting and stopping ---- */

START_TEST(pending_counts_queued_and_running_but_not_delayed) {
    struct worker_pool *pool = worker_pool_new("count", 1);
    const struct work_item later = { .run = post };
    sem_t gate, done;

    sem_init(&gate, 0, 0);
    sem_init(&done, 0, 0);
    ck_assert_uint_eq(worker_pool_pending(pool), 0);
    put(pool, "k", wait_for, &gate);
    put(pool, "k", wait_for, &gate);
    put(pool, NULL, post, &done);
    worker_pool_put_later(pool, &later, 1000000);
    ck_assert_uint_eq(worker_pool_pending(pool), 3);
    sem_post(&gate);
    sem_post(&gate);
    wait_for(&done);
    while (worker_pool_pending(pool) > 0)
        sched_yield();
    worker_pool_stop(pool);
}
END_TEST

static atomic_int dropped_ran;

static void must_not_run(void *arg) {
    (void)arg;
    dropped_ran++;
}

static atomic_bool stop_comes;

/* The first thread of this process is not running, nor about to. */
static bool main_sleeps(void) {
    char path[64], state = '?';
    autofile FILE *file = NULL;

    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
    file = fopen(path, "r");
    return file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1 && state == 'S';
}

/* Ends a while after the stop of the pool began: the stopping thread sleeps until the end. */
static void finish_slowly(void *arg) {
    int asleep = 0;

    sem_post(arg);
    while (asleep < 5) {
        usleep(10000);
        asleep = stop_comes && main_sleeps() ? asleep + 1 : 0;
    }
    sem_post(arg);
}

START_TEST(stop_waits_for_running_work_and_drops_the_rest) {
    struct worker_pool *pool = worker_pool_new("stop", 1);
    const struct work_item later = { .run = must_not_run };
    int finished = 0;
    sem_t started;

    sem_init(&started, 0, 0);
    put(pool, "k", finish_slowly, &started);
    wait_for(&started);
    put(pool, "k", must_not_run, NULL);
    put(pool, NULL, must_not_run, NULL);
    put(pool, "other", must_not_run, NULL);
    worker_pool_put_later(pool, &later, 5);
    worker_pool_put_later(pool, &later, 1000000);
    stop_comes = true;
    worker_pool_stop(pool);
    sem_getvalue(&started, &finished);
    ck_assert_int_eq(finished, 1);
    ck_assert_int_eq(dropped_ran, 0);
}
END_TEST

static sem_t may_end;

static void wait_for_end(void *started) {
    sem_post(started);
    wait_for(&may_end);
}

START_TEST(a_closed_pool_begins_nothing_more) {
    struct worker_pool *pool = worker_pool_new("close", 1);
    sem_t started;

    sem_init(&started, 0, 0);
    sem_init(&may_end, 0, 0);
    dropped_ran = 0;
    put(pool, NULL, wait_for_end, &started);
    wait_for(&started);
    put(pool, NULL, must_not_run, NULL);
    worker_pool_close(pool); /* does not wait */
    put(pool, NULL, must_not_run, NULL);
    sem_post(&may_end);
    worker_pool_stop(pool);
    ck_assert_int_eq(dropped_ran, 0);
}
END_TEST

static void note_name(void *arg) {
    pthread_getname_np(pthread_self(), arg, 16);
}

START_TEST(threads_bear_the_name_of_the_pool) {
    static char name[16];
    struct worker_pool *pool = worker_pool_new("a name that is long", 0);

    put(pool, NULL, note_name, name);
    while (worker_pool_pending(pool) > 0)
        sched_yield();
    worker_pool_stop(pool);
    ck_assert_str_eq(name, "a name that-0");
}
END_TEST

/* Of this process. */
static unsigned threads_named(const char *name) {
    unsigned count = 0;
    char path[64], found[32];
    const struct dirent *entry;
    DIR *tasks = opendir("/proc/self/task");

    while ((entry = readdir(tasks))) {
        FILE *file;

        snprintf(path, sizeof(path), "/proc/self/task/%.20s/comm", entry->d_name);
        file = fopen(path, "re");
        if (file && fgets(found, sizeof(found), file))
            count += strncmp(found, name, strlen(name)) == 0;
        if (file)
            fclose(file);
    }
    closedir(tasks);
    return count;
}

START_TEST(a_pool_has_as_many_threads_as_items_at_once) {
    struct worker_pool *pool = worker_pool_new("few", 3);
    sem_t gate;

    sem_init(&gate, 0, 0);
    ck_assert_uint_eq(threads_named("few-"), 1);
    put(pool, NULL, wait_for, &gate);
    ck_assert_uint_eq(threads_named("few-"), 1);
    put(pool, NULL, wait_for, &gate);
    ck_assert_uint_eq(threads_named("few-"), 2);
    for (int i = 0; i < 2; i++)
        put(pool, NULL, wait_for, &gate);
    ck_assert_uint_eq(threads_named("few-"), 3);
    for (int i = 0; i < 4; i++)
        sem_post(&gate);
    while (worker_pool_pending(pool) > 0)
        sched_yield();
    worker_pool_stop(pool);
}
END_TEST

CHECK_MAIN("worker", works_of_one_key_run_one_by_one_in_order,
           works_of_different_keys_and_of_none_run_at_the_same_time, key_is_copied,
           groups_take_turns_however_much_one_of_them_wants, a_group_that_is_alone_has_every_thread,
           a_share_leaves_a_thread_to_the_other_groups, the_group_with_the_fewest_threads_is_next,
           a_queued_key_does_not_block_other_items_of_its_group, delayed_work_is_of_its_group,
           delayed_work_runs_when_it_is_due_and_not_before,
           pending_counts_queued_and_running_but_not_delayed,
           stop_waits_for_running_work_and_drops_the_rest, a_closed_pool_begins_nothing_more,
           threads_bear_the_name_of_the_pool, a_pool_has_as_many_threads_as_items_at_once)
