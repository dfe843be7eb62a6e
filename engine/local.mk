libscoria_a_SOURCES += \
	engine/generation.c engine/generation.h \
	engine/qmp.c engine/qmp.h \
	engine/quorum.c engine/quorum.h \
	engine/replica.c engine/replica.h

if HAVE_CHECK
check_PROGRAMS += \
	tests/unit/engine/test_generation \
	tests/unit/engine/test_qmp \
	tests/unit/engine/test_quorum \
	tests/unit/engine/test_replica
endif
