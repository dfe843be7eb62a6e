libscoria_a_SOURCES += \
	http/acceptor.c http/acceptor.private.h \
	http/answers.c http/answers.private.h \
	http/client.c http/client.h \
	http/connection.c http/connection.private.h \
	http/download.c http/download.h \
	http/eviction.c http/eviction.private.h \
	http/exchange.c http/exchange.h \
	http/handle.c http/handle.h http/handle.private.h \
	http/head.c http/head.private.h \
	http/listen.c http/listen.h \
	http/origin.c http/origin.h \
	http/peer.c http/peer.private.h \
	http/pem.c http/pem.private.h \
	http/refusal.c http/refusal.private.h http/reply.c http/reply.private.h \
	http/revocations.c http/revocations.private.h \
	http/server.c http/server.h \
	http/stream.c http/stream.h http/stream.private.h \
	http/tls.c http/tls.private.h \
	http/tls_group.c http/tls_group.h \
	http/transfer.c http/transfer.h http/transfer.private.h \
	http/turn.c \
	http/unix_socket.c http/unix_socket.h \
	http/upload.c http/upload.h

if HAVE_CHECK
check_PROGRAMS += \
	tests/unit/http/test_answers \
	tests/unit/http/test_client \
	tests/unit/http/test_origin \
	tests/unit/http/test_revocations \
	tests/unit/http/test_server \
	tests/unit/http/test_stream \
	tests/unit/http/test_unix_socket
endif
