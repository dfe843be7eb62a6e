/*
 * A header of ours beside the calls of a storage agent: the UUID of its instance
 * (replication/node/instance.h).  Of two agents with one node name the volume service refuses (409)
 * the one that came later, for as long as the pools of the other one are up.  An agent of an
 * earlier version does not send it.
 */
#pragma once

#define INSTANCE_HEADER "X-Scoria-Instance"
