/*
 * A header of ours beside os-extend and the DELETE of a volume or a snapshot, with the value "true":
 * the request is the retry of one that has failed.  Where the failure left the object in
 * error_extending or error_deleting, with all its data, it is accepted; os-extend also with the
 * size that the volume has, which makes it usable again.  Another volume service does not know it,
 * and refuses the request as every other one.
 */
#pragma once

#define RETRY_HEADER "X-Scoria-Retry"
