/*
 * …/os-assisted-volume-snapshots: a volume service asks for what only the hypervisor can do to the
 * images below a running guest, as it asks the compute service.
 *
 * POST takes {"snapshot": {"volume_id", "create_info": {"snapshot_id", "type": "qcow2",
 * "new_file"}}}, DELETE …/{snapshot}?delete_info= {"volume_id", "type", "file_to_merge",
 * "merge_target_file"}.  A create_info of ours may say "together": [snapshot ids], all that are
 * to be taken at one moment, each of which is asked for by a request of its own.  Files are
 * plain names of the one volume: where they lie is where the disk's image lies.  What could not
 * be done now is refused (400); otherwise a job has it, and tells the volume API how it ends.
 * When the hypervisor does not answer: 503, and nothing is started.
 */
#pragma once

#include "compute/assist_job.h"
#include "http/exchange.h"

struct assist_request;

/* Version, path and body; NULL and the refusal in err.  Live in the exchange's arena. */
struct assist_request *assist_read_create(struct http_exchange *exchange, struct error *err);
struct assist_request *assist_read_delete(struct http_exchange *exchange, struct error *err);

/* Blocks on the hypervisor; replies. */
void assist_answer(struct assist_request *request, struct hypervisor *hypervisor,
                   struct assists *assists);
