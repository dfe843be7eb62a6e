#include "replication/engine/quorum.h"

#include "common/assert.h"

#include <string.h>

typedef const struct replica_state *const *states_t;

/* Each replica with the generation, or its base, votes for it once. */
static unsigned count_votes(states_t states, unsigned count, const struct generation *generation,
                            bool ret[MEMBERS_MOST]) {
    unsigned voters = 0;

    assert(count <= MEMBERS_MOST);
    for (unsigned i = 0; i < count; i++) {
        const struct generation_id *id = states[i] ? &states[i]->generation.id : NULL;

        ret[i] = id && generation_has(generation, states[i]->replica) &&
                 (generation_same(id, &generation->id) || generation_same(id, &generation->base));
        for (unsigned j = 0; j < i && ret[i]; j++)
            ret[i] = !states[j] || strcmp(states[j]->replica, states[i]->replica) != 0;
        voters += ret[i];
    }
    assert(voters <= generation->count); /* each member votes once */
    return voters;
}

/*
 * A replica with only the base of the generation may have voted for another one made from it,
 * together with unreachable ones, unless the present voters would be a majority of the base.
 */
static bool has_base(states_t states, unsigned count, const bool *votes,
                     const struct generation *generation) {
    for (unsigned i = 0; i < count; i++) {
        const struct generation *base = votes[i] ? &states[i]->generation : NULL;
        unsigned found = 0;

        if (!base || generation_same(&base->id, &generation->id))
            continue;
        for (unsigned j = 0; j < count; j++)
            found += votes[j] && generation_has(base, states[j]->replica);
        if (found < generation_needed(base))
            return false;
    }
    return true;
}

/* Of the highest generations the one with a majority; without one, the first is shown. */
static void choose(states_t states, unsigned count, struct quorum_plan *plan) {
    int64_t number = 0;

    for (unsigned i = 0; i < count; i++) {
        if (states[i] && states[i]->generation.id.number > number)
            number = states[i]->generation.id.number;
    }
    for (unsigned i = 0; i < count && plan->verdict != QUORUM_AMBIGUOUS; i++) {
        const struct generation *one = states[i] ? &states[i]->generation : NULL;
        bool votes[MEMBERS_MOST] = { false };
        unsigned voters;
        bool counts;

        if (!one || one->id.number != number ||
            (plan->needed > 0 && generation_same(&one->id, &plan->current.id)))
            continue;
        voters = count_votes(states, count, one, votes);
        counts = voters >= generation_needed(one) && has_base(states, count, votes, one);
        if (plan->verdict == QUORUM_SERVES && counts) {
            plan->verdict = QUORUM_AMBIGUOUS;
        } else if (plan->needed == 0 || counts) {
            plan->current = *one;
            plan->voters = voters;
            plan->needed = generation_needed(one);
            memcpy(plan->votes, votes, sizeof(votes));
            if (counts)
                plan->verdict = QUORUM_SERVES;
        }
    }
}

void quorum_plan(const char *volume, const struct replica_state *const *states, unsigned count,
                 int64_t floor, struct quorum_plan *ret) {
    const struct replica_state *usable[MEMBERS_MOST] = { NULL };

    assert(count <= MEMBERS_MOST && floor >= 0);
    for (unsigned i = 0; i < count; i++) {
        const struct replica_state *state = states[i];

        if (state && state->mark != REPLICA_EMPTY && state->generation.id.number > 0 &&
            state->generation.id.number >= floor && strcmp(state->volume, volume) == 0)
            usable[i] = state;
    }
    *ret = (struct quorum_plan){ .verdict = QUORUM_NONE };
    choose(usable, count, ret);
    assert(ret->verdict == QUORUM_NONE || ret->current.id.number >= floor);
    assert(ret->voters <= count);
    if (ret->verdict != QUORUM_SERVES)
        return;
    assert(ret->needed > 0 && ret->voters >= ret->needed);
    /* All of them have the generation itself, and their last writer stopped cleanly. */
    ret->stopped_clean = true;
    for (unsigned i = 0; i < count; i++) {
        if (ret->votes[i])
            ret->stopped_clean &= usable[i]->mark == REPLICA_CLEAN &&
                                  generation_same(&usable[i]->generation.id, &ret->current.id);
    }
    if (!ret->stopped_clean && ret->voters > 1)
        ret->verdict = QUORUM_RESYNC;
}

bool quorum_spares(const struct generation *current, const char *replica) {
    return generation_has(current, replica) && current->count > generation_needed(current);
}
