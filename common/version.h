/*
 * The version of this program, and the commit it was built from where known.
 */
#pragma once

/* Called by the main program first, so that only its object file depends on the commit; "": not
 * known, as in tests. */
void version_set_commit(const char *commit);

const char *version_text(void);  /* "0.1.0 (1a2b3c4d5e6f)", or "0.1.0" */
const char *version_agent(void); /* as a User-Agent: "scoria/0.1.0 (1a2b3c4d5e6f)" */
