/*
 * A hypervisor whose calls end in time: one guest that does not answer costs its own disks only.
 *
 * libvirt waits for a guest without a bound and a call cannot be taken back.  So each runs in a
 * thread of its own; who waits for it gives up after a while with ERROR_UNAVAILABLE, and so does
 * at once whoever asks the same guest before it has returned.  It may still take effect.  There is
 * a most for such calls: libvirtd has a bounded number of threads (20 by default), and each may
 * hold one.  Trims, which may take as long as they like, are waited for by nobody: their end is
 * fetched.  Thread-safe.
 */
#pragma once

#include "compute/hypervisor.h"

/* Takes `inner` over.  free() does not wait for calls that do not return: `inner` goes with the
 * last one. */
struct hypervisor *patience_new(struct hypervisor *inner, int64_t patience_ms);
