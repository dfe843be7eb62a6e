/*
 * The door of a process to the database: every transaction is a place to pause.
 */
#include "tests/sim/nodes.h"

static struct node *node_of_door(struct db *db) {
    return (struct node *)(void *)((char *)db - offsetof(struct node, door));
}

static int died(struct error *err) {
    return error_set(err, ERROR_UNAVAILABLE, "the process died");
}

static int door_transaction(struct db *db, db_body *body, void *arg, bool unsynced,
                            struct error *err) {
    struct sim *sim = node_of_door(db)->sim;
    struct db *real = sim->world->db;
    int result;

    if (!pause_here(sim, "before a transaction"))
        return died(err);
    if (sim->current && sim->temper.commit_faults && chance(sim, 2))
        return error_set(err, ERROR_UNAVAILABLE, "the disk is full");
    result = real->engine->transaction(real, body, arg, unsynced, err);
    if (result >= 0 && sim->current)
        model_committed(sim, sim->current);
    if (sim->current && sim->temper.commit_faults && chance(sim, 1))
        return error_set(err, ERROR_UNAVAILABLE, "nobody knows whether it was committed");
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

static void door_tell(struct db *db, enum db_event event) {
    (void)db, (void)event;
}

static struct db_engine door_engine;

void door_open(struct node *node) {
    door_engine = *node->sim->world->db->engine;
    door_engine.transaction = door_transaction;
    door_engine.read = door_read;
    door_engine.submit = door_submit;
    door_engine.on_event = door_on_event;
    door_engine.tell = door_tell;
    node->door = *node->sim->world->db;
    node->door.engine = &door_engine;
}
