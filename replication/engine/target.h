/*
 * The data path of one replicated volume: a qemu-storage-daemon whose quorum node reads and writes
 * all replicas, and which serves clients at an NBD socket. The daemon moves the bytes; a target
 * starts it, watches it, evicts failing replicas, rebuilds and stops it.
 *
 * The process that opens a target owns the volume until it closes it, exclusively; the daemon keeps
 * serving when the target is closed or its owner dies, and is adopted by the next owner. Each call
 * may be repeated, also after a death anywhere in the first. There are never two daemons that write
 * to a replica: QEMU locks the files, and each start checks these locks.
 *
 * A target belongs to one thread at a time. Calls block at most a few times `timeout_ms`, and as
 * long as calls to local replicas do.
 */
#pragma once

#include "replication/engine/replica.h"

#define TARGET_EXPORT "volume"
#define TARGET_FILE   "volume" /* in its run directory */

enum target_export {
    TARGET_EXPORT_NBD,
    /* And as a regular file, RUN/volume, which is as long as the volume and grows with it. Its
     * users notice nothing but a delay when the daemon below restarts. */
    TARGET_EXPORT_FILE,
};

struct target_qos { /* 0: no limit */
    int64_t iops, bytes_per_second;
};

struct target_settings {
    const char *run;     /* absolute path of a directory of its own; clients' socket is RUN/nbd */
    const char *program; /* NULL: qemu-storage-daemon */
    const char *volume;
    /* Of two targets of a volume only the one with the higher epoch can write to replicas
     * (replication/engine/replica_access.h); 0: there is never another. */
    int64_t epoch;
    /* A directory with ca-cert.pem, client-cert.pem and client-key.pem, for remote replicas; NULL:
     * those are reached without TLS. */
    const char *tls_directory;
    int64_t size_bytes;    /* visible to clients, from the next start on; never less than before */
    int64_t maximum_bytes; /* maximum size that the replicas' files allow */
    unsigned count;        /* up to MEMBERS_MOST: all present replicas and all assigned ones */
    struct replica replicas[MEMBERS_MOST];
    /* Access to local replicas; NULL: replica_local. Outlives the target. */
    const struct replica_access *local;
    struct target_qos qos;
    enum target_export export;
    bool sealed;  /* no client is admitted, for target_revert() */
    bool dry_run; /* nor is it served: target_start() only evaluates whether it could be */
    /* Number of the volume's last forced recovery; 0: there was none. Generations of before do not
     * count any more, on any replica. */
    int64_t recovery;
    /* Uid of the replica of that recovery, until the volume is known to be served: the next start
     * makes it the volume, once. Requires that no earlier target serves; NULL: none. */
    const char *recover_from;
    int64_t timeout_ms; /* for one response of the daemon; 0: 10 000 */
    int64_t silence_ms; /* after which a remote host is disconnected and evicted; 0: three quarters
                         * of it */
};

enum target_state {
    TARGET_DOWN, /* no daemon */
    TARGET_SERVING,
};

/* Result of the last start's evaluation. */
enum target_finding {
    TARGET_NO_FINDING,
    TARGET_LACKS_QUORUM, /* too few replicas vote */
    TARGET_HAS_QUORUM,
};

enum target_flaw { TARGET_NO_FLAW, TARGET_UNREACHABLE, TARGET_UNUSABLE, TARGET_NOT_REBUILT };

enum target_job {
    TARGET_NO_JOB,
    TARGET_REBUILD,
    TARGET_REBUILT,
    TARGET_REBUILD_FAILED,
    TARGET_SNAPSHOT,
    TARGET_SNAPPED,
    TARGET_SNAPSHOT_FAILED,
    TARGET_REVERT,
    TARGET_REVERTED,
    TARGET_REVERT_FAILED,
    TARGET_REPAIR,
    TARGET_REPAIRED,
    TARGET_REPAIR_FAILED,
};

struct target_replica {
    struct replica replica;
    struct replica_probe probe;
    bool votes;         /* is read and written now */
    struct error why;   /* of a failed voter that is needed; ERROR_NONE: it has not failed */
    int64_t mismatches; /* outvoted reads, and failed ones, since it votes: lower */
    int64_t errors;     /* bounds, as the daemon reports one in each second */
};

struct target_status {
    enum target_state state;
    enum target_finding finding;
    unsigned voters, wanted, needed; /* of `wanted` more than half are needed */
    unsigned failed;                 /* of the voters */
    int64_t size_bytes;              /* of the file, if it has one */
    bool has_file;                   /* RUN/volume exists */
    int64_t failures;                /* reads without a majority: clients received an I/O error */
    int64_t decided_blocks;          /* that differed, and whose content a write log justified */
    /* A voter may lack a write: after an unclean stop, or of an adopted daemon. This lasts until
     * target_scrub() has compared all, from the beginning on, and target_repair() has repaired each
     * outvoted replica; until then no stop is clean, and the next start resynchronizes again.
     * Blocks without a majority are refused meanwhile, as ever. */
    bool resynchronizing;
    unsigned decisions; /* how often all known refused blocks had a majority again */
    unsigned resyncs;   /* how often such a reason was found: each restarts the comparison */
    enum target_job job;
    const char *job_replica; /* its uid, except of snapshots and reverts; of the target */
    struct error job_error;
    int64_t done_bytes, total_bytes; /* of the job */
    unsigned count;
    struct target_replica replicas[MEMBERS_MOST];
};

struct target;

/* ERROR_CONFLICT: another process has it. A running, complete daemon is adopted, any other one
 * ends. */
int target_open(const struct target_settings *settings, struct target **ret, struct error *err);
void target_close(struct target *target);

/* Serves it, at once even after an unclean stop. ERROR_UNAVAILABLE: too few replicas may vote. -1
 * of one that serves: its file is missing. */
int target_start(struct target *target, struct error *err);

/* Is a forced recovery from it possible, as of the last start? 0; -1 and *ret: why not. */
int target_may_recover(struct target *target, const char *replica, enum target_flaw *ret,
                       struct error *err);

/* Receives the daemon's events, probes the replicas' files, evicts failed replicas and advances
 * jobs. To be called periodically; -1: a step was not possible now. */
int target_watch(struct target *target, struct error *err);

void target_status(struct target *target, struct target_status *ret);

/* Becomes readable when the daemon has sent an event for target_watch(); -1: there is no daemon. */
int target_fd(const struct target *target);

/* Cleanly if possible; 0: there is no daemon any more. */
int target_stop(struct target *target, struct error *err);

/* Of a stopped target: removes its run directory with all files. Requires that no other process
 * opens it now. */
void target_clear(struct target *target);

/* The same of a target that is not open, if its daemon has ended. */
void target_sweep(const char *run);

/* As target_start(): clients lose their connection, and find the new size after the next one. */
int target_resize(struct target *target, int64_t size_bytes, struct error *err);

/* The same with the present size, as after an unclean stop where the replicas may differ. */
int target_restart(struct target *target, struct error *err);

int target_set_qos(struct target *target, const struct target_qos *qos, struct error *err);
/* At once if it serves; target_watch() makes the file, or removes it. */
int target_set_export(struct target *target, enum target_export export, struct error *err);

/*
 * Rebuilds a replica that does not vote, whatever it held, and lets it vote; target_watch() ends
 * it. `replaces`: a voting one that leaves when this one joins, if the volume has a spare replica
 * then; where another one has left meanwhile it stays (TARGET_REBUILD_FAILED: it has none, and none
 * has left); NULL: it joins beside the others.
 * `speed`: bytes a second, 0 as fast as possible. A `replica` that is none of the settings' is one
 * from now on, in place of the replaced one.
 */
int target_rebuild(struct target *target, const struct replica *replica, const char *replaces,
                   int64_t speed, struct error *err);
/* Not one that is copied and votes from the next start on. */
int target_rebuild_stop(struct target *target, struct error *err);

/*
 * Moves the volume towards these replicas and no others, one step a call: rebuilds one that does
 * not vote, with a higher wanted number if the volume has all; or, when all of these vote, removes
 * another one. 1: in progress, call again when target_watch() has ended the job; 0: done.
 * ERROR_CONFLICT: one is to leave while the replicas are being resynchronized. Where another number
 * of votes is needed than before (between 1 and 2, 3 and 4, 5 and 6 replicas) the daemon restarts,
 * and clients connect again. An even number tolerates no more losses than one less does.
 *
 * A replica that is to leave is one of the settings' until it has left: without it a majority of
 * the remaining ones could not be determined.
 */
int target_scale(struct target *target, const struct replica *replicas, unsigned count,
                 int64_t speed, struct error *err);
/* Of a replica that has left the quorum, or did not join it: it is none of the target's any more,
 * whatever the others are.  ERROR_CONFLICT: it has a vote, or a job runs. */
int target_release(struct target *target, const char *replica, struct error *err);

/*
 * Makes a snapshot (replication/engine/replica_snapshot.h) of that name, a UUID, beside each voting
 * replica: of the moment in which the copy ends, between two requests. Clients notice nothing but
 * the reads, limited by `speed`; each of their writes until then goes there, too. 1: in progress,
 * target_watch() ends it; 0: it exists. target_rebuild_stop() stops it, too.
 */
int target_snapshot(struct target *target, const char *name, int64_t speed, struct error *err);

/*
 * The volume's content becomes that of the snapshot of that name, which is as large: of a sealed
 * target that serves. target_watch() ends it: TARGET_REVERTED, and all voters have it on their
 * disks. Until then they hold parts of both, and the replicas of a sealed target are not
 * resynchronized before: the caller admits no client before a revert is complete, also after
 * deaths. After TARGET_REVERT_FAILED the target is to be stopped and started again.
 */
int target_revert(struct target *target, const char *name, int64_t speed, struct error *err);

struct target_scrub { /* all zero at the beginning; may be kept and continued at any time */
    int64_t at_bytes; /* compared so far */
    /* Blocks of 4096: outvoted; without a majority; changed by writes during each read. */
    int64_t damaged, undecided, busy;
};

/*
 * Compares the next `bytes` of all voting replicas, on their disks, while the volume is in use, or
 * fewer when clients write so much that the time of one response is over; holes cost nothing, and
 * the frequency of calls is the speed. An outvoted replica has that in its `mismatches`. 1: there
 * is more; 0: that was all.
 */
int target_scrub(struct target *target, struct target_scrub *scrub, int64_t bytes,
                 struct error *err);

/* Overwrites a voting replica with the majority's content; target_watch() ends it: TARGET_REPAIRED.
 * TARGET_REPAIR_FAILED: a block has no majority; the replica is to be rebuilt, unless the replicas
 * are being resynchronized: then the sources of a rebuild differ, too. ERROR_CONFLICT: no other
 * replica votes. */
int target_repair(struct target *target, const char *replica, int64_t speed, struct error *err);

/*
 * Where too few voters lack no write, those that lack some stay, as the blocks that one lacks may
 * be those that another one has. When their pools take writes again they count as all others do
 * after an unclean stop: all are compared, and the outvoted ones repaired.  Not one that has failed
 * a moment ago, as more reports of it may come.  ERROR_UNAVAILABLE: there is no other.
 */
int target_resume(struct target *target, struct error *err);

/* Removes a replica from the quorum, durably. ERROR_CONFLICT: it is needed. */
int target_evict(struct target *target, const char *replica, struct error *err);
