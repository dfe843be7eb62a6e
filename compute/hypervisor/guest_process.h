/*
 * The kernel's view of a guest's process on this host, without a request to the guest.
 */
#pragma once

#include <stdbool.h>

/* Is the process stopped, or blocked in the kernel by unresponsive storage?  A request to the guest
 * would block then.  False also when the process is not visible. */
bool guest_process_is_stopped(const char *uuid);
