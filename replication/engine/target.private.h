/*
 * A target from inside, from the bottom up: target_replicas.c has its replicas and its phase,
 * target_member.c calls their pools, target_graph.c builds the daemon's nodes, target_file.c those
 * of the file's daemon, target_job.c has the state of the job, target_logs.c the write logs,
 * target_state.c writes generations, target_daemon.c starts and ends the daemon, target_events.c
 * receives its reports, target_recovery.c makes one replica the volume, and target_serve.c starts
 * and stops serving. Of the jobs, target_rebuild.c and others do as they are named; target_watch.c
 * continues them. target.c has the calls of its owner.
 */
#pragma once

#include "replication/engine/file_node.h"
#include "replication/engine/job_states.h"
#include "replication/engine/member_states.h"
#include "replication/engine/qmp.h"
#include "replication/engine/quorum.h"
#include "replication/engine/replica_access.h"
#include "replication/engine/target.h"
#include "replication/engine/target_phases.h"
#include "replication/engine/write_log.h"

/* The daemon reports one event of a kind and node in each second, and the last. */
#define EVENTS_LATE_US (SECOND_US + SECOND_US / 5)

#define NODE_SIZE 32
/* Refused blocks that are read again, at most, and their size. */
#define REFUSED_MOST  64
#define REFUSED_BLOCK INT64_C(4096)
#define QUORUM        "quorum"
#define TOP           "top"
#define PLACEHOLDER   "hole"
#define JOB           "job"
#define COPIES        "copies"

struct member {
    struct replica replica;              /* pool and uid are the target's own */
    const struct replica_access *access; /* of a local one, too */
    char node[NODE_SIZE];
    int lock;                 /* -1: not held */
    bool opened;              /* by this target: */
    struct replica_data data; /* where it is served */
    int64_t probe_us;         /* it was unreachable: no probe before that */
    struct replica_probe probe;
    unsigned state;   /* enum member_state, set by member_next() */
    struct error why; /* of one that is excluded, incomplete, failing or unlinked */
    dev_t device;     /* the file that the daemon writes to; */
    ino_t inode;      /* 0: not known yet */
    char copy_node[NODE_SIZE];
    bool copied; /* to the snapshot in progress, with every write */
    int64_t mismatches, errors;
    int64_t reported_us; /* the daemon's last report: the next one may come EVENTS_LATE_US later */
    unsigned failed;     /* of one that fails: after those with a lower number */
    struct generation_id logged; /* generation of its write log's entries; -1: unknown */
};

struct target {
    struct arena *arena;
    char *run, *program;
    const char *tls_directory;
    int64_t epoch;
    char volume[UUID_SIZE];
    int64_t size_bytes, maximum_bytes, timeout_ms, silence_ms;
    int64_t recovery;
    char recover_from[UUID_SIZE]; /* "": none */
    const struct replica_access *local;
    struct target_qos qos;
    int lock;
    struct qmp *qmp;
    unsigned phase;            /* enum target_phase, set by target_next(), */
    const char *reason;        /* and the sentence of the row that led to it */
    struct quorum_plan plan;   /* of the last start */
    struct generation current; /* while serving */
    int64_t decided_blocks;    /* by write logs, in the last start */
    unsigned count;
    struct member members[MEMBERS_MOST];
    unsigned resyncs;              /* number of reasons to compare all */
    int64_t compared_bytes;        /* since the last one, from the beginning on */
    int64_t refused[REFUSED_MOST]; /* blocks without a majority, some of them */
    unsigned refused_count, decisions;
    int64_t recheck_us; /* they are not read again before that */
    int64_t failures;
    unsigned last_failed; /* the number of the member that was the last to fail */
    enum target_job job;  /* its kind while it runs, and afterwards; TARGET_NO_JOB */
    unsigned job_state;   /* enum job_state, set by target_job_next() */
    int64_t speed, failures_before;
    unsigned rebuilt;                 /* index of a member */
    bool grows;                       /* the wanted number grows by it */
    struct generation_id joins_after; /* of JOB_IS_JOINING: the generation before the next start */
    unsigned threshold;               /* of the running quorum: for its life */
    enum target_export export;
    bool sealed, dry_run;
    struct qmp *file;         /* of the daemon that serves the file; NULL: not known */
    int64_t file_bytes;       /* its size; 0: there is none */
    bool file_begun;          /* it was started, and has had no client yet */
    char replaced[UUID_SIZE]; /* "": none */
    char snapshot[UUID_SIZE];
    int64_t adopted_us; /* until then reports may be of nodes that the earlier owner named alike */
    struct error job_error;
    int64_t done_bytes, total_bytes;
};

/* Each member, in order. */
#define TARGET_FOREACH(member, target)                                                         \
    for (__auto_type member = (target)->members; member < (target)->members + (target)->count; \
         member++)

/* ---- target_replicas.c ---- */

/* Only this function changes its state. */
void member_next(struct member *member, enum member_event event);
bool member_votes(const struct member *member);
/* Its data lack a write, though it votes or is rebuilt. */
bool member_fails(const struct member *member);
struct member *member_find(struct target *target, const char *uid);
struct member *member_of_node(struct target *target, const char *node);
struct member *member_add(struct target *target, const struct replica *replica);
/* Its next node has another name than any a moment ago. */
void member_name_next(struct member *member);
void member_name_next_copy(struct member *member);
/* Is it a node of any copy of this replica? */
bool member_has_copy(const struct member *member, const char *node);
/* Is it a node of this replica? Then it becomes the member's node. */
bool member_is_named(struct member *member, const char *node);

/* Only this function changes the phase, and performs the action. */
void target_next(struct target *target, enum target_event event);
/* It has missed a write, or lost its file, while the target serves: it is evicted, or stays and
 * lacks the write; a revert is repeated without it. */
void target_note_failing(struct target *target, struct member *member, enum member_event event);
bool target_serves(const struct target *target);
/* Voters may lack writes that are not reported. */
bool target_is_resynchronizing(const struct target *target);
/* All voters are known to have each write: no stop is clean otherwise. */
bool target_is_equal(const struct target *target);

/* ---- target_member.c: through the replica's access, in the target's epoch ---- */

bool member_is_local(const struct member *member);
int member_open(struct target *target, struct member *member, struct error *err);
/* No effect unless this target has opened it. */
void member_close(struct target *target, struct member *member);
/* Renews its `probe`, unless it was unreachable a moment ago. */
void member_probe(struct target *target, struct member *member);
/* By its last probe: a failed one has no length. */
bool member_is_short(const struct member *member, int64_t size_bytes);
/* -1, ERROR_UNAVAILABLE: the last probe has failed, and its condition is unknown. */
int member_check_probe(const struct member *member, struct error *err);
int member_write_state(struct target *target, const struct member *member,
                       const struct replica_state *state, struct error *err);
int member_reset(struct target *target, struct member *member, struct error *err);
int member_flush(struct target *target, const struct member *member, struct error *err);
/* The next six of a local one. */
int member_lock(struct member *member, struct error *err);
int member_create(const struct target *target, const struct member *member, struct error *err);
int member_adopt(const struct target *target, const struct member *member, struct error *err);
/* Of the target's snapshot. */
int member_snapshot(const struct target *target, const struct member *member,
                    enum replica_snapshot_step step, struct error *err);
int64_t member_snapshot_size(const struct member *member, const char *name);
int member_read(const struct member *member, int64_t at, size_t size, void *ret, struct error *err);
/* As replica_access.sums. */
int member_sums(const struct member *member, int64_t epoch, int64_t *at, int64_t end,
                unsigned count, unsigned char (*ret)[REPLICA_SUM_SIZE], struct error *err);

/* By the index of the member. */
typedef bool members_t[MEMBERS_MOST];
struct member_outcome {
    int result;
    struct error err;
};
/* Calls it for each of these members, at once: a call waits for a disk, or for a host. It changes
 * nothing but its member. Returns when all have returned. */
void members_do(struct target *target, const members_t which,
                int (*call)(struct target *target, struct member *member, const void *arg,
                            struct error *err),
                const void *arg, struct member_outcome *ret);

/* Opens all: those that cannot be are excluded. ERROR_CONFLICT: one has a higher epoch, or another
 * process has it. */
int target_open_replicas(struct target *target, struct error *err);
void target_close_replicas(struct target *target);

/* ---- target_state.c ---- */

void member_remove(struct target *target, const char *uid);
/* Probes all of them and plans. */
void target_plan(struct target *target, struct quorum_plan *ret);
/* Locks all present ones. ERROR_CONFLICT: another process, or a foreign daemon, has one. */
int target_lock_replicas(struct target *target, struct error *err);
void target_unlock_replicas(struct target *target);
/* Ends the resynchronization if all is compared and repaired. */
void target_note_compared(struct target *target);

struct change {
    const char *without, *with; /* uids; NULL: none */
    unsigned wanted;            /* the wanted number from now on; 0: as before */
};

/*
 * Writes a new generation of the voting members, but for one, and with another one, durably. If
 * they are more than were wanted, the wanted number grows. A member that cannot be written to, or
 * has a newer generation, is evicted. ERROR_UNAVAILABLE: too few would remain, and they vote as
 * before.
 */
int generation_change(struct target *target, struct change change, struct error *err);
/* If it names the replica, which does not vote, the next one does not: before its data are lost. */
int generation_leave(struct target *target, const char *replica, struct error *err);
int generation_mark(struct target *target, enum replica_mark mark, struct error *err);

/* ---- target_graph.c ---- */

int graph_do(struct target *target, struct arena *arena, const char *command, json_t *arguments,
             json_t **ret, struct error *err);
#define GRAPH_DO(target, err, command, ...)                                   \
    __extension__({                                                           \
        autoarena struct arena *arena_ = arena_new();                         \
        graph_do(target, arena_, command, json_pack(__VA_ARGS__), NULL, err); \
    })
int graph_add_replica(struct target *target, const struct member *member, int64_t size_bytes,
                      struct error *err);
/* Another connection to a remote one, which this target has opened. `discard`: "unmap", or "ignore"
 * of a node that never returns space. */
int graph_add_connection(struct target *target, const struct member *member, const char *node,
                         int64_t size_bytes, const char *discard, struct error *err);
int graph_add_quorum(struct target *target, unsigned threshold, struct error *err);
/* The nodes above the quorum, and the export, unless the target is sealed. */
int graph_add_export(struct target *target, struct error *err);
int graph_set_qos(struct target *target, struct error *err);
int graph_add_failing_child(struct target *target, struct error *err);
/* A file of its own, and its raw node. */
int graph_add_file(struct target *target, const struct file_node *node, struct error *err);
/* All nodes of its copies. */
int graph_remove_copies(struct target *target, const struct member *member, struct error *err);
/* It may be missing. */
int graph_remove_node(struct target *target, const char *node, struct error *err);
/* Removes the quorum's child of that node, which may be missing; the node stays. */
int graph_detach_child(struct target *target, const char *node, struct error *err);
/* The same, and removes the node. */
int graph_remove_child(struct target *target, const char *node, struct error *err);
/* Names of nodes below the quorum; -1. */
int graph_children(struct target *target, struct arena *arena, const char **ret, unsigned most,
                   struct error *err);
/* Is there an export?  1, 0 none. */
int graph_export(struct target *target, struct error *err);
/* The same, and the quorum's threshold is taken over. */
int graph_adopt_export(struct target *target, struct error *err);
/* Clients lose it, also during requests. */
int graph_end_export(struct target *target, struct error *err);
/* Is there a job? Its status, error and progress; 0 none, 1. */
struct graph_job {
    char status[16];
    char error[200];
    int64_t done, total;
};
int graph_job(struct target *target, struct graph_job *ret, struct error *err);
/* The same of a copy, whose progress becomes the target's; `gone` is the reason when it is missing.
 */
int graph_copy(struct target *target, struct graph_job *ret, struct error *gone, struct error *err);

/* ---- target_file.c ---- */

/* Starts its daemon, if it has one: it gets ready while the volume's does. */
void file_begin(struct target *target);
/* Makes the file of a serving target, with its size, or removes it, as its export requires. */
int file_reconcile(struct target *target, struct error *err);
/* Removes it with its daemon. */
int file_stop(struct target *target, struct error *err);
/* Its daemon keeps serving. */
void file_forget(struct target *target);
/* Before the replicas are served with this generation: if it is not the one that was served last,
 * the file's pending requests are no clients' of it, and are discarded. */
int file_discard_stale(struct target *target, const struct generation *found, struct error *err);

/* ---- target_logs.c ---- */

/* Entries of the write logs after an unclean stop; `usable`: of the served generation. */
struct logs {
    struct arena *arena;
    bool usable;
    struct write_log logs[MEMBERS_MOST]; /* by the index of the member */
};

/* During a start, when its voters are known and before the generation changes. */
void logs_read(struct target *target, struct arena *arena, struct logs *ret);
/* After the change, before any write: usable entries stay so. */
void logs_begin(struct target *target, const struct logs *logs);
/* Before a client is admitted (target_logs_decision.c). -1: the daemon cannot be used. */
int logs_decide(struct target *target, const struct logs *logs, struct error *err);
/* While it serves, whenever the generation may have changed. */
void logs_follow(struct target *target);
/* Removes the log of a replica that is not the volume's any more, or is about to leave the quorum.
 * -1: it may count as before. */
int logs_remove(const struct target *target, const struct member *member);
/* After a failed write, which was answered if the others were enough. */
void logs_note_failed_write(const struct target *target, const struct member *member);
/* Any replica may have failed a write: logs end, until logs_follow() begins them again. */
void logs_note_lost_reports(struct target *target);
/* Behind a clean stop. */
void logs_end(struct target *target);

/* ---- target_job.c ---- */

/* Does the job's state accept the event? */
bool target_job_may(const struct target *target, enum job_event event);
bool target_job_runs(const struct target *target);
bool target_job_is(const struct target *target, enum target_job kind); /* that, and of this kind */
enum target_job target_job_now(const struct target *target);
/* Its replica; NULL: none */
const char *target_job_replica(const struct target *target);
/* Error of a request during another job. -1. */
int target_job_refuse(const struct target *target, struct error *err);
/* Only this function changes its state, and performs the action; false: the table has no row. */
bool target_job_next(struct target *target, enum job_event event);
/* Clears the status of the job before. */
void target_job_begin(struct target *target, enum target_job kind);
void target_job_fail(struct target *target, const struct error *why);
/* Starts its copy of a node to another one. `replaces`: the node that gives its place to that one
 * at the end; NULL. `waits`: a client's write completes when the copy has it, too. */
int target_job_mirror(struct target *target, const char *device, const char *node,
                      const char *replaces, bool waits, struct error *err);
/* Is the copy to be repeated, block by block? */
bool target_job_repeat(struct target *target, const struct graph_job *job);
/* All is copied: the daemon ends the copy between two requests. */
int target_job_end(struct target *target, struct error *err);

/* After a restart of the daemon: ends the job of the joining replica. */
void rebuild_joined(struct target *target);

/* ---- target_daemon.c ---- */

int target_connect(struct target *target, struct error *err);
int target_launch(struct target *target, struct error *err);
/* Ends the export: no client has a request in flight any more. */
int target_end_export(struct target *target, struct error *err);
/* Ends the daemon, and its state does not count any more. */
int target_kill(struct target *target, struct error *err);

/* ---- target_events.c ---- */

/* These bytes have no majority. */
void target_note_refused(struct target *target, int64_t at, int64_t bytes);
/* Receives the daemon's events. -1: its monitor is gone. */
int watch_events(struct target *target, struct error *err);
void watch_files(struct target *target);
/*
 * Changes the generation, which has one voting member less, and maybe another one more. The daemon
 * stops writing to it before that: a write that is answered meanwhile is on as many of those that
 * remain as are needed. -1: too few of them have each write, and one joins or the leaving one has
 * not failed, or the daemon was ended; or too few take the generation, and the leaving one fails
 * until they do.
 */
int target_exclude(struct target *target, struct member *leaving, struct change change,
                   struct error *err);

/* ---- target_watch.c ---- */

/*
 * Would too few voters with each answered write remain without it?  A member of the generation that
 * failed to join, or may fail, does not make up for it. Nor for one that lacks writes does another
 * one that lacks some, of other blocks: each block with a majority has it only while all vote.
 * Where the file is lost, the writes since then are, too.
 */
bool target_needs(const struct target *target, const struct member *member);

/* ---- the others ---- */

/* Makes the replica of a forced recovery the volume, if its generation is older than the recovery.
 */
int recovery_apply(struct target *target, struct error *err);
int rebuild_advance(struct target *target, struct error *err);
int copies_advance(struct target *target, struct error *err);
/* Removes nodes of a snapshot, and incomplete files. */
int copies_tidy(struct target *target, struct error *err);
/* Dismisses a concluded copy; -1 when it is incomplete. */
int copies_conclude(struct target *target, const struct graph_job *job, struct error *err);
int revert_advance(struct target *target, struct error *err);
int repair_advance(struct target *target, struct error *err);
int repair_tidy(struct target *target, struct error *err);
/* If a job or the resynchronization waits for it: have the refused blocks a majority now? */
void scrub_recheck(struct target *target);
/* target_rebuild(); `grows`: the wanted number grows with it. */
int rebuild_start(struct target *target, const struct replica *replica, const char *replaces,
                  bool grows, int64_t speed, struct error *err);
/* As target_stop(), but the file stays, and waits for the next start. */
int target_stop_serving(struct target *target, struct error *err);
/* Adopts the running daemon. -1: it is incomplete. */
int target_adopt(struct target *target, struct error *err);
