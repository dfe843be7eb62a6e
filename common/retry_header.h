/*
 * Request header of this service beside os-extend and the DELETE of a volume or a snapshot; "true"
 * marks the retry of a failed request.  It is then accepted in error_extending or error_deleting,
 * where all data are intact; os-extend also with the current size, which makes the volume usable
 * again.  Other volume services ignore the header and refuse the request.
 */
#pragma once

#define RETRY_HEADER "X-Scoria-Retry"
