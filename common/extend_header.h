/*
 * Request and response header of this service beside the standard calls: the API adds the id of a
 * pending extend to its volume, and the agent repeats it in the completion.  The completion of
 * another extend is refused (X5); one without the header, as other compute services send it,
 * applies to the pending extend.
 */
#pragma once

#define EXTEND_HEADER "X-Scoria-Extend"
#define EXTEND_NONE   "none" /* no extend was pending when the agent read the volume */
