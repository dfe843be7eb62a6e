/*
 * POST …/os-server-external-events: checks the events, answers each with a code, and starts the
 * work of those that need some.
 *
 * Code 200 promises more than a compute service's: this host has the instance and a job has the
 * volume.  When the hypervisor does not answer, the whole request gets 503 and nothing is started.
 */
#pragma once

#include "common/error.h"
#include "compute/hypervisor.h"
#include "compute/job.h"
#include "http/exchange.h"

struct event_request;

/* Version and body; NULL and the refusal in err.  The request lives in the exchange's arena. */
struct event_request *event_read(struct http_exchange *exchange, struct error *err);

/* Blocks on the hypervisor; replies. */
void event_answer(struct event_request *request, struct hypervisor *hypervisor, struct jobs *jobs);
