/*
 * scoria: finds the subcommand, reads options and configuration, runs it.
 */
#pragma once

/* The exit status. */
int program_run(int argc, const char *const *argv);
