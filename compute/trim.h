/*
 * …/os-volume-trims: our volume service asks that the guest which has a volume give back room that
 * holds nothing in it.
 *
 * POST takes {"trim": {"id", "volume_id", "instance_uuid"}}, all UUIDs; 202: a job has it, and
 * tells the volume API how it goes on (trim_job.h).  What cannot be is refused with 400, what
 * cannot be now with 409.  When the hypervisor does not answer: 503, and nothing is started.
 */
#pragma once

#include "compute/trim_job.h"
#include "http/exchange.h"

struct trim_request;

/* Version and body; NULL and the refusal in err.  Lives in the exchange's arena. */
struct trim_request *trim_read(struct http_exchange *exchange, struct error *err);

/* Blocks on the hypervisor; replies. */
void trim_answer(struct trim_request *request, struct hypervisor *hypervisor, struct trims *trims);
