/*
 * A target from inside: target.c has what is asked of it, target_serve.c begins and ends serving,
 * target_state.c writes generations, target_recovery.c makes one replica the volume,
 * target_graph.c builds the daemon's nodes, target_file.c those of the file's, target_job.c knows
 * how far the job is, target_rebuild.c and target_watch.c are what they are called.
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

/* Of events of one kind and node the daemon tells one in each second, and the last. */
#define EVENTS_LATE_US (SECOND_US + SECOND_US / 5)

#define NODE_SIZE 32
/* So many blocks that were refused are looked at again and again. */
#define REFUSED_MOST 64
#define QUORUM       "quorum"
#define TOP          "top"
#define HOLE         "hole"
#define JOB          "job"
#define COPIES       "copies"

struct member {
    struct replica replica;              /* pool and uid are the target's own */
    const struct replica_access *access; /* of one of this host, too */
    char node[NODE_SIZE];
    int lock;                 /* -1: not held */
    bool opened;              /* by this target: */
    struct replica_data data; /* where it is served */
    int64_t probe_us;         /* it was not reached: no look before that */
    struct replica_probe probe;
    unsigned state;   /* enum member_state, as member_next() has made it */
    struct error why; /* of one that is excluded, spoilt, failing or unlinked */
    dev_t device;     /* the file that the daemon writes to; */
    ino_t inode;      /* 0: not known yet */
    char copy_node[NODE_SIZE];
    bool copied; /* into a snapshot that is being made, with every write */
    int64_t mismatches, errors;
    int64_t reported_us; /* the daemon's last report: the next one may come EVENTS_LATE_US later */
    struct generation_id logged; /* whose entries its write log was told to have; -1: not known */
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
    unsigned phase;            /* enum target_phase, as target_next() has made it, */
    const char *reason;        /* and the sentence of the row that has led to it */
    struct quorum_plan plan;   /* of the last start */
    struct generation current; /* while serving */
    int64_t decided_blocks;    /* by write logs, in the last start */
    unsigned count;
    struct member members[REPLICAS_MOST + 1]; /* one more while a replica is replaced */
    unsigned resyncs;                         /* how often there was a reason to compare all */
    int64_t compared_bytes;                   /* since the last one, from the beginning on */
    int64_t refused[REFUSED_MOST];            /* blocks without a majority, some of them */
    unsigned refused_count, decisions;
    int64_t recheck_us; /* they are looked at again, not before that */
    int64_t failures;
    enum target_job job; /* its kind: TARGET_NO_JOB, or what it is called while it runs */
    unsigned job_state;  /* enum job_state, as target_job_next() has made it */
    int64_t speed, failures_before;
    unsigned rebuilt;                 /* index of a member */
    bool grows;                       /* one more is wanted with it */
    struct generation_id joins_after; /* of JOB_IS_JOINING: the generation before the next start */
    unsigned threshold;               /* of the quorum that runs: for its life */
    enum target_export export;
    bool sealed, dry_run;
    struct qmp *file;         /* of the daemon that serves the file; NULL: not known */
    int64_t file_bytes;       /* its size; 0: there is none */
    char replaced[UUID_SIZE]; /* "": none */
    char snapshot[UUID_SIZE];
    int64_t adopted_us; /* by then all is told of nodes that another owner named as we do */
    struct error job_error;
    int64_t done_bytes, total_bytes;
};

/* ---- target_state.c ---- */

/* The only one that changes its state. */
void member_next(struct member *member, enum member_event event);
bool member_votes(const struct member *member);
/* Its data lack something, though it votes or is filled. */
bool member_fails(const struct member *member);
struct member *member_find(struct target *target, const char *uid);
struct member *member_of_node(struct target *target, const char *node);
struct member *member_add(struct target *target, const struct replica *replica);
void member_remove(struct target *target, const char *uid);
/* The node that is added for it next has another name than any a moment ago. */
void member_name_next(struct member *member);
void member_name_next_copy(struct member *member);
/* Is it a node of any copy of this replica? */
bool member_has_copy(const struct member *member, const char *node);
/* Is it a node of this replica?  Then it is the one that the member is about. */
bool member_is_named(struct member *member, const char *node);

/* ---- target_member.c: through the replica's access, in the target's epoch ---- */

bool member_is_local(const struct member *member);
int member_open(struct target *target, struct member *member, struct error *err);
/* If this target has opened it. */
void member_close(struct target *target, struct member *member);
/* Its `probe`: a new one, unless it could not be reached a moment ago. */
void member_probe(struct target *target, struct member *member);
/* As it was seen: a look that failed has seen no length. */
bool member_is_short(const struct member *member, int64_t size_bytes);
/* -1, ERROR_UNAVAILABLE: the last look has failed, and says nothing about it. */
int member_check_probe(const struct member *member, struct error *err);
int member_write_state(struct target *target, const struct member *member,
                       const struct replica_state *state, struct error *err);
int member_reset(struct target *target, struct member *member, struct error *err);
int member_flush(struct target *target, const struct member *member, struct error *err);
/* The next six of one of this host. */
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

/* Opens all: those that cannot be are excluded. ERROR_CONFLICT: one has a higher epoch, or another
 * has it. */
int target_open_replicas(struct target *target, struct error *err);
void target_close_replicas(struct target *target);

/* Looks at all of them and plans. */
void target_plan(struct target *target, struct quorum_plan *ret);
/* Locks all that are there. ERROR_CONFLICT: another works on one, or a daemon that is not ours. */
int target_lock_replicas(struct target *target, struct error *err);
void target_unlock_replicas(struct target *target);

/* The only one that changes the phase, and performs the action. */
void target_next(struct target *target, enum target_event event);
bool target_serves(const struct target *target);
/* All that vote are known to have each write: no stop is clean otherwise. */
bool target_is_equal(const struct target *target);
/* All may have been compared, or repaired, since: then there is no reason any more. */
void target_note_compared(struct target *target);

struct change {
    const char *without, *with; /* uids; NULL: none */
    unsigned wanted;            /* so many are to be there from now on; 0: as before */
};

/*
 * The members that vote, but for one, and another beside them, get a new generation, and it is
 * durable.  If they are more than were wanted, so many are from now on.  One that cannot be written
 * to, or knows what is newer, is left out, and votes no more.  ERROR_UNAVAILABLE: too few
 * would be left, and they vote as before.
 */
int generation_change(struct target *target, struct change change, struct error *err);
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
/* Another connection to one of another host, which this target has opened. `discard`: "unmap", or
 * "ignore" of a node that never gives back space. */
int graph_add_connection(struct target *target, const struct member *member, const char *node,
                         int64_t size_bytes, const char *discard, struct error *err);
int graph_add_quorum(struct target *target, unsigned threshold, struct error *err);
/* What is above the quorum; of a sealed target all but the export. */
int graph_add_export(struct target *target, struct error *err);
int graph_set_qos(struct target *target, struct error *err);
int graph_add_hole(struct target *target, struct error *err);
/* A file of its own, and its raw node. */
int graph_add_file(struct target *target, const struct file_node *node, struct error *err);
/* All that were copies of it. */
int graph_remove_copies(struct target *target, const struct member *member, struct error *err);
/* It need not be there. */
int graph_remove_node(struct target *target, const char *node, struct error *err);
/* The quorum's child of that node is taken out, and the node removed; it need not be there. */
int graph_remove_child(struct target *target, const char *node, struct error *err);
/* Names of nodes below the quorum; -1. */
int graph_children(struct target *target, struct arena *arena, const char **ret, unsigned most,
                   struct error *err);
/* Is there an export?  1, 0 none. */
int graph_export(struct target *target, struct error *err);
/* The same, and what is known of the quorum below it is taken over. */
int graph_adopt_export(struct target *target, struct error *err);
/* Clients lose it, whatever they are at. */
int graph_end_export(struct target *target, struct error *err);
/* Is there a job?  Its status, error and progress; 0 none, 1. */
struct graph_job {
    char status[16];
    char error[200];
    int64_t done, total;
};
int graph_job(struct target *target, struct graph_job *ret, struct error *err);
/* The same of a copy, whose progress the target tells; `gone` says why when it is not there. */
int graph_copy(struct target *target, struct graph_job *ret, struct error *gone, struct error *err);

/* ---- target_file.c ---- */

/* The file is there, with its size, or there is none: as it is wanted of a target that serves. */
int file_reconcile(struct target *target, struct error *err);
/* Nothing of it is left. */
int file_stop(struct target *target, struct error *err);
/* Its daemon serves on. */
void file_forget(struct target *target);
/* Before the replicas are served with this generation: if it is not the one that was served last,
 * what waits for them is none of their clients'. */
int file_discard_stale(struct target *target, const struct generation *found, struct error *err);

/* ---- target_logs.c ---- */

/* What the write logs say behind an unclean stop; `usable`: of the generation that was served. */
struct logs {
    struct arena *arena;
    bool usable;
    struct write_log logs[REPLICAS_MOST + 1]; /* by the index of the member */
};

/* Of a start, when its voters are known and before the generation changes. */
void logs_read(struct target *target, struct arena *arena, struct logs *ret);
/* Behind the change, before anything is written: what is usable stays so. */
void logs_begin(struct target *target, const struct logs *logs);
/* Before a client is admitted. -1: the daemon cannot be used. */
int logs_decide(struct target *target, const struct logs *logs, struct error *err);
/* While it serves, whenever the generation may have changed. */
void logs_follow(struct target *target);
/* Of a replica that is none of the volume's any more, or is about to leave the quorum. -1: it may
 * count as before. */
int logs_remove(const struct target *target, const struct member *member);
/* Whose write was answered nevertheless, if others were enough. */
void logs_note_failed_write(const struct target *target, const struct member *member);
/* Any replica may have failed a write: logs end, until logs_follow() begins them anew. */
void logs_note_lost_reports(struct target *target);
/* Behind a clean stop. */
void logs_end(struct target *target);

/* ---- target_job.c ---- */

/* Has the state of the job a row for it? */
bool target_job_may(const struct target *target, enum job_event event);
bool target_job_runs(const struct target *target);
bool target_job_is(const struct target *target, enum target_job kind); /* that, and of this kind */
enum target_job target_job_now(const struct target *target);
/* Its replica; NULL: it is about none. */
const char *target_job_replica(const struct target *target);
/* Of its copy, at this attempt. */
int target_job_granularity(const struct target *target);
int target_job_buffer(const struct target *target);
/* Another one runs: -1. */
int target_job_refuse(const struct target *target, struct error *err);
/* The only one that changes its state, and performs the action; false: the table has no row. */
bool target_job_next(struct target *target, enum job_event event);
/* What is told of a job before is not said of this one. */
void target_job_begin(struct target *target, enum target_job kind);
void target_job_fail(struct target *target, const struct error *why);
/* Whether the copy is begun again, block by block. */
bool target_job_repeat(struct target *target, const struct graph_job *job);
/* All is copied: the daemon ends it between two requests. */
int target_job_end(struct target *target, struct error *err);

/* ---- the others ---- */

/* The replica that is believed becomes the volume, if it is below its salvage. */
int recovery_apply(struct target *target, struct error *err);
int rebuild_advance(struct target *target, struct error *err);
int copies_advance(struct target *target, struct error *err);
/* Nodes of a snapshot, and files that are none yet, whatever is left of them. */
int copies_tidy(struct target *target, struct error *err);
/* A copy that has concluded: dismissed; -1 when it has not done it all. */
int copies_conclude(struct target *target, const struct graph_job *job, struct error *err);
int revert_advance(struct target *target, struct error *err);
int repair_advance(struct target *target, struct error *err);
int repair_tidy(struct target *target, struct error *err);
/* No majority was found for these bytes. */
void scrub_note_refused(struct target *target, int64_t at, int64_t bytes);
/* Where something waits for it: have the blocks that were refused a majority now? */
void scrub_recheck(struct target *target);
/* target_rebuild(); `grows`: one more replica is wanted when it is done. */
int rebuild_start(struct target *target, const struct replica *replica, const char *replaces,
                  bool grows, int64_t speed, struct error *err);
/* Behind a new start of the daemon: who joins is not asked to any more. */
void rebuild_joined(struct target *target);
/* As target_stop(), but the file stays, and waits for the next start. */
int target_stop_serving(struct target *target, struct error *err);
/* A new daemon with another threshold: clients connect anew.  As target_start(). */
int target_restart(struct target *target, struct error *err);
/* No client has anything on its way any more. */
int target_end_export(struct target *target, struct error *err);
/* What the daemon has told since. -1: its monitor is gone. */
int watch_events(struct target *target, struct error *err);
void watch_files(struct target *target);
bool target_is_taken_over(const struct target *target);
int target_connect(struct target *target, struct error *err);
int target_launch(struct target *target, struct error *err);
/* Whatever runs ends, and nothing of it counts any more. */
int target_kill(struct target *target, struct error *err);
/* Takes over the daemon that runs. -1: it is not whole. */
int target_adopt(struct target *target, struct error *err);
