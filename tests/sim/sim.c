/*
 *     sim [--seed N] [--seeds COUNT] [--jobs N] [--verbose] [--all]
 *
 * A seed replays exactly: the printed one is all that is needed.  --all goes on behind one that has
 * failed.
 */
#include "tests/sim/sim.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEPS        400
#define ROWS_EACH    25
#define CLIENTS_MOST 5
#define SETTLED_MOST 200000

struct sim *present;

static const char *const count_names[COUNTS] = {
    "steps",
    "accepted",
    "refused",
    "unanswered",
    "pauses",
    "deaths",
    "losses of power",
    "losses of commits",
    "grown disks",
    "reports",
    "resets",
    "steps of clocks",
    "deletes that came late",
    "parts of hosts",
    "trims",
    "moments of several",
};

/* ---- chance ---- */

static uint64_t draw(struct sim *sim) {
    uint64_t z = (sim->random += 0x9e3779b97f4a7c15U);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

unsigned below(struct sim *sim, unsigned most) {
    return (unsigned)(draw(sim) % most);
}

bool chance(struct sim *sim, unsigned percent) {
    return below(sim, 100) < percent && !sim->calm;
}

/* ---- output ---- */

void note(struct sim *sim, const char *format, ...) {
    va_list values;

    va_start(values, format);
    vsnprintf(sim->doing, sizeof sim->doing, format, values);
    va_end(values);
    if (sim->verbose)
        printf("%3u %s\n", sim->step, sim->doing);
}

void wrong(struct sim *sim, const char *format, ...) {
    va_list values;

    printf("seed %ju step %u (%s): ", (uintmax_t)sim->seed, sim->step, sim->doing);
    va_start(values, format);
    vprintf(format, values);
    va_end(values);
    putchar('\n');
    sim->failed = true;
}

/* ---- time ---- */

/* Time since something: no clock that steps. */
int64_t __wrap_clock_monotonic_us(void);
int64_t __real_clock_monotonic_us(void);

int64_t __wrap_clock_monotonic_us(void) {
    return present ? present->world->now_us : __real_clock_monotonic_us();
}

/* Chance of the program itself, as in its pauses between attempts, is decided by the seed, too. */
extern const struct clock __real_clock_system, __wrap_clock_system;

static int64_t system_now(void *arg) {
    return __real_clock_system.now_us(arg);
}

static int64_t system_steady(void *arg) {
    return __real_clock_system.steady_us(arg);
}

static void seeded_random(void *arg, void *bytes, size_t size) {
    const struct clock *clock = present ? &present->world->clock : &__real_clock_system;

    (void)arg;
    clock->random(clock->arg, bytes, size);
}

const struct clock __wrap_clock_system = { .now_us = system_now,
                                           .steady_us = system_steady,
                                           .shared_us = system_steady,
                                           .random = seeded_random };

/* Another worker may come by and find an image locked that this one has in its hands. */
void pass(struct sim *sim, int64_t seconds) {
    for (unsigned i = 0; i < SIM_THREADS; i++)
        if (sim->threads[i].fiber && sim->threads[i].locks[0])
            model_disturb(sim, sim->threads[i].locks);
    sim->world->now_us += seconds * 1000000;
    nodes_tick(sim);
}

/* ---- threads ---- */

static void thread_run(void *arg) {
    struct thread *thread = arg;

    thread->run(thread->sim, thread->arg);
}

struct thread *thread_begin(struct sim *sim, struct process *home,
                            void (*run)(struct sim *sim, void *arg), void *arg, const char *name) {
    for (unsigned i = 0; i < SIM_THREADS; i++) {
        struct thread *thread = &sim->threads[i];

        if (thread->fiber)
            continue;
        *thread =
            (struct thread){ .sim = sim, .home = home, .inside = home, .run = run, .arg = arg };
        snprintf(thread->name, sizeof thread->name, "%s", name);
        thread->fiber = fiber_new(thread_run, thread);
        return thread;
    }
    return NULL;
}

static void resume(struct sim *sim, struct thread *thread) {
    assert(!sim->current);
    sim->current = thread;
    if (!fiber_resume(thread->fiber)) {
        thread->fiber = NULL;
        model_ended(sim, thread);
    }
    sim->current = NULL;
}

void stop_here(struct sim *sim) {
    struct thread *thread = sim->current;

    fiber_yield();
    assert(sim->current == thread);
}

bool doze_here(struct sim *sim, const char *where, unsigned percent) {
    struct thread *thread = sim->current;

    if (!thread || sim->calm)
        return !thread || !thread->inside->dying;
    if (thread->inside->dying)
        return false;
    if (sim->temper.pauses && chance(sim, percent)) {
        thread->asleep = true;
        sim->counts[COUNT_PAUSES]++;
        note(sim, "%s: %s pauses: %s", thread->inside->name, thread->name, where);
    }
    if (thread->asleep || thread->inside->paused || chance(sim, 40))
        stop_here(sim);
    return !thread->inside->dying;
}

bool pause_here(struct sim *sim, const char *where) {
    return doze_here(sim, where, sim->temper.sleep_percent);
}

static bool uses(const struct thread *thread, const struct process *process) {
    return thread->fiber && (thread->home == process || thread->inside == process);
}

void threads_end(struct sim *sim, struct process *process) {
    for (unsigned i = 0; i < SIM_THREADS; i++)
        for (unsigned tries = 0; uses(&sim->threads[i], process); tries++) {
            assert(tries < 10000);
            sim->threads[i].asleep = false;
            resume(sim, &sim->threads[i]);
        }
}

static bool may_run(const struct thread *thread) {
    return thread->fiber && !thread->asleep && !thread->inside->paused && !thread->home->paused;
}

static bool resume_one(struct sim *sim) {
    unsigned first = below(sim, SIM_THREADS);

    for (unsigned i = 0; i < SIM_THREADS; i++) {
        struct thread *thread = &sim->threads[(first + i) % SIM_THREADS];

        if (may_run(thread)) {
            resume(sim, thread);
            return true;
        }
    }
    return false;
}

static void wake_one(struct sim *sim) {
    unsigned first = below(sim, SIM_THREADS);

    for (unsigned i = 0; i < SIM_THREADS; i++) {
        struct thread *thread = &sim->threads[(first + i) % SIM_THREADS];

        if (thread->fiber && thread->asleep) {
            thread->asleep = false;
            note(sim, "%s: %s wakes up", thread->inside->name, thread->name);
            return;
        }
    }
}

/* A request that waits for a manager polls: only when all of them do so is there nothing to do. */
void settle(struct sim *sim) {
    struct thread *outside = sim->current;

    assert(!outside);
    if (sim->calm)
        for (unsigned i = 0; i < SIM_THREADS; i++)
            sim->threads[i].asleep = false;
    for (unsigned i = 0, idle = 0; idle < SIM_THREADS && !sim->failed; i++) {
        bool works = nodes_work(sim) || hosts_work(sim);
        bool ran = resume_one(sim);

        idle = works ? 0 : ran ? idle + 1 : SIM_THREADS;
        if (i > SETTLED_MOST) {
            wrong(sim, "there is no end");
            return;
        }
    }
}

/* ---- one seed ---- */

static void let_pass(struct sim *sim) {
    static const int64_t seconds[] = { 1, 1, 1, 1, 3, 3, 3, 6, 6, 10, 31, 31, 61 };
    int64_t drawn = chance(sim, 3)   ? 601
                    : chance(sim, 1) ? 4000
                                     : seconds[below(sim, LENGTH(seconds))];

    note(sim, "%jd s pass", (intmax_t)drawn);
    pass(sim, drawn);
}

static void client_or_nothing(struct sim *sim) {
    unsigned busy = 0;

    for (unsigned i = 0; i < SIM_THREADS; i++)
        busy += sim->threads[i].fiber && sim->threads[i].home == &sim->clients;
    if (busy < CLIENTS_MOST)
        client_act(sim);
}

static void work(struct sim *sim) {
    if (!nodes_work(sim))
        hosts_work(sim);
}

static void agents_work(struct sim *sim) {
    hosts_work(sim);
}

static void lose(struct sim *sim) {
    if (sim->temper.losses)
        (below(sim, 2) ? nodes_lose : nodes_repeat)(sim);
}

static const struct {
    void (*act)(struct sim *sim);
    unsigned weight;
} acts[] = {
    { client_or_nothing, 24 }, { work, 30 },    { agents_work, 14 },
    { let_pass, 11 },          { wake_one, 6 }, { guest_act, 2 },
    { host_act, 2 },           { node_act, 3 }, { lose, 1 },
};

static void act(struct sim *sim) {
    unsigned total = 0, drawn, i = 0;

    for (unsigned j = 0; j < LENGTH(acts); j++)
        total += acts[j].weight;
    drawn = below(sim, total);
    while (drawn >= acts[i].weight)
        drawn -= acts[i++].weight;
    acts[i].act(sim);
}

static void step(struct sim *sim) {
    sim->counts[COUNT_STEPS]++;
    if (below(sim, 100) < sim->temper.act_percent || !resume_one(sim))
        act(sim);
    check_step(sim);
    if (!sim->failed && sim->step % ROWS_EACH == 0)
        check_rows(sim);
}

static struct temper temper_draw(struct sim *sim) {
    return (struct temper){
        .pauses = below(sim, 4) > 0,
        .node_pauses = below(sim, 2),
        .deaths = below(sim, 2),
        .clock_steps = below(sim, 3) == 0,
        .driver_faults = below(sim, 3) == 0,
        .commit_faults = below(sim, 3) == 0,
        .late_guests = below(sim, 2),
        .lies = below(sim, 2),
        .losses = below(sim, 2),
        .deletes = true,
        .resets = true,
        .power = below(sim, 3) == 0,
        .old_reports = true,
        .gap = below(sim, 2),
        .sleep_percent = 1 + below(sim, 8),
        .act_percent = 15 + below(sim, 45),
        .snapshots = below(sim, 2),
        .assists = below(sim, 2),
        .once = below(sim, 4) == 0,
    };
}

static void run_seed(struct sim *sim, uint64_t seed) {
    const struct world_settings settings = { .seed = seed,
                                             .quota_gigabytes = 120,
                                             .capacity_gb = 1000 };

    memset(sim->models, 0, sizeof sim->models);
    sim->seed = sim->random = seed;
    sim->calm = sim->failed = sim->disk_lags = false;
    sim->disk = DISK_GOOD;
    sim->temper = temper_draw(sim);
    sim->temper.moment = sim->temper.assists && !sim->temper.once && below(sim, 3) > 0;
    sim->moment_count = 0;
    sim->world = world_new(&settings);
    present = sim;
    assists_begin(sim);
    model_watch(sim);
    nodes_start(sim);
    hosts_start(sim);
    clients_begin(sim);
    for (sim->step = 0; sim->step < STEPS && !sim->failed; sim->step++)
        step(sim);
    if (!sim->failed)
        check_end(sim);
    sim->calm = true;
    clients_end(sim);
    hosts_free(sim);
    nodes_free(sim);
    present = NULL;
    world_free(sim->world);
}

/* ---- many seeds ---- */

struct range {
    uint64_t first, count;
    unsigned jobs;
    bool verbose, all;
};

static int run_part(const struct range *range, unsigned job, int report) {
    struct sim *sim = calloc(1, sizeof *sim);
    int status = EXIT_SUCCESS;

    sim->verbose = range->verbose;
    world_beside_others();
    world_free(
        world_new(NULL)); /* a fault that the first one of a process draws for all is drawn by
                           * none */
    for (uint64_t i = job; i < range->count && (!sim->failed || range->all); i += range->jobs) {
        run_seed(sim, range->first + i);
        status = sim->failed ? EXIT_FAILURE : status;
    }
    if (write(report, sim->counts, sizeof sim->counts) != sizeof sim->counts)
        status = EXIT_FAILURE;
    free(sim);
    return status;
}

static int run_all(const struct range *range) {
    unsigned totals[COUNTS] = { 0 }, part[COUNTS];
    int pipes[2], failed = 0;

    if (pipe(pipes) < 0)
        return EXIT_FAILURE;
    for (unsigned job = 0; job < range->jobs; job++)
        if (fork() == 0)
            _exit(run_part(range, job, pipes[1]));
    for (unsigned job = 0; job < range->jobs; job++) {
        int status;

        wait(&status);
        failed |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
        if (WIFEXITED(status) && read(pipes[0], part, sizeof part) == sizeof part)
            for (unsigned i = 0; i < COUNTS; i++)
                totals[i] += part[i];
    }
    printf("%ju seeds from %ju:", (uintmax_t)range->count, (uintmax_t)range->first);
    for (unsigned i = 0; i < COUNTS; i++)
        printf(" %u %s", totals[i], count_names[i]);
    printf("%s\n", failed ? ": FAILED" : "");
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static bool read_options(char **words, struct range *range) {
    for (; *words; words++) {
        bool number = words[1] && strspn(words[1], "0123456789") == strlen(words[1]);

        if (strcmp(*words, "--verbose") == 0)
            range->verbose = true;
        else if (strcmp(*words, "--all") == 0)
            range->all = true;
        else if (strcmp(*words, "--seed") == 0 && number)
            *range = (struct range){ strtoull(*++words, NULL, 10), 1, 1, range->verbose, false };
        else if (strcmp(*words, "--seeds") == 0 && number)
            range->count = strtoull(*++words, NULL, 10);
        else if (strcmp(*words, "--jobs") == 0 && number)
            range->jobs = (unsigned)strtoul(*++words, NULL, 10);
        else
            return false;
    }
    return range->jobs > 0;
}

int main(int argc, char **argv) {
    struct range range = { .first = 1, .count = 1000, .jobs = 2 };

    (void)argc;
    if (!read_options(argv + 1, &range)) {
        fprintf(stderr, "usage: %s [--seed N] [--seeds COUNT] [--jobs N] [--verbose] [--all]\n",
                argv[0]);
        return EXIT_FAILURE;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    return run_all(&range);
}
