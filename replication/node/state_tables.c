#include "replication/node/state_tables.h"

#include "replication/engine/job_states.h"
#include "replication/engine/member_states.h"
#include "replication/engine/target_phases.h"
#include "replication/node/controller_states.h"
#include "replication/node/forced_recovery.h"
#include "replication/node/pool_states.h"

const struct state_table *const node_tables[] = {
    &pool_states,        &controller_states, &replica_work_states,
    &node_revert_states, &forced_states,     &target_phases,
    &job_states,         &member_states,     NULL,
};
