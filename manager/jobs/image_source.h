/*
 * A volume with the content of the image of a create_from_image: an entry of the image cache, or
 * one that the image service names.
 */
#pragma once

#include "manager/runtime/job.h"

/* 0: it is job->source, if there is one.  1: the operation waits for it, or is not this worker's
 * any more. */
int job_image_source(struct job *job, struct error *err);
/* Is job->source an entry of the cache? */
bool job_image_source_is_entry(const struct job *job);
