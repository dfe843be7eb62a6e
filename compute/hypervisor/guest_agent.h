/*
 * Requests to the agent inside a guest.  The guest is not trusted: it may lie, be slow, or never
 * respond.
 */
#pragma once

#include "compute/hypervisor/hypervisor.h"
#include "compute/hypervisor/virt.h"

/* hypervisor.h's trim_disk: blocks until the guest has trimmed. */
int guest_agent_trim(const struct guest *guest, const struct disk *disk, struct error *err);
