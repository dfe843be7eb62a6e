libscoria_a_SOURCES += \
	replicated/call.c \
	replicated/clone.c \
	replicated/connection.c \
	replicated/data.c \
	replicated/driver.c replicated/driver.h \
	replicated/reclaim.c \
	replicated/replicated.private.h \
	replicated/revert.c \
	replicated/snapshot.c \
	replicated/target.c \
	replicated/volume.c

if HAVE_CHECK
check_PROGRAMS += \
	tests/unit/replicated/test_replicated
endif
