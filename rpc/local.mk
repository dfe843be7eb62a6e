libscoria_a_SOURCES += \
	rpc/amqp/amqp.h rpc/amqp/options.c \
	rpc/amqp/monitor.c rpc/amqp/monitor.h \
	rpc/amqp/recent.c rpc/amqp/recent.h \
	rpc/amqp/settings.h \
	rpc/amqp/url.c rpc/amqp/url.h \
	rpc/amqp/window.c rpc/amqp/window.h \
	rpc/backlog.c rpc/backlog.private.h \
	rpc/envelope.c rpc/envelope.h \
	rpc/flight.c rpc/flight.private.h \
	rpc/local.c \
	rpc/relay.c rpc/relay.h \
	rpc/rpc.h \
	rpc/switch.c rpc/switch.h

amqp_sources = \
	rpc/amqp/amqp.c \
	rpc/amqp/answers.c rpc/amqp/answers.h \
	rpc/amqp/declare.c rpc/amqp/declare.h \
	rpc/amqp/delivery.c rpc/amqp/delivery.h \
	rpc/amqp/event.h \
	rpc/amqp/failure.c rpc/amqp/failure.h \
	rpc/amqp/incoming.c rpc/amqp/incoming.h \
	rpc/amqp/inbox.c rpc/amqp/inbox.h \
	rpc/amqp/link.c rpc/amqp/link.h \
	rpc/amqp/receiver.c rpc/amqp/receiver.h \
	rpc/amqp/sender.c rpc/amqp/sender.h \
	rpc/amqp/source.c rpc/amqp/source.h
if HAVE_RABBITMQ
libscoria_a_SOURCES += $(amqp_sources)
else
EXTRA_DIST += $(amqp_sources)
endif

if HAVE_CHECK
check_PROGRAMS += \
	tests/unit/rpc/amqp/test_monitor \
	tests/unit/rpc/amqp/test_recent \
	tests/unit/rpc/amqp/test_url \
	tests/unit/rpc/amqp/test_window \
	tests/unit/rpc/test_backlog \
	tests/unit/rpc/test_envelope \
	tests/unit/rpc/test_local \
	tests/unit/rpc/test_relay \
	tests/unit/rpc/test_switch
endif
if HAVE_CHECK
if HAVE_RABBITMQ
check_PROGRAMS += \
	tests/unit/rpc/amqp/test_incoming \
	tests/unit/rpc/amqp/test_receiver \
	tests/unit/rpc/amqp/test_sender
tests_unit_rpc_amqp_test_receiver_SOURCES = \
	tests/unit/rpc/amqp/test_receiver.c tests/unit/rpc/amqp/broker.h
tests_unit_rpc_amqp_test_sender_SOURCES = \
	tests/unit/rpc/amqp/test_sender.c tests/unit/rpc/amqp/broker.h
endif
endif
