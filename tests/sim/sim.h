/*
 * Simulation: several managers, an API, agents, guests and clients on one database, in one thread
 * and in an order that a seed decides.
 *
 *     fiber     stacks that change places
 *     sim       the seed, the threads and which one goes on; many seeds
 *     nodes     the service's processes: API and managers, each with a clock, a relay and messages
 *     door      their way to the database, and its disk
 *     messages  messages inside a process
 *     compute   hypervisor hosts: the real agent's work
 *     guests    guests and their disks, the hypervisor, the images
 *     clients   requests of users and programs
 *     snapshots the same of snapshots, copies and reverts
 *     existing  the same of storage that is managed and unmanaged
 *     moments   group snapshots of one moment
 *     strangers requests without the right to them
 *     model     the invariants
 *
 * Every thread of every process can be paused wherever it meets something outside: before and
 * after each transaction, before each call of a driver and between its check and its effect, around
 * each event and each call of the agent.  Meanwhile others go on and time passes; it wakes up later
 * and goes on where it was.  A process that dies is one whose threads get to the end without any
 * further effect.  When the power fails all of the service dies at once, and unflushed data
 * is gone; after a flush that failed nothing is committed until the log is good.
 */
#pragma once

#include "common/cleanup.h"
#include "tests/lib/world.h"
#include "tests/sim/fiber.h"

#include <stdbool.h>
#include <stdint.h>

#define SIM_THREADS  96
#define SIM_MANAGERS 2
#define SIM_HOSTS    2
#define SIM_GUESTS   3
#define SIM_VOLUMES  8
#define SIM_SIZES    48
#define SIM_LEFT     16
#define SIM_TOGETHER 8
#define SIM_MOMENTS  64

#define SIM_SERVICE "service:" WORLD_PROJECT /* the caller of a compute service */
#define SIM_ADMIN   "admin:" WORLD_PROJECT

struct sim;
struct node;
struct host;

/* A process: one that dies takes its threads along. */
struct process {
    const char *name;
    bool alive;
    bool dying;  /* its threads run to their ends, without effect */
    bool paused; /* all of it */
};

struct thread {
    struct sim *sim;
    struct fiber *fiber; /* NULL: a free place */
    struct process *home;
    struct process *inside; /* whose code it runs now: home, or one that it calls */
    bool asleep;
    void (*run)(struct sim *sim, void *arg);
    void *arg;
    char name[48];
    unsigned commits; /* of the request that it makes */
    /* An agent's: the volume whose read or report it sends, and the extend that was open when it
     * read it last. */
    char watches[37], operation[37];
    bool reports;
    const char *extend; /* that its next request names; NULL: none */
    char locks[37];     /* the volume whose image a driver holds for it; "": none */
    char made[37];      /* an object that was not needed any more when it was made; "": none */
};

/* The faults of a seed: drawn for each, so that some see little else and some none. */
struct temper {
    bool pauses, node_pauses, deaths, clock_steps, driver_faults, commit_faults, late_guests, lies,
        losses;
    bool deletes, resets, old_reports;
    bool power;     /* it fails, and so do flushes */
    bool snapshots; /* many of them, and reverts */
    bool assists;   /* the storage takes none below a guest: its host is requested */
    bool moment;    /* groups promise snapshots of one moment, and have volumes of one guest */
    bool once;      /* by a compute service, which must not be requested twice */
    bool gap;       /* pauses between the fence and the effect, too */
    unsigned sleep_percent, act_percent;
};

/* The clients' knowledge of a volume. */
struct model {
    char id[37];
    bool exists;              /* a create was answered */
    bool deleted;             /* a delete was accepted, and nothing came between since */
    bool removed;             /* a delete or an unmanage was accepted at any time */
    bool destroyed;           /* a delete was */
    bool had_image;           /* at any time */
    bool given;               /* its leftovers may be another volume's */
    char joins[37];           /* the group that it is about to join; "": none */
    int64_t sizes[SIM_SIZES]; /* each that it may have */
    unsigned size_count;
    int64_t must_become; /* an accepted extend that nothing has disturbed; 0: none */
    int64_t seen_gb;     /* the row's size at the last look */
    int64_t seen_bytes;
    char attachment[37];   /* of the guest below, as far as the client that made it knows */
    int guest;             /* the one it is plugged into by a client, or -1 */
    unsigned disturbances; /* requests and mishaps that may decide otherwise, so far */
    int64_t content;       /* written last, and no revert was requested since; 0: unknown */
};

/* A snapshot that was taken with others: at which moment. */
struct moment {
    char snapshot_id[37];
    unsigned number;
};

/* Of the database; a process that finds a part of the log lost stops for good, as do all others. */
enum sim_disk { DISK_GOOD, DISK_DOUBTFUL, DISK_LOST };

enum count {
    COUNT_STEPS,
    COUNT_ACCEPTED,
    COUNT_REFUSED,
    COUNT_UNANSWERED,
    COUNT_PAUSES,
    COUNT_DEATHS,
    COUNT_POWER,
    COUNT_LOST,
    COUNT_GROWN,
    COUNT_REPORTS,
    COUNT_RESETS,
    COUNT_CLOCKS,
    COUNT_LATE,
    COUNT_ASSISTS,
    COUNT_TRIMS,
    COUNT_MOMENTS,
    COUNTS
};

struct sim {
    struct world *world; /* database, policy, memory driver; its own service does nothing */
    struct temper temper;
    struct thread threads[SIM_THREADS];
    struct thread *current; /* NULL: the simulation itself */
    struct node *nodes;     /* the managers, and the API behind them */
    struct host *hosts;
    struct process clients;
    struct model models[SIM_VOLUMES];
    char left[SIM_LEFT][37]; /* objects of workers that died before they took them away again */
    unsigned left_count;
    struct moment moments[SIM_MOMENTS];
    unsigned moment_count; /* snapshots */
    uint64_t random, seed;
    unsigned step;
    unsigned disks; /* that were there before any volume */
    enum sim_disk disk;
    bool disk_lags; /* after commits of unsynced transactions */
    bool calm;      /* nothing pauses, fails or lies any more */
    bool verbose, failed;
    char doing[256];
    unsigned counts[COUNTS];
};

/* ---- sim.c ---- */

extern struct sim *present; /* the one that runs; one at a time in a process */

unsigned below(struct sim *sim, unsigned most);
bool chance(struct sim *sim, unsigned percent); /* never true when calm */
__attribute__((format(printf, 2, 3))) void note(struct sim *sim, const char *format, ...);
__attribute__((format(printf, 2, 3))) void wrong(struct sim *sim, const char *format, ...);

/* NULL: there is no slot for another thread. */
struct thread *thread_begin(struct sim *sim, struct process *home,
                            void (*run)(struct sim *sim, void *arg), void *arg, const char *name);
/* A place where the thread that runs may be paused.  false: the process whose code it runs is dead:
 * nothing that it does has an effect. */
bool pause_here(struct sim *sim, const char *where);
/* The same with pauses in `percent` of the places. */
bool doze_here(struct sim *sim, const char *where, unsigned percent);
/* Stops where the thread has to wait for others. */
void stop_here(struct sim *sim);
/* The threads of a process that has just died come to their ends. */
void threads_end(struct sim *sim, struct process *process);
/* Everything that can run does, until nothing is left to do. */
void settle(struct sim *sim);
/* Time passes for all threads. */
void pass(struct sim *sim, int64_t seconds);

/* ---- nodes.c ---- */

struct answer {
    int status; /* 0: none came */
    json_t *body;
    char text[512];
    char extend[64]; /* that it names; "": none */
    bool changed;    /* a transaction of the request was committed */
};

void nodes_start(struct sim *sim);
void nodes_free(struct sim *sim);
bool nodes_work(struct sim *sim);      /* starts waiting work at one of them; false: there is
                                        * none */
void nodes_tick(struct sim *sim);      /* the periodic work of all */
void nodes_revive(struct sim *sim);    /* all that are dead or paused */
void node_act(struct sim *sim);        /* dies, starts again, pauses, wakes up, steps its clock */
void nodes_power_off(struct sim *sim); /* all at once, where the power fails */
void nodes_lose(struct sim *sim);      /* messages on their way are returned */
void nodes_repeat(struct sim *sim);    /* a message for every open operation */
/* A request (path behind /v3/<project>) by a role of tests/lib/roles.h in a project; in the thread
 * that runs, or, when none does, until everything that it needs is done. */
void call_api(struct sim *sim, const char *token, const char *method, const char *path,
              const char *body, struct answer *ret);
void answer_free(struct answer *answer);
#define autoanswer __attribute__((cleanup(answer_free)))

/* ---- compute.c ---- */

void hosts_start(struct sim *sim);
void hosts_free(struct sim *sim);
bool hosts_work(struct sim *sim);
void hosts_revive(struct sim *sim);
void host_act(struct sim *sim);
enum event_verdict host_event(struct sim *sim, const struct compute_event *event,
                              struct error *err);
enum event_verdict host_trim(struct sim *sim, const struct compute_trim *trim, struct error *err);

/* ---- assists.c ---- */

void assists_begin(struct sim *sim);
void assists_end(struct sim *sim); /* the storage takes and deletes them below guests itself */
enum event_verdict assist_event(struct sim *sim, const struct compute_assist *assist,
                                struct error *err);

/* ---- guests.c ---- */

void guest_act(struct sim *sim);
const char *guest_instance(unsigned guest);
const char *guest_host(struct sim *sim, unsigned guest);
/* false: its image cannot be locked, or is not there. */
bool guest_plug(struct sim *sim, unsigned guest, const char *volume_id);
void guest_unplug(struct sim *sim, unsigned guest, const char *volume_id);
/* One that runs and has space for so many. */
bool guest_with_space(struct sim *sim, unsigned plugs, unsigned *ret);
bool guest_holds(struct sim *sim, const char *volume_id); /* any that runs */
void guests_check(struct sim *sim);

/* ---- clients.c ---- */

void clients_begin(struct sim *sim);
void clients_end(struct sim *sim);
void client_act(struct sim *sim);
struct model *model_of(struct sim *sim, const char *volume_id);
/* 1 accepted, 0 refused (nothing may have changed), -1 unknown. */
int check_answer(struct sim *sim, const char *what, const struct answer *answer);
/* A client requested its deletion, with its image or without: as check_answer() has it. */
void model_removed(struct model *model, int verdict, bool with_image);
void volume_make(struct sim *sim, void *arg);
/* An attachment that ended well stays plugged into that guest. */
void attach_to(struct sim *sim, struct model *model, unsigned guest);
/* A place for a volume that was just made; NULL: none is left. */
struct model *model_new(struct sim *sim, const struct answer *answer, int64_t size_gb);
/* A client that knows the volume sends requests beyond its rights. */
void trespass(struct sim *sim, void *arg);
/* Something that may decide otherwise than the extend that was accepted. */
void model_disturb(struct sim *sim, const char *volume_id);

/* ---- snapshots.c: of the volume that is the argument ---- */

/* The result of a query of one text about `id`, with nothing in between; "" when there is no
 * row. */
struct text {
    const char *sql, *id;
    char found[64];
};
struct text look_for(struct sim *sim, const char *sql, const char *id);

void snapshot_take(struct sim *sim, void *arg);
void snapshot_drop(struct sim *sim, void *arg);
void snapshot_reset(struct sim *sim, void *arg);
void snapshot_revert(struct sim *sim, void *arg);
void snapshot_copy(struct sim *sim, void *arg); /* or of the volume itself */
void content_write(struct sim *sim, void *arg);
/* Right before an effect of a driver, or of a guest's host, on it. */
void snapshot_touched(struct sim *sim, const char *call, const char *name_id);
void snapshot_check_end(struct sim *sim, const struct model *model);
/* Whatever has happened, they can be made, reverted to, and deleted. */
void snapshot_check_usable(struct sim *sim, const char *volume_id);

/* ---- existing.c ---- */

void volume_let_go(struct sim *sim, void *arg);
void volume_take_over(struct sim *sim, void *arg); /* of something that lies there */
/* One that is gone, and was not deleted, has left the object that it was managed from. */
void existing_check_end(struct sim *sim, const struct model *model);

/* ---- groups.c ---- */

void groups_begin(struct sim *sim);
void group_join(struct sim *sim, void *arg);
bool group_make(struct sim *sim, char ret[37]);
void group_leave(struct sim *sim, void *arg);
void group_drop(struct sim *sim, void *arg); /* with the volume */
void group_reset(struct sim *sim, void *arg);
void group_check_usable(struct sim *sim, const char *volume_id);

/* ---- group_snapshots.c: of the volume's group ---- */

void group_snapshot_take(struct sim *sim, void *arg);
void group_snapshot_drop(struct sim *sim, void *arg);
void group_snapshot_reset(struct sim *sim, void *arg);
void group_snapshots_check_end(struct sim *sim); /* all of them go */

/* ---- moments.c ---- */

/* In a seed whose groups promise it: two volumes of one group, below one guest. */
void moments_begin(struct sim *sim);
/* These were taken at one moment. */
void moment_taken(struct sim *sim, const char (*snapshot_ids)[37], unsigned count);
void moments_check_rows(struct sim *sim); /* all or none */
/* Whatever has happened, they can be taken, beside merges and each other. */
void moments_check_usable(struct sim *sim);

/* ---- model.c ---- */

/* A request at rest: its status, and an id of the answer where `answer_id` is not NULL. */
int ask(struct sim *sim, const char *method, const char *path, const char *body,
        char answer_id[37]);

/* Time passes in steps, and running work comes to its end in each. */
void work_for(struct sim *sim, int64_t seconds, int64_t each);
void model_watch(struct sim *sim); /* the images */
/* A transaction or a read of the thread has just been done, and nothing has come between. */
void model_committed(struct sim *sim, struct thread *thread);
void model_read(struct sim *sim, struct thread *thread);
void model_ended(struct sim *sim, const struct thread *thread);
const char *row_status(struct sim *sim, const char *volume_id); /* until the next call */
int64_t row_size(struct sim *sim, const char *volume_id);       /* 0: it is gone */
void check_step(struct sim *sim);
void check_rows(struct sim *sim);
void check_end(struct sim *sim);
