/*
 * …/os-assisted-volume-snapshots: the volume service requests changes of the images below a running
 * guest, with the compute service's own interface.
 *
 * POST takes {"snapshot": {"volume_id", "create_info": {"snapshot_id", "type": "qcow2",
 * "new_file"}}}, DELETE …/{snapshot}?delete_info= {"volume_id", "type", "file_to_merge",
 * "merge_target_file"}.  A create_info of this service may have "together": [snapshot ids], the
 * snapshots of an atomic set; each is requested by a request of its own.  Files are plain names of
 * the one volume, in the directory of the disk's image.  An impossible request is refused (400);
 * otherwise a job executes it and reports the outcome to the volume API.  When the hypervisor does
 * not respond: 503, and nothing is started.
 */
#pragma once

#include "compute/jobs/assist_job.h"
#include "http/exchange.h"

struct assist_request;

/* Version, path and body; NULL: refused with err.  Lives in the exchange's arena. */
struct assist_request *assist_read_create(struct http_exchange *exchange, struct error *err);
struct assist_request *assist_read_delete(struct http_exchange *exchange, struct error *err);

/* Blocks on the hypervisor; replies. */
void assist_answer(struct assist_request *request, struct hypervisor *hypervisor,
                   struct assists *assists);
