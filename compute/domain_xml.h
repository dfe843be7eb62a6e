/*
 * Finds a disk in a domain's XML by its serial.
 */
#pragma once

#include "compute/hypervisor.h"

/*
 * 1 found: target, source, format and read_only of *ret are set, the rest stays; 0 none.  -1
 * (ERROR_BACKEND): several disks have the serial, or the text is no domain.
 */
int domain_xml_find_disk(const char *xml, const char *serial, struct disk *ret, struct error *err);
