/*
 * Simulation: the whole service in one process, in a random order of requests, deliveries, losses,
 * duplicates, reports, lies, resets, detaches, clock jumps and deaths; after each step what must
 * always hold is checked, and at the end every accepted request has taken effect once.
 *
 *     sim [--seed N] [--seeds COUNT] [--jobs N] [--verbose]
 *
 * A seed replays exactly: the printed one is all that is needed.
 */
#include "common/cleanup.h"
#include "drivers/memory.h"
#include "tests/lib/world.h"

#include <string.h>
#include <sys/wait.h>

#define VOLUMES 4
#define STEPS   60
#define TASKS   16
#define SIZES   32

/* What the client knows of a volume. */
struct model {
    char id[37];
    bool exists;
    bool deleted;         /* a delete was accepted */
    int64_t sizes[SIZES]; /* each size it may have: the first, and every target asked for */
    unsigned size_count;
    int64_t must_become; /* an accepted extend that nothing has disturbed; 0: none */
    bool attached;
    bool held; /* a guest keeps the image locked */
    char attachment[37];
};

/* What the compute side still has to do. */
struct task {
    char volume_id[37];
    bool open;
};

struct sim {
    struct world *world;
    struct model models[VOLUMES];
    struct task tasks[TASKS];
    uint64_t random;
    uint64_t seed;
    unsigned step;
    bool verbose;
    bool failed;
    char doing[256];
    unsigned counts[8]; /* of the seeds of this process: see count_names */
};

static const char *const count_names[] = { "steps",  "accepted", "refused", "unanswered",
                                           "deaths", "reports",  "resets",  "jumps" };
enum { STEP, ACCEPTED, REFUSED, UNANSWERED, DEATHS, REPORTS, RESETS, JUMPS };

static uint64_t draw(struct sim *sim) {
    uint64_t z = (sim->random += 0x9e3779b97f4a7c15U);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

static unsigned below(struct sim *sim, unsigned most) {
    return (unsigned)(draw(sim) % most);
}

static bool chance(struct sim *sim, unsigned percent) {
    return below(sim, 100) < percent;
}

__attribute__((format(printf, 2, 3))) static void doing(struct sim *sim, const char *format, ...) {
    va_list values;

    va_start(values, format);
    vsnprintf(sim->doing, sizeof sim->doing, format, values);
    va_end(values);
    if (sim->verbose)
        printf("%3u %s\n", sim->step, sim->doing);
}

__attribute__((format(printf, 2, 3))) static void wrong(struct sim *sim, const char *format, ...) {
    va_list values;

    printf("seed %ju step %u (%s): ", (uintmax_t)sim->seed, sim->step, sim->doing);
    va_start(values, format);
    vprintf(format, values);
    va_end(values);
    putchar('\n');
    sim->failed = true;
}

/* ---- the database as one number, so that a refusal is seen to change nothing ---- */

static int hash_body(struct db_tx *tx, void *arg, struct error *err) {
    static const char *const queries[] = {
        ("SELECT id || status || size_gb || largest_gb || attach_status || COALESCE(updated_at, 0) || "
         "COALESCE(display_name, '') FROM volumes ORDER BY id"),
        "SELECT volume_id || key || value FROM volume_metadata ORDER BY volume_id, key",
        "SELECT volume_id || key || value FROM volume_admin_metadata ORDER BY volume_id, key",
        "SELECT id || attach_status || COALESCE(updated_at, 0) FROM attachments ORDER BY id",
        "SELECT id || phase || COALESCE(owner, '') || attempts FROM operations ORDER BY id",
        "SELECT project_id || resource || used FROM quota_usages ORDER BY 1",
        "SELECT id || delta FROM reservations ORDER BY id",
        "SELECT id FROM messages ORDER BY id",
        "SELECT CAST(id AS TEXT) FROM outbox ORDER BY id",
        "SELECT name || allocated_gb FROM pools ORDER BY name",
    };
    uint64_t hash = 14695981039346656037U;

    for (unsigned i = 0; i < LENGTH(queries); i++) {
        autorows struct db_rows *rows = db_query(tx, err, queries[i]);

        if (!rows)
            return -1;
        while (db_next(rows, err) > 0)
            for (const char *c = db_text(rows, 0); *c; c++)
                hash = (hash ^ (unsigned char)*c) * 1099511628211U;
    }
    *(uint64_t *)arg = hash;
    return 0;
}

static uint64_t database_hash(struct sim *sim) {
    uint64_t hash = 0;
    struct error err;

    if (db_read(sim->world->db, hash_body, &hash, &err) < 0)
        wrong(sim, "database: %s", err.message);
    return hash;
}

/* ---- requests ---- */

/* 1 accepted, 0 refused (nothing may have changed), -1 nobody knows. */
static int judge(struct sim *sim, uint64_t before) {
    int status = sim->world->status;

    if (sim->world->dead || status == 0 || status >= 500) {
        sim->counts[UNANSWERED]++;
        if (status == 503 && database_hash(sim) != before)
            wrong(sim, "a request that failed has changed something");
        else if (!sim->world->dead && status >= 500 && status != 503)
            wrong(sim, "answer %d: %s", status, sim->world->answer_text);
        return -1;
    }
    if (status < 400) {
        sim->counts[ACCEPTED]++;
        return 1;
    }
    sim->counts[REFUSED]++;
    if (database_hash(sim) != before)
        wrong(sim, "a refusal (%d) has changed something", status);
    return 0;
}

static struct model *pick(struct sim *sim) {
    return &sim->models[below(sim, VOLUMES)];
}

static void allow_size(struct model *model, int64_t size) {
    if (model->size_count < SIZES)
        model->sizes[model->size_count++] = size;
}

static void do_create(struct sim *sim) {
    struct model *model = pick(sim);
    int64_t size = 1 + below(sim, 5);
    autoarena struct arena *arena = arena_new();
    uint64_t before = database_hash(sim);
    const char *id;

    if (model->exists)
        return;
    doing(sim, "create %jd", (intmax_t)size);
    world_call(sim->world, "POST", "/volumes",
               arena_format(arena, "{\"volume\": {\"size\": %jd}}", (intmax_t)size));
    if (judge(sim, before) <= 0)
        return;
    id = json_string_value(json_object_get(json_object_get(sim->world->answer, "volume"), "id"));
    *model = (struct model){ .exists = true };
    memcpy(model->id, id, sizeof model->id);
    allow_size(model, size);
}

static void do_extend(struct sim *sim) {
    struct model *model = pick(sim);
    uint64_t before = database_hash(sim);
    int64_t size;
    int verdict;

    if (!model->exists)
        return;
    size = chance(sim, 80) ? world_size(sim->world, model->id) + 1 + below(sim, 4)
                           : 1 + below(sim, 12);
    doing(sim, "extend %.8s to %jd", model->id, (intmax_t)size);
    world_action(sim->world, model->id, "{\"os-extend\": {\"new_size\": %jd}}", (intmax_t)size);
    verdict = judge(sim, before);
    if (verdict != 0)
        allow_size(model, size);
    if (verdict != 0)
        model->must_become = verdict > 0 && !model->attached && !model->held ? size : 0;
}

static void do_attach(struct sim *sim) {
    struct model *model = pick(sim);
    autoarena struct arena *arena = arena_new();
    uint64_t before = database_hash(sim);
    const char *id;

    if (!model->exists || model->attached)
        return;
    doing(sim, "attach %.8s", model->id);
    world_call(sim->world, "POST", "/attachments",
               arena_format(
                   arena, "{\"attachment\": {\"volume_uuid\": \"%s\", \"instance_uuid\": \"%s\"}}",
                   model->id, chance(sim, 50) ? WORLD_INSTANCE : WORLD_INSTANCE2));
    if (judge(sim, before) <= 0)
        return;
    id =
        json_string_value(json_object_get(json_object_get(sim->world->answer, "attachment"), "id"));
    memcpy(model->attachment, id, sizeof model->attachment);
    model->attached = true;
    model->must_become = 0;
    world_call(sim->world, "POST", arena_format(arena, "/attachments/%s/action", id),
               "{\"os-complete\": {}}");
    model->held = chance(sim, 80);
    memory_lock(sim->world->memory, model->id, model->held);
}

static void do_detach(struct sim *sim) {
    struct model *model = pick(sim);
    autoarena struct arena *arena = arena_new();
    uint64_t before = database_hash(sim);

    if (!model->exists || !model->attached)
        return;
    doing(sim, "detach %.8s", model->id);
    if (chance(sim, 90))
        model->held = false; /* else the guest is slow to let go */
    memory_lock(sim->world->memory, model->id, model->held);
    world_call(sim->world, "DELETE", arena_format(arena, "/attachments/%s", model->attachment),
               NULL);
    if (judge(sim, before) >= 0 && sim->world->status < 500)
        model->attached = false;
}

static void do_delete(struct sim *sim) {
    struct model *model = pick(sim);
    autoarena struct arena *arena = arena_new();
    uint64_t before = database_hash(sim);
    bool force = chance(sim, 30);
    int verdict;

    if (!model->exists)
        return;
    doing(sim, "delete %.8s%s", model->id, force ? " by force" : "");
    world_call(sim->world, "DELETE",
               arena_format(arena, "/volumes/%s%s", model->id, force ? "?force=true" : ""), NULL);
    verdict = judge(sim, before);
    if (verdict == 0)
        return;
    model->must_become = 0;
    model->deleted = verdict > 0;
    if (verdict > 0)
        model->exists = false;
}

static void do_reset(struct sim *sim) {
    static const char *const statuses[] = { "available", "error",           "extending",
                                            "in-use",    "error_extending", "EXTENDING" };
    struct model *model = pick(sim);
    uint64_t before = database_hash(sim);

    if (!model->exists)
        return;
    doing(sim, "reset %.8s", model->id);
    sim->counts[RESETS]++;
    world_action(sim->world, model->id, "{\"os-reset_status\": {\"status\": \"%s\"}}",
                 statuses[below(sim, LENGTH(statuses))]);
    if (judge(sim, before) != 0)
        model->must_become = 0;
}

static void do_metadata(struct sim *sim) {
    struct model *model = pick(sim);
    autoarena struct arena *arena = arena_new();
    uint64_t before = database_hash(sim);

    if (!model->exists)
        return;
    doing(sim, "metadata %.8s", model->id);
    world_call(sim->world, "POST", arena_format(arena, "/volumes/%s/metadata", model->id),
               chance(sim, 50) ? "{\"metadata\": {\"a\": \"b\"}}"
                               : "{\"metadata\": {\"extend_new_size\": \"999\"}}");
    judge(sim, before);
}

/* ---- the compute side ---- */

static struct sim *present; /* the simulation that runs; one at a time in a process */

static void take_event(struct world *world, const struct world_event *event) {
    (void)world;
    for (unsigned i = 0; i < TASKS && event->wants_completion; i++)
        if (!present->tasks[i].open) {
            present->tasks[i].open = true;
            memcpy(present->tasks[i].volume_id, event->volume_id, sizeof event->volume_id);
            return;
        }
}

static void do_report(struct sim *sim) {
    struct task *task = &sim->tasks[below(sim, TASKS)];
    int64_t target = 0;
    bool grows, error;
    uint64_t before;
    const json_t *volume;

    for (unsigned i = 0; i < TASKS && !task->open; i++)
        task = &sim->tasks[i];
    if (!task->open)
        return;
    volume = world_show(sim->world, task->volume_id);
    target = atoll(
        json_string_value(json_object_get(json_object_get(volume, "metadata"), "extend_new_size"))
            ?: "0");
    grows = chance(sim, 80);
    error = chance(sim, 25);
    doing(sim, "report %.8s: %s, says %s", task->volume_id, grows ? "grown" : "not grown",
          error ? "error" : "success");
    if (grows && target * GIB > memory_bytes(sim->world->memory, task->volume_id))
        memory_grow(sim->world->memory, task->volume_id, target * GIB);
    if (chance(sim, 10))
        return; /* the answer is lost */
    before = database_hash(sim);
    world_action(sim->world, task->volume_id, "{\"os-extend_volume_completion\": {\"error\": %s}}",
                 error ? "true" : "false");
    judge(sim, before);
    sim->counts[REPORTS]++;
    if (chance(sim, 85))
        task->open = false; /* else it reports again */
}

/* ---- the world ---- */

static void do_deliver(struct sim *sim) {
    unsigned waiting = world_relay(sim->world);

    doing(sim, "deliver one of %u", waiting);
    sim->world->verdict = chance(sim, 70)   ? EVENT_ACCEPTED
                          : chance(sim, 50) ? EVENT_UNKNOWN
                                            : EVENT_REFUSED;
    if (waiting)
        world_step(sim->world, below(sim, waiting));
}

static void do_settle(struct sim *sim) {
    doing(sim, "deliver all");
    world_settle(sim->world);
}

static void do_lose(struct sim *sim) {
    if (sim->world->dead)
        return;
    doing(sim, "lose messages");
    world_relay(sim->world);
    rpc_local_forget(sim->world->rpc);
}

static void do_repeat(struct sim *sim) {
    if (sim->world->dead)
        return;
    doing(sim, "repeat messages");
    world_sql(sim->world, "INSERT INTO outbox (topic, method, key, payload, created_at) "
                          "SELECT 'cinder-volume.' || host, 'extend_volume', volume_id, "
                          "'{\"operation_id\": \"' || id || '\"}', created_at FROM operations");
}

static void do_jump(struct sim *sim) {
    static const int64_t jumps[] = { 1, 6, 31, 61, 601, 4000, 90000 };
    int64_t seconds = jumps[below(sim, LENGTH(jumps))];

    doing(sim, "%jd s pass", (intmax_t)seconds);
    sim->counts[JUMPS]++;
    world_advance(sim->world, seconds);
}

/* Somebody sets the wall's clock: nothing may come of it. */
static void do_step(struct sim *sim) {
    static const int64_t steps[] = { 30, 3600, 31536000 };
    int64_t seconds = steps[below(sim, LENGTH(steps))] * (chance(sim, 50) ? 1 : -1);

    doing(sim, "the wall's clock steps by %jd s", (intmax_t)seconds);
    world_step_wall(sim->world, seconds);
}

static void do_hiccup(struct sim *sim) {
    doing(sim, "the disk is full for a moment");
    sim->world->hiccups = 1 + below(sim, 3);
}

static void do_die(struct sim *sim) {
    if (sim->world->counting)
        return;
    doing(sim, "dies soon");
    world_die_after(sim->world, below(sim, 20));
}

static void revive(struct sim *sim) {
    doing(sim, "starts again after dying at %s", sim->world->died_at);
    sim->counts[DEATHS]++;
    world_restart(sim->world);
}

static const struct {
    void (*act)(struct sim *sim);
    unsigned weight;
} acts[] = {
    { do_create, 12 },  { do_extend, 22 }, { do_attach, 12 },  { do_detach, 5 },
    { do_delete, 3 },   { do_reset, 3 },   { do_metadata, 2 }, { do_report, 30 },
    { do_deliver, 25 }, { do_settle, 12 }, { do_lose, 1 },     { do_repeat, 2 },
    { do_jump, 4 },     { do_die, 3 },     { do_hiccup, 3 },   { do_step, 2 },
};

static void act(struct sim *sim) {
    unsigned total = 0, drawn;

    for (unsigned i = 0; i < LENGTH(acts); i++)
        total += acts[i].weight;
    drawn = below(sim, total);
    for (unsigned i = 0; i < LENGTH(acts); i++) {
        if (drawn < acts[i].weight) {
            acts[i].act(sim);
            return;
        }
        drawn -= acts[i].weight;
    }
}

/* ---- the end: everything comes to rest ---- */

static void rest(struct sim *sim) {
    doing(sim, "rest");
    sim->world->hiccups = 0;
    sim->world->verdict = EVENT_ACCEPTED;
    world_restart(sim->world);
    for (int i = 0; i < 12; i++) {
        world_settle(sim->world);
        if (world_count(sim->world, "SELECT COUNT(*) FROM operations") == 0)
            return;
        world_advance(sim->world, i < 4 ? 31 : 700);
    }
    wrong(sim, "%jd operations never end",
          (intmax_t)world_count(sim->world, "SELECT COUNT(*) FROM operations"));
}

static void check_model(struct sim *sim, const struct model *model) {
    const json_t *volume;
    const char *status;
    int64_t size;
    bool known = false;

    if (model->deleted && strcmp(world_status(sim->world, model->id), "gone") != 0)
        wrong(sim, "volume %s was deleted and is %s", model->id,
              world_status(sim->world, model->id));
    if (!model->exists || model->deleted)
        return;
    volume = world_show(sim->world, model->id);
    status = json_string_value(json_object_get(volume, "status"));
    if (!status) {
        if (sim->world->status == 404 && model->size_count && !model->must_become)
            return; /* a delete whose answer was lost */
        wrong(sim, "volume %s was made and is gone", model->id);
        return;
    }
    size = json_integer_value(json_object_get(volume, "size"));
    for (unsigned i = 0; i < model->size_count; i++)
        known |= model->sizes[i] == size;
    if (!known && model->size_count < SIZES)
        wrong(sim, "volume %s has %jd GiB, which nobody asked for", model->id, (intmax_t)size);
    if (model->must_become && size != model->must_become)
        wrong(sim, "volume %s is %s with %jd GiB; an extend to %jd was accepted", model->id, status,
              (intmax_t)size, (intmax_t)model->must_become);
}

static void run_seed(struct sim *sim, uint64_t seed) {
    struct world_settings settings = { .seed = seed, .quota_gigabytes = 40, .capacity_gb = 1000 };

    memset(sim->models, 0, sizeof sim->models);
    memset(sim->tasks, 0, sizeof sim->tasks);
    sim->seed = sim->random = seed;
    sim->world = world_new(&settings);
    sim->world->on_event = take_event;
    present = sim;
    for (sim->step = 0; sim->step < STEPS && !sim->failed; sim->step++) {
        act(sim);
        sim->counts[STEP]++;
        if (sim->world->dead)
            revive(sim);
        else if (world_check(sim->world) != 0)
            wrong(sim, "a promise does not hold");
    }
    if (!sim->failed)
        rest(sim);
    for (unsigned i = 0; i < VOLUMES && !sim->failed; i++)
        check_model(sim, &sim->models[i]);
    if (!sim->failed && world_check(sim->world) != 0)
        wrong(sim, "a promise does not hold at the end");
    world_free(sim->world);
}

/* ---- many seeds ---- */

static int run_range(uint64_t first, uint64_t count, unsigned stride, bool verbose, int report) {
    struct sim *sim = calloc(1, sizeof *sim);
    int status;

    sim->verbose = verbose;
    for (uint64_t i = 0; i < count && !sim->failed; i += stride)
        run_seed(sim, first + i);
    status = sim->failed ? EXIT_FAILURE : EXIT_SUCCESS;
    if (write(report, sim->counts, sizeof sim->counts) != sizeof sim->counts)
        status = EXIT_FAILURE;
    free(sim);
    return status;
}

static int run_all(uint64_t first, uint64_t count, unsigned jobs, bool verbose) {
    unsigned totals[8] = { 0 }, part[8];
    int pipes[2], failed = 0;

    if (pipe(pipes) < 0)
        return EXIT_FAILURE;
    for (unsigned job = 0; job < jobs; job++)
        if (fork() == 0)
            _exit(run_range(first + job, count > job ? count - job : 0, jobs, verbose, pipes[1]));
    for (unsigned job = 0; job < jobs; job++) {
        int status;

        wait(&status);
        failed |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
        if (WIFEXITED(status) && read(pipes[0], part, sizeof part) == sizeof part)
            for (unsigned i = 0; i < 8; i++)
                totals[i] += part[i];
    }
    printf("%ju seeds from %ju:", (uintmax_t)count, (uintmax_t)first);
    for (unsigned i = 0; i < 8; i++)
        printf(" %u %s", totals[i], count_names[i]);
    printf("%s\n", failed ? ": FAILED" : "");
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv) {
    uint64_t first = 1, count = 1000;
    unsigned jobs = 2;
    bool verbose = false;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            first = strtoull(argv[++i], NULL, 10);
            count = 1;
            jobs = 1;
        } else if (strcmp(argv[i], "--seeds") == 0 && i + 1 < argc)
            count = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--jobs") == 0 && i + 1 < argc)
            jobs = (unsigned)strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--verbose") == 0)
            verbose = true;
        else {
            fprintf(stderr, "usage: %s [--seed N] [--seeds COUNT] [--jobs N] [--verbose]\n",
                    argv[0]);
            return EXIT_FAILURE;
        }
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    return run_all(first, count, jobs, verbose);
}
