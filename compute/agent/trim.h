/*
 * …/os-volume-trims: the volume service requests that the guest of a volume deallocates the free
 * space of its file systems.
 *
 * POST takes {"trim": {"id", "volume_id", "instance_uuid"}}, all UUIDs; 202: a job executes it, and
 * reports to the volume API (trim_job.h).  An impossible request is refused with 400, a temporarily
 * impossible one with 409.  When the hypervisor does not respond: 503, and nothing is started.
 */
#pragma once

#include "compute/jobs/trim_job.h"
#include "http/exchange.h"

struct trim_request;

/* Version and body; NULL: refused with err.  Lives in the exchange's arena. */
struct trim_request *trim_read(struct http_exchange *exchange, struct error *err);

/* Blocks on the hypervisor; replies. */
void trim_answer(struct trim_request *request, struct hypervisor *hypervisor, struct trims *trims);
