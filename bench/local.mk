# make bench; bench/run needs them and the program, prints the figures and changes nothing.
bench_programs = bench/bare bench/calls bench/copies bench/files bench/load bench/resync
EXTRA_PROGRAMS += $(bench_programs)
CLEANFILES += $(bench_programs)
bench_bare_SOURCES = bench/bare.c
bench_bare_LDADD = $(MICROHTTPD_LIBS)
bench_calls_SOURCES = bench/calls.c
bench_calls_LDADD =
bench_copies_SOURCES = bench/copies.c
bench_copies_LDADD = libscoria.a $(dependency_libs)
bench_files_SOURCES = bench/files.c
bench_files_LDADD =
bench_load_SOURCES = bench/load.c
bench_load_LDADD =
bench_resync_SOURCES = bench/resync.c
bench_resync_LDADD = libscoria.a $(dependency_libs)
EXTRA_DIST += bench/README.md bench/against bench/cloud bench/declared bench/images bench/managers bench/pages bench/reclaim bench/reflinks bench/roles bench/run bench/snapshots bench/votes bench/watches

.PHONY: bench
bench: all $(bench_programs)
	$(top_srcdir)/bench/run --build $(builddir) $(BENCH_FLAGS)
