/*
 * The data path of one replicated volume: a qemu-storage-daemon whose quorum node reads and writes
 * all replicas, and which serves clients at an NBD socket.  The daemon moves the bytes; this starts
 * it, watches it, leaves out what fails, rebuilds and stops it.
 *
 * Who opens a target decides about the volume until it closes it, and nobody else meanwhile; the
 * daemon serves on when the target is closed or its owner dies, and is found again.  Each call may
 * come twice, and after a death anywhere in the first.  Never are there two daemons that write to
 * a replica: QEMU locks the files, and who starts one looks for these locks.
 *
 * A target belongs to one thread at a time.  Calls block at most a few times `timeout_ms`, and as
 * long as calls to replicas of this host do.
 */
#pragma once

#include "replication/engine/replica.h"

#define TARGET_EXPORT "volume"
#define TARGET_FILE   "volume" /* in its run directory */

enum target_export {
    TARGET_EXPORT_NBD,
    /* And as a regular file, RUN/volume, which is as long as the volume and grows with it.  What
     * has it open notices nothing when the daemon below begins anew, but that it waits. */
    TARGET_EXPORT_FILE,
};

struct target_qos { /* 0: no limit */
    int64_t iops, bytes_per_second;
};

struct target_settings {
    const char *run;     /* absolute path of a directory of its own; clients' socket is RUN/nbd */
    const char *program; /* NULL: qemu-storage-daemon */
    const char *volume;
    /* Of two targets of a volume only the one with the higher epoch has replicas to write to
     * (replication/engine/replica_access.h); 0: there is never another. */
    int64_t epoch;
    /* A directory with ca-cert.pem, client-cert.pem and client-key.pem, for replicas of other
     * hosts; NULL: those are reached without TLS. */
    const char *tls_directory;
    int64_t size_bytes;    /* what clients see, from the next start on; never less than it was */
    int64_t maximum_bytes; /* how far the replicas' files let it grow */
    unsigned count;        /* its replicas: all that it has, and those that it is to have */
    struct replica replicas[REPLICAS_MOST];
    /* Of replicas of this host, as replica_local, which NULL is; outlives the target. */
    const struct replica_access *local;
    struct target_qos qos;
    enum target_export export;
    bool sealed;  /* no client is let in, for target_revert() */
    bool dry_run; /* nor is it served: target_start() finds out whether it could be */
    /* The last word of an operator about which replica is the latest, of all words of the volume;
     * 0: there was none.  What replicas have of before counts no more, wherever they were. */
    int64_t recovery;
    /* Its uid, until it is known to be served: the next start makes it the volume, once.  Only for
     * who knows that no target of before serves; NULL: none. */
    const char *recover_from;
    int64_t timeout_ms; /* for one answer of the daemon; 0: 10 000 */
    int64_t silence_ms; /* of another host, which is then left out; 0: three quarters of it */
};

enum target_state {
    TARGET_DOWN, /* no daemon */
    TARGET_SERVING,
};

/* What the last start has found. */
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
    struct error why;   /* one that votes has failed, and is needed; ERROR_NONE: it has not */
    int64_t mismatches; /* reads in which it was outvoted, and that failed, since it votes: at */
    int64_t errors;     /* least so many, the daemon tells one in each second */
};

struct target_status {
    enum target_state state;
    enum target_finding finding;
    unsigned voters, wanted, needed; /* of `wanted` more than half are needed */
    unsigned failed;                 /* of the voters */
    int64_t size_bytes;              /* of the file, if it has one */
    bool has_file;                   /* RUN/volume is there */
    int64_t failures;                /* reads without a majority: clients heard an I/O error */
    int64_t decided_blocks;          /* that differed, and whose content a write log justified */
    /* A voter may lack a write: behind an unclean stop, or of a daemon that was found again.  It is
     * so until target_scrub() has compared all, from the beginning on, and target_repair() has
     * repaired what was outvoted; until then no stop is clean, and the next start resynchronizes
     * again.  Blocks without a majority are refused meanwhile, as ever. */
    bool resynchronizing;
    unsigned
        decisions; /* how often all blocks that were refused, and are known, had a majority again */
    unsigned resyncs; /* how often such a reason was found: with each, comparing begins anew */
    enum target_job job;
    const char *job_replica; /* its uid, but of snapshots and reverts; of the target */
    struct error job_error;
    int64_t done_bytes, total_bytes; /* of the job */
    unsigned count;
    struct target_replica replicas[REPLICAS_MOST];
};

struct target;

/* ERROR_CONFLICT: another has it. A daemon that runs and is whole is found again, any other ends.
 */
int target_open(const struct target_settings *settings, struct target **ret, struct error *err);
void target_close(struct target *target);

/* Makes the files of all replicas, with the first generation: of a volume that never was. */
int target_create(struct target *target, struct error *err);

/* Serves it, at once even behind an unclean stop. ERROR_UNAVAILABLE: too few replicas may vote.
 * -1 of one that serves: its file is not there. */
int target_start(struct target *target, struct error *err);

/* Could it be believed, as the last start has seen it?  0; -1 and *ret: why not. */
int target_may_recover(struct target *target, const char *replica, enum target_flaw *ret,
                       struct error *err);

/* Hears what the daemon tells, looks at the replicas' files, leaves out those that failed and takes
 * a rebuild further.  To be called again and again; -1: something could not be done now. */
int target_watch(struct target *target, struct error *err);

void target_status(struct target *target, struct target_status *ret);

/* Becomes readable when the daemon tells something that target_watch() should hear; -1: there is
 * none. */
int target_fd(const struct target *target);

/* In good order if it can be; 0: there is no daemon any more. */
int target_stop(struct target *target, struct error *err);

/* Of a target that is stopped: nothing is left in its run directory, nor that.  Only for who knows
 * that nobody else opens it now. */
void target_clear(struct target *target);

/* The same of one that nobody has open, if its daemon has ended. */
void target_sweep(const char *run);

/* As target_start(): clients lose their connection, and find the new size behind the next. */
int target_resize(struct target *target, int64_t size_bytes, struct error *err);

int target_set_qos(struct target *target, const struct target_qos *qos, struct error *err);
/* At once if it serves; target_watch() sees to it that there is a file, or none. */
int target_set_export(struct target *target, enum target_export export, struct error *err);

/*
 * Fills a replica that does not vote, whatever it held, and lets it vote; target_watch() ends it.
 * `replaces`: one that votes and is to go out when this one comes in; NULL: it fills an empty
 * place.  `speed`: bytes a second, 0 as fast as it can.  A `replica` that is none of the settings'
 * is one from now on, in place of the one that it replaces.
 */
int target_rebuild(struct target *target, const struct replica *replica, const char *replaces,
                   int64_t speed, struct error *err);
/* Not one that has been copied and votes from the next start on. */
int target_rebuild_stop(struct target *target, struct error *err);

/*
 * The volume is to have these replicas and no others, as many as they are.  Does the next step:
 * fills one that does not vote, with one more wanted if it has its number already; or, when all of
 * these vote, takes one away.  1: under way, come again when target_watch() has ended the job; 0:
 * it is so. ERROR_CONFLICT: one is to go while the replicas are being resynchronized.  Where more
 * or fewer votes are needed than before (between 1 and 2, 3 and 4, 5 and 6 replicas) the daemon
 * begins anew, and clients connect again. An even number bears the loss of no more than one less
 * does.
 *
 * A replica that is to go is one of the settings' until it has gone: without it nobody knows
 * whether those that are left are a majority.
 */
int target_scale(struct target *target, const struct replica *replicas, unsigned count,
                 int64_t speed, struct error *err);

/*
 * Makes a snapshot (replication/engine/replica_snapshot.h) of that name, a uuid, beside each
 * replica that votes: of the moment in which it ends, between two requests.  Clients notice nothing
 * but that it reads, as fast as `speed` lets it; each of their writes until then goes there, too.
 * 1: under way, target_watch() ends it; 0: it is there.  target_rebuild_stop() stops it, too.
 */
int target_snapshot(struct target *target, const char *name, int64_t speed, struct error *err);

/*
 * All that the volume holds becomes what the snapshot of that name does, which is as large: of a
 * target that is sealed and serves.  target_watch() ends it: TARGET_REVERTED, and all that vote
 * have it on their disks.  Until then they hold parts of both, and of a target that is sealed they
 * are not made equal before: whoever begins it lets no client in before one has come to its end,
 * whoever dies meanwhile.  Behind TARGET_REVERT_FAILED it is to be stopped and started anew.
 */
int target_revert(struct target *target, const char *name, int64_t speed, struct error *err);

struct target_scrub { /* all zero to begin with; whoever keeps it may go on at any time */
    int64_t at_bytes; /* compared so far */
    /* Blocks of 4096: outvoted; without a majority; written to whenever they were looked at. */
    int64_t damaged, undecided, busy;
};

/*
 * Compares the next `bytes` of all replicas that vote, on their disks, while the volume is in use,
 * or fewer when clients write so much that the time of one answer is over;
 * holes cost nothing, and how often it is called is how fast it goes.  Who is outvoted has it in
 * its `mismatches`.  1: there is more; 0: that was all.
 */
int target_scrub(struct target *target, struct target_scrub *scrub, int64_t bytes,
                 struct error *err);

/* Writes what the majority holds over a replica that votes; target_watch() ends it:
 * TARGET_REPAIRED.  TARGET_REPAIR_FAILED: too few agree about a block; it is to be rebuilt, unless
 * the replicas are being resynchronized: then those it would be rebuilt from differ, too.
 * ERROR_CONFLICT: nobody votes about what is read. */
int target_repair(struct target *target, const char *replica, int64_t speed, struct error *err);

/* A replica votes no more, durably, before this returns. ERROR_CONFLICT: it is needed. */
int target_evict(struct target *target, const char *replica, struct error *err);
