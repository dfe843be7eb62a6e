/*
 * A header of ours beside the standard calls: with a volume that awaits the compute side's report
 * the API names the extend, and an agent that saw the name says it in its report.  A report of
 * another extend is refused (X5); one without the header, as other compute services send it, is
 * about whatever is awaited.
 */
#pragma once

#define EXTEND_HEADER "X-Scoria-Extend"
#define EXTEND_NONE   "none" /* the agent saw no extend that awaits a report */
