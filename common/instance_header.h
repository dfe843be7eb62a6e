/*
 * Request header of a storage agent: the UUID of its instance (replication/node/instance.h).  Of
 * two agents with one node name the volume service refuses (409) the later one while the pools of
 * the first are up.  Agents of earlier versions do not send it.
 */
#pragma once

#define INSTANCE_HEADER "X-Scoria-Instance"
