if HAVE_CSI
libscoria_a_SOURCES += \
	grpc/call.c grpc/call.h \
	grpc/connection.c \
	grpc/head.c grpc/head.private.h \
	grpc/message.c grpc/message.private.h \
	grpc/methods.c \
	grpc/server.c grpc/server.h grpc/server.private.h \
	grpc/status.c grpc/status.h \
	grpc/stream.c \
	grpc/work.c

if HAVE_CHECK
check_PROGRAMS += tests/unit/grpc/test_calls tests/unit/grpc/test_limits \
	tests/unit/grpc/test_message tests/unit/grpc/test_server
tests_unit_grpc_test_calls_SOURCES = tests/unit/grpc/service.h tests/unit/grpc/test_calls.c
tests_unit_grpc_test_limits_SOURCES = tests/unit/grpc/service.h tests/unit/grpc/test_limits.c
tests_unit_grpc_test_message_SOURCES = tests/unit/grpc/test_message.c
tests_unit_grpc_test_server_SOURCES = tests/unit/grpc/service.h tests/unit/grpc/test_server.c
endif
endif
