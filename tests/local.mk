check_LIBRARIES += libtests.a
libtests_a_SOURCES = tests/lib/check_main.h \
	tests/lib/exchange.c \
	tests/lib/exchange.h \
	tests/lib/extend.h \
	tests/lib/fake_hypervisor.c \
	tests/lib/fake_hypervisor.h \
	tests/lib/roles.c \
	tests/lib/roles.h \
	tests/lib/script_server.c \
	tests/lib/script_server.h \
	tests/lib/world.c \
	tests/lib/world.h

# make tests/sim/sim; ./test runs it with many seeds.
EXTRA_PROGRAMS +=

# Fuzz targets: with libFuzzer ./test links them by itself; this way they replay files.
fuzz_targets =
EXTRA_PROGRAMS += $(fuzz_targets)

CLEANFILES += $(EXTRA_PROGRAMS)

EXTRA_DIST +=

EXTRA_DIST +=
