/*
 * Request header of this service beside "os-complete": the largest number of volumes of the project
 * that may be attached to the attachment's host without an instance, including this one.  When the
 * limit is reached the request is refused (413) and nothing changes.  Other volume services ignore
 * the header.  The former name stays for one release, as that of unique_header.h.
 */
#pragma once

#define VOLUME_LIMIT_HEADER        "X-Scoria-Volume-Limit"
#define VOLUME_LIMIT_HEADER_FORMER "X-Scoria-Room"
