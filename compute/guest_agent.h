/*
 * What is asked of the agent inside a guest.  It is the guest's own: it may lie, be slow, or never
 * answer.
 */
#pragma once

#include "compute/hypervisor.h"
#include "compute/virt.h"

/* hypervisor.h's trim_disk: returns when the guest has trimmed, if ever. */
int guest_agent_trim(const struct guest *guest, const struct disk *disk, struct error *err);
