libscoria_a_SOURCES += \
	rpc/local.c \
	rpc/relay.c rpc/relay.h \
	rpc/rpc.h

if HAVE_CHECK
check_PROGRAMS += \
	tests/unit/rpc/test_local \
	tests/unit/rpc/test_relay
endif
