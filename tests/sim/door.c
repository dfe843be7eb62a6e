/*
 * The door of a process to the database: every transaction is a place to pause.  Behind it is a
 * disk, which a loss of power leaves as it was after some commit: the last flushed one, or one of
 * the unsynced ones that have come since.  On PostgreSQL every commit is flushed.
 */
#include "tests/lib/postgresql.h"
#include "tests/sim/nodes.h"

#include <stdlib.h>

/* ---- the disk ---- */

static struct db *flushed; /* the state on the disk while unsynced commits are not */

static void disk_keep(struct sim *sim) {
    const struct db_settings settings = { .url = "sqlite://", .inline_writes = true };
    struct error err;

    if ((!flushed && db_open(&settings, &flushed, &err) < 0) ||
        db_reset_from(flushed, sim->world->db, &err) < 0) {
        wrong(sim, "a copy of the database: %s", err.message);
        abort();
    }
}

/* Before an unsynced commit.  Unflushed data may reach the disk nevertheless. */
static void disk_lags(struct sim *sim) {
    if (sim->temper.power && !sim->calm && !postgresql_given() &&
        (!sim->disk_lags || chance(sim, 30))) {
        disk_keep(sim);
        sim->disk_lags = true;
    }
}

void disk_flush(struct sim *sim) {
    sim->disk_lags = false;
}

void disk_lose(struct sim *sim) {
    struct error err;

    if (sim->disk_lags && db_reset_from(sim->world->db, flushed, &err) < 0) {
        wrong(sim, "the database after a loss of power: %s", err.message);
        abort();
    }
    sim->counts[COUNT_LOST] += sim->disk_lags;
    sim->disk_lags = false;
    sim->disk = DISK_GOOD;
}

static void disk_becomes(struct sim *sim, enum sim_disk disk) {
    static const char *const texts[] = { "the log is good again", "a flush fails",
                                         "a part of the log is lost" };

    sim->disk = disk;
    note(sim, "%s", texts[disk]);
}

/* A flush fails: nothing is committed any more until the log is good again, or found to be lost.  A
 * process that starts makes it good. */
static bool disk_takes(struct sim *sim, bool unsynced) {
    if (sim->disk == DISK_DOUBTFUL && (!sim->current || sim->calm))
        disk_becomes(sim, DISK_GOOD);
    else if (sim->disk == DISK_DOUBTFUL && chance(sim, 30))
        disk_becomes(sim, chance(sim, sim->disk_lags ? 50 : 10) ? DISK_LOST : DISK_GOOD);
    else if (sim->disk == DISK_GOOD && sim->current && !unsynced && sim->temper.power &&
             chance(sim, sim->disk_lags ? 6 : 1))
        disk_becomes(sim, DISK_DOUBTFUL);
    return sim->disk == DISK_GOOD;
}

/* A commit of nothing flushes nothing. */
static int64_t changes(struct sim *sim) {
    return sim->disk_lags ? world_count(sim->world, "SELECT total_changes()") : 0;
}

static int commit(struct sim *sim, db_body *body, void *arg, bool unsynced, struct error *err) {
    struct db *db = sim->world->db;
    int64_t before = changes(sim);
    int result;

    if (unsynced)
        disk_lags(sim);
    result =
        unsynced ? db_transaction_unsynced(db, body, arg, err) : db_transaction(db, body, arg, err);
    if (result >= 0 && !unsynced && sim->disk_lags && changes(sim) > before)
        disk_flush(sim);
    return result;
}

/* ---- the door ---- */

static struct node *node_of_door(struct db *db) {
    return (struct node *)(void *)((char *)db - offsetof(struct node, door));
}

static int died(struct error *err) {
    return error_set(err, ERROR_UNAVAILABLE, "the process died");
}

static int door_transaction(struct db *db, db_body *body, void *arg, bool unsynced,
                            struct error *err) {
    struct sim *sim = node_of_door(db)->sim;
    int result;

    if (!pause_here(sim, "before a transaction"))
        return died(err);
    if (!disk_takes(sim, unsynced))
        return error_set(err, ERROR_UNAVAILABLE, "the disk fails");
    if (sim->current && sim->temper.commit_faults && chance(sim, 2))
        return error_set(err, ERROR_UNAVAILABLE, "the disk is full");
    result = commit(sim, body, arg, unsynced, err);
    if (result >= 0 && sim->current)
        model_committed(sim, sim->current);
    if (sim->current && sim->temper.commit_faults && chance(sim, 1))
        return error_set(err, ERROR_UNAVAILABLE, "it is unknown whether it was committed");
    return result;
}

static int door_read(struct db *db, db_body *body, void *arg, struct error *err) {
    struct sim *sim = node_of_door(db)->sim;
    struct db *real = sim->world->db;
    int result;

    if (!pause_here(sim, "before a read"))
        return died(err);
    result = real->engine->read(real, body, arg, err);
    if (result >= 0 && sim->current)
        model_read(sim, sim->current);
    return result;
}

static void door_submit(struct db *db, struct db_job *job) {
    struct error err = { .kind = ERROR_NONE };
    int result = door_transaction(db, job->body, job->arg, job->unsynced, &err);

    job->done(job, result, &err);
}

static void door_on_event(struct db *db, enum db_event event, void (*hook)(void *arg), void *arg) {
    (void)db, (void)event, (void)hook, (void)arg;
}

static void door_notify(struct db *db, enum db_event event) {
    (void)db, (void)event;
}

static struct db_engine door_engine;

void door_open(struct node *node) {
    door_engine = *node->sim->world->db->engine;
    door_engine.read = door_read;
    door_engine.submit = door_submit;
    door_engine.on_event = door_on_event;
    door_engine.tell = door_notify;
    node->door = *node->sim->world->db;
    node->door.engine = &door_engine;
}
