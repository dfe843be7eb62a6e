/*
 * Headers of this service beside the standard calls.  Other volume services ignore them: they
 * create a second object, and refuse the retry.
 */
#pragma once

/*
 * Names a metadata key of the object to be created: the request is refused (409) when an object of
 * the same kind and project has the same value of that key.  Group and group snapshot have no
 * metadata; with "name" the pair of name and description must be unique.  The former name stays for
 * one release: a client sends both names, as an API of the release before knows only the former.
 */
#define UNIQUE_HEADER        "X-Scoria-Unique"
#define UNIQUE_HEADER_FORMER "X-Scoria-Alone"

/*
 * Beside os-extend and the DELETE of a volume or a snapshot: "true" marks the retry of a failed
 * request.  It is then accepted in error_extending or error_deleting, where all data are intact;
 * os-extend also with the current size, which makes the volume usable again.
 *
 * Beside the POST of an attachment without an instance, with a connector: an attachment of the same
 * host and mode is continued, and the response waits for its connection; a 409 for another mode.  A
 * multiattach volume is reserved also while other hosts are being attached.
 */
#define RETRY_HEADER "X-Scoria-Retry"

/*
 * Beside the DELETE of a volume or a snapshot: a key of its metadata.  Without that key the request
 * is refused (409) and nothing changes; else it is one with RETRY_HEADER.  So a client deletes what
 * an interrupted call has left, and nothing that another call has reported meanwhile.
 */
#define UNREPORTED_HEADER "X-Scoria-Unreported"

/*
 * Beside the DELETE of an attachment: "true" has it refused (409) when that is complete.  So a client
 * removes what interrupted calls have left, and nothing that another call has completed meanwhile.
 */
#define INCOMPLETE_HEADER "X-Scoria-Incomplete"

/*
 * The API adds the id of a pending extend to the response with its volume, and the agent repeats it
 * in the completion.  The completion of another extend is refused (X5); one without the header, as
 * other compute services send it, applies to the pending extend.
 */
#define EXTEND_HEADER "X-Scoria-Extend"
#define EXTEND_NONE   "none" /* no extend was pending when the agent read the volume */

/*
 * Beside "os-complete": the largest number of volumes of the project that may be attached to the
 * attachment's host without an instance, including this one.  When the limit is reached the request
 * is refused (413) and nothing changes.  The former name stays for one release, too.
 */
#define VOLUME_LIMIT_HEADER        "X-Scoria-Volume-Limit"
#define VOLUME_LIMIT_HEADER_FORMER "X-Scoria-Room"

/*
 * Of a storage agent: the UUID of its instance (replication/node/instance.h).  Of two agents with
 * one node name the volume service refuses (409) the later one while the pools of the first are up.
 * Agents of earlier versions do not send it.
 */
#define INSTANCE_HEADER "X-Scoria-Instance"
