/*
 * Memory that the process could give back to the system.
 *
 * The pages of the program's and its libraries' files that this process has mapped: most of them
 * served the start alone, as tables of symbols and relocations do.
 */
#pragma once

/* Unmaps those that it has not changed; the next use maps a page again, from the kernel's cache.  A
 * segment with changed ones, such as those of a debugger's breakpoints, stays.  Thread-safe. */
void resident_release(void);

/* Returns freed memory of the heap to the system when 32 MiB and more of it are resident: after a
 * peak the heaps of threads keep all of it.  Thread-safe. */
void resident_trim(void);
