/*
 * A header of ours beside "os-complete": so many volumes of the project may be attached to the
 * attachment's host without an instance, this one among them.  When there are as many others the
 * answer is 413, and nothing has changed.  Another volume service does not know it, and completes.
 */
#pragma once

#define ROOM_HEADER "X-Scoria-Room"
