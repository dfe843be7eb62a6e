/*
 * POST …/os-server-external-events: validates the events, replies with a code for each, and starts
 * jobs for the events that need one.
 *
 * Code 200 promises more than that of a compute service: the instance is on this host and a job for
 * the volume is queued.  When the hypervisor does not respond, the whole request is answered with
 * 503 and nothing is started.
 */
#pragma once

#include "common/error.h"
#include "compute/hypervisor/hypervisor.h"
#include "compute/jobs/job.h"
#include "http/exchange.h"

struct event_request;

/* Version and body; NULL: refused with err.  The request lives in the exchange's arena. */
struct event_request *event_read(struct http_exchange *exchange, struct error *err);

/* Blocks on the hypervisor; replies. */
void event_answer(struct event_request *request, struct hypervisor *hypervisor, struct jobs *jobs);
