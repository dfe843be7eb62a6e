/*
 * What the kernel says of a guest's process on this host, without a question to the guest.
 */
#pragma once

#include <stdbool.h>

/* Is it stopped, or held in the kernel by storage that does not answer?  Whoever asks it something
 * then waits.  False also when no such process can be seen from here. */
bool guest_process_stands_still(const char *uuid);
