/*
 * Several targets of one volume, each at a host of its own and in an epoch of its own, which do
 * their steps in any order: one may be stopped between any two of them, and continue long after the
 * volume was given to another. Replicas are unreachable now and then, states are written one by
 * one, a write comes to its replicas one by one, and targets die anywhere. A write is a number that
 * replaces the one before. A serving target has each answered write; and a write that a target
 * answers after the start of a higher epoch is one that the higher epoch has started with.
 */
#include "replication/engine/quorum.h"

#include "tests/lib/check_main.h"

#include <string.h>

#define VOLUME     "00000000-0000-4000-8000-00000000f000"
#define NO_REPLICA (-1)

static const char *const uids[] = {
    "00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b",
    "00000000-0000-4000-8000-00000000000c", "00000000-0000-4000-8000-00000000000d",
    "00000000-0000-4000-8000-00000000000e",
};

enum { MOST = 5, HOSTS = 3, STEPS = 600 };

struct copy {
    struct replica_state state;
    unsigned last;  /* the write that it has */
    unsigned epoch; /* the highest that opened it */
    int session;    /* the host whose target may write to it */
};

enum phase { DOWN, OPENING, CHANGING, SERVING, WRITING };

/* The target of one host. */
struct writer {
    unsigned epoch;
    enum phase phase;
    unsigned at; /* the replica that its next step is about */
    struct generation before, current;
    enum replica_mark mark;
    bool votes[MOST], missed[MOST], done[MOST];
    unsigned write, having;
    int newcomer; /* joins with the generation that is written */
    bool stops;
};

struct world {
    unsigned wanted, epoch, issued, answered;
    unsigned started, start; /* the highest epoch that serves, and the write that it started with */
    struct copy copies[MOST];
    struct writer writers[HOSTS];
    bool cut[HOSTS][MOST];
};

static unsigned seed, served, took_over, fenced;

static unsigned draw(unsigned most) {
    seed = seed * 1103515245 + 12345;
    return (seed >> 16) % most;
}

/* ---- replicas ---- */

/* Replica i is in a pool of host i, if there is one: its target there opens the file itself. */
static bool is_local(unsigned host, unsigned i) {
    return host == i;
}

static bool reaches(const struct world *world, unsigned host, unsigned i) {
    return is_local(host, i) || !world->cut[host][i];
}

static bool has_session(const struct world *world, unsigned host, unsigned i) {
    return world->copies[i].session == (int)host;
}

enum outcome { DONE, FAILED, OVER };

/* Another's session ends; but a file that the local target has open is held until it stops. */
static enum outcome open_copy(struct world *world, unsigned host, unsigned i) {
    struct writer *writer = &world->writers[host];
    struct copy *copy = &world->copies[i];

    if (!reaches(world, host, i))
        return FAILED;
    if (copy->epoch > writer->epoch)
        return OVER;
    copy->epoch = writer->epoch;
    if (copy->session >= 0 && copy->session != (int)host && is_local((unsigned)copy->session, i))
        return OVER;
    copy->session = (int)host;
    return DONE;
}

static enum outcome write_state(struct world *world, unsigned host, unsigned i,
                                const struct generation *generation, enum replica_mark mark) {
    const struct writer *writer = &world->writers[host];
    struct copy *copy = &world->copies[i];

    if (!reaches(world, host, i) || draw(12) == 0)
        return FAILED;
    if (copy->epoch > writer->epoch) {
        fenced++;
        return FAILED;
    }
    if (copy->state.generation.id.number > generation->id.number ||
        (copy->state.generation.id.number == generation->id.number &&
         !generation_same(&copy->state.generation.id, &generation->id)))
        return FAILED;
    copy->state.generation = *generation;
    copy->state.mark = mark;
    return draw(12) == 0 ? FAILED : DONE; /* or it is done, and the response is lost */
}

/* ---- a target ---- */

/* Its connections end with its daemon. */
static void die(struct world *world, unsigned host) {
    for (unsigned i = 0; i < world->wanted; i++) {
        if (has_session(world, host, i))
            world->copies[i].session = NO_REPLICA;
    }
    world->writers[host].phase = DOWN;
}

/* A write in flight is read by vote, and resynchronized before anything else happens. */
static bool resynchronize(struct world *world, unsigned host, const struct quorum_plan *plan) {
    unsigned most = 0, winner = 0;

    for (unsigned i = 0; i < world->wanted; i++) {
        unsigned votes = 0;

        for (unsigned j = 0; plan->votes[i] && j < world->wanted; j++)
            votes += plan->votes[j] && world->copies[j].last == world->copies[i].last;
        if (votes > most) {
            most = votes;
            winner = world->copies[i].last;
        }
    }
    if (most < plan->needed)
        return false;
    ck_assert_msg(plan->verdict == QUORUM_RESYNC || most == plan->voters, "not equal");
    for (unsigned i = 0; i < world->wanted; i++) {
        if (plan->votes[i] && !has_session(world, host, i))
            return false;
    }
    for (unsigned i = 0; i < world->wanted; i++) {
        if (plan->votes[i])
            world->copies[i].last = winner;
    }
    world->writers[host].write = winner;
    return true;
}

static void make_generation(struct world *world, struct writer *writer) {
    generation_next(&writer->current, &clock_system, &writer->current);
    for (unsigned i = 0; i < world->wanted; i++) {
        writer->done[i] = false;
        if (writer->votes[i])
            generation_add(&writer->current, uids[i]);
    }
    writer->at = 0;
    writer->phase = CHANGING;
}

/* As generation_change(); false: too few would be left. */
static bool begin_change(struct world *world, struct writer *writer) {
    const struct generation tried = writer->current;

    make_generation(world, writer);
    if (generation_follows(&writer->before, &writer->current) &&
        generation_follows(&tried, &writer->current))
        return true;
    writer->current = tried;
    return false;
}

static void plan(struct world *world, unsigned host) {
    struct writer *writer = &world->writers[host];
    const struct replica_state *states[MOST];
    struct quorum_plan plan;

    for (unsigned i = 0; i < world->wanted; i++)
        states[i] =
            has_session(world, host, i) && reaches(world, host, i) ? &world->copies[i].state : NULL;
    quorum_plan(VOLUME, states, world->wanted, 0, &plan);
    if ((plan.verdict != QUORUM_SERVES && plan.verdict != QUORUM_RESYNC) ||
        !resynchronize(world, host, &plan)) {
        die(world, host);
        return;
    }
    writer->before = writer->current = plan.current;
    writer->mark = REPLICA_DIRTY;
    writer->newcomer = NO_REPLICA;
    for (unsigned i = 0; i < world->wanted; i++) {
        writer->votes[i] = plan.votes[i];
        writer->missed[i] = false;
    }
    if (!begin_change(world, writer))
        die(world, host);
}

static void step_opening(struct world *world, unsigned host) {
    struct writer *writer = &world->writers[host];

    if (writer->at == world->wanted) {
        plan(world, host);
        return;
    }
    if (open_copy(world, host, writer->at++) == OVER)
        die(world, host);
}

/* From here on it answers: it has each answered write. */
static void begin_serving(struct world *world, struct writer *writer) {
    writer->phase = SERVING;
    writer->before = writer->current;
    writer->newcomer = NO_REPLICA;
    served++;
    if (writer->epoch <= world->started)
        return;
    took_over += world->started > 0;
    ck_assert_msg(writer->write >= world->answered, "seed %u: %u is served, %u was answered", seed,
                  writer->write, world->answered);
    world->started = writer->epoch;
    world->start = writer->write;
}

/* One state; a new member is the last. After all of them: another generation without those that did
 * not take it, or it is served. */
static void step_changing(struct world *world, unsigned host) {
    struct writer *writer = &world->writers[host];
    bool failed = false;

    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < world->wanted; i++) {
            if (!generation_has(&writer->current, uids[i]) || writer->done[i] ||
                (writer->newcomer == (int)i) != (pass == 1))
                continue;
            writer->done[i] = true;
            if (write_state(world, host, i, &writer->current, writer->mark) != DONE)
                writer->votes[i] = false;
            return;
        }
    }
    for (unsigned i = 0; i < world->wanted; i++)
        failed |= generation_has(&writer->current, uids[i]) && !writer->votes[i];
    if (!failed)
        begin_serving(world, writer);
    else if (!begin_change(world, writer))
        die(world, host);
}

/* One replica of a write. */
static void step_writing(struct world *world, unsigned host) {
    struct writer *writer = &world->writers[host];
    unsigned i;

    do {
        i = draw(world->wanted);
    } while (writer->done[i]);
    writer->done[i] = true;
    if (writer->votes[i] && has_session(world, host, i) && reaches(world, host, i)) {
        world->copies[i].last = writer->write;
        writer->having++;
    } else if (writer->votes[i]) {
        writer->missed[i] = true;
    }
    for (i = 0; i < world->wanted; i++) {
        if (!writer->done[i])
            return;
    }
    writer->phase = SERVING;
    if (writer->having < generation_needed(&writer->current))
        return;
    ck_assert_msg(writer->epoch >= world->started || writer->write <= world->start,
                  "seed %u: %u is answered in epoch %u, and epoch %u has begun with %u", seed,
                  writer->write, writer->epoch, world->started, world->start);
    if (writer->write > world->answered)
        world->answered = writer->write;
}

static void begin_write(struct world *world, struct writer *writer) {
    writer->write = ++world->issued;
    writer->having = 0;
    memset(writer->done, 0, sizeof(writer->done));
    writer->phase = WRITING;
}

/* A read returns the content of an equal majority. */
static bool read_value(const struct world *world, unsigned host, unsigned *ret) {
    const struct writer *writer = &world->writers[host];

    for (unsigned i = 0; i < world->wanted; i++) {
        unsigned votes = 0;

        for (unsigned j = 0; j < world->wanted; j++)
            votes += writer->votes[j] && has_session(world, host, j) && reaches(world, host, j) &&
                     world->copies[j].last == world->copies[i].last;
        *ret = world->copies[i].last;
        if (votes >= generation_needed(&writer->current))
            return true;
    }
    return false;
}

static void rebuild(struct world *world, unsigned host, unsigned i) {
    struct writer *writer = &world->writers[host];
    unsigned value;

    if (!read_value(world, host, &value) || open_copy(world, host, i) != DONE)
        return;
    world->copies[i].state.mark = REPLICA_EMPTY;
    world->copies[i].last = value;
    writer->missed[i] = false;
    writer->votes[i] = true;
    writer->newcomer = (int)i;
    if (!begin_change(world, writer))
        die(world, host);
}

/* Those that missed a write are evicted, one by one, unless they are needed. */
static bool evict(struct world *world, struct writer *writer) {
    struct generation current = writer->current;

    for (unsigned i = 0; i < world->wanted; i++) {
        if (!writer->missed[i] || !quorum_spares(&current, uids[i]))
            continue;
        writer->missed[i] = false;
        writer->votes[i] = false;
        return begin_change(world, writer);
    }
    return true;
}

static void step_serving(struct world *world, unsigned host) {
    struct writer *writer = &world->writers[host];
    unsigned i = draw(world->wanted);

    switch (draw(6)) {
    case 0:
        if (!evict(world, writer))
            die(world, host);
        break;
    case 1:
        if (!writer->votes[i])
            rebuild(world, host, i);
        break;
    case 2:
        if (world->copies[i].epoch > writer->epoch && reaches(world, host, i))
            die(world, host);
        break;
    default:
        begin_write(world, writer);
    }
}

static void begin_start(struct world *world, unsigned host) {
    struct writer *writer = &world->writers[host];

    if (writer->epoch == 0)
        return;
    writer->at = 0;
    writer->phase = OPENING;
}

static void step(struct world *world, unsigned host) {
    switch (world->writers[host].phase) {
    case DOWN:
        begin_start(world, host);
        break;
    case OPENING:
        step_opening(world, host);
        break;
    case CHANGING:
        step_changing(world, host);
        break;
    case SERVING:
        step_serving(world, host);
        break;
    case WRITING:
        step_writing(world, host);
        break;
    }
}

/* ---- the world ---- */

/* The volume is given to a host; the target there restarts. The others are not involved. */
static void give(struct world *world, unsigned host) {
    die(world, host);
    world->writers[host].epoch = ++world->epoch;
}

static void run_world(unsigned wanted) {
    struct world world = { .wanted = wanted };
    struct generation first;
    unsigned host = 0;

    generation_first(VOLUME, 0, uids, wanted, &first);
    for (unsigned i = 0; i < wanted; i++) {
        struct copy *copy = &world.copies[i];

        *copy = (struct copy){ .session = NO_REPLICA,
                               .state = { .mark = REPLICA_CLEAN, .generation = first } };
        strcpy(copy->state.volume, VOLUME);
        strcpy(copy->state.replica, uids[i]);
    }
    give(&world, 0);
    for (unsigned at = 0; at < STEPS; at++) {
        if (draw(6) == 0)
            host = draw(HOSTS);
        if (draw(40) == 0)
            give(&world, draw(HOSTS));
        if (draw(60) == 0)
            die(&world, draw(HOSTS));
        if (draw(10) == 0)
            world.cut[draw(HOSTS)][draw(wanted)] = draw(3) == 0;
        step(&world, host);
    }
}

START_TEST(no_write_is_answered_that_the_next_epoch_does_not_have) {
    for (unsigned run = 0; run < 4000; run += WALK_STEP) {
        seed = run;
        run_world(1 + run % 5);
    }
    ck_assert_uint_gt(served, 100);
    ck_assert_uint_gt(took_over, 100);
    ck_assert_uint_gt(fenced, 100);
    printf("%u served, %u in a higher epoch, %u states refused\n", served, took_over, fenced);
}
END_TEST

CHECK_MAIN("quorum epochs", no_write_is_answered_that_the_next_epoch_does_not_have)
