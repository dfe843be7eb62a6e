/*
 * A hypervisor with a timeout for each call: an unresponsive guest affects its own disks only.
 *
 * libvirt waits for a guest without a bound, and a call cannot be cancelled.  So each call runs in
 * a thread of its own; after the timeout its caller gets ERROR_UNAVAILABLE, and so do further calls
 * to the same guest immediately until the first has returned.  An abandoned call may still take
 * effect.  Their number is bounded: libvirtd has a limited number of threads (20 by default), and
 * each call may occupy one.  Trims have no timeout: they are polled.  Thread-safe.
 */
#pragma once

#include "compute/hypervisor/hypervisor.h"

/* Takes ownership of `inner`. free() does not wait for calls that do not return: the last one frees
 * `inner`. */
struct hypervisor *timed_hypervisor_new(struct hypervisor *inner, int64_t timeout_ms);
